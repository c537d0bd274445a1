//! Delay quantiles against load.

use super::by_load::{frame, of_curves, table};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::curve::{LoadCurve, LoadPoint};
use crate::figures::{Unit, float, nanos, rate};
use crate::table::{Cell, Column, column};
use linerate_model::run::{Delay, Run};

/// The quantiles drawn: name and how to get it.
pub(super) type QuantileOf = (&'static str, fn(&Delay) -> Option<u64>);

/// Every quantile a delay summary can carry, from the middle to the tail.
pub(super) const QUANTILES: &[QuantileOf] = &[
    ("min", |d| d.min_ns),
    ("p50", |d| d.p50_ns),
    ("p90", |d| d.p90_ns),
    ("p99", |d| d.p99_ns),
    ("p99.9", |d| d.p999_ns),
    ("max", |d| d.max_ns),
];

pub(super) const KIND: ChartKind = ChartKind {
    id: "load-delay",
    summary: "Delay quantiles against intended load.",
    topic: Topic::Delay,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    of_curves(run, "delay against load", chart)
}

/// The worst trial's quantile at a load: an average of quantiles would mean nothing.
fn worst(point: &LoadPoint<'_>, get: fn(&Delay) -> Option<u64>) -> Option<u64> {
    let seen = point.trials.iter().filter_map(|trial| trial.delay());
    seen.filter_map(get).max()
}

fn chart(run: &Run, curve: &LoadCurve<'_>) -> Option<Chart> {
    let mut trials = curve.points.iter().flat_map(|p| &p.trials);
    let of = trials.find_map(|trial| trial.delay())?.of;
    let rates = Unit::for_rate(curve.largest_rate());
    let medians = curve
        .points
        .iter()
        .filter_map(|p| worst(p, |d| d.p50_ns.or(d.max_ns)));
    let times = Unit::for_nanos(float(medians.max()?.max(1)));
    let series = QUANTILES
        .iter()
        .skip(1)
        .enumerate()
        .map(|(index, (name, get))| {
            let points = curve.points.iter().filter_map(|point| {
                let value = float(worst(point, *get)?);
                let place = Point::new(rates.of(point.intended), times.of(value))?;
                Some(place.note(nanos(value)))
            });
            Series::new(*name, rank(index), Shape::Line, points)
        });
    let quantiles = QUANTILES.iter().map(|(name, get)| {
        column(
            format!("{name} ({})", times.symbol()),
            |point: &LoadPoint<'_>| Cell::time(worst(point, *get), times),
        )
    });
    Some(Chart {
        caption: caption(run, curve),
        y: Axis::new(capital(of.as_str()), times.symbol(), Scale::Log).switchable(),
        series: series.filter(|s| !s.points.is_empty()).collect(),
        table: table(curve, quantiles),
        ..frame("load-delay", "Delay against load", run, curve)
    })
}

/// The text with its first letter in upper case.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    first + chars.as_str()
}

fn caption(run: &Run, curve: &LoadCurve<'_>) -> String {
    let known = curve.points.iter().filter_map(|point| {
        let p99 = worst(point, |d| d.p99_ns.or(d.p50_ns))?;
        Some((
            linerate_model::BitRate::from_f64(point.intended),
            float(p99),
        ))
    });
    let known: Vec<_> = known.collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else {
        return "No delay quantile was recorded.".to_owned();
    };
    let rise = run
        .curve()
        .and_then(|facts| facts.delay_rise)
        .map_or_else(String::new, |load| {
            format!(
                " It is clearly above its level at low load from {} on.",
                rate(load)
            )
        });
    format!(
        "The p99 of the worst trial is {} at {} and {} at {}.{rise}",
        nanos(first.1),
        rate(first.0),
        nanos(last.1),
        rate(last.0)
    )
}

/// A column for each quantile of a row's delay.
pub(super) fn quantile_columns<'a, R>(
    unit: Unit,
    of: impl Fn(&R) -> &Delay + Copy + 'a,
) -> impl Iterator<Item = Column<'a, R>> {
    QUANTILES.iter().map(move |(name, get)| {
        let head = format!("{name} ({})", unit.symbol());
        column(head, move |row| Cell::time(get(of(row)), unit))
    })
}
