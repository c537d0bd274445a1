//! The results both ends exchange, to and from reports.
//!
//! What iperf3 says of a receiver of datagrams is the highest number it saw and how many were missing
//! below it, where every late one takes back a missing one; so `packets` of its report is the
//! difference, and duplicates are not to be told from datagrams that were reordered. Its bytes leave the
//! warm-up out, its packets do not; from 3.14 on it says beside them how many of both were the warm-up's.
//! Each end has its own clock for that: see [`align`]. The time of a far receiver of datagrams is not taken over: it says when
//! it heard that the test is over, not when the last one came. A far sender's retransmissions are all that is known of its TCP.
//!
//! Streams are numbered 1, 3, 4, 5, … in the order of their creation: all that the client sends, then
//! all that the server sends.

use super::params::as_count;
use super::{MAX_RESULTS, far_log};
use crate::error::{Excerpt, MAX_TEXT, ProtocolError, Result, clean};
use crate::inbox::Inbox;
use crate::session::Sent;
use linerate_model::sample::{
    DatagramReceiver, EndpointReport, Omitted, PeerStream, SequenceCount, StreamReport, StreamWork,
    TcpSample,
};
use linerate_model::spec::{Direction, Side, Stop, TestSpec, Transport};
use linerate_model::{ByteCount, PacketCount};
use serde_json::{Value, json};
use std::time::Duration;

/// Maximum lines of a server's output that are kept.
const MAX_LINES: usize = 10_000;

/// Role of the end whose results these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Server,
}

/// iperf3's id of the stream created at `position`, from 0.
const fn id(position: u32) -> u32 {
    if position == 0 { 1 } else { position + 2 }
}

/// Sides that an end plays, in the order in which their streams are created, with the position of the first stream.
fn parts(end: End, spec: &TestSpec) -> Vec<(Side, u32)> {
    let (first, second) = match end {
        End::Client => (Side::Sender, Side::Receiver),
        End::Server => (Side::Receiver, Side::Sender),
    };
    match spec.direction {
        Direction::Forward => vec![(first, 0)],
        Direction::Reverse => vec![(second, 0)],
        Direction::Duplex => vec![(first, 0), (second, u32::from(spec.streams))],
    }
}

/// This end's results.
///
/// A receiver's time is at least `elapsed`: iperf3 counts from the beginning of the test to the word that
/// ends it, not from the first datagram to the last.
pub(super) fn to_json(
    end: End,
    spec: &TestSpec,
    reports: &[EndpointReport],
    elapsed: Duration,
) -> Value {
    let mut streams = Vec::new();
    for (side, first) in parts(end, spec) {
        let report = reports.iter().find(|report| report.side == side);
        for index in 0..spec.streams {
            let found = report.and_then(|report| report.streams.iter().find(|s| s.index == index));
            let unreported = || StreamReport::new(index, StreamWork::Unreported);
            let mut stream = found.cloned().unwrap_or_else(unreported);
            if side == Side::Receiver {
                stream.duration = stream.duration.max(elapsed);
            }
            streams.push(entry(id(first + u32::from(index)), side, &stream));
        }
    }
    let sends = parts(end, spec)
        .iter()
        .any(|(side, _)| *side == Side::Sender);
    let congestion = reports
        .iter()
        .flat_map(|report| &report.streams)
        .find_map(|stream| stream.work.congestion_control());
    let cpu = CpuUse::of_traffic(spec, reports);
    let mut value = json!({
        "cpu_util_total": cpu.percent(cpu.total),
        "cpu_util_user": cpu.percent(cpu.total.saturating_sub(cpu.system)),
        "cpu_util_system": cpu.percent(cpu.system),
        "sender_has_retransmits": if sends { i32::from(spec.transport() == Transport::Tcp) } else { -1 },
        "streams": streams,
    });
    if let (Some(name), Some(map)) = (congestion, value.as_object_mut()) {
        map.insert("congestion_used".to_owned(), json!(name));
    }
    value
}

/// CPU time of the threads that carried this end's traffic. iperf3 reports that of its process.
#[derive(Debug, Clone, Copy, Default)]
struct CpuUse {
    total: Duration,
    /// Part of it in kernel mode.
    system: Duration,
    /// Wall time of the threads.
    time: Duration,
}

impl CpuUse {
    fn of_traffic(spec: &TestSpec, reports: &[EndpointReport]) -> Self {
        let mut all = Self::default();
        for report in reports {
            let between = report.after.at_ns.saturating_sub(report.before.at_ns);
            all.time = all.time.max(Duration::from_nanos(between));
            for stream in &report.streams {
                let helper = stream.path.helper_cpu.unwrap_or_default();
                let system = stream.thread_system_cpu.unwrap_or_default();
                all.total = all
                    .total
                    .saturating_add(stream.thread_cpu)
                    .saturating_add(helper);
                all.system = all.system.saturating_add(system).saturating_add(helper);
                all.time = all.time.max(stream.duration.saturating_add(spec.warm_up));
            }
        }
        all.system = all.system.min(all.total);
        all
    }

    /// `used` as a percentage of one core.
    fn percent(&self, used: Duration) -> f64 {
        if self.time.is_zero() {
            return 0.0;
        }
        used.as_secs_f64() / self.time.as_secs_f64() * 100.0
    }
}

fn entry(id: u32, side: Side, stream: &StreamReport) -> Value {
    let omitted = omitted(stream);
    let (packets, errors) = match (side, stream.work.sequence()) {
        (Side::Receiver, Some(sequence)) => (
            sequence.next_expected.saturating_add(omitted.packets.get()),
            lost(sequence).saturating_add(omitted.missing.get()),
        ),
        _ => (
            stream.packets.get().saturating_add(omitted.packets.get()),
            0,
        ),
    };
    let retransmits = match side {
        Side::Sender => retransmitted(stream).map_or_else(|| json!(-1), |segments| json!(segments)),
        Side::Receiver => json!(-1),
    };
    let jitter = Duration::from_nanos(stream.work.rtp_jitter_ns().unwrap_or(0));
    json!({
        "id": id,
        "bytes": stream.bytes.get(),
        "retransmits": retransmits,
        "jitter": jitter.as_secs_f64(),
        "errors": errors,
        "omitted_errors": omitted.missing.get(),
        "packets": packets,
        "omitted_packets": omitted.packets.get(),
        "start_time": 0.0,
        "end_time": stream.duration.as_secs_f64(),
    })
}

/// Segments retransmitted by this end's sender, from its first reading to its last.
pub(super) fn retransmitted(stream: &StreamReport) -> Option<u64> {
    let samples = stream.work.tcp_samples();
    let (first, last) = (samples.first()?, samples.last()?);
    last.retrans_segments?.checked_sub(first.retrans_segments?)
}

/// Contents of a server's results.
#[derive(Debug)]
pub(super) struct PeerResults {
    pub(super) reports: Vec<EndpointReport>,
    /// Output of the server, if requested.
    pub(super) output: Option<String>,
}

/// Takes the results of a server, once complete; `own` are the reports of this end, and `state` is its, for errors.
pub(super) fn take_of_server(
    inbox: &mut Inbox,
    spec: &TestSpec,
    own: &[EndpointReport],
    state: &'static str,
) -> Result<Option<PeerResults>> {
    let Some((value, mut reports)) = take(inbox, End::Server, spec, state)? else {
        return Ok(None);
    };
    far_log::add_intervals(&value, spec, own, &mut reports);
    let output = output(&value);
    Ok(Some(PeerResults { reports, output }))
}

/// Takes the peer's results and what they report, once complete; `state` is this end's, for errors.
pub(super) fn take(
    inbox: &mut Inbox,
    theirs: End,
    spec: &TestSpec,
    state: &'static str,
) -> Result<Option<(Value, Vec<EndpointReport>)>> {
    let (message, offset) = ("results", inbox.offset());
    let Some(value) = inbox.take_json(state, message, MAX_RESULTS)? else {
        return Ok(None);
    };
    let reports = from_json(theirs, spec, &value).map_err(|cause| ProtocolError::Body {
        state,
        message,
        offset,
        bytes: Excerpt::from_bytes(value.to_string().as_bytes()),
        cause,
    })?;
    Ok(Some((value, reports)))
}

/// Output of a server, as text or as JSON.
fn output(value: &Value) -> Option<String> {
    let text = match (
        value.get("server_output_text"),
        value.get("server_output_json"),
    ) {
        (Some(Value::String(text)), _) => text.clone(),
        (_, Some(json @ Value::Object(_))) => format!("{json:#}"),
        _ => return None,
    };
    let lines = text.lines().take(MAX_LINES);
    let lines: Vec<_> = lines.map(|line| clean(line, MAX_TEXT)).collect();
    Some(lines.join("\n"))
}

/// Reports of the peer from its results.
pub(super) fn from_json(
    theirs: End,
    spec: &TestSpec,
    value: &Value,
) -> Result<Vec<EndpointReport>, String> {
    let list = value
        .get("streams")
        .and_then(Value::as_array)
        .ok_or("there is no list of streams")?;
    let parts = parts(theirs, spec);
    let most = parts.len() * usize::from(spec.streams);
    if list.len() > most {
        return Err(format!("{} streams, the test has {most}", list.len()));
    }
    let congestion = value.get("congestion_used").and_then(Value::as_str);
    let congestion = congestion.filter(|name| name.len() < 16);
    let congestion = congestion.map(|name| clean(name, 16));
    let report = |(side, first): (Side, u32)| {
        let stream = |index: u16| {
            let wanted = u64::from(id(first + u32::from(index)));
            let found = list
                .iter()
                .find(|entry| entry.get("id").and_then(as_count) == Some(wanted))
                .ok_or_else(|| format!("nothing about stream {wanted}"))?;
            let mut peer_entry = PeerEntry::read(side, spec, found)?;
            peer_entry
                .work
                .tcp
                .congestion_control
                .clone_from(&congestion);
            Ok(peer_entry.into_report(index))
        };
        let streams: Result<Vec<_>, String> = (0..spec.streams).map(stream).collect();
        Ok(EndpointReport::of_streams(side, streams?))
    };
    parts.into_iter().map(report).collect()
}

/// Adds the tail loss: datagrams that the peer sent after the last one received, which leave no gap in the sequence.
/// `theirs` are the reports of the peer's senders.
pub(super) fn add_tail(own: &mut [EndpointReport], theirs: &[EndpointReport]) {
    let sent = theirs.iter().find(|report| report.side == Side::Sender);
    let own = own.iter_mut().find(|report| report.side == Side::Receiver);
    let (Some(sent), Some(own)) = (sent, own) else {
        return;
    };
    for stream in &mut own.streams {
        let found = sent.streams.iter().find(|s| s.index == stream.index);
        let before = omitted(stream).packets.get();
        if let (Some(sent), Some(receiver)) = (found, stream.work.get_mut::<DatagramReceiver>()) {
            let all = numbered(sent).saturating_sub(before);
            let sequence = &mut receiver.sequence;
            sequence.next_expected = sequence.next_expected.max(all);
        }
    }
}

/// What the client's senders gave to their system: `theirs` are its reports.
///
/// Of byte streams with a warm-up iperf3 tells only what it sent after that, by its own clock: not enough to
/// know when all has come.
pub(super) fn sent(spec: &TestSpec, theirs: &[EndpointReport]) -> Sent {
    let Some(senders) = theirs.iter().find(|report| report.side == Side::Sender) else {
        return Sent::Untold;
    };
    let streams = senders.streams.iter();
    match spec.transport() {
        Transport::Udp => Sent::Packets(streams.map(|s| PacketCount::new(numbered(s))).collect()),
        Transport::Tcp if spec.warm_up.is_zero() => Sent::Bytes(streams.map(|s| s.bytes).collect()),
        Transport::Tcp => Sent::Untold,
    }
}

/// All datagrams that a sender numbered, warm-up included.
fn numbered(sender: &StreamReport) -> u64 {
    let before = omitted(sender).packets.get();
    sender.packets.get().saturating_add(before)
}

/// Makes the peer's counts of datagrams of a test with a warm-up fit this end's.
///
/// Both ends end the warm-up by their own clocks, so their counted datagrams are not the same ones; loss is the
/// same whichever is taken. So a far sender counts what came after the number at which this end's
/// receiver began to count, and a far receiver what this end's sender counted less what was lost after
/// the peer's warm-up. Their bytes are those of these datagrams.
pub(super) fn align(
    spec: &TestSpec,
    own: &[EndpointReport],
    theirs: &mut [EndpointReport],
) -> Result<(), String> {
    if spec.warm_up.is_zero() || spec.transport() != Transport::Udp {
        return Ok(());
    }
    for report in theirs {
        let same_way = own.iter().find(|own| own.side == report.side.other());
        for stream in &mut report.streams {
            let of_index = |own: &&StreamReport| own.index == stream.index;
            let found = same_way.and_then(|own| own.streams.iter().find(of_index));
            let Some(own) = found else { continue };
            stream.packets = PacketCount::new(match report.side {
                Side::Sender => {
                    let counted = numbered(stream).saturating_sub(omitted(own).packets.get());
                    counted.max(own.packets.get())
                }
                Side::Receiver => received_of(own, stream)?,
            });
            // Its bytes follow its own clock too; derive them from the datagram count.
            let payload = spec.payload().get();
            stream.bytes = ByteCount::new(stream.packets.get().saturating_mul(payload));
        }
    }
    Ok(())
}

/// Datagrams that `own` counted as sent, less those that the peer's receiver lost.
fn received_of(own: &StreamReport, theirs: &StreamReport) -> Result<u64, String> {
    let Some(before) = theirs.work.omitted() else {
        return Err("this iperf3 is older than 3.14 and does not tell datagrams of the warm-up from the others: leave out --warm-up".to_owned());
    };
    let taken_before = before.packets.get().saturating_sub(before.missing.get());
    let taken = theirs.packets.get().saturating_add(taken_before);
    let lost = numbered(own).saturating_sub(taken);
    let lost = lost.saturating_sub(before.missing.get());
    Ok(own.packets.get().saturating_sub(lost))
}

/// Subtracts `later`, by which this end's end message followed its last byte, from the time of the peer's receivers:
/// iperf3 counts time up to that message.
pub(super) fn leave_out(reports: &mut [EndpointReport], later: Duration) {
    for report in reports.iter_mut().filter(|r| r.side == Side::Receiver) {
        for stream in &mut report.streams {
            stream.duration = stream.duration.saturating_sub(later);
        }
    }
}

/// One stream of the peer's results.
struct PeerEntry {
    bytes: ByteCount,
    packets: PacketCount,
    duration: Duration,
    work: PeerStream,
}

impl PeerEntry {
    fn read(side: Side, spec: &TestSpec, entry: &Value) -> Result<Self, String> {
        let needed = |key: &str| {
            let value = entry.get(key).and_then(as_count);
            value.ok_or_else(|| format!("{key} of a stream is missing or no number from 0 to 2^53"))
        };
        let measured = seconds(entry, "end_time")
            .and_then(|end| end.checked_sub(seconds(entry, "start_time").unwrap_or_default()))
            .filter(|time| !time.is_zero() && *time < Duration::from_hours(48));
        let duration = measured.unwrap_or(match spec.stop {
            Stop::After(time) => time,
            Stop::Bytes(_) | Stop::Transactions(_) => Duration::ZERO,
        });
        let mut peer_entry = Self {
            bytes: ByteCount::new(needed("bytes")?),
            packets: PacketCount::default(),
            duration,
            work: PeerStream::default(),
        };
        if spec.transport() == Transport::Udp && !spec.warm_up.is_zero() {
            peer_entry.work.omitted = skipped(entry);
        }
        let before = peer_entry.work.omitted.unwrap_or_default();
        match (spec.transport(), side) {
            (Transport::Udp, Side::Sender) => {
                let counted = needed("packets")?.saturating_sub(before.packets.get());
                peer_entry.packets = PacketCount::new(counted);
            }
            (Transport::Udp, Side::Receiver) => {
                // The time runs until the end message, whenever the last datagram arrived: not usable.
                peer_entry.duration = Duration::ZERO;
                let missing = signed(entry, "errors").unwrap_or(0);
                let taken = match needed("packets")? {
                    // 3.0 does not know numbers of 64 bits: it reads their upper half.
                    0 => peer_entry.bytes.get() / spec.payload().get().max(1),
                    numbers => numbers.saturating_sub(missing),
                };
                let taken_before = before.packets.get().saturating_sub(before.missing.get());
                peer_entry.packets = PacketCount::new(taken.saturating_sub(taken_before));
                let nanos = seconds(entry, "jitter").map(|jitter| jitter.as_nanos());
                peer_entry.work.rtp_jitter_ns = nanos
                    .and_then(|nanos| u64::try_from(nanos).ok())
                    // Before 3.8 a jitter could contain the offset between the clocks.
                    .filter(|nanos| {
                        duration.is_zero() || u128::from(*nanos) <= duration.as_nanos()
                    });
            }
            (Transport::Tcp, Side::Sender) => {
                let segments = entry.get("retransmits").and_then(as_count);
                let readings = segments.map(|segments| readings(segments, duration));
                peer_entry.work.tcp.samples = readings.unwrap_or_default();
            }
            (Transport::Tcp, Side::Receiver) => {}
        }
        Ok(peer_entry)
    }

    fn into_report(self, index: u16) -> StreamReport {
        StreamReport {
            duration: self.duration,
            ..StreamReport::new(index, self.work).with_counts(self.bytes, self.packets)
        }
    }
}

fn seconds(entry: &Value, key: &str) -> Option<Duration> {
    let value = entry.get(key).and_then(Value::as_f64);
    value.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// Datagrams of the warm-up, which 3.14 and later report.
fn skipped(entry: &Value) -> Option<Omitted> {
    let packets = entry.get("omitted_packets").and_then(as_count)?;
    let missing = signed(entry, "omitted_errors")?;
    Some(Omitted {
        packets: PacketCount::new(packets),
        missing: PacketCount::new(missing.min(packets)),
    })
}

/// A count that may be negative: iperf3 subtracts duplicates from the loss. Clamped at zero.
fn signed(entry: &Value, key: &str) -> Option<u64> {
    let value = entry.get(key)?;
    as_count(value).or_else(|| value.as_f64().filter(|v| *v < 0.0).map(|_| 0))
}

/// Two readings whose difference is the number of retransmitted segments.
fn readings(segments: u64, duration: Duration) -> Vec<TcpSample> {
    let reading = |at: u128, count| TcpSample {
        at_ns: u64::try_from(at).unwrap_or(u64::MAX),
        retrans_segments: Some(count),
        ..TcpSample::default()
    };
    vec![reading(0, 0), reading(duration.as_nanos(), segments)]
}

/// Datagrams that a receiver counts as lost.
pub(super) fn lost(sequence: &SequenceCount) -> u64 {
    sequence
        .next_expected
        .saturating_sub(sequence.received.get())
}

/// Counts of a stream's warm-up.
fn omitted(stream: &StreamReport) -> Omitted {
    stream.work.omitted().unwrap_or_default()
}
