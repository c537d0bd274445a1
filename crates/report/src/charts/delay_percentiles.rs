//! Delay at each percentile, the axis stretched towards the tail: each nine takes the same room.

use super::load_delay::capital;
use super::timeline::{chosen, trial_name};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::figures::{Unit, digits, float, nanos};
use crate::table::{Cell, Table};
use crate::words;
use linerate_model::Histogram;
use linerate_model::run::{Run, RunKind, Trial};

/// Neighbouring points are at least this factor apart: some 80 points for each nine.
const STEP: f64 = 1.03;

/// The percentiles that the table gives.
const SHARES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

pub(super) const KIND: ChartKind = ChartKind {
    id: "delay-percentiles",
    summary: "Delay at each percentile, as HdrHistogram's plotter draws it: each nine takes the same room.",
    topic: Topic::Delay,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    if run.kind() != RunKind::Latency || run.trials.is_empty() {
        return Drawn::NotApplicable;
    }
    let (trials, _) = chosen(run, |trial| histogram(trial).is_some());
    let known: Vec<Known<'_>> = trials
        .into_iter()
        .filter_map(|trial| Some((trial_name(run, trial), trial, histogram(trial)?)))
        .collect();
    // That the distribution is missing is said by the chart of its shares.
    if known.is_empty() {
        return Drawn::NotApplicable;
    }
    Drawn::Charts(vec![chart(&known)])
}

type Known<'a> = (String, &'a Trial, &'a Histogram);

fn histogram(trial: &Trial) -> Option<&Histogram> {
    let histogram = trial.delay()?.histogram.as_ref()?;
    (!histogram.is_empty()).then_some(histogram)
}

fn chart(known: &[Known<'_>]) -> Chart {
    let medians = known.iter().map(|(_, _, h)| h.quantile_nanos(0.5));
    let unit = Unit::for_nanos(float(medians.max().unwrap_or(1).max(1)));
    let of = known.first().and_then(|(_, trial, _)| trial.delay());
    let of = of.map_or("delay", |delay| words::delay_of(delay.of));
    let series = known
        .iter()
        .enumerate()
        .map(|(index, (name, _, h))| Series::new(name, rank(index), Shape::Plain, curve(h, unit)));
    let each = known.iter().map(|(name, _, h)| {
        let at = |q| nanos(float(h.quantile_nanos(q)));
        let longest = nanos(float(h.max_nanos()));
        format!(
            "{name}: 99 % within {}, the longest of {} {longest}",
            at(0.99),
            h.len()
        )
    });
    Chart {
        id: "delay-percentiles".to_owned(),
        title: "Percentiles of delay".to_owned(),
        caption: each.collect::<Vec<_>>().join("; ") + ".",
        x: Axis::new("Percentile", "%", Scale::Nines),
        y: Axis::new(capital(of), unit.symbol(), Scale::Log).switchable(),
        y2: None,
        series: series.collect(),
        panels: Vec::new(),
        bands: Vec::new(),
        table: table(known, unit),
    }
}

/// Where each bucket begins, as 1 / (1 − share below it), and its value; the largest at the end.
fn curve(histogram: &Histogram, unit: Unit) -> Vec<Point> {
    let total = float(histogram.len());
    let mut below = 0;
    let mut last = 0.0;
    let mut points = Vec::new();
    let mut add = |x: f64, value: f64| {
        let share = digits(100.0 * (1.0 - 1.0 / x));
        let note = format!("{} at {share} %", nanos(value));
        points.extend(Point::new(x, unit.of(value)).map(|point| point.note(note)));
    };
    for (value, count) in histogram.buckets() {
        let x = total / (total - float(below));
        if x >= last * STEP {
            add(x, float(value));
            last = x;
        }
        below += count;
    }
    add(total.max(1.0), float(histogram.max_nanos()));
    points
}

fn table(known: &[Known<'_>], unit: Unit) -> Table {
    let head = ["Trial".to_owned(), "n".to_owned()];
    let shares = SHARES
        .iter()
        .map(|share| format!("p{} ({})", significant(*share), unit.symbol()));
    let last = [format!("max ({})", unit.symbol())];
    let columns: Vec<_> = head.into_iter().chain(shares).chain(last).collect();
    let mut table = Table::new(columns);
    for (name, _, histogram) in known {
        let mut row = vec![Cell::text(name), Cell::count(Some(histogram.len()))];
        let at = |share: &f64| Cell::number(Some(float(histogram.quantile_nanos(*share))), unit);
        row.extend(SHARES.iter().map(at));
        row.push(Cell::number(Some(float(histogram.max_nanos())), unit));
        table.push(row);
    }
    table
}

/// The share in percent with all its nines.
fn significant(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
