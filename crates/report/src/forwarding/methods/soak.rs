//! Soak.

use super::super::{Row, number};
use super::{Found, found};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::document::Sheet;
use crate::figures::{Unit, float, nanos, percent};
use crate::table::{Cell, Table, column, words};
use linerate_model::run::{Soak, SoakInterval};
use std::time::Duration;

type Line<'a> = Found<'a, Soak>;

fn time(time: Duration) -> String {
    nanos(time.as_secs_f64() * 1e9)
}

fn delay(delay: Option<u64>) -> String {
    delay.map_or_else(|| "–".to_owned(), |ns| nanos(float(ns)))
}

pub(super) fn sheet(rows: &[Row<'_>], unit: Unit) -> Option<Sheet> {
    let lines = found!(rows, Soak);
    let columns = vec![
        words("frame", |line: &Line<'_>| line.name.clone()),
        words("soak load", |line: &Line<'_>| {
            percent(line.result.load_ratio)
        }),
        words(
            format!("intended, {}", unit.symbol()),
            move |line: &Line<'_>| number(line.result.intended, unit),
        ),
        words("time", |line: &Line<'_>| time(line.result.time)),
        words("loss", |line: &Line<'_>| percent(line.result.loss_ratio)),
        column("lost", |line: &Line<'_>| {
            Cell::count(Some(line.result.lost.get()))
        }),
        words("worst interval", |line: &Line<'_>| worst(line.result)),
        words("median", |line: &Line<'_>| delay(line.result.p50_ns)),
        words("p99", |line: &Line<'_>| delay(line.result.p99_ns)),
        words("max", |line: &Line<'_>| delay(line.result.max_ns)),
    ];
    (!lines.is_empty()).then(|| Sheet::new("Soak", &lines, columns))
}

/// `2.1 % from 40 s`.
fn worst(found: &Soak) -> String {
    let said = |one: &SoakInterval| format!("{} from {}", percent(one.loss_ratio), time(one.start));
    found.worst().map_or_else(|| "no loss".to_owned(), said)
}

pub(super) fn chart(rows: &[Row<'_>]) -> Option<Chart> {
    let lines = found!(rows, Soak);
    let series = lines.iter().enumerate().map(|(at, line)| {
        let points = line.result.intervals.iter().filter_map(|one| {
            let loss = Unit::PERCENT.of(one.loss_ratio.get());
            let said = format!("{} of {} frames lost", one.lost, one.frames);
            Some(Point::new(one.end.as_secs_f64(), loss)?.note(said))
        });
        Series::new(line.name.clone(), rank(at), Shape::Line, points)
    });
    let mut table = Table::new(["Frame", "End (s)", "Frames", "Lost", "Loss (%)"]);
    for (line, one) in lines.iter().flat_map(|line| {
        let intervals = line.result.intervals.iter();
        intervals.map(move |one| (line, one))
    }) {
        table.push(vec![
            Cell::text(line.name.clone()),
            Cell::number(Some(one.end.as_secs_f64()), Unit::SECONDS),
            Cell::count(Some(one.frames.get())),
            Cell::count(Some(one.lost.get())),
            Cell::percent(Some(one.loss_ratio)),
        ]);
    }
    (!lines.is_empty()).then(|| Chart {
        id: "forwarding-soak".to_owned(),
        title: "Loss over time".to_owned(),
        caption: outcome(rows).map_or_else(String::new, |said| crate::charts::capital(&said) + "."),
        x: Axis::new("Time", "s", Scale::Linear),
        y: Axis::new("Frames lost", "%", Scale::Linear),
        series: series.collect(),
        table,
        ..Chart::default()
    })
}

pub(super) fn outcome(rows: &[Row<'_>]) -> Option<String> {
    let lines = found!(rows, Soak);
    let Line { name, result } = lines.first()?;
    let over = format!(
        "in {} at {} of the throughput",
        time(result.time),
        percent(result.load_ratio)
    );
    if result.lost.get() == 0 {
        return Some(format!("loses no frame of {name} {over}"));
    }
    Some(format!(
        "loses {} of {} frames of {name} {over}, in {} of {} intervals",
        result.lost,
        result.sent,
        result.lossy().count(),
        result.intervals.len()
    ))
}
