//! Figures of one trial that rules and signs both read.

use crate::thresholds::exclusion::ALLOWED;
use linerate_model::run::{CpuSide, Run, Trial, TrialInterval};
use linerate_model::sample::{DatagramReceiver, EndpointReport, StreamReport, TcpSample};
use linerate_model::signals::{
    CGROUP_THROTTLED_NS, NIC_INDEX, NIC_PEER_INDEX, NIC_RX_BYTES, NIC_TX_BYTES,
};
use linerate_model::spec::{Direction, Side, Transport};
use linerate_model::{BitRate, ByteCount, FrameOverhead, Layer, Ratio};
use std::time::Duration;

/// The mean; `None` of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    (n > 0.0).then(|| sum / n)
}

/// The intervals that tell of the test and not of its end: not the last part of one, nor what a queue still let through
/// after the sender had stopped.
pub(crate) fn whole_intervals(trial: &Trial) -> impl Iterator<Item = &TrialInterval> {
    let within = trial.duration.unwrap_or(Duration::MAX);
    let usual = trial.intervals.first().map(length).unwrap_or_default();
    trial.intervals.iter().filter(move |interval| {
        let sent = interval.end.min(within).saturating_sub(interval.start);
        let twice = sent.saturating_mul(2);
        twice >= usual && twice >= length(interval)
    })
}

/// The half of a trial that lasts fewer mean round trips tells less than the whole: TCP hands nothing on for one where a
/// segment was lost, and then all that came behind it.
const LASTING_RTTS: u32 = 10;

/// What was carried once queues had filled and buckets of tokens were empty, of L4 payload as the receiver counted it:
/// what arrived in the second half of a trial, or in all of it where there are no intervals or the half is short for its
/// round trips; `None` of nothing.
pub(crate) fn carried_rate(trial: &Trial) -> Option<BitRate> {
    let rate = lasting_rate(trial).or(trial.received_rate);
    rate.filter(|rate| rate.bps() > 0)
}

fn lasting_rate(trial: &Trial) -> Option<BitRate> {
    let half = trial.duration.map(|whole| whole / 2);
    let trips = || Duration::from_nanos(trial.tcp()?.srtt_mean_ns?).checked_mul(LASTING_RTTS);
    if trips().is_some_and(|trips| half.is_none_or(|half| half < trips)) {
        return None;
    }
    let rates = whole_intervals(trial).map(|interval| interval.received_rate.map(BitRate::as_f64));
    let rates: Vec<f64> = rates.collect::<Option<_>>()?;
    let late = rates.get(rates.len() / 2..).filter(|_| rates.len() > 1)?;
    mean(late.iter().copied()).map(BitRate::from_f64)
}

fn length(interval: &TrialInterval) -> Duration {
    interval.end.saturating_sub(interval.start)
}

/// The streams that `side` reports.
pub(crate) fn streams(trial: &Trial, side: Side) -> impl Iterator<Item = &StreamReport> {
    let reports = trial.raw().iter().filter(move |report| report.side == side);
    reports.flat_map(|report| &report.streams)
}

/// Whether the interfaces of the two ends are the two ends of one veth, by what each host says of its own.
pub(crate) fn is_veth_pair(one: &EndpointReport, other: &EndpointReport) -> bool {
    let number = |report: &EndpointReport, name| report.after.values.get(name).copied();
    let names = |here: &EndpointReport, there: &EndpointReport| {
        let peer = number(here, NIC_PEER_INDEX);
        peer.is_some() && peer == number(there, NIC_INDEX)
    };
    names(one, other) && names(other, one)
}

/// Whether `trial` went through one veth alone, which keeps to no rate.
pub(crate) fn is_within_veth(trial: &Trial) -> bool {
    let of = |side: Side| trial.raw().iter().find(move |report| report.side == side);
    let ends = of(Side::Sender).zip(of(Side::Receiver));
    ends.is_some_and(|(sender, receiver)| is_veth_pair(sender, receiver))
}

/// Fewer retransmissions than these are one unlucky loss.
const LEAST_AGAIN: u64 = 3;
/// A stream that got no more than this acknowledged never left its first windows, bytes.
const FIRST_WINDOWS: u64 = 65_536;

/// What TCP stood still at from its first windows on, up to its end, though it sent again and again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoodStill {
    /// Segment size.
    pub(crate) smss: u64,
    /// Times that a segment was sent again.
    pub(crate) again: u64,
    /// Bytes that the peer acknowledged.
    pub(crate) acked: u64,
}

/// Whether a sending TCP `stream` stood still so; shorter segments may have passed before.
pub(crate) fn stood_still(stream: &StreamReport) -> Option<StoodStill> {
    let samples = stream.work.tcp_samples();
    let last = samples.last()?;
    let still = StoodStill {
        smss: last.smss_bytes?,
        again: last.retrans_segments?,
        acked: last.bytes_acked?,
    };
    let since = samples
        .iter()
        .find(|sample| sample.bytes_acked == last.bytes_acked);
    let is_still = since.is_some_and(|since| since.at_ns <= last.at_ns / 2);
    let is_waiting = last.unacked_segments.is_none_or(|unacked| unacked > 0);
    let is_stalled =
        still.acked < still.smss || still.acked < FIRST_WINDOWS && is_still && is_waiting;
    (is_stalled && still.again >= LEAST_AGAIN).then_some(still)
}

/// Whether a sending call that failed so was refused by a packet filter of its host.
pub(crate) fn is_packet_filters(errno: &str) -> bool {
    matches!(errno, "EACCES" | "EPERM")
}

/// Share of the trial in which a control group of `side` was stopped by its CPU quota.
pub(crate) fn throttled_share(trial: &Trial, side: Side) -> Option<f64> {
    let stopped = *trial.counters(side)?.get(CGROUP_THROTTLED_NS)?;
    let whole = trial.duration?.as_secs_f64();
    (whole > 0.0).then(|| (Duration::from_nanos(stopped).as_secs_f64() / whole).min(1.0))
}

/// At each reading of a receiving TCP socket after the first, which is taken before the first byte: the share of its space
/// that held bytes which its application had not read.
pub(crate) fn unread_shares(trial: &Trial) -> impl Iterator<Item = f64> {
    let held = |sample: &TcpSample| {
        let unread = ByteCount::new(sample.unread_bytes?).as_f64();
        let open = ByteCount::new(sample.rcv_wnd_bytes?).as_f64();
        (unread + open > 0.0).then(|| unread / (unread + open))
    };
    streams(trial, Side::Receiver)
        .flat_map(|stream| stream.work.tcp_samples())
        .filter(|sample| sample.at_ns > 0)
        .filter_map(held)
}

/// Share of all cores of `side`'s host in which programs ran, also those of low priority, which were neither the traffic
/// threads of an end nor the device under test, as far as these are known.
pub(crate) fn others_share(trial: &Trial, side: Side) -> Option<f64> {
    let cpu = trial.cpu_of(side)?;
    let cores = u32::try_from(cpu.cores.len()).ok().filter(|n| *n > 0)?;
    let share = |share: Option<Ratio>| share.map_or(0.0, Ratio::get);
    let threads = [side, side.other()]
        .into_iter()
        .filter_map(|side| trial.cpu_of(side)?.thread_cores);
    let own = (threads.sum::<f64>() + device_cores(trial).unwrap_or_default()) / f64::from(cores);
    let busy = used_share(cpu)?;
    Some(busy - share(cpu.softirq_ratio) - share(cpu.steal_ratio) - own)
}

/// Share of all cores of a host that was not idle, with what programs of low priority took.
pub(crate) fn used_share(cpu: &CpuSide) -> Option<f64> {
    let niced = cpu.niced_ratio.map_or(0.0, Ratio::get);
    Some((cpu.host_ratio?.get() + niced).min(1.0))
}

/// Cores that the threads of the device under test used, none of one that is the kernel's; `None` where its threads are not
/// known.
pub(crate) fn device_cores(trial: &Trial) -> Option<f64> {
    let busy = trial.measured()?.device.as_ref()?.busy?;
    Some(busy.as_secs_f64() / trial.duration?.as_secs_f64().max(1e-9))
}

/// Whether the test was asked to go both ways at once.
pub(crate) fn is_duplex(run: &Run) -> bool {
    let test = run.config.test();
    test.is_some_and(|test| test.direction == Direction::Duplex)
}

/// Whether both ends are known to run on hosts of their own, not in containers of one.
pub(crate) fn are_apart(run: &Run, trial: &Trial) -> bool {
    let boot = |side| {
        let host = run.host_of(trial.direction, side)?;
        host.facts.boot_id.as_deref()
    };
    let boots = boot(Side::Sender).zip(boot(Side::Receiver));
    boots.is_some_and(|(sender, receiver)| sender != receiver)
}

/// What one window or buffer lets a stream carry, in bit/s: all of it in each round trip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowRate {
    /// At the mean round trip.
    usual: f64,
    /// At the shortest one.
    most: f64,
}

impl WindowRate {
    /// By `bytes` at the round trips of `trial`; `None` where these are not known.
    pub(crate) fn by(bytes: f64, trial: &Trial) -> Option<Self> {
        let at = |nanos: u64| bytes * 8.0 / Duration::from_nanos(nanos).as_secs_f64();
        let known = |nanos: Option<u64>| nanos.filter(|nanos| *nanos > 0);
        let tcp = trial.tcp()?;
        let usual = at(known(tcp.srtt_mean_ns)?);
        let most = known(tcp.min_rtt_ns).map_or(usual, at).max(usual);
        Some(Self { usual, most })
    }

    /// Whether `rate`, in bit/s, is more than it allows at any round trip.
    pub(crate) fn is_exceeded_by(self, rate: f64) -> bool {
        rate > self.most * ALLOWED
    }

    /// Both in words, the larger where it says more: `1.02 Gbit/s at the mean RTT, 2.1 Gbit/s at the smallest`.
    pub(crate) fn describe(self) -> String {
        let [usual, most] = [self.usual, self.most].map(BitRate::from_f64);
        if usual == most {
            usual.to_string()
        } else {
            format!("{usual} at the mean RTT, {most} at the smallest")
        }
    }
}

/// The largest window that the receiver of `trial` advertised, all streams together, in bytes.
pub(crate) fn receive_window(trial: &Trial) -> Option<f64> {
    let tcp = trial.tcp()?;
    let sampled = || {
        tcp.samples
            .iter()
            .filter_map(|sample| sample.snd_wnd_bytes)
            .max()
    };
    let summed = tcp
        .windows
        .and_then(|windows| windows.receiver_window_bytes);
    let window = summed.or_else(|| sampled().map(ByteCount::new));
    window.map(ByteCount::as_f64).filter(|bytes| *bytes > 0.0)
}

/// The send buffers of `trial`, all streams together, in bytes; part of them is the kernel's own.
pub(crate) fn send_buffer(trial: &Trial) -> Option<f64> {
    let windows = trial.tcp()?.windows?;
    windows.send_buffer_bytes.map(ByteCount::as_f64)
}

/// What others sent through an interface of the test, in the direction of the data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrossTraffic {
    /// Of the interface's bytes.
    pub(crate) share: f64,
    /// In bit/s of L2 frames.
    pub(crate) rate: f64,
}

/// What `side`'s interface counted, and the streams of `trial` do not explain; `None` unless both are counted.
pub(crate) fn cross_traffic(trial: &Trial, side: Side) -> Option<CrossTraffic> {
    let signal = match side {
        Side::Sender => NIC_TX_BYTES,
        Side::Receiver => NIC_RX_BYTES,
    };
    let all = ByteCount::new(*trial.counters(side)?.get(signal)?).as_f64();
    let (overhead, payload) = counted_packet(trial)?;
    let payload_bytes = match (trial.transport, side) {
        (Transport::Tcp, _) => stream_bytes(trial)?,
        (Transport::Udp, Side::Sender) => trial.packets()?.sent?.get().saturating_mul(payload),
        (Transport::Udp, Side::Receiver) => return None,
    };
    let frame = ByteCount::new(overhead.bytes_at(Layer::L2, payload)).as_f64();
    let ours = ByteCount::new(payload_bytes).as_f64() * frame / ByteCount::new(payload).as_f64();
    let mut reports = trial.raw().iter().filter(|report| report.side == side);
    let report = reports.next()?;
    let between = report.after.at_ns.checked_sub(report.before.at_ns)?;
    let seconds = Duration::from_nanos(between).as_secs_f64();
    let others = (all - ours).max(0.0);
    (all > 0.0 && ours > 0.0 && seconds > 0.0).then(|| CrossTraffic {
        share: others / all,
        rate: others * 8.0 / seconds,
    })
}

/// Bytes that the TCP streams of `trial` gave to their interface. At both ends: the receiver may get a segment twice, but no
/// more than was sent and is still to be.
fn stream_bytes(trial: &Trial) -> Option<u64> {
    let mut bytes = 0_u64;
    for stream in streams(trial, Side::Sender) {
        let last = stream.work.tcp_samples().last()?;
        let rest = last.notsent_bytes.unwrap_or(0);
        bytes = bytes.saturating_add(last.bytes_sent?.saturating_add(rest));
    }
    Some(bytes)
}

/// The smallest delay of each moment of the second half in which a datagram came, in nanoseconds above the trial's
/// smallest; of all streams.
pub(crate) fn late_delay_floors(trial: &Trial) -> impl Iterator<Item = u64> {
    let streams = trial.raw().iter().flat_map(|report| &report.streams);
    streams
        .filter_map(|stream| Some(&stream.work.get::<DatagramReceiver>()?.delay_floor_ns))
        .flat_map(|floors| &floors[floors.len() / 2..])
        .flatten()
        .copied()
}

/// What a packet of `trial` has around its payload in IPv4 on Ethernet, and the payload's bytes; `None` where its size is
/// not known.
pub(crate) fn packet(trial: &Trial) -> Option<(FrameOverhead, u64)> {
    Some(match trial.transport {
        Transport::Tcp => (FrameOverhead::TCP_IPV4, trial.tcp()?.smss_bytes?),
        Transport::Udp => (FrameOverhead::UDP_IPV4, payload_bytes(trial)?),
    })
}

/// Payload of a datagram; where a log does not say it, that of those which arrived.
fn payload_bytes(trial: &Trial) -> Option<u64> {
    let arrived = || {
        let bytes = trial.received_bytes?.get();
        bytes.checked_div(trial.packets()?.received?.get())
    };
    trial.payload_bytes.map(ByteCount::get).or_else(arrived)
}

/// What interfaces and queueing disciplines count of a frame before the IP packet, and nothing behind it.
const MAC_HEADER: u32 = 14;

/// Overhead and payload of a packet as interfaces and queueing disciplines count it.
pub(crate) fn counted_packet(trial: &Trial) -> Option<(FrameOverhead, u64)> {
    let (on_ethernet, payload) = packet(trial)?;
    let without_fcs = FrameOverhead {
        l2_bytes: MAC_HEADER,
        ..on_ethernet
    };
    (payload > 0).then_some((without_fcs, payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_comes_after_the_test_is_no_interval_of_it() {
        let starts = |seconds: f64, times: &[[f64; 2]]| {
            let intervals = times
                .iter()
                .map(|[start, end]| json!({"start_s": start, "end_s": end}));
            let trial = json!({
                "index": 0, "transport": "tcp", "direction": "forward", "layer": "l4-payload", "streams": 1, "valid": true,
                "work": "byte-stream", "origin": "measured", "duration_s": seconds, "intervals": intervals.collect::<Vec<_>>()
            });
            let trial: Trial = serde_json::from_value(trial).unwrap();
            whole_intervals(&trial).count()
        };
        // The last ends a little late.
        assert_eq!(starts(3.01, &[[0.0, 1.0], [1.0, 2.0], [2.0, 3.01]]), 3);
        // A queue drains.
        assert_eq!(
            starts(3.0, &[[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 3.1]]),
            3
        );
        assert_eq!(
            starts(1.504, &[[0.0, 0.5], [0.5, 1.0], [1.0, 1.5], [1.5, 2.0]]),
            3
        );
        // The last is a part of one.
        assert_eq!(starts(2.4, &[[0.0, 1.0], [1.0, 2.0], [2.0, 2.4]]), 2);
        assert_eq!(starts(0.5, &[[0.0, 0.5]]), 1);
    }
}
