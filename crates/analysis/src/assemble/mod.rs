//! From the raw reports of both ends to one trial: sums, rates, packet accounting, delay, CPU, validity.
//!
//! Does not search and does not judge what limits (see [`conclude`](crate::conclude)).
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
mod path_mtu;
mod profile;
mod requests;
mod shares;
mod slots;
mod stages;
mod tcp;
mod turns;
mod validity;
mod work;

pub use one_way::{needs_exchanges, with_exchanges};
pub(crate) use requests::lateness_in_tail;
pub use turns::{TurnReports, trial_of_turns};
pub(crate) use validity::TELLS_NOTHING;

use crate::{ledger, outage};
use linerate_model::run::{DeviceReport, Measured, Trial, TrialEnd, TrialOrigin, TrialWork};
use linerate_model::sample::{EndpointReport, Snapshot, StreamReport};
use linerate_model::signals::{self, SignalKind};
use linerate_model::spec::{Direction, Side, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, Histogram};
use std::collections::BTreeMap;
use std::time::Duration;

/// Makes the trial of one direction of a test that its user ended, from what its two ends reported: it is as long as its
/// sender had sent.
pub fn stopped_trial(
    index: u32,
    spec: &TestSpec,
    direction: Direction,
    sender: Option<EndpointReport>,
    receiver: Option<EndpointReport>,
) -> Trial {
    let made = cut_short(spec, sender.as_ref());
    let mut trial = ended(index, &made, direction, sender, receiver, TrialEnd::User);
    trial.reasons.push(TrialEnd::BY_USER.to_owned());
    trial
}

/// The test that was made when it broke off `elapsed` after its traffic began.
pub fn broken_off(spec: &TestSpec, elapsed: Duration) -> TestSpec {
    let longest = match spec.stop {
        Stop::After(planned) => planned.min(elapsed),
        _ => elapsed,
    };
    TestSpec {
        stop: Stop::After(longest),
        ..spec.clone()
    }
}

/// The test that was made when the user stopped it: as long as its sender had sent.
pub fn cut_short(spec: &TestSpec, sender: Option<&EndpointReport>) -> TestSpec {
    let longest = streams(sender).map(|stream| stream.duration).max();
    TestSpec {
        stop: Stop::After(longest.unwrap_or_default()),
        ..spec.clone()
    }
}

/// Adds what the device under test did during `trial`, and places there what it dropped.
pub fn with_device(trial: &mut Trial, report: DeviceReport) {
    if let TrialWork::Datagrams(result) = &mut trial.work {
        ledger::place_at_device(&mut result.ledger, &report.counted);
    }
    if let Some(measured) = trial.measured_mut() {
        measured.device = Some(report);
    }
}

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
    let planned = TrialEnd::Planned;
    ended(index, spec, direction, sender, receiver, planned)
}

fn ended(
    index: u32,
    spec: &TestSpec,
    direction: Direction,
    sender: Option<EndpointReport>,
    receiver: Option<EndpointReport>,
    end: TrialEnd,
) -> Trial {
    let ends = Ends::new(spec, sender.as_ref(), receiver.as_ref());
    let mut trial = Trial::new(index, spec.transport(), direction, work::result(&ends));
    trial.streams = Some(spec.streams);
    trial.payload_bytes = Some(packets::clipped(&ends).unwrap_or_else(|| spec.payload()));
    trial.intended_load = spec.pace().intended_load();
    ends.rates(&mut trial);
    if trial.connections().is_some() && trial.flows().is_none() {
        // What their requests are in bits is nobody's rate.
        (trial.offered_load, trial.received_rate) = (None, None);
    }
    requests::offered(&ends, &mut trial);
    trial.shares = shares::of_streams(&ends);
    trial.intervals = intervals::merge(&ends, trial.packets());
    trial.cpu = cpu::summary(&ends);
    let verdict = validity::judge(&ends, &trial);
    trial.valid = verdict.is_valid();
    trial.reasons = verdict.reasons();
    let (counters, profile) = (ends.counters(), profile::summary(&ends));
    let measured = Measured {
        counters,
        profile,
        peer_output: None,
        end,
        device: None,
        raw: sender.into_iter().chain(receiver).collect(),
    };
    trial.origin = TrialOrigin::Measured(Box::new(measured));
    let mut outages = outage::find(&trial);
    outages.retain(|outage| outage.is_of_path());
    tcp::leave_out(&mut trial, &outages, spec.warm_up);
    trial.reasons.extend(outages.iter().map(outage::note));
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

    /// The time that the received rate is counted over.
    fn received_over(&self) -> Option<Duration> {
        let flows = self
            .spec
            .work
            .connections()
            .and_then(|work| work.flows.as_ref());
        if self.has_round_trips() && flows.is_none() {
            return duration(self.sender);
        }
        duration(self.receiver).max(duration(self.sender))
    }

    /// L4 payload bytes of one side; a ping-pong that does not count bytes has none.
    fn bytes(&self, side: Side) -> Option<ByteCount> {
        let bytes = total(self.report(side)?, |stream| stream.bytes.get());
        (bytes > 0 || !self.has_round_trips()).then_some(ByteCount::new(bytes))
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
