//! The table of a latency run: a line for each size and condition, in the columns of sfnt-pingpong. Those that do not
//! count have one too, marked, with what was measured of them; the lines after the table say why.

use crate::figures::{Unit, float};
use crate::paper::{Ink, Line, Paper};
use linerate_model::Quantile;
use linerate_model::run::{Delay, DelayOf, Run, RunKind, Trial};

/// Quantiles beside the median; the report and its CSV have all.
const MAX_QUANTILES: usize = 3;

/// A trial with its delay.
type DelayTrial<'a> = (&'a Trial, &'a Delay);

/// Whether `run` has such a table: what was asked at a rate is shown by load, with its service time.
pub(super) fn is_of(run: &Run) -> bool {
    let at_a_rate = |trial: &Trial| trial.requests().is_some();
    run.kind() == RunKind::Latency && !run.trials.iter().any(at_a_rate)
}

/// The half round trip of each trial, and the median of the whole; what is no round trip is shown as it is.
pub(super) fn table(paper: &mut Paper, run: &Run) {
    let with_delay = |trial| Some((trial, Trial::delay(trial)?));
    let all: Vec<DelayTrial<'_>> = run.trials.iter().filter_map(with_delay).collect();
    let valid: Vec<DelayTrial<'_>> = all.iter().copied().filter(|one| one.0.valid).collect();
    // Of trials of which none counts there are figures all the same.
    let timed = if valid.is_empty() { all } else { valid };
    let Some((_, first)) = timed.first() else {
        return;
    };
    let share = half_of(first.of);
    let medians = timed
        .iter()
        .filter_map(|(_, delay)| delay.p50_ns.map(float).or(delay.mean_ns));
    let unit = Unit::for_nanos(crate::figures::middle(medians) * share);
    let what = match first.of {
        DelayOf::RoundTrip => "half of each round trip; last column: the whole",
        other => other.as_str(),
    };
    paper.row("delay", &format!("{what}, in {}", unit.symbol()));
    let quantiles = quantiles(&timed);
    let mut rows = vec![heading(&quantiles, first.of)];
    for trial in &run.trials {
        match trial.delay() {
            Some(delay) => rows.push(row(run, trial, delay, &quantiles, unit)),
            None if !trial.valid => rows.push(empty_row(run, trial, rows[0].len())),
            None => {}
        }
    }
    paper.wide_columns(&Line::table(rows, Ink::Bold));
}

/// A trial that was not measured to its end.
fn empty_row(run: &Run, trial: &Trial, columns: usize) -> Vec<String> {
    let mut cells = vec!["–".to_owned(); columns];
    cells[0] = name(run, trial);
    cells
}

fn name(run: &Run, trial: &Trial) -> String {
    let name = crate::charts::trial_name(run, trial);
    if trial.valid {
        name
    } else {
        format!("{name}, invalid")
    }
}

/// The part of what was timed that other tools print.
fn half_of(of: DelayOf) -> f64 {
    if of == DelayOf::RoundTrip { 0.5 } else { 1.0 }
}

/// Those that were asked for, without the median; else the usual ones that any trial has.
fn quantiles(timed: &[DelayTrial<'_>]) -> Vec<Quantile> {
    let mut found: Vec<Quantile> = Vec::new();
    let asked = timed.iter().flat_map(|(_, delay)| &delay.quantiles);
    let asked = asked.map(|quantile| Quantile(quantile.quantile_ratio));
    let usual = [0.99, 0.999].map(|q| Quantile(linerate_model::Ratio::clamped(q)));
    let usual = usual.into_iter().filter(|quantile| {
        let asked = timed.iter().any(|(_, delay)| !delay.quantiles.is_empty());
        !asked && timed.iter().any(|(_, delay)| delay.at(*quantile).is_some())
    });
    for quantile in asked.chain(usual) {
        let is_median = (quantile.0.get() - 0.5).abs() < 1e-9;
        if !is_median && !found.contains(&quantile) {
            found.push(quantile);
        }
    }
    found.truncate(MAX_QUANTILES);
    found
}

fn heading(quantiles: &[Quantile], of: DelayOf) -> Vec<String> {
    let mut cells: Vec<String> = ["", "mean", "min", "median"].map(str::to_owned).to_vec();
    cells.extend(quantiles.iter().map(ToString::to_string));
    cells.extend(["max", "stddev", "n"].map(str::to_owned));
    if of == DelayOf::RoundTrip {
        cells.push("RTT p50".to_owned());
    }
    cells
}

fn row(run: &Run, trial: &Trial, delay: &Delay, quantiles: &[Quantile], unit: Unit) -> Vec<String> {
    let share = half_of(delay.of);
    let shown = |nanos: Option<f64>| {
        nanos.map_or_else(|| "–".to_owned(), |nanos| unit.number(nanos * share))
    };
    let whole = |nanos: Option<u64>| shown(nanos.map(float));
    let mut cells = vec![
        name(run, trial),
        shown(delay.mean_ns),
        whole(delay.min_ns),
        whole(delay.p50_ns),
    ];
    cells.extend(quantiles.iter().map(|quantile| whole(delay.at(*quantile))));
    cells.extend([
        whole(delay.max_ns),
        shown(delay.stdev_ns),
        delay
            .count
            .map_or_else(|| "–".to_owned(), |count| count.to_string()),
    ]);
    if delay.of == DelayOf::RoundTrip {
        let median = delay.p50_ns.map(|nanos| unit.number(float(nanos)));
        cells.push(median.unwrap_or_else(|| "–".to_owned()));
    }
    cells
}
