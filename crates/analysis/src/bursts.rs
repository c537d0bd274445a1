//! The search for the longest burst that a device forwards without loss (RFC 9004 §5.3), one burst at a time.

/// One search. Lengths are in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstSearch {
    /// Longest that passed without loss; none did at zero.
    passed: u64,
    /// Shortest that did not.
    failed: Option<u64>,
    most: u64,
    /// Where to begin; `None` once something was tried.
    first: Option<u64>,
    /// From the last one to the next, while only one side is known.
    step: u64,
}

/// Lengths up to which a search ends at one frame; above, at a thousandth.
const EXACT_UP_TO: u64 = 2000;
/// Where a search begins of which nothing is known.
const FIRST: u64 = 16;

impl BurstSearch {
    /// Of a device of which nothing is known, with bursts of up to `most` frames.
    pub fn new(most: u64) -> Self {
        Self {
            passed: 0,
            failed: None,
            most: most.max(1),
            first: Some(FIRST),
            step: FIRST,
        }
    }

    /// Of a device that another search found to forward bursts of `longest` frames: an independent search that begins there,
    /// because that is where few bursts tell.
    pub fn beginning_at(longest: u64, most: u64) -> Self {
        let first = longest.max(1);
        Self {
            first: Some(first),
            step: first.div_ceil(EXACT_UP_TO),
            ..Self::new(most)
        }
    }

    /// Length of the next burst; `None` once the search has ended.
    pub fn next(&self) -> Option<u64> {
        let next = match (self.first, self.failed) {
            (Some(first), _) => first.min(self.most),
            (None, None) if self.passed >= self.most => return None,
            (None, None) => (self.passed + self.step).min(self.most),
            (None, Some(failed)) if failed - self.passed <= failed.div_ceil(EXACT_UP_TO) => {
                return None;
            }
            (None, Some(failed)) if self.passed == 0 => failed.saturating_sub(self.step).max(1),
            (None, Some(failed)) => self.passed + (failed - self.passed) / 2,
        };
        Some(next)
    }

    /// Takes in what became of a burst of `frames`.
    pub fn record(&mut self, frames: u64, is_lossless: bool) {
        if self.first.take().is_none() {
            self.step = self.step.saturating_mul(2);
        }
        if is_lossless {
            self.passed = self.passed.max(frames);
            self.failed = self.failed.filter(|failed| *failed > frames);
        } else if frames > self.passed {
            self.failed = Some(self.failed.map_or(frames, |failed| failed.min(frames)));
        }
    }

    /// Longest burst without loss so far.
    pub const fn longest(&self) -> u64 {
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a device that forwards bursts of up to `buffer` frames; returns what was found and the bursts it took.
    fn searched(mut search: BurstSearch, buffer: u64) -> (u64, u32) {
        let mut tried = 0;
        while let Some(frames) = search.next() {
            search.record(frames, frames <= buffer);
            tried += 1;
            assert!(tried < 100, "{search:?}");
        }
        (search.longest(), tried)
    }

    #[test]
    fn any_buffer_is_found_to_the_frame_or_the_thousandth() {
        for buffer in (0..400).chain([1999, 2000, 2001, 70_001, 999_999]) {
            let (found, tried) = searched(BurstSearch::new(1_000_000), buffer);
            assert!(found <= buffer, "{buffer}: {found}");
            assert!(buffer - found <= buffer / 1000, "{buffer}: {found}");
            assert!(tried <= 40, "{buffer}: {tried}");
        }
    }

    #[test]
    fn a_search_that_begins_at_the_result_takes_two_bursts() {
        assert_eq!(searched(BurstSearch::beginning_at(65, 1000), 65), (65, 2));
        // One frame less, one more, and far away.
        assert_eq!(searched(BurstSearch::beginning_at(65, 1000), 64).0, 64);
        assert_eq!(searched(BurstSearch::beginning_at(65, 1000), 66).0, 66);
        assert_eq!(searched(BurstSearch::beginning_at(65, 1000), 3).0, 3);
        assert_eq!(searched(BurstSearch::beginning_at(65, 1000), 700).0, 700);
        assert_eq!(searched(BurstSearch::beginning_at(65, 1000), 0).0, 0);
        assert_eq!(searched(BurstSearch::beginning_at(0, 1000), 0), (0, 1));
    }

    #[test]
    fn a_device_without_a_limit_ends_at_the_longest_burst() {
        assert_eq!(searched(BurstSearch::new(1000), u64::MAX).0, 1000);
        assert_eq!(
            searched(BurstSearch::beginning_at(1000, 1000), u64::MAX),
            (1000, 1)
        );
    }
}
