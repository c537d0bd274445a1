//! Silences that a byte stream makes itself: after a loss its retransmission timer waits, and twice as long after each
//! repetition that is lost too (RFC 6298 §5.5). A path that loses now and then so keeps it silent for seconds without ever
//! being gone.

use super::LEAST_OF_BYTES;
use super::quiet::Times;
use linerate_model::PacketCount;
use std::time::Duration;

/// Shortest retransmission timeout, of Linux; a round trip adds to it.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);
/// Repetitions that count as lost beside those that were seen, of one that was made: of few, none may be lost by chance.
const UNSEEN: f64 = 0.1;
/// So many silences of a length, expected by what the others show, make one that is none of the path's.
const EXPECTED: f64 = 0.01;

/// Whether `silence` is what the silences of a stream that are too short for an outage make one expect: each is a segment
/// that was lost and repetitions that were lost too, in number by its length, and of all repetitions these are a share.
/// `quiet` holds all silences.
pub(super) fn explains(silence: Times, quiet: &[Times]) -> bool {
    let is_short = |(from, to): &&Times| to.saturating_sub(*from) < LEAST_OF_BYTES;
    let short = quiet.iter().filter(is_short).map(timeouts);
    let waits: Vec<f64> = short.filter(|count| *count >= 1.0).collect();
    let made: f64 = waits.iter().sum();
    let times = PacketCount::new(waits.len() as u64).as_f64();
    let lost_again = (made - times + UNSEEN) / (made + 1.0);
    times * lost_again.powf(timeouts(&silence) - 1.0) >= EXPECTED
}

/// How many timeouts a silence of this length takes: the first is the shortest, each other twice the one before.
fn timeouts(silence: &Times) -> f64 {
    let length = silence.1.saturating_sub(silence.0).as_secs_f64();
    (length / LEAST_TIMEOUT.as_secs_f64() + 1.0).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the last of silences of these lengths, in ms, is explained by the others.
    fn last_is_explained(lengths: &[u64]) -> bool {
        let mut at = Duration::ZERO;
        let of_length = |length: &u64| {
            let from = at;
            at += Duration::from_millis(length + 100);
            (from, from + Duration::from_millis(*length))
        };
        let quiet: Vec<Times> = lengths.iter().map(of_length).collect();
        explains(quiet[quiet.len() - 1], &quiet)
    }

    #[test]
    fn a_stream_that_times_out_again_and_again_may_be_silent_for_seconds() {
        // Two timeouts in a row, then three of a somewhat longer one.
        assert!(last_is_explained(&[528, 1872]));
        assert!(last_is_explained(&[250, 700, 240, 640, 1500]));
    }

    #[test]
    fn a_long_silence_is_not_explained_by_few_short_ones() {
        assert!(!last_is_explained(&[3000]));
        assert!(!last_is_explained(&[230, 3000]));
        assert!(!last_is_explained(&[230, 240, 3000]));
        assert!(!last_is_explained(&[3100, 2900, 3000]));
        // Shorter than any timeout: the application's.
        assert!(!last_is_explained(&[150, 120, 150, 130, 1100]));
    }
}
