//! CPU of both ends against load.

use super::by_load::{frame, of_curves, table};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::curve::{LoadCurve, LoadPoint};
use crate::figures::{Unit, Value};
use crate::table::{Cell, column};
use linerate_model::Ratio;
use linerate_model::run::{CpuSide, Run, Trial};
use linerate_model::spec::Side;

type Share = (&'static str, fn(&Trial) -> Option<Ratio>);

fn sender(trial: &Trial) -> Option<&CpuSide> {
    trial.cpu_of(Side::Sender)
}

fn receiver(trial: &Trial) -> Option<&CpuSide> {
    trial.cpu_of(Side::Receiver)
}

/// Names say side and of what the share is.
const SHARES: &[Share] = &[
    ("Sender, busiest core", |t| sender(t)?.busiest_core_ratio),
    ("Receiver, busiest core", |t| {
        receiver(t)?.busiest_core_ratio
    }),
    ("Sender, traffic thread", |t| sender(t)?.thread_ratio),
    ("Receiver, traffic thread", |t| receiver(t)?.thread_ratio),
    ("Sender, all cores", |t| sender(t)?.host_ratio),
    ("Receiver, all cores", |t| receiver(t)?.host_ratio),
];

pub(super) const KIND: ChartKind = ChartKind {
    id: "load-cpu",
    summary: "CPU use of both ends against intended load.",
    topic: Topic::Cpu,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    of_curves(run, "CPU use of either end", chart)
}

fn mean(point: &LoadPoint<'_>, get: fn(&Trial) -> Option<Ratio>) -> Option<Value> {
    let seen: Vec<_> = point
        .trials
        .iter()
        .filter_map(|trial| get(trial).map(|ratio| (ratio.get(), None)))
        .collect();
    Value::from_observations(&seen)
}

fn chart(run: &Run, curve: &LoadCurve<'_>) -> Option<Chart> {
    let unit = Unit::for_rate(curve.largest_rate());
    let series = SHARES.iter().enumerate().map(|(index, (name, get))| {
        let points = curve.points.iter().filter_map(|point| {
            let value = mean(point, *get)?;
            let y = Unit::PERCENT.of(value.point());
            let place = Point::new(unit.of(point.intended), y)?;
            Some(place.note(value.show(Unit::PERCENT)))
        });
        Series::new(*name, rank(index), Shape::Line, points)
    });
    let series: Vec<_> = series.filter(|s| !s.points.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let shares = SHARES.iter().map(|(name, get)| {
        column(format!("{name} (%)"), |point: &LoadPoint<'_>| {
            Cell::value(mean(point, *get).as_ref(), Unit::PERCENT)
        })
    });
    Some(Chart {
        caption: caption(curve, unit),
        y: Axis::new("Busy share", "%", Scale::Linear).within(0.0, 100.0),
        series,
        table: table(curve, shares),
        ..frame("load-cpu", "CPU of both ends against load", run, curve)
    })
}

fn caption(curve: &LoadCurve<'_>, unit: Unit) -> String {
    let busy = |point: &LoadPoint<'_>, index: usize| mean(point, SHARES[index].1);
    let known = |p: &&LoadPoint<'_>| busy(p, 0).is_some() || busy(p, 1).is_some();
    let Some(last) = curve.points.iter().rev().find(known) else {
        return "The busiest core of either end was not recorded.".to_owned();
    };
    let say = |value: Option<Value>| {
        value.map_or_else(
            || crate::figures::UNKNOWN.to_owned(),
            |value| crate::figures::percent(Ratio::clamped(value.point())),
        )
    };
    format!(
        "At {} the busiest core is {} busy at the sender and {} at the receiver.",
        unit.show(last.intended),
        say(busy(last, 0)),
        say(busy(last, 1))
    )
}
