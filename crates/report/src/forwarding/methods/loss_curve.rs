//! Frame loss rate.

use super::super::{Row, number};
use super::{Found, found};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::document::Sheet;
use crate::figures::{Unit, percent};
use crate::table::{Cell, Table, column, words};
use linerate_model::run::{LossCurve, LossPoint};
use linerate_model::{PacketRate, Ratio};

type Line<'a> = super::Line<'a, LossPoint>;

fn lines<'a>(curves: &'a [Found<'a, LossCurve>]) -> Vec<Line<'a>> {
    super::lines(curves, |curve| &curve.points)
}

/// What a sender that fell behind offered is the load, and what it did not send is no loss.
const BEHIND: f64 = 0.99;

impl Line<'_> {
    fn offered(&self, unit: Unit) -> String {
        match self.point.offered {
            None => "–".to_owned(),
            Some(rate) if rate.pps() < self.point.intended.pps() * BEHIND => {
                format!("{} (sender's limit)", number(rate, unit))
            }
            Some(rate) => number(rate, unit),
        }
    }

    /// Where frames were lost, most first: `queue of the device: 512`.
    fn places(&self) -> String {
        let mut ledger: Vec<_> = self.point.ledger.iter().collect();
        ledger.sort_by_key(|entry| std::cmp::Reverse(entry.packets));
        let said = ledger.into_iter().map(|entry| {
            let place = entry.place;
            format!("{place}: {} ({})", entry.packets, entry.source)
        });
        said.collect::<Vec<_>>().join("; ")
    }
}

pub(super) fn sheet(rows: &[Row<'_>], unit: Unit) -> Option<Sheet> {
    let curves = found!(rows, LossCurve);
    let lines = lines(&curves);
    let full = curves.first().map(|curve| curve.result.full_of)?;
    let columns = vec![
        words("frame", |line: &Line<'_>| line.name.to_owned()),
        words("load", |line: &Line<'_>| percent(line.point.load_ratio)),
        words(
            format!("intended, {}", unit.symbol()),
            move |line: &Line<'_>| number(line.point.intended, unit),
        ),
        words(
            format!("offered, {}", unit.symbol()),
            move |line: &Line<'_>| line.offered(unit),
        ),
        words("loss", |line: &Line<'_>| percent(line.point.loss_ratio)),
        column("lost", |line: &Line<'_>| {
            Cell::count(Some(line.point.lost.get()))
        }),
        words("where", |line: &Line<'_>| line.places()),
    ];
    let title = format!("Frame loss rate by load, of {full} (RFC 2544)");
    Some(Sheet::new(title, &lines, columns))
}

pub(super) fn chart(rows: &[Row<'_>], unit: Unit) -> Option<Chart> {
    let curves = found!(rows, LossCurve);
    let series = curves.iter().enumerate().map(|(at, curve)| {
        let points = curve.result.points.iter().filter_map(|point| {
            let load = point.offered.unwrap_or(point.intended);
            let loss = Unit::PERCENT.of(point.loss_ratio.get());
            let said = format!("{} lost", percent(point.loss_ratio));
            Some(Point::new(unit.of(load.pps()), loss)?.note(said))
        });
        Series::new(curve.name.clone(), rank(at), Shape::Line, points)
    });
    let mut table = Table::new([
        "Frame".to_owned(),
        format!("Offered ({})", unit.symbol()),
        "Loss (%)".to_owned(),
    ]);
    for line in lines(&curves) {
        table.push(vec![
            Cell::text(line.name),
            Cell::number(line.point.offered.map(PacketRate::pps), unit),
            Cell::percent(Some(line.point.loss_ratio)),
        ]);
    }
    (!curves.is_empty()).then(|| Chart {
        id: "forwarding-loss".to_owned(),
        title: "Frame loss rate by load".to_owned(),
        caption: outcome(rows, unit)
            .map_or_else(String::new, |said| crate::charts::capital(&said) + "."),
        x: Axis::new("Offered load", unit.symbol(), Scale::Linear),
        y: Axis::new("Frames lost", "%", Scale::Linear),
        series: series.collect(),
        table,
        ..Chart::default()
    })
}

pub(super) fn outcome(rows: &[Row<'_>], unit: Unit) -> Option<String> {
    let curves = found!(rows, LossCurve);
    let curve = curves.first()?;
    let points = &curve.result.points;
    let offered = |point: &LossPoint| point.offered.unwrap_or(point.intended);
    let most = points.first()?;
    let word = |point: &LossPoint| format!("{} {}", number(offered(point), unit), unit.symbol());
    if most.loss_ratio == Ratio::ZERO {
        return Some(format!(
            "loses nothing of {} up to {}",
            curve.name,
            word(most)
        ));
    }
    let lossless = points.iter().find(|point| point.loss_ratio == Ratio::ZERO);
    let below = lossless.map_or_else(
        || "at no load without loss".to_owned(),
        |point| format!("nothing at {} and below", word(point)),
    );
    Some(format!(
        "loses {} of {} at {}, {below}",
        percent(most.loss_ratio),
        curve.name,
        word(most)
    ))
}
