//! How many streams shared a rate.

use crate::figures::significant;
use linerate_model::run::{Run, StreamShares};

/// Sentences on how many streams shared the rate of each trial.
pub(crate) fn stream_shares(run: &Run) -> Vec<String> {
    let known = run.trials.iter().filter_map(|trial| {
        let shares = trial.shares.as_ref()?;
        Some((trial, of_streams(shares, trial.streams?)))
    });
    let known: Vec<_> = known.collect();
    let mut lines = Vec::new();
    for (trial, sentences) in &known {
        let name = crate::charts::which(run, trial, known.len());
        lines.extend(sentences.iter().map(|sentence| format!("{name}{sentence}")));
    }
    lines
}

/// Sentences on the shares of `streams` streams.
fn of_streams(shares: &StreamShares, streams: u16) -> Vec<String> {
    let rates = &shares.rates;
    let on = match shares.threads {
        all if all == streams => String::new(),
        1 => " on 1 thread per end".to_owned(),
        several => format!(" on {several} threads per end"),
    };
    let spread = format!(
        "{streams}{on}: median {}, p1 {}, p99 {}, lowest {}, highest {}",
        rates.p50, rates.p1, rates.p99, rates.min, rates.max
    );
    let mut rest = vec![match shares.fairness {
        Some(index) => format!("Jain's fairness index {}", significant(index, 4)),
        None => "nothing received".to_owned(),
    }];
    if shares.silent > 0 {
        rest.push(format!("{} received nothing", shares.silent));
    }
    if let Some(with_loss) = shares.with_loss {
        rest.push(format!("{with_loss} with lost datagrams"));
    }
    let slowest = shares.slowest.iter().map(|share| {
        let lost = share.lost.map(|lost| format!(", lost {lost}"));
        let lost = lost.unwrap_or_default();
        format!("{} ({}{lost})", share.stream, share.received_rate)
    });
    let slowest = slowest.collect::<Vec<_>>().join(", ");
    vec![spread, rest.join("; "), format!("slowest: {slowest}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{RateQuantiles, StreamShare};
    use linerate_model::{BitRate, PacketCount};

    #[test]
    fn the_spread_comes_first_and_the_slowest_are_named() {
        let rate = BitRate::from_bps;
        let shares = StreamShares {
            threads: 2,
            silent: 1,
            with_loss: Some(3),
            fairness: Some(0.987_65),
            rates: RateQuantiles {
                min: rate(0),
                p1: rate(800_000),
                p10: rate(900_000),
                p50: rate(1_000_000),
                p90: rate(1_100_000),
                p99: rate(1_200_000),
                max: rate(2_000_000),
            },
            slowest: vec![StreamShare {
                stream: 17,
                received_rate: rate(0),
                lost: Some(PacketCount::new(9)),
            }],
        };
        let lines = of_streams(&shares, 2);
        assert!(lines[0].starts_with("2: median 1"), "{lines:?}");
        let lines = of_streams(&shares, 1000);
        assert!(
            lines[0].starts_with("1000 on 2 threads per end: median 1"),
            "{lines:?}"
        );
        assert_eq!(
            lines[1],
            "Jain's fairness index 0.9877; 1 received nothing; 3 with lost datagrams"
        );
        assert!(
            lines[2].starts_with("slowest: 17 (0 bit/s, lost 9"),
            "{lines:?}"
        );
    }
}
