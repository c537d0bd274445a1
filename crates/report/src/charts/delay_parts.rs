//! Where the time of a round trip goes, part by part.

use super::{ChartKind, Drawn, Topic, trial_name};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::figures::{Unit, float, nanos};
use crate::table::{self, Cell, Table, column};
use crate::words;
use linerate_model::one_way::{Decomposition, Stage, StagePart};
use linerate_model::run::{Delay, Run, Trial};

/// Trials that fit beside each other.
const MAX_BARS: usize = 12;

pub(super) const KIND: ChartKind = ChartKind {
    id: "delay-parts",
    summary: "Where the time of a round trip goes: applications, stacks, queues, wire and wake-up.",
    topic: Topic::Delay,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    let asked = run.trials.iter().filter(|t| t.decomposition().is_some());
    if asked.clone().count() == 0 {
        return Drawn::NotApplicable;
    }
    let bars: Vec<_> = asked
        .filter_map(|trial| Some((trial, trial.decomposition()?)))
        .filter(|(_, parts)| !parts.parts.is_empty())
        .take(MAX_BARS)
        .collect();
    let chart = (!bars.is_empty()).then(|| chart(run, &bars));
    Drawn::or_missing(
        chart.into_iter().collect(),
        "the parts of a round trip need the kernel's stamps of both ends",
    )
}

type Bars<'a> = [(&'a Trial, &'a Decomposition)];

fn mean(parts: &Decomposition, stage: Stage) -> Option<f64> {
    let part = parts.parts.iter().find(|part| part.stage == stage)?;
    part.delay.mean_ns
}

fn chart(run: &Run, bars: &Bars<'_>) -> Chart {
    let total = |parts: &Decomposition| -> f64 {
        let means = parts.parts.iter().filter_map(|part| part.delay.mean_ns);
        means.sum()
    };
    let largest = bars
        .iter()
        .map(|(_, parts)| total(parts))
        .fold(1.0, f64::max);
    let unit = Unit::for_nanos(largest);
    let points = |stage: Stage| {
        let values = bars.iter().zip(0_u64..);
        let values = values.filter_map(move |((_, parts), index)| {
            let mean = mean(parts, stage)?;
            Some(Point::new(float(index), unit.of(mean))?.note(nanos(mean)))
        });
        values.collect::<Vec<_>>()
    };
    let series = Stage::ALL
        .into_iter()
        .map(|stage| Series::new(words::stage(stage), role(stage), Shape::Bar, points(stage)));
    let names = bars
        .iter()
        .map(|(trial, _)| trial_name(run, trial))
        .collect();
    Chart {
        id: "delay-parts".to_owned(),
        title: "Where the time of a round trip goes".to_owned(),
        caption: finding(bars[0].1),
        x: Axis::categories("Trial", "", names),
        y: Axis::new("Mean of each part", unit.symbol(), Scale::Linear),
        series: series.filter(|series| !series.points.is_empty()).collect(),
        table: table(run, bars),
        ..Chart::default()
    }
}

/// Colours for eight parts, and a neutral one for what is in neither host.
fn role(stage: Stage) -> Role {
    let mut in_hosts = Stage::ALL.into_iter().filter(|stage| *stage != Stage::Wire);
    let place = in_hosts.position(|other| other == stage);
    place.map_or(Role::Wire, rank)
}

/// The largest part in a sentence, and what it cost to know.
pub(crate) fn finding(parts: &Decomposition) -> String {
    let known = parts
        .parts
        .iter()
        .filter_map(|part| Some((part.stage, part.delay.mean_ns?)));
    let sum: f64 = known.clone().map(|(_, mean)| mean).sum();
    let Some((stage, mean)) = known.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        let why = parts
            .missing
            .as_deref()
            .unwrap_or("no message has all stamps");
        return format!("No part is known: {why}.");
    };
    let share = if sum > 0.0 { mean / sum } else { 0.0 };
    let largest = format!(
        "The largest part is the {}: {} of {} ({} %).",
        words::stage(stage),
        nanos(mean),
        nanos(sum),
        Unit::PERCENT.number(share)
    );
    let cost = parts.cost_ns.map(|cost| {
        let sign = if cost < 0 { "−" } else { "" };
        let cost = nanos(float(cost.unsigned_abs()));
        format!("Taking stamps costs {sign}{cost} of the median round trip, which the parts hold.")
    });
    let missing = parts.missing.as_ref();
    let missing = missing.map(|missing| format!("Not known: {missing}."));
    let said: Vec<_> = [Some(largest), cost, missing]
        .into_iter()
        .flatten()
        .collect();
    said.join(" ")
}

fn table(run: &Run, bars: &Bars<'_>) -> Table {
    let rows = bars.iter().flat_map(|(trial, parts)| {
        let parts = parts.parts.iter();
        parts.map(move |part| (trial_name(run, trial), part))
    });
    let rows: Vec<(String, &StagePart)> = rows.collect();
    let time = |head: &str, get: fn(&Delay) -> Option<u64>| {
        column(head, move |(_, part): &(String, &StagePart)| {
            Cell::time(get(&part.delay), Unit::NANOS)
        })
    };
    let columns = [
        table::words("Trial", |(name, _): &(String, &StagePart)| name.clone()),
        table::words("Part", |(_, part): &(String, &StagePart)| {
            words::stage(part.stage)
        }),
        column("Mean (ns)", |(_, part): &(String, &StagePart)| {
            Cell::number(part.delay.mean_ns, Unit::NANOS)
        }),
        time("p50 (ns)", |delay| delay.p50_ns),
        time("p99 (ns)", |delay| delay.p99_ns),
        time("Largest (ns)", |delay| delay.max_ns),
        column("Messages", |(_, part): &(String, &StagePart)| {
            Cell::count(part.delay.count)
        }),
    ];
    Table::from_rows(&rows, columns)
}
