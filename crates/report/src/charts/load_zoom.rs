//! The load curve around saturation: where the received rate leaves the diagonal.

use super::by_load::{frame, goal_name};
use super::load_rate::{ceiling_series, rate_series, rates};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape};
use crate::curve::{LoadCurve, LoadPoint, load_curves};
use crate::figures::{Unit, Value};
use linerate_model::run::Run;

pub(super) const KIND: ChartKind = ChartKind {
    id: "load-zoom",
    summary: "The load curve around the point of saturation.",
    topic: Topic::Rate,
    answers: true,
    draw,
};

fn draw(run: &Run) -> Drawn {
    let curves = load_curves(run);
    Drawn::any(curves.into_iter().filter_map(|c| chart(run, c)).collect())
}

fn chart(run: &Run, curve: LoadCurve<'_>) -> Option<Chart> {
    curve.peak()?;
    let saturates = around_bounds(&curve).or_else(|| around_knee(&curve));
    let (curve, caption, scale) = if let Some((low, high, caption)) = saturates {
        let near = cut(&curve, low, high);
        let left = match curve.points.len() - near.points.len() {
            0 => String::new(),
            1 => " 1 load further away is in the whole curve, under Rate.".to_owned(),
            left => format!(" {left} loads further away are in the whole curve, under Rate."),
        };
        (near, caption + &left, Scale::LinearFit)
    } else {
        let unit = Unit::for_rate(curve.largest_rate());
        let caption = super::load_rate::caption(&curve, unit);
        (curve, caption, Scale::Linear)
    };
    let unit = Unit::for_rate(curve.largest_rate());
    let mut series = rate_series(&curve, unit);
    series.extend(ceiling_series(run, &curve, unit));
    series.extend(single_trials(&curve, unit));
    Some(Chart {
        caption,
        x: Axis::new("Intended load, L4 payload", unit.symbol(), scale),
        y: Axis::new("Rate, L4 payload", unit.symbol(), scale),
        series,
        table: rates(&curve, unit),
        ..frame("load-zoom", "Received against intended rate", run, &curve)
    })
}

/// The trials behind the means, where a load has several.
fn single_trials(curve: &LoadCurve<'_>, unit: Unit) -> Option<Series> {
    let repeated = curve.points.iter().filter(|point| point.trials.len() > 1);
    let points: Vec<Point> = repeated
        .flat_map(|point| point.trials.iter().map(|trial| (point.intended, *trial)))
        .filter_map(|(load, trial)| {
            let rate = trial.received_rate?.as_f64();
            let note = format!("{}, trial {}", unit.show(rate), trial.index);
            Some(Point::new(unit.of(load), unit.of(rate))?.note(note))
        })
        .collect();
    (!points.is_empty()).then(|| {
        Series::new(
            "Single trials, received",
            Role::Received,
            Shape::Single,
            points,
        )
    })
}

/// The part of a curve between two intended loads.
fn cut<'a>(curve: &LoadCurve<'a>, low: f64, high: f64) -> LoadCurve<'a> {
    let inside = |load: f64| low <= load && load <= high;
    let trials = curve.points.iter().flat_map(|point| &point.trials);
    let near = trials.chain(&curve.invalid).filter(|trial| {
        trial
            .intended_load
            .is_some_and(|load| inside(load.as_f64()))
    });
    LoadCurve {
        goals: curve.goals.clone(),
        ..LoadCurve::from_trials(near.copied(), curve.direction)
    }
}

/// From well below to well above all bounds of all goals.
fn around_bounds(curve: &LoadCurve<'_>) -> Option<(f64, f64, String)> {
    let all = curve
        .goals
        .iter()
        .flat_map(|g| [g.lower_bound, g.refused_load()]);
    let bounds: Vec<f64> = all.flatten().map(linerate_model::BitRate::as_f64).collect();
    let low = bounds.iter().copied().min_by(f64::total_cmp)?;
    let high = bounds.iter().copied().max_by(f64::total_cmp)?;
    let goals = curve.goals.iter().map(|goal| {
        let name = goal_name(goal);
        format!("with {name}, {}", super::by_load::bounds(goal))
    });
    let names: Vec<_> = goals.collect();
    let caption = format!("Saturation: {}.", names.join("; "));
    Some((low * BELOW, high * ABOVE, caption))
}

/// What belongs to the picture of a saturation, as shares of its load: enough of the diagonal to see the curve leave
/// it, and of what overload does.
const BELOW: f64 = 0.4;
const ABOVE: f64 = 2.5;

/// From below where the curve leaves the diagonal to well above it.
fn around_knee(curve: &LoadCurve<'_>) -> Option<(f64, f64, String)> {
    let loads: Vec<f64> = curve.points.iter().map(|p| p.intended).collect();
    let first_below = curve
        .points
        .iter()
        .position(|p| p.follows() == Some(false))?;
    let low = loads[first_below.saturating_sub(1)] * BELOW;
    // What is left under overload is part of the answer.
    let falls = |end: &LoadPoint<'_>| {
        let received = |point: &LoadPoint<'_>| point.received.as_ref().map_or(0.0, Value::point);
        curve
            .peak()
            .is_some_and(|peak| received(end) < 0.97 * received(peak))
    };
    let high = match curve.last().filter(|end| falls(end)) {
        Some(end) => end.intended,
        None => loads[first_below] * ABOVE,
    };
    let unit = Unit::for_rate(high);
    let (good, bad) = (first_below.checked_sub(1), &curve.points[first_below]);
    let got = unit.show(bad.received.as_ref()?.point());
    let caption = match good {
        Some(good) => format!(
            "Saturation lies between {} and {} intended: the latter is received as {got}.",
            unit.number(loads[good]),
            unit.show(bad.intended),
        ),
        None => format!(
            "Even the lowest load, {}, is received as {got}.",
            unit.show(bad.intended)
        ),
    };
    Some((low, high, caption))
}
