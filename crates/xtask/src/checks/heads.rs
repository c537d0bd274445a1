//! Every crate begins by saying what it is, and forbids unsafe code, `sys` excepted.

use super::{Check, Violation, violation};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    id: "heads",
    summary: "every crate root begins with `//!` and forbids unsafe code (but sys)",
    run: |tree, _| check(tree),
};

/// The room that all unsafe code is in.
const UNSAFE_ROOM: &str = "crates/sys";

fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for member in tree.members() {
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| format!("{member}/{root}"));
        let present: Vec<_> = roots
            .into_iter()
            .filter_map(|path| Some((tree.text(&path)?, path)))
            .collect();
        if present.is_empty() {
            found.push(violation(
                format!("{member}/src"),
                "has neither lib.rs nor main.rs",
                "is the folder a crate?",
            ));
        }
        for (text, path) in present {
            check_root(&mut found, &member, path, text);
        }
    }
    found
}

fn check_root(found: &mut Vec<Violation>, member: &str, path: String, text: &str) {
    if !text.starts_with("//! ") {
        found.push(violation(
            path.clone(),
            "does not begin with a `//!` line",
            "say in the first line what the crate is for",
        ));
    }
    let forbids = text.lines().any(|line| line == "#![forbid(unsafe_code)]");
    if member != UNSAFE_ROOM && !forbids {
        found.push(violation(
            path,
            "does not forbid unsafe code",
            "add `#![forbid(unsafe_code)]` below its head; unsafe code belongs in sys",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    #[test]
    fn a_good_root_is_fine_and_sys_may_be_unsafe() {
        let tree = fake(&[
            ("crates/a/src/lib.rs", "//! A.\n#![forbid(unsafe_code)]\n"),
            ("crates/sys/src/lib.rs", "//! Sys.\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn each_omission_is_named() {
        let tree = fake(&[
            ("crates/a/src/lib.rs", "#![forbid(unsafe_code)]\n"),
            ("crates/b/src/main.rs", "//! B.\nfn main() {}\n"),
            ("crates/c/README", ""),
        ]);
        let places: Vec<_> = check(&tree).into_iter().map(|v| v.place).collect();
        assert_eq!(
            places,
            [
                "crates/a/src/lib.rs",
                "crates/b/src/main.rs",
                "crates/c/src"
            ]
        );
    }
}
