//! Conditions of an exchange ranked by their median, each with its p99 and what it costs.

use super::load_delay::capital;
use super::timeline::trial_name;
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::figures::{Unit, digits, float, nanos};
use crate::table::{self, Cell, Table, column};
use crate::words;
use linerate_model::run::{Delay, Run, RunKind, Trial};
use linerate_model::spec::Side;

/// More rows than this cannot be read, and fewer are no ranking.
const MAX_ROWS: usize = 24;
const MIN_ROWS: usize = 2;

pub(super) const KIND: ChartKind = ChartKind {
    id: "mode-rank",
    summary: "Conditions ranked by their median delay, each with its p99 and its CPU cost.",
    topic: Topic::Delay,
    answers: true,
    draw,
};

fn draw(run: &Run) -> Drawn {
    let timed = timed(run);
    let is_fit = (MIN_ROWS..=MAX_ROWS).contains(&timed.len());
    let elsewhere = super::size_delay::applies(run) || super::request_load::applies(run);
    if run.kind() != RunKind::Latency || elsewhere || !is_fit {
        return Drawn::NotApplicable;
    }
    Drawn::Charts(vec![chart(run, &timed, &uncounted(run, timed.len()))])
}

/// Trials that do not count: below the ranking, if there is room for all.
fn uncounted(run: &Run, ranked: usize) -> Vec<&Trial> {
    let bad: Vec<_> = run.trials.iter().filter(|trial| !trial.valid).collect();
    if ranked + bad.len() <= MAX_ROWS {
        bad
    } else {
        Vec::new()
    }
}

/// A valid trial with its median.
struct ModeDelay<'a> {
    trial: &'a Trial,
    delay: &'a Delay,
    median: f64,
}

/// The slowest first: the last stands on top.
fn timed(run: &Run) -> Vec<ModeDelay<'_>> {
    let valid = run.trials.iter().filter(|trial| trial.valid);
    let mut timed: Vec<_> = valid
        .filter_map(|trial| {
            let delay = trial.delay()?;
            Some(ModeDelay {
                trial,
                delay,
                median: float(delay.p50_ns?),
            })
        })
        .collect();
    timed.sort_by(|a, b| b.median.total_cmp(&a.median));
    timed
}

fn chart(run: &Run, timed: &[ModeDelay<'_>], uncounted: &[&Trial]) -> Chart {
    let unit = Unit::for_nanos(crate::figures::middle(timed.iter().map(|one| one.median)));
    let ranked = timed.iter().map(|one| row_name(run, one.trial));
    let bad = uncounted.iter();
    let names = bad
        .map(|trial| format!("{} · invalid", trial_name(run, trial)))
        .chain(ranked);
    let series = series(timed, uncounted, unit);
    let of = timed.first().map_or("delay", |one| one.delay.of.as_str());
    Chart {
        id: "mode-rank".to_owned(),
        title: format!("{}, fastest first", capital(of)),
        caption: caption(run, timed),
        x: Axis::new(capital(of), unit.symbol(), scale(timed)).switchable(),
        y: Axis::categories(
            "Condition, CPU time of both ends per message",
            "",
            names.collect(),
        ),
        series: series
            .into_iter()
            .filter(|one| !one.points.is_empty())
            .collect(),
        table: table(run, timed, uncounted, unit),
        ..Chart::default()
    }
}

fn series(timed: &[ModeDelay<'_>], uncounted: &[&Trial], unit: Unit) -> Vec<Series> {
    let at = |index: usize, value: f64| {
        let place = Point::new(unit.of(value), float(index as u64));
        place.map(|point| point.note(nanos(value)))
    };
    let rows = || (uncounted.len()..).zip(timed);
    let tails =
        rows().filter_map(|(index, one)| Some((index, one.median, float(one.delay.p99_ns?))));
    let tails: Vec<_> = tails.collect();
    let strokes = tails
        .iter()
        .flat_map(|(index, from, to)| [at(*index, *from), at(*index, *to)]);
    vec![
        Series::new(
            "from p50 to p99",
            rank(4),
            Shape::Interval,
            strokes.flatten(),
        ),
        Series::new(
            "p50",
            rank(0),
            Shape::Scatter,
            rows().filter_map(|(index, one)| at(index, one.median)),
        ),
        Series::new(
            "p99",
            rank(1),
            Shape::Scatter,
            tails.iter().filter_map(|(index, _, to)| at(*index, *to)),
        ),
        Series::new(
            "p50 of a trial that does not count",
            Role::Invalid,
            Shape::Scatter,
            uncounted
                .iter()
                .enumerate()
                .filter_map(|(index, trial)| at(index, float(trial.delay()?.p50_ns?))),
        ),
    ]
}

/// Medians far apart would squeeze the small ones together.
fn scale(timed: &[ModeDelay<'_>]) -> Scale {
    const WIDE: f64 = 8.0;
    let least = timed.last().map_or(1.0, |one| one.median);
    let most = timed
        .iter()
        .filter_map(|one| one.delay.p99_ns.map(float))
        .fold(1.0, f64::max);
    if most > WIDE * least {
        Scale::Log
    } else {
        Scale::Linear
    }
}

/// CPU time of the traffic threads of both ends per message, where both are known.
fn cost(trial: &Trial) -> Option<f64> {
    let of = |side| trial.cpu_of(side)?.thread_ns_per_transaction;
    Some(of(Side::Sender)? + of(Side::Receiver)?)
}

fn row_name(run: &Run, trial: &Trial) -> String {
    let name = trial_name(run, trial);
    match cost(trial) {
        Some(cost) => format!("{name} · CPU {}", nanos(cost)),
        None => name,
    }
}

fn caption(run: &Run, timed: &[ModeDelay<'_>]) -> String {
    let (Some(slowest), Some(fastest)) = (timed.first(), timed.last()) else {
        return String::new();
    };
    let ratio = slowest.median / fastest.median.max(1.0);
    let said = |one: &ModeDelay<'_>| {
        let p99 = one
            .delay
            .p99_ns
            .map_or_else(String::new, |p99| format!(", p99 {}", nanos(float(p99))));
        format!(
            "{} (p50 {}{p99})",
            trial_name(run, one.trial),
            nanos(one.median)
        )
    };
    if ratio < 1.05 {
        return format!(
            "The medians are within 5 % of each other: {} is the lowest.",
            said(fastest)
        );
    }
    format!(
        "{} is the fastest; {} takes {} times as long.",
        said(fastest),
        said(slowest),
        digits((ratio * 10.0).round() / 10.0)
    )
}

fn table(run: &Run, timed: &[ModeDelay<'_>], uncounted: &[&Trial], unit: Unit) -> Table {
    let symbol = unit.symbol();
    let ranked = timed.iter().rev().map(|one| one.trial);
    let trials: Vec<&Trial> = ranked.chain(uncounted.iter().copied()).collect();
    let time = |name: &str, get: fn(&Delay) -> Option<u64>| {
        column(format!("{name} ({symbol})"), move |trial: &&Trial| {
            Cell::time(trial.delay().and_then(get), unit)
        })
    };
    let columns = [
        table::words("Condition", |trial: &&Trial| trial_name(run, trial)),
        time("p50", |delay| delay.p50_ns),
        time("p99", |delay| delay.p99_ns),
        column("CPU of both ends per message (µs)", |trial: &&Trial| {
            Cell::number(cost(trial), Unit::MICROS)
        }),
        column("n", |trial: &&Trial| {
            Cell::count(trial.delay().and_then(|delay| delay.count))
        }),
        table::words("Counts", |trial: &&Trial| words::counts(trial)),
    ];
    Table::from_rows(&trials, columns)
}
