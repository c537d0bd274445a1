//! A comparison of two runs.
//!
//! Draws no conclusion: verdicts and intervals come with the comparison.

mod blocks;
mod charts;
mod csv;

use crate::document::{Block, Document, DocumentFormat, Head};
use crate::figures::{Unit, clean, digits};
use crate::junit::{Case, Outcome, Suite};
use linerate_model::comparison::{
    CompareAnswer, CompareVerdict, Compared, Comparison, MetricComparison, Pair,
};
use linerate_model::quantity::QuantityUnit;
use linerate_model::{Estimate, Quantity};
use serde::Serialize;

impl Document for Comparison {
    const FORMATS: &'static [DocumentFormat] = &[
        DocumentFormat::Html,
        DocumentFormat::Markdown,
        DocumentFormat::Text,
        DocumentFormat::Csv,
        DocumentFormat::Json,
        DocumentFormat::Junit,
    ];
    const NAME: &'static str = "comparison";

    fn head(&self) -> Head {
        Head {
            heading: "B against A".to_owned(),
            made_what: "Comparison",
            reading: "An interval covers the truth at 95 % alone; verdicts are corrected for all tests of this page. \
                “No difference shown” does not mean that there is none.",
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        blocks::all(self)
    }

    fn json(&self) -> impl Serialize {
        self
    }

    fn csv(&self) -> String {
        csv::rows(self)
    }

    fn suites(&self) -> Vec<Suite> {
        self.pairs.iter().map(suite).collect()
    }
}

/// A case for each metric: fails where B is worse, and cannot be judged where the whole comparison cannot because of it.
fn suite(pair: &Pair) -> Suite {
    let cases = pair.metrics.iter().map(|metric| {
        let shown = || format!("{} ({})", effect(metric), effect_interval(metric));
        let outcome = match metric.answer {
            CompareAnswer::Regression => Outcome::Failed(format!(
                "{}: B against A {}, A {}, B {}",
                verdict(metric),
                shown(),
                value(metric.metric, &metric.a),
                value(metric.metric, &metric.b)
            )),
            CompareAnswer::CannotTell if metric.decides => {
                let why = clean(why_open(metric));
                Outcome::Broken(format!("cannot tell whether B is worse: {why}"))
            }
            CompareAnswer::CannotTell | CompareAnswer::NoRegression => Outcome::Passed,
        };
        Case::judged(&metric.words, outcome)
    });
    Suite::judged(&pair.cell.name, cases.collect())
}

/// Why it cannot be told whether B is worse.
fn why_open(metric: &MetricComparison) -> &str {
    metric.why.as_deref().unwrap_or("too few repetitions")
}

/// A pair and what was compared of it.
type Row<'a> = (&'a Pair, &'a MetricComparison);

/// The verdict on one metric, in words that fit it.
fn verdict(metric: &MetricComparison) -> &'static str {
    let is_rate = metric.metric.unit() == QuantityUnit::BitRate;
    let is_delay = matches!(metric.metric, Quantity::Delay(..));
    match (metric.verdict, is_rate || is_delay) {
        (CompareVerdict::Faster, true) => "faster",
        (CompareVerdict::Slower, true) => "slower",
        (CompareVerdict::Faster, false) => "better",
        (CompareVerdict::Slower, false) => "worse",
        (CompareVerdict::NoDifferenceShown, _) => "no difference shown",
    }
}

/// A value in its unit, and what is known of its precision.
fn value(metric: Quantity, estimate: &Estimate) -> String {
    Unit::for_quantity(metric, estimate.point).show(estimate.point)
}

/// `1.05`, or a difference in its unit.
fn effect(metric: &MetricComparison) -> String {
    match (&metric.ratio, &metric.difference) {
        (Some(ratio), _) => ratio_digits(ratio.point),
        (None, Some(difference)) => signed(metric.metric, difference.point),
        (None, None) => "–".to_owned(),
    }
}

/// The ends of the interval of [`effect`].
fn effect_interval(metric: &MetricComparison) -> String {
    let of_ratio = metric.ratio.and_then(|ratio| ratio.interval);
    let of_difference = metric.difference.and_then(|difference| difference.interval);
    match (of_ratio, of_difference) {
        (Some(interval), _) => {
            crate::figures::between(&ratio_digits(interval.low), &ratio_digits(interval.high))
        }
        (None, Some(interval)) => {
            let end = |value| signed(metric.metric, value);
            format!("{} to {}", end(interval.low), end(interval.high))
        }
        (None, None) => "–".to_owned(),
    }
}

fn ratio_digits(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) {
        format!("{ratio:.3}")
    } else {
        digits(ratio)
    }
}

/// A difference with its sign; of ratios in percentage points.
fn signed(metric: Quantity, difference: f64) -> String {
    let unit = Unit::for_quantity(metric, difference.abs());
    let symbol = if metric.is_share() {
        "pp"
    } else {
        unit.symbol()
    };
    let sign = if difference > 0.0 { "+" } else { "" };
    format!("{sign}{} {symbol}", unit.number(difference))
}

/// The metrics of a comparison in the order in which they first appear, each with its pairs.
fn by_metric(comparison: &Comparison) -> Vec<(&MetricComparison, Vec<Row<'_>>)> {
    let mut groups: Vec<(&MetricComparison, Vec<Row<'_>>)> = Vec::new();
    for pair in &comparison.pairs {
        for metric in &pair.metrics {
            let known = groups
                .iter_mut()
                .find(|(first, _)| first.metric == metric.metric);
            match known {
                Some((_, rows)) => rows.push((pair, metric)),
                None => groups.push((metric, vec![(pair, metric)])),
            }
        }
    }
    groups
}

/// `UDP latency to board (linerate 0.1.0, 20261121-…)`.
fn side(side: &Compared) -> String {
    let version = side.tool.version.as_deref().unwrap_or_default();
    let tool = format!("{} {version}", side.tool.name);
    let title = side.title.as_deref().unwrap_or(side.kind.as_str());
    format!("{title} ({}, {})", tool.trim(), side.name)
}

/// The answer in a sentence, with what would decide where there is none.
fn conclusion(comparison: &Comparison) -> String {
    let metrics = || {
        comparison
            .pairs
            .iter()
            .flat_map(|pair| pair.metrics.iter().map(move |m| (pair, m)))
    };
    let first = |answer: CompareAnswer, decides: bool| {
        let mut found = metrics();
        found.find(|(_, metric)| metric.answer == answer && (metric.decides || !decides))
    };
    let named = |(pair, metric): (&Pair, &MetricComparison)| {
        format!("{}, {}", metric.words, pair.cell.name)
    };
    match comparison.answer {
        CompareAnswer::Regression => {
            let worst = first(CompareAnswer::Regression, false);
            let worst = worst.map_or_else(String::new, |one| {
                let (metric, by) = (one.1, effect(one.1));
                let of = if metric.ratio.is_some() {
                    format!("{by} times A's")
                } else {
                    by
                };
                format!(": {} is {of}", named(one))
            });
            format!("Regression{worst}.")
        }
        CompareAnswer::CannotTell => {
            let open = first(CompareAnswer::CannotTell, true);
            let open = open.map_or_else(String::new, |one| {
                format!(": {}: {}", named(one), why_open(one.1))
            });
            format!("Cannot tell whether B is worse{open}.")
        }
        CompareAnswer::NoRegression => {
            let sensitivity = crate::figures::percent(comparison.sensitivity_ratio);
            format!("No regression: one of {sensitivity} would have been shown.")
        }
    }
}

/// `3 faster, 1 slower, 12 no difference shown`.
fn tally(comparison: &Comparison) -> String {
    format!(
        "B against A: {} faster or better, {} slower or worse, {} with no difference shown",
        comparison.faster, comparison.slower, comparison.not_shown
    )
}

/// What counts as a difference.
fn rule(comparison: &Comparison) -> String {
    let confidence = digits(comparison.confidence_ratio * 100.0);
    let tests = match comparison.tested {
        0 => "no test could be made".to_owned(),
        1 => "1 test".to_owned(),
        n => format!("{n} tests, corrected together (Holm)"),
    };
    format!(
        "a difference of {} or more ({} points of loss) at {confidence} %; {tests}",
        crate::figures::percent(comparison.threshold_ratio),
        crate::figures::percent(comparison.loss_threshold_ratio).replace(" %", " percentage"),
    )
}
