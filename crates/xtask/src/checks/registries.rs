//! Every file of an extension folder is compiled, and every extension is in its `ALL`.
//!
//! A file without a `mod` line is dead text, and an extension outside `ALL` is invisible to help and to the
//! conformance tests; the compiler says nothing about the first and, for `pub` items, about the second.

use super::{Check, Violation, violation};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    id: "registries",
    summary: "every file of an extension folder is declared, every extension listed in ALL",
    run: |tree, _| REGISTRIES.iter().flat_map(|row| check(tree, row)).collect(),
};

/// Each extension folder and the file that holds its list.
const REGISTRIES: &[(&str, &str)] = &[
    ("crates/analysis/src/published/audit", "mod.rs"),
    ("crates/analysis/src/causes", "mod.rs"),
    ("crates/analysis/src/search", "mod.rs"),
    ("crates/doctor/src/fitness", "mod.rs"),
    ("crates/engine/src/datapaths", "mod.rs"),
    ("crates/engine/src/workloads", "mod.rs"),
    ("crates/frames/src/headers", "mod.rs"),
    ("crates/observe/src/collectors", "mod.rs"),
    ("crates/packages/src/formats", "mod.rs"),
    ("crates/peers/src", "lib.rs"),
    ("crates/report/src/charts", "mod.rs"),
    ("crates/report/src/renderers", "mod.rs"),
    ("crates/store/src/import", "mod.rs"),
    ("crates/studies/src/run/switch/methods", "mod.rs"),
    ("crates/testbed/src/duts", "mod.rs"),
    ("crates/xtask/src/checks", "mod.rs"),
];

fn check(tree: &Tree, (folder, list): &(&str, &str)) -> Vec<Violation> {
    let path = format!("{folder}/{list}");
    let Some(text) = tree.text(&path) else {
        return vec![violation(
            path,
            "is missing",
            "if the registry moved, change its row in xtask/src/checks/registries.rs",
        )];
    };
    let Some(all) = all_list(text) else {
        return vec![violation(
            path,
            "has no `static ALL`",
            "list the extensions: `pub static ALL: &[&dyn Kind] = &[…];`",
        )];
    };
    let mut found = Vec::new();
    for stem in stems(tree, folder, list) {
        let source = source(tree, folder, stem);
        if !declares(text, stem) {
            found.push(violation(
                source.0.clone(),
                "is not compiled",
                format!("add `mod {stem};` to {path}, or remove the file"),
            ));
        }
        for name in all.implementers(source.1) {
            if !all.lists(stem, name) {
                found.push(violation(
                    source.0.clone(),
                    format!("implements {} but is not in ALL", all.kind),
                    format!("add it to ALL in {path}"),
                ));
            }
        }
    }
    found
}

/// The list and the trait (or type) of its entries.
struct AllList<'a> {
    entries: &'a str,
    kind: &'a str,
}

impl AllList<'_> {
    /// The types in `source` that are extensions; for lists of values, an empty name.
    fn implementers<'s>(&self, source: &'s str) -> Vec<&'s str> {
        let by_trait = format!("{} for ", self.kind);
        let by_value = format!(": {} = {}", self.kind, self.kind);
        source
            .lines()
            .filter_map(|line| {
                if line.starts_with("impl") {
                    let (_, rest) = line.split_once(&by_trait)?;
                    rest.split(|c: char| !is_word(c)).next()
                } else {
                    (line.starts_with("pub") && line.contains(&by_value)).then_some("")
                }
            })
            .collect()
    }

    /// Whether the list names the module or its type.
    fn lists(&self, stem: &str, name: &str) -> bool {
        self.has_word(stem, "::") || (!name.is_empty() && self.has_word(name, ""))
    }

    fn has_word(&self, word: &str, then: &str) -> bool {
        self.entries.match_indices(word).any(|(at, _)| {
            let after = &self.entries[at + word.len()..];
            !self.entries[..at].ends_with(is_word)
                && !after.starts_with(is_word)
                && after.starts_with(then)
        })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Finds `static ALL: &[&dyn Kind] = &[…];`, with or without `dyn` and lifetimes.
fn all_list(text: &str) -> Option<AllList<'_>> {
    let (_, rest) = text.split_once("static ALL:")?;
    let (kind, rest) = rest.split_once('=')?;
    let (entries, _) = rest.split_once("];")?;
    let kind = kind
        .rsplit(|c: char| !is_word(c))
        .find(|word| !word.is_empty())?;
    Some(AllList { entries, kind })
}

/// Modules that the folder's files stand for.
fn stems<'a>(tree: &'a Tree, folder: &str, list: &str) -> Vec<&'a str> {
    tree.entries(folder)
        .into_iter()
        .filter(|name| *name != list && *name != "lib.rs" && *name != "main.rs")
        .filter_map(|name| match name.strip_suffix(".rs") {
            Some(stem) => Some(stem),
            None if name.contains('.') => None,
            None => Some(name),
        })
        .filter(|stem| {
            ["", "/mod"]
                .iter()
                .any(|end| tree.text(&format!("{folder}/{stem}{end}.rs")).is_some())
        })
        .collect()
}

/// The module's file and its text.
fn source<'a>(tree: &'a Tree, folder: &str, stem: &str) -> (String, &'a str) {
    let paths = [
        format!("{folder}/{stem}.rs"),
        format!("{folder}/{stem}/mod.rs"),
    ];
    paths
        .into_iter()
        .find_map(|path| tree.text(&path).map(|text| (path, text)))
        .unwrap_or_default()
}

fn declares(text: &str, stem: &str) -> bool {
    let declaration = format!("mod {stem};");
    text.lines().map(str::trim).any(|line| {
        line.strip_suffix(&declaration)
            .is_some_and(|before| before.is_empty() || before.starts_with("pub"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    const ROW: (&str, &str) = ("x/rules", "mod.rs");
    const LIST: &str = "mod cpu;\npub(crate) mod words;\n\
                        pub static ALL: &[&dyn Rule] = &[\n    &cpu::Cpu,\n];\n";

    #[test]
    fn listed_extensions_and_helpers_are_fine() {
        let tree = fake(&[
            ("x/rules/mod.rs", LIST),
            ("x/rules/cpu.rs", "impl Rule for Cpu {}\n"),
            ("x/rules/words.rs", "pub fn word() {}\n"),
            ("x/rules/README.md", "notes"),
        ]);
        assert_eq!(check(&tree, &ROW), []);
    }

    #[test]
    fn a_file_without_a_mod_line_is_dead() {
        let tree = fake(&[
            ("x/rules/mod.rs", LIST),
            ("x/rules/cpu/mod.rs", "impl Rule for Cpu {}\n"),
            ("x/rules/disk.rs", "fn helper() {}\n"),
        ]);
        let found = check(&tree, &ROW);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "x/rules/disk.rs");
        assert_eq!(found[0].what, "is not compiled");
    }

    #[test]
    fn an_extension_outside_all_is_named_even_if_another_name_ends_like_it() {
        let list = "mod cpu;\nmod softcpu;\npub static ALL: &[&dyn Rule] = &[&softcpu::S];\n";
        let tree = fake(&[
            ("x/rules/mod.rs", list),
            ("x/rules/cpu.rs", "impl Rule for Cpu {}\n"),
            ("x/rules/softcpu.rs", "impl Rule for S {}\n"),
        ]);
        let found = check(&tree, &ROW);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .to_string()
                .contains("implements Rule but is not in ALL")
        );
    }

    #[test]
    fn an_entry_may_be_imported_by_name() {
        let list = "mod cpu;\nuse cpu::Cpu;\npub static ALL: &[&dyn Rule] = &[&Cpu];\n";
        let tree = fake(&[
            ("x/rules/mod.rs", list),
            ("x/rules/cpu.rs", "impl Rule for Cpu {}\n"),
        ]);
        assert_eq!(check(&tree, &ROW), []);
    }

    #[test]
    fn a_list_of_values_is_understood_too() {
        let list = "mod heads;\nmod rooms;\nstatic ALL: &[Check] = &[rooms::CHECK];\n";
        let tree = fake(&[
            ("x/rules/mod.rs", list),
            (
                "x/rules/heads.rs",
                "pub(super) const CHECK: Check = Check {\n",
            ),
            (
                "x/rules/rooms.rs",
                "pub(super) const CHECK: Check = Check {\n",
            ),
        ]);
        let found = check(&tree, &ROW);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].place, "x/rules/heads.rs");
    }

    #[test]
    fn a_missing_registry_or_list_is_a_violation() {
        assert_eq!(check(&fake(&[]), &ROW)[0].what, "is missing");
        let tree = fake(&[("x/rules/mod.rs", "mod cpu;\n")]);
        assert_eq!(check(&tree, &ROW)[0].what, "has no `static ALL`");
    }
}
