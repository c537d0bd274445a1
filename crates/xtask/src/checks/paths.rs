//! No file names a folder that exists on one machine only.

use super::{Check, Violation, violation};
use crate::tree::{Tree, has_extension};

pub(super) const CHECK: Check = Check {
    id: "paths",
    summary: "no file names a folder of somebody's machine",
    run: |tree, _| check(tree),
};

/// Where people and machines keep working copies. Written in two parts so that this file passes.
const PLACES: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
];

/// Logs and other recorded data may name what they like.
fn is_ours(path: &str) -> bool {
    const TEXT: &[&str] = &[
        "html", "js", "json", "md", "mk", "py", "rs", "sh", "toml", "yml",
    ];
    let named = ["Makefile", "/run"].iter().any(|end| path.ends_with(end));
    (named || TEXT.iter().any(|extension| has_extension(path, extension)))
        && !path.contains("/fixtures/")
        && !path.contains("/data/")
}

fn check(tree: &Tree) -> Vec<Violation> {
    tree.files()
        .filter(|(path, _)| is_ours(path))
        .flat_map(|(path, text)| {
            text.lines()
                .enumerate()
                .filter_map(move |(at, line)| Some((path, at, place_in(line)?)))
        })
        .map(|(path, at, place)| {
            violation(
                format!("{path}:{}", at + 1),
                format!("names a folder under {place}"),
                "use a path relative to the repository, or a temporary folder",
            )
        })
        .collect()
}

/// A place that begins a path: nothing that could belong to a longer path or address stands before it.
fn place_in(line: &str) -> Option<&'static str> {
    let begins =
        |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "/._-~}$".contains(c));
    PLACES
        .iter()
        .copied()
        .find(|place| line.match_indices(place).any(|(at, _)| begins(at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    #[test]
    fn a_machine_path_is_named_by_line() {
        let text = format!("fine\npath = \"{}me/project\"\n", PLACES[0]);
        let found = check(&fake(&[("a.toml", &text)]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "a.toml:2");
    }

    #[test]
    fn addresses_longer_paths_and_recorded_data_are_fine() {
        let address = format!("https://example.org{}x\n$DIR{}x\n", PLACES[3], PLACES[3]);
        let recorded = format!("log of {}someone\n", PLACES[0]);
        let tree = fake(&[
            ("a.md", &address),
            ("crates/store/tests/fixtures/a.json", &recorded),
            ("log.txt", &recorded),
        ]);
        assert_eq!(check(&tree), []);
    }
}
