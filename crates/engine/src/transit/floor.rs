//! Fastest message of each stretch of time. Stretches double when there are too many, so that the stream's duration
//! need not be known.

use linerate_model::one_way::{Passage, Passages};

/// Maximum stretches. With half of them at least, a test of a second has one for every 8 ms.
const MAX_STRETCHES: usize = 256;

/// log2 of the initial stretch in nanoseconds (66 µs).
const FIRST_SHIFT: u32 = 16;

pub(super) struct Floor {
    shift: u32,
    lowest: [Option<Passage>; MAX_STRETCHES],
}

impl Default for Floor {
    fn default() -> Self {
        Self {
            shift: FIRST_SHIFT,
            lowest: [None; MAX_STRETCHES],
        }
    }
}

impl Floor {
    /// Records a message. One sent before the first belongs to the first stretch.
    pub(super) fn record(&mut self, passage: Passage) {
        let since = u64::try_from(passage.key).unwrap_or(0);
        while since >> self.shift >= MAX_STRETCHES as u64 {
            self.join();
        }
        let index = usize::try_from(since >> self.shift).unwrap_or(MAX_STRETCHES - 1);
        keep(&mut self.lowest[index], passage);
    }

    /// Merges every two stretches.
    fn join(&mut self) {
        let joined = std::array::from_fn(|index| {
            let pair = self.lowest.get(2 * index..2 * index + 2)?;
            pair.iter().flatten().copied().min_by_key(|p| p.took_ns)
        });
        self.lowest = joined;
        self.shift += 1;
    }

    pub(super) fn finish(self) -> Passages {
        self.lowest.into_iter().flatten().collect()
    }
}

fn keep(place: &mut Option<Passage>, passage: Passage) {
    if place.is_none_or(|kept| passage.took_ns < kept.took_ns) {
        *place = Some(passage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_it_lasts_the_fastest_of_each_stretch_stays() {
        let mut floor = Floor::default();
        for milli in 0..10_000_i64 {
            let took_ns = if milli % 100 == 37 { 1_000 } else { 9_000 };
            floor.record(Passage {
                key: milli * 1_000_000,
                took_ns,
            });
        }
        let kept: Vec<_> = floor.finish().iter().collect();
        assert!((MAX_STRETCHES / 2..=MAX_STRETCHES).contains(&kept.len()));
        assert!(kept.is_sorted_by_key(|passage| passage.key));
        let fast = kept.iter().filter(|passage| passage.took_ns == 1_000);
        assert_eq!(fast.count(), 100);
    }

    #[test]
    fn times_at_the_ends_of_their_range_are_taken() {
        let mut floor = Floor::default();
        for key in [0, i64::MIN, i64::MAX] {
            floor.record(Passage {
                key,
                took_ns: -key.signum(),
            });
        }
        assert_eq!(floor.finish().len(), 2);
    }
}
