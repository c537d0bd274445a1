//! Tables beside the charts: notes, invalid trials, goals, ledger, rules.

use super::trials::trial_column;
use crate::charts::{goal_name, trial_name};
use crate::figures::{UNKNOWN, Unit, digits, float};
use crate::page::{self, heading};
use crate::table::{Cell, Table, column, words as text};
use crate::words;
use linerate_model::run::{BoundedBy, Finding, GoalResult, LedgerEntry, Run, Trial};
use linerate_model::{BitRate, PacketCount};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Invalid trials, or runs with some, that are listed in full.
const MAX_INVALID: usize = 10;

/// What the user should know.
pub(super) fn notes(run: &Run) -> Markup {
    html! {
        @if !run.doubts.is_empty() {
            p { strong { "Figures of this log contradict each other:" } }
            ul.notes { @for doubt in &run.doubts { li { (doubt) } } }
        }
        @if !run.notes.is_empty() {
            ul.notes { @for note in &run.notes { li { (note) } } }
        }
    }
}

/// Whether messages waited for each other, and what load beside them changed.
pub(super) fn loops(run: &Run, level: u8) -> Markup {
    let pairs = crate::loops::side_by_side(run);
    let responsive = crate::loops::responsiveness(run);
    html! {
        @if !responsive.is_empty() {
            (heading(level, None, "Responsiveness under load"))
            ul { @for line in &responsive { li { (line) } } }
        }
        @if let Some(note) = crate::loops::loop_note(run) { p.loop-note { (note) } }
        @if !pairs.is_empty() {
            (heading(level, None, "Idle and under load"))
            ul { @for pair in &pairs { li { (pair) } } }
        }
    }
}

/// How many streams shared the rate of each trial.
pub(super) fn shares(run: &Run, level: u8) -> Markup {
    let lines = words::stream_shares(run);
    html! {
        @if !lines.is_empty() {
            (heading(level, None, "Streams"))
            ul { @for line in &lines { li { (line) } } }
        }
    }
}

/// Trials that do not count, in red, with their reasons.
pub(super) fn invalid(run: &Run) -> Markup {
    let bad = run.trials.iter().filter(|trial| !trial.valid);
    let why = bad.map(|trial| {
        let name = trial_name(run, trial);
        format!("Trial {} ({name}): {}", trial.index, words::reasons(trial))
    });
    let of = format!("{} trials do not count", run.trials.len());
    alarm(&why.collect::<Vec<_>>(), &of, ", in the table of trials")
}

/// What does not count and why, in red; `rest` says where those are that are too many.
pub(super) fn alarm(why: &[String], of: &str, rest: &str) -> Markup {
    html! {
        @if !why.is_empty() {
            div.alarm role="note" {
                p { strong { (why.len()) " of " (of) } }
                ul {
                    @for one in why.iter().take(MAX_INVALID) { li { (one) } }
                    @if why.len() > MAX_INVALID { li { "and " (why.len() - MAX_INVALID) " more" (rest) } }
                }
            }
        }
    }
}

pub(super) fn goals(run: &Run, level: u8) -> Markup {
    if run.goals().is_empty() {
        return html! {};
    }
    let bounds = run
        .goals()
        .iter()
        .flat_map(|g| [g.lower_bound, g.refused_load()]);
    let largest = bounds.flatten().map(BitRate::as_f64).fold(0.0, f64::max);
    let unit = Unit::for_rate(largest);
    let symbol = unit.symbol();
    let rate = |head: String, get: fn(&GoalResult) -> Option<BitRate>| {
        column(head, move |goal: &GoalResult| Cell::rate(get(goal), unit))
    };
    let columns = [
        text("Goal", goal_name),
        text("Direction", |goal: &GoalResult| {
            words::direction(goal.direction)
        }),
        rate(
            format!("Lower bound ({symbol}, L4 payload, intended)"),
            |goal| goal.lower_bound,
        ),
        rate(format!("Upper bound ({symbol})"), GoalResult::refused_load),
        rate(
            format!("Conditional throughput ({symbol}, receiver)"),
            |goal| goal.conditional_throughput,
        ),
        text("Bounded by", |goal: &GoalResult| {
            goal.bounded_by.map_or(UNKNOWN, BoundedBy::as_str)
        }),
        column("Width (%)", |goal: &GoalResult| Cell::percent(goal.width)),
        text("As close as asked", |goal: &GoalResult| {
            match (goal.reached, &goal.shortfall) {
                (true, _) => "yes".to_owned(),
                (false, None) => "no".to_owned(),
                (false, Some(why)) => format!("no: {why}"),
            }
        }),
        column("Trials", |goal: &GoalResult| {
            Cell::count(Some(u64::from(goal.trials)))
        }),
        column("Trial time (s)", |goal: &GoalResult| {
            Cell::number(Some(goal.time.as_secs_f64()), Unit::SECONDS)
        }),
    ];
    let table = Table::from_rows(run.goals(), columns);
    page::titled(&table, "Search goals", level)
}

/// A table behind a click, under its heading; nothing without rows.
fn folded(level: u8, title: &str, name: &str, counted: &str, table: &Table) -> Markup {
    let count = digits(float(table.rows.len() as u64));
    html! {
        @if !table.rows.is_empty() {
            (heading(level, None, title))
            (page::folded(table, name, &format!("{name} ({count}{counted})"), false))
        }
    }
}

pub(super) fn ledger(run: &Run, level: u8) -> Markup {
    let rows = run.trials.iter().flat_map(|trial| {
        let entries = trial.ledger().iter();
        entries.map(move |entry| (trial, entry))
    });
    let columns = [
        trial_column(run),
        text("Place", |(_, entry): &(&Trial, &LedgerEntry)| {
            entry.place.as_str()
        }),
        column("Packets", |(_, entry): &(&Trial, &LedgerEntry)| {
            Cell::count(Some(entry.packets.get()))
        }),
        column(
            "Share of its loss (%)",
            |(trial, entry): &(&Trial, &LedgerEntry)| {
                let lost = trial.packets().and_then(|packets| packets.lost);
                let lost = lost.map(PacketCount::get).filter(|lost| *lost > 0);
                let share = lost.map(|lost| float(entry.packets.get()) / float(lost));
                Cell::number(share, Unit::PERCENT)
            },
        ),
        text("Source", |(_, entry): &(&Trial, &LedgerEntry)| {
            entry.source.clone()
        }),
    ];
    let table = Table::from_rows(&rows.collect::<Vec<_>>(), columns);
    folded(
        level,
        "Where packets were lost",
        "Loss ledger",
        " entries",
        &table,
    )
}

/// What of the hosts could not be read during the trials, and why; once for each reason.
pub(super) fn unread(run: &Run, level: u8) -> Markup {
    let mut sources: BTreeMap<(&str, &String), Vec<&str>> = BTreeMap::new();
    for report in run.trials.iter().flat_map(Trial::raw) {
        let side = words::side(Some(report.side));
        for (signal, why) in &report.after.missing {
            let signals = sources.entry((side, why)).or_default();
            if !signals.contains(&signal.as_str()) {
                signals.push(signal);
            }
        }
    }
    let mut table = Table::new(["Side", "Source", "Why"]);
    for ((side, why), signals) in &sources {
        table.push([*side, &signals.join(", "), why].map(Cell::text).into());
    }
    folded(
        level,
        "What could not be read",
        "Sources that were not read",
        "",
        &table,
    )
}

pub(super) fn rules(findings: &[Finding], level: u8) -> Markup {
    let mut table = Table::new(["Rule", "Outcome", "Why"]);
    for finding in findings {
        let (outcome, why) = crate::proof::outcome(finding);
        table.push([finding.rule.as_str(), outcome, why].map(Cell::text).into());
    }
    folded(level, "What else was checked", "All rules", "", &table)
}
