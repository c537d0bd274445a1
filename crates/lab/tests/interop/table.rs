//! A tool's cells as the table in `docs/results/interop.md`, between `<!-- interop NAME -->` and `<!-- interop NAME end -->`.
//!
//! Each table has a head of its own, since each tool can be measured alone.

use crate::matrix::{Cell, Count, Deviation, Measured, Role, Way};
use linerate_model::spec::Transport;
use linerate_testkit::pages;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Tools write one after the other.
static DOCUMENT: Mutex<()> = Mutex::new(());

pub(crate) fn document() -> PathBuf {
    pages::path("interop.md")
}

fn markers(name: &str) -> (String, String) {
    (
        format!("<!-- interop {name} -->\n"),
        format!("<!-- interop {name} end -->\n"),
    )
}

/// What stands between a tool's markers; `None` if they are not there.
pub(crate) fn fragment<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let (begin, end) = markers(name);
    let (_, rest) = document.split_once(&begin)?;
    Some(rest.split_once(&end)?.0)
}

/// Puts a tool's table into the document.
pub(crate) fn write(name: &str, text: &str) {
    let _alone = DOCUMENT.lock().unwrap_or_else(PoisonError::into_inner);
    let path = document();
    let document = std::fs::read_to_string(&path).expect("a readable document");
    let (begin, end) = markers(name);
    let old = fragment(&document, name).expect("the page has markers for every tool");
    let head = pages::head("make interop");
    let old = format!("{begin}{old}{end}");
    let new = format!("{begin}{head}\n{text}{end}");
    std::fs::write(&path, document.replace(&old, &new)).expect("a writable document");
}

/// The table, with the reasons of deviations below it.
pub(crate) fn text(name: &str, all: &[Measured]) -> String {
    let mut notes = Vec::new();
    let mut text = format!(
        "| linerate is | {name} | transport | IP | normal | reverse | both ways |\n|---|---|---|---|---|---|---|\n"
    );
    for measured in all {
        for ((role, transport, is_v6), ways) in rows(measured) {
            let ip = if is_v6 { "IPv6" } else { "IPv4" };
            let mut cell = |way: Way| match ways.get(&way) {
                None => "–".to_owned(),
                Some(Ok(counts)) => said(counts, &mut notes),
                Some(Err(error)) => format!("failed: {error}"),
            };
            let cells = [Way::Normal, Way::Reverse, Way::Both].map(&mut cell);
            let version = &measured.version;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "| {role} | {version} | {transport} | {ip} | {} |",
                cells.join(" | ")
            );
        }
    }
    for (number, note) in (1..).zip(notes) {
        let _ = writeln!(text, "\n({number}) {note}");
    }
    text
}

type Outcome = Result<Vec<Count>, String>;
type Rows<'a> = BTreeMap<(Role, Transport, bool), BTreeMap<Way, &'a Outcome>>;

/// The cells by what they have in common in a row.
fn rows(measured: &Measured) -> Rows<'_> {
    let mut rows = Rows::new();
    for (cell, outcome) in &measured.cells {
        let Cell {
            role,
            transport,
            is_v6,
            way,
        } = *cell;
        rows.entry((role, transport, is_v6))
            .or_default()
            .insert(way, outcome);
    }
    rows
}

/// One figure where both ends said the same, else both.
fn said(counts: &[Count], notes: &mut Vec<&'static str>) -> String {
    let one = |count: &Count| {
        let Count {
            unit,
            sent,
            received,
            deviation,
        } = count;
        let note = deviation.map_or_else(String::new, |deviation| mark(deviation, notes));
        if sent == received {
            format!("{sent} {unit}")
        } else {
            format!("{received} of {sent} {unit}{note}")
        }
    };
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The number of a deviation's note.
fn mark(deviation: &Deviation, notes: &mut Vec<&'static str>) -> String {
    let known = notes.iter().position(|note| *note == deviation.words);
    let index = known.unwrap_or_else(|| {
        notes.push(deviation.words);
        notes.len() - 1
    });
    format!(" ({})", index + 1)
}
