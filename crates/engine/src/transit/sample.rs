//! Every n-th value; n doubles when there are too many.

use linerate_model::one_way::{Passage, Passages};

/// Maximum values kept: 20 of them above the 99 % quantile, and some 14 KB in a document.
const MAX_SAMPLES: usize = 2048;

/// A systematic sample.
pub(crate) struct Sample {
    seen: u64,
    /// n − 1, where n is a power of two.
    mask: u64,
    kept: Vec<Passage>,
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self {
            seen: 0,
            mask: 0,
            kept: Vec::new(),
        }
    }

    /// Takes the value if it is the n-th.
    pub(crate) fn offer(&mut self, passage: Passage) {
        let number = self.seen;
        self.seen += 1;
        self.offer_numbered(number, passage);
    }

    /// Takes the value with this number, from 0, if it is the n-th.
    pub(crate) fn offer_numbered(&mut self, number: u64, passage: Passage) {
        if number & self.mask != 0 {
            return;
        }
        if self.kept.len() == MAX_SAMPLES {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.mask = (self.mask << 1) | 1;
            if number & self.mask != 0 {
                return;
            }
        }
        self.kept.push(passage);
    }

    pub(crate) fn finish(self) -> Passages {
        self.kept.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_evenly_spaced_and_bounded() {
        for count in [1, 2_048, 2_049, 100_000] {
            let mut sample = Sample::new();
            for key in 0..count {
                sample.offer(Passage { key, took_ns: 0 });
            }
            let keys: Vec<_> = sample.finish().iter().map(|p| p.key).collect();
            let least = MAX_SAMPLES.min(usize::try_from(count).unwrap()) / 2;
            assert!((least..=MAX_SAMPLES).contains(&keys.len()), "{count}");
            let steps: std::collections::BTreeSet<_> =
                keys.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(steps.len() <= 1, "{count}: {steps:?}");
        }
    }
}
