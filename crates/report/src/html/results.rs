//! Tables beside the charts: notes, invalid trials, goals, ledger, rules.

use crate::charts::{goal_name, trial_name};
use crate::figures::{UNKNOWN, Unit, digits, float};
use crate::page::{self, heading};
use crate::table::{Cell, Table};
use crate::words;
use linerate_model::run::{Finding, RuleOutcome, Run, Trial};
use linerate_model::{BitRate, Ratio};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Invalid trials listed in full above the table of all trials.
const MAX_INVALID: usize = 10;

/// What the user should know.
pub(super) fn notes(run: &Run) -> Markup {
    html! {
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

/// Trials that do not count, in red, with their reasons.
pub(super) fn invalid(run: &Run) -> Markup {
    let bad: Vec<_> = run.trials.iter().filter(|trial| !trial.valid).collect();
    html! {
        @if !bad.is_empty() {
            div.alarm role="note" {
                p { strong { (bad.len()) " of " (run.trials.len()) " trials do not count" } }
                ul {
                    @for trial in bad.iter().take(MAX_INVALID) {
                        li {
                            "Trial " (trial.index) " (" (trial_name(run, trial)) "): "
                            @if trial.reasons.is_empty() { "no reason is given" }
                            @else { (trial.reasons.join("; ")) }
                        }
                    }
                    @if bad.len() > MAX_INVALID { li { "and " (bad.len() - MAX_INVALID) " more, in the table of trials" } }
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
        .flat_map(|g| [g.lower_bound, g.upper_bound]);
    let largest = bounds.flatten().map(BitRate::as_f64).fold(0.0, f64::max);
    let unit = Unit::for_rate(largest);
    let symbol = unit.symbol();
    let mut table = Table::new([
        "Goal".to_owned(),
        "Direction".to_owned(),
        format!("Lower bound ({symbol}, L4 payload, intended)"),
        format!("Upper bound ({symbol})"),
        format!("Conditional throughput ({symbol}, receiver)"),
        "Bounded by".to_owned(),
        "Width (%)".to_owned(),
        "As close as asked".to_owned(),
        "Trials".to_owned(),
        "Trial time (s)".to_owned(),
    ]);
    for goal in run.goals() {
        let rate = |rate: Option<BitRate>| Cell::number(rate.map(BitRate::as_f64), unit);
        table.push(vec![
            Cell::text(goal_name(goal)),
            Cell::text(words::direction(goal.direction)),
            rate(goal.lower_bound),
            rate(goal.upper_bound),
            rate(goal.conditional_throughput),
            Cell::text(goal.bounded_by.map_or(UNKNOWN, words::bounded_by)),
            Cell::number(goal.width.map(Ratio::get), Unit::PERCENT),
            Cell::text(match (goal.reached, &goal.shortfall) {
                (true, _) => "yes".to_owned(),
                (false, None) => "no".to_owned(),
                (false, Some(why)) => format!("no: {why}"),
            }),
            Cell::count(Some(u64::from(goal.trials))),
            Cell::number(Some(goal.time.as_secs_f64()), Unit::SECONDS),
        ]);
    }
    html! {
        (heading(level, None, "Search goals"))
        (page::scrolled(&table, "Search goals"))
    }
}

pub(super) fn ledger(run: &Run, level: u8) -> Markup {
    let mut table = Table::new([
        "Trial",
        "Place",
        "Packets",
        "Share of its loss (%)",
        "Source",
    ]);
    for trial in &run.trials {
        let lost = trial
            .packets()
            .and_then(|p| p.lost)
            .map(linerate_model::PacketCount::get);
        for entry in trial.ledger() {
            let share = lost.filter(|lost| *lost > 0);
            let share = share.map(|lost| float(entry.packets.get()) / float(lost));
            table.push(vec![
                Cell::text(trial_name(run, trial)),
                Cell::text(words::place(entry.place)),
                Cell::count(Some(entry.packets.get())),
                Cell::number(share, Unit::PERCENT),
                Cell::text(&entry.source),
            ]);
        }
    }
    html! {
        @if !table.rows.is_empty() {
            (heading(level, None, "Where packets were lost"))
            details {
                summary { "Loss ledger (" (digits(float(table.rows.len() as u64))) " entries)" }
                (page::scrolled(&table, "Loss ledger"))
            }
        }
    }
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
        table.push(vec![
            Cell::text(*side),
            Cell::text(signals.join(", ")),
            Cell::text(why.as_str()),
        ]);
    }
    html! {
        @if !table.rows.is_empty() {
            (heading(level, None, "What could not be read"))
            details {
                summary { "Sources that were not read (" (digits(float(table.rows.len() as u64))) ")" }
                (page::scrolled(&table, "Sources that were not read"))
            }
        }
    }
}

pub(super) fn rules(findings: &[Finding], level: u8) -> Markup {
    let mut table = Table::new(["Rule", "Outcome", "Why"]);
    for finding in findings {
        let (outcome, why) = match &finding.outcome {
            RuleOutcome::Found { verdict } => ("found", &verdict.claim),
            RuleOutcome::Clear { because } => ("ruled out", because),
            RuleOutcome::NotEvaluated { missing } => ("could not be checked", missing),
        };
        table.push(vec![
            Cell::text(&finding.rule),
            Cell::text(outcome),
            Cell::text(why.as_str()),
        ]);
    }
    html! {
        @if !findings.is_empty() {
            (heading(level, None, "What else was checked"))
            details {
                summary { "All rules (" (findings.len()) ")" }
                (page::scrolled(&table, "All rules"))
            }
        }
    }
}
