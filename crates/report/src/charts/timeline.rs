//! What charts over time share: which trials to draw, how lines become a chart.

use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape};
use crate::curve::load_curves;
use crate::figures::{Unit, rate};
use crate::table::{Cell, Table};
use linerate_model::run::{Run, Trial};
use std::time::Duration;

/// More lines than this cannot be told apart.
const MAX_LINES: usize = 6;

/// More points than this on one line cannot be seen, and make the page heavy.
const MAX_POINTS: usize = 600;

/// A quantity over time.
pub(super) struct Line {
    /// Whose it is.
    pub(super) name: String,
    /// How it is drawn.
    pub(super) role: Role,
    /// Seconds from the trial's start, and the value in the base unit.
    pub(super) points: Vec<(f64, f64)>,
}

impl Line {
    /// Each `step`-th point.
    fn every(&self, step: usize) -> Self {
        Self {
            name: self.name.clone(),
            role: self.role,
            points: self.points.iter().copied().step_by(step).collect(),
        }
    }

    /// The smallest and the largest value; `None` without any.
    pub(super) fn extent(&self) -> Option<(f64, f64)> {
        let values = || self.points.iter().map(|point| point.1);
        Some((
            values().min_by(f64::total_cmp)?,
            values().max_by(f64::total_cmp)?,
        ))
    }
}

/// What a chart over time says beside its lines.
pub(super) struct About {
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) caption: String,
    /// The quantity with layer and side.
    pub(super) quantity: &'static str,
    pub(super) unit: Unit,
    pub(super) scale: Scale,
}

/// A chart of lines over time with its table.
pub(super) fn chart(about: About, lines: &[Line]) -> Chart {
    let longest = lines.iter().map(|line| line.points.len()).max();
    let step = longest.unwrap_or(0).div_ceil(MAX_POINTS).max(1);
    if step == 1 {
        return drawn(about, lines);
    }
    let thinned: Vec<_> = lines.iter().map(|line| line.every(step)).collect();
    let caption = format!("{} Every {step}th reading is drawn.", about.caption);
    drawn(About { caption, ..about }, &thinned)
}

fn drawn(about: About, lines: &[Line]) -> Chart {
    let unit = about.unit;
    let series = lines.iter().map(|line| {
        let points = line.points.iter().filter_map(|(at, value)| {
            let place = Point::new(*at, unit.of(*value))?;
            Some(place.note(unit.show(*value)))
        });
        let shape = if line.points.len() > 100 {
            Shape::Plain
        } else {
            Shape::Line
        };
        Series::new(&line.name, line.role, shape, points)
    });
    let table = table(&about, lines);
    Chart {
        id: about.id.to_owned(),
        title: about.title,
        caption: about.caption,
        x: Axis::new("Time since the trial began", "s", Scale::Linear),
        y: Axis::new(about.quantity, unit.symbol(), about.scale),
        y2: None,
        series: series.collect(),
        bands: Vec::new(),
        table,
    }
}

/// One row for each point; the line is named where there are several.
fn table(about: &About, lines: &[Line]) -> Table {
    let several = lines.len() > 1;
    let name = several.then(|| "Line".to_owned());
    let figures = [
        "Time (s)".to_owned(),
        format!("{} ({})", about.quantity, about.unit.symbol()),
    ];
    let mut table = Table::new(name.into_iter().chain(figures));
    for line in lines {
        for (at, value) in &line.points {
            let name = several.then(|| Cell::text(&line.name));
            let figures = [
                Cell::number(Some(*at), Unit::SECONDS),
                Cell::number(Some(*value), about.unit),
            ];
            table.push(name.into_iter().chain(figures).collect());
        }
    }
    table
}

/// The largest value of all lines, zero if there is none.
pub(super) fn largest(lines: &[Line]) -> f64 {
    let tops = lines.iter().filter_map(|line| Some(line.extent()?.1));
    tops.fold(0.0, f64::max)
}

/// The middle of an interval in seconds.
pub(super) fn middle(start: Duration, end: Duration) -> f64 {
    f64::midpoint(start.as_secs_f64(), end.as_secs_f64())
}

/// At most [`MAX_LINES`] of the trials that pass, spread evenly over the intended load, ends
/// included; on a load curve from half the load that is still received in full. And how many passed.
pub(super) fn chosen(run: &Run, draws: impl Fn(&Trial) -> bool) -> (Vec<&Trial>, usize) {
    let mut all: Vec<&Trial> = run.trials.iter().filter(|t| t.valid && draws(t)).collect();
    let total = all.len();
    if total <= MAX_LINES {
        return (all, total);
    }
    all.sort_by_key(|trial| (trial.direction, trial.intended_load, trial.index));
    let from = interesting(run);
    let near: Vec<&Trial> = all
        .iter()
        .copied()
        .filter(|t| t.intended_load.is_some_and(|load| load.as_f64() >= from))
        .collect();
    let pool = if near.len() < MAX_LINES { all } else { near };
    let picks = (0..MAX_LINES).map(|n| pool[n * (pool.len() - 1) / (MAX_LINES - 1)]);
    (picks.collect(), total)
}

/// The load from which a curve is interesting, in bit/s.
fn interesting(run: &Run) -> f64 {
    let curves = load_curves(run);
    let full = curves
        .iter()
        .filter_map(|curve| Some(curve.follows_up_to()?.intended));
    full.min_by(f64::total_cmp).unwrap_or(0.0) / 2.0
}

/// How many are drawn, when some were left out.
pub(super) fn left_out(drawn: usize, total: usize) -> String {
    if drawn == total {
        return String::new();
    }
    format!(
        " {drawn} of {total} trials are drawn, spread over the loads around and above saturation."
    )
}

/// What tells a trial from the others of its run, in few words.
pub(crate) fn trial_name(run: &Run, trial: &Trial) -> String {
    let same = |other: &&Trial| {
        other.label == trial.label
            && other.intended_load == trial.intended_load
            && other.direction == trial.direction
    };
    let base = match (&trial.label, trial.intended_load) {
        (Some(label), _) => label.clone(),
        (None, Some(load)) => rate(load),
        (None, None) => crate::words::direction(trial.direction).to_owned(),
    };
    let way = run.trials.iter().any(|t| t.direction != trial.direction);
    let way = if way && (trial.label.is_some() || trial.intended_load.is_some()) {
        format!(", {}", crate::words::direction(trial.direction))
    } else {
        String::new()
    };
    if run.trials.iter().filter(same).count() > 1 {
        return format!("{base}{way}, trial {}", trial.index);
    }
    format!("{base}{way}")
}
