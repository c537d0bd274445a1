//! Rate with loss: what became of each intended load, stacked.

use super::by_load::{frame, of_curves};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape};
use crate::curve::{LoadCurve, LoadPoint};
use crate::figures::{Unit, Value, digits, percent};
use crate::table::{Cell, Table};
use linerate_model::Ratio;
use linerate_model::run::Run;

pub(super) const KIND: ChartKind = ChartKind {
    id: "load-loss",
    summary: "Rate with loss: the received, lost and never offered part of each intended load.",
    topic: Topic::Loss,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    of_curves(run, "rate with loss needs received rate and loss", chart)
}

/// What became of an intended load, in bit/s.
struct Shares {
    received: f64,
    lost: f64,
    not_offered: f64,
}

fn shares(point: &LoadPoint<'_>) -> Option<Shares> {
    let received = point.received.as_ref()?.point();
    let ratio = point.loss.as_ref()?.point();
    let lost = match &point.offered {
        Some(offered) => offered.point() * ratio,
        None if ratio < 1.0 => received * ratio / (1.0 - ratio),
        None => point.intended,
    };
    Some(Shares {
        received,
        lost,
        not_offered: (point.intended - received - lost).max(0.0),
    })
}

fn chart(run: &Run, curve: &LoadCurve<'_>) -> Option<Chart> {
    let unit = Unit::for_rate(curve.largest_rate());
    let known: Vec<_> = curve
        .points
        .iter()
        .filter_map(|p| Some((p, shares(p)?)))
        .collect();
    known.first()?;
    let bars = |name: &str, role, get: fn(&Shares) -> f64| {
        let points = known.iter().enumerate().filter_map(|(index, (_, shares))| {
            let place = Point::new(crate::figures::float(index as u64), unit.of(get(shares)))?;
            Some(place.note(unit.show(get(shares))))
        });
        Series::new(name, role, Shape::Bar, points)
    };
    let loss = known.iter().enumerate().filter_map(|(index, (point, _))| {
        let value = point.loss.as_ref()?;
        let x = crate::figures::float(index as u64);
        let place = Point::new(x, Unit::PERCENT.of(value.point()))?;
        Some(place.note(value.show(Unit::PERCENT)))
    });
    let lossy = curve.points.iter().any(|point| point.loss_or_zero() > 0.0);
    let mut series = vec![
        bars("Received", Role::Received, |s| s.received),
        bars("Lost", Role::Lost, |s| s.lost),
        bars("Never offered", Role::NotOffered, |s| s.not_offered),
    ];
    if lossy {
        let loss = Series::new("Loss ratio", Role::LossRatio, Shape::Line, loss);
        series.push(loss.on_second_axis());
    }
    let names = known.iter().map(|(p, _)| digits(unit.of(p.intended)));
    Some(Chart {
        caption: caption(curve, unit),
        x: Axis::categories("Intended load, L4 payload", unit.symbol(), names.collect()),
        y: Axis::new("Rate, L4 payload", unit.symbol(), Scale::Linear),
        y2: lossy.then(|| Axis::new("Loss", "%", Scale::Linear)),
        series,
        table: table(&known, unit),
        bands: Vec::new(),
        ..frame("load-loss", "Rate with loss", run, curve)
    })
}

fn caption(curve: &LoadCurve<'_>, unit: Unit) -> String {
    let worst = curve
        .points
        .iter()
        .max_by(|a, b| a.loss_or_zero().total_cmp(&b.loss_or_zero()));
    match worst {
        Some(point) if point.loss_or_zero() > 0.0 => format!(
            "At worst, {} of the packets are lost: {} is received of {} intended.",
            percent(Ratio::clamped(point.loss_or_zero())),
            unit.show(point.received.as_ref().map_or(0.0, Value::point)),
            unit.number(point.intended),
        ),
        _ => "Nothing that was offered is lost at any load.".to_owned(),
    }
}

fn table(known: &[(&LoadPoint<'_>, Shares)], unit: Unit) -> Table {
    let symbol = unit.symbol();
    let mut table = Table::new([
        format!("Intended ({symbol}, L4 payload)"),
        format!("Received ({symbol}, receiver)"),
        format!("Lost ({symbol})"),
        format!("Never offered ({symbol}, sender)"),
        "Loss ratio (%)".to_owned(),
        "Valid trials (n)".to_owned(),
    ]);
    for (point, shares) in known {
        table.push(vec![
            Cell::number(Some(point.intended), unit),
            Cell::value(point.received.as_ref(), unit),
            Cell::number(Some(shares.lost), unit),
            Cell::number(Some(shares.not_offered), unit),
            Cell::value(point.loss.as_ref(), Unit::PERCENT),
            Cell::count(Some(point.trials.len() as u64)),
        ]);
    }
    table
}
