//! `TCP_INFO` readings of one stream, bounded in number: when there are too many, every second one is dropped and only
//! every second one is taken from then on.

use linerate_model::sample::TcpSample;

pub(crate) struct TcpSamples {
    kept: Vec<TcpSample>,
    most: usize,
    /// Every `stride`-th reading is taken.
    stride: usize,
    /// Readings passed over since the last one taken.
    passed: usize,
}

impl TcpSamples {
    /// At most `most` readings, and the last.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            stride: 1,
            passed: 0,
        }
    }

    /// Takes a reading, unless it is to be passed over; then the kernel is not asked.
    pub(crate) fn take(&mut self, read: impl FnOnce() -> Option<TcpSample>) {
        self.passed += 1;
        if self.passed < self.stride && !self.kept.is_empty() {
            return;
        }
        self.passed = 0;
        if self.kept.len() >= self.most {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
        self.kept.extend(read());
    }

    /// All readings, with the `last` one.
    pub(crate) fn finish(&mut self, last: impl FnOnce() -> Option<TcpSample>) -> Vec<TcpSample> {
        let mut all = std::mem::take(&mut self.kept);
        all.extend(last());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_there_are_some_of_all_the_time_are_kept() {
        const MOST: usize = 64;
        let at = |at_ns| {
            let rest = TcpSample::default();
            Some(TcpSample { at_ns, ..rest })
        };
        let mut samples = TcpSamples::new(MOST);
        let mut reads = 0;
        for number in 0..10_000 {
            samples.take(|| {
                reads += 1;
                at(number)
            });
        }
        // Readings that would be dropped are not taken.
        assert!(reads < 10 * MOST, "{reads}");
        let times: Vec<_> = samples
            .finish(|| at(10_000))
            .iter()
            .map(|s| s.at_ns)
            .collect();
        assert!((MOST / 2..=MOST + 1).contains(&times.len()));
        assert_eq!((times[0], times[times.len() - 1]), (0, 10_000));
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (1..=512).contains(gap)), "{gaps:?}");
    }
}
