//! Whether a trial's numbers can be trusted, and what to be careful about.

use super::packets::{self, by_stream, received};
use super::{Ends, path_mtu, requests, streams, total};
use crate::outage::is_unreachable;
use crate::readings::is_packet_filters;
use linerate_model::PacketCount;
use linerate_model::run::Trial;
use linerate_model::sample::{
    DatagramReceiver, DatagramSender, EndpointReport, PeerStream, StreamReport,
};
use linerate_model::signals::{self, SignalKind};
use linerate_model::spec::{MAX_OVERTIME, Side, Stop};
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything there is to say, and whether any of it spoils the trial.
#[derive(Default)]
pub(super) struct Judgement {
    spoilt: Vec<String>,
    careful: Vec<String>,
}

impl Judgement {
    pub(super) fn is_valid(&self) -> bool {
        self.spoilt.is_empty()
    }

    /// What spoils first.
    pub(super) fn reasons(self) -> Vec<String> {
        self.spoilt.into_iter().chain(self.careful).collect()
    }
}

/// Judges the reports against each other and against what was asked for.
pub(super) fn judge(ends: &Ends<'_>, trial: &Trial) -> Judgement {
    let mut judgement = Judgement::default();
    reports_exist(ends, &mut judgement);
    more_received_than_sent(ends, trial, &mut judgement);
    ends_unheard(ends, &mut judgement);
    for (side, report) in [("sender", ends.sender), ("receiver", ends.receiver)] {
        if let Some(report) = report {
            clocks(side, report, &mut judgement);
            counters_went_back(side, report, &mut judgement);
            path_notes(side, report, &mut judgement);
        }
    }
    ended_early(ends, trial, &mut judgement);
    beyond_the_load(ends, trial, &mut judgement);
    too_few(ends, &mut judgement);
    refused(ends, &mut judgement);
    send_errors(ends, &mut judgement);
    broken_connections(ends, &mut judgement);
    path_mtu::fragments(ends, &mut judgement.careful);
    strays(ends, &mut judgement);
    untimed_losses(ends, trial, &mut judgement);
    shorter_datagrams(ends, &mut judgement);
    sender_clock(ends, &mut judgement);
    judgement.careful.extend(requests::cautions(trial));
    connections(trial, &mut judgement);
    judgement
}

/// Delays that the sender's clock spoilt.
fn sender_clock(ends: &Ends<'_>, judgement: &mut Judgement) {
    let mut received =
        streams(ends.receiver).filter_map(|stream| stream.work.get::<DatagramReceiver>());
    if received.any(|receiver| receiver.is_sender_clock_set) {
        judgement.careful.push(
            "the time of day of the sender's host, by which its tool stamps datagrams, was set during the test: delay \
             variation and jitter are not known"
                .to_owned(),
        );
    }
}

/// What became of connections beside their answers.
fn connections(trial: &Trial, judgement: &mut Judgement) {
    let Some(outcomes) = trial.connections() else {
        return;
    };
    let client = &outcomes.client;
    if client.answered.get() == 0 {
        let none = format!(
            "none of {} connections was answered",
            client.attempted.get()
        );
        judgement.spoilt.push(none);
    }
    let others = [
        (
            client.without_port,
            "attempts found no free local port (EADDRNOTAVAIL)",
        ),
        (
            client.not_closed,
            "answered connections were not closed by the server in time",
        ),
        (client.lost_open, "connections ended that were to stay open"),
    ];
    let failures = client
        .failures()
        .map(|(count, what)| (count, format!("connections: {what}")));
    let others = others.map(|(count, what)| (count, what.to_owned()));
    let known = failures.into_iter().chain(others);
    let known = known.filter(|(count, _)| count.get() > 0);
    judgement
        .careful
        .extend(known.map(|(count, what)| format!("{} {what}", count.get())));
    if let Some(server) = &outcomes.server
        && server.foreign.get() > 0
    {
        judgement.careful.push(format!(
            "{} connections to the server's ports were not this test's; they count nowhere",
            server.foreign.get()
        ));
    }
}

/// Said of a side whose protocol tells nothing of a TCP stream.
pub(crate) const TELLS_NOTHING: &str = "'s tool tells nothing of a TCP stream";

fn reports_exist(ends: &Ends<'_>, judgement: &mut Judgement) {
    if let Some(side) = ends.silent {
        let (side, rest) = match side {
            Side::Sender => ("sender", "what it offered is not known"),
            Side::Receiver => (
                "receiver",
                "what its application took is not known, only what its TCP acknowledged",
            ),
        };
        judgement
            .careful
            .push(format!("the {side}{TELLS_NOTHING}: {rest}"));
    }
    if ends.sender.is_none() && ends.silent != Some(Side::Sender) {
        judgement.spoilt.push(
            "no report from the sender: what it offered and any loss at the end are not known"
                .to_owned(),
        );
    }
    if ends.receiver.is_none() && ends.silent != Some(Side::Receiver) {
        let text = "no report from the receiver: what arrived is not known";
        if ends.has_round_trips() {
            judgement.careful.push(
                "no report from the responder: its CPU and counters are not known".to_owned(),
            );
        } else {
            judgement.spoilt.push(text.to_owned());
        }
    }
}

fn more_received_than_sent(ends: &Ends<'_>, trial: &Trial, judgement: &mut Judgement) {
    let (Some(sender), Some(receiver)) = (ends.sender, ends.receiver) else {
        return;
    };
    if ends.is_datagrams() {
        let sent = by_stream(sender, |stream| stream.packets.get());
        for (index, got) in by_stream(receiver, received) {
            let given = sent.get(&index).copied().unwrap_or(0);
            if got > given {
                judgement.spoilt.push(format!(
                    "stream {index}: the receiver counted {got} datagrams, the sender sent {given}"
                ));
            }
        }
        let reported = by_stream(receiver, |_| 0);
        for index in sent.keys().filter(|index| !reported.contains_key(index)) {
            judgement.spoilt.push(format!(
                "stream {index}: no report from the receiver, so its loss is not known"
            ));
        }
    } else if !ends.has_round_trips()
        && ends.spec.warm_up.is_zero()
        && trial.received_bytes > trial.sent_bytes
    {
        judgement.spoilt.push(format!(
            "the receiver took {} bytes, the sender sent {}",
            total(receiver, |stream| stream.bytes.get()),
            total(sender, |stream| stream.bytes.get())
        ));
    }
}

/// A sender that says in its stream how many it sent, and was not heard, counts by the numbers of what came.
fn ends_unheard(ends: &Ends<'_>, judgement: &mut Judgement) {
    let known = ends.sender.map(|report| by_stream(report, |_| 0));
    for stream in streams(ends.receiver) {
        let is_unheard = |received: &DatagramReceiver| {
            received.sent_in.is_some() && received.sent_there.is_none()
        };
        if stream.work.get().is_some_and(is_unheard)
            && known
                .as_ref()
                .is_some_and(|known| known.contains_key(&stream.index))
        {
            judgement.careful.push(format!(
                "stream {}: its last datagram, which says how many were sent, did not come; sent are those up to the last that came",
                stream.index
            ));
        }
    }
}

/// The counted time must lie within the two snapshots, on the same clock: but for the rest of a paced sender's last slot, since
/// n datagrams count as n slots of the schedule, and nothing waits for the end of the last.
fn clocks(side: &str, report: &EndpointReport, judgement: &mut Judgement) {
    // Snapshots are taken outside the counted time; this much is left for their own reading.
    const SNAPSHOT_TOLERANCE: Duration = Duration::from_millis(50);
    let (before, after) = (report.before.at_ns, report.after.at_ns);
    if after < before {
        judgement.spoilt.push(format!(
            "the {side}'s clock went back by {} ns during the trial",
            before - after
        ));
        return;
    }
    let window = Duration::from_nanos(after - before);
    let longest = report.streams.iter().max_by_key(|stream| stream.duration);
    let counted = longest.map_or(Duration::ZERO, |stream| stream.duration);
    let last_slot = longest.map_or(Duration::ZERO, last_slot);
    let within = window.saturating_add(SNAPSHOT_TOLERANCE);
    if !window.is_zero() && counted > within.saturating_add(last_slot) {
        judgement.spoilt.push(format!(
            "the {side} counted {:.3} s, but only {:.3} s passed between its snapshots",
            counted.as_secs_f64(),
            window.as_secs_f64()
        ));
    }
    // A peer whose protocol tells no times has no clock readings either.
    if counted.is_zero() && after > 0 && total(report, |stream| stream.packets.get()) > 1 {
        judgement
            .spoilt
            .push(format!("the {side} moved data in no time at all"));
    }
}

/// Of datagrams sent by a schedule; zero of other work.
fn last_slot(stream: &StreamReport) -> Duration {
    let slot = || {
        let sender = stream.work.get::<DatagramSender>()?;
        sender.pacing.lateness()?;
        let passed = [stream.packets, sender.refused, sender.unsent];
        let slots = passed.map(PacketCount::get).into_iter();
        let slots = u32::try_from(slots.fold(0, u64::saturating_add)).ok()?;
        stream.duration.checked_div(slots)
    };
    slot().unwrap_or_default()
}

fn counters_went_back(side: &str, report: &EndpointReport, judgement: &mut Judgement) {
    let back: Vec<&str> = signals::ALL
        .iter()
        .filter(|signal| signal.kind == SignalKind::Counter)
        .filter(|signal| {
            let (before, after) = (&report.before.values, &report.after.values);
            matches!((before.get(signal.name), after.get(signal.name)), (Some(a), Some(b)) if b < a)
        })
        .map(|signal| signal.name)
        .collect();
    if !back.is_empty() {
        judgement.careful.push(format!(
            "counters of the {side} went backwards and are left out: {}",
            back.join(", ")
        ));
    }
}

/// What a datapath says of what it asked the system for.
fn path_notes(side: &str, report: &EndpointReport, judgement: &mut Judgement) {
    let mut said: Vec<String> = Vec::new();
    for note in report.streams.iter().flat_map(|stream| &stream.path.notes) {
        let text = format!("{side}: {note}");
        if !said.contains(&text) {
            said.push(text);
        }
    }
    judgement.careful.extend(said);
}

/// Below this many packets the counted time, first to last packet, is naturally short.
const ENOUGH_PACKETS: u64 = 20;

fn sent_few(trial: &Trial) -> bool {
    let sent = trial.packets().and_then(|packets| packets.sent);
    sent.is_some_and(|sent| sent.get() < ENOUGH_PACKETS)
}

/// A trial that had less than half its time measured something else than was asked.
fn ended_early(ends: &Ends<'_>, trial: &Trial, judgement: &mut Judgement) {
    let Stop::After(asked) = ends.spec.stop else {
        return;
    };
    let (Some(sender), false) = (super::duration(ends.sender), sent_few(trial)) else {
        return;
    };
    // As many as were asked for at most is a whole test.
    let most = ends.spec.work.transactions().at_most;
    if most
        .zip(transactions(ends))
        .is_some_and(|(most, done)| done >= most)
    {
        return;
    }
    if sender < asked / 2 {
        judgement.spoilt.push(format!(
            "ended after {:.3} s of {:.3} s",
            sender.as_secs_f64(),
            asked.as_secs_f64()
        ));
    }
}

/// A sender that does not keep to its rate: what happens at the intended load is not known, and a load that is changed
/// changes nothing.
fn beyond_the_load(ends: &Ends<'_>, trial: &Trial, judgement: &mut Judgement) {
    /// Tools that count a rate in KiB, or send in bursts, go a few percent beyond it.
    const MOST: f64 = 1.25;
    let (Some(offered), Some(intended)) = (trial.offered_load, trial.intended_load) else {
        return;
    };
    if ends.is_datagrams() && !sent_few(trial) && offered.as_f64() > intended.as_f64() * MOST {
        judgement.spoilt.push(format!(
            "the sender sent {offered} where {intended} was intended: it does not keep to this rate; intend more than it sends, or another size"
        ));
    }
}

/// Transactions that were counted.
fn transactions(ends: &Ends<'_>) -> Option<u64> {
    let report = ends.sender?;
    Some(total(report, |stream| stream.packets.get()))
}

/// Fewer transactions than were asked for, though the test went on for them.
fn too_few(ends: &Ends<'_>, judgement: &mut Judgement) {
    let least = ends
        .spec
        .work
        .transactions()
        .at_least
        .zip(transactions(ends));
    if let Some((least, done)) = least.filter(|(least, done)| done < least) {
        judgement.careful.push(format!(
            "{done} transactions, fewer than the {least} asked for: the test goes on for them no longer than {} s",
            MAX_OVERTIME.as_secs()
        ));
    }
}

fn refused(ends: &Ends<'_>, judgement: &mut Judgement) {
    let refused = sum(ends, Side::Sender, |stream| stream.work.refused());
    if refused > 0 {
        judgement.careful.push(format!(
            "the sender's system refused {refused} datagrams; they count as not offered, not as lost"
        ));
    }
}

/// Errors of sending calls that are no shortage: what they mean, and that they are no loss.
fn send_errors(ends: &Ends<'_>, judgement: &mut Judgement) {
    if !ends.is_datagrams() {
        return;
    }
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for error in streams(ends.sender).flat_map(|stream| &stream.errors) {
        let count = counts.entry(&error.errno).or_default();
        *count = count.saturating_add(error.count);
    }
    for (errno, count) in counts {
        // What is too long for one packet is said with the path's MTU.
        if matches!(errno, "EAGAIN" | "ENOBUFS" | "EINTR")
            || errno == "EMSGSIZE" && path_mtu::is_known(ends)
        {
            continue;
        }
        let meaning = match errno {
            _ if is_packet_filters(errno) => {
                ": a packet filter on the sender's host refuses some of the datagrams"
            }
            "ECONNREFUSED" => {
                ": the receiver's host answered that nobody has the port open, so datagrams sent before were lost there"
            }
            "EMSGSIZE" => ": the datagrams are longer than the path takes without fragments",
            _ if is_unreachable(errno) => ": the sender's host has no way to the receiver",
            _ => "",
        };
        judgement.careful.push(format!(
            "{count} sending calls failed with {errno}{meaning}; what they did not take is not offered, not lost"
        ));
    }
}

/// Connections of byte streams that did not last as long as their test: the others had the path for themselves.
fn broken_connections(ends: &Ends<'_>, judgement: &mut Judgement) {
    /// What a call on a connection returns that is no more.
    const BROKEN: [&str; 4] = ["ECONNABORTED", "ECONNRESET", "ETIMEDOUT", "EPIPE"];
    if ends.is_datagrams() || ends.has_round_trips() {
        return;
    }
    let (mut broken, mut by) = (0_u64, Vec::new());
    for stream in streams(ends.sender) {
        let errors = stream.errors.iter();
        let errors = errors.filter(|error| BROKEN.contains(&error.errno.as_str()));
        let count = errors
            .clone()
            .fold(0, |sum: u64, one| sum.saturating_add(one.count));
        // A thread that carries several leaves each after its first error; one that carries one may try again.
        let count = if stream.flows.is_some() {
            count
        } else {
            count.min(1)
        };
        broken = broken.saturating_add(count);
        by.extend(errors.map(|error| error.errno.as_str()));
    }
    by.sort_unstable();
    by.dedup();
    if broken > 0 {
        judgement.careful.push(format!(
            "{} of {} connections broke before the test was over ({}): from then on the rate is that of the rest",
            broken.min(ends.spec.streams.into()),
            ends.spec.streams,
            by.join(", ")
        ));
    }
}

fn strays(ends: &Ends<'_>, judgement: &mut Judgement) {
    let sequence = |part: fn(&linerate_model::sample::SequenceCount) -> PacketCount| {
        sum(ends, Side::Receiver, move |stream: &StreamReport| {
            stream.work.sequence().map(part)
        })
    };
    let foreign = sequence(|sequence| sequence.foreign);
    if foreign > 0 {
        judgement.careful.push(format!(
            "{foreign} datagrams of another sender reached the receiver; they count nowhere"
        ));
    }
    let too_old = sequence(|sequence| sequence.too_old);
    if too_old > 0 {
        judgement.careful.push(format!(
            "{too_old} datagrams came too late to be told from duplicates; they count as lost"
        ));
    }
}

/// Losses of which a peer told their sum only.
fn untimed_losses(ends: &Ends<'_>, trial: &Trial, judgement: &mut Judgement) {
    let is_untimed = |stream: &StreamReport| {
        stream.work.get::<PeerStream>().is_some() && stream.intervals.is_empty()
    };
    let any = |count: Option<PacketCount>| count.filter(|count| count.get() > 0);
    let some_came = trial
        .packets()
        .filter(|packets| any(packets.received).is_some());
    let lost = some_came.and_then(|packets| any(packets.lost));
    if let Some(lost) = lost.filter(|_| streams(ends.receiver).any(is_untimed)) {
        judgement.careful.push(format!(
            "{lost} packets were lost, at unknown times: the receiver told no intervals, so an outage looks like any other loss"
        ));
    }
}

fn shorter_datagrams(ends: &Ends<'_>, judgement: &mut Judgement) {
    if let Some(size) = packets::clipped(ends) {
        judgement.careful.push(format!(
            "each datagram carried {} B of payload, not the {} B asked for: the sender's build takes no larger packets",
            size.get(),
            ends.spec.payload().get()
        ));
    }
}

fn sum(ends: &Ends<'_>, side: Side, part: impl Fn(&StreamReport) -> Option<PacketCount>) -> u64 {
    streams(ends.report(side))
        .filter_map(part)
        .map(PacketCount::get)
        .fold(0, u64::saturating_add)
}
