//! Repetition on several levels: builds of a program, starts of each, runs of each start, intervals of each run.
//!
//! What is repeated within one start shares all that the start decided, so only the outermost level gives
//! independent observations: the mean of each of its units is one. What the inner levels add tells where repeating pays.
//!
//! # References
//! - Kalibera, Jones, "Rigorous benchmarking in reasonable time", 2013, §§ 4–6; "Quantifying performance changes with
//!   effect size confidence intervals", 2020, § 5: ratio of means over levels of repetition
//! - Variance components of nested designs: Searle, Casella, `McCulloch`, "Variance Components", 1992, § 3

use super::mean::Moments;

/// Observations that are repeated within each other.
#[derive(Debug, Clone, PartialEq)]
pub enum Nested {
    /// One observation.
    Value(f64),
    /// What is repeated, in any order.
    Repeated(Vec<Self>),
}

/// A level of repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Component {
    /// Variance of what this level alone adds; zero where the level below explains all that is seen.
    pub variance: f64,
    /// How many there are in each unit of the level above: the mean.
    pub repetitions: f64,
}

/// What nested observations say.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Of the means of the outermost level's units, which are what is independent.
    pub outermost: Moments,
    /// Each level, from the outermost to the innermost. Levels of which no unit has two are left out from there on.
    pub components: Vec<Component>,
}

/// Takes nested observations apart; the outermost level must be repeated. `None` if it is not, or empty.
///
/// Mean squares by levels, of unbalanced data with the mean number of repetitions, which is exact for balanced.
pub fn levels(of: &Nested) -> Option<Levels> {
    let Nested::Repeated(units) = of else {
        return None;
    };
    let means: Vec<f64> = units.iter().filter_map(mean).collect();
    let outermost = Moments::from_samples(&means)?;
    let mut squares = Vec::new();
    let mut here: Vec<&[Nested]> = vec![units];
    while let Some(square) = mean_square(&here) {
        squares.push(square);
        let below = here.iter().flat_map(|units| units.iter());
        let below = below.filter_map(|unit| match unit {
            Nested::Repeated(units) => Some(units.as_slice()),
            Nested::Value(_) => None,
        });
        here = below.collect();
    }
    let inner = squares.iter().skip(1).map(Some).chain([None]);
    let components = squares.iter().zip(inner).map(|(own, inner)| {
        // The mean of k inner units scatters by a k-th of their variance without anything of this level's own.
        let explained = inner.map_or(0.0, |inner| inner.variance / inner.repetitions);
        Component {
            variance: (own.variance - explained).max(0.0),
            repetitions: own.repetitions,
        }
    });
    Some(Levels {
        outermost,
        components: components.collect(),
    })
}

fn mean(of: &Nested) -> Option<f64> {
    match of {
        Nested::Value(value) => Some(*value),
        Nested::Repeated(units) => {
            let means: Vec<f64> = units.iter().filter_map(mean).collect();
            Some(Moments::from_samples(&means)?.mean)
        }
    }
}

/// Variance of the units' means within each group, pooled over the groups by their degrees of freedom.
fn mean_square(groups: &[&[Nested]]) -> Option<Component> {
    let (mut squares, mut freedom, mut units, mut filled) = (0.0, 0.0, 0.0, 0.0);
    for group in groups {
        let means: Vec<f64> = group.iter().filter_map(mean).collect();
        let Some(of) = Moments::from_samples(&means) else {
            continue;
        };
        units += of.count;
        filled += 1.0;
        if let Some(variance) = of.variance {
            squares += variance * (of.count - 1.0);
            freedom += of.count - 1.0;
        }
    }
    (freedom > 0.0).then(|| Component {
        variance: squares / freedom,
        repetitions: units / filled,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{USUAL_CONFIDENCE, exponential, welch};
    use super::*;
    use linerate_model::random::Random;

    /// Nested normal observations; `shape` is how many and their deviation, from the outside.
    fn drawn(random: &mut Random, center: f64, shape: &[(u32, f64)]) -> Nested {
        let Some(((count, deviation), inner)) = shape.split_first() else {
            return Nested::Value(center);
        };
        let units = (0..*count).map(|_| {
            let here = center + deviation * random.normal();
            drawn(random, here, inner)
        });
        Nested::Repeated(units.collect())
    }

    #[test]
    fn the_variance_of_each_level_is_found() {
        let mut random = Random::new(3);
        let deviations = [0.03, 0.01, 0.05];
        let mut sums = [0.0; 3];
        for _ in 0..200 {
            let shape = [(8, deviations[0]), (4, deviations[1]), (30, deviations[2])];
            let found = levels(&drawn(&mut random, 1.0, &shape)).unwrap();
            assert!((found.outermost.count - 8.0).abs() < 1e-9);
            for (sum, component) in sums.iter_mut().zip(&found.components) {
                *sum += component.variance / 200.0;
            }
        }
        for (sum, deviation) in sums.iter().zip(deviations) {
            let ratio = sum.sqrt() / deviation;
            assert!((0.9..1.1).contains(&ratio), "{ratio} of {deviation}");
        }
    }

    /// Ratios of two sets of 5 builds × 3 starts × 20 intervals: intervals over builds cover 95 %, those that take every
    /// observation as independent do not.
    #[test]
    fn ratio_intervals_over_the_outermost_level_cover_as_often_as_they_claim() {
        const ROUNDS: u32 = 2000;
        let shape = [(5, 0.03), (3, 0.01), (20, 0.02)];
        let mut random = Random::new(5);
        let (mut nested, mut flat) = (0, 0);
        for _ in 0..ROUNDS {
            let [a, b] = [0.0, 1.2_f64.ln()].map(|center| drawn(&mut random, center, &shape));
            let covers = |a: Moments, b: Moments| {
                let ratio = exponential(welch(a, b, 0.0).unwrap().estimate(USUAL_CONFIDENCE));
                u32::from(ratio.interval.unwrap().contains(1.2))
            };
            let outermost = |of: &Nested| levels(of).unwrap().outermost;
            nested += covers(outermost(&a), outermost(&b));
            let all = |of: &Nested| Moments::from_samples(&leaves(of)).unwrap();
            flat += covers(all(&a), all(&b));
        }
        let part = |hits: u32| f64::from(hits) / f64::from(ROUNDS);
        assert!((0.93..0.975).contains(&part(nested)), "{}", part(nested));
        assert!(part(flat) < 0.5, "{}", part(flat));
    }

    fn leaves(of: &Nested) -> Vec<f64> {
        match of {
            Nested::Value(value) => vec![*value],
            Nested::Repeated(units) => units.iter().flat_map(leaves).collect(),
        }
    }

    #[test]
    fn levels_without_repetition_are_left_out() {
        let runs = [1.0, 2.0, 3.0].map(|value| Nested::Repeated(vec![Nested::Value(value)]));
        let found = levels(&Nested::Repeated(runs.to_vec())).unwrap();
        assert_eq!(found.components.len(), 1);
        assert!((found.components[0].variance - 1.0).abs() < 1e-12);
        assert_eq!(levels(&Nested::Value(1.0)), None);
        assert_eq!(levels(&Nested::Repeated(Vec::new())), None);
    }
}
