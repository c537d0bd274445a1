//! How far a host's wall clock is from that of the host that wrote a run.

use crate::text::spoken_time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A host's wall clock (UTC) against that of the host that wrote the run, when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WallClockOffset {
    /// The host's clock less the writer's, nanoseconds: above 0 it is ahead.
    pub offset_ns: i64,
    /// The offset lies so far on either side at most, nanoseconds.
    pub error_ns: u64,
}

/// Offsets that people notice in two hosts' logs.
const NOTICED: Duration = Duration::from_secs(1);

impl WallClockOffset {
    /// From a clock that showed `read_unix_ns`, nanoseconds since 1970 UTC, at some time of a round trip that began at
    /// `asked_unix_ns` of this host's clock and took `round_trip` (Cristian 1989, "Probabilistic clock synchronization").
    pub fn of(asked_unix_ns: i64, round_trip: Duration, read_unix_ns: i64) -> Self {
        let half = u64::try_from(round_trip.as_nanos().div_ceil(2)).unwrap_or(u64::MAX);
        let middle = asked_unix_ns.saturating_add_unsigned(half);
        Self {
            offset_ns: read_unix_ns.saturating_sub(middle),
            error_ns: half,
        }
    }

    /// In words, where it is a second or more even by the error: `3 min 12 s ahead (± 1 s)`.
    pub fn noticed(self) -> Option<String> {
        let off = self.offset_ns.unsigned_abs();
        let least = Duration::from_nanos(off.saturating_sub(self.error_ns));
        let side = if self.offset_ns < 0 {
            "behind"
        } else {
            "ahead"
        };
        let error = Duration::from_nanos(self.error_ns).as_secs_f64();
        (least >= NOTICED).then(|| {
            format!(
                "{} {side} (± {error:.3} s)",
                spoken_time(Duration::from_nanos(off))
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// A clock that is `ahead`, read after `out` of a round trip of `out + back`.
    fn read(ahead: i64, out: Duration, back: Duration) -> WallClockOffset {
        let asked = 1_700_000_000 * SECOND;
        let at = asked + i64::try_from(out.as_nanos()).unwrap() + ahead;
        WallClockOffset::of(asked, out + back, at)
    }

    #[test]
    fn the_error_holds_the_offset_however_the_round_trip_divides() {
        for ahead in [0, 5, -40 * SECOND, 3600 * SECOND] {
            for (out, back) in [(0, 7_000_001), (7_000_000, 0), (1_000, 2_000)] {
                let [out, back] = [out, back].map(Duration::from_nanos);
                let clock = read(ahead, out, back);
                let off_by = clock.offset_ns.abs_diff(ahead);
                assert!(off_by <= clock.error_ns, "{clock:?} {ahead}");
                assert_eq!(
                    u128::from(clock.error_ns),
                    (out + back).as_nanos().div_ceil(2)
                );
            }
        }
    }

    #[test]
    fn an_offset_that_may_be_none_is_not_told() {
        let millis = Duration::from_millis;
        let told =
            |ahead, round_trip: Duration| read(ahead, round_trip / 2, round_trip / 2).noticed();
        let behind = told(-192 * SECOND, millis(4));
        assert_eq!(behind.as_deref(), Some("3 min 12 s behind (± 0.002 s)"));
        assert_eq!(told(SECOND / 2, millis(4)), None);
        assert_eq!(told(3 * SECOND, millis(6000)), None);
        assert!(told(3 * SECOND, millis(10)).is_some());
    }

    #[test]
    fn times_out_of_range_are_the_last_ones() {
        let clock = WallClockOffset::of(i64::MAX, Duration::MAX, i64::MIN);
        assert_eq!((clock.offset_ns, clock.error_ns), (i64::MIN, u64::MAX));
    }
}
