//! A study's curves: one small chart for each combination of the other factors, all with the same axes.

use super::{Levels, Measure, Observation, StudyView, mean};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::curve::LoadCurve;
use crate::figures::{Unit, float};
use crate::table::{Cell, Table};
use linerate_model::Quantity;
use linerate_model::run::Trial;
use linerate_model::spec::Direction;
use std::collections::BTreeMap;

/// The charts, and how many more there would be.
pub(crate) struct Multiples {
    pub(crate) charts: Vec<Chart>,
    pub(crate) left_out: usize,
}

impl Multiples {
    pub(super) const fn none() -> Self {
        Self {
            charts: Vec::new(),
            left_out: 0,
        }
    }

    /// A chart for each of the first facets.
    pub(super) fn of<F>(
        facets: &BTreeMap<Levels, F>,
        chart: impl Fn(usize, &Levels, &F) -> Chart,
    ) -> Self {
        let shown = facets.iter().take(MAX_CHARTS).enumerate();
        Self {
            charts: shown
                .map(|(place, (key, facet))| chart(place, key, facet))
                .collect(),
            left_out: facets.len().saturating_sub(MAX_CHARTS),
        }
    }
}

/// What tables have of some runs: their mean and its interval.
pub(super) fn mean_cells(runs: &[&Observation<'_>], unit: Unit) -> [Cell; 2] {
    let value = mean(runs);
    let interval = value.and_then(|value| value.estimate.interval);
    [
        Cell::number(value.map(|value| value.point()), unit),
        Cell::text(interval.map_or_else(
            || "none: it takes two runs".to_owned(),
            |interval| crate::figures::range(interval, unit),
        )),
    ]
}

/// More small charts than this are not compared; the matrix has all.
const MAX_CHARTS: usize = 8;

/// Most dots of single runs in one chart: more cannot be told apart, and make the page heavy.
pub(super) const MAX_DOTS: usize = 500;

/// Points of the ideal line on a logarithmic axis, less one.
const STEPS: u64 = 40;

/// Levels that span more than this are drawn in equal ratios.
pub(super) const WIDE: f64 = 20.0;

/// Of a facet, the runs at each level of the axis.
type Facet<'v, 'a> = BTreeMap<usize, Vec<&'v Observation<'a>>>;

/// What all charts of a study share.
struct Frame<'v> {
    view: &'v StudyView<'v>,
    axis: usize,
    x: Unit,
    y: Unit,
    most: (f64, f64),
    least: f64,
}

/// Charts over the factor that makes an axis; none where no factor does.
pub(crate) fn multiples(view: &StudyView<'_>) -> Multiples {
    let Some(axis) = view.axis() else {
        return Multiples::none();
    };
    let mut facets: BTreeMap<Levels, Facet<'_, '_>> = BTreeMap::new();
    for one in &view.observations {
        let mut key = one.levels.clone();
        let level = std::mem::take(&mut key[axis]);
        facets
            .entry(key)
            .or_default()
            .entry(level)
            .or_default()
            .push(one);
    }
    let frame = Frame::new(view, axis);
    Multiples::of(&facets, |place, key, facet| frame.chart(place, key, facet))
}

impl<'v> Frame<'v> {
    fn new(view: &'v StudyView<'v>, axis: usize) -> Self {
        let levels = view.factors[axis]
            .levels
            .iter()
            .filter_map(|level| level.number);
        let ends = levels.fold((f64::INFINITY, 0.0_f64), |(least, most), at| {
            (least.min(at), most.max(at))
        });
        let highest = view.largest();
        let load = view.factors[axis].is_load();
        let y = view.measure.unit(highest);
        Self {
            view,
            axis,
            x: if load { y } else { Unit::PLAIN },
            y,
            most: (ends.1, highest),
            least: ends.0,
        }
    }

    fn is_load(&self) -> bool {
        self.view.factors[self.axis].is_load() && self.view.measure == Measure::Rate
    }

    fn place(&self, level: usize) -> Option<f64> {
        Some(
            self.x
                .of(self.view.factors[self.axis].levels.get(level)?.number?),
        )
    }

    fn scale(&self) -> Scale {
        let wide = self.least > 0.0 && self.most.0 > WIDE * self.least;
        if wide { Scale::Log } else { Scale::Linear }
    }

    fn axes(&self) -> (Axis, Axis) {
        let factor = &self.view.factors[self.axis];
        let scale = self.scale();
        let (least, most) = (self.x.of(self.least), self.x.of(self.most.0));
        let x = if self.is_load() {
            Axis::new("Intended load, L4 payload", self.x.symbol(), scale)
        } else {
            Axis::new(crate::charts::capital(&factor.name), "", scale)
        };
        let x = match (self.is_load(), scale) {
            (true, Scale::Log) => x,
            (false, Scale::Log) => x.within(least, most),
            _ => x.within(0.0, rounded(most)),
        };
        let y = Axis::new(
            crate::charts::capital(self.view.measure.name()),
            self.y.symbol(),
            Scale::Linear,
        );
        // Where the diagonal is drawn, it may leave the picture at the top.
        (x, y.within(0.0, rounded(self.y.of(self.most.1) * 1.1)))
    }

    fn chart(&self, place: usize, key: &Levels, facet: &Facet<'_, '_>) -> Chart {
        let (x, y) = self.axes();
        let name = self.view.words(key, |at| at != self.axis);
        let title = if name.is_empty() {
            "All runs".to_owned()
        } else {
            crate::charts::capital(&name)
        };
        Chart {
            id: format!("study-{place}"),
            title,
            caption: self.caption(facet),
            x,
            y,
            series: self.series(facet),
            table: self.table(facet),
            ..Chart::default()
        }
    }

    fn series(&self, facet: &Facet<'_, '_>) -> Vec<Series> {
        let means: Vec<_> = facet
            .iter()
            .filter_map(|(level, runs)| Some((self.place(*level)?, mean(runs)?)))
            .collect();
        let at = |x: f64, value: f64| Point::new(x, self.y.of(value));
        let ends = means
            .iter()
            .filter_map(|(x, value)| Some((*x, value.estimate.interval?)));
        let strokes = ends.flat_map(|(x, interval)| [at(x, interval.low), at(x, interval.high)]);
        let all = vec![
            Series::new(
                "Ideal: received = intended",
                Role::Ideal,
                Shape::Plain,
                self.diagonal(),
            ),
            Series::new(
                "Offered, sender",
                Role::Offered,
                Shape::Line,
                self.offered(facet),
            ),
            Series::new("95 % interval", rank(4), Shape::Interval, strokes.flatten()),
            Series::new(
                "Single runs",
                Role::Received,
                Shape::Single,
                self.dots(facet),
            ),
            Series::new(
                "Mean of the runs",
                Role::Received,
                Shape::Line,
                means
                    .iter()
                    .filter_map(|(x, value)| Some(at(*x, value.point())?.note(value.show(self.y)))),
            ),
        ];
        all.into_iter()
            .filter(|one| !one.points.is_empty())
            .collect()
    }

    /// The ideal, as far as the picture goes; on a logarithmic axis a straight line is a curve, drawn by its points.
    fn diagonal(&self) -> Vec<Point> {
        if !self.is_load() {
            return Vec::new();
        }
        let end = self.most.0.min(self.most.1 * 1.1);
        let ratio = end / self.least.max(1.0);
        let loads: Vec<f64> = match self.scale() {
            Scale::Log => (0..=STEPS)
                .map(|step| self.least * ratio.powf(float(step) / float(STEPS)))
                .collect(),
            _ => vec![0.0, end],
        };
        let points = loads
            .into_iter()
            .map(|load| Point::new(self.x.of(load), self.y.of(load)));
        points.flatten().collect()
    }

    /// What the senders offered, where that is another number than what was intended.
    fn offered(&self, facet: &Facet<'_, '_>) -> Vec<Point> {
        if !self.is_load() {
            return Vec::new();
        }
        let points = facet.iter().filter_map(|(level, runs)| {
            let loads = runs
                .iter()
                .flat_map(|one| &one.trials)
                .filter_map(|trial| crate::curve::seen(trial, Quantity::OfferedRate));
            let loads: Vec<_> = loads.collect();
            let value = crate::figures::Value::from_observations(&loads)?;
            let inside = value.point() <= self.most.1 * 1.1;
            let point = Point::new(self.place(*level)?, self.y.of(value.point()))?;
            inside.then(|| point.note(value.show(self.y)))
        });
        points.collect()
    }

    fn dots(&self, facet: &Facet<'_, '_>) -> Vec<Point> {
        let all: Vec<(f64, f64)> = facet
            .iter()
            .filter_map(|(level, runs)| Some((self.place(*level)?, runs)))
            .flat_map(|(x, runs)| runs.iter().map(move |one| (x, one.value)))
            .collect();
        let step = all.len().div_ceil(MAX_DOTS).max(1);
        let kept = all.into_iter().step_by(step);
        kept.filter_map(|(x, value)| {
            Some(Point::new(x, self.y.of(value))?.note(self.y.show(value)))
        })
        .collect()
    }

    fn caption(&self, facet: &Facet<'_, '_>) -> String {
        if self.is_load() {
            let trials = facet.values().flatten().flat_map(|one| &one.trials);
            let trials: Vec<&Trial> = trials.copied().collect();
            let direction = trials
                .first()
                .map_or(Direction::Forward, |trial| trial.direction);
            let curve = LoadCurve::from_trials(trials, direction);
            return crate::charts::saturation(&curve, self.y);
        }
        let means = facet
            .iter()
            .filter_map(|(level, runs)| Some((*level, mean(runs)?.point())));
        let means: Vec<_> = means.collect();
        let (Some(first), Some(last)) = (means.first(), means.last()) else {
            return String::new();
        };
        let factor = &self.view.factors[self.axis];
        format!(
            "{} with {}, {} with {}.",
            self.y.show(first.1),
            factor.said(first.0),
            self.y.show(last.1),
            factor.said(last.0)
        )
    }

    fn table(&self, facet: &Facet<'_, '_>) -> Table {
        let factor = &self.view.factors[self.axis];
        let measure = self.view.measure.name();
        let symbol = self.y.symbol();
        let mut table = Table::new([
            crate::charts::capital(&factor.name),
            format!("Mean, {measure} ({symbol})"),
            format!("95 % interval ({symbol})"),
            "Loss, mean (%)".to_owned(),
            "Runs (n)".to_owned(),
        ]);
        for (level, runs) in facet {
            let [middle, interval] = mean_cells(runs, self.y);
            let losses = runs
                .iter()
                .flat_map(|one| &one.trials)
                .filter_map(|trial| trial.loss_ratio());
            let losses: Vec<_> = losses.map(|loss| (loss.get(), None)).collect();
            let loss = crate::figures::Value::from_observations(&losses);
            table.push(vec![
                Cell::text(&factor.levels[*level].text),
                middle,
                interval,
                Cell::number(loss.map(|loss| loss.point()), Unit::PERCENT),
                Cell::count(Some(runs.len() as u64)),
            ]);
        }
        table
    }
}

/// A round number just above, so that charts with the same end have the same ticks.
pub(super) fn rounded(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= value * 0.999);
    step.unwrap_or(10.0) * power
}
