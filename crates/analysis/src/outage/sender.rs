//! What the sender did while nothing arrived, and what was lost of it.

use super::{Doing, Outage, all_lost};
use crate::readings::streams;
use linerate_model::run::{Place, Trial, TrialInterval};
use linerate_model::sample::{StreamReport, TcpSample};
use linerate_model::spec::{Side, Transport};
use linerate_model::{BitRate, PacketCount};
use std::time::Duration;

/// What the sender did in `outage`, as far as the trial tells.
pub(super) fn doing(trial: &Trial, outage: Outage) -> Doing {
    match trial.transport {
        Transport::Tcp => unless_starved(trial, outage, of_bytes(trial, outage)),
        Transport::Udp => of_datagrams(trial, outage),
    }
}

/// `doing`, unless a thread that waited for a core may be why: a byte stream then loses nothing and is as silent, and of
/// datagrams those are lost that no buffer holds meanwhile.
fn unless_starved(trial: &Trial, outage: Outage, doing: Doing) -> Doing {
    let sides = [Side::Sender, Side::Receiver];
    let waits = sides.map(|side| CoreWait::in_outage(trial, side, outage));
    let most = outage.length().as_secs_f64() * MOST;
    let any = |is: fn(&CoreWait) -> f64| waits.iter().flatten().any(|wait| is(wait) >= most);
    match doing {
        Doing::Sending | Doing::Unknown if any(|wait| wait.at_least) => Doing::Starved,
        Doing::Sending if any(|wait| wait.at_most) => Doing::Unknown,
        _ => doing,
    }
}

/// How long a traffic thread waited for a core within an outage, in seconds.
struct CoreWait {
    at_least: f64,
    at_most: f64,
}

impl CoreWait {
    /// `None` where the trial does not tell.
    fn in_outage(trial: &Trial, side: Side, outage: Outage) -> Option<Self> {
        let cpu = trial.cpu_of(side)?;
        let whole = trial.duration?.as_secs_f64();
        let waited = cpu.run_delay_ratio?.get() * whole;
        let ran = cpu.thread_ratio?.get() * whole;
        // What of both does not fit into the rest of the time was within the outage, and nothing arrived that would have
        // made it run.
        let rest = whole - outage.length().as_secs_f64();
        Some(Self {
            at_least: (ran + waited - rest).min(waited),
            at_most: waited,
        })
    }
}

/// Packets that were due between `start` and `end`, at the rate of the whole trial.
fn due(trial: &Trial, start: Duration, end: Duration) -> Option<f64> {
    let sent = trial.packets()?.sent?.as_f64();
    let whole = trial.duration?.as_secs_f64();
    (whole > 0.0).then(|| sent * end.saturating_sub(start).as_secs_f64() / whole)
}

/// Datagrams that were sent between `start` and `end` and lost: at most those that were due. A log counts them in the
/// interval in which the next came.
pub(super) fn lost_in(trial: &Trial, start: Duration, end: Duration) -> Option<u64> {
    let all = all_lost(trial)?;
    let is_log = trial.raw().is_empty();
    let due_then = due(trial, start, end)?;
    let most = if is_log {
        rounded_up(due_then)
    } else {
        at_most(due_then)
    };
    let is_within = |interval: &&TrialInterval| interval.start < end && interval.end > start;
    let mut known = 0_u64;
    // The ends of a log have intervals of their own where they reported at other times.
    let intervals = trial.intervals.iter();
    let of_receiver = intervals.filter(|interval| interval.lost_packets.is_some());
    if of_receiver.clone().next().is_none() && trial.intervals.iter().any(|one| is_within(&one)) {
        return None;
    }
    let next_came = |interval: &&TrialInterval| is_log && interval.end > end;
    let next = of_receiver.clone().find(next_came);
    let is_before = |interval: &&TrialInterval| next.is_none_or(|next| interval.start < next.start);
    for interval in of_receiver.filter(is_within).filter(is_before) {
        let lost = interval.lost_packets?.get();
        let (from, to) = (start.max(interval.start), end.min(interval.end));
        let part = to.saturating_sub(from).as_secs_f64();
        let length = interval.end.saturating_sub(interval.start).as_secs_f64();
        let here = match interval.total_packets.filter(|total| total.get() > 0) {
            Some(total) => total.as_f64() * part / length.max(f64::MIN_POSITIVE),
            None => due(trial, from, to)?,
        };
        known = known.saturating_add(lost.min(at_most(here)));
    }
    let late = next.and_then(|interval| interval.lost_packets);
    known = known.saturating_add(late.map_or(0, PacketCount::get));
    Some(known.min(most).min(all))
}

/// A sender does not keep to its mean in each moment.
const UNEVEN: f64 = 1.05;

/// Packets that may have been sent where so many are due.
fn at_most(due: f64) -> u64 {
    rounded_up(due * UNEVEN)
}

fn rounded_up(packets: f64) -> u64 {
    Duration::try_from_secs_f64(packets.max(0.0).ceil()).map_or(u64::MAX, |whole| whole.as_secs())
}

/// A share of a silence that decides what it was.
const MOST: f64 = 0.5;

fn of_datagrams(trial: &Trial, outage: Outage) -> Doing {
    let at = |places: &[Place]| {
        let entries = trial.ledger().iter();
        entries
            .filter(|entry| places.contains(&entry.place))
            .map(|entry| entry.packets.get())
            .fold(0, u64::saturating_add)
    };
    let unread = at(&[Place::ReceiverSocket, Place::ReceiverBacklog]);
    let on_path = at(&[Place::Network]);
    // All that was lost in the whole trial says nothing of a time in which nothing was sent.
    let lost = match outage.lost {
        None if !is_pausing(trial, outage) => all_lost(trial),
        lost => lost,
    };
    let expected = due(trial, outage.start, outage.end).unwrap_or(0.0) * MOST;
    let has_no_way = unreachable(trial) >= LEAST_UNREACHABLE;
    let is_lost = |lost: u64| lost > 0 && PacketCount::new(lost).as_f64() >= expected;
    match lost {
        Some(lost) if is_lost(lost) && unread >= lost => Doing::Waiting,
        Some(lost) if is_lost(lost) && on_path >= lost => Doing::Sending,
        Some(lost) if is_lost(lost) => unless_starved(trial, outage, Doing::Sending),
        _ if has_no_way && (lost.is_some() || is_pausing(trial, outage)) => Doing::CutOff,
        _ if is_pausing(trial, outage) => Doing::Pausing,
        // Who pauses at the end of a trial records no silence, and a reader that does not run has no arrivals.
        Some(_) => Doing::Late,
        None => unless_starved(trial, outage, Doing::Unknown),
    }
}

/// Whether the system's error says that this host has no way to the peer.
pub(crate) fn is_unreachable(errno: &str) -> bool {
    matches!(
        errno,
        "EADDRNOTAVAIL" | "EHOSTDOWN" | "EHOSTUNREACH" | "ENETDOWN" | "ENETUNREACH" | "ENODEV"
    )
}

/// Sending calls of a time without a way, at least: they are repeated every millisecond, so one that lasts has hundreds.
const LEAST_UNREACHABLE: u64 = 20;

/// Sending calls that failed since the sender's host had no way to the receiver.
pub(crate) fn unreachable(trial: &Trial) -> u64 {
    let errors = streams(trial, Side::Sender).flat_map(|stream| &stream.errors);
    errors
        .filter(|error| is_unreachable(&error.errno))
        .map(|error| error.count)
        .fold(0, u64::saturating_add)
}

/// Whether the sender gave its system nothing for most of the silence.
fn is_pausing(trial: &Trial, outage: Outage) -> bool {
    let overlap = |from: Duration, to: Duration| {
        let (from, to) = (from.max(outage.start), to.min(outage.end));
        to.saturating_sub(from)
    };
    let of_stream = |stream: &StreamReport| {
        let silences = stream.silences.iter();
        silences
            .map(|silence| overlap(silence.start, silence.end))
            .sum::<Duration>()
    };
    let own = streams(trial, Side::Sender).map(of_stream).min();
    let is_empty = |interval: &&TrialInterval| interval.offered_load == Some(BitRate::default());
    let empty = trial.intervals.iter().filter(is_empty);
    let empty: Duration = empty
        .map(|interval| overlap(interval.start, interval.end))
        .sum();
    let silent = own.unwrap_or_default().max(empty);
    silent.as_secs_f64() >= outage.length().as_secs_f64() * MOST
}

fn of_bytes(trial: &Trial, outage: Outage) -> Doing {
    let gaps: Vec<Gap> = streams(trial, Side::Sender)
        .filter_map(|stream| Gap::around(stream.work.tcp_samples(), outage))
        .collect();
    if gaps.is_empty() {
        return of_intervals(trial, outage);
    }
    let most = outage.length().as_secs_f64() * MOST;
    // Of what TCP's clocks gained, only what does not fit beside the silence was within it for sure.
    let within = |gap: &Gap, time: f64| time - (gap.whole - outage.length().as_secs_f64());
    let is_waiting = gaps.iter().all(|gap| gap.receiver_window >= most);
    let sent_again = |gap: &Gap| match gap.again_within {
        Some(again) => again > 0,
        // A loss before or after it may be all.
        None => gap.again > 0 && !is_waiting,
    };
    // A timer that an earlier loss had made long: nothing was sent that a path could lose. It runs for a segment that left.
    let is_before_timeout = |gap: &Gap| {
        gap.timeouts == Some(0) && gap.again_within == Some(0) && gap.unacked != Some(0)
    };
    let had_data = |gap: &Gap| gap.busy.is_some_and(|busy| within(gap, busy) >= most);
    if gaps.iter().all(|gap| within(gap, gap.idle) >= most) {
        Doing::Pausing
    } else if gaps.iter().any(sent_again) {
        // A window that a timeout left full counts as the receiver's too.
        Doing::Sending
    } else if is_waiting {
        Doing::Waiting
    } else if gaps.iter().all(is_before_timeout) {
        Doing::Pausing
    } else if !outage.is_of_end(trial) && gaps.iter().all(had_data) {
        // Segments that no interface takes are not counted as sent again.
        Doing::Sending
    } else {
        Doing::Unknown
    }
}

/// What a log tells of a byte stream: segments sent again in the silence, or as it ended.
fn of_intervals(trial: &Trial, outage: Outage) -> Doing {
    let near = |interval: &&TrialInterval| {
        let length = interval.end.saturating_sub(interval.start);
        interval.end > outage.start && interval.start < outage.end + length
    };
    let within = trial.intervals.iter().filter(near);
    let again = within.filter_map(|interval| interval.retransmitted_segments);
    if again.fold(0, u64::saturating_add) > 0 {
        Doing::Sending
    } else {
        Doing::Unknown
    }
}

/// What the readings of a sending socket around a silence gained; times in seconds.
struct Gap {
    receiver_window: f64,
    /// Between the two readings.
    whole: f64,
    /// With something to send; `None` where it is not told.
    busy: Option<f64>,
    /// Without anything to send.
    idle: f64,
    /// Segments sent again.
    again: u64,
    /// Those of them that readings within the silence saw; `None` with fewer than two.
    again_within: Option<u64>,
    /// Segments that had left and were not acknowledged, at most, by readings within the silence; `None` where none tells.
    unacked: Option<u64>,
    /// Retransmission timeouts; `None` where the kernel does not count them.
    timeouts: Option<u64>,
}

impl Gap {
    fn around(samples: &[TcpSample], outage: Outage) -> Option<Self> {
        let at = |sample: &TcpSample| Duration::from_nanos(sample.at_ns);
        let from = samples
            .iter()
            .rev()
            .find(|sample| at(sample) <= outage.start)?;
        let to = samples.iter().find(|sample| at(sample) >= outage.end);
        let to = to.or_else(|| samples.last())?;
        let gained = |part: fn(&TcpSample) -> Option<u64>| part(to)?.checked_sub(part(from)?);
        let time = |part| gained(part).map(|nanos| Duration::from_nanos(nanos).as_secs_f64());
        let is_within = |sample: &&TcpSample| {
            let time = at(sample);
            outage.start <= time && time <= outage.end
        };
        let mut within = samples.iter().filter(is_within);
        let unacked = within.clone().filter_map(|sample| sample.unacked_segments);
        let first = within.next().and_then(|sample| sample.retrans_segments);
        let last = within
            .next_back()
            .and_then(|sample| sample.retrans_segments);
        let whole = at(to).saturating_sub(at(from)).as_secs_f64();
        let busy = time(|sample| sample.busy_ns);
        Some(Self {
            receiver_window: time(|sample| sample.rwnd_limited_ns).unwrap_or(0.0),
            whole,
            busy,
            idle: busy.map_or(0.0, |busy| whole - busy),
            again: gained(|sample| sample.retrans_segments).unwrap_or(0),
            again_within: first
                .zip(last)
                .map(|(first, last)| last.saturating_sub(first)),
            unacked: unacked.max(),
            timeouts: gained(|sample| sample.timeouts),
        })
    }
}
