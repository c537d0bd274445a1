//! Whether values follow a distribution: the Kolmogorov–Smirnov distance.
//!
//! # References
//! - A bound for every n: Massart, "The tight constant in the Dvoretzky–Kiefer–Wolfowitz inequality", 1990
//! - Two samples: Smirnov, 1939; the same constant for equal sizes from n = 458 on: Wei, Dudley, 2012

use super::count;

/// The largest distance between two distribution functions, at least one of which is of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// From 0 to 1.
    pub statistic: f64,
    /// Values that it is worth: n, for two samples `n·m / (n + m)`.
    pub effective_n: f64,
}

impl Distance {
    /// What the distance stays below but for a share `false_alarms` of all samples of the distribution.
    pub fn critical(&self, false_alarms: f64) -> f64 {
        ((2.0 / false_alarms).ln() / (2.0 * self.effective_n)).sqrt()
    }
}

/// The distance of a sample from a continuous distribution. `None` of an empty sample.
pub fn from_distribution(sample: &[f64], cdf: impl Fn(f64) -> f64) -> Option<Distance> {
    let sorted = sorted(sample);
    let n = count(sorted.len());
    let steps = sorted.iter().enumerate().map(|(index, value)| {
        let at = cdf(*value);
        let (below, above) = (count(index) / n, count(index + 1) / n);
        (at - below).abs().max((above - at).abs())
    });
    (!sorted.is_empty()).then(|| Distance {
        statistic: steps.fold(0.0, f64::max),
        effective_n: n,
    })
}

/// The distance between two samples. `None` if one is empty.
pub fn between(a: &[f64], b: &[f64]) -> Option<Distance> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (a, b) = (sorted(a), sorted(b));
    let (all_a, all_b) = (count(a.len()), count(b.len()));
    let (mut below_a, mut below_b, mut statistic) = (0, 0, 0.0_f64);
    while below_a < a.len() && below_b < b.len() {
        let value = a[below_a].min(b[below_b]);
        below_a += a[below_a..].iter().take_while(|x| **x <= value).count();
        below_b += b[below_b..].iter().take_while(|x| **x <= value).count();
        statistic = statistic.max((count(below_a) / all_a - count(below_b) / all_b).abs());
    }
    Some(Distance {
        statistic,
        effective_n: all_a * all_b / (all_a + all_b),
    })
}

fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::random::Random;

    fn uniform(seed: u64, n: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| random.unit()).collect()
    }

    fn distance(sample: &[f64]) -> Distance {
        from_distribution(sample, |x| x.clamp(0.0, 1.0)).unwrap()
    }

    #[test]
    fn the_distance_of_small_samples_is_that_of_the_book() {
        assert!((distance(&[0.5]).statistic - 0.5).abs() < 1e-12);
        assert!((distance(&[0.1, 0.2, 0.9]).statistic - (2.0 / 3.0 - 0.2)).abs() < 1e-12);
        let two = between(&[1.0, 2.0, 3.0], &[2.5, 3.5]).unwrap();
        assert!((two.statistic - 2.0 / 3.0).abs() < 1e-12);
        assert!((two.effective_n - 1.2).abs() < 1e-12);
        let same = between(&[1.0, 1.0, 2.0], &[1.0, 1.0, 2.0]).unwrap();
        assert!(same.statistic < 1e-12);
        assert_eq!(between(&[], &[1.0]), None);
    }

    /// Of 1000 samples one of a hundred may be called wrong: 10 ± 4 standard deviations of 3.1.
    #[test]
    fn false_alarms_are_as_rare_as_stated() {
        let alarms = (0..1000).filter(|seed| {
            let found = distance(&uniform(*seed, 500));
            found.statistic > found.critical(0.01)
        });
        assert!(alarms.count() <= 23);
        let alarms = (0..1000).filter(|seed| {
            let found = between(&uniform(*seed, 600), &uniform(seed + 5000, 600)).unwrap();
            found.statistic > found.critical(0.01)
        });
        assert!(alarms.count() <= 23);
    }

    #[test]
    fn another_distribution_is_told() {
        for seed in 0..20 {
            let bent: Vec<_> = uniform(seed, 5000).iter().map(|x| x.powf(1.15)).collect();
            let found = distance(&bent);
            assert!(found.statistic > found.critical(0.001), "seed {seed}");
        }
    }
}
