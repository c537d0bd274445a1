//! Rate of each reporting interval over time.

use super::timeline::{About, Line, chart, chosen, largest, left_out, lines, middle};
use super::{ChartKind, Drawn, Topic};
use crate::figures::Unit;
use linerate_model::run::{Run, RunKind, Trial, TrialInterval};
use std::time::Duration;

pub(super) const KIND: ChartKind = ChartKind {
    id: "rate-over-time",
    summary: "Rate of each reporting interval over time.",
    topic: Topic::Rate,
    answers: true,
    draw,
};

fn draw(run: &Run) -> Drawn {
    if run.kind() == RunKind::Latency || run.trials.is_empty() {
        return Drawn::NotApplicable;
    }
    let received = |t: &Trial| t.intervals.iter().any(|i| i.received_rate.is_some());
    let offered = |t: &Trial| t.intervals.iter().any(|i| i.offered_load.is_some());
    if run.trials.iter().any(|t| t.valid && received(t)) {
        return drawn(run, Side::Received, received);
    }
    drawn(run, Side::Offered, offered)
}

#[derive(Clone, Copy)]
enum Side {
    Offered,
    Received,
}

fn drawn(run: &Run, side: Side, has: impl Fn(&Trial) -> bool) -> Drawn {
    let (trials, total) = chosen(run, has);
    let lines = lines(run, &trials, |trial| points(trial, side));
    if lines.is_empty() {
        return Drawn::Missing("rate per reporting interval");
    }
    let unit = Unit::for_rate(largest(&lines));
    let about = About {
        id: "rate-over-time",
        title: "Rate over time".to_owned(),
        caption: caption(&lines, unit, side) + &left_out(lines.len(), total) + stubs(&trials),
        quantity: match side {
            Side::Offered => "Offered rate, L4 payload, sender",
            Side::Received => "Received rate, L4 payload, receiver",
        },
        unit,
    };
    Drawn::Charts(vec![chart(about, &lines)])
}

/// Says that intervals were left out, if any were.
fn stubs(trials: &[&Trial]) -> &'static str {
    let has_stub = |t: &&Trial| {
        let least = least_length(t);
        t.intervals.iter().any(|i| length(i) < least)
    };
    if trials.iter().any(has_stub) {
        " Intervals under half the usual length are not drawn."
    } else {
        ""
    }
}

fn length(interval: &TrialInterval) -> Duration {
    interval.end.saturating_sub(interval.start)
}

/// How long an interval has to be for its rate to mean something: a log's last interval may cover some
/// milliseconds.
fn least_length(trial: &Trial) -> Duration {
    trial.intervals.iter().map(length).max().unwrap_or_default() / 2
}

/// The rate of one trial over time, as its receiver tells it or else its sender; and whose it is.
pub(super) fn rate_points(trial: &Trial) -> (&'static str, Vec<(f64, f64)>) {
    match points(trial, Side::Received) {
        none if none.is_empty() => ("Offered rate, L4 payload", points(trial, Side::Offered)),
        some => ("Received rate, L4 payload", some),
    }
}

fn points(trial: &Trial, side: Side) -> Vec<(f64, f64)> {
    let least = least_length(trial);
    let whole = trial.intervals.iter().filter(|i| length(i) >= least);
    let rates = whole.filter_map(|interval| {
        let rate = match side {
            Side::Offered => interval.offered_load,
            Side::Received => interval.received_rate,
        };
        Some((middle(interval.start, interval.end), rate?.as_f64()))
    });
    rates.collect()
}

fn caption(lines: &[Line], unit: Unit, side: Side) -> String {
    let verb = match side {
        Side::Offered => "offered",
        Side::Received => "received",
    };
    let spread = |line: &&Line| {
        let (low, high) = line.extent().unwrap_or_default();
        if high > 0.0 {
            (high - low) / high
        } else {
            -1.0
        }
    };
    let widest = lines.iter().max_by(|a, b| spread(a).total_cmp(&spread(b)));
    let Some((widest, (low, high))) = widest.and_then(|line| Some((line, line.extent()?))) else {
        return format!("Nothing was {verb} in any interval.");
    };
    let n = widest.points.len();
    let is_one = unit.number(low) == unit.number(high);
    let (low, high) = (unit.number(low), unit.show(high));
    if lines.len() == 1 {
        return if is_one {
            format!("{high} {verb} in each of {n} intervals.")
        } else {
            format!("Between {low} and {high} {verb} in each of {n} intervals.")
        };
    }
    format!(
        "The widest spread within a trial is {low} to {high} {verb} ({}, n = {n} intervals).",
        widest.name
    )
}
