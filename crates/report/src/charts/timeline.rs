//! What charts over time share: which trials to draw, how lines become a chart.

use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::curve::load_curves;
use crate::figures::Unit;
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
    /// Seconds from the trial's start, and the value in the base unit.
    pub(super) points: Vec<(f64, f64)>,
}

impl Line {
    /// The smallest and the largest value; `None` without any.
    pub(super) fn extent(&self) -> Option<(f64, f64)> {
        extent(&self.points)
    }

    /// What is drawn of the points if each picture element has `step` of them: the extremes of each, in
    /// their order, with the words for both.
    fn thinned(&self, step: usize, unit: Unit) -> Vec<(f64, f64, String)> {
        let elements = self.points.chunks(step).flat_map(|element| {
            let spread = Spread::new(element);
            let words = spread.words(unit);
            let [mut first, mut last] = [spread.low, spread.high];
            if last.0 < first.0 {
                std::mem::swap(&mut first, &mut last);
            }
            [first, last].map(|(at, value)| (at, value, words.clone()))
        });
        elements.collect()
    }
}

/// A line for each trial, with the points that `points` finds in it.
pub(super) fn lines(
    run: &Run,
    trials: &[&Trial],
    points: impl Fn(&Trial) -> Vec<(f64, f64)>,
) -> Vec<Line> {
    let line = |trial: &&Trial| Line {
        name: trial_name(run, trial),
        points: points(trial),
    };
    trials.iter().map(line).collect()
}

/// The smallest and the largest value of some points; `None` without any.
fn extent(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let values = || points.iter().map(|point| point.1);
    Some((
        values().min_by(f64::total_cmp)?,
        values().max_by(f64::total_cmp)?,
    ))
}

/// The readings that share one picture element.
struct Spread {
    /// The first time.
    at: f64,
    /// Time and value of the smallest.
    low: (f64, f64),
    /// Time and value of the largest.
    high: (f64, f64),
    mean: f64,
    readings: usize,
}

impl Spread {
    /// Of at least one point.
    fn new(points: &[(f64, f64)]) -> Self {
        let first = points.first().copied().unwrap_or_default();
        let mut spread = Self {
            at: first.0,
            low: first,
            high: first,
            mean: 0.0,
            readings: points.len(),
        };
        let mut sum = 0.0;
        for &(at, value) in points {
            if value < spread.low.1 {
                spread.low = (at, value);
            }
            if value > spread.high.1 {
                spread.high = (at, value);
            }
            sum += value;
        }
        spread.mean = sum / float_of(points.len());
        spread
    }

    fn words(&self, unit: Unit) -> String {
        format!(
            "{} to {}, mean {}, {} readings",
            unit.number(self.low.1),
            unit.show(self.high.1),
            unit.show(self.mean),
            self.readings
        )
    }
}

fn float_of(count: usize) -> f64 {
    u64::try_from(count).map_or(f64::NAN, crate::figures::float)
}

/// What a chart over time says beside its lines.
pub(super) struct About {
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) caption: String,
    /// The quantity with layer and side.
    pub(super) quantity: &'static str,
    pub(super) unit: Unit,
}

/// A chart of lines over time with its table. Of lines with more readings than the picture has elements,
/// each element shows the smallest and the largest, and tells the mean.
pub(super) fn chart(about: About, lines: &[Line]) -> Chart {
    let longest = lines.iter().map(|line| line.points.len()).max();
    let step = longest.unwrap_or(0).div_ceil(MAX_POINTS).max(1);
    let unit = about.unit;
    let point =
        |(at, value, words): (f64, f64, String)| Some(Point::new(at, unit.of(value))?.note(words));
    let series = lines.iter().enumerate().map(|(index, line)| {
        let each = |&(at, value): &(f64, f64)| (at, value, unit.show(value));
        let drawn = if step == 1 {
            line.points.iter().map(each).collect()
        } else {
            line.thinned(step, unit)
        };
        let shape = if drawn.len() > 100 {
            Shape::Plain
        } else {
            Shape::Line
        };
        Series::new(
            &line.name,
            rank(index),
            shape,
            drawn.into_iter().filter_map(point),
        )
    });
    let (table, thinned) = if step == 1 {
        (table(&about, lines), String::new())
    } else {
        let said = format!(
            " Of every {step} readings the smallest and the largest are drawn; the table has their mean too."
        );
        (spread_table(&about, lines, step), said)
    };
    Chart {
        id: about.id.to_owned(),
        title: about.title,
        caption: about.caption + &thinned,
        x: Axis::new("Time since the trial began", "s", Scale::Linear),
        y: Axis::new(about.quantity, unit.symbol(), Scale::Linear),
        series: series.collect(),
        table,
        ..Chart::default()
    }
}

/// One row for each point; the line is named where there are several.
fn table(about: &About, lines: &[Line]) -> Table {
    let figures = [format!("{} ({})", about.quantity, about.unit.symbol())];
    let rows = |line: &Line| {
        line.points
            .iter()
            .map(|&(at, value)| (at, [value]))
            .collect()
    };
    rows_of(about, lines, figures, rows)
}

/// One row for each `step` points: the smallest, the mean and the largest.
fn spread_table(about: &About, lines: &[Line], step: usize) -> Table {
    let heading = |what| format!("{}, {what} ({})", about.quantity, about.unit.symbol());
    let figures = ["smallest", "mean", "largest"].map(heading);
    let rows = |line: &Line| {
        let spreads = line.points.chunks(step).map(Spread::new);
        spreads
            .map(|s| (s.at, [s.low.1, s.mean, s.high.1]))
            .collect()
    };
    rows_of(about, lines, figures, rows)
}

fn rows_of<const N: usize>(
    about: &About,
    lines: &[Line],
    figures: [String; N],
    rows: impl Fn(&Line) -> Vec<(f64, [f64; N])>,
) -> Table {
    let several = lines.len() > 1;
    let name = several.then(|| "Line".to_owned());
    let time = "Time (s)".to_owned();
    let mut table = Table::new(name.into_iter().chain([time]).chain(figures));
    for line in lines {
        for (at, values) in rows(line) {
            let name = several.then(|| Cell::text(&line.name));
            let time = Cell::number(Some(at), Unit::SECONDS);
            let values = values.map(|value| Cell::number(Some(value), about.unit));
            table.push(name.into_iter().chain([time]).chain(values).collect());
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
        (None, Some(load)) => super::rate_in(run, load),
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

/// What a sentence on one of `several` trials begins with; empty where it is the only one.
pub(crate) fn which(run: &Run, trial: &Trial, several: usize) -> String {
    match several {
        1 => String::new(),
        _ => format!("{}: ", trial_name(run, trial)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_lines_keep_their_extremes_in_order_and_the_table_the_mean() {
        // One dip and one peak among 80 000 equal readings.
        let mut points: Vec<_> = (0..80_000u32).map(|n| (f64::from(n), 5e6)).collect();
        points[12_345].1 = 1e6;
        points[12_399].1 = 9e6;
        let line = Line {
            name: "a".to_owned(),
            points,
        };
        let about = About {
            id: "x",
            title: String::new(),
            caption: "Rates.".to_owned(),
            quantity: "Rate",
            unit: Unit::for_rate(9e6),
        };
        let chart = chart(about, &[line]);
        assert!(chart.caption.contains("Of every 134 readings"));
        let drawn = &chart.series[0].points;
        assert!(drawn.len() <= 2 * MAX_POINTS, "{}", drawn.len());
        let shown = serde_json::to_value(drawn).unwrap();
        let shown = shown.as_array().unwrap();
        let at = |x: f64| shown.iter().position(|point| point[0] == x);
        let (dip, peak) = (at(12_345.0).unwrap(), at(12_399.0).unwrap());
        assert_eq!(peak, dip + 1);
        assert_eq!(
            (&shown[dip][1], &shown[peak][1]),
            (&1.0.into(), &9.0.into())
        );
        assert_eq!(shown[dip][2], "1 to 9 Mbit/s, mean 5 Mbit/s, 134 readings");
        assert_eq!(chart.table.rows.len(), 80_000usize.div_ceil(134));
        assert_eq!(chart.table.columns.len(), 4);
    }
}
