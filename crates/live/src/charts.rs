//! The curves of a running measurement: data and axes.

use crate::state::{Live, Phase, TrialPoint};
use linerate_model::run::RunKind;
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, PacketCount};
use linerate_report::LiveInterval;
use linerate_report::figures::{Unit, digits, rate};

/// One chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plot {
    /// Its title, with the unit.
    pub(crate) title: String,
    pub(crate) curves: Vec<Curve>,
    pub(crate) x: Range,
    pub(crate) y: Range,
}

/// One curve; points in ascending order of x.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    pub(crate) role: CurveRole,
    pub(crate) points: Vec<(f64, f64)>,
}

linerate_model::named_enum! {
    /// Meaning of a curve; determines its colour and legend.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum CurveRole {
        Forward = "→",
        Reverse = "←",
        /// Ideal: everything intended is received.
        Ideal = "all of it",
        Median = "p50",
        P99 = "p99",
    }
}

/// Range and labels of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    pub(crate) bounds: [f64; 2],
    pub(crate) labels: Vec<String>,
}

/// Charts of a run, from left to right.
pub(crate) fn plots(live: &Live) -> Vec<Plot> {
    let kind = match live.phase {
        Phase::Connecting => return Vec::new(),
        Phase::Measuring(kind) | Phase::Following(kind) => kind,
    };
    match kind {
        RunKind::Saturate => search(&live.points),
        RunKind::Latency => vec![delays(&live.points)],
        _ => over_time(&live.intervals),
    }
}

fn role(direction: Direction) -> CurveRole {
    match direction {
        Direction::Reverse => CurveRole::Reverse,
        Direction::Forward | Direction::Duplex => CurveRole::Forward,
    }
}

/// A curve for each direction that has points.
fn by_direction<T>(
    all: &[T],
    direction: impl Fn(&T) -> Direction,
    point: impl Fn(&T) -> Option<(f64, f64)>,
) -> Vec<Curve> {
    let ways = [Direction::Forward, Direction::Reverse];
    let curves = ways.into_iter().map(|way| {
        let of = all.iter().filter(|one| role(direction(one)) == role(way));
        let mut points: Vec<_> = of.filter_map(&point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve {
            role: role(way),
            points,
        }
    });
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

fn largest(curves: &[Curve]) -> f64 {
    let all = curves.iter().flat_map(|curve| &curve.points);
    all.fold(0.0, |most, (_, y)| most.max(*y))
}

/// From zero to a round number of at least `most`.
fn from_zero(most: f64) -> Range {
    let magnitude = 10_f64.powf(most.max(1e-3).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].into_iter();
    let top = steps.map(|step| step * magnitude).find(|top| *top >= most);
    let top = top.unwrap_or(most);
    Range {
        bounds: [0.0, top],
        labels: [0.0, top / 2.0, top].map(digits).into(),
    }
}

/// A logarithmic scale, for rates.
fn decades(rates: impl Iterator<Item = f64>) -> Range {
    let (mut least, mut most) = (f64::MAX, 1.0_f64);
    for rate in rates {
        (least, most) = (least.min(rate), most.max(rate));
    }
    let least = least.min(most / 2.0);
    Range {
        bounds: [least.log10(), most.log10()],
        labels: [least, most].map(|bps| rate(BitRate::from_f64(bps))).into(),
    }
}

/// Rate, loss or retransmissions, and round-trip time of each interval, at the interval's end.
fn over_time(intervals: &[LiveInterval]) -> Vec<Plot> {
    let last = intervals.iter().map(|one| one.end.as_secs_f64());
    let last = last.fold(1.0, f64::max);
    let x = Range {
        bounds: [0.0, last],
        labels: vec!["0 s".to_owned(), format!("{} s", digits(last))],
    };
    let plot = |title: &dyn Fn(f64) -> (String, Unit),
                value: &dyn Fn(&LiveInterval) -> Option<f64>| {
        let at = |one: &LiveInterval| Some((one.end.as_secs_f64(), value(one)?));
        let mut curves = by_direction(intervals, |one| one.direction, at);
        let (title, unit) = title(largest(&curves));
        for point in curves.iter_mut().flat_map(|curve| &mut curve.points) {
            point.1 = unit.of(point.1);
        }
        let y = from_zero(largest(&curves));
        Plot {
            title,
            curves,
            x: x.clone(),
            y,
        }
    };
    let count = |count: PacketCount| count.as_f64();
    let rate = plot(
        &|most| {
            let unit = Unit::for_rate(most);
            (format!("rate, {}", unit.symbol()), unit)
        },
        &|one| Some(one.rate.as_f64()),
    );
    let is_tcp = intervals.iter().any(|one| one.transport == Transport::Tcp);
    if !is_tcp {
        let loss = plot(&|_| ("loss, %".to_owned(), Unit::PERCENT), &|one| {
            one.lost.map(|(_, share)| share.get())
        });
        return vec![rate, loss];
    }
    let again = plot(&|_| ("retransmissions".to_owned(), Unit::PLAIN), &|one| {
        one.retransmitted.map(count)
    });
    let round_trip = plot(
        &|most| {
            let unit = Unit::for_nanos(most);
            (format!("RTT, {}", unit.symbol()), unit)
        },
        &|one| one.srtt_ns.map(|ns| count(PacketCount::new(ns))),
    );
    vec![rate, again, round_trip]
}

/// Received rate and loss by intended load.
fn search(points: &[TrialPoint]) -> Vec<Plot> {
    let intended = |point: &TrialPoint| {
        point
            .intended
            .map(BitRate::as_f64)
            .filter(|bps| *bps >= 1.0)
    };
    let x = decades(points.iter().filter_map(intended));
    let received = |point: &TrialPoint| {
        let bps = point.received?.as_f64().max(1.0);
        Some((intended(point)?.log10(), bps.log10()))
    };
    let mut curves = by_direction(points, |point| point.direction, received);
    if !curves.is_empty() {
        let [from, to] = x.bounds;
        let ideal = Curve {
            role: CurveRole::Ideal,
            points: vec![(from, from), (to, to)],
        };
        curves.insert(0, ideal);
    }
    let lost = |point: &TrialPoint| Some((intended(point)?.log10(), point.loss?.get() * 100.0));
    let losses = by_direction(points, |point| point.direction, lost);
    vec![
        Plot {
            title: "received by intended load".to_owned(),
            curves,
            y: x.clone(),
            x: x.clone(),
        },
        Plot {
            title: "loss by intended load, %".to_owned(),
            y: from_zero(largest(&losses)),
            curves: losses,
            x,
        },
    ]
}

/// Median and 99th percentile of each trial's delay, by trial.
fn delays(points: &[TrialPoint]) -> Plot {
    let known: Vec<_> = points.iter().filter_map(|point| point.delay_ns).collect();
    let curve = |role, of: fn(&(u64, u64)) -> u64| {
        let numbered = known.iter().zip(1_u32..);
        let points =
            numbered.map(|(one, number)| (f64::from(number), PacketCount::new(of(one)).as_f64()));
        Curve {
            role,
            points: points.collect(),
        }
    };
    let mut curves = vec![
        curve(CurveRole::Median, |one| one.0),
        curve(CurveRole::P99, |one| one.1),
    ];
    let unit = Unit::for_nanos(largest(&curves));
    for point in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        point.1 = unit.of(point.1);
    }
    let trials = u32::try_from(known.len()).unwrap_or(u32::MAX).max(2);
    Plot {
        title: format!("delay by trial, {}", unit.symbol()),
        x: Range {
            bounds: [1.0, f64::from(trials)],
            labels: vec!["1".to_owned(), trials.to_string()],
        },
        y: from_zero(largest(&curves)),
        curves,
    }
}
