//! Pure rooms touch neither files nor sockets, threads, processes or the environment.

use super::{Check, Violation, violation};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    id: "pure",
    summary: "peers, analysis, fitness, footprint, frames, live, mesh, p4, report, responder and wire do no I/O",
    run: |tree, _| check(tree),
};

const ROOMS: &[&str] = &[
    "crates/analysis/src/",
    "crates/doctor/src/fitness/",
    "crates/footprint/src/",
    "crates/frames/src/",
    "crates/live/src/",
    "crates/mesh/src/",
    "crates/p4/src/",
    "crates/peers/src/",
    "crates/report/src/",
    "crates/responder/src/",
    "crates/wire/src/",
];
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io::stdin",
    "std::net::Tcp",
    "std::net::Udp",
    "std::os",
    "std::process",
    "std::thread",
];

fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust()
        .filter(|(path, _)| ROOMS.iter().any(|room| path.starts_with(room)))
        .filter(|(path, _)| !path.ends_with("/tests.rs") && !path.contains("/tests/"))
        .flat_map(|(path, text)| check_file(path, text))
        .collect()
}

fn check_file<'a>(path: &'a str, text: &'a str) -> impl Iterator<Item = Violation> + 'a {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| *line != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .filter_map(|(at, line)| Some((at, IMPURE.iter().find(|word| line.contains(**word))?)))
        .map(move |(at, word)| {
            violation(
                format!("{path}:{}", at + 1),
                format!("a pure room uses {word}"),
                "take the value as an argument; the caller does the I/O",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    #[test]
    fn io_in_a_pure_room_is_named_by_line_and_elsewhere_is_fine() {
        let tree = fake(&[
            (
                "crates/peers/src/a.rs",
                "//! std::fs is not used.\nuse std::fs;\n",
            ),
            ("crates/store/src/a.rs", "use std::fs;\n"),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "crates/peers/src/a.rs:2");
    }

    #[test]
    fn tests_of_a_pure_room_may_read_files() {
        let tree = fake(&[
            (
                "crates/report/src/a.rs",
                "fn a() {}\n#[cfg(test)]\nmod tests {\nuse std::fs;\n}\n",
            ),
            ("crates/report/src/a/tests.rs", "use std::fs;\n"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
