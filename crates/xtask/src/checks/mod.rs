//! The checks, in the order they run.

mod circles;
mod heads;
mod length;
mod links;
mod lints;
mod locks;
mod paths;
mod protocols;
mod pure;
mod recipe;
mod registries;
mod rooms;

use crate::tree::Tree;
use serde_json::Value;
use std::fmt;

/// Every check. A new one: its file, its `mod` line above, its entry here.
pub(crate) static ALL: &[Check] = &[
    rooms::CHECK,
    circles::CHECK,
    lints::CHECK,
    heads::CHECK,
    registries::CHECK,
    pure::CHECK,
    length::CHECK,
    links::CHECK,
    locks::CHECK,
    paths::CHECK,
    protocols::CHECK,
    recipe::CHECK,
];

/// One check of the workspace.
#[derive(Debug)]
pub(crate) struct Check {
    /// Kebab-case name, in front of each of its violations.
    pub(crate) id: &'static str,
    /// One line for help.
    pub(crate) summary: &'static str,
    /// Looks at the tree and at the output of `cargo metadata --no-deps`.
    pub(crate) run: fn(&Tree, &Value) -> Vec<Violation>,
}

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The file to change, and the line if one is known.
    pub(crate) place: String,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do.
    pub(crate) remedy: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.remedy)
    }
}

/// A violation from its three parts.
pub(crate) fn violation(
    place: impl Into<String>,
    what: impl Into<String>,
    remedy: impl Into<String>,
) -> Violation {
    Violation {
        place: place.into(),
        what: what.into(),
        remedy: remedy.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_a_violation_is_one_line() {
        let ids: BTreeSet<_> = ALL.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), ALL.len());
        let line = violation("a.rs:3", "is wrong", "make it right").to_string();
        assert_eq!(line, "a.rs:3: is wrong; make it right");
    }
}
