//! What charts over the intended load share: a chart for each curve, its axis, its table.

use super::Drawn;
use crate::chart::{Axis, Band, Chart, Scale};
use crate::curve::{LoadCurve, LoadPoint, load_curves};
use crate::figures::{Unit, percent, range};
use crate::table::{Cell, Column, Table, column};
use linerate_model::run::{GoalResult, Run};
use linerate_model::{BitRate, Interval, PacketRate};

/// A chart for each load curve of a run that has what `chart` draws.
pub(super) fn of_curves(
    run: &Run,
    missing: &'static str,
    chart: fn(&Run, &LoadCurve<'_>) -> Option<Chart>,
) -> Drawn {
    let curves = load_curves(run);
    if curves.is_empty() {
        return Drawn::NotApplicable;
    }
    let charts = curves.iter().filter_map(|curve| chart(run, curve));
    Drawn::or_missing(charts.collect(), missing)
}

/// A chart without data over the intended load, with the bounds of each goal.
pub(super) fn frame(id: &str, title: &str, run: &Run, curve: &LoadCurve<'_>) -> Chart {
    let unit = Unit::for_rate(curve.largest_rate());
    Chart {
        id: format!("{id}-{}", curve.direction),
        title: format!("{title}{}", curve.suffix(run)),
        x: Axis::new("Intended load, L4 payload", unit.symbol(), Scale::Linear),
        bands: curve.goals.iter().filter_map(|g| band(g, unit)).collect(),
        ..Chart::default()
    }
}

/// A row for each load: the load, `figures`, and how many trials it has.
pub(super) fn table<'c, 'a>(
    curve: &LoadCurve<'a>,
    figures: impl IntoIterator<Item = Column<'c, LoadPoint<'a>>>,
) -> Table {
    let unit = Unit::for_rate(curve.largest_rate());
    let intended = format!("Intended ({}, L4 payload)", unit.symbol());
    let mut columns = vec![column(intended, move |point: &LoadPoint<'_>| {
        Cell::number(Some(point.intended), unit)
    })];
    columns.extend(figures);
    columns.push(column("Valid trials (n)", |point: &LoadPoint<'_>| {
        Cell::count(Some(point.trials.len() as u64))
    }));
    Table::from_columns(&curve.points, columns)
}

/// A goal's bounds as a marked range.
fn band(goal: &GoalResult, unit: Unit) -> Option<Band> {
    let at = |rate: Option<BitRate>| rate.map(|rate| unit.of(rate.as_f64()));
    if goal.lower_bound.is_none() && goal.refused_load().is_none() {
        return None;
    }
    Some(Band {
        name: format!("{}: {}", goal_name(goal), bounds(goal)),
        from: at(goal.lower_bound),
        to: at(goal.refused_load()),
    })
}

/// `loss ≤ 0.1 %, p99<2ms`.
pub(crate) fn goal_name(goal: &GoalResult) -> String {
    let loss = format!("loss ≤ {}", percent(goal.loss_goal));
    match &goal.delay_goal {
        Some(delay) => format!("{loss}, {delay}"),
        None => loss,
    }
}

/// `93.1–93.5 Mbit/s`, or the one bound that is known of the path.
pub(crate) fn bounds(goal: &GoalResult) -> String {
    let bounds = [goal.lower_bound, goal.refused_load()];
    between(
        bounds.map(|bound| bound.map(BitRate::as_f64)),
        Unit::for_rate,
    )
}

/// A rate of a run: of a device in frames per second, of all else in bit/s of payload.
pub(crate) fn rate_in(run: &Run, rate: BitRate) -> String {
    let frames = run.config.test().and_then(|test| test.device_frames(rate));
    frames.map_or_else(
        || crate::figures::rate(rate),
        |frames| Unit::for_frames(frames.pps()).show(frames.pps()),
    )
}

/// The bounds of a goal, and what they are bounds of: of a device frames, of all else bits of payload.
pub(crate) fn bounds_in(run: &Run, goal: &GoalResult) -> (String, &'static str) {
    let test = run.config.test();
    let in_frames = |bound: BitRate| test.and_then(|test| test.device_frames(bound));
    let both = [goal.lower_bound, goal.refused_load()];
    let frames = both.map(|bound| bound.and_then(in_frames).map(PacketRate::pps));
    if frames == [None, None] {
        return (bounds(goal), "(intended load, L4 payload)");
    }
    (between(frames, Unit::for_frames), "(intended load)")
}

fn between([low, high]: [Option<f64>; 2], unit: impl Fn(f64) -> Unit) -> String {
    match (low, high) {
        (Some(low), Some(high)) => {
            let unit = unit(high * 2.0);
            format!("{} {}", range(Interval { low, high }, unit), unit.symbol())
        }
        (Some(low), None) => format!("at least {}", unit(low).show(low)),
        (None, Some(high)) => format!("below {}", unit(high).show(high)),
        (None, None) => crate::figures::UNKNOWN.to_owned(),
    }
}
