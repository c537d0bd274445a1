//! No file grows beyond what one can hold in one's head.

use super::{Check, Violation, violation};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    id: "length",
    summary: "no file has more than 600 code lines",
    run: |tree, _| check(tree),
};

/// Blank lines and comments do not count. The aim is 500; 600 is where it fails.
const MAX_CODE_LINES: usize = 600;

fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust()
        .map(|(path, text)| (path, code_lines(text)))
        .filter(|(_, lines)| *lines > MAX_CODE_LINES)
        .map(|(path, lines)| {
            violation(
                path,
                format!("has {lines} code lines, the limit is {MAX_CODE_LINES}"),
                "split it by job; big test modules go into a sibling tests.rs",
            )
        })
        .collect()
}

fn code_lines(text: &str) -> usize {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    #[test]
    fn comments_and_blank_lines_do_not_count() {
        let text = "// a\n\n/// b\nlet a = 1; // c\n".repeat(MAX_CODE_LINES);
        assert_eq!(code_lines(&text), MAX_CODE_LINES);
        assert_eq!(check(&fake(&[("a.rs", &text)])), []);
    }

    #[test]
    fn one_line_too_many_is_one_too_many() {
        let text = "x();\n".repeat(MAX_CODE_LINES + 1);
        let found = check(&fake(&[("a.rs", &text), ("b.md", &text)]));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("601"), "{found:?}");
    }
}
