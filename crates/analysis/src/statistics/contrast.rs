//! Weighted sums of means whose weights add up to nothing: a main effect, an interaction, or one mean against another.
//!
//! Means of which every unit is its own are independent. Means that share units, such as cells that were measured in
//! the same starts of a program, differ within a unit by less, or by more, than their own scatter says: the sum is then
//! taken within each unit, and what counts is how it scatters from unit to unit.
//!
//! # References
//! - The error of a sum of independent means with unequal variances: Satterthwaite, "An approximate distribution of
//!   estimates of variance components", 1946; of two means it is Welch's
//! - The error of means that share units: Liang, Zeger, "Longitudinal data analysis using generalized linear models",
//!   1986, of as many groups as there are units; of two means in the same units it is Student's paired one

use super::margin::Welch;
use super::mean::Moments;
use super::units::Unit;
use std::collections::BTreeMap;

/// One mean and its weight.
#[derive(Debug, Clone, Copy)]
pub struct Weighted<'a> {
    /// What the mean counts.
    pub weight: f64,
    /// What it is the mean of.
    pub of: &'a [Unit],
}

/// A mean of the sum.
struct Part<'a> {
    weight: f64,
    units: &'a [Unit],
    of: Moments,
    variance: f64,
}

/// The weighted sum with its error. `None` where the variance of a mean is not known, or there is none.
pub fn contrast(means: &[Weighted<'_>]) -> Option<Welch> {
    let parts: Option<Vec<Part<'_>>> = means
        .iter()
        .map(|Weighted { weight, of: units }| {
            let of = Moments::from_samples(&Unit::values(units))?;
            Some(Part {
                weight: *weight,
                units,
                of,
                variance: of.variance?,
            })
        })
        .collect();
    let parts = parts.filter(|parts| !parts.is_empty())?;
    let (mut square, mut weight, mut freedom) = (0.0, 0.0, 0.0);
    for group in groups(&parts) {
        let (variance, own) = group_error(&group);
        square += variance;
        weight += variance.powi(2) / own;
        freedom += own;
    }
    Some(Welch {
        difference: parts.iter().map(|part| part.weight * part.of.mean).sum(),
        error: f64::sqrt(square),
        // Where no spread is left to weigh, all observations count.
        freedom: if weight > 0.0 {
            square.powi(2) / weight
        } else {
            freedom
        },
        n: parts.iter().map(|part| part.units.len() as u64).sum(),
    })
}

/// Means that share units, directly or by others; each such group is independent of the rest.
fn groups<'a, 'b>(parts: &'b [Part<'a>]) -> Vec<Vec<&'b Part<'a>>> {
    let mut group_of: Vec<usize> = (0..parts.len()).collect();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, part) in parts.iter().enumerate() {
        for name in part.units.iter().filter_map(|unit| unit.name.as_deref()) {
            let known = *first.entry(name).or_insert(at);
            let (own, other) = (group_of[at], group_of[known]);
            for group in group_of.iter_mut().filter(|group| **group == own) {
                *group = other;
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<&Part<'a>>> = BTreeMap::new();
    for (group, part) in group_of.into_iter().zip(parts) {
        groups.entry(group).or_default().push(part);
    }
    groups.into_values().collect()
}

/// The squared error that a group adds, and its degrees of freedom.
fn group_error(group: &[&Part<'_>]) -> (f64, f64) {
    let fewest = group
        .iter()
        .map(|part| part.of.count)
        .fold(f64::MAX, f64::min);
    if let [part] = group {
        return (
            part.weight.powi(2) * part.variance / part.of.count,
            fewest - 1.0,
        );
    }
    // How far each unit draws the sum from where it is. A unit of its own is under a name that no other has.
    let mut shares: BTreeMap<(Option<&str>, usize), f64> = BTreeMap::new();
    let mut own = 0;
    for part in group {
        let count = part.of.count;
        let share = part.weight / count * (count / (count - 1.0)).sqrt();
        for unit in part.units {
            own += 1;
            let name = unit.name.as_deref();
            let key = (name, if name.is_none() { own } else { 0 });
            *shares.entry(key).or_default() += share * (unit.value - part.of.mean);
        }
    }
    (
        shares.values().map(|share| share.powi(2)).sum(),
        fewest - 1.0,
    )
}

#[cfg(test)]
mod tests {
    use super::super::{USUAL_CONFIDENCE, welch};
    use super::*;
    use linerate_model::random::Random;

    fn drawn(random: &mut Random, n: u32, mean: f64, deviation: f64) -> Vec<Unit> {
        let values = (0..n).map(|_| mean + deviation * random.normal());
        values.map(Unit::own).collect()
    }

    fn moments(units: &[Unit]) -> Moments {
        Moments::from_samples(&Unit::values(units)).unwrap()
    }

    fn weighted<'a>(weights: &[f64], of: &'a [Vec<Unit>]) -> Vec<Weighted<'a>> {
        let both = weights.iter().zip(of);
        both.map(|(weight, of)| Weighted {
            weight: *weight,
            of,
        })
        .collect()
    }

    fn named(values: &[f64]) -> Vec<Unit> {
        let each = values.iter().enumerate();
        each.map(|(at, value)| Unit {
            name: Some(format!("start {at}")),
            value: *value,
        })
        .collect()
    }

    #[test]
    fn of_two_means_it_is_welch_s() {
        let mut random = Random::new(1);
        let both = [
            drawn(&mut random, 5, 10.0, 1.0),
            drawn(&mut random, 9, 12.0, 3.0),
        ];
        let (own, other) = (
            contrast(&weighted(&[-1.0, 1.0], &both)).unwrap(),
            welch(moments(&both[0]), moments(&both[1]), 0.0).unwrap(),
        );
        assert!((own.difference - other.difference).abs() < 1e-12);
        assert!((own.error - other.error).abs() < 1e-12);
        assert!((own.freedom - other.freedom).abs() < 1e-9);
        assert_eq!(own.n, other.n);
    }

    #[test]
    fn one_mean_without_a_variance_leaves_the_whole_unknown() {
        let own = |values: &[f64]| values.iter().copied().map(Unit::own).collect::<Vec<_>>();
        let both = [own(&[1.0, 2.0]), own(&[1.0])];
        assert_eq!(contrast(&weighted(&[1.0, -1.0], &both)), None);
        assert_eq!(contrast(&[]), None);
        let still = [own(&[2.0, 2.0, 2.0]), own(&[2.0, 2.0, 2.0])];
        let found = contrast(&weighted(&[1.0, -1.0], &still)).unwrap();
        assert!((found.freedom - 4.0).abs() < 1e-12 && found.error < 1e-12);
    }

    #[test]
    fn of_two_means_in_the_same_units_it_is_the_paired_one() {
        let (a, b) = ([10.0, 20.0, 30.0, 41.0], [11.0, 20.5, 31.5, 42.0]);
        let both = [named(&a), named(&b)];
        let found = contrast(&weighted(&[-1.0, 1.0], &both)).unwrap();
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        let paired = Moments::from_samples(&differences).unwrap();
        assert!((found.difference - paired.mean).abs() < 1e-12);
        let error = (paired.variance.unwrap() / paired.count).sqrt();
        assert!((found.error - error).abs() < 1e-12, "{}", found.error);
        assert!((found.freedom - 3.0).abs() < 1e-12);
    }

    /// 2000 studies of 2 × 4 cells, all in the same five starts, each of which draws the cells of one level by its own
    /// amount. 95 % ± four standard deviations of a share; taken as independent, the cells cover less.
    #[test]
    fn what_a_start_does_to_a_level_is_in_the_interval_of_its_effect() {
        const ROUNDS: u32 = 2000;
        let weights = [-0.25_f64, -0.25, -0.25, -0.25, 0.25, 0.25, 0.25, 0.25];
        let mut random = Random::new(41);
        let (mut hits, mut ignored) = (0, 0);
        for _ in 0..ROUNDS {
            let drawn_by: Vec<f64> = (0..5).map(|_| 0.03 * random.normal()).collect();
            let mut cell = |is_drawn: f64| -> Vec<f64> {
                let run = |by: &f64| is_drawn * by + 0.01 * random.normal();
                drawn_by.iter().map(run).collect()
            };
            let cells: Vec<Vec<f64>> = weights.iter().map(|w| cell(w.signum().max(0.0))).collect();
            let covers = |cells: &[Vec<Unit>]| {
                let found = contrast(&weighted(&weights, cells)).unwrap();
                let interval = found.estimate(USUAL_CONFIDENCE).interval.unwrap();
                u32::from(interval.contains(0.0))
            };
            hits += covers(&cells.iter().map(|cell| named(cell)).collect::<Vec<_>>());
            let own = |cell: &Vec<f64>| cell.iter().copied().map(Unit::own).collect();
            ignored += covers(&cells.iter().map(own).collect::<Vec<_>>());
        }
        let share = |hits: u32| f64::from(hits) / f64::from(ROUNDS);
        assert!((0.93..0.97).contains(&share(hits)), "{}", share(hits));
        assert!(share(ignored) < 0.85, "{}", share(ignored));
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
                let cells: Vec<Vec<Unit>> = means
                    .iter()
                    .zip([0.02, 0.05, 0.1, 0.03])
                    .map(|(mean, deviation)| drawn(&mut random, n, *mean, deviation))
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
