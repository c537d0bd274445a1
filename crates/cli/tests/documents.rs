//! The guide names every command and option of the program, and no others.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

#[path = "shared/alone.rs"]
mod alone;

use alone::alone;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Long options by command, `--help` and those of every command included.
type Options = BTreeMap<String, BTreeSet<String>>;

fn help(words: &[&str]) -> String {
    let output = alone().args(words).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that a help lists.
fn commands(help: &str) -> Vec<String> {
    let (_, list) = help.split_once("Commands:\n").unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Words that begin with `--`, without what follows the name.
fn options(text: &str) -> BTreeSet<String> {
    text.match_indices("--")
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '-'))
        .map(|(at, _)| {
            let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let rest = &text[at..];
            rest[..rest.find(|c| !name(c)).unwrap_or(rest.len())].to_owned()
        })
        .filter(|option| option.len() > 2)
        .collect()
}

/// The options of each command, those of its own commands included.
fn of_the_program() -> Options {
    let known = |command: String| {
        let own = help(&[&command]);
        let mut known = options(&own);
        for below in commands(&own) {
            known.extend(options(&help(&[&command, &below])));
        }
        (command, known)
    };
    commands(&help(&[])).into_iter().map(known).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<(PathBuf, String)> {
    let guide = std::fs::read_dir(root().join("docs/guide")).unwrap();
    let pages = guide.map(|entry| entry.unwrap().path());
    pages
        .chain([root().join("README.md")])
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn the_page_of_commands_has_every_command_and_the_guide_every_option() {
    let page = std::fs::read_to_string(root().join("docs/guide/commands.md")).unwrap();
    let guide: String = documents().into_iter().map(|(_, text)| text).collect();
    let named = options(&guide);
    for (command, known) in of_the_program() {
        assert!(page.contains(&format!("`linerate {command}")), "{command}");
        let missing: Vec<_> = known
            .difference(&named)
            .filter(|one| *one != "--help")
            .collect();
        assert!(missing.is_empty(), "{command}: {missing:?}");
    }
}

#[test]
fn every_command_line_in_the_documents_is_one_of_the_program() {
    let known = of_the_program();
    let mut seen = 0;
    for (path, text) in documents() {
        for line in text.lines() {
            let Some((_, line)) = line.split_once("linerate ") else {
                continue;
            };
            let line = line.split(['#', '|', '`']).next().unwrap();
            let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
            let Some(options_of_it) = known.get(command) else {
                continue;
            };
            seen += 1;
            // What is quoted is an argument, also where it is another program's command line.
            let own: String = rest.split('\'').step_by(2).collect();
            let unknown: Vec<_> = options(&own)
                .into_iter()
                .filter(|option| !options_of_it.contains(option))
                .collect();
            assert!(
                unknown.is_empty(),
                "{}: linerate {line}: {unknown:?}",
                path.display()
            );
        }
    }
    assert!(seen > 40, "{seen} command lines found");
}
