//! What a comparison draws: the ratio of each pair with its interval, and delay by size on both sides.

use super::by_metric;
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::charts::SizeAxis;
use crate::figures::{Unit, digits, float};
use crate::table::{Cell, Table};
use linerate_model::comparison::{Comparison, MetricComparison, Pair};
use linerate_model::quantity::DelayPart;
use linerate_model::{Estimate, Quantity};

type Rows<'a> = Vec<(&'a Pair, &'a MetricComparison)>;

/// All charts of a comparison.
pub(super) fn all(comparison: &Comparison) -> Vec<Chart> {
    let groups = by_metric(comparison);
    let sizes = groups
        .iter()
        .filter_map(|(metric, rows)| by_size(metric, rows));
    let ratios = groups
        .iter()
        .filter_map(|(metric, rows)| ratios(comparison, metric, rows));
    sizes.chain(ratios).collect()
}

/// A pair with its ratio.
type PairRatio<'a> = (&'a Pair, &'a MetricComparison, Estimate);

/// B / A of each pair, with the ends of its interval.
fn ratios(comparison: &Comparison, metric: &MetricComparison, rows: &Rows<'_>) -> Option<Chart> {
    let known: Vec<PairRatio<'_>> = rows
        .iter()
        .filter_map(|(pair, metric)| Some((*pair, *metric, metric.ratio?)))
        .collect();
    if known.is_empty() {
        return None;
    }
    let names = known
        .iter()
        .map(|(pair, ..)| pair.cell.name.clone())
        .collect();
    Some(Chart {
        id: format!("ratio-{}", metric.metric.key().replace('_', "-")),
        title: format!("B / A: {}", metric.words),
        caption: ratio_caption(comparison, metric, &known),
        x: Axis::categories("Pair", "", names),
        y: Axis::new("B / A", "", ratio_scale(&known)).switchable(),
        series: ratio_series(&known),
        table: ratio_table(&known),
        ..Chart::default()
    })
}

/// Ratios that lie far apart cannot be told apart on equal steps.
fn ratio_scale(known: &[PairRatio<'_>]) -> Scale {
    const LOG_AXIS_RATIO: f64 = 5.0;
    let ratios = || known.iter().map(|(_, _, ratio)| ratio.point);
    let most = ratios().fold(1.0, f64::max);
    let least = ratios().fold(1.0, f64::min);
    if most > least * LOG_AXIS_RATIO {
        Scale::Log
    } else {
        Scale::LinearFit
    }
}

/// The line of no difference, the ratios, and the ends of their intervals.
fn ratio_series(known: &[PairRatio<'_>]) -> Vec<Series> {
    let points = |get: &dyn Fn(&Estimate) -> Option<f64>| -> Vec<Point> {
        let each = known.iter().enumerate();
        each.filter_map(|(at, (_, _, ratio))| Point::new(float(at as u64), get(ratio)?))
            .collect()
    };
    let scatter =
        |name: &str, of: usize, points| Series::new(name, rank(of), Shape::Scatter, points);
    let low = |ratio: &Estimate| ratio.interval.map(|interval| interval.low);
    let high = |ratio: &Estimate| ratio.interval.map(|interval| interval.high);
    let all = vec![
        Series::new(
            "no difference",
            Role::Ideal,
            Shape::Plain,
            points(&|_| Some(1.0)),
        ),
        scatter("B / A", 0, points(&|ratio| Some(ratio.point))),
        scatter("95 %: low end", 2, points(&low)),
        scatter("95 %: high end", 3, points(&high)),
    ];
    let drawn = all.into_iter().filter(|one| !one.points.is_empty());
    drawn.collect()
}

fn ratio_table(known: &[PairRatio<'_>]) -> Table {
    let mut table = Table::new(["Pair", "B / A", "Low (95 %)", "High (95 %)", "Verdict"]);
    for (pair, metric, ratio) in known {
        let end = |end: Option<f64>| Cell::number(end, Unit::PLAIN);
        table.push(vec![
            Cell::text(&pair.cell.name),
            end(Some(ratio.point)),
            end(ratio.interval.map(|interval| interval.low)),
            end(ratio.interval.map(|interval| interval.high)),
            Cell::text(super::verdict(metric)),
        ]);
    }
    table
}

fn ratio_caption(
    comparison: &Comparison,
    metric: &MetricComparison,
    known: &[PairRatio<'_>],
) -> String {
    let ratios = || known.iter().map(|(_, _, ratio)| ratio.point);
    let least = ratios().min_by(f64::total_cmp).unwrap_or(1.0);
    let most = ratios().max_by(f64::total_cmp).unwrap_or(1.0);
    let good = metric.better;
    let range = if known.len() == 1 {
        format!("B is {} times A", digits(least))
    } else {
        format!("B is {} to {} times A", digits(least), digits(most))
    };
    let shown = known
        .iter()
        .filter(|(_, m, _)| m.p_adjusted.is_some_and(|p| p < 0.05));
    let threshold = crate::figures::percent(comparison.threshold_ratio);
    format!(
        "{range}; {good} is better. {} of {} pairs show a difference beyond {threshold}.",
        shown.count(),
        known.len()
    )
}

/// A pair with its message size.
type Sized<'a> = (u64, &'a Pair, &'a MetricComparison);

/// A metric in nanoseconds by message size: a line for each side and mode.
fn by_size(metric: &MetricComparison, rows: &Rows<'_>) -> Option<Chart> {
    let Quantity::Delay(DelayPart::HalfRoundTrip, _) = metric.metric else {
        return None;
    };
    let placed: Vec<Sized<'_>> = rows
        .iter()
        .filter_map(|(pair, metric)| Some((pair.cell.payload_bytes?.get(), *pair, *metric)))
        .collect();
    let sizes = SizeAxis::from_sizes(placed.iter().map(|(size, ..)| *size))?;
    let typical = placed.iter().map(|(_, _, metric)| metric.a.point);
    let unit = Unit::for_quantity(metric.metric, crate::figures::middle(typical));
    Some(Chart {
        id: format!("by-size-{}", metric.metric.key().replace('_', "-")),
        title: format!("By message size: {}", metric.words),
        caption: "Each side by message size; the ratio with its interval is in the chart of B / A."
            .to_owned(),
        x: sizes.axis(),
        y: Axis::new(
            crate::charts::capital(&metric.words),
            unit.symbol(),
            Scale::Log,
        )
        .switchable(),
        series: size_series(&placed, unit, &sizes),
        table: size_table(&placed, unit),
        ..Chart::default()
    })
}

fn size_series(sized: &[Sized<'_>], unit: Unit, axis: &SizeAxis) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (size, pair, metric) in sized {
        let cell = &pair.cell;
        let mode = cell.mode.as_deref().unwrap_or("every mode");
        let transport = cell
            .transport
            .map_or_else(String::new, |t| format!("{t}, "));
        for (side, value) in [("A", &metric.a), ("B", &metric.b)] {
            let name = format!("{side}: {transport}{mode}");
            let point = Point::new(axis.place(*size), unit.of(value.point));
            let point = point.map(|point| point.note(unit.show(value.point)));
            if let Some(known) = series.iter_mut().find(|one| one.name == name) {
                known.points.extend(point);
            } else {
                let role = rank(series.len());
                series.push(Series::new(name, role, Shape::Line, point));
            }
        }
    }
    series
}

fn size_table(sized: &[Sized<'_>], unit: Unit) -> Table {
    let symbol = unit.symbol();
    let columns = [
        "Pair".to_owned(),
        format!("A ({symbol})"),
        format!("B ({symbol})"),
    ];
    let mut table = Table::new(columns.into_iter().chain(["B / A".to_owned()]));
    for (_, pair, metric) in sized {
        table.push(vec![
            Cell::text(&pair.cell.name),
            Cell::number(Some(metric.a.point), unit),
            Cell::number(Some(metric.b.point), unit),
            Cell::number(metric.ratio.map(|ratio| ratio.point), Unit::PLAIN),
        ]);
    }
    table
}
