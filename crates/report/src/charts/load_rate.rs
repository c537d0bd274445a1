//! Received against intended rate, with the ideal diagonal, the offered load, loss and the bounds.

use super::by_load::{frame, of_curves, table};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape};
use crate::curve::{LoadCurve, LoadPoint};
use crate::figures::{Unit, Value, percent};
use crate::table::{Cell, Table, column};
use linerate_model::run::Run;
use linerate_model::spec::Direction;
use linerate_model::{BitRate, Ratio};

pub(super) const KIND: ChartKind = ChartKind {
    id: "load-rate",
    summary: "Received and offered rate against intended load, with loss and the bounds of each goal.",
    topic: Topic::Rate,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    let missing = "the received rate of any trial with an intended load";
    of_curves(run, missing, chart)
}

fn chart(run: &Run, curve: &LoadCurve<'_>) -> Option<Chart> {
    curve.peak()?;
    let unit = Unit::for_rate(curve.largest_rate());
    let lossy = curve.points.iter().any(|point| point.loss_or_zero() > 0.0);
    let mut series = rate_series(curve, unit);
    series.extend(ceiling_series(run, curve, unit));
    if lossy {
        series.push(loss_series(curve, unit));
    }
    Some(Chart {
        caption: caption(curve, unit),
        x: Axis::new("Intended load, L4 payload", unit.symbol(), scale(curve)).switchable(),
        y: Axis::new("Rate, L4 payload", unit.symbol(), scale(curve)).switchable(),
        y2: lossy.then(|| Axis::new("Loss", "%", Scale::Linear)),
        series,
        table: rates(curve, unit),
        ..frame("load-rate", "Rate against intended load", run, curve)
    })
}

/// What linerate does at most on the client's host, where it is near enough to be seen.
pub(super) fn ceiling_series(run: &Run, curve: &LoadCurve<'_>, unit: Unit) -> Option<Series> {
    let ceiling = run.config.ceiling.as_ref()?;
    let most = match curve.direction {
        Direction::Forward => ceiling.offered,
        Direction::Reverse => ceiling.received,
        Direction::Duplex => return None,
    };
    let most = most.as_f64();
    if most > VISIBLE * curve.largest_rate() {
        return None;
    }
    let ends = curve.points.first().into_iter().chain(curve.points.last());
    let ends = ends.filter_map(|point| Point::new(unit.of(point.intended), unit.of(most)));
    let name = format!("Ceiling of linerate on this host: {}", unit.show(most));
    Some(Series::new(name, Role::Ceiling, Shape::Plain, ends))
}

/// A ceiling that is higher by more than this would squeeze the curve.
const VISIBLE: f64 = 2.0;

/// Loads that span more than this are drawn in equal ratios at first.
const WIDE: f64 = 50.0;

fn scale(curve: &LoadCurve<'_>) -> Scale {
    let ends = curve.points.first().zip(curve.points.last());
    match ends {
        Some((first, last)) if last.intended > WIDE * first.intended => Scale::Log,
        _ => Scale::Linear,
    }
}

/// Ideal, offered, received and invalid against intended load.
pub(super) fn rate_series(curve: &LoadCurve<'_>, unit: Unit) -> Vec<Series> {
    let bad_loads = curve.invalid.iter().filter_map(|t| t.intended_load);
    let loads = curve.points.iter().map(|point| point.intended);
    let loads: Vec<f64> = loads.chain(bad_loads.map(BitRate::as_f64)).collect();
    let ends = [
        loads.iter().copied().min_by(f64::total_cmp),
        loads.iter().copied().max_by(f64::total_cmp),
    ];
    let diagonal = ends.into_iter().flatten().filter_map(|load| {
        let x = unit.of(load);
        Point::new(x, x)
    });
    let offered = along(curve, unit, unit, |p| p.offered.as_ref());
    let received = along(curve, unit, unit, |p| p.received.as_ref());
    let bad = curve.invalid.iter().filter_map(|trial| {
        let seen = trial.received_rate.or(trial.offered_load)?.as_f64();
        let point = Point::new(unit.of(trial.intended_load?.as_f64()), unit.of(seen))?;
        let why = format!("{}: {}", unit.show(seen), trial.reasons.join("; "));
        Some(point.note(why))
    });
    let all = vec![
        Series::new(
            "Ideal: received = intended",
            Role::Ideal,
            Shape::Plain,
            diagonal,
        ),
        Series::new("Offered, sender", Role::Offered, Shape::Line, offered),
        Series::new("Received, receiver", Role::Received, Shape::Line, received),
        Series::new("Invalid trials", Role::Invalid, Shape::Scatter, bad),
    ];
    all.into_iter().filter(|s| !s.points.is_empty()).collect()
}

fn loss_series(curve: &LoadCurve<'_>, unit: Unit) -> Series {
    let points = along(curve, unit, Unit::PERCENT, |p| p.loss.as_ref());
    Series::new("Loss", Role::LossRatio, Shape::Line, points).on_second_axis()
}

/// A quantity of each load point against intended load.
fn along<'c>(
    curve: &'c LoadCurve<'c>,
    x: Unit,
    y: Unit,
    get: impl Fn(&'c LoadPoint<'c>) -> Option<&'c Value>,
) -> Vec<Point> {
    let points = curve.points.iter().filter_map(|point| {
        let value = get(point)?;
        let place = Point::new(x.of(point.intended), y.of(value.point()))?;
        Some(place.note(value.show(y)))
    });
    points.collect()
}

/// How the received rate goes with the intended load, in a sentence or two.
pub(crate) fn caption(curve: &LoadCurve<'_>, unit: Unit) -> String {
    let (Some(peak), Some(last)) = (curve.peak(), curve.last()) else {
        return "The received rate was not recorded.".to_owned();
    };
    if curve.points.iter().all(|p| p.follows() != Some(false)) {
        let most = unit.show(last.intended);
        return format!("Received rate follows the intended load up to the highest tried, {most}.");
    }
    let follows = curve.follows_up_to().map_or_else(
        || "Received rate is below the intended load at every load".to_owned(),
        |p| {
            format!(
                "Received rate follows the intended load up to {}",
                unit.show(p.intended)
            )
        },
    );
    let (top, end) = (rate_of(peak), rate_of(last));
    let ending = if end < 0.97 * top {
        format!(
            "falls to {} at {}",
            unit.number(end),
            unit.number(last.intended)
        )
    } else {
        format!("stays near it up to {}", unit.number(last.intended))
    };
    let at = unit.number(peak.intended);
    let loss = loss_caption(curve, unit);
    format!(
        "{follows}, peaks at {} (at {at} intended) and {ending}. {loss}",
        unit.number(top)
    )
}

/// Where a curve saturates, in a sentence or two: between which loads, at what rate, what is lost.
pub(crate) fn saturation(curve: &LoadCurve<'_>, unit: Unit) -> String {
    let short = |point: &&LoadPoint<'_>| point.follows() == Some(false);
    let Some(peak) = curve.peak() else {
        return "The received rate was not recorded.".to_owned();
    };
    let top = unit.show(rate_of(peak));
    let between = match (curve.follows_up_to(), curve.points.iter().find(short)) {
        (_, None) => return caption(curve, unit),
        (Some(full), Some(first)) => format!(
            "Saturation between {} and {} intended",
            unit.number(full.intended),
            unit.show(first.intended)
        ),
        (None, Some(first)) => format!(
            "Saturated at the lowest load, {}",
            unit.show(first.intended)
        ),
    };
    format!(
        "{between}; at most {top} received. {}",
        loss_caption(curve, unit)
    )
}

fn rate_of(point: &LoadPoint<'_>) -> f64 {
    point.received.as_ref().map_or(0.0, Value::point)
}

fn loss_caption(curve: &LoadCurve<'_>, unit: Unit) -> String {
    let lossy: Vec<_> = curve
        .points
        .iter()
        .filter(|p| p.loss_or_zero() > 0.0)
        .collect();
    let percent = |p: &LoadPoint<'_>| percent(Ratio::clamped(p.loss_or_zero()));
    match lossy.as_slice() {
        [] if curve.points.iter().all(|p| p.loss.is_none()) => "Loss was not recorded.".to_owned(),
        [] => shortfall(curve, unit),
        [only] => format!(
            "Only {} loses packets: {}.",
            unit.show(only.intended),
            percent(only)
        ),
        [first, .., last] => format!(
            "Loss starts at {} ({}) and is {} at {}.",
            unit.show(first.intended),
            percent(first),
            percent(last),
            unit.show(last.intended)
        ),
    }
}

/// No loss, and yet the rate does not follow: the sender did not offer it.
fn shortfall(curve: &LoadCurve<'_>, unit: Unit) -> String {
    let offered = curve.points.iter().filter_map(|p| p.offered.as_ref());
    let most = offered.map(Value::point).max_by(f64::total_cmp);
    most.map_or_else(
        || "No packet is lost.".to_owned(),
        |most| {
            format!(
                "No packet is lost: the sender itself never offers more than {}.",
                unit.show(most)
            )
        },
    )
}

/// What was offered and received at each load, and the loss.
pub(super) fn rates(curve: &LoadCurve<'_>, unit: Unit) -> Table {
    let symbol = unit.symbol();
    let figures = [
        column(
            format!("Offered ({symbol}, L4 payload, sender)"),
            |p: &LoadPoint<'_>| Cell::value(p.offered.as_ref(), unit),
        ),
        column(
            format!("Received ({symbol}, L4 payload, receiver)"),
            |p: &LoadPoint<'_>| Cell::value(p.received.as_ref(), unit),
        ),
        column("Loss (%)", |p: &LoadPoint<'_>| {
            Cell::value(p.loss.as_ref(), Unit::PERCENT)
        }),
    ];
    table(curve, figures)
}
