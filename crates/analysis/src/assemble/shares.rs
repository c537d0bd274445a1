//! How the streams of a trial shared its rate, whether each has a thread or threads carry several.
//!
//! # References
//! - Fairness index: R. Jain, D. Chiu, W. Hawe, A quantitative measure of fairness and discrimination, DEC-TR-301 (1984)

use super::{Ends, packets};
use linerate_model::run::{RateQuantiles, StreamShare, StreamShares};
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::TestSpec;
use linerate_model::units::float;
use linerate_model::{BitRate, ByteCount, PacketCount};

/// Streams with the lowest rates that are named.
const NAMED_STREAMS: usize = 10;

/// The shares, if there are several streams, or threads that carry them, and the receiver counted each.
pub(super) fn of_streams(ends: &Ends<'_>) -> Option<StreamShares> {
    let spec = ends.spec;
    if ends.has_round_trips() || spec.streams < 2 && spec.threads.is_none() {
        return None;
    }
    let all = |report, total: &dyn Fn(&StreamReport) -> u64| counts(spec, report, total);
    let (received, lost, unit) = if ends.is_datagrams() {
        let received = all(ends.receiver, &packets::received)?;
        let sent = all(ends.sender, &|stream| stream.packets.get());
        let lost = sent.map(|sent| {
            let pairs = sent.iter().zip(&received);
            let lost = pairs.map(|(sent, got)| sent.saturating_sub(*got));
            lost.collect::<Vec<_>>()
        });
        let size = packets::clipped(ends).unwrap_or_else(|| spec.payload());
        (received, lost, size.get())
    } else {
        let received = all(ends.receiver, &|stream| stream.bytes.get())?;
        (received, None, 1)
    };
    let time = ends.received_over()?;
    let rate = |count: u64| BitRate::from_bytes(ByteCount::new(count.saturating_mul(unit)), time);
    let mut shares = Vec::with_capacity(received.len());
    for (stream, count) in (0_u16..).zip(&received) {
        shares.push(StreamShare {
            stream,
            received_rate: rate(*count)?,
            lost: lost
                .as_ref()
                .map(|lost| PacketCount::new(lost[usize::from(stream)])),
        });
    }
    let number = |is: &dyn Fn(&StreamShare) -> bool| {
        let count = shares.iter().filter(|share| is(share)).count();
        u16::try_from(count).unwrap_or(u16::MAX)
    };
    let silent = number(&|share| share.received_rate.bps() == 0);
    let with_loss = lost
        .is_some()
        .then(|| number(&|share| share.lost.is_some_and(|lost| lost.get() > 0)));
    shares.sort_by_key(|share| (share.received_rate, share.stream));
    let rates = quantiles(&shares)?;
    shares.truncate(NAMED_STREAMS);
    Some(StreamShares {
        threads: spec.traffic_threads(),
        silent,
        with_loss,
        fairness: fairness(&received),
        rates,
        slowest: shares,
    })
}

/// The counts of all streams, in their order; of a report the whole by `total`. `None` unless every stream is counted, and
/// those of a thread that carries several add up.
fn counts(
    spec: &TestSpec,
    report: Option<&EndpointReport>,
    total: &dyn Fn(&StreamReport) -> u64,
) -> Option<Vec<u64>> {
    let report = report?;
    let mut all = Vec::new();
    if spec.threads.is_some() {
        for thread in &report.streams {
            let flows = thread.flows.as_ref()?;
            if flows.iter().fold(0, u64::saturating_add) != total(thread) {
                return None;
            }
            all.extend(flows.iter());
        }
    } else {
        all.extend(packets::by_stream(report, total).into_values());
    }
    (all.len() == usize::from(spec.streams)).then_some(all)
}

/// Quantiles of shares that are sorted by rate, by nearest rank; `None` without any.
fn quantiles(sorted: &[StreamShare]) -> Option<RateQuantiles> {
    let last = sorted.len().checked_sub(1)?;
    let at = |percent: usize| {
        let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted[rank.min(last)].received_rate
    };
    Some(RateQuantiles {
        min: at(0),
        p1: at(1),
        p10: at(10),
        p50: at(50),
        p90: at(90),
        p99: at(99),
        max: at(100),
    })
}

/// Jain's index of the counts; `None` if all are zero.
fn fairness(counts: &[u64]) -> Option<f64> {
    let sum: f64 = counts.iter().map(|count| float(*count)).sum();
    let squares: f64 = counts.iter().map(|count| float(*count).powi(2)).sum();
    (squares > 0.0).then(|| sum * sum / (float(counts.len() as u64) * squares))
}

#[cfg(test)]
mod tests {
    use crate::assemble::trial;
    use linerate_model::sample::{
        ByteStreamReceiver, ByteStreamSender, DatagramSender, EndpointReport, FlowCounts,
        StreamReport, StreamWork, UnnumberedDatagramReceiver,
    };
    use linerate_model::spec::{Direction, Pace, Side, TestSpec};
    use linerate_model::{ByteCount, PacketCount};
    use std::time::Duration;

    fn report(side: Side, work: impl Into<StreamWork>, threads: &[&[u64]]) -> EndpointReport {
        let work = work.into();
        let of_thread = |(index, counts): (u16, &&[u64])| StreamReport {
            duration: Duration::from_secs(1),
            flows: Some(counts.iter().copied().collect::<FlowCounts>()),
            ..StreamReport::new(index, work.clone())
                .with_counts(ByteCount::new(counts.iter().sum()), PacketCount::default())
        };
        let threads = (0..).zip(threads).map(of_thread).collect();
        EndpointReport::of_streams(side, threads)
    }

    fn shares(streams: u16, threads: &[&[u64]]) -> Option<linerate_model::run::StreamShares> {
        let spec = TestSpec {
            streams,
            threads: Some(2),
            ..TestSpec::tcp_bulk()
        };
        let sender = report(Side::Sender, ByteStreamSender::default(), threads);
        let receiver = report(Side::Receiver, ByteStreamReceiver::default(), threads);
        trial(0, &spec, Direction::Forward, Some(sender), Some(receiver)).shares
    }

    #[test]
    fn streams_are_numbered_through_the_threads_and_the_slowest_is_named() {
        let found = shares(4, &[&[1000, 1000], &[0, 2000]]).unwrap();
        assert_eq!((found.threads, found.silent, found.with_loss), (2, 1, None));
        let slowest: Vec<_> = found
            .slowest
            .iter()
            .map(|share| (share.stream, share.received_rate.bps()))
            .collect();
        assert_eq!(slowest, [(2, 0), (0, 8000), (1, 8000), (3, 16_000)]);
        let rates = found.rates;
        assert_eq!(
            (rates.min.bps(), rates.p50.bps(), rates.max.bps()),
            (0, 8000, 16_000)
        );
        let index = found.fairness.unwrap();
        assert!((index - 16.0 / 24.0).abs() < 1e-12, "{index}");
    }

    #[test]
    fn equal_shares_have_index_one_and_nothing_received_has_none() {
        let equal = shares(3, &[&[5, 5], &[5]]).unwrap();
        assert!((equal.fairness.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(shares(3, &[&[0, 0], &[0]]).unwrap().fairness, None);
    }

    #[test]
    fn streams_with_a_thread_each_have_shares_and_one_alone_has_none() {
        let shared_by = |datagrams: &[(u64, u64)]| {
            let spec = TestSpec {
                streams: u16::try_from(datagrams.len()).unwrap(),
                ..TestSpec::udp_datagrams(Pace::Unpaced)
            };
            let size = spec.payload().get();
            let of_each = |side, work: StreamWork, count: fn(&(u64, u64)) -> u64| {
                let stream = |(index, pair): (u16, &(u64, u64))| StreamReport {
                    duration: Duration::from_secs(1),
                    ..StreamReport::new(index, work.clone()).with_counts(
                        ByteCount::new(count(pair) * size),
                        PacketCount::new(count(pair)),
                    )
                };
                let streams = (0..).zip(datagrams).map(stream).collect();
                EndpointReport::of_streams(side, streams)
            };
            let sender = of_each(Side::Sender, DatagramSender::default().into(), |pair| {
                pair.0
            });
            let receiver = UnnumberedDatagramReceiver::default().into();
            let receiver = of_each(Side::Receiver, receiver, |pair| pair.1);
            trial(0, &spec, Direction::Forward, Some(sender), Some(receiver)).shares
        };
        let found = shared_by(&[(10, 10), (10, 4), (10, 10)]).unwrap();
        assert_eq!((found.threads, found.with_loss), (3, Some(1)));
        let first = &found.slowest[0];
        assert_eq!((first.stream, first.lost), (1, Some(PacketCount::new(6))));
        assert_eq!(shared_by(&[(10, 10)]), None);
    }

    #[test]
    fn counts_that_are_not_of_all_streams_make_no_shares() {
        assert_eq!(shares(4, &[&[1, 1], &[1]]), None);
        // As a thread that counted three bytes in all.
        let spec = TestSpec {
            streams: 2,
            threads: Some(1),
            ..TestSpec::tcp_bulk()
        };
        let of = |side, work| report(side, work, &[&[1, 2]]);
        let sender = of(Side::Sender, StreamWork::from(ByteStreamSender::default()));
        let mut receiver = of(Side::Receiver, ByteStreamReceiver::default().into());
        receiver.streams[0].flows = Some([1, u64::MAX].into_iter().collect());
        let trial = trial(0, &spec, Direction::Forward, Some(sender), Some(receiver));
        assert_eq!(trial.shares, None);
    }
}
