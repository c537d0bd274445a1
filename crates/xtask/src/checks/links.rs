//! Every relative link in a document leads somewhere, and every page of the book is in its contents list.
//!
//! Addresses on the network are not looked at. A page of the book links to pages of the book only: on its own,
//! the book has nothing else.

use super::{Check, Violation, violation};
use crate::tree::{Tree, has_extension};
use std::collections::BTreeMap;

pub(super) const CHECK: Check = Check {
    id: "links",
    summary: "relative links and #anchors of documents resolve",
    run: |tree, _| check(tree),
};

/// The folder of the book, and its contents list.
const BOOK: &str = "docs/";
const CONTENTS: &str = "docs/SUMMARY.md";

fn check(tree: &Tree) -> Vec<Violation> {
    let documents = || tree.files().filter(|(path, _)| has_extension(path, "md"));
    let mut found = Vec::new();
    for (path, text) in documents() {
        for (line, target) in links(text) {
            if let Some((what, remedy)) = complaint(tree, path, target) {
                let what = format!("link to {target}: {what}");
                found.push(violation(format!("{path}:{line}"), what, remedy));
            }
        }
    }
    found.extend(unlisted(tree, documents()));
    found
}

/// What is wrong with a link of the document at `path`, and what to do.
fn complaint(tree: &Tree, path: &str, target: &str) -> Option<(String, &'static str)> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match file {
        "" => path.to_owned(),
        _ => match resolve(path, file) {
            Some(file) => file,
            None => return Some(("leaves the repository".to_owned(), "link to a file in it")),
        },
    };
    if !tree.has(&file) {
        return Some((format!("no file {file}"), "correct the path"));
    }
    if path.starts_with(BOOK) && !file.starts_with(BOOK) {
        return Some((
            "leaves the book".to_owned(),
            "name the file without a link, or link to a page in docs",
        ));
    }
    let has_anchor = || {
        tree.text(&file)
            .is_some_and(|text| anchors(text).contains(&anchor.to_owned()))
    };
    (!anchor.is_empty() && !has_anchor()).then(|| {
        (
            format!("{file} has no heading #{anchor}"),
            "take the heading in lower case, with - for spaces and without punctuation",
        )
    })
}

/// `target` as seen from the folder of `path`, relative to the root.
fn resolve(path: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Pages of the book that its contents list does not name: they are in no built book.
fn unlisted<'a>(
    tree: &Tree,
    documents: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<Violation> {
    let listed: Vec<&str> = links(tree.text(CONTENTS).unwrap_or_default())
        .map(|(_, target)| target)
        .collect();
    documents
        .filter_map(|(path, _)| Some((path, path.strip_prefix(BOOK)?)))
        .filter(|(path, page)| *path != CONTENTS && !listed.contains(page))
        .map(|(path, page)| {
            violation(
                path,
                "is not in the book",
                format!("add ({page}) to {CONTENTS}"),
            )
        })
        .collect()
}

/// Lines of a document outside of code blocks, from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Targets of inline links and pictures, `[text](target)`, with their lines.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        let outside_code = line.split('`').step_by(2);
        let targets = outside_code.flat_map(|part| {
            part.match_indices("](").filter_map(|(at, begin)| {
                let (target, _) = part[at + begin.len()..].split_once(')')?;
                Some(target)
            })
        });
        targets.map(move |target| (number, target))
    })
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let headings = prose(text).filter_map(|(_, line)| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| heading.strip_prefix(' '))?
    });
    headings
        .map(|heading| {
            let name = anchor(heading);
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            match *count {
                1 => name,
                again => format!("{name}-{}", again - 1),
            }
        })
        .collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    fn places(files: &[(&str, &str)]) -> Vec<String> {
        let found = check(&fake(files));
        found
            .into_iter()
            .map(|one| format!("{} {}", one.place, one.what))
            .collect()
    }

    const PAGE: (&str, &str) = ("docs/a.md", "# A page: its `head`\n## Twice\n## Twice\n");
    const LIST: (&str, &str) = ("docs/SUMMARY.md", "[A](a.md)\n[B](guide/b.md)\n");

    #[test]
    fn links_to_files_folders_headings_and_the_network_are_fine() {
        let text = "[a](../a.md) [h](../a.md#a-page-its-head) ![t](../a.md#twice-1) [w](https://x.org/#y) [o](#own)\n# Own\n";
        let readme = "[d](docs/a.md#twice)";
        assert_eq!(
            places(&[PAGE, LIST, ("docs/guide/b.md", text), ("README.md", readme)]),
            [""; 0]
        );
    }

    #[test]
    fn a_link_to_nothing_is_named_with_its_line() {
        let text = "\n[a](c.md) and [b](../a.md#twice-2), [c](../../../x.md)\n[d](#none)";
        assert_eq!(
            places(&[PAGE, LIST, ("docs/guide/b.md", text)]),
            [
                "docs/guide/b.md:2 link to c.md: no file docs/guide/c.md",
                "docs/guide/b.md:2 link to ../a.md#twice-2: docs/a.md has no heading #twice-2",
                "docs/guide/b.md:2 link to ../../../x.md: leaves the repository",
                "docs/guide/b.md:3 link to #none: docs/guide/b.md has no heading #none",
            ]
        );
    }

    #[test]
    fn what_stands_in_code_is_no_link_and_no_heading() {
        let text = "`[a](b.md)` is [one](#in-code)\n```\n# In code\n[c](d.md)\n```\n";
        assert_eq!(
            places(&[("x.md", text)]),
            ["x.md:1 link to #in-code: x.md has no heading #in-code"]
        );
    }

    #[test]
    fn a_page_of_the_book_is_in_its_list_and_links_to_the_book_only() {
        let text = "[r](../README.md)";
        assert_eq!(
            places(&[
                ("README.md", ""),
                LIST,
                PAGE,
                ("docs/guide/b.md", ""),
                ("docs/c.md", text)
            ]),
            [
                "docs/c.md:1 link to ../README.md: leaves the book",
                "docs/c.md is not in the book",
            ]
        );
    }
}
