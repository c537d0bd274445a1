//! When the rounds of a mesh that runs for weeks begin: at a fixed period, each moved by a seeded jitter.
//!
//! Pure: every time is a distance from the schedule's epoch, and `now` is an argument. Whoever has the same schedule and
//! epoch gets the same rounds, after a restart and on other hosts too.

use crate::inventory::plan_error;
use linerate_model::exit::Failure;
use linerate_model::random::Random;
use std::time::Duration;

/// Shortest period: below it connecting to the hosts takes longer than testing.
pub const MIN_PERIOD: Duration = Duration::from_secs(1);
/// Longest period: a year.
pub const MAX_PERIOD: Duration = Duration::from_hours(366 * 24);
/// Without another wish a round begins up to this part of the period late: rounds of several meshes, and what else runs on
/// the hour, do not always meet.
const JITTER_PART: u32 = 10;

/// Rounds at a fixed period with jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    period: Duration,
    jitter: Duration,
    seed: u64,
}

/// A round of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledRound {
    /// Its number, from 0 at the epoch.
    pub number: u64,
    /// When it begins, from the epoch on.
    pub begin: Duration,
    /// Rounds before it that began while nobody could run them: they are not made up for.
    pub skipped: u64,
}

impl Schedule {
    /// Rounds each `period`, between [`MIN_PERIOD`] and [`MAX_PERIOD`]; each begins less than `jitter` late, by default a
    /// tenth of the period, at most half of it.
    ///
    /// # Errors
    ///
    /// A period or jitter out of range.
    pub fn new(period: Duration, jitter: Option<Duration>, seed: u64) -> Result<Self, Failure> {
        if !(MIN_PERIOD..=MAX_PERIOD).contains(&period) {
            let why = format!(
                "a period of {period:?} is not possible: rounds begin every {MIN_PERIOD:?} to every 366 days"
            );
            return Err(plan_error(why));
        }
        let jitter = jitter.unwrap_or(period / JITTER_PART);
        if jitter > period / 2 {
            let why = format!(
                "a jitter of {jitter:?} is more than half of the period of {period:?}: rounds would meet"
            );
            return Err(plan_error(why));
        }
        Ok(Self {
            period,
            jitter,
            seed,
        })
    }

    /// From one round to the next, without the jitter.
    pub const fn period(&self) -> Duration {
        self.period
    }

    /// When a round begins. Round 0 begins at the epoch.
    pub fn begin(&self, number: u64) -> Duration {
        let late = match number {
            0 => 0.0,
            // Each number has a generator of its own, so that no round needs those before it.
            _ => Random::new(self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).unit(),
        };
        let nominal = self.period.as_nanos().saturating_mul(u128::from(number));
        let nominal = Duration::from_nanos_u128(nominal.min(Duration::MAX.as_nanos()));
        nominal.saturating_add(self.jitter.mul_f64(late))
    }

    /// The newest round that has begun by `now`.
    pub fn latest(&self, now: Duration) -> u64 {
        let number = now.as_nanos() / self.period.as_nanos();
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        // Its jitter may still be to come.
        if self.begin(number) > now {
            number.saturating_sub(1)
        } else {
            number
        }
    }

    /// The first round after `last` that begins at `now` or later; `None`: no round was run yet.
    pub fn next(&self, now: Duration, last: Option<u64>) -> ScheduledRound {
        let first = last.map_or(0, |last| last.saturating_add(1));
        let latest = self.latest(now);
        let number = if self.begin(latest) >= now {
            latest
        } else {
            latest.saturating_add(1)
        };
        let number = number.max(first);
        ScheduledRound {
            number,
            begin: self.begin(number),
            skipped: number - first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn hourly(seed: u64) -> Schedule {
        Schedule::new(HOUR, None, seed).unwrap()
    }

    #[test]
    fn rounds_begin_in_order_less_than_the_jitter_late() {
        for seed in 0..50 {
            let schedule = hourly(seed);
            assert_eq!(schedule.begin(0), Duration::ZERO);
            for number in 1..200 {
                let nominal = HOUR * u32::try_from(number).unwrap();
                let late = schedule.begin(number).checked_sub(nominal).unwrap();
                assert!(late < HOUR / 10, "{seed}, {number}: {late:?}");
                assert!(schedule.begin(number) > schedule.begin(number - 1));
            }
        }
    }

    #[test]
    fn the_jitter_is_seeded_and_spread() {
        let late = |seed| -> Vec<_> {
            let schedule = hourly(seed);
            (1..101)
                .map(|number| schedule.begin(number).as_secs() % 3600)
                .collect()
        };
        assert_eq!(late(7), late(7));
        assert_ne!(late(7), late(8));
        // Of 100 uniform draws from 360 s, a tenth of the range is empty once in 40 000 times.
        for tenth in 0..10 {
            let is_in = |late: &&u64| **late / 36 == tenth;
            assert!(late(7).iter().any(|late| is_in(&late)), "{tenth}");
        }
    }

    #[test]
    fn a_controller_that_is_in_time_runs_every_round() {
        let schedule = hourly(3);
        let (mut now, mut last) = (Duration::ZERO, None);
        for number in 0..1000 {
            let next = schedule.next(now, last);
            assert_eq!((next.number, next.skipped), (number, 0));
            assert!(next.begin >= now);
            // A round of 40 minutes.
            now = next.begin + Duration::from_mins(40);
            last = Some(next.number);
        }
    }

    #[test]
    fn what_began_while_a_round_ran_is_skipped_and_counted() {
        let schedule = Schedule::new(HOUR, Some(Duration::ZERO), 0).unwrap();
        let next = schedule.next(HOUR * 3 + Duration::from_secs(1), Some(0));
        assert_eq!((next.number, next.skipped), (4, 3));
        assert_eq!(next.begin, HOUR * 4);
        // One that ended just as the next begins is in time.
        let next = schedule.next(HOUR, Some(0));
        assert_eq!((next.number, next.skipped), (1, 0));
        // A host that slept for a year.
        let next = schedule.next(HOUR * 8760, Some(4));
        assert_eq!((next.number, next.skipped), (8760, 8755));
    }

    #[test]
    fn every_round_is_run_or_skipped_whatever_the_rounds_take() {
        let mut random = Random::new(11);
        for seed in 0..20 {
            let schedule = hourly(seed);
            let (mut now, mut last, mut ran, mut skipped) = (Duration::ZERO, None, 0, 0);
            for _ in 0..200 {
                let next = schedule.next(now, last);
                assert!(next.begin >= now && last.is_none_or(|last| next.number > last));
                ran += 1;
                skipped += next.skipped;
                now = next.begin + HOUR.mul_f64(random.unit() * 3.0);
                last = Some(next.number);
            }
            assert_eq!(last, Some(ran + skipped - 1));
        }
    }

    #[test]
    fn the_latest_round_has_begun_and_the_one_after_it_has_not() {
        let schedule = hourly(5);
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let now = HOUR.mul_f64(random.unit() * 5000.0);
            let latest = schedule.latest(now);
            assert!(schedule.begin(latest) <= now && schedule.begin(latest + 1) > now);
        }
    }

    #[test]
    fn what_cannot_be_a_schedule_is_refused() {
        for (period, jitter) in [
            (Duration::ZERO, None),
            (Duration::from_millis(999), None),
            (MAX_PERIOD + HOUR, None),
            (HOUR, Some(HOUR / 2 + Duration::from_secs(1))),
        ] {
            assert!(Schedule::new(period, jitter, 0).is_err());
        }
    }
}
