//! A tool's cells as the table in `docs/results/interop.md`, between `<!-- interop NAME -->` and `<!-- interop NAME end -->`.
//!
//! Each table has a head of its own, since each tool can be measured alone.

use crate::matrix::{Cell, Count, Deviation, Measured, Role, Way};
use linerate_model::spec::Transport;
use linerate_testkit::pages;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
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

/// The table, with the reasons of deviations below it. Rows that say the same are one.
pub(crate) fn text(name: &str, all: &[Measured]) -> String {
    let mut notes = Vec::new();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for measured in all {
        for ((role, transport, is_v6), ways) in by_row(measured) {
            rows.push(Row {
                role,
                versions: vec![&measured.version],
                transports: vec![transport],
                ips: vec![is_v6],
                ways: [Way::Normal, Way::Reverse, Way::Both]
                    .map(|way| ways.get(&way).map(|outcome| said(outcome, &mut notes))),
            });
        }
    }
    // The order matters: a row of both IP versions names none.
    let rows = merged(rows, |row| &mut row.ips);
    let rows = merged(rows, |row| &mut row.transports);
    let rows = merged(rows, |row| &mut row.versions);
    let mut text = format!(
        "| linerate is | {name} | transport | normal | reverse | both ways |\n|---|---|---|---|---|---|\n"
    );
    for row in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{row}");
    }
    for (number, note) in (1..).zip(notes) {
        let _ = writeln!(text, "\n({number}) {note}");
    }
    text
}

/// A row of the page: one or several that say the same.
#[derive(Debug, Clone, PartialEq)]
struct Row<'a> {
    role: Role,
    versions: Vec<&'a str>,
    transports: Vec<Transport>,
    ips: Vec<bool>,
    /// `None`: tool and linerate do not have this combination.
    ways: [Option<Vec<Found>>; 3],
}

/// What both ends counted of one quantity, or of several tests whose counts differ for the same reason.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    Same,
    /// What was received less what was sent, from the smallest to the largest; the number of its reason.
    Differs {
        unit: &'static str,
        least: i128,
        most: i128,
        note: Option<usize>,
    },
    Failed(String),
}

impl Found {
    /// Both in one, if they differ in figures alone.
    fn joined(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (
                Self::Differs {
                    unit,
                    least,
                    most,
                    note,
                },
                Self::Differs {
                    unit: unit_2,
                    least: least_2,
                    most: most_2,
                    note: note_2,
                },
            ) if (unit, note, *least < 0) == (unit_2, note_2, *least_2 < 0) => {
                Some(Self::Differs {
                    unit,
                    least: *least.min(least_2),
                    most: *most.max(most_2),
                    note: *note,
                })
            }
            _ => (self == other).then(|| self.clone()),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str("same"),
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Differs {
                unit,
                least,
                most,
                note,
            } => {
                let mut sizes = [least.unsigned_abs(), most.unsigned_abs()];
                sizes.sort_unstable();
                let [small, large] = sizes;
                let word = if *least < 0 { "fewer" } else { "more" };
                let from = if small == large {
                    String::new()
                } else {
                    format!("{small} to ")
                };
                write!(f, "{from}{large} {unit} {word} received")?;
                note.map_or(Ok(()), |number| write!(f, " ({number})"))
            }
        }
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transports: Vec<_> = self.transports.iter().map(ToString::to_string).collect();
        let ip = match self.ips[..] {
            [false] => ", IPv4",
            [true] => ", IPv6",
            _ => "",
        };
        write!(
            f,
            "| {} | {} | {}{ip}",
            self.role,
            self.versions.join(", "),
            transports.join(", ")
        )?;
        for way in &self.ways {
            let words = way.as_ref().map_or_else(
                || "–".to_owned(),
                |found| {
                    let words: Vec<_> = found.iter().map(ToString::to_string).collect();
                    words.join("; ")
                },
            );
            write!(f, " | {words}")?;
        }
        f.write_str(" |")
    }
}

/// Rows that differ in one list alone, and in how large differences are, as one.
fn merged<'a, T: Clone + PartialEq>(
    rows: Vec<Row<'a>>,
    list: for<'row> fn(&'row mut Row<'a>) -> &'row mut Vec<T>,
) -> Vec<Row<'a>> {
    let mut all: Vec<Row<'a>> = Vec::new();
    for mut row in rows {
        let found = all.iter_mut().find_map(|other| {
            let ways = joined(&other.ways, &row.ways)?;
            let mut alike = row.clone();
            list(&mut alike).clone_from(list(other));
            alike.ways.clone_from(&other.ways);
            (alike == *other).then_some((other, ways))
        });
        match found {
            Some((other, ways)) => {
                list(other).append(list(&mut row));
                other.ways = ways;
            }
            None => all.push(row),
        }
    }
    all
}

type Ways = [Option<Vec<Found>>; 3];

fn joined(one: &Ways, other: &Ways) -> Option<Ways> {
    let mut ways = one.clone();
    for (way, other) in ways.iter_mut().zip(other) {
        *way = match (&way, other) {
            (None, None) => None,
            (Some(one), Some(other)) if one.len() == other.len() => {
                let both = one.iter().zip(other);
                Some(
                    both.map(|(one, other)| one.joined(other))
                        .collect::<Option<_>>()?,
                )
            }
            _ => return None,
        };
    }
    Some(ways)
}

type Outcome = Result<Vec<Count>, String>;
type Rows<'a> = BTreeMap<(Role, Transport, bool), BTreeMap<Way, &'a Outcome>>;

/// The cells by what they have in common in a row.
fn by_row(measured: &Measured) -> Rows<'_> {
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

/// What a test found: that all counts are the same, or how each differs.
fn said(outcome: &Outcome, notes: &mut Vec<&'static str>) -> Vec<Found> {
    let counts = match outcome {
        Ok(counts) => counts,
        Err(error) => return vec![Found::Failed(error.clone())],
    };
    if counts.iter().all(|count| count.sent == count.received) {
        return vec![Found::Same];
    }
    let one = |count: &Count| {
        let difference = i128::from(count.received) - i128::from(count.sent);
        if difference == 0 {
            return Found::Same;
        }
        Found::Differs {
            unit: count.unit,
            least: difference,
            most: difference,
            note: count.deviation.map(|deviation| number(deviation, notes)),
        }
    };
    counts.iter().map(one).collect()
}

/// The number of a deviation's note.
fn number(deviation: &Deviation, notes: &mut Vec<&'static str>) -> usize {
    let known = notes.iter().position(|note| *note == deviation.words);
    known.unwrap_or_else(|| {
        notes.push(deviation.words);
        notes.len() - 1
    }) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Deviation = Deviation {
        words: "It stops early.",
        explains: |_, _| true,
    };

    fn measured(version: &str, difference: u64) -> Measured {
        let cells = crate::matrix::cells().map(|cell| {
            let is_late = cell.role == Role::Server && cell.way == Way::Reverse;
            let sent = if is_late { 500 + difference } else { 500 };
            (cell, Ok(vec![Count::new("B", sent, 500).with(&LATE)]))
        });
        Measured {
            version: version.to_owned(),
            cells: cells.collect(),
        }
    }

    #[test]
    fn rows_that_say_the_same_are_one_with_the_range_of_what_differs() {
        let text = text("tool", &[measured("1.0", 12), measured("2.0", 700)]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| client | 1.0, 2.0 | TCP, UDP | same | same | same |",
                "| server | 1.0, 2.0 | TCP, UDP | same | 12 to 700 B fewer received (1) | same |",
                "",
                "(1) It stops early.",
            ]
        );
    }

    #[test]
    fn a_failure_and_a_combination_that_is_not_there_stay_rows_of_their_own() {
        let mut one = measured("1.0", 0);
        one.cells
            .retain(|(cell, _)| cell.role == Role::Client && cell.way != Way::Both);
        one.cells[0].1 = Err("refused".to_owned());
        let text = text("tool", &[one]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| client | 1.0 | TCP, IPv4 | failed: refused | same | – |",
                "| client | 1.0 | TCP, IPv6 | same | same | – |",
                "| client | 1.0 | UDP | same | same | – |",
            ]
        );
    }
}
