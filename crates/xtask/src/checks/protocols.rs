//! No room but `peers` knows a protocol by its name.
//!
//! What differs by protocol is asked of its `PeerKind`; a name in another room's code, as a path, an identifier or a
//! text, is a question that the next protocol answers wrongly. Comments and tests may name what they like.

use super::{Check, Violation, violation};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    id: "protocols",
    summary: "a protocol's name stands in no room but peers",
    run: |tree, _| check(tree, EXCEPTIONS),
};

/// A name that may stand below a path, and why.
struct Exception {
    /// A file, or a folder and all below it.
    path: &'static str,
    /// `None`: every name.
    name: Option<&'static str>,
    /// Why it is none of a protocol that is spoken.
    reason: &'static str,
}

/// Every name outside of `peers`.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "crates/boards/src/disk/profile.rs",
        name: Some("iperf3"),
        reason: "a Debian package of that name is put on images",
    },
    Exception {
        path: "crates/cli/src/args/stored.rs",
        name: Some("zperf"),
        reason: "the option of a log format is named after it",
    },
    Exception {
        path: "crates/site/src/explain.rs",
        name: Some("zperf"),
        reason: "the option of a log format is named after it",
    },
    Exception {
        path: "crates/cli/src/habits",
        name: None,
        reason: "options of another tool are listed by the tool that has them",
    },
    Exception {
        path: "crates/model/src/facts.rs",
        name: Some("zperf"),
        reason: "a fact has the key that documents know it by",
    },
    Exception {
        path: "crates/stacks/src",
        name: Some("iperf2"),
        reason: "servers on stacks under test are programs of linerate's own that speak this one",
    },
    Exception {
        path: "crates/store/src/import",
        name: None,
        reason: "a log format is named after the tool that writes it, and is an extension of its own",
    },
    Exception {
        path: "crates/studies/src/options/latency.rs",
        name: Some("sfnt"),
        reason: "the help of an option shows a value by example; what it stands for is asked of its PeerKind",
    },
    Exception {
        path: "crates/report/src/renderers",
        name: Some("sfnt"),
        reason: "a report format is named after the tool whose table it is, and is an extension of its own",
    },
    Exception {
        path: "crates/engine/src/datapaths/af_xdp",
        name: Some("native"),
        reason: NATIVE_XDP,
    },
    Exception {
        path: "crates/engine/src/datapaths/in_kernel",
        name: Some("native"),
        reason: NATIVE_XDP,
    },
    Exception {
        path: "crates/p4-switch/src/ports",
        name: Some("native"),
        reason: NATIVE_XDP,
    },
    Exception {
        path: "crates/testbed/src/duts/xdp.rs",
        name: Some("native"),
        reason: NATIVE_XDP,
    },
    Exception {
        path: "crates/model/src/sample/path.rs",
        name: Some("native"),
        reason: NATIVE_XDP,
    },
    Exception {
        path: "crates/sys/src/bpf/xdp.rs",
        name: Some("native"),
        reason: NATIVE_XDP,
    },
    Exception {
        path: "crates/analysis/src/cost/rules.rs",
        name: Some("native"),
        reason: "functions of the kernel are called so",
    },
];

const NATIVE_XDP: &str = "native is what XDP calls its hook in the driver";

/// Where protocols are.
const ROOM: &str = "crates/peers/src";

/// Rooms that ship nothing.
const TEST_ONLY: &[&str] = &["crates/lab/", "crates/testkit/", "crates/xtask/"];

fn check(tree: &Tree, exceptions: &[Exception]) -> Vec<Violation> {
    let names: Vec<_> = protocols(tree).collect();
    let mut found = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for (path, text) in tree.rust().filter(|(path, _)| is_product(tree, path)) {
        for (line, name) in named(text, &names) {
            let excused = |exception: &Exception| {
                path.starts_with(exception.path) && exception.name.is_none_or(|known| known == name)
            };
            if let Some(at) = exceptions.iter().position(excused) {
                used[at] = true;
                continue;
            }
            found.push(violation(
                format!("{path}:{line}"),
                format!("names the protocol {name}"),
                "ask its PeerKind for what differs, and add a method there if it has none",
            ));
        }
    }
    let idle = exceptions.iter().zip(used).filter(|(_, used)| !used);
    found.extend(idle.map(|(exception, _)| {
        violation(
            exception.path,
            format!("names no protocol ({})", exception.reason),
            "remove the exception in xtask/src/checks/protocols.rs",
        )
    }));
    found
}

/// The ids of all protocols: folders of `peers` that implement `PeerKind`.
fn protocols(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.entries(ROOM).into_iter().filter(|folder| {
        tree.text(&format!("{ROOM}/{folder}/mod.rs"))
            .is_some_and(|text| text.contains("impl PeerKind for "))
    })
}

/// Whether a file is part of what ships, and not of `peers`.
fn is_product(tree: &Tree, path: &str) -> bool {
    let Some((krate, inside)) = path.split_once("/src/") else {
        return false;
    };
    let place = format!("{krate}/");
    krate.starts_with("crates/")
        && !path.starts_with(ROOM)
        && !TEST_ONLY.contains(&place.as_str())
        && !inside
            .split('/')
            .any(|part| part.trim_end_matches(".rs") == "tests")
        && !is_test_module(tree, path)
}

/// Whether the file's `mod` line is for tests only.
fn is_test_module(tree: &Tree, path: &str) -> bool {
    let Some((folder, file)) = path.rsplit_once('/') else {
        return false;
    };
    let declaration = format!("#[cfg(test)]\nmod {};\n", file.trim_end_matches(".rs"));
    let parents = [
        format!("{folder}/mod.rs"),
        format!("{folder}/lib.rs"),
        format!("{folder}.rs"),
    ];
    parents
        .iter()
        .filter_map(|parent| tree.text(parent))
        .any(|text| text.contains(&declaration))
}

/// Every name in a file's code, with its line.
fn named<'a>(text: &'a str, names: &'a [&'a str]) -> impl Iterator<Item = (usize, &'a str)> {
    (1..)
        .zip(text.lines())
        .take_while(|(_, line)| *line != "mod tests {")
        .scan("", |before, (at, line)| {
            let is_test = std::mem::replace(before, line) == "#[cfg(test)]";
            Some((at, line, is_test || line.trim_start().starts_with("//")))
        })
        .filter(|(.., is_fine)| !is_fine)
        .flat_map(move |(at, line, _)| {
            let said = words(line);
            let stands = move |name: &&&str| said.iter().any(|word| word == **name);
            names.iter().filter(stands).map(move |name| (at, *name))
        })
}

/// The words of a line in small letters; those of an identifier count singly: `of_iperf3`, `Iperf3Text`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    for c in line.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && !last.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut()
            && c.is_alphanumeric()
        {
            word.extend(c.to_lowercase());
        }
        last = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    const KIND: (&str, &str) = (
        "crates/peers/src/ttcp/mod.rs",
        "impl PeerKind for Ttcp {}\n",
    );

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().copied().chain([KIND]).collect();
        let found = check(&fake(&files), &[]);
        found.into_iter().map(|violation| violation.place).collect()
    }

    #[test]
    fn a_name_is_found_in_paths_identifiers_and_texts() {
        let text = "use linerate_peers::ttcp::X;\nfn of_ttcp() {}\nstruct TtcpText;\nlet a = \"ttcp://b\";\n";
        let found = found(&[("crates/client/src/a.rs", text)]);
        let lines = (1..=4).map(|line| format!("crates/client/src/a.rs:{line}"));
        assert_eq!(found, lines.collect::<Vec<_>>());
    }

    #[test]
    fn comments_tests_other_words_and_the_room_itself_are_fine() {
        let fine = [
            (
                "crates/client/src/a.rs",
                "/// ttcp\nfn a() { bttcp(); }\n#[cfg(test)]\nmod tests {\nlet a = \"ttcp\";\n}\n",
            ),
            ("crates/client/src/a/tests.rs", "ttcp\n"),
            (
                "crates/client/src/mod.rs",
                "#[cfg(test)]\nmod ttcp_tests;\n#[cfg(test)]\nmod world;\n",
            ),
            ("crates/client/src/world.rs", "ttcp\n"),
            ("crates/client/tests/b.rs", "ttcp\n"),
            ("crates/lab/src/b.rs", "ttcp\n"),
            ("crates/peers/src/ttcp/code.rs", "ttcp\n"),
        ];
        assert_eq!(found(&fine), [""; 0]);
    }

    #[test]
    fn an_exception_that_excuses_nothing_is_a_violation() {
        let exception = |name| Exception {
            path: "crates/store/src/import",
            name,
            reason: "a log format",
        };
        let tree = fake(&[KIND, ("crates/store/src/import/ttcp.rs", "struct Ttcp;\n")]);
        assert_eq!(check(&tree, &[exception(None)]), []);
        assert_eq!(check(&tree, &[exception(Some("ttcp"))]), []);
        assert_eq!(check(&tree, &[exception(Some("nttcp"))]).len(), 2);
    }
}
