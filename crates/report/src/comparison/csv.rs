//! One row for each metric of each pair.

use crate::csv::{kebab, table, text};
use crate::figures::clean;
use linerate_model::comparison::{Comparison, MetricComparison, Pair};
use linerate_model::{BitRate, ByteCount, Estimate};

type Column = (&'static str, fn(&Pair, &MetricComparison) -> Option<String>);

const COLUMNS: &[Column] = &[
    ("cell", |pair, _| Some(clean(&pair.cell.name))),
    ("kind", |pair, _| Some(pair.cell.kind.as_str().to_owned())),
    ("transport", |pair, _| kebab(&pair.cell.transport?)),
    ("direction", |pair, _| kebab(&pair.cell.direction?)),
    ("payload_bytes", |pair, _| {
        text(pair.cell.payload_bytes.map(ByteCount::get))
    }),
    ("streams", |pair, _| text(pair.cell.streams)),
    ("mode", |pair, _| pair.cell.mode.as_deref().map(clean)),
    ("intended_bps", |pair, _| {
        text(pair.cell.intended_load.map(BitRate::bps))
    }),
    ("goal", |pair, _| pair.cell.goal.as_deref().map(clean)),
    ("metric", |_, metric| Some(metric.metric.key().into_owned())),
    ("better", |_, metric| kebab(&metric.better)),
    ("a", |_, metric| point(Some(&metric.a))),
    ("a_low", |_, metric| low(Some(&metric.a))),
    ("a_high", |_, metric| high(Some(&metric.a))),
    ("a_n", |_, metric| text(Some(metric.a.n))),
    ("b", |_, metric| point(Some(&metric.b))),
    ("b_low", |_, metric| low(Some(&metric.b))),
    ("b_high", |_, metric| high(Some(&metric.b))),
    ("b_n", |_, metric| text(Some(metric.b.n))),
    ("ratio", |_, metric| point(metric.ratio.as_ref())),
    ("ratio_low", |_, metric| low(metric.ratio.as_ref())),
    ("ratio_high", |_, metric| high(metric.ratio.as_ref())),
    ("difference", |_, metric| point(metric.difference.as_ref())),
    ("difference_low", |_, metric| {
        low(metric.difference.as_ref())
    }),
    ("difference_high", |_, metric| {
        high(metric.difference.as_ref())
    }),
    ("basis", |_, metric| kebab(&metric.basis)),
    ("p", |_, metric| text(metric.p)),
    ("p_adjusted", |_, metric| text(metric.p_adjusted)),
    ("verdict", |_, metric| kebab(&metric.verdict)),
    ("why", |_, metric| metric.why.clone()),
];

/// The comparison for spreadsheets and scripts; empty where a value is not known.
pub(super) fn rows(comparison: &Comparison) -> String {
    let rows = comparison.pairs.iter().flat_map(|pair| {
        let metrics = pair.metrics.iter();
        metrics.map(move |metric| COLUMNS.iter().map(move |(_, get)| get(pair, metric)))
    });
    table(COLUMNS.iter().map(|(name, _)| *name), rows)
}

fn point(estimate: Option<&Estimate>) -> Option<String> {
    text(estimate.map(|estimate| estimate.point))
}

fn low(estimate: Option<&Estimate>) -> Option<String> {
    text(estimate?.interval.map(|interval| interval.low))
}

fn high(estimate: Option<&Estimate>) -> Option<String> {
    text(estimate?.interval.map(|interval| interval.high))
}
