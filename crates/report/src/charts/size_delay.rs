//! Half round trip by message size, a line for each wait mode and condition.

use super::load_delay::capital;
use super::size_axis::SizeAxis;
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::figures::{Unit, float, nanos};
use crate::table::{Cell, Table, column, words};
use linerate_model::run::{Delay, DelayOf, Run, RunKind, Trial};

/// More lines than this cannot be told apart.
const MAX_LINES: usize = 8;

pub(super) const KIND: ChartKind = ChartKind {
    id: "size-delay",
    summary: "Half round trip by message size, a line for each wait mode and condition.",
    topic: Topic::Delay,
    answers: true,
    draw,
};

fn draw(run: &Run) -> Drawn {
    let timed = timed(run);
    let Some(sizes) = sizes(&timed) else {
        return Drawn::NotApplicable;
    };
    Drawn::Charts(vec![chart(&timed, &sizes)])
}

/// A trial of one size that timed round trips.
struct SizeDelay<'a> {
    size: u64,
    mode: String,
    delay: &'a Delay,
}

impl SizeDelay<'_> {
    /// Half a round trip from a value that was timed.
    fn half(&self, nanos: Option<u64>) -> Option<f64> {
        nanos.map(|nanos| float(nanos) * self.share())
    }

    /// The part of what was timed that is half a round trip.
    fn share(&self) -> f64 {
        if self.delay.of == DelayOf::RoundTrip {
            0.5
        } else {
            1.0
        }
    }
}

/// Whether a run has sizes to draw by.
pub(super) fn applies(run: &Run) -> bool {
    sizes(&timed(run)).is_some()
}

/// Whether a run has so many sizes and conditions that only this chart shows them well.
pub(super) fn is_best_for(run: &Run) -> bool {
    let timed = timed(run);
    sizes(&timed).is_some() && modes(&timed).len() > 1
}

fn timed(run: &Run) -> Vec<SizeDelay<'_>> {
    let valid = run.trials.iter().filter(|trial| trial.valid);
    let round_trips = valid.filter_map(|trial| {
        let delay = trial.delay()?;
        let fits = matches!(delay.of, DelayOf::RoundTrip | DelayOf::HalfRoundTrip);
        (run.kind() == RunKind::Latency && fits).then_some(())?;
        Some(SizeDelay {
            size: trial.payload_bytes?.get(),
            mode: mode(trial),
            delay,
        })
    });
    let mut timed: Vec<_> = round_trips.collect();
    timed.sort_by_key(|one| one.size);
    timed
}

/// The trial's label without its size.
fn mode(trial: &Trial) -> String {
    let label = trial.label.as_deref().unwrap_or_default();
    let size = trial.payload_bytes.map(|size| format!("{} B", size.get()));
    let rest = size.as_deref().and_then(|size| label.strip_prefix(size));
    let rest = rest.map_or("", |rest| rest.trim_start_matches(", ").trim());
    if rest.is_empty() {
        "half round trip"
    } else {
        rest
    }
    .to_owned()
}

fn sizes(timed: &[SizeDelay<'_>]) -> Option<SizeAxis> {
    SizeAxis::from_sizes(timed.iter().map(|one| one.size))
}

/// In the order of measuring the smallest size.
fn modes<'a>(timed: &'a [SizeDelay<'_>]) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for one in timed {
        if !all.contains(&one.mode.as_str()) {
            all.push(&one.mode);
        }
    }
    all
}

fn chart(timed: &[SizeDelay<'_>], sizes: &SizeAxis) -> Chart {
    let modes = modes(timed);
    let medians = timed.iter().filter_map(|one| one.half(one.delay.p50_ns));
    let unit = Unit::for_nanos(crate::figures::middle(medians));
    let few = modes.len() * 2 <= MAX_LINES;
    let mut series = Vec::new();
    for mode in modes.iter().take(MAX_LINES) {
        let line = |name: &str, get: fn(&Delay) -> Option<u64>, role| {
            let of_mode = timed.iter().filter(|one| one.mode == *mode);
            let points = of_mode.filter_map(|one| {
                let value = one.half(get(one.delay))?;
                Some(Point::new(sizes.place(one.size), unit.of(value))?.note(nanos(value)))
            });
            Series::new(format!("{mode}: {name}"), role, Shape::Line, points)
        };
        series.push(line("median", |delay| delay.p50_ns, rank(series.len())));
        if few {
            series.push(line("p99", |delay| delay.p99_ns, rank(series.len())));
        }
    }
    series.retain(|one| !one.points.is_empty());
    Chart {
        id: "size-delay".to_owned(),
        title: "Half round trip by message size".to_owned(),
        caption: caption(timed, sizes.sizes(), &modes),
        x: sizes.axis(),
        y: Axis::new(capital("half round trip"), unit.symbol(), Scale::Log).switchable(),
        series,
        table: table(timed, unit),
        ..Chart::default()
    }
}

/// The median of each mode at the smallest and at the largest size.
fn caption(timed: &[SizeDelay<'_>], sizes: &[u64], modes: &[&str]) -> String {
    let at = |mode: &str, size: u64| {
        let found = timed
            .iter()
            .find(|one| one.mode == mode && one.size == size);
        let median = found.and_then(|one| one.half(one.delay.p50_ns));
        median.map(|median| format!("{} at {size} B", nanos(median)))
    };
    let ends: Vec<u64> = sizes
        .first()
        .into_iter()
        .chain(sizes.last())
        .copied()
        .collect();
    let each = modes.iter().take(MAX_LINES).map(|mode| {
        let said: Vec<String> = ends.iter().filter_map(|size| at(mode, *size)).collect();
        format!("{mode}: median {}", said.join(", "))
    });
    let mut text = each.collect::<Vec<_>>().join("; ") + ".";
    if modes.len() > MAX_LINES {
        text.push_str(" The other conditions are in the table.");
    }
    text
}

fn table(timed: &[SizeDelay<'_>], unit: Unit) -> Table {
    let symbol = unit.symbol();
    let half = |name: &str, get: fn(&Delay) -> Option<f64>| {
        column(
            format!("{name}, half round trip ({symbol})"),
            move |one: &SizeDelay<'_>| {
                Cell::number(get(one.delay).map(|nanos| nanos * one.share()), unit)
            },
        )
    };
    let columns = [
        column("Size (B)", |one: &SizeDelay<'_>| {
            Cell::count(Some(one.size))
        }),
        words("Condition", |one: &SizeDelay<'_>| one.mode.clone()),
        half("mean", |delay| delay.mean_ns),
        half("min", |delay| delay.min_ns.map(float)),
        half("median", |delay| delay.p50_ns.map(float)),
        half("p99", |delay| delay.p99_ns.map(float)),
        half("max", |delay| delay.max_ns.map(float)),
        half("deviation", |delay| delay.stdev_ns),
        column(
            format!("median, round trip ({symbol})"),
            |one: &SizeDelay<'_>| {
                Cell::number(one.half(one.delay.p50_ns).map(|half| half * 2.0), unit)
            },
        ),
        column("n", |one: &SizeDelay<'_>| Cell::count(one.delay.count)),
    ];
    Table::from_rows(timed, columns)
}
