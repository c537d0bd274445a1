//! TCP state of the sending side, whichever side of the control connection that is.
//!
//! Everything is of all streams together. The first reading of a stream is taken before its first
//! byte, so it counts in differences and not in means.

mod figures;
mod shares;

use super::{Ends, streams};
use crate::outage::Outage;
use linerate_model::run::{TcpSummary, Trial, TrialWork};
use linerate_model::sample::{StreamReport, TcpSample};
use linerate_model::spec::{Side, Transport};
use linerate_model::tcp::TcpQueueing;
use linerate_model::{BitRate, ByteCount, Ratio};
use std::time::Duration;

/// One sending stream with the readings of its counted time.
#[derive(Clone, Copy)]
struct Stream<'a> {
    report: &'a StreamReport,
    readings: &'a [TcpSample],
}

impl Stream<'_> {
    /// The readings under load.
    fn loaded(&self) -> impl Iterator<Item = &TcpSample> {
        let only = self.readings.len() == 1;
        self.readings.iter().filter(move |s| only || s.at_ns > 0)
    }

    /// What a cumulative field gained from the first reading to the last.
    fn gained(&self, part: Part) -> Option<u64> {
        let [first, .., last] = self.readings else {
            return None;
        };
        part(last)?.checked_sub(part(first)?)
    }

    /// The mean of a field over the readings under load.
    fn mean(&self, part: Part) -> Option<u64> {
        mean(&self.loaded().filter_map(part).collect::<Vec<_>>())
    }
}

/// Shares of time come from the chronographs, first to last reading after the warm-up.
///
/// The sender is always in exactly one of idle, busy, receiver-window limited and send-buffer
/// limited; the last two are part of busy (Linux `tcp_info`).
pub(super) fn summary(ends: &Ends<'_>) -> Option<TcpSummary> {
    if ends.spec.transport() != Transport::Tcp {
        return None;
    }
    let counted: Vec<Stream<'_>> = streams(ends.sender)
        .map(|report| Stream {
            report,
            readings: after_warm_up(report, ends.spec.warm_up),
        })
        .filter(|stream| !stream.readings.is_empty())
        .collect();
    let first = streams(ends.sender).next()?;
    let all = || counted.iter().flat_map(|stream| stream.readings);
    let loaded = |part: Part| -> Vec<u64> {
        let each = counted.iter().flat_map(Stream::loaded);
        each.filter_map(part).collect()
    };
    let cwnd = loaded(|sample| sample.cwnd_bytes);
    all().next()?;
    let buffer = |stream: &Stream<'_>| stream.report.path.send_buffer_bytes.map(ByteCount::get);
    let readings: Vec<shares::Readings<'_>> =
        counted.iter().map(|s| (s.readings, buffer(s))).collect();
    let chosen = ends.spec.socket.congestion_control.as_deref();
    let congestion_control = first.work.congestion_control().or(chosen);
    let control = shares::Control::from_name(congestion_control);
    let (shares, shares_over_time) = shares::shares(&readings, ends.spec.interval, control);
    let srtt_mean_ns = mean(&loaded(|sample| sample.srtt_ns));
    let min_rtt_ns = all().filter_map(|sample| sample.min_rtt_ns).min();
    let acknowledged = gained(&counted, |sample| sample.bytes_acked).map(ByteCount::new);
    let over = counted
        .iter()
        .filter_map(|s| s.gained(|sample| Some(sample.at_ns)));
    let over = over.max().map(Duration::from_nanos);
    Some(TcpSummary {
        acknowledged_bytes: acknowledged,
        acknowledged_rate: acknowledged
            .zip(over)
            .and_then(|(bytes, time)| BitRate::from_bytes(bytes, time)),
        retransmitted_segments: gained(&counted, |sample| sample.retrans_segments),
        busy_ratio: share(&counted, |sample| sample.busy_ns),
        rwnd_limited_ratio: share(&counted, |sample| sample.rwnd_limited_ns),
        sndbuf_limited_ratio: share(&counted, |sample| sample.sndbuf_limited_ns),
        cwnd_mean_bytes: mean(&cwnd).map(ByteCount::new),
        cwnd_max_bytes: cwnd.iter().copied().max().map(ByteCount::new),
        srtt_mean_ns,
        min_rtt_ns,
        smss_bytes: all().filter_map(|sample| sample.smss_bytes).max(),
        congestion_control: congestion_control.map(str::to_owned),
        shares,
        shares_over_time,
        windows: figures::windows(&counted),
        rfc6349: figures::rfc6349(ends, &counted, srtt_mean_ns.zip(min_rtt_ns)),
        retransmissions: figures::retransmissions(ends, &counted),
        queueing: min_rtt_ns
            .zip(srtt_mean_ns)
            .and_then(|(idle, loaded)| TcpQueueing::from_idle_ns(idle, loaded)),
        samples: first.work.tcp_samples().to_vec(),
    })
}

/// Takes the times of `outages` out of the round trip under load: what waited for a path that was gone stood in no queue.
/// The first reading after an outage is of what had waited, too.
pub(super) fn leave_out(trial: &mut Trial, outages: &[Outage], warm_up: Duration) {
    if outages.is_empty() {
        return;
    }
    let is_outside = |pair: &&[TcpSample]| {
        let (from, to) = (pair[0].at_ns, pair[1].at_ns);
        let mut each = outages.iter();
        from >= nanos(warm_up)
            && !each.any(|outage| from < nanos(outage.end) && to > nanos(outage.start))
    };
    let sent = crate::readings::streams(trial, Side::Sender);
    let srtt: Vec<u64> = sent
        .flat_map(|stream| stream.work.tcp_samples().windows(2).filter(is_outside))
        .filter_map(|pair| pair[1].srtt_ns)
        .collect();
    if let TrialWork::ByteStream(result) = &mut trial.work
        && let Some(tcp) = &mut result.tcp
    {
        tcp.srtt_mean_ns = mean(&srtt);
        let both = tcp.min_rtt_ns.zip(tcp.srtt_mean_ns);
        tcp.queueing = both.and_then(|(idle, loaded)| TcpQueueing::from_idle_ns(idle, loaded));
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The readings of the counted time; all of them if fewer than two fall into it.
fn after_warm_up(stream: &StreamReport, warm_up: Duration) -> &[TcpSample] {
    let samples = stream.work.tcp_samples();
    let from = samples.partition_point(|sample| u128::from(sample.at_ns) < warm_up.as_nanos());
    match &samples[from..] {
        counted @ [_, _, ..] => counted,
        _ => samples,
    }
}

type Part = fn(&TcpSample) -> Option<u64>;

/// What a cumulative field gained over all streams; `None` if no stream has two readings of it.
fn gained(streams: &[Stream<'_>], part: Part) -> Option<u64> {
    streams
        .iter()
        .filter_map(|stream| stream.gained(part))
        .reduce(u64::saturating_add)
}

/// A chronograph's gain over the time between its readings, all streams together.
fn share(streams: &[Stream<'_>], part: Part) -> Option<Ratio> {
    let (mut limited, mut whole) = (0_u64, 0_u64);
    for stream in streams {
        let Some(gain) = stream.gained(part) else {
            continue;
        };
        let time = stream.gained(|sample| Some(sample.at_ns)).unwrap_or(0);
        limited = limited.saturating_add(gain);
        whole = whole.saturating_add(time);
    }
    (whole > 0).then(|| Ratio::from_parts(limited, whole))
}

/// The mean, rounded down; `None` of nothing.
pub(super) fn mean(values: &[u64]) -> Option<u64> {
    let sum: u128 = values.iter().copied().map(u128::from).sum();
    let mean = sum.checked_div(values.len() as u128)?;
    u64::try_from(mean).ok()
}
