//! Progress over time: the reporting intervals of all streams and both sides on one scale.

use super::slots::{slot, whole};
use super::{Ends, losses, streams};
use linerate_model::run::{Packets, TrialInterval};
use linerate_model::sample::{EndpointReport, IntervalCount, StreamReport, TcpSample};
use linerate_model::{BitRate, ByteCount};
use std::collections::BTreeMap;
use std::time::Duration;

/// Merges intervals whose starts round to the same multiple of the reporting interval.
///
/// Both sides count from the start of their own counted time; the path's delay between the two is
/// far below an interval.
pub(super) fn merge(ends: &Ends<'_>, packets: Option<&Packets>) -> Vec<TrialInterval> {
    let sender = sums(ends.sender, ends.spec.interval);
    let receiver = sums(ends.receiver, ends.spec.interval);
    let mut slots: Vec<u128> = sender.keys().chain(receiver.keys()).copied().collect();
    slots.sort_unstable();
    slots.dedup();
    let mut merged: Vec<TrialInterval> = slots
        .iter()
        .map(|slot| joined(sender.get(slot), receiver.get(slot)))
        .collect();
    if let Some(lost) = packets.and_then(|packets| packets.lost) {
        losses::spread(ends, lost.get(), &slots, &mut merged);
    }
    add_tcp(ends, &mut merged);
    merged
}

/// All streams of one side in one interval.
#[derive(Clone, Copy)]
struct Sum {
    start: Duration,
    end: Duration,
    bits_per_second: f64,
}

fn sums(report: Option<&EndpointReport>, length: Duration) -> BTreeMap<u128, Sum> {
    let mut sums: BTreeMap<u128, Sum> = BTreeMap::new();
    for stream in streams(report) {
        for (position, interval) in whole(stream, length).iter().enumerate() {
            let Some(rate) = rate(interval) else { continue };
            let sum = sums.entry(slot(position, interval, length)).or_insert(Sum {
                start: interval.start,
                end: interval.end,
                bits_per_second: 0.0,
            });
            sum.start = sum.start.min(interval.start);
            sum.end = sum.end.max(interval.end);
            sum.bits_per_second += rate.as_f64();
        }
    }
    sums
}

fn rate(interval: &IntervalCount) -> Option<BitRate> {
    BitRate::from_bytes(interval.bytes, interval.end.checked_sub(interval.start)?)
}

fn joined(sender: Option<&Sum>, receiver: Option<&Sum>) -> TrialInterval {
    let time = sender.or(receiver);
    let rate = |sum: &Sum| BitRate::from_f64(sum.bits_per_second);
    TrialInterval {
        start: time.map_or(Duration::ZERO, |sum| sum.start),
        end: time.map_or(Duration::ZERO, |sum| sum.end),
        offered_load: sender.map(rate),
        received_rate: receiver.map(rate),
        ..TrialInterval::default()
    }
}

/// Congestion windows summed over streams, RTT averaged, retransmissions of each interval.
fn add_tcp(ends: &Ends<'_>, intervals: &mut [TrialInterval]) {
    // A reading that is taken at an interval's end may come a little after it.
    let late = ends.spec.warm_up.saturating_add(ends.spec.interval / 4);
    let nanos =
        |time: Duration| u64::try_from(time.saturating_add(late).as_nanos()).unwrap_or(u64::MAX);
    for interval in intervals {
        let (start, end) = (nanos(interval.start), nanos(interval.end));
        let (mut cwnd, mut retransmitted) = (None, None);
        let mut srtt: Vec<u64> = Vec::new();
        for stream in streams(ends.sender) {
            let Some(now) = reading(stream, end) else {
                continue;
            };
            add(&mut cwnd, now.cwnd_bytes);
            srtt.extend(now.srtt_ns);
            let before = reading(stream, start).and_then(|sample| sample.retrans_segments);
            let gained = now
                .retrans_segments
                .map(|segments| segments.saturating_sub(before.unwrap_or(0)));
            add(&mut retransmitted, gained);
        }
        interval.cwnd_bytes = cwnd.map(ByteCount::new);
        interval.retransmitted_segments = retransmitted;
        interval.srtt_ns = super::tcp::mean(&srtt);
    }
}

/// The last reading up to `at` nanoseconds from the start of the stream.
fn reading(stream: &StreamReport, at: u64) -> Option<&TcpSample> {
    let samples = stream.work.tcp_samples();
    samples.iter().rev().find(|sample| sample.at_ns <= at)
}

fn add(sum: &mut Option<u64>, part: Option<u64>) {
    if let Some(part) = part {
        *sum = Some(sum.unwrap_or(0).saturating_add(part));
    }
}
