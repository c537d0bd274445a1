//! Cumulative distribution of delay, from whole histograms.

use super::load_delay::capital;
use super::timeline::{chosen, trial_name};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::figures::{Unit, digits, float, nanos};
use crate::table::{Cell, Column, Table, column, words};
use linerate_model::Histogram;
use linerate_model::run::{Run, RunKind, Trial};

/// A curve needs no more points than a screen has places.
const MAX_POINTS: usize = 300;

/// The shares that the table gives.
const SHARES: [f64; 9] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];

pub(super) const KIND: ChartKind = ChartKind {
    id: "delay-cdf",
    summary: "Cumulative distribution of delay, from the whole histogram of each trial.",
    topic: Topic::Delay,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    if run.kind() != RunKind::Latency || run.trials.is_empty() {
        return Drawn::NotApplicable;
    }
    match known(run).as_slice() {
        [] => Drawn::Missing("a whole delay distribution"),
        known => Drawn::Charts(vec![chart(known)]),
    }
}

/// The trials of a latency run whose whole distribution is kept, those that are drawn.
pub(super) fn known(run: &Run) -> Vec<NamedHistogram<'_>> {
    let (trials, _) = chosen(run, |trial| histogram(trial).is_some());
    let named = |trial| Some((trial_name(run, trial), trial, histogram(trial)?));
    trials.into_iter().filter_map(named).collect()
}

fn histogram(trial: &Trial) -> Option<&Histogram> {
    let histogram = trial.delay()?.histogram.as_ref()?;
    (!histogram.is_empty()).then_some(histogram)
}

/// A trial with its name and its distribution.
pub(super) type NamedHistogram<'a> = (String, &'a Trial, &'a Histogram);

fn chart(known: &[NamedHistogram<'_>]) -> Chart {
    let (axis, unit) = delay_axis(known);
    let series = known.iter().enumerate().map(|(index, (name, trial, h))| {
        Series::new(
            name,
            rank(index),
            Shape::Plain,
            cumulative(h, all(trial, h), unit),
        )
    });
    let each = known.iter().map(|(name, trial, _)| {
        let at = |q| {
            let value = quantile(trial, q);
            value.map_or_else(|| "no time (unanswered)".to_owned(), |ns| nanos(float(ns)))
        };
        format!("{name}: half within {}, 99 % within {}", at(0.5), at(0.99))
    });
    Chart {
        id: "delay-cdf".to_owned(),
        title: "Distribution of delay".to_owned(),
        caption: each.collect::<Vec<_>>().join("; ") + ".",
        x: axis,
        y: Axis::new("Share at most this long", "%", Scale::Linear).within(0.0, 100.0),
        series: series.collect(),
        table: table(known, unit),
        ..Chart::default()
    }
}

/// The axis of what was timed, and its unit: that of the largest median.
pub(super) fn delay_axis(known: &[NamedHistogram<'_>]) -> (Axis, Unit) {
    let medians = known.iter().map(|(_, _, h)| h.quantile_nanos(0.5));
    let unit = Unit::for_nanos(float(medians.max().unwrap_or(1).max(1)));
    let of = known.first().and_then(|(_, trial, _)| trial.delay());
    let of = of.map_or("delay", |delay| delay.of.as_str());
    let axis = Axis::new(capital(of), unit.symbol(), Scale::Log).switchable();
    (axis, unit)
}

/// Requests without an answer are longer than any value: the curve then ends below 100 %.
fn all(trial: &Trial, histogram: &Histogram) -> u64 {
    let unanswered = trial.delay().and_then(|delay| delay.unanswered);
    histogram.len().saturating_add(unanswered.unwrap_or(0))
}

fn quantile(trial: &Trial, q: f64) -> Option<u64> {
    trial.delay()?.quantile_ns(q)
}

/// The share of `all` values up to each bucket's end, thinned to what can be seen.
fn cumulative(histogram: &Histogram, all: u64, unit: Unit) -> Vec<Point> {
    let total = float(all);
    let mut seen = 0;
    let each = histogram.buckets().map(|(nanos, count)| {
        seen += count;
        (float(nanos), float(seen) / total)
    });
    let each: Vec<_> = each.collect();
    let step = each.len().div_ceil(MAX_POINTS).max(1);
    let last = each.len() - 1;
    let kept = each
        .iter()
        .enumerate()
        .filter(|(index, _)| index % step == 0 || *index == last);
    let points = kept.filter_map(|(_, (value, share))| {
        let note = format!("{} % within {}", digits(share * 100.0), nanos(*value));
        Some(Point::new(unit.of(*value), share * 100.0)?.note(note))
    });
    points.collect()
}

/// The trial, and how many values it has.
pub(super) fn first_columns<'a>() -> Vec<Column<'a, NamedHistogram<'a>>> {
    vec![
        words("Trial", |(name, ..): &NamedHistogram<'_>| name.clone()),
        column("n", |(_, _, histogram): &NamedHistogram<'_>| {
            Cell::count(Some(histogram.len()))
        }),
    ]
}

fn table(known: &[NamedHistogram<'_>], unit: Unit) -> Table {
    let mut columns = first_columns();
    columns.extend(SHARES.iter().map(|share| {
        let head = format!("{} % within ({})", digits(share * 100.0), unit.symbol());
        column(head, |(_, trial, _): &NamedHistogram<'_>| {
            Cell::time(quantile(trial, *share), unit)
        })
    }));
    Table::from_columns(known, columns)
}
