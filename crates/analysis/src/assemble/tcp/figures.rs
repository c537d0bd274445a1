//! What windows allow, RFC 6349's metrics, and retransmissions.
//!
//! # References
//! - Framework for TCP throughput testing: RFC 6349 §3.3 (BDP), §4.1 (efficiency, transfer time), §4.2 (buffer delay)

use super::{Ends, Stream, gained};
use linerate_model::sample::TcpSample;
use linerate_model::signals;
use linerate_model::spec::Side;
use linerate_model::tcp::{BottleneckFrom, Rfc6349, TcpRetransmissions, TcpWindows};
use linerate_model::{BitRate, ByteCount, FrameOverhead, Layer, Ratio};
use std::time::Duration;

/// Bits per second of one window per round-trip time.
fn per_rtt(bytes: u64, rtt_ns: u64) -> Option<BitRate> {
    BitRate::from_bytes(ByteCount::new(bytes), Duration::from_nanos(rtt_ns))
}

/// The sum of what each stream has; `None` if any lacks it.
fn sum(streams: &[Stream<'_>], part: impl Fn(&Stream<'_>) -> Option<u64>) -> Option<u64> {
    let mut whole = Some(0_u64).filter(|_| !streams.is_empty())?;
    for stream in streams {
        whole = whole.saturating_add(part(stream)?);
    }
    Some(whole)
}

fn rates(streams: &[Stream<'_>], window: impl Fn(&Stream<'_>) -> Option<u64>) -> Option<BitRate> {
    let rate = |stream: &Stream<'_>| {
        let rtt = stream.mean(|sample| sample.srtt_ns)?;
        Some(per_rtt(window(stream)?, rtt)?.bps())
    };
    sum(streams, rate).map(BitRate::from_bps)
}

fn advertised(stream: &Stream<'_>) -> Option<u64> {
    stream.loaded().filter_map(|s| s.snd_wnd_bytes).max()
}

fn send_buffer(stream: &Stream<'_>) -> Option<u64> {
    stream.report.path.send_buffer_bytes.map(ByteCount::get)
}

/// `None` if no window is known.
pub(super) fn windows(streams: &[Stream<'_>]) -> Option<TcpWindows> {
    let windows = TcpWindows {
        receiver_window_bytes: sum(streams, advertised).map(ByteCount::new),
        send_buffer_bytes: sum(streams, send_buffer).map(ByteCount::new),
        congestion_window_rate: rates(streams, |stream| stream.mean(|s| s.cwnd_bytes)),
        receiver_window_rate: rates(streams, advertised),
        send_buffer_rate: rates(streams, send_buffer),
    };
    (windows != TcpWindows::default()).then_some(windows)
}

/// `rtts` are the mean under load and the smallest.
pub(super) fn rfc6349(
    ends: &Ends<'_>,
    streams: &[Stream<'_>],
    rtts: Option<(u64, u64)>,
) -> Option<Rfc6349> {
    let sent = gained(streams, |s| s.bytes_sent);
    let again = gained(streams, |s| s.bytes_retrans);
    let bottleneck = bottleneck(ends, streams);
    let seconds = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64();
    let metrics = Rfc6349 {
        efficiency_ratio: sent
            .zip(again)
            .filter(|(sent, _)| *sent > 0)
            .map(|(sent, again)| Ratio::from_parts(sent.saturating_sub(again), sent)),
        buffer_delay_ratio: rtts
            .filter(|(_, base)| *base > 0)
            .map(|(mean, base)| seconds(mean.saturating_sub(base)) / seconds(base)),
        transfer_time_ratio: bottleneck.and_then(|(rate, _)| transfer_time(ends, rate)),
        bottleneck: bottleneck.map(|(rate, _)| rate),
        bottleneck_from: bottleneck.map(|(_, from)| from),
        bdp_bytes: bottleneck
            .zip(rtts)
            .map(|((rate, _), (_, base))| rate.bytes_in(Duration::from_nanos(base))),
    };
    (metrics != Rfc6349::default()).then_some(metrics)
}

/// The slower interface's speed as L4 payload; where none is known, what TCP saw delivered at best.
fn bottleneck(ends: &Ends<'_>, streams: &[Stream<'_>]) -> Option<(BitRate, BottleneckFrom)> {
    let smss = streams
        .iter()
        .filter_map(|s| s.readings.last()?.smss_bytes)
        .max()?;
    let speed = [Side::Sender, Side::Receiver]
        .into_iter()
        .filter_map(|side| ends.report(side)?.after.values.get(signals::LINK_SPEED_BPS))
        .copied()
        .filter(|bps| *bps > 0)
        .min();
    if let Some(bps) = speed {
        let rate = FrameOverhead::TCP_IPV4.payload_rate(Layer::L1, BitRate::from_bps(bps), smss);
        return Some((rate, BottleneckFrom::LinkSpeed));
    }
    let own = |sample: &&TcpSample| sample.delivery_rate_app_limited == Some(false);
    let best = |stream: &Stream<'_>| {
        let limited = stream.loaded().filter(own);
        limited.filter_map(|s| s.delivery_rate_bps).max()
    };
    let rate = BitRate::from_bps(sum(streams, best)?);
    Some((rate, BottleneckFrom::DeliveryRate))
}

/// Actual over ideal time for the bytes that arrived.
fn transfer_time(ends: &Ends<'_>, bottleneck: BitRate) -> Option<f64> {
    let actual = ends.received_over()?;
    let ideal = bottleneck.time_for(ends.bytes(Side::Receiver)?)?;
    (!ideal.is_zero()).then(|| actual.as_secs_f64() / ideal.as_secs_f64())
}

/// `None` if nothing of it is known.
pub(super) fn retransmissions(
    ends: &Ends<'_>,
    streams: &[Stream<'_>],
) -> Option<TcpRetransmissions> {
    let host = |signal: &str| {
        let report = ends.sender?;
        report.after.gained(&report.before, signal)
    };
    let counts = TcpRetransmissions {
        sent: gained(streams, |s| s.data_segments_sent),
        segments: gained(streams, |s| s.retrans_segments),
        needless: gained(streams, |s| s.dsack_dups),
        reordering_seen: gained(streams, |s| s.reordering_seen),
        timeouts: gained(streams, |s| s.timeouts),
        needless_timeouts: host(signals::TCP_SPURIOUS_TIMEOUTS),
        timeout_ns: gained(streams, |s| s.timeout_ns),
        marked: gained(streams, |s| s.delivered_ce),
    };
    (counts != TcpRetransmissions::default()).then_some(counts)
}
