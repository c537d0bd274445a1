//! Outages: times in which nothing of a one-way test arrived.
//!
//! Who tells best is asked: a receiver of linerate's own by the times of its arrivals, a sending TCP socket by what was
//! acknowledged, else the reporting intervals. Of each silence is told what the sender did in it, since one that sends
//! nothing is no outage. Does not judge (see [`causes`](crate::causes)).

mod backoff;
pub(crate) mod brief;
mod quiet;
mod rest;
mod sender;

pub(crate) use rest::{share_of_time, without};
pub(crate) use sender::{is_unreachable, unreachable};

use crate::readings::{stood_still, streams};
use linerate_model::run::{Measured, Trial, TrialEnd, TrialInterval, TrialWork};
use linerate_model::spec::{Side, Transport};
use linerate_model::{ByteCount, PacketCount};
use std::fmt;
use std::time::Duration;

/// A time in which nothing arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outage {
    /// When the last arrived before it, within the trial.
    pub(crate) start: Duration,
    /// When something arrived again, or the end of the trial.
    pub(crate) end: Duration,
    /// Whether the times are those of reporting intervals: it may have been longer by up to one at either end.
    pub(crate) is_at_least: bool,
    /// Packets that were sent in it and lost; `None` of a byte stream, and where losses have no time.
    pub(crate) lost: Option<u64>,
    /// What the sender did in it.
    pub(crate) sender: Doing,
}

/// What the sender did while nothing arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It sent, and what it sent was lost or had to be sent again; or its TCP had data that nothing took.
    Sending,
    /// Its host had no way to the receiver: an interface, an address or a route was gone, so that nothing was sent.
    CutOff,
    /// It sent nothing.
    Pausing,
    /// It waited for the receiver, whose application did not read.
    Waiting,
    /// What it sent was not lost: it was sent late, or read late.
    Late,
    /// It, or the receiver, waited for a core.
    Starved,
    /// It is not known.
    Unknown,
}

impl Outage {
    /// Its length.
    pub(crate) const fn length(self) -> Duration {
        self.end.saturating_sub(self.start)
    }

    /// Whether it is what its user ended `trial` with: what an end did from then on is no part of the test.
    fn is_of_end(self, trial: &Trial) -> bool {
        let by_user = |measured: &Measured| measured.end == TrialEnd::User;
        trial.measured().is_some_and(by_user)
            && trial.duration.is_none_or(|whole| self.end >= whole)
    }

    /// Whether the way between the ends was lost, or nothing speaks for one of their applications.
    pub(crate) const fn is_of_path(self) -> bool {
        matches!(self.sender, Doing::Sending | Doing::CutOff | Doing::Unknown)
    }
}

/// `from 2.5 s to 5.5 s`.
impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = if self.is_at_least { " at least" } else { "" };
        write!(
            f,
            "from {} s to {} s{least}",
            seconds(self.start),
            seconds(self.end)
        )
    }
}

/// What to be careful about in a trial with an outage.
pub(crate) fn note(outage: &Outage) -> String {
    match outage.lost {
        None | Some(0) if outage.sender == Doing::CutOff => {
            format!("nothing was sent {outage}: the sender's host had no way to the receiver")
        }
        Some(lost) if lost > 0 => {
            format!("nothing arrived {outage}: {lost} packets that were sent then are lost")
        }
        _ => format!("nothing arrived {outage}"),
    }
}

/// Hundredths, without zeros at the end.
pub(crate) fn seconds(time: Duration) -> String {
    let text = format!("{:.2}", time.as_secs_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Shortest silence of datagrams that is one: a queue or a busy host holds them up for less.
const LEAST_OF_DATAGRAMS: Duration = Duration::from_millis(300);
/// Shortest silence of a byte stream that is one: its second retransmission timeout has expired by then (RFC 6298), so that
/// more was lost than one segment and its repetition.
const LEAST_OF_BYTES: Duration = Duration::from_secs(1);
/// Packets that were due in a silence: so many in a row are not lost by chance.
const LEAST_DUE_PACKETS: f64 = 20.0;
/// Writes that were due in a silence of a byte stream: one that writes seldom is not silent.
const LEAST_DUE_WRITES: f64 = 4.0;

/// The outages of `trial`, in order, whoever caused them; none of request/response.
pub(crate) fn find(trial: &Trial) -> Vec<Outage> {
    let least = match (&trial.work, trial.transport) {
        (TrialWork::Datagrams(_), _) => LEAST_OF_DATAGRAMS,
        (TrialWork::ByteStream(_), Transport::Tcp) => LEAST_OF_BYTES,
        _ => return Vec::new(),
    };
    // What stands still from the first windows on is no outage: short packets go on.
    if streams(trial, Side::Sender).any(|stream| stood_still(stream).is_some()) {
        return Vec::new();
    }
    let quiet = quiet::find(trial);
    let is_long = |time: &(Duration, Duration)| {
        let length = time.1.saturating_sub(time.0);
        length >= least && is_due(trial, length, &quiet.times)
    };
    let is_own = |time: &(Duration, Duration)| {
        trial.transport == Transport::Tcp && backoff::explains(*time, &quiet.times)
    };
    let long = quiet.times.iter().copied();
    let long = long.filter(|time| is_long(time) && !is_own(time));
    let outages = long.map(|(start, end)| {
        let outage = Outage {
            start,
            end,
            is_at_least: quiet.is_by_interval,
            lost: sender::lost_in(trial, start, end),
            sender: Doing::Unknown,
        };
        Outage {
            sender: sender::doing(trial, outage),
            ..outage
        }
    });
    // Only what was lost shows that a path was gone when the user ended the test.
    let is_idle = |outage: &Outage| matches!(outage.sender, Doing::Late | Doing::Unknown);
    let is_shown = |outage: &Outage| !is_idle(outage) || !outage.is_of_end(trial);
    outages.filter(is_shown).collect()
}

/// Whether enough was to be sent in `length` that its absence says something, by what was carried in the rest of the time.
fn is_due(trial: &Trial, length: Duration, quiet: &[(Duration, Duration)]) -> bool {
    let Some(whole) = trial.duration else {
        return false;
    };
    let silent: Duration = quiet
        .iter()
        .map(|(start, end)| end.saturating_sub(*start))
        .sum();
    let active = whole.saturating_sub(silent).as_secs_f64();
    if active <= 0.0 {
        return false;
    }
    let of_time = length.as_secs_f64() / active;
    if trial.transport == Transport::Udp
        && let Some(received) = trial.packets().and_then(|packets| packets.received)
    {
        return received.as_f64() * of_time >= LEAST_DUE_PACKETS;
    }
    let (unit, least) = match trial.transport {
        Transport::Udp => (DATAGRAM, LEAST_DUE_PACKETS),
        Transport::Tcp => (WRITE, LEAST_DUE_WRITES),
    };
    let unit = trial.payload_bytes.map_or(unit, ByteCount::as_f64);
    let moved = trial.received_bytes.or(trial.sent_bytes);
    moved.is_some_and(|moved| moved.as_f64() * of_time >= least * unit.max(1.0))
}

/// Payload of a datagram where it is not known, bytes: an Ethernet frame's.
const DATAGRAM: f64 = 1470.0;
/// Write to a byte stream where it is not known, bytes: iperf's.
const WRITE: f64 = 131_072.0;

/// Packets that were lost in `outages`; `None` if that is not known of any.
pub(crate) fn lost(outages: &[Outage]) -> Option<u64> {
    let known = outages.iter().filter_map(|outage| outage.lost);
    known.reduce(u64::saturating_add)
}

/// Packets that `trial` lost.
fn all_lost(trial: &Trial) -> Option<u64> {
    trial.packets()?.lost.map(PacketCount::get)
}

/// Whether the receiver of `trial` tells when what arrived came.
pub(crate) fn is_timed(trial: &Trial) -> bool {
    let has_rate = |interval: &TrialInterval| {
        trial.transport == Transport::Tcp || interval.received_rate.is_some()
    };
    let by_interval = trial.intervals.len() > 1 && trial.intervals.iter().any(has_rate);
    let mut received = streams(trial, Side::Receiver);
    by_interval || received.any(|stream| !stream.intervals.is_empty())
}

#[cfg(test)]
mod tests;
