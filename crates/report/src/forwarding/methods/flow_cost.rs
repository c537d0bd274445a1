//! Cost of a frame by the number of flows.

use super::super::{Row, number};
use super::{Found, found};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::document::Sheet;
use crate::figures::{Unit, nanos, significant};
use crate::table::{Cell, Table, column, words};
use linerate_model::run::{FlowCache, FlowCost, FlowPoint};

type Line<'a> = super::Line<'a, FlowPoint>;

fn lines<'a>(curves: &'a [Found<'a, FlowCost>]) -> Vec<Line<'a>> {
    super::lines(curves, |curve| &curve.points)
}

pub(super) fn sheet(rows: &[Row<'_>], unit: Unit) -> Option<Sheet> {
    let curves = found!(rows, FlowCost);
    let lines = lines(&curves);
    let columns = vec![
        words("frame", |line: &Line<'_>| line.name.to_owned()),
        column("flows", |line: &Line<'_>| {
            Cell::count(Some(line.point.flows.into()))
        }),
        words(
            format!("received, {}", unit.symbol()),
            move |line: &Line<'_>| number(line.point.received, unit),
        ),
        words("time of a frame", |line: &Line<'_>| {
            nanos(line.point.frame_ns())
        }),
        column("turns", |line: &Line<'_>| {
            Cell::count(Some(line.point.turns.into()))
        }),
    ];
    let title = "Cost of a frame by flows, at the highest load (median over turns)";
    (!lines.is_empty()).then(|| Sheet::new(title, &lines, columns))
}

pub(super) fn chart(rows: &[Row<'_>]) -> Option<Chart> {
    let curves = found!(rows, FlowCost);
    let series = curves.iter().enumerate().map(|(at, curve)| {
        let points = curve
            .result
            .points
            .iter()
            .filter_map(|point| Point::new(f64::from(point.flows), point.frame_ns()));
        Series::new(curve.name.clone(), rank(at), Shape::Line, points)
    });
    let mut table = Table::new(["Frame", "Flows", "Time of a frame (ns)"]);
    for line in lines(&curves) {
        table.push(vec![
            Cell::text(line.name),
            Cell::count(Some(line.point.flows.into())),
            Cell::number(Some(line.point.frame_ns()), Unit::NANOS),
        ]);
    }
    (!curves.is_empty()).then(|| Chart {
        id: "forwarding-flow-cost".to_owned(),
        title: "Cost of a frame by flows".to_owned(),
        caption: outcome(rows).map_or_else(String::new, |said| crate::charts::capital(&said) + "."),
        x: Axis::new("Flows", "", Scale::Log),
        y: Axis::new("Time of a frame", "ns", Scale::Linear),
        series: series.collect(),
        table,
        ..Chart::default()
    })
}

pub(super) fn outcome(rows: &[Row<'_>]) -> Option<String> {
    let curves = found!(rows, FlowCost);
    let Found { result, .. } = curves.first()?;
    let cost = |point: &FlowPoint| nanos(point.frame_ns());
    let ends = result.points.first().zip(result.points.last());
    Some(match (&result.cache, ends) {
        (Some(cache), _) => cached(cache),
        (None, Some((few, many))) => format!(
            "a frame takes {} of {} flows and {} of {}: no cache of flows shows",
            cost(few),
            few.flows,
            cost(many),
            many.flows
        ),
        (None, None) => return None,
    })
}

/// `a cache of 1010 flows [931, 1099] (direct-mapped): a frame takes 210 ns, 1.24 µs where its flow is not in it`.
fn cached(cache: &FlowCache) -> String {
    let entries = |number: f64| significant(number, 3);
    let interval = cache.entries.interval.map_or_else(String::new, |interval| {
        format!(" [{}, {}]", entries(interval.low), entries(interval.high))
    });
    format!(
        "a cache of {} flows{interval} ({}): a frame takes {}, {} where its flow is not in it",
        entries(cache.entries.point),
        cache.replacement.as_str(),
        nanos(cache.hit_ns),
        nanos(cache.miss_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::CacheReplacement;
    use linerate_model::{Estimate, Interval};

    #[test]
    fn a_cache_is_told_with_its_interval_and_both_costs() {
        let cache = FlowCache {
            entries: Estimate {
                point: 1010.4,
                interval: Some(Interval::new(931.0, 1099.0)),
                confidence_ratio: 0.95,
                n: 12,
            },
            hit_ns: 210.0,
            miss_ns: 1240.0,
            replacement: CacheReplacement::DirectMapped,
        };
        assert_eq!(
            cached(&cache),
            "a cache of 1010 flows [931, 1099] (direct-mapped): a frame takes 210 ns, 1.24 µs where its flow is not in it"
        );
    }
}
