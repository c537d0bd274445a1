//! The course of a trend: a mark for each run, a line for each level.

use super::Trend;
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::figures::float;
use crate::table::{Cell, Table};

/// The chart.
pub(super) fn course(trend: &Trend) -> Chart {
    let unit = trend.unit();
    let place = |at: usize| float(at as u64 + 1);
    let points = trend.points.iter().enumerate().filter_map(|(at, point)| {
        let started = point.started.as_deref().unwrap_or("start not recorded");
        let note = format!("{}, {}, {started}", unit.show(point.value), point.id);
        Some(Point::new(place(at), unit.of(point.value))?.note(note))
    });
    let mut series = vec![Series::new("run", Role::Received, Shape::Scatter, points)];
    let mut bounds = vec![0];
    bounds.extend(trend.changes.iter().map(|change| change.at));
    bounds.push(trend.points.len());
    let means = trend.changes.first().map(|first| first.before.point);
    let means = means
        .into_iter()
        .chain(trend.changes.iter().map(|change| change.after.point));
    for (nth, (ends, mean)) in bounds.windows(2).zip(means).enumerate() {
        let ends = [place(ends[0]), place(ends[1].saturating_sub(1))];
        let line = ends
            .into_iter()
            .filter_map(|x| Point::new(x, unit.of(mean)));
        let name = format!("level {}", nth + 1);
        series.push(Series::new(name, rank(1), Shape::Plain, line));
    }
    Chart {
        id: "course".to_owned(),
        title: format!("{} by run", trend.figure.name()),
        caption: trend.conclusion(),
        x: Axis::new("Run, oldest first", "", Scale::Linear),
        y: Axis::new(trend.figure.name(), unit.symbol(), Scale::LinearFit),
        series,
        table: table(trend),
        ..Chart::default()
    }
}

fn table(trend: &Trend) -> Table {
    let unit = trend.unit();
    let value = format!("{} ({})", trend.figure.name(), unit.symbol());
    let mut table = Table::new(["Place", "Run", "Started (UTC)", &value, "Change"]);
    for (at, point) in trend.points.iter().enumerate() {
        let is_change = trend.changes.iter().any(|change| change.at == at);
        table.push(vec![
            Cell::count(Some(at as u64 + 1)),
            Cell::text(&point.id),
            point
                .started
                .as_ref()
                .map_or_else(Cell::unknown, Cell::text),
            Cell::number(Some(point.value), unit),
            Cell::text(if is_change { "new level" } else { "" }),
        ]);
    }
    table
}
