//! Every member takes the workspace's lints: Cargo does not inherit them by itself.

use super::{Check, Violation, violation};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    id: "lints",
    summary: "every member says `[lints] workspace = true`",
    run: |tree, _| check(tree),
};

fn check(tree: &Tree) -> Vec<Violation> {
    tree.members()
        .into_iter()
        .map(|member| format!("{member}/Cargo.toml"))
        .filter(|path| !tree.text(path).is_some_and(takes_workspace_lints))
        .map(|path| {
            violation(
                path,
                "does not take the workspace's lints",
                "add `[lints]` and `workspace = true`",
            )
        })
        .collect()
}

fn takes_workspace_lints(manifest: &str) -> bool {
    let mut in_lints = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            in_lints = line == "[lints]";
        } else if in_lints && line.replace(' ', "") == "workspace=true" {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    #[test]
    fn a_member_with_the_lints_is_fine() {
        let tree = fake(&[("crates/a/Cargo.toml", "[lints]\nworkspace = true\n")]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_member_without_or_with_the_key_in_another_table_is_named() {
        let tree = fake(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/b/Cargo.toml", "[lints]\n[x]\nworkspace = true\n"),
            ("crates/c/src/lib.rs", "//! No manifest.\n"),
        ]);
        let places: Vec<_> = check(&tree).into_iter().map(|v| v.place).collect();
        assert_eq!(
            places,
            [
                "crates/a/Cargo.toml",
                "crates/b/Cargo.toml",
                "crates/c/Cargo.toml"
            ]
        );
    }
}
