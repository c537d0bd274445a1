//! Round trips per minute from probes under load, and how many streams make that load. Pure.
//!
//! # References
//! - draft-ietf-ippm-responsiveness: `RPM = (60000 / ((TM(tcp_f) + TM(tls_f) + TM(http_f)) / 3) + 60000 / TM(http_l)) / 2`
//!   in milliseconds, TM the mean without the longest 5 %. Without TLS the first denominator is the mean of two.

use crate::statistics::to_f64;
use linerate_model::{BitRate, Histogram};

/// The share of values that a trimmed mean keeps.
const KEPT: f64 = 0.95;

/// Nanoseconds of a minute.
const MINUTE: f64 = 60e9;

/// Growth of the goodput below which more streams bring no more, as in the draft's test of stability.
const GROWTH: f64 = 1.05;

/// Numbers of streams that are tried.
const STREAMS: [u16; 5] = [1, 2, 4, 8, 16];

/// The mean of the shortest 95 % of the values in nanoseconds; `None` without values.
pub fn trimmed_mean(histogram: &Histogram) -> Option<f64> {
    let all = to_f64(histogram.len());
    let mut left = (all * KEPT).floor().max(1.0).min(all);
    let kept = left;
    let mut sum = 0.0;
    for (nanos, count) in histogram.buckets() {
        let taken = to_f64(count).min(left);
        sum += taken * to_f64(nanos);
        left -= taken;
    }
    (kept > 0.0).then(|| sum / kept)
}

/// Round trips per minute from trimmed means in nanoseconds: of the handshake and of the request on
/// connections of their own, and of what goes through a loaded connection.
pub fn round_trips_per_minute(handshake: f64, request: f64, in_band: f64) -> Option<f64> {
    let known = [handshake, request, in_band].iter().all(|time| *time > 0.0);
    let foreign = MINUTE / f64::midpoint(handshake, request);
    known.then(|| f64::midpoint(foreign, MINUTE / in_band))
}

/// How many streams saturate a path: doubled until that brings less than 5 % more.
#[derive(Debug, Clone, Default)]
pub struct Saturation {
    goodputs: Vec<f64>,
}

impl Saturation {
    /// How many streams to try next; `None` when it is known, or cannot be.
    pub fn next_streams(&self) -> Option<u16> {
        if self.is_saturated() {
            return None;
        }
        STREAMS.get(self.goodputs.len()).copied()
    }

    /// What the streams tried last carried.
    pub fn record(&mut self, goodput: BitRate) {
        self.goodputs.push(goodput.as_f64());
    }

    /// Whether the streams tried last carried hardly more than half as many.
    pub fn is_saturated(&self) -> bool {
        matches!(self.goodputs.as_slice(), [.., before, last] if *last < GROWTH * before)
    }

    /// The streams to load with: as many as were tried last.
    pub fn streams(&self) -> u16 {
        let last = self.goodputs.len().saturating_sub(1);
        STREAMS.get(last).copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_twentieth_is_left_out() {
        let mut histogram = Histogram::new();
        assert_eq!(trimmed_mean(&histogram), None);
        histogram.record_n(1_000, 95);
        histogram.record_n(1_000_000, 5);
        let mean = trimmed_mean(&histogram).unwrap();
        assert!((mean - 1_000.0).abs() < 2.0, "{mean}");
        histogram.record_n(1_000_000, 100);
        // 190 of 200 are kept: 95 short and 95 long ones.
        let mean = trimmed_mean(&histogram).unwrap();
        assert!((mean - 500_500.0).abs() < 1_000.0, "{mean}");
    }

    #[test]
    fn a_path_of_20_ms_makes_3000_round_trips_a_minute() {
        let rpm = round_trips_per_minute(20e6, 20e6, 20e6).unwrap();
        assert!((rpm - 3000.0).abs() < 1e-6, "{rpm}");
        // A queue of 180 ms that only the loaded connections wait in: half of 3000 and of 300.
        let rpm = round_trips_per_minute(20e6, 20e6, 200e6).unwrap();
        assert!((rpm - 1650.0).abs() < 1e-6, "{rpm}");
        assert_eq!(round_trips_per_minute(0.0, 1.0, 1.0), None);
    }

    /// What each number of streams carries, and how many are then used.
    fn tried(carries: impl Fn(u16) -> f64) -> Saturation {
        let mut saturation = Saturation::default();
        while let Some(streams) = saturation.next_streams() {
            saturation.record(BitRate::from_f64(carries(streams)));
        }
        saturation
    }

    #[test]
    fn streams_are_doubled_until_they_carry_no_more() {
        let full = tried(|_| 1e9);
        assert_eq!((full.streams(), full.is_saturated()), (2, true));
        let windowed = tried(|streams| (f64::from(streams) * 3e8).min(1e9));
        assert_eq!((windowed.streams(), windowed.is_saturated()), (8, true));
        let endless = tried(|streams| f64::from(streams) * 1e8);
        assert_eq!((endless.streams(), endless.is_saturated()), (16, false));
    }
}
