//! Tables of results: goals, trials, ledger, rules, notes.

use super::{figure, heading};
use crate::charts::{goal_name, trial_name};
use crate::curve::{loss, offered, received};
use crate::figures::{Unit, Value, digits, float, percent_or_unknown, rate_or_unknown};
use crate::table::{Cell, Table};
use crate::words;
use linerate_model::BitRate;
use linerate_model::run::{Finding, RuleOutcome, Run, Trial};
use maud::{Markup, html};

/// Invalid trials listed in full above the table of all trials.
const MAX_INVALID: usize = 10;

/// Everything between the charts and the hosts.
pub(super) fn all(run: &Run, level: u8) -> Markup {
    html! {
        (notes(run))
        (invalid(run))
        (goals(run, level))
        (trials(run, level))
        (ledger(run, level))
        (rules(&run.findings, level))
    }
}

/// What the user should know.
pub(super) fn notes(run: &Run) -> Markup {
    html! {
        @if !run.notes.is_empty() {
            ul.notes { @for note in &run.notes { li { (note) } } }
        }
    }
}

/// Trials that do not count, in red, with their reasons.
fn invalid(run: &Run) -> Markup {
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

fn goals(run: &Run, level: u8) -> Markup {
    if run.goals.is_empty() {
        return html! {};
    }
    let columns = [
        "Goal",
        "Direction",
        "Lower bound (L4 payload, intended)",
        "Upper bound",
        "Conditional throughput",
        "Bounded by",
        "Width",
        "As close as asked",
        "Trials",
        "Trial time (s)",
    ];
    let mut table = Table::new(columns);
    for goal in &run.goals {
        table.push(vec![
            Cell::text(goal_name(goal)),
            Cell::text(words::direction(goal.direction)),
            Cell::text(rate_or_unknown(goal.lower_bound)),
            Cell::text(rate_or_unknown(goal.upper_bound)),
            Cell::text(rate_or_unknown(goal.conditional_throughput)),
            Cell::text(
                goal.bounded_by
                    .map_or(crate::figures::UNKNOWN, words::bounded_by),
            ),
            Cell::text(percent_or_unknown(goal.width)),
            Cell::text(if goal.reached { "yes" } else { "no" }),
            Cell::count(Some(u64::from(goal.trials))),
            Cell::number(Some(goal.time.as_secs_f64()), Unit::SECONDS),
        ]);
    }
    html! {
        (heading(level, None, "Search goals"))
        div.scroll tabindex="0" role="region" aria-label="Search goals" { (figure::table(&table, "Search goals")) }
    }
}

fn trials(run: &Run, level: u8) -> Markup {
    if run.trials.is_empty() {
        return html! {
            (heading(level, None, "Trials"))
            p { "No trial was recorded." }
        };
    }
    let unit = Unit::for_rate(largest_rate(run));
    let table = trial_columns(unit);
    html! {
        (heading(level, None, "Trials"))
        details {
            summary { "All trials (" (run.trials.len()) ")" }
            div.scroll tabindex="0" role="region" aria-label="All trials" {
                table {
                    thead { tr { @for column in &table { th scope="col" { (column) } } } }
                    tbody { @for trial in &run.trials { (trial_row(run, trial, unit)) } }
                }
            }
        }
    }
}

fn largest_rate(run: &Run) -> f64 {
    let rates = run
        .trials
        .iter()
        .flat_map(|t| [t.intended_load, t.offered_load, t.received_rate]);
    rates.flatten().map(BitRate::as_f64).fold(0.0, f64::max)
}

fn trial_columns(unit: Unit) -> Vec<String> {
    let rate = |name: &str| format!("{name} ({})", unit.symbol());
    vec![
        "#".to_owned(),
        "Trial".to_owned(),
        "Transport".to_owned(),
        "Layer".to_owned(),
        "Payload (B)".to_owned(),
        rate("Intended"),
        rate("Offered, sender"),
        rate("Received, receiver"),
        "Loss (%)".to_owned(),
        "Lost".to_owned(),
        "Duplicated".to_owned(),
        "Reordered".to_owned(),
        "Time (s)".to_owned(),
        "Valid".to_owned(),
    ]
}

fn trial_row(run: &Run, trial: &Trial, unit: Unit) -> Markup {
    let one = |seen| Value::of(&Option::into_iter(seen).collect::<Vec<_>>());
    let count = |get: fn(&linerate_model::run::Packets) -> Option<linerate_model::PacketCount>| {
        Cell::count(
            trial
                .packets
                .as_ref()
                .and_then(get)
                .map(linerate_model::PacketCount::get),
        )
    };
    let cells = [
        Cell::count(Some(u64::from(trial.index))),
        Cell::text(trial_name(run, trial)),
        Cell::text(words::transport(trial.transport)),
        Cell::text(trial.layer.to_string()),
        Cell::count(trial.payload_bytes.map(linerate_model::ByteCount::get)),
        trial.intended_load.map_or_else(
            || Cell::text("not set or not recorded"),
            |load| Cell::number(Some(load.as_f64()), unit),
        ),
        Cell::value(one(offered(trial)).as_ref(), unit),
        Cell::value(one(received(trial)).as_ref(), unit),
        Cell::value(one(loss(trial)).as_ref(), Unit::PERCENT),
        count(|p| p.lost),
        count(|p| p.duplicated),
        count(|p| p.reordered),
        Cell::number(trial.duration.map(|d| d.as_secs_f64()), Unit::SECONDS),
    ];
    html! {
        tr.invalid[!trial.valid] {
            @for cell in &cells { td.number[cell.value.is_some()] { (cell.text) } }
            td {
                @if trial.valid { "yes" } @else { strong { "no" } }
                @for reason in &trial.reasons { br; (reason) }
            }
        }
    }
}

fn ledger(run: &Run, level: u8) -> Markup {
    let mut table = Table::new([
        "Trial",
        "Place",
        "Packets",
        "Share of its loss (%)",
        "Source",
    ]);
    for trial in &run.trials {
        let lost = trial
            .packets
            .and_then(|p| p.lost)
            .map(linerate_model::PacketCount::get);
        for entry in &trial.ledger {
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
                div.scroll tabindex="0" role="region" aria-label="Loss ledger" { (figure::table(&table, "Loss ledger")) }
            }
        }
    }
}

fn rules(findings: &[Finding], level: u8) -> Markup {
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
            Cell::text(why),
        ]);
    }
    html! {
        @if !findings.is_empty() {
            (heading(level, None, "What else was checked"))
            details {
                summary { "All rules (" (findings.len()) ")" }
                div.scroll tabindex="0" role="region" aria-label="All rules" { (figure::table(&table, "All rules")) }
            }
        }
    }
}
