//! Delay at each percentile, the axis stretched towards the tail: each nine takes the same room.

use super::delay_cdf::{NamedHistogram, delay_axis, first_columns, known};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::figures::{Unit, digits, float, nanos};
use crate::table::{Cell, Table, column};
use linerate_model::Histogram;
use linerate_model::run::{Run, RunKind};

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
    match known(run).as_slice() {
        // That the distribution is missing is said by the chart of its shares.
        known if known.is_empty() || run.kind() != RunKind::Latency => Drawn::NotApplicable,
        known => Drawn::Charts(vec![chart(known)]),
    }
}

fn chart(known: &[NamedHistogram<'_>]) -> Chart {
    let (y, unit) = delay_axis(known);
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
        y,
        series: series.collect(),
        table: table(known, unit),
        ..Chart::default()
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

fn table(known: &[NamedHistogram<'_>], unit: Unit) -> Table {
    let shares = SHARES.iter().map(|share| {
        let head = format!("p{} ({})", significant(*share), unit.symbol());
        column(head, |(_, _, histogram): &NamedHistogram<'_>| {
            Cell::time(Some(histogram.quantile_nanos(*share)), unit)
        })
    });
    let mut columns = first_columns();
    columns.extend(shares);
    columns.push(column(
        format!("max ({})", unit.symbol()),
        |(_, _, histogram): &NamedHistogram<'_>| Cell::time(Some(histogram.max_nanos()), unit),
    ));
    Table::from_columns(known, columns)
}

/// The share in percent with all its nines.
fn significant(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
