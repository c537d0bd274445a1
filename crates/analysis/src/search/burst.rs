//! A path that lets a burst through above its rate without delay (a token bucket, a policer):
//! short trials see more than its rate, and no single trial can tell.
//!
//! Two overloaded trials of different length can: both carry the same burst of `B` bits on top of
//! `rate × time`, so the difference of what they carried is free of it.

use super::config::SearchConfig;
use super::history::History;
use linerate_model::{BitRate, ByteCount};
use std::time::Duration;

/// Loss below this is not clearly overload.
const OVERLOAD_LEAST: f64 = 0.001;
/// The longer trials must be this much longer than the shorter one.
const LONGER: f64 = 2.5;
/// Trials needed of the longer kind; their spread tells whether the path is steady enough.
const LONG_TRIALS: usize = 3;
/// A burst that moves the bounds by less than this share of the goal width is no news.
const SHARE_OF_WIDTH: f64 = 0.25;

/// What to tell the user, if there is such a burst and it is large enough to spoil the bounds.
pub(super) fn note(history: &History, config: &SearchConfig) -> Option<String> {
    let goal = config
        .goals
        .iter()
        .min_by(|a, b| a.width.get().total_cmp(&b.width.get()))?;
    let burst = Burst::find(&history.overloads(OVERLOAD_LEAST))?;
    let length = goal.final_trial_duration.as_secs_f64();
    let error = burst.bits / (burst.rate * length);
    let wanted = goal.width.get() * SHARE_OF_WIDTH;
    if error < wanted {
        return None;
    }
    let bytes = ByteCount::new(BitRate::from_f64(burst.bits / 8.0).bps());
    Some(format!(
        "the path lets a burst of about {bytes} through above its rate (a token bucket or policer): \
         with trials of {length:.1} s the bounds can be {:.2} % too high; trials of {:.0} s would be \
         exact to a quarter of the goal width",
        error * 100.0,
        (length * error / wanted).ceil(),
    ))
}

struct Burst {
    rate: f64,
    bits: f64,
}

impl Burst {
    /// From the length and forwarding rate of overloaded trials.
    fn find(overloads: &[(Duration, f64)]) -> Option<Self> {
        let (short, short_rate) = overloads.iter().min_by_key(|(time, _)| *time)?;
        let enough = short.mul_f64(LONGER);
        let mut long: Vec<_> = overloads
            .iter()
            .filter(|(time, _)| *time >= enough)
            .collect();
        if long.len() < LONG_TRIALS {
            return None;
        }
        long.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (long_time, long_rate) = long[long.len() / 2];
        let spread = long.last()?.1 - long.first()?.1;
        let (t0, t1) = (short.as_secs_f64(), long_time.as_secs_f64());
        let rate = (long_rate * t1 - short_rate * t0) / (t1 - t0);
        let bits = short_rate * t0 - rate * t0;
        // The longer trials differ from the rate by the burst; it must stand out of their spread.
        let clear = rate > 0.0 && bits / t1 > 2.0 * spread;
        clear.then_some(Self { rate, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(of: &[(u64, f64)]) -> Vec<(Duration, f64)> {
        of.iter()
            .map(|&(millis, rate)| (Duration::from_millis(millis), rate))
            .collect()
    }

    #[test]
    fn a_burst_is_found_with_its_size() {
        // 100 Mbit/s and 500 kbit on top.
        let burst = Burst::find(&trials(&[
            (200, 102.5e6),
            (1000, 100.5e6),
            (1000, 100.51e6),
            (1000, 100.49e6),
        ]));
        let burst = burst.unwrap();
        assert!((burst.rate - 100.0e6).abs() < 1.0 && (burst.bits - 500.0e3).abs() < 1.0);
    }

    #[test]
    fn a_noisy_path_is_not_taken_for_a_burst() {
        let noisy = trials(&[
            (200, 102.0e6),
            (1000, 99.0e6),
            (1000, 101.0e6),
            (1000, 100.0e6),
        ]);
        assert!(Burst::find(&noisy).is_none());
    }

    #[test]
    fn a_path_that_falls_under_overload_is_not_taken_for_a_burst() {
        let falling = trials(&[
            (200, 50.0e6),
            (1000, 99.0e6),
            (1000, 99.0e6),
            (1000, 99.0e6),
        ]);
        assert!(Burst::find(&falling).is_none());
    }
}
