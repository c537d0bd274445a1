//! Throughput by frame size, and delay by load.

use super::{Row, goal_word};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::figures::{Unit, float, nanos};
use crate::table::{Cell, Table};
use linerate_model::PacketRate;
use linerate_model::run::{Forwarding, ForwardingDelay};

pub(super) fn all(rows: &[Row<'_>], unit: Unit) -> Vec<Chart> {
    let searched = rows.iter().any(|row| !row.found.goals.is_empty());
    let searched = searched.then(|| throughput(rows, unit));
    let charts = searched.into_iter().chain([delay(rows, unit)]);
    let charts = charts.chain(super::methods::charts(rows, unit));
    charts.filter(|chart| !chart.series.is_empty()).collect()
}

/// A name, its role, and the rate that is marked.
type Mark = (&'static str, Role, fn(&Forwarding) -> Option<PacketRate>);
/// A name, and the delay that is drawn.
type Line = (&'static str, fn(&ForwardingDelay) -> Option<u64>);

/// Place of the `at`-th row on an axis of names.
fn place(at: usize) -> f64 {
    float(at as u64)
}

fn throughput(rows: &[Row<'_>], unit: Unit) -> Chart {
    let goals = rows.first().map_or(&[][..], |row| &row.found.goals);
    let numbered = || rows.iter().enumerate();
    let mut series = Vec::new();
    for (index, goal) in goals.iter().enumerate() {
        let name = goal_word(goal.loss_goal);
        let points = numbered().filter_map(|(at, row)| {
            let lower = row.found.goals.get(index)?.lower_bound?;
            let said = format!(
                "{} {}",
                super::bounds(&row.found.goals[index], unit),
                unit.symbol()
            );
            Some(Point::new(place(at), unit.of(lower.pps()))?.note(said))
        });
        let role = match index {
            0 => Role::Received,
            more => rank(more),
        };
        series.push(Series::new(name, role, Shape::Scatter, points));
    }
    let marks: [Mark; 2] = [
        ("line rate", Role::Ideal, |found| found.line_rate),
        ("linerate's own ceiling on a wire", Role::Ceiling, |found| {
            found.ceiling
        }),
    ];
    for (name, role, of) in marks {
        let points =
            numbered().filter_map(|(at, row)| Point::new(place(at), unit.of(of(row.found)?.pps())));
        series.push(Series::new(name, role, Shape::Scatter, points));
    }
    series.retain(|one| !one.points.is_empty());
    let mut table = Table::new(
        ["Frame".to_owned()].into_iter().chain(
            goals
                .iter()
                .map(|goal| format!("{} ({})", goal_word(goal.loss_goal), unit.symbol())),
        ),
    );
    for row in rows {
        let bounds = row.found.goals.iter();
        let bounds = bounds.map(|goal| Cell::number(goal.lower_bound.map(PacketRate::pps), unit));
        let mut cells: Vec<_> = [Cell::text(row.name())].into_iter().chain(bounds).collect();
        cells.resize(goals.len() + 1, Cell::unknown());
        table.push(cells);
    }
    Chart {
        id: "forwarding".to_owned(),
        title: "Throughput by frame size".to_owned(),
        caption: super::caption(rows, unit),
        x: Axis::categories("Frame", "", rows.iter().map(Row::name).collect()),
        y: Axis::new("Frames per second", unit.symbol(), Scale::Log).switchable(),
        series,
        table,
        ..Chart::default()
    }
}

fn delay(rows: &[Row<'_>], unit: Unit) -> Chart {
    let all = || rows.iter().flat_map(|row| &row.found.delays);
    let medians = all().filter_map(|delay| delay.p50_ns).map(float);
    let time = Unit::for_nanos(crate::figures::middle(medians));
    let mut series = Vec::new();
    let lines: [Line; 2] = [
        ("median", |delay| delay.p50_ns),
        ("p99", |delay| delay.p99_ns),
    ];
    for row in rows {
        for (name, of) in lines {
            let points = row.found.delays.iter().filter_map(|delay| {
                let value = float(of(delay)?);
                let load = unit.of(delay.intended.pps());
                Some(Point::new(load, time.of(value))?.note(nanos(value)))
            });
            let name = format!("{}: {name}", row.name());
            series.push(Series::new(name, rank(series.len()), Shape::Line, points));
        }
    }
    series.retain(|one| !one.points.is_empty());
    let mut table = Table::new([
        "Frame".to_owned(),
        format!("Load ({})", unit.symbol()),
        format!("Median ({})", time.symbol()),
        format!("p99 ({})", time.symbol()),
    ]);
    for (row, delay) in rows.iter().flat_map(|row| {
        let delays = row.found.delays.iter();
        delays.map(move |delay| (row, delay))
    }) {
        table.push(vec![
            Cell::text(row.name()),
            Cell::number(Some(delay.intended.pps()), unit),
            Cell::number(delay.p50_ns.map(float), time),
            Cell::number(delay.p99_ns.map(float), time),
        ]);
    }
    Chart {
        id: "forwarding-delay".to_owned(),
        title: "Delay by load".to_owned(),
        caption: "Delay of every frame at shares of the throughput.".to_owned(),
        x: Axis::new("Intended load", unit.symbol(), Scale::Linear),
        y: Axis::new("Delay", time.symbol(), Scale::Log).switchable(),
        series,
        table,
        ..Chart::default()
    }
}
