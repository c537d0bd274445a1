//! Weighted sums of means whose weights add up to nothing: a main effect, an interaction, or one mean against another.
//!
//! # References
//! - The error of a sum of independent means with unequal variances: Satterthwaite, "An approximate distribution of
//!   estimates of variance components", 1946; of two means it is Welch's

use super::margin::Welch;
use super::mean::Moments;

/// One mean and its weight.
#[derive(Debug, Clone, Copy)]
pub struct Weighted {
    /// What the mean counts.
    pub weight: f64,
    /// Of independent observations.
    pub of: Moments,
}

/// The weighted sum with its error. `None` where the variance of a mean is not known, or there is none.
pub fn contrast(means: &[Weighted]) -> Option<Welch> {
    let (mut sum, mut square, mut weight, mut freedom, mut count) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for one in means {
        let part = one.weight.powi(2) * one.of.variance? / one.of.count;
        sum += one.weight * one.of.mean;
        square += part;
        weight += part.powi(2) / (one.of.count - 1.0);
        freedom += one.of.count - 1.0;
        count += one.of.count;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of observations"
    )]
    let n = count as u64;
    (n > 0).then(|| Welch {
        difference: sum,
        error: f64::sqrt(square),
        // Where no spread is left to weigh, all observations count.
        freedom: if weight > 0.0 {
            square.powi(2) / weight
        } else {
            freedom
        },
        n,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{USUAL_CONFIDENCE, welch};
    use super::*;
    use linerate_model::random::Random;

    fn moments(random: &mut Random, n: u32, mean: f64, deviation: f64) -> Moments {
        let values: Vec<f64> = (0..n).map(|_| mean + deviation * random.normal()).collect();
        Moments::from_samples(&values).unwrap()
    }

    fn weighted(weights: &[f64], of: &[Moments]) -> Vec<Weighted> {
        let both = weights.iter().zip(of);
        both.map(|(weight, of)| Weighted {
            weight: *weight,
            of: *of,
        })
        .collect()
    }

    #[test]
    fn of_two_means_it_is_welch_s() {
        let mut random = Random::new(1);
        let (a, b) = (
            moments(&mut random, 5, 10.0, 1.0),
            moments(&mut random, 9, 12.0, 3.0),
        );
        let (own, other) = (
            contrast(&weighted(&[-1.0, 1.0], &[a, b])).unwrap(),
            welch(a, b, 0.0).unwrap(),
        );
        assert!((own.difference - other.difference).abs() < 1e-12);
        assert!((own.error - other.error).abs() < 1e-12);
        assert!((own.freedom - other.freedom).abs() < 1e-9);
        assert_eq!(own.n, other.n);
    }

    #[test]
    fn one_mean_without_a_variance_leaves_the_whole_unknown() {
        let single = Moments::from_samples(&[1.0]).unwrap();
        let known = Moments::from_samples(&[1.0, 2.0]).unwrap();
        assert_eq!(contrast(&weighted(&[1.0, -1.0], &[known, single])), None);
        assert_eq!(contrast(&[]), None);
        let still = Moments::from_samples(&[2.0, 2.0, 2.0]).unwrap();
        let found = contrast(&weighted(&[1.0, -1.0], &[still, still])).unwrap();
        assert!((found.freedom - 4.0).abs() < 1e-12 && found.error < 1e-12);
    }

    /// 4000 studies of 2 × 2 cells whose scatter differs up to fivefold; 95 % ± four standard deviations of a share.
    #[test]
    fn intervals_of_effects_and_interactions_cover_as_often_as_they_claim() {
        const ROUNDS: u32 = 4000;
        let weights: [[f64; 4]; 3] = [
            [-0.5, 0.5, -0.5, 0.5],
            [-0.5, -0.5, 0.5, 0.5],
            [1.0, -1.0, -1.0, 1.0],
        ];
        let means = [1.0, 1.3, 0.8, 1.6];
        for n in [3, 5, 10] {
            let mut random = Random::new(20_261_124);
            let mut hits = [0; 3];
            for _ in 0..ROUNDS {
                let cells: Vec<Moments> = means
                    .iter()
                    .zip([0.02, 0.05, 0.1, 0.03])
                    .map(|(mean, deviation)| moments(&mut random, n, *mean, deviation))
                    .collect();
                for (hit, weights) in hits.iter_mut().zip(&weights) {
                    let truth: f64 = means.iter().zip(weights).map(|(m, w)| m * w).sum();
                    let found = contrast(&weighted(weights, &cells)).unwrap();
                    let interval = found.estimate(USUAL_CONFIDENCE).interval.unwrap();
                    *hit += u32::from(interval.contains(truth));
                }
            }
            for hit in hits {
                let share = f64::from(hit) / f64::from(ROUNDS);
                assert!((0.936..0.97).contains(&share), "n = {n}: {share}");
            }
        }
    }
}
