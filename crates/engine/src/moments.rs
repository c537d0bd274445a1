//! Exact count, mean, standard deviation and extremes of durations, from integer sums.

use linerate_model::sample::Moments;
use std::time::Duration;

/// Integer sums over all values. Adding one costs an addition and a multiplication.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    count: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

impl Sums {
    /// Adds one value.
    pub(crate) fn add(&mut self, value: Duration) {
        let nanos = u64::try_from(value.as_nanos()).unwrap_or(u64::MAX);
        self.min = if self.count == 0 {
            nanos
        } else {
            self.min.min(nanos)
        };
        self.max = self.max.max(nanos);
        self.count += 1;
        self.sum += u128::from(nanos);
        self.squares = self
            .squares
            .saturating_add(u128::from(nanos) * u128::from(nanos));
    }

    /// The moments; `None` without a value.
    #[expect(
        clippy::cast_precision_loss,
        reason = "sums are exact up to here; one rounding to 53 bits each"
    )]
    pub(crate) fn moments(&self) -> Option<Moments> {
        if self.count == 0 {
            return None;
        }
        let count = self.count as f64;
        // n Σx² − (Σx)² as integers, without cancellation; beyond their range (10¹⁰ values of a second) as floats.
        let whole = u128::from(self.count).checked_mul(self.squares);
        let apart = whole.zip(self.sum.checked_mul(self.sum));
        let apart = apart.map_or_else(
            || count * self.squares as f64 - (self.sum as f64).powi(2),
            |(squares, square)| squares.saturating_sub(square) as f64,
        );
        let deviation = apart.max(0.0).sqrt() / count;
        let mean = self.sum as f64 / count;
        Some(Moments::new(
            self.count, mean, deviation, self.min, self.max,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_exact_where_squares_of_floats_would_cancel() {
        let mut sums = Sums::default();
        // A day from zero, a nanosecond from each other.
        for nanos in [1, 2, 3, 4] {
            sums.add(Duration::from_hours(24) + Duration::from_nanos(nanos));
        }
        let moments = sums.moments().unwrap();
        assert!((moments.mean_ns - 86_400_000_000_002.5).abs() < 0.02);
        assert!((moments.stdev_ns - 1.25_f64.sqrt()).abs() < 0.001);
        assert_eq!(moments.max_ns - moments.min_ns, 3);
        assert_eq!(Sums::default().moments(), None);
    }

    #[test]
    fn parts_merge_to_the_whole() {
        let of = |values: &[u64]| {
            let mut sums = Sums::default();
            for nanos in values {
                sums.add(Duration::from_nanos(*nanos));
            }
            sums.moments().unwrap_or_default()
        };
        let merged = of(&[5, 9, 1]).merged(of(&[100, 2]));
        let whole = of(&[5, 9, 1, 100, 2]);
        assert!((merged.mean_ns - whole.mean_ns).abs() < 0.002);
        assert!((merged.stdev_ns - whole.stdev_ns).abs() < 0.002);
        assert_eq!((merged.count, merged.min_ns, merged.max_ns), (5, 1, 100));
        assert_eq!(of(&[]).merged(whole), whole);
    }
}
