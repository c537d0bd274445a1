//! Response time of requests against their rate, with the knee.

use super::load_delay::{QUANTILES, quantile_columns};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Band, Chart, Point, Scale, Series, Shape, rank};
use crate::figures::per_second;
use crate::figures::{Unit, float, nanos};
use crate::loops::knee_text;
use crate::table::{Cell, Table, column};
use linerate_model::run::{Delay, Knee, Requests, Run, RunKind, Trial};
use linerate_model::{PacketCount, PacketRate};
use std::collections::BTreeMap;

/// Fewer loads are single tests, not a curve.
const MIN_LOADS: usize = 3;

pub(super) const KIND: ChartKind = ChartKind {
    id: "request-load",
    summary: "Response time of requests against their rate, and where it leaves its level at low load.",
    topic: Topic::Delay,
    answers: true,
    draw,
};

fn draw(run: &Run) -> Drawn {
    let curves = curves(run);
    if curves.is_empty() {
        return Drawn::NotApplicable;
    }
    let knee = run.curve().and_then(|facts| facts.knee);
    let several = curves.len() > 1;
    let charts = curves.iter().enumerate().filter_map(|(index, curve)| {
        // The run has one knee: that of its first curve.
        chart(curve, index, knee.filter(|_| index == 0), several)
    });
    Drawn::or_missing(charts.collect(), "delay of any load")
}

/// A trial at one rate.
struct Loaded<'a> {
    rate: f64,
    trial: &'a Trial,
    requests: &'a Requests,
    delay: &'a Delay,
}

/// Trials that differ in their rate only, in rising order.
struct Curve<'a> {
    name: String,
    points: Vec<Loaded<'a>>,
}

/// Whether `run` has a curve.
pub(super) fn applies(run: &Run) -> bool {
    !curves(run).is_empty()
}

fn curves(run: &Run) -> Vec<Curve<'_>> {
    if run.kind() != RunKind::Latency {
        return Vec::new();
    }
    let mut groups: BTreeMap<(u32, String), Vec<Loaded<'_>>> = BTreeMap::new();
    let mut first: BTreeMap<String, u32> = BTreeMap::new();
    for trial in run.trials.iter().filter(|trial| trial.valid) {
        let point = trial.requests().zip(trial.delay());
        let Some((requests, delay)) = point else {
            continue;
        };
        let Some(rate) = requests.intended_rate else {
            continue;
        };
        let name = condition(trial);
        let place = *first.entry(name.clone()).or_insert(trial.index);
        groups.entry((place, name)).or_default().push(Loaded {
            rate: rate.pps(),
            trial,
            requests,
            delay,
        });
    }
    let curves = groups.into_iter().map(|((_, name), mut points)| {
        points.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        Curve { name, points }
    });
    curves
        .filter(|curve| curve.points.len() >= MIN_LOADS)
        .collect()
}

/// The trial's label without its rate.
fn condition(trial: &Trial) -> String {
    let label = trial.label.as_deref().unwrap_or_default();
    let parts = label.split(", ").filter(|part| !part.contains("/s"));
    parts.collect::<Vec<_>>().join(", ")
}

fn chart(curve: &Curve<'_>, index: usize, knee: Option<Knee>, several: bool) -> Option<Chart> {
    let medians = curve.points.iter().filter_map(|point| point.delay.p50_ns);
    let unit = Unit::for_nanos(float(medians.max()?.max(1)));
    let series = QUANTILES
        .iter()
        .skip(1)
        .enumerate()
        .map(|(place, (name, get))| {
            let points = curve.points.iter().filter_map(|point| {
                let value = float(get(point.delay)?);
                Some(Point::new(point.rate, unit.of(value))?.note(nanos(value)))
            });
            Series::new(*name, rank(place), Shape::Line, points)
        });
    let suffix = if several {
        format!(": {}", curve.name)
    } else {
        String::new()
    };
    Some(Chart {
        id: format!("request-load-{index}"),
        title: format!("Response time against load{suffix}"),
        caption: caption(curve, knee),
        x: Axis::new("Intended requests", "requests/s", Scale::Log).switchable(),
        y: Axis::new(
            "Response time, from when each request was meant to be sent",
            unit.symbol(),
            Scale::Log,
        )
        .switchable(),
        series: series.filter(|series| !series.points.is_empty()).collect(),
        bands: knee.and_then(band).into_iter().collect(),
        table: table(curve, unit),
        ..Chart::default()
    })
}

fn band(knee: Knee) -> Option<Band> {
    let (below, above) = (knee.below?, knee.above?);
    Some(Band {
        name: format!("knee, {} to {}", per_second(below), per_second(above)),
        from: Some(below.pps()),
        to: Some(above.pps()),
    })
}

fn caption(curve: &Curve<'_>, knee: Option<Knee>) -> String {
    let unanswered = curve
        .points
        .iter()
        .any(|point| point.delay.unanswered.is_some());
    let ends = if unanswered {
        " A quantile that falls among requests without an answer in time has no point."
    } else {
        ""
    };
    match knee {
        Some(knee) => format!("Knee {}.{ends}", knee_text(&knee)),
        None => format!("No knee was looked for.{ends}"),
    }
}

fn table(curve: &Curve<'_>, unit: Unit) -> Table {
    let symbol = unit.symbol();
    let rate = |head: &str, get: fn(&Trial) -> Option<PacketRate>| {
        column(head, move |point: &Loaded<'_>| {
            Cell::number(get(point.trial).map(PacketRate::pps), Unit::PLAIN)
        })
    };
    let count = |head: &str, get: fn(&Requests) -> PacketCount| {
        column(head, move |point: &Loaded<'_>| {
            Cell::count(Some(get(point.requests).get()))
        })
    };
    let p99 = |head: &str, get: fn(&Trial) -> Option<&Delay>| {
        column(
            format!("{head} p99 ({symbol})"),
            move |point: &Loaded<'_>| {
                Cell::time(get(point.trial).and_then(|delay| delay.p99_ns), unit)
            },
        )
    };
    let mut columns = vec![
        column("Intended (requests/s)", |point: &Loaded<'_>| {
            Cell::number(Some(point.rate), Unit::PLAIN)
        }),
        rate("Offered (requests/s)", Trial::offered_packet_rate),
        rate("Answered (requests/s)", Trial::received_packet_rate),
        count("Unanswered", |requests| requests.unanswered),
        count("Not sent", |requests| requests.unsent),
    ];
    columns.extend(quantile_columns(unit, |point: &Loaded<'_>| point.delay));
    columns.push(p99("service time", Trial::service));
    columns.push(p99("sender late", Trial::lateness));
    Table::from_columns(&curve.points, columns)
}
