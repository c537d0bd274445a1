//! A token bucket behind the sender's host, in one trial: the path carries a rate until the bucket is empty, and a lower
//! one from then on.
//!
//! What shows it is one change between two steady rates, of which the lower one lasts to the end, while as much was
//! offered as before and the path itself lost or delayed the rest. What arrived above the lower rate until then is what
//! the bucket held. Neither a slow start (it rises), nor an outage (its rate comes back), nor a busy host (the path neither
//! loses nor delays) looks so. Does not judge (see [`causes`](crate::causes)).

mod step;

use crate::readings::whole_intervals;
use linerate_model::run::{Place, Trial, TrialInterval, TrialWork};
use linerate_model::spec::Transport;
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use std::time::Duration;
use step::{Point, Step};

/// A bucket that was emptied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TokenBucket {
    /// When it was empty, within the trial.
    pub(crate) empty_at: Duration,
    /// What was carried until then, of L4 payload.
    pub(crate) full_rate: BitRate,
    /// What was carried from then on, of L4 payload: tokens came at this rate.
    pub(crate) rate: BitRate,
    /// L4 payload that was carried above `rate` until then: what the bucket held.
    pub(crate) held: ByteCount,
    pub(crate) excess: Excess,
}

/// What became of what exceeds the bucket's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// It was dropped without waiting: a policer does that, and nothing else.
    Dropped,
    /// It waited in a queue. A shaper does that, and a link that became slower or that others share too.
    Queued,
    /// No delay tells.
    Unknown,
}

/// Shorter trials, as those of a search, are told apart by each other.
const SHORTEST_TRIAL: Duration = Duration::from_secs(2);

/// The bucket that was emptied in `trial`, if one was.
pub(crate) fn find(trial: &Trial) -> Option<TokenBucket> {
    trial.duration.filter(|whole| *whole >= SHORTEST_TRIAL)?;
    let intervals: Vec<&TrialInterval> = whole_intervals(trial).collect();
    let found = match (&trial.work, trial.transport) {
        (TrialWork::Datagrams(_), _) => of_datagrams(trial, &intervals)?,
        (TrialWork::ByteStream(_), Transport::Tcp) => of_bytes(&intervals)?,
        _ => return None,
    };
    let (step, excess) = found;
    Some(TokenBucket {
        empty_at: step.at,
        full_rate: BitRate::from_f64(step.before),
        rate: BitRate::from_f64(step.after),
        held: ByteCount::from_f64(step.above / 8.0),
        excess,
    })
}

/// The series of a rate; `None` if no interval tells it. In one of several that does not, nothing came.
fn points(
    intervals: &[&TrialInterval],
    rate: impl Fn(&TrialInterval) -> Option<f64>,
) -> Option<Vec<Point>> {
    let mut rates = intervals.iter();
    rates.find(|interval| rate(interval).is_some())?;
    let point = |interval: &&TrialInterval| Point {
        start: interval.start,
        end: interval.end,
        rate: rate(interval).unwrap_or(0.0),
    };
    Some(intervals.iter().map(point).collect())
}

fn received(interval: &TrialInterval) -> Option<f64> {
    interval.received_rate.map(BitRate::as_f64)
}

/// A sender that offers less than this part of what it did before is itself what changed.
const AS_MUCH: f64 = 0.95;
/// Part of the losses that an end may have dropped itself.
const MOST_AT_ENDS: f64 = 0.1;

fn of_datagrams(trial: &Trial, intervals: &[&TrialInterval]) -> Option<(Step, Excess)> {
    let step = Step::find(&points(intervals, received)?)?;
    let offered = |is_before: bool| mean_offered(intervals, &step, is_before);
    let (before, after) = (offered(true)?, offered(false)?);
    let goes_on = after >= before * AS_MUCH && after > step.after;
    (goes_on && !is_lost_at_ends(trial)).then(|| (step, waited(trial, &step)))
}

/// Mean rate that was offered before or after the change: what the sender says, or what arrived with what was lost.
fn mean_offered(intervals: &[&TrialInterval], step: &Step, is_before: bool) -> Option<f64> {
    let offered = |interval: &&TrialInterval| {
        interval.offered_load.map(BitRate::as_f64).or_else(|| {
            let lost = interval.lost_packets?.get();
            let lost = Ratio::from_parts(lost, interval.total_packets?.get()).get();
            Some(received(interval)? / (1.0 - lost).max(f64::MIN_POSITIVE))
        })
    };
    let here = intervals
        .iter()
        .filter(|interval| is_within(interval, step, is_before));
    let all: Vec<f64> = here.map(offered).collect::<Option<_>>()?;
    step::mean(&all)
}

/// Whether an interval is one before the change, or after it; the one in which it was is neither.
fn is_within(interval: &TrialInterval, step: &Step, is_before: bool) -> bool {
    if is_before {
        interval.end <= step.last_before
    } else {
        interval.start >= step.first_after
    }
}

/// Whether an end dropped more than a little of what was lost.
fn is_lost_at_ends(trial: &Trial) -> bool {
    let at_end = |place| !matches!(place, Place::Network | Place::Unknown);
    let sum = |is: &dyn Fn(Place) -> bool| {
        let entries = trial.ledger().iter().filter(|entry| is(entry.place));
        entries
            .map(|entry| entry.packets.get())
            .fold(0, u64::saturating_add)
    };
    let (here, all) = (sum(&at_end), sum(&|_| true));
    PacketCount::new(here).as_f64() > PacketCount::new(all).as_f64() * MOST_AT_ENDS
}

/// A queue of fewer packets at the bucket's rate is none that a shaper has.
const SHORTEST_QUEUE: f64 = 8.0;
/// Shorter delays are a host's own.
const LEAST_WAIT_NS: f64 = 1e6;

/// What the delays say of what exceeded the rate. They are of all that arrived in the trial, so the median is of the time
/// after the change where most arrived then; before it no queue stood.
fn waited(trial: &Trial, step: &Step) -> Excess {
    let Some(delay) = trial.delay() else {
        return Excess::Unknown;
    };
    let since = |value: Option<u64>| {
        let over = value?.checked_sub(delay.min_ns?)?;
        Some(Duration::from_nanos(over).as_secs_f64() * 1e9)
    };
    let payload = trial.payload_bytes.map_or(1470.0, ByteCount::as_f64);
    let least = (SHORTEST_QUEUE * payload * 8e9 / step.after.max(1.0)).max(LEAST_WAIT_NS);
    let is_mostly_after = step.share_after > 0.55;
    match (since(delay.p50_ns), since(delay.p99_ns)) {
        (Some(median), _) if is_mostly_after && median >= least => Excess::Queued,
        (Some(_), _) if is_mostly_after => Excess::Dropped,
        (_, Some(most)) if most < least => Excess::Dropped,
        _ => Excess::Unknown,
    }
}

/// What a sender wrote into buffers of its host and of the path is no more than this, bytes; only what arrived counts
/// below.
const MAX_BUFFERS: f64 = 64e6;
/// The shortest time for which TCP, which rises first, must have kept a rate.
const SHORTEST_STEADY: Duration = Duration::from_secs(1);

fn of_bytes(intervals: &[&TrialInterval]) -> Option<(Step, Excess)> {
    let step = if let Some(points) = points(intervals, received) {
        Step::find(&points)?
    } else {
        let sent = |interval: &TrialInterval| interval.offered_load.map(BitRate::as_f64);
        let step = Step::find(&points(intervals, sent)?)?;
        Some(step).filter(|step| step.above / 8.0 > MAX_BUFFERS)?
    };
    if step.last_before.saturating_sub(step.first_before) < SHORTEST_STEADY {
        return None;
    }
    let delays = rtt(intervals, &step, true).zip(rtt(intervals, &step, false));
    let is_queued = delays
        .is_some_and(|(before, after)| after >= before * 1.5 && after - before >= LEAST_WAIT_NS);
    let again = |is_before| retransmitted(intervals, &step, is_before);
    let is_dropped = again(false)
        .zip(again(true))
        .is_some_and(|(after, before)| after >= LEAST_AGAIN && after >= 2.0 * before);
    // Else an end that slowed down looks the same.
    match (is_queued, is_dropped, delays) {
        (true, ..) => Some((step, Excess::Queued)),
        (false, true, Some(_)) => Some((step, Excess::Dropped)),
        (false, true, None) => Some((step, Excess::Unknown)),
        (false, false, _) => None,
    }
}

/// Segments sent again each second: fewer are lost by chance.
const LEAST_AGAIN: f64 = 1.0;

/// Segments sent again each second before or after the change, with the interval in which it was.
fn retransmitted(intervals: &[&TrialInterval], step: &Step, is_before: bool) -> Option<f64> {
    let is_here = |interval: &TrialInterval| {
        if is_before {
            is_within(interval, step, true)
        } else {
            interval.end > step.last_before
        }
    };
    let (mut segments, mut time) = (0, Duration::ZERO);
    for interval in intervals.iter().filter(|interval| is_here(interval)) {
        segments += interval.retransmitted_segments?;
        time += interval.end.saturating_sub(interval.start);
    }
    let time = time.as_secs_f64();
    (time > 0.0).then(|| PacketCount::new(segments).as_f64() / time)
}

/// Median of the smoothed round-trip times before or after the change, ns.
fn rtt(intervals: &[&TrialInterval], step: &Step, is_before: bool) -> Option<f64> {
    let here = intervals
        .iter()
        .filter(|interval| is_within(interval, step, is_before));
    let mut all: Vec<u64> = here.filter_map(|interval| interval.srtt_ns).collect();
    all.sort_unstable();
    let median = all.get(all.len() / 2)?;
    Some(Duration::from_nanos(*median).as_secs_f64() * 1e9)
}

#[cfg(test)]
mod tests;
