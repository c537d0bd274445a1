//! How the streams of a trial shared its rate, where threads carry several.
//!
//! # References
//! - Fairness index: R. Jain, D. Chiu, W. Hawe, A quantitative measure of fairness and discrimination, DEC-TR-301 (1984)

use super::Ends;
use linerate_model::run::{RateQuantiles, StreamShare, StreamShares};
use linerate_model::sample::EndpointReport;
use linerate_model::units::float;
use linerate_model::{BitRate, ByteCount, PacketCount};

/// Streams with the lowest rates that are named.
const NAMED_STREAMS: usize = 10;

/// The shares, if the receiver counted every stream.
pub(super) fn of_streams(ends: &Ends<'_>) -> Option<StreamShares> {
    let threads = ends.spec.threads?;
    let streams = usize::from(ends.spec.streams);
    let all = |report: Option<&EndpointReport>| counts(report).filter(|all| all.len() == streams);
    let (received, time) = (all(ends.receiver)?, ends.received_over()?);
    let sent = all(ends.sender).filter(|_| ends.is_datagrams());
    let unit = if ends.is_datagrams() {
        ends.spec.payload().get()
    } else {
        1
    };
    let lost: Option<Vec<u64>> = sent.map(|sent| {
        let pairs = sent.iter().zip(&received);
        pairs.map(|(sent, got)| sent.saturating_sub(*got)).collect()
    });
    let rate = |count: u64| BitRate::from_bytes(ByteCount::new(count.saturating_mul(unit)), time);
    let mut shares = Vec::with_capacity(streams);
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
        threads,
        silent,
        with_loss,
        fairness: fairness(&received),
        rates,
        slowest: shares,
    })
}

/// The counts of all streams, thread after thread; `None` if a thread did not report them.
fn counts(report: Option<&EndpointReport>) -> Option<Vec<u64>> {
    let mut all = Vec::new();
    for thread in &report?.streams {
        all.extend(thread.flows.as_ref()?.iter());
    }
    Some(all)
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
        ByteStreamReceiver, ByteStreamSender, EndpointReport, FlowCounts, StreamReport, StreamWork,
    };
    use linerate_model::spec::{Direction, Side, TestSpec};
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
    fn counts_that_are_not_of_all_streams_make_no_shares() {
        assert_eq!(shares(4, &[&[1, 1], &[1]]), None);
    }
}
