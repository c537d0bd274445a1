//! From the raw reports of both ends to one trial: sums, rates, packet accounting, delay, CPU, validity.
//!
//! Does not search and does not judge what limits (see [`crate::rules`]).
//! Invariants, for any reports whatever: `sent = received + lost`, loss is between 0 and 100 %,
//! duplicates and surpluses of one stream never cancel the loss of another, and what a report
//! does not say is absent, never zero.
//!
//! # References
//! - Intended and offered load: RFC 2285 §3.5
//! - Loss ratio: RFC 1242 §3.6; duplication: RFC 5560; reordering: RFC 4737
//! - Packet delay variation: RFC 5481

mod cpu;
mod intervals;
mod losses;
mod one_way;
mod packets;
mod profile;
mod requests;
mod stages;
mod tcp;
mod turns;
mod validity;

pub use one_way::{needs_exchanges, with_exchanges};
pub use turns::{TurnReports, trial_of_turns};

use crate::ledger;
use linerate_model::run::{Delay, DelayOf, Trial};
use linerate_model::sample::{EndpointReport, Moments, Requester, Snapshot, StreamReport};
use linerate_model::signals::{self, SignalKind};
use linerate_model::spec::{Direction, Side, TestSpec};
use linerate_model::{BitRate, ByteCount, Histogram, PacketCount, PacketRate};
use std::collections::BTreeMap;
use std::time::Duration;

/// Makes the trial of one direction from what its two ends reported.
///
/// Rates are L4 payload. The offered load is the sender's bytes over the sender's counted time. The
/// received rate is the receiver's bytes over the longer of both counted times, so that a queue
/// that drains after the sender has stopped adds no rate that no link ever carried.
pub fn trial(
    index: u32,
    spec: &TestSpec,
    direction: Direction,
    sender: Option<EndpointReport>,
    receiver: Option<EndpointReport>,
) -> Trial {
    let ends = Ends::new(spec, sender.as_ref(), receiver.as_ref());
    let mut trial = Trial::new(index, spec.transport(), direction);
    trial.streams = Some(spec.streams);
    trial.payload_bytes = Some(spec.payload());
    trial.intended_load = spec.pace().intended_load();
    ends.rates(&mut trial);
    trial.packets = packets::count(&ends);
    ends.packet_rates(&mut trial);
    if let Some(packets) = trial.packets.as_ref().filter(|_| !ends.has_round_trips()) {
        trial.ledger = ledger::place(packets, ends.sender, ends.receiver);
    }
    trial.delay = ends.delay();
    trial.lateness = merged(ends.sender, |stream| stream.work.lateness())
        .and_then(|all| Delay::from_histogram(DelayOf::Lateness, all));
    requests::tell(&ends, &mut trial);
    trial.intervals = intervals::merge(&ends, trial.packets.as_ref());
    trial.tcp = tcp::summary(&ends);
    trial.cpu = cpu::summary(&ends);
    trial.profile = profile::summary(&ends);
    trial.one_way = one_way::summary(&ends).map(Box::new);
    trial.ipdv = one_way::ipdv(&ends).map(Box::new);
    trial.rtp_jitter_ns = one_way::rtp_jitter(&ends);
    trial.decomposition = stages::summary(&ends).map(Box::new);
    trial.counters = ends.counters();
    let verdict = validity::judge(&ends, &trial);
    trial.valid = verdict.is_valid();
    trial.reasons = verdict.reasons();
    trial.raw = sender.into_iter().chain(receiver).collect();
    trial
}

/// The two ends of one direction and what they were asked to do.
struct Ends<'a> {
    spec: &'a TestSpec,
    sender: Option<&'a EndpointReport>,
    receiver: Option<&'a EndpointReport>,
    /// An end whose protocol tells nothing of this kind of test: it gave a report without streams.
    silent: Option<Side>,
}

impl<'a> Ends<'a> {
    fn new(
        spec: &'a TestSpec,
        sender: Option<&'a EndpointReport>,
        receiver: Option<&'a EndpointReport>,
    ) -> Self {
        let is_silent = |report: &&EndpointReport| report.streams.is_empty();
        let silent = [sender, receiver].into_iter().flatten().find(is_silent);
        Self {
            spec,
            sender: sender.filter(|report| !is_silent(report)),
            receiver: receiver.filter(|report| !is_silent(report)),
            silent: silent.map(|report| report.side),
        }
    }
}

impl Ends<'_> {
    fn report(&self, side: Side) -> Option<&EndpointReport> {
        match side {
            Side::Sender => self.sender,
            Side::Receiver => self.receiver,
        }
    }

    fn has_round_trips(&self) -> bool {
        self.spec.work.has_round_trips()
    }

    /// Whether packets are numbered, so that each can be accounted for.
    fn is_datagrams(&self) -> bool {
        self.spec.work.is_datagrams()
    }

    fn rates(&self, trial: &mut Trial) {
        trial.duration = duration(self.sender).or_else(|| duration(self.receiver));
        trial.sent_bytes = self.bytes(Side::Sender);
        trial.received_bytes = self.bytes(Side::Receiver);
        trial.offered_load = trial
            .sent_bytes
            .zip(duration(self.sender))
            .and_then(|(bytes, time)| BitRate::from_bytes(bytes, time));
        trial.received_rate = trial
            .received_bytes
            .zip(self.received_over())
            .and_then(|(bytes, time)| BitRate::from_bytes(bytes, time));
    }

    fn packet_rates(&self, trial: &mut Trial) {
        let rate = |packets: Option<PacketCount>, time: Option<Duration>| {
            packets
                .zip(time)
                .and_then(|(packets, time)| PacketRate::from_packets(packets, time))
        };
        let Some(packets) = trial.packets else {
            if self.has_round_trips() {
                let done = self.sender.map(|report| total(report, |s| s.packets.get()));
                trial.received_packet_rate =
                    rate(done.map(PacketCount::new), duration(self.sender));
            }
            return;
        };
        if self.sender.is_some() {
            trial.offered_packet_rate = rate(packets.sent, duration(self.sender));
        }
        trial.received_packet_rate = rate(packets.received, self.received_over());
    }

    /// The time that the received rate is counted over.
    fn received_over(&self) -> Option<Duration> {
        if self.has_round_trips() {
            return duration(self.sender);
        }
        duration(self.receiver).max(duration(self.sender))
    }

    /// L4 payload bytes of one side; a ping-pong that does not count bytes has none.
    fn bytes(&self, side: Side) -> Option<ByteCount> {
        let bytes = total(self.report(side)?, |stream| stream.bytes.get());
        (bytes > 0 || !self.has_round_trips()).then_some(ByteCount::new(bytes))
    }

    /// Round trips where they were timed, else delay variation of datagrams.
    fn delay(&self) -> Option<Delay> {
        let rtt = merged(self.sender, |stream| stream.work.rtt());
        let pdv = merged(self.receiver, |stream| stream.work.times()?.pdv.as_ref());
        rtt.and_then(|all| Delay::from_histogram(DelayOf::RoundTrip, all))
            .map(|delay| exact(delay, self.sender))
            .or_else(|| pdv.and_then(|all| Delay::from_histogram(DelayOf::Pdv, all)))
    }

    fn counters(&self) -> BTreeMap<Side, BTreeMap<String, u64>> {
        [Side::Sender, Side::Receiver]
            .into_iter()
            .filter_map(|side| {
                let report = self.report(side)?;
                let gained = gained(&report.before, &report.after);
                (!gained.is_empty()).then_some((side, gained))
            })
            .collect()
    }
}

/// The delay with mean, deviation and ends of every single value, if they are those of its histogram.
fn exact(mut delay: Delay, report: Option<&EndpointReport>) -> Delay {
    let all = streams(report).filter_map(|stream| stream.work.get::<Requester>()?.rtt_moments);
    let Some(moments) = all.reduce(Moments::merged) else {
        return delay;
    };
    // Reports may come from the peer: what its own histogram denies is not believed.
    let near =
        |own: u64, told: Option<u64>| told.is_some_and(|told| own.abs_diff(told) <= told / 500 + 1);
    let end = |nanos: u64| PacketCount::new(nanos).as_f64();
    let inside = (end(moments.min_ns)..=end(moments.max_ns)).contains(&moments.mean_ns);
    let is_its = Some(moments.count) == delay.count
        && near(moments.min_ns, delay.min_ns)
        && near(moments.max_ns, delay.max_ns)
        && inside
        && moments.stdev_ns.is_finite();
    if is_its {
        delay.mean_ns = Some(moments.mean_ns);
        delay.stdev_ns = Some(moments.stdev_ns);
        return delay.with_ends(moments.min_ns, moments.max_ns);
    }
    delay
}

/// What each host-wide counter gained. One that went backwards is left out.
fn gained(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, u64> {
    signals::ALL
        .iter()
        .filter(|signal| signal.kind == SignalKind::Counter)
        .filter_map(|signal| {
            let gained = after.gained(before, signal.name)?;
            Some((signal.name.to_owned(), gained))
        })
        .collect()
}

fn streams(report: Option<&EndpointReport>) -> impl Iterator<Item = &StreamReport> {
    report.into_iter().flat_map(|report| &report.streams)
}

/// A sum over streams that saturates, since reports come from the peer.
fn total(report: &EndpointReport, part: impl Fn(&StreamReport) -> u64) -> u64 {
    report.streams.iter().map(part).fold(0, u64::saturating_add)
}

/// Counted time of the longest stream; `None` when no time was counted.
fn duration(report: Option<&EndpointReport>) -> Option<Duration> {
    streams(report)
        .map(|stream| stream.duration)
        .max()
        .filter(|time| !time.is_zero())
}

/// One histogram of all streams; `None` when no stream has one.
fn merged(
    report: Option<&EndpointReport>,
    part: impl Fn(&StreamReport) -> Option<&Histogram>,
) -> Option<Histogram> {
    let mut all: Option<Histogram> = None;
    for histogram in streams(report).filter_map(part) {
        all.get_or_insert_default().merge(histogram);
    }
    all
}

#[cfg(test)]
pub(crate) mod tests;
