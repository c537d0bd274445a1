//! Keeps each counter of one observer monotonic.

use crate::error::ReadError;
use std::collections::BTreeMap;

/// How a counter whose source is lower than before is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backwards {
    /// The kernel corrected an estimate downwards (idle time): the earlier value is kept until passed.
    Hold,
    /// The source was reset: the signal is missing from then on, since values before and after cannot be compared.
    Refuse,
    /// The source counts in 32 bits, or is a sum of such counters: a step with a gain below 2³¹ is a wrap, any other a
    /// reset.
    Wrap32,
}

/// One counter: its last reading, the sum of wraps, and whether it was reset.
#[derive(Debug, Clone, Copy)]
struct Track {
    raw: u64,
    wrapped: u64,
    reset: Option<(u64, u64)>,
}

/// The last readings of all counters of one observer.
#[derive(Debug, Default)]
pub(crate) struct History {
    tracks: BTreeMap<String, Track>,
}

impl History {
    /// The value to report for the new reading `raw`.
    pub(crate) fn settle(
        &mut self,
        signal: &str,
        raw: u64,
        rule: Backwards,
    ) -> Result<u64, ReadError> {
        let Some(track) = self.tracks.get_mut(signal) else {
            let track = Track {
                raw,
                wrapped: 0,
                reset: None,
            };
            self.tracks.insert(signal.to_owned(), track);
            return Ok(raw);
        };
        track.settle(raw, rule);
        match track.reset {
            None => Ok(track.raw.saturating_add(track.wrapped)),
            Some((before, after)) => Err(ReadError::WentBackwards { before, after }),
        }
    }
}

impl Track {
    fn settle(&mut self, raw: u64, rule: Backwards) {
        if raw >= self.raw {
            self.raw = raw;
            return;
        }
        match rule {
            Backwards::Hold => {}
            Backwards::Refuse => self.refuse(raw),
            Backwards::Wrap32 => self.wrap(raw),
        }
    }

    fn refuse(&mut self, raw: u64) {
        self.reset.get_or_insert((self.raw, raw));
    }

    /// Adds the fewest wraps to `raw` that keep the counter monotonic: several cores may have wrapped.
    fn wrap(&mut self, raw: u64) {
        const WRAP: u64 = 1 << 32;
        let step = (self.raw - raw).div_ceil(WRAP) * WRAP;
        let gain = step - (self.raw - raw);
        if gain < WRAP / 2 {
            self.wrapped += step;
            self.raw = raw;
        } else {
            self.refuse(raw);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(rule: Backwards, readings: &[u64]) -> Vec<Result<u64, ReadError>> {
        let mut history = History::default();
        readings
            .iter()
            .map(|raw| history.settle("x", *raw, rule))
            .collect()
    }

    #[test]
    fn a_corrected_estimate_stands_until_it_is_passed() {
        let got = settled(Backwards::Hold, &[100, 90, 95, 101]);
        assert_eq!(got, [Ok(100), Ok(100), Ok(100), Ok(101)]);
    }

    #[test]
    fn a_reset_counter_stays_missing() {
        let got = settled(Backwards::Refuse, &[100, 3, 200]);
        let reset = Err(ReadError::WentBackwards {
            before: 100,
            after: 3,
        });
        assert_eq!(got, [Ok(100), reset.clone(), reset]);
    }

    #[test]
    fn a_32_bit_counter_goes_on_after_its_wrap() {
        let top = u64::from(u32::MAX);
        let got = settled(Backwards::Wrap32, &[top - 1, 4, 5, top, 0]);
        let wrap = 1_u64 << 32;
        let expected = [top - 1, wrap + 4, wrap + 5, wrap + top, 2 * wrap];
        assert_eq!(got, expected.map(Ok));
    }

    #[test]
    fn a_sum_of_two_cores_that_both_wrapped_goes_on() {
        let top = u64::from(u32::MAX);
        let got = settled(Backwards::Wrap32, &[2 * top, 8]);
        assert_eq!(got, [Ok(2 * top), Ok(2 * (top + 1) + 8)]);
    }

    #[test]
    fn a_small_32_bit_counter_that_falls_was_reset() {
        let got = settled(Backwards::Wrap32, &[7, 0]);
        assert_eq!(
            got[1],
            Err(ReadError::WentBackwards {
                before: 7,
                after: 0
            })
        );
    }

    #[test]
    fn counters_do_not_share_their_past() {
        let mut history = History::default();
        assert_eq!(history.settle("a", 9, Backwards::Refuse), Ok(9));
        assert_eq!(history.settle("b", 1, Backwards::Refuse), Ok(1));
    }
}
