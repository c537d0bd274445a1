//! The load curve around saturation: where the received rate leaves the diagonal.

use super::load_rate::{band, rate_series, table};
use super::{ChartKind, Drawn};
use crate::chart::{Axis, Chart, Scale};
use crate::curve::{LoadCurve, load_curves};
use crate::figures::Unit;
use crate::words;
use linerate_model::run::Run;

pub(super) struct LoadZoom;

impl ChartKind for LoadZoom {
    fn id(&self) -> &'static str {
        "load-zoom"
    }

    fn summary(&self) -> &'static str {
        "The load curve around the point of saturation."
    }

    fn draw(&self, run: &Run) -> Drawn {
        let curves = load_curves(run);
        let charts: Vec<_> = curves.into_iter().filter_map(|c| chart(run, c)).collect();
        if charts.is_empty() {
            return Drawn::NotApplicable;
        }
        Drawn::Charts(charts)
    }
}

fn chart(run: &Run, curve: LoadCurve<'_>) -> Option<Chart> {
    let all = curve.points.len();
    let (low, high, caption) = around_bounds(&curve).or_else(|| around_knee(&curve))?;
    let id = format!("load-zoom-{}", words::direction_id(curve.direction));
    let title = format!("Around saturation{}", curve.suffix(run));
    let near = cut(curve, low, high);
    if near.points.len() < 3 || near.points.len() == all {
        return None;
    }
    let unit = Unit::for_rate(near.largest_rate());
    let x = Axis::new("Intended load, L4 payload", unit.symbol(), Scale::LinearFit);
    Some(Chart {
        id,
        title,
        caption,
        x,
        y: Axis::new("Rate, L4 payload", unit.symbol(), Scale::LinearFit),
        y2: None,
        series: rate_series(&near, unit),
        bands: near.goals.iter().filter_map(|g| band(g, unit)).collect(),
        table: table(&near, unit),
    })
}

/// The part of a curve between two intended loads.
fn cut(curve: LoadCurve<'_>, low: f64, high: f64) -> LoadCurve<'_> {
    let inside = |load: f64| low <= load && load <= high;
    LoadCurve {
        direction: curve.direction,
        points: curve
            .points
            .into_iter()
            .filter(|p| inside(p.intended))
            .collect(),
        invalid: curve
            .invalid
            .into_iter()
            .filter(|t| t.intended_load.is_some_and(|load| inside(load.as_f64())))
            .collect(),
        goals: curve.goals,
    }
}

/// Five per cent around all bounds of all goals.
fn around_bounds(curve: &LoadCurve<'_>) -> Option<(f64, f64, String)> {
    let all = curve
        .goals
        .iter()
        .flat_map(|g| [g.lower_bound, g.upper_bound]);
    let bounds: Vec<f64> = all.flatten().map(linerate_model::BitRate::as_f64).collect();
    let low = bounds.iter().copied().min_by(f64::total_cmp)?;
    let high = bounds.iter().copied().max_by(f64::total_cmp)?;
    let goals = curve.goals.iter().map(|goal| {
        let name = super::load_rate::goal_name(goal);
        format!("with {name}, at {}", super::load_rate::bounds(goal))
    });
    let names: Vec<_> = goals.collect();
    let caption = format!("Saturation: {}.", names.join("; "));
    Some((low * 0.95, high * 1.05, caption))
}

/// From two loads before the curve leaves the diagonal to two after it.
fn around_knee(curve: &LoadCurve<'_>) -> Option<(f64, f64, String)> {
    let loads: Vec<f64> = curve.points.iter().map(|p| p.intended).collect();
    let first_below = curve
        .points
        .iter()
        .position(|p| p.follows() == Some(false))?;
    let low = loads[first_below.saturating_sub(3)];
    let high = loads[(first_below + 1).min(loads.len() - 1)];
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
