//! Several runs as one story: what was set up differently, then their results side by side, then each behind a click.

use super::section::{self, Standing};
use super::{hosts, overview};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::figures::{UNKNOWN, Unit, clean, float, rate};
use crate::page::{self, Drawings, heading};
use crate::story;
use crate::table::{Cell, Table};
use crate::words;
use linerate_model::BitRate;
use linerate_model::run::Run;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Runs with a section of their own; the others have their row.
const MAX_SECTIONS: usize = 12;
/// Runs that have a column of their own in the table of differences.
const MAX_COLUMNS: usize = 6;

/// Everything below the first screen of a report of several runs.
pub(super) fn sections(runs: &[Run], drawings: &mut Drawings) -> Markup {
    let charts: Vec<Chart> = side_by_side(runs).into_iter().map(Chart::cleaned).collect();
    html! {
        section.run aria-labelledby="together-title" {
            (heading(2, Some("together-title"), &format!("{} runs together", runs.len())))
            (differences(runs))
            (heading(3, None, "Results"))
            (overview::table(runs, "run"))
            (page::drawn_charts(charts, "together", 3, drawings))
        }
        @for (index, run) in runs.iter().take(MAX_SECTIONS).enumerate() {
            (section::run(run, &format!("run-{}", index + 1), Standing::Among, drawings))
        }
        @if runs.len() > MAX_SECTIONS {
            p.muted {
                (runs.len() - MAX_SECTIONS) " more runs have their row above and no section; "
                code { "linerate report RUN -o run.html" } " draws one with everything."
            }
        }
    }
}

/// What stands in a set-up and is another at every boot or moment: it says nothing of what was measured.
const MOMENTARY: [&str; 4] = [
    "boot id",
    "cpu frequency hz",
    "program start",
    "time namespace",
];

/// Settings and facts of a run by their names.
fn set_up(run: &Run) -> BTreeMap<String, String> {
    let mut all = run.config.settings();
    for host in &run.hosts {
        let role = host.role.as_str();
        for (name, value) in host.facts.entries() {
            let name = name.replace(['-', '_'], " ");
            if !MOMENTARY.contains(&name.as_str()) {
                let shown = hosts::shown(&name.replace(' ', "_"), &value);
                all.insert(format!("{role}: {name}"), shown);
            }
        }
    }
    if let Some(report) = &run.stack {
        all.insert("stack".to_owned(), report.stack.clone());
        for (name, value) in report.identity() {
            all.insert(format!("stack: {name}"), value);
        }
    }
    let version = run.tool.version.as_deref().unwrap_or(UNKNOWN);
    all.insert(
        "measured by".to_owned(),
        format!("{} {version}", run.tool.name),
    );
    all
}

/// The names whose values are not the same in all runs, above all numbers; and how many are the same.
fn differences(runs: &[Run]) -> Markup {
    let all: Vec<BTreeMap<String, String>> = runs.iter().map(set_up).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let differs = |name: &str| {
        let values: BTreeSet<Option<&String>> = all.iter().map(|one| one.get(name)).collect();
        values.len() > 1
    };
    let different: Vec<&String> = names.iter().copied().filter(|name| differs(name)).collect();
    let same = names.len() - different.len();
    let columns: Vec<String> = if runs.len() <= MAX_COLUMNS {
        runs.iter().map(words::title).collect()
    } else {
        vec!["Values, and in how many runs".to_owned()]
    };
    let mut table = Table::new(["What".to_owned()].into_iter().chain(columns));
    for name in &different {
        let values = all
            .iter()
            .map(|one| one.get(*name).map_or(UNKNOWN, String::as_str));
        let cells: Vec<Cell> = if runs.len() <= MAX_COLUMNS {
            values.map(Cell::text).collect()
        } else {
            vec![Cell::text(tally(values))]
        };
        table.push(
            [Cell::text(name.as_str())]
                .into_iter()
                .chain(cells)
                .collect(),
        );
    }
    html! {
        (heading(3, None, "What was set up differently"))
        @if different.is_empty() {
            p { "Nothing that is recorded. The same in all runs: " (same) " settings and facts." }
        } @else {
            p { "Settings and facts that differ: " (different.len()) "; the same in all runs: " (same) "." }
            @let summary = format!("Differences ({})", different.len());
            (page::folded(&table, "What was set up differently", &summary, different.len() <= 12))
        }
    }
}

/// `1448 (11), 64 (3)`, the most frequent first.
fn tally<'a>(values: impl Iterator<Item = &'a str>) -> String {
    const MAX_VALUES: usize = 6;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let mut ranked: Vec<_> = counts.into_iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = ranked.len().saturating_sub(MAX_VALUES);
    let shown = ranked.iter().take(MAX_VALUES);
    let mut text: Vec<String> = shown
        .map(|(value, count)| format!("{value} ({count})"))
        .collect();
    if more > 0 {
        text.push(format!("{more} more"));
    }
    text.join(", ")
}

/// What each run carried, on one axis for each direction; from three runs on.
fn side_by_side(runs: &[Run]) -> Option<Chart> {
    const MIN_RUNS: usize = 3;
    const MAX_RUNS: usize = 40;
    let carried = runs
        .iter()
        .map(|run| (words::title(run), story::of_run(run)));
    let rows: Vec<_> = carried
        .filter(|(_, each)| !each.is_empty())
        .take(MAX_RUNS)
        .collect();
    if rows.len() < MIN_RUNS {
        return None;
    }
    let points = || {
        rows.iter()
            .enumerate()
            .flat_map(|(at, (_, each))| each.iter().map(move |one| (at, one)))
    };
    let unit = Unit::for_rate(points().map(|(_, one)| one.point).fold(0.0, f64::max));
    let series = compared(&rows, unit);
    let names = rows.iter().rev().map(|(name, _)| clean(name)).collect();
    Some(Chart {
        id: "side-by-side".to_owned(),
        title: "What each run carried".to_owned(),
        caption: caption(points().map(|(_, one)| one.point), unit),
        x: Axis::new("Carried, L4 payload", unit.symbol(), Scale::Linear),
        y: Axis::categories("Run", "", names),
        series,
        table: table(&rows, unit),
        ..Chart::default()
    })
}

/// A run's title and what it carried.
type Row = (String, Vec<story::SideBySide>);

/// The dots of each direction with their intervals.
fn compared(rows: &[Row], unit: Unit) -> Vec<Series> {
    let points = || {
        let numbered = rows.iter().enumerate();
        numbered.flat_map(|(at, (_, each))| each.iter().map(move |one| (at, one)))
    };
    // The first run stands on top, and the axis counts from below.
    let y = |at: usize| float((rows.len() - 1 - at) as u64);
    let mut directions: Vec<_> = points().map(|(_, one)| one.direction).collect();
    directions.sort_unstable();
    directions.dedup();
    let ranges = points().filter_map(|(at, one)| Some((at, one.range?)));
    let strokes = ranges
        .flat_map(|(at, range)| [range.low, range.high].map(|end| Point::new(unit.of(end), y(at))));
    let mut series = vec![Series::new(
        "interval or bounds",
        rank(4),
        Shape::Interval,
        strokes.flatten(),
    )];
    for (place, direction) in directions.iter().enumerate() {
        let here = points().filter(|(_, one)| one.direction == *direction);
        let dots = here.filter_map(|(at, one)| {
            let said = format!("{} ({})", rate(BitRate::from_f64(one.point)), one.about);
            Some(Point::new(unit.of(one.point), y(at))?.note(said))
        });
        let role = if place == 0 {
            Role::Received
        } else {
            rank(place)
        };
        series.push(Series::new(
            words::direction(*direction),
            role,
            Shape::Scatter,
            dots,
        ));
    }
    series.retain(|one| !one.points.is_empty());
    series
}

fn caption(values: impl Iterator<Item = f64>, unit: Unit) -> String {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    format!("From {} to {}.", unit.number(low), unit.show(high))
}

fn table(rows: &[Row], unit: Unit) -> Table {
    let symbol = unit.symbol();
    let mut table = Table::new([
        "Run".to_owned(),
        "Direction".to_owned(),
        format!("Carried ({symbol})"),
        format!("Interval or bounds ({symbol})"),
        "What".to_owned(),
    ]);
    for (name, each) in rows {
        for one in each {
            let range = one.range.map(|range| crate::figures::range(range, unit));
            table.push(vec![
                Cell::text(name.as_str()),
                Cell::text(words::direction(one.direction)),
                Cell::number(Some(one.point), unit),
                Cell::text(range.unwrap_or_else(|| UNKNOWN.to_owned())),
                Cell::text(one.about.as_str()),
            ]);
        }
    }
    table
}
