//! The course of a trend: a mark for each run, a line for each level.

use super::TrendSeries;
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::figures::float;
use crate::table::{Cell, Table};

/// The chart of the `nth` test.
pub(super) fn course(nth: usize, followed: &TrendSeries) -> Chart {
    let unit = followed.unit();
    let place = |at: usize| float(at as u64 + 1);
    let points = followed
        .points
        .iter()
        .enumerate()
        .filter_map(|(at, point)| {
            let started = point.started.as_deref().unwrap_or("start not recorded");
            let note = format!("{}, {}, {started}", unit.show(point.value), point.id);
            Some(Point::new(place(at), unit.of(point.value))?.note(note))
        });
    let mut series = vec![Series::new("run", Role::Received, Shape::Scatter, points)];
    let mut bounds = vec![0];
    bounds.extend(followed.changes.iter().map(|change| change.at));
    bounds.push(followed.points.len());
    let means = followed.changes.first().map(|first| first.before.point);
    let means = means
        .into_iter()
        .chain(followed.changes.iter().map(|change| change.after.point));
    for (nth, (ends, mean)) in bounds.windows(2).zip(means).enumerate() {
        let ends = [place(ends[0]), place(ends[1].saturating_sub(1))];
        let line = ends
            .into_iter()
            .filter_map(|x| Point::new(x, unit.of(mean)));
        let name = format!("level {}", nth + 1);
        series.push(Series::new(name, rank(1), Shape::Plain, line));
    }
    Chart {
        id: format!("course-{nth}"),
        title: format!("{}: {}", followed.title, followed.figure.as_str()),
        caption: followed.conclusion(),
        x: Axis::new("Run, oldest first", "", Scale::Linear),
        y: Axis::new(followed.figure.as_str(), unit.symbol(), Scale::LinearFit),
        series,
        table: table(followed),
        ..Chart::default()
    }
}

fn table(followed: &TrendSeries) -> Table {
    let unit = followed.unit();
    let value = format!("{} ({})", followed.figure.as_str(), unit.symbol());
    let mut table = Table::new(["Place", "Run", "Started (UTC)", &value, "Change"]);
    for (at, point) in followed.points.iter().enumerate() {
        let is_change = followed.changes.iter().any(|change| change.at == at);
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
