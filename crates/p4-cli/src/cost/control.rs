//! What the control plane costs: entries written and read per second of a core, one by one and in batches, by how a table
//! matches and how many entries it has already. In this process: no P4Runtime, no network.

use super::measure::Effort;
use super::words::{columns, rate};
use linerate_analysis::statistics::{self, USUAL_CONFIDENCE};
use linerate_model::Estimate;
use linerate_p4::generate::Family;
use linerate_p4::{Program, Switch, Update, UpdateKind};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Entries that are written and taken away again; a batch has all of them.
pub(crate) const ENTRIES: u32 = 1000;
const FAMILIES: [&str; 3] = ["entries-exact", "entries-lpm", "entries-ternary"];
pub(crate) const FILLS: [u32; 3] = [1_000, 10_000, 100_000];

/// The kinds of tables that are written to.
pub(crate) fn families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.into_iter().filter_map(Family::find)
}

/// What is timed, in this order in every round.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    Write(UpdateKind, Pace),
    ReadAll,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    OneByOne,
    Batch,
}

const OPERATIONS: [(&str, Operation); 7] = [
    (
        "insert",
        Operation::Write(UpdateKind::Insert, Pace::OneByOne),
    ),
    (
        "modify",
        Operation::Write(UpdateKind::Modify, Pace::OneByOne),
    ),
    (
        "delete",
        Operation::Write(UpdateKind::Delete, Pace::OneByOne),
    ),
    (
        "insert-batch",
        Operation::Write(UpdateKind::Insert, Pace::Batch),
    ),
    (
        "modify-batch",
        Operation::Write(UpdateKind::Modify, Pace::Batch),
    ),
    (
        "delete-batch",
        Operation::Write(UpdateKind::Delete, Pace::Batch),
    ),
    ("read-all", Operation::ReadAll),
];

/// A kind of table with so many entries.
#[derive(Debug)]
pub(crate) struct Row {
    family: &'static str,
    entries: u32,
    /// By operation, nanoseconds per entry of each round.
    rounds: [Vec<f64>; OPERATIONS.len()],
}

impl Row {
    /// Times each operation in each round; `once` gives the nanoseconds per entry of one.
    pub(crate) fn measured<E>(
        family: &Family,
        entries: u32,
        rounds: usize,
        mut once: impl FnMut(Operation) -> Result<f64, E>,
    ) -> Result<Self, E> {
        let mut row = Self {
            family: family.id,
            entries,
            rounds: Default::default(),
        };
        for _ in 0..rounds {
            for (at, (_, operation)) in OPERATIONS.iter().enumerate() {
                row.rounds[at].push(once(*operation)?);
            }
        }
        Ok(row)
    }

    fn estimate(&self, at: usize) -> Option<Estimate> {
        statistics::mean(&self.rounds[at], USUAL_CONFIDENCE).ok()
    }
}

/// Measures all kinds and fills.
///
/// # Errors
/// A program that does not load, or a write that is refused.
pub(super) fn measure(
    effort: &Effort,
    clock: &mut impl FnMut() -> Duration,
) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for family in families() {
        for entries in FILLS.into_iter().filter(|fill| *fill <= effort.max_level) {
            let (mut switch, more) = filled(family, entries)?;
            let once = |operation| once(&mut switch, &more, operation, clock);
            rows.push(Row::measured(
                family,
                entries,
                effort.sweeps * effort.rounds,
                once,
            )?);
        }
    }
    Ok(rows)
}

/// A switch whose table has so many entries, and further ones.
fn filled(family: &Family, entries: u32) -> Result<(Switch, Vec<Update>), String> {
    let generated = family.generate(entries + ENTRIES);
    let program =
        Program::from_json(generated.json.as_bytes()).map_err(|error| error.to_string())?;
    let mut updates = generated
        .updates(&program)
        .map_err(|error| error.to_string())?;
    let more = updates.split_off(usize::try_from(entries).unwrap_or(usize::MAX));
    let mut switch = Switch::new(Arc::new(program), linerate_p4::Limits::default(), 1);
    switch
        .write(&updates, 0)
        .map_err(|(_, error)| error.to_string())?;
    Ok((switch, more))
}

/// Nanoseconds per entry.
fn once(
    switch: &mut Switch,
    more: &[Update],
    operation: Operation,
    clock: &mut impl FnMut() -> Duration,
) -> Result<f64, String> {
    let refused = |(_, error): (usize, linerate_p4::WriteError)| error.to_string();
    let (took, count) = match operation {
        Operation::ReadAll => {
            let table = switch
                .program()
                .tables
                .iter()
                .position(|table| !table.key.is_empty())
                .unwrap_or(0);
            let begin = clock();
            let count = switch.entries(table).len();
            (clock().saturating_sub(begin), count)
        }
        Operation::Write(kind, pace) => {
            let updates: Vec<_> = more
                .iter()
                .map(|update| Update::new(kind, update.entity.clone()))
                .collect();
            let begin = clock();
            match pace {
                Pace::Batch => switch.write(&updates, 0).map_err(refused)?,
                Pace::OneByOne => {
                    for update in &updates {
                        switch
                            .write(std::slice::from_ref(update), 0)
                            .map_err(refused)?;
                    }
                }
            }
            (clock().saturating_sub(begin), updates.len())
        }
    };
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    Ok(took.as_secs_f64() * 1e9 / f64::from(count))
}

/// For people. `subject` is who takes the entries, `what` the time that is meant.
pub(crate) fn text(rows: &[Row], subject: &str, what: &str) -> String {
    let slowest = |at: usize| {
        let means = rows
            .iter()
            .filter_map(|row| Some((row, row.estimate(at)?.point)));
        means.max_by(|(_, one), (_, other)| one.total_cmp(other))
    };
    let mut text = String::new();
    if let (Some((one, single)), Some((other, batch))) = (slowest(0), slowest(3)) {
        text = format!(
            "{subject} inserts on average {}entries/s one by one where it is slowest ({} with {} entries), {}entries/s in batches of {ENTRIES} ({} with {}).\n",
            rate(single),
            one.family,
            one.entries,
            rate(batch),
            other.family,
            other.entries
        );
    }
    let _ = write!(
        text,
        "entries/s; mean of {} rounds. {what}\n\n",
        rows.first().map_or(0, |row| row.rounds[0].len())
    );
    let mut head = vec!["table".to_owned(), "entries".to_owned()];
    head.extend(OPERATIONS.iter().map(|(name, _)| (*name).to_owned()));
    let mut cells = vec![head];
    for row in rows {
        let mut line = vec![
            row.family.trim_start_matches("entries-").to_owned(),
            row.entries.to_string(),
        ];
        line.extend((0..OPERATIONS.len()).map(|at| {
            row.estimate(at)
                .map_or(String::new(), |mean| rate(mean.point))
        }));
        cells.push(line);
    }
    text + &columns(&cells)
}

/// As JSON, with every round.
pub(crate) fn document(rows: &[Row]) -> Vec<Value> {
    let row = |row: &Row| {
        let operations = OPERATIONS.iter().enumerate().map(|(at, (name, _))| {
            let mean = row.estimate(at);
            json!({
                "operation": name, "entry_ns": mean.as_ref().map(super::estimate::estimate),
                "entries_per_s": mean.map(|mean| 1e9 / mean.point), "rounds_entry_ns": row.rounds[at],
            })
        });
        json!({
            "table": row.family, "entries": row.entries, "batch": ENTRIES,
            "operations": operations.collect::<Vec<_>>(),
        })
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_timed_in_every_round_and_leaves_the_table_as_it_was() {
        let (mut switch, more) = filled(Family::find("entries-lpm").unwrap(), 100).unwrap();
        let mut now = Duration::ZERO;
        let mut clock = || {
            now += Duration::from_millis(1);
            now
        };
        for (name, operation) in OPERATIONS {
            let cost = once(&mut switch, &more, operation, &mut clock).unwrap();
            let entries = if name == "read-all" { 100.0 } else { 1000.0 };
            assert!((cost - 1e6 / entries).abs() < 1e-6, "{name}: {cost}");
        }
        let table = switch
            .program()
            .tables
            .iter()
            .position(|table| !table.key.is_empty())
            .unwrap();
        assert_eq!(switch.entries(table).len(), 100);
    }
}
