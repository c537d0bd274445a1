//! The results both ends exchange, to and from reports.
//!
//! What iperf3 says of a receiver of datagrams is the highest number it saw and how many were missing
//! below it, where every late one takes back a missing one; so `packets` of its report is the
//! difference, and duplicates are not to be told from datagrams that were reordered. Its bytes leave the
//! warm-up out, its packets do not. The time of a far receiver of datagrams is not taken over: it says when
//! it heard that the test is over, not when the last one came. A far sender's retransmissions are all that is known of its TCP.
//!
//! Streams are numbered 1, 3, 4, 5, … in the order of their creation: all that the client sends, then
//! all that the server sends.

use super::MAX_RESULTS;
use super::inbox::Inbox;
use super::params::as_count;
use crate::error::{Excerpt, ProtocolError};
use linerate_model::sample::{
    EndpointReport, Omitted, SequenceCount, Snapshot, StreamReport, TcpSample,
};
use linerate_model::spec::{Direction, Side, Stop, TestSpec, Transport};
use linerate_model::{ByteCount, PacketCount};
use serde_json::{Value, json};
use std::time::Duration;

/// Who is speaking, or spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Server,
}

/// The number of the stream that was made as the `position`-th, from 0.
const fn id(position: u32) -> u32 {
    if position == 0 { 1 } else { position + 2 }
}

/// The sides that an end plays, in the order their streams are made, with the position of the first stream.
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
            let mut stream = found.cloned().unwrap_or_default();
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
        .find_map(|stream| stream.congestion_control.clone());
    let mut value = json!({
        "cpu_util_total": 0.0,
        "cpu_util_user": 0.0,
        "cpu_util_system": 0.0,
        "sender_has_retransmits": if sends { i32::from(spec.transport == Transport::Tcp) } else { -1 },
        "streams": streams,
    });
    if let (Some(name), Some(map)) = (congestion, value.as_object_mut()) {
        map.insert("congestion_used".to_owned(), json!(name));
    }
    value
}

fn entry(id: u32, side: Side, stream: &StreamReport) -> Value {
    let omitted = stream.omitted.unwrap_or_default();
    let (packets, errors) = match (side, stream.sequence) {
        (Side::Receiver, Some(sequence)) => (
            sequence.next_expected,
            sequence
                .next_expected
                .saturating_sub(sequence.received.get()),
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
    let jitter = Duration::from_nanos(stream.rtp_jitter_ns.unwrap_or(0));
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

/// Segments that this end's sender repeated, from its first reading to its last.
pub(super) fn retransmitted(stream: &StreamReport) -> Option<u64> {
    let (first, last) = (stream.tcp.first()?, stream.tcp.last()?);
    last.retrans_segments?.checked_sub(first.retrans_segments?)
}

/// The reports of the far end, once its results are there; `state` is this end's.
pub(super) fn take(
    inbox: &mut Inbox,
    theirs: End,
    spec: &TestSpec,
    state: &'static str,
) -> Result<Option<Vec<EndpointReport>>, ProtocolError> {
    let (message, offset) = ("results", inbox.offset());
    let Some(value) = inbox.take_json(state, message, MAX_RESULTS)? else {
        return Ok(None);
    };
    let reports = from_json(theirs, spec, &value).map_err(|cause| ProtocolError::Body {
        state,
        message,
        offset,
        bytes: Excerpt::of(value.to_string().as_bytes()),
        cause,
    })?;
    Ok(Some(reports))
}

/// The far end's reports.
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
    let report = |(side, first): (Side, u32)| {
        let stream = |index: u16| {
            let wanted = u64::from(id(first + u32::from(index)));
            let found = list
                .iter()
                .find(|entry| entry.get("id").and_then(as_count) == Some(wanted))
                .ok_or_else(|| format!("nothing about stream {wanted}"))?;
            let mut stream = stream(side, spec, found)?;
            stream.index = index;
            let name = congestion.filter(|name| name.len() < 16);
            stream.congestion_control = name.map(|name| crate::error::clean(name, 16));
            Ok(stream)
        };
        let streams: Result<Vec<_>, String> = (0..spec.streams).map(stream).collect();
        Ok(EndpointReport {
            side,
            streams: streams?,
            before: Snapshot::default(),
            after: Snapshot::default(),
            profile: None,
        })
    };
    parts.into_iter().map(report).collect()
}

/// Leaves out of the far receivers' time what this end's word came `later` than its last byte: iperf3
/// counts time up to that word.
pub(super) fn leave_out(reports: &mut [EndpointReport], later: Duration) {
    for report in reports.iter_mut().filter(|r| r.side == Side::Receiver) {
        for stream in &mut report.streams {
            stream.duration = stream.duration.saturating_sub(later);
        }
    }
}

fn stream(side: Side, spec: &TestSpec, entry: &Value) -> Result<StreamReport, String> {
    let needed = |key: &str| {
        let value = entry.get(key).and_then(as_count);
        value.ok_or_else(|| format!("{key} of a stream is missing or no number from 0 to 2^53"))
    };
    let seconds = |key: &str| {
        let value = entry.get(key).and_then(Value::as_f64);
        value.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    };
    let measured = seconds("end_time")
        .and_then(|end| end.checked_sub(seconds("start_time").unwrap_or_default()))
        .filter(|time| !time.is_zero() && *time < Duration::from_hours(48));
    let duration = measured.unwrap_or(match spec.stop {
        Stop::After(time) => time,
        Stop::Bytes(_) | Stop::Transactions(_) => Duration::ZERO,
    });
    let mut report = StreamReport {
        bytes: ByteCount::new(needed("bytes")?),
        duration,
        ..StreamReport::default()
    };
    match (spec.transport, side) {
        (Transport::Udp, Side::Sender) => report.packets = PacketCount::new(needed("packets")?),
        (Transport::Udp, Side::Receiver) => {
            // It runs on to the word that ends the test, whenever the last datagram came.
            report.duration = Duration::ZERO;
            let missing = signed(entry, "errors").unwrap_or(0);
            report.packets = PacketCount::new(needed("packets")?.saturating_sub(missing));
            let nanos = seconds("jitter").map(|jitter| jitter.as_nanos());
            report.rtp_jitter_ns = nanos
                .and_then(|nanos| u64::try_from(nanos).ok())
                // Before 3.8 a jitter could hold the offset of the clocks.
                .filter(|nanos| duration.is_zero() || u128::from(*nanos) <= duration.as_nanos());
        }
        (Transport::Tcp, Side::Sender) => {
            let segments = entry.get("retransmits").and_then(as_count);
            report.tcp = segments.map_or_else(Vec::new, |segments| readings(segments, duration));
        }
        (Transport::Tcp, Side::Receiver) => {}
    }
    Ok(report)
}

/// Iperf3 can count a datagram that came twice as one lost less than none.
fn signed(entry: &Value, key: &str) -> Option<u64> {
    let value = entry.get(key)?;
    as_count(value).or_else(|| value.as_f64().filter(|v| *v < 0.0).map(|_| 0))
}

/// Two readings that say no more than how many segments were repeated between them.
fn readings(segments: u64, duration: Duration) -> Vec<TcpSample> {
    let reading = |at: u128, count| TcpSample {
        at_ns: u64::try_from(at).unwrap_or(u64::MAX),
        retrans_segments: Some(count),
        ..TcpSample::default()
    };
    vec![reading(0, 0), reading(duration.as_nanos(), segments)]
}

/// For tests of this room and the log: what a receiver counted as lost.
pub(super) fn lost(sequence: &SequenceCount) -> u64 {
    sequence
        .next_expected
        .saturating_sub(sequence.received.get())
}

/// The omitted part, for the log.
pub(super) fn omitted(stream: &StreamReport) -> Omitted {
    stream.omitted.unwrap_or_default()
}
