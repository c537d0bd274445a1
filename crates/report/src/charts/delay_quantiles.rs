//! Delay quantiles by message size, or by condition when there are few sizes.

use super::load_delay::{QUANTILES, capital, quantile_columns};
use super::timeline::trial_name;
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::figures::{Unit, digits, float, nanos};
use crate::table::{Cell, Table, column, words};
use linerate_model::ByteCount;
use linerate_model::run::{Delay, Run, RunKind, Trial};

pub(super) const KIND: ChartKind = ChartKind {
    id: "delay-quantiles",
    summary: "Delay quantiles by message size, or by condition.",
    topic: Topic::Delay,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    // A curve of many loads, or a list of sizes, is its own chart.
    let elsewhere = super::size_delay::is_best_for(run) || super::request_load::applies(run);
    if run.kind() != RunKind::Latency || run.trials.is_empty() || elsewhere {
        return Drawn::NotApplicable;
    }
    Drawn::or_missing(chart(run).into_iter().collect(), "delay of any trial")
}

/// The figures of a run whose trials make no line.
pub(crate) fn without_chart(run: &Run) -> Option<Table> {
    let Drawn::Charts(charts) = draw(run) else {
        return None;
    };
    let alone = charts.into_iter().find(|chart| !chart.says_something());
    alone.map(|chart| chart.table)
}

/// A valid trial with its delay.
struct DelayTrial<'a> {
    trial: &'a Trial,
    delay: &'a Delay,
}

fn chart(run: &Run) -> Option<Chart> {
    let valid = run.trials.iter().filter(|trial| trial.valid);
    let mut timed: Vec<_> = valid
        .filter_map(|trial| {
            let delay = trial.delay()?;
            Some(DelayTrial { trial, delay })
        })
        .collect();
    let of = timed.first()?.delay.of.as_str();
    let by_size = distinct_sizes(&timed);
    if by_size {
        timed.sort_by_key(|timed| timed.trial.payload_bytes);
    }
    let typical = timed
        .iter()
        .filter_map(|t| t.delay.p50_ns.or(t.delay.min_ns));
    let unit = Unit::for_nanos(float(typical.max().unwrap_or(1).max(1)));
    let spaced = by_size
        && timed
            .iter()
            .all(|t| t.trial.payload_bytes > Some(ByteCount::new(0)));
    let x = if spaced {
        Axis::new("Message size", "B", Scale::Log).switchable()
    } else if by_size {
        // An empty message has no place on a logarithmic axis.
        let sizes = timed.iter().filter_map(|t| t.trial.payload_bytes);
        let names = sizes.map(|size| size.get().to_string());
        Axis::categories("Message size", "B", names.collect())
    } else {
        let names = timed.iter().map(|t| trial_name(run, t.trial));
        Axis::categories("Condition", "", names.collect())
    };
    Some(Chart {
        id: "delay-quantiles".to_owned(),
        title: format!(
            "Delay by {}",
            if by_size { "message size" } else { "condition" }
        ),
        caption: caption(run, &timed, by_size, of),
        x,
        y: Axis::new(capital(of), unit.symbol(), Scale::Log).switchable(),
        series: series(&timed, spaced, unit),
        table: table(run, &timed, unit),
        ..Chart::default()
    })
}

/// Whether every trial has a size of its own, at least three in all.
fn distinct_sizes(timed: &[DelayTrial<'_>]) -> bool {
    let sizes = timed.iter().map(|t| t.trial.payload_bytes);
    let Some(mut sizes) = sizes.collect::<Option<Vec<ByteCount>>>() else {
        return false;
    };
    let all = sizes.len();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.len() == all && all >= 3
}

fn series(timed: &[DelayTrial<'_>], spaced: bool, unit: Unit) -> Vec<Series> {
    let all = QUANTILES.iter().enumerate().map(|(rank_of, (name, get))| {
        let points = timed.iter().enumerate().filter_map(|(index, t)| {
            let x = if spaced {
                float(t.trial.payload_bytes?.get())
            } else {
                float(index as u64)
            };
            let value = float(get(t.delay)?);
            Some(Point::new(x, unit.of(value))?.note(nanos(value)))
        });
        Series::new(*name, rank(rank_of), Shape::Line, points)
    });
    all.filter(|series| !series.points.is_empty()).collect()
}

fn caption(run: &Run, timed: &[DelayTrial<'_>], by_size: bool, of: &str) -> String {
    let known: Vec<_> = timed
        .iter()
        .filter_map(|t| Some((t, float(t.delay.p50_ns?))))
        .collect();
    let (Some((first, a)), Some((last, b))) = (known.first(), known.last()) else {
        return "No median was recorded.".to_owned();
    };
    let name = |t: &DelayTrial<'_>| match t.trial.payload_bytes {
        Some(size) if by_size => crate::figures::bytes(size),
        _ => trial_name(run, t.trial),
    };
    if known.len() == 1 {
        return format!("Median {of}: {}.", nanos(*a));
    }
    let longer = if *a > 0.0 && b / a >= 1.1 {
        let ratio = b / a;
        let rounded = if ratio >= 10.0 {
            ratio.round()
        } else {
            (ratio * 10.0).round() / 10.0
        };
        format!(", {} times as long", digits(rounded))
    } else {
        String::new()
    };
    format!(
        "Median {of}: {} for {} and {} for {}{longer}.",
        nanos(*a),
        name(first),
        nanos(*b),
        name(last)
    )
}

fn table(run: &Run, timed: &[DelayTrial<'_>], unit: Unit) -> Table {
    let symbol = unit.symbol();
    let mut columns = vec![
        words("Trial", |one: &DelayTrial<'_>| trial_name(run, one.trial)),
        column("Message size (B)", |one: &DelayTrial<'_>| {
            Cell::count(one.trial.payload_bytes.map(ByteCount::get))
        }),
        column("n", |one: &DelayTrial<'_>| Cell::count(one.delay.count)),
    ];
    columns.extend(quantile_columns(unit, |one: &DelayTrial<'_>| one.delay));
    columns.push(column(
        format!("mean ({symbol})"),
        |one: &DelayTrial<'_>| Cell::number(one.delay.mean_ns, unit),
    ));
    columns.push(column(
        format!("stdev ({symbol})"),
        |one: &DelayTrial<'_>| Cell::number(one.delay.stdev_ns, unit),
    ));
    Table::from_columns(timed, columns)
}
