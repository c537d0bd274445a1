//! When nothing arrived.

use crate::readings::{mean, streams, whole_intervals};
use linerate_model::run::{Trial, TrialInterval};
use linerate_model::sample::{StreamReport, TcpSample};
use linerate_model::spec::{Side, Transport};
use linerate_model::{BitRate, PacketCount};
use std::time::Duration;

/// Times without an arrival, in order.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    pub(super) times: Vec<Times>,
    /// Whether only reporting intervals, or readings of a socket, tell.
    pub(super) is_by_interval: bool,
}

/// From and to.
pub(super) type Times = (Duration, Duration);

pub(super) fn find(trial: &Trial) -> Quiet {
    // Another tool's receiver tells intervals only, if these, and not when its last came.
    let is_timed =
        |stream: &&StreamReport| !stream.intervals.is_empty() && !stream.duration.is_zero();
    let received: Vec<&StreamReport> = streams(trial, Side::Receiver)
        .filter(|stream| stream.bytes.get() > 0 && is_timed(stream))
        .collect();
    if !received.is_empty() {
        return Quiet {
            times: between_arrivals(trial, &received),
            is_by_interval: false,
        };
    }
    let (times, is_by_interval) = match acknowledged(trial) {
        Some(times) => (times, true),
        None => within_intervals(trial, empty_intervals(trial)),
    };
    Quiet {
        times,
        is_by_interval,
    }
}

/// Most by which the intervals of a steady rate differ from their mean: an interval's ends are read a little late.
const STEADY: f64 = 0.1;

/// The same times from the last arrival before each to the first after it, and whether they still are only those of
/// intervals. Datagrams that arrive steadily fill the part of an interval in which they arrived.
fn within_intervals(trial: &Trial, times: Vec<Times>) -> (Vec<Times>, bool) {
    let Some(rate) = steady_rate(trial, &times) else {
        return (times, true);
    };
    let carried = trial.carried_by_interval();
    let silent = |beside: Option<&(&TrialInterval, BitRate)>| {
        beside.map_or(Duration::ZERO, |(interval, here)| {
            let length = interval.end.saturating_sub(interval.start);
            length.saturating_sub(length.mul_f64((here.as_f64() / rate).min(1.0)))
        })
    };
    let widened = times.into_iter().map(|(from, to)| {
        let before = carried.iter().find(|(interval, _)| interval.end == from);
        let after = carried.iter().find(|(interval, _)| interval.start == to);
        (from.saturating_sub(silent(before)), to + silent(after))
    });
    (widened.collect(), false)
}

/// The rate of datagrams in the intervals that touch none of `times`, in bit/s; `None` unless it is that in each of two or
/// more.
fn steady_rate(trial: &Trial, times: &[Times]) -> Option<f64> {
    if trial.transport != Transport::Udp || times.is_empty() {
        return None;
    }
    let touches = |interval: &TrialInterval| {
        let mut each = times.iter();
        each.any(|(from, to)| interval.start <= *to && interval.end >= *from)
    };
    let apart = whole_intervals(trial).filter(|interval| !touches(interval));
    let rates = apart.filter_map(|interval| interval.received_rate);
    let rates: Vec<f64> = rates.map(BitRate::as_f64).collect();
    let usual = mean(rates.iter().copied())?;
    let is_near = |rate: &f64| (rate - usual).abs() <= usual * STEADY;
    (rates.len() > 1 && usual > 0.0 && rates.iter().all(is_near)).then_some(usual)
}

/// Times in which none of the streams received anything, to the end of the trial.
fn between_arrivals(trial: &Trial, received: &[&StreamReport]) -> Vec<Times> {
    let end = trial.duration.unwrap_or_default();
    let of_stream = |stream: &&StreamReport| {
        let mut times: Vec<Times> = stream
            .silences
            .iter()
            .map(|silence| (silence.start, silence.end))
            .collect();
        if end > stream.duration {
            times.push((stream.duration, end));
        }
        times
    };
    let common = received
        .iter()
        .map(of_stream)
        .reduce(|all, times| common(&all, &times))
        .unwrap_or_default();
    from_the_start(trial, end, common)
}

/// What a receiver that counts from its first arrival lacks at the end was at the start, where the last that was sent came.
fn from_the_start(trial: &Trial, end: Duration, mut times: Vec<Times>) -> Vec<Times> {
    let tail_lost = || {
        let sent: u64 = streams(trial, Side::Sender)
            .map(|s| s.packets.get())
            .fold(0, u64::saturating_add);
        let reached = streams(trial, Side::Receiver).filter_map(|s| s.work.sequence());
        let reached = reached
            .map(|s| s.next_expected)
            .fold(0, u64::saturating_add);
        sent.saturating_sub(reached)
    };
    let Some(last) = times.pop_if(|(_, to)| *to == end) else {
        return times;
    };
    let length = last.1.saturating_sub(last.0);
    let sent = trial.packets().and_then(|packets| packets.sent);
    let due = sent.map(|sent| sent.as_f64() * length.as_secs_f64() / end.as_secs_f64().max(1e-9));
    // A sender that could send no more lost nothing at either end.
    let is_lost = |due: f64| super::all_lost(trial).is_some_and(|lost| at_least_half(lost, due));
    let came_at_the_end = due.is_some_and(|due| is_lost(due) && !at_least_half(tail_lost(), due));
    if !came_at_the_end {
        times.push(last);
        return times;
    }
    let shifted = times
        .into_iter()
        .map(|(from, to)| (from + length, to + length));
    std::iter::once((Duration::ZERO, length))
        .chain(shifted)
        .collect()
}

fn at_least_half(packets: u64, due: f64) -> bool {
    PacketCount::new(packets).as_f64() >= due / 2.0
}

/// Times that are in both; each list is in order and without overlap.
fn common(a: &[Times], b: &[Times]) -> Vec<Times> {
    let both = a.iter().flat_map(|one| {
        let with = b
            .iter()
            .map(|other| (one.0.max(other.0), one.1.min(other.1)));
        with.filter(|(from, to)| from < to)
    });
    both.collect()
}

/// Times between two readings of a sending TCP socket in which nothing was acknowledged though something was to be;
/// `None` where nothing reads it.
fn acknowledged(trial: &Trial) -> Option<Vec<Times>> {
    if trial.transport != Transport::Tcp {
        return None;
    }
    let of_stream = |stream: &StreamReport| {
        let samples = stream.work.tcp_samples();
        let is_read = samples.len() > 2 && samples.iter().all(|s| s.bytes_acked.is_some());
        is_read.then(|| {
            runs(
                samples
                    .windows(2)
                    .map(|pair| (between(&pair[0], &pair[1]), is_flat(pair))),
            )
        })
    };
    let mut all = streams(trial, Side::Sender).map(of_stream);
    let first = all.next()??;
    all.try_fold(first, |sum, times| Some(common(&sum, &times?)))
}

fn between(before: &TcpSample, after: &TcpSample) -> Times {
    (
        Duration::from_nanos(before.at_ns),
        Duration::from_nanos(after.at_ns),
    )
}

fn is_flat(pair: &[TcpSample]) -> bool {
    pair[0].bytes_acked == pair[1].bytes_acked
}

/// Reporting intervals in which nothing arrived, or nothing was taken of a sender where only that is told.
fn empty_intervals(trial: &Trial) -> Vec<Times> {
    let carried = trial.carried_by_interval();
    let empty = runs(
        carried
            .into_iter()
            .map(|(interval, rate)| ((interval.start, interval.end), rate == BitRate::default())),
    );
    // A stream that is empty again and again sends seldom.
    let longest = empty
        .iter()
        .map(|(from, to)| to.saturating_sub(*from))
        .max();
    let is_alone = |time: &Times| {
        let length = time.1.saturating_sub(time.0);
        let others = empty.iter().filter(|other| *other != time);
        let mut others = others.map(|(from, to)| to.saturating_sub(*from));
        Some(length) == longest && others.all(|other| other.saturating_mul(3) <= length)
    };
    match empty.as_slice() {
        [] | [_] => empty,
        _ => empty.iter().copied().filter(is_alone).collect(),
    }
}

/// Joins the times that are empty and follow each other.
fn runs(each: impl Iterator<Item = (Times, bool)>) -> Vec<Times> {
    let mut runs: Vec<Times> = Vec::new();
    let mut is_open = false;
    for ((from, to), is_empty) in each {
        match runs.last_mut() {
            Some(run) if is_empty && is_open => run.1 = to,
            _ if is_empty => runs.push((from, to)),
            _ => {}
        }
        is_open = is_empty;
    }
    runs
}
