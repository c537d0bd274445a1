//! A study of things that have names: a row for each test, and in it the mean of each thing that was compared.

use super::charts::{MAX_DOTS, Multiples, WIDE, mean_cells, rounded};
use super::findings::THINGS;
use super::{Levels, Observation, StudyView, mean};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::charts::capital;
use crate::figures::{Unit, Value, float};
use crate::table::{Cell, Table};
use std::collections::BTreeMap;

/// Factors that say which test it is, in the order of words: `tcp, client → server, ip 4`.
const TESTS: [&str; 4] = ["kind", "transport", "direction", "ip"];

/// Most things that are compared in one row: more marks cannot be told apart.
const MAX_COMPARED: usize = 6;

/// Room of all marks of a row, of its height.
const SPREAD: f64 = 0.66;

/// The interval's place among the roles of several alike: grey.
const GREY: usize = 4;

/// Which factor is what in the charts.
struct Layout {
    /// Of the rows.
    tests: Vec<usize>,
    /// Of the marks in a row; all runs are alike where there is none.
    compared: Option<usize>,
}

/// The runs at each level of what is compared, by the row that they are in.
type Rows<'v, 'a> = BTreeMap<Levels, BTreeMap<usize, Vec<&'v Observation<'a>>>>;

/// What all charts of a study share.
struct Frame<'v> {
    view: &'v StudyView<'v>,
    layout: Layout,
    unit: Unit,
    least: f64,
    most: f64,
}

/// The mean of a row's runs at one level.
struct Mark {
    row: usize,
    level: usize,
    value: Value,
}

/// A chart for each combination of what is neither a test nor compared; none where a factor makes an axis.
pub(crate) fn groups(view: &StudyView<'_>) -> Multiples {
    let layout = Layout::new(view);
    if view.axis().is_some() || view.cells().len() < 2 {
        return Multiples::none();
    }
    let mut facets: BTreeMap<Levels, Rows<'_, '_>> = BTreeMap::new();
    for one in &view.observations {
        let is_facet = |at| !layout.tests.contains(&at) && layout.compared != Some(at);
        let facet = one.levels.iter().enumerate();
        let facet: Levels = facet
            .map(|(at, level)| if is_facet(at) { *level } else { 0 })
            .collect();
        let row: Levels = layout.tests.iter().map(|at| one.levels[*at]).collect();
        let level = layout.compared.map_or(0, |at| one.levels[at]);
        let row = facets.entry(facet).or_default().entry(row).or_default();
        row.entry(level).or_default().push(one);
    }
    let values = view.observations.iter().map(|one| one.value);
    let frame = Frame {
        view,
        layout,
        unit: view.measure.unit(view.largest()),
        least: values.fold(f64::INFINITY, f64::min),
        most: view.largest(),
    };
    Multiples::of(&facets, |place, key, rows| frame.chart(place, key, rows))
}

impl Layout {
    fn new(view: &StudyView<'_>) -> Self {
        let named = |name: &str| view.factors.iter().position(|factor| factor.name == name);
        let tests: Vec<usize> = TESTS.iter().filter_map(|name| named(name)).collect();
        let mut others = (0..view.factors.len()).filter(|at| !tests.contains(at));
        let compared = THINGS.iter().find_map(|name| named(name));
        let compared = compared.or_else(|| others.next());
        let compared = compared.filter(|at| view.factors[*at].levels.len() <= MAX_COMPARED);
        if tests.is_empty() {
            let rows = (0..view.factors.len()).filter(|at| compared != Some(*at));
            let rows: Vec<usize> = rows.collect();
            if rows.is_empty() {
                return Self {
                    tests: compared.into_iter().collect(),
                    compared: None,
                };
            }
            return Self {
                tests: rows,
                compared,
            };
        }
        Self { tests, compared }
    }
}

impl Frame<'_> {
    fn chart(&self, place: usize, key: &Levels, rows: &Rows<'_, '_>) -> Chart {
        let facet = self.view.words(key, |at| {
            !self.layout.tests.contains(&at) && self.layout.compared != Some(at)
        });
        let title = if facet.is_empty() {
            "Every test".to_owned()
        } else {
            capital(&facet)
        };
        let names: Vec<String> = rows.keys().map(|row| self.row_name(row)).collect();
        let marks = marks(rows);
        Chart {
            id: format!("study-{place}"),
            title,
            caption: self.caption(&marks, rows.len()),
            x: self.axis(),
            y: Axis {
                scale: Scale::Groups,
                // The first row is the uppermost.
                ..Axis::categories("Test", "", names.iter().rev().cloned().collect())
            },
            series: self.series(rows, &marks),
            table: self.table(&names, rows),
            ..Chart::default()
        }
    }

    fn axis(&self) -> Axis {
        let name = capital(self.view.measure.name());
        if self.is_log() {
            return Axis::new(name, self.unit.symbol(), Scale::Log).switchable();
        }
        let axis = Axis::new(name, self.unit.symbol(), Scale::Linear);
        axis.within(0.0, rounded(self.unit.of(self.most * 1.05)))
    }

    fn is_log(&self) -> bool {
        self.least > 0.0 && self.most > WIDE * self.least
    }

    /// A row's levels stand in the order of the tests' factors.
    fn row_name(&self, row: &Levels) -> String {
        let said = self.layout.tests.iter().zip(row);
        let said = said.map(|(at, level)| match self.view.factors[*at].said(*level) {
            tcp if tcp.ends_with(" tcp") => "TCP".to_owned(),
            udp if udp.ends_with(" udp") => "UDP".to_owned(),
            other => other,
        });
        said.collect::<Vec<_>>().join(", ")
    }

    fn level_name(&self, level: usize) -> String {
        self.layout.compared.map_or_else(
            || "Mean of the runs".to_owned(),
            |at| self.view.factors[at].said(level),
        )
    }

    fn levels(&self) -> usize {
        self.layout
            .compared
            .map_or(1, |at| self.view.factors[at].levels.len())
    }

    /// The height of a mark: rows count from below, levels from above.
    fn height(&self, rows: usize, row: usize, level: usize) -> f64 {
        let levels = float(self.levels() as u64);
        let place = (float(level as u64) + 0.5) / levels - 0.5;
        float((rows - 1 - row) as u64) - place * SPREAD
    }

    fn series(&self, rows: &Rows<'_, '_>, marks: &[Mark]) -> Vec<Series> {
        let at = |value: f64, row: usize, level: usize| {
            Point::new(self.unit.of(value), self.height(rows.len(), row, level))
        };
        // Zero is nowhere on a logarithmic axis.
        let lowest = if self.is_log() { self.least / 2.0 } else { 0.0 };
        let strokes = marks.iter().flat_map(|mark| {
            let ends = mark.value.estimate.interval;
            let ends = ends
                .into_iter()
                .flat_map(|ends| [ends.low.max(lowest), ends.high]);
            ends.filter_map(move |end| at(end, mark.row, mark.level))
        });
        let runs = rows.values().enumerate().flat_map(|(row, levels)| {
            levels.iter().flat_map(move |(level, runs)| {
                let many = runs.iter().filter(|_| runs.len() > 1);
                many.map(move |one| (one.value, row, *level))
            })
        });
        let runs: Vec<_> = runs.collect();
        let step = runs.len().div_ceil(MAX_DOTS).max(1);
        let dots = runs.iter().step_by(step);
        let dots = dots.filter_map(|(value, row, level)| {
            Some(at(*value, *row, *level)?.note(self.unit.show(*value)))
        });
        let mut all = vec![
            Series::new("95 % interval", rank(GREY), Shape::Interval, strokes),
            Series::new("Single runs", rank(GREY), Shape::Single, dots),
        ];
        all.extend((0..self.levels()).map(|level| {
            let own = marks.iter().filter(|mark| mark.level == level);
            let points = own.filter_map(|mark| {
                let point = at(mark.value.point(), mark.row, level)?;
                Some(point.note(mark.value.show(self.unit)))
            });
            Series::new(
                self.level_name(level),
                rank(shown(level)),
                Shape::Scatter,
                points,
            )
        }));
        all.retain(|one| !one.points.is_empty());
        all
    }

    /// Which has the highest mean in how many tests, as far as intervals tell them apart.
    fn caption(&self, marks: &[Mark], rows: usize) -> String {
        if self.layout.compared.is_none() {
            return String::new();
        }
        let repeated = marks
            .iter()
            .any(|mark| mark.value.estimate.interval.is_some());
        let tests = (0..rows).map(|row| marks.iter().filter(move |mark| mark.row == row));
        let tests = tests.map(Iterator::collect::<Vec<&Mark>>);
        let tests: Vec<_> = tests.filter(|own| own.len() > 1).collect();
        let firsts = tests.iter().filter_map(|own| first(own, repeated));
        let mut tally: BTreeMap<usize, usize> = BTreeMap::new();
        for level in firsts {
            *tally.entry(level).or_default() += 1;
        }
        let (all, told): (usize, usize) = (tests.len(), tally.values().sum());
        let said = tally
            .iter()
            .map(|(level, count)| format!("{} in {count} of {all} tests", self.level_name(*level)));
        let said = said.collect::<Vec<_>>().join(", ");
        match (repeated, all - told) {
            _ if all == 0 => String::new(),
            (false, _) => format!("Highest mean, of one run each: {said}."),
            (true, _) if told == 0 => {
                format!("In none of {all} tests do the intervals tell whose mean is highest.")
            }
            (true, 0) => format!("Highest mean, its 95 % interval above all others: {said}."),
            (true, open) => format!(
                "Highest mean, its 95 % interval above all others: {said}; in the other {open} intervals overlap."
            ),
        }
    }

    fn table(&self, names: &[String], rows: &Rows<'_, '_>) -> Table {
        let (measure, symbol) = (self.view.measure.name(), self.unit.symbol());
        let compared = self.layout.compared.map(|at| &self.view.factors[at]);
        let mut table = Table::new([
            "Test".to_owned(),
            compared.map_or_else(|| "Runs".to_owned(), |factor| capital(&factor.name)),
            format!("Mean, {measure} ({symbol})"),
            format!("95 % interval ({symbol})"),
            "Runs (n)".to_owned(),
        ]);
        for (name, levels) in names.iter().zip(rows.values()) {
            for (level, runs) in levels {
                let [middle, interval] = mean_cells(runs, self.unit);
                let level = compared.map_or("all", |factor| &factor.levels[*level].text);
                table.push(vec![
                    Cell::text(name),
                    Cell::text(level),
                    middle,
                    interval,
                    Cell::count(Some(runs.len() as u64)),
                ]);
            }
        }
        table
    }
}

/// Colours of means: grey is for intervals.
const fn shown(level: usize) -> usize {
    if level < GREY { level } else { level + 1 }
}

fn marks(rows: &Rows<'_, '_>) -> Vec<Mark> {
    let all = rows.values().enumerate().flat_map(|(row, levels)| {
        levels.iter().filter_map(move |(level, runs)| {
            Some(Mark {
                row,
                level: *level,
                value: mean(runs)?,
            })
        })
    });
    all.collect()
}

/// The level with the highest mean of a row; `None` where intervals do not tell it from another.
fn first(own: &[&Mark], repeated: bool) -> Option<usize> {
    let best = own
        .iter()
        .max_by(|a, b| a.value.point().total_cmp(&b.value.point()))?;
    let mut others = own.iter().filter(|mark| mark.level != best.level);
    let is_first = !repeated || others.all(|other| is_above(&best.value, &other.value));
    is_first.then_some(best.level)
}

fn is_above(one: &Value, other: &Value) -> bool {
    match (one.estimate.interval, other.estimate.interval) {
        (Some(one), Some(other)) => one.low > other.high,
        _ => false,
    }
}
