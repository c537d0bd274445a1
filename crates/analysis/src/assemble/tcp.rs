//! TCP state of the sending side, whichever side of the control connection that is.

use super::{Ends, streams};
use linerate_model::run::TcpSummary;
use linerate_model::sample::{StreamReport, TcpSample};
use linerate_model::spec::Transport;
use linerate_model::{ByteCount, Ratio};
use std::time::Duration;

/// Shares of time come from the chronographs, first to last reading after the warm-up.
///
/// The sender is always in exactly one of idle, busy, receiver-window limited and send-buffer
/// limited; the last two are part of busy (Linux `tcp_info`).
pub(super) fn summary(ends: &Ends<'_>) -> Option<TcpSummary> {
    if ends.spec.transport != Transport::Tcp {
        return None;
    }
    let counted: Vec<&[TcpSample]> = streams(ends.sender)
        .map(|stream| after_warm_up(stream, ends.spec.warm_up))
        .filter(|samples| !samples.is_empty())
        .collect();
    let all = || counted.iter().copied().flatten();
    let first = streams(ends.sender).next()?;
    let cwnd: Vec<u64> = all().filter_map(|sample| sample.cwnd_bytes).collect();
    let srtt: Vec<u64> = all().filter_map(|sample| sample.srtt_ns).collect();
    all().next()?;
    Some(TcpSummary {
        retransmitted_segments: gained(&counted, |sample| sample.retrans_segments),
        busy_ratio: share(&counted, |sample| sample.busy_ns),
        rwnd_limited_ratio: share(&counted, |sample| sample.rwnd_limited_ns),
        sndbuf_limited_ratio: share(&counted, |sample| sample.sndbuf_limited_ns),
        cwnd_mean_bytes: mean(&cwnd).map(ByteCount::new),
        cwnd_max_bytes: cwnd.iter().copied().max().map(ByteCount::new),
        srtt_mean_ns: mean(&srtt),
        min_rtt_ns: all().filter_map(|sample| sample.min_rtt_ns).min(),
        smss_bytes: all().filter_map(|sample| sample.smss_bytes).max(),
        congestion_control: ends.spec.socket.congestion_control.clone(),
        samples: first.tcp.clone(),
    })
}

/// The readings of the counted time; all of them if fewer than two fall into it.
fn after_warm_up(stream: &StreamReport, warm_up: Duration) -> &[TcpSample] {
    let from = stream
        .tcp
        .partition_point(|sample| u128::from(sample.at_ns) < warm_up.as_nanos());
    match &stream.tcp[from..] {
        counted @ [_, _, ..] => counted,
        _ => &stream.tcp,
    }
}

type Part = fn(&TcpSample) -> Option<u64>;

/// What a cumulative field gained over all streams; `None` if no stream has two readings of it.
fn gained(streams: &[&[TcpSample]], part: Part) -> Option<u64> {
    streams
        .iter()
        .filter_map(|samples| delta(samples, part))
        .reduce(u64::saturating_add)
}

/// A chronograph's gain over the time between its readings, all streams together.
fn share(streams: &[&[TcpSample]], part: Part) -> Option<Ratio> {
    let (mut limited, mut whole) = (0_u64, 0_u64);
    for samples in streams {
        let Some(gain) = delta(samples, part) else {
            continue;
        };
        let time = delta(samples, |sample| Some(sample.at_ns)).unwrap_or(0);
        limited = limited.saturating_add(gain);
        whole = whole.saturating_add(time);
    }
    (whole > 0).then(|| Ratio::of(limited, whole))
}

fn delta(samples: &[TcpSample], part: Part) -> Option<u64> {
    let [first, .., last] = samples else {
        return None;
    };
    part(last)?.checked_sub(part(first)?)
}

/// The mean, rounded down; `None` of nothing.
pub(super) fn mean(values: &[u64]) -> Option<u64> {
    let sum: u128 = values.iter().copied().map(u128::from).sum();
    let mean = sum.checked_div(values.len() as u128)?;
    u64::try_from(mean).ok()
}
