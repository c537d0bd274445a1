//! What a test against a margin can show: the smallest difference that it finds often enough, and how many observations
//! it takes for a given one.
//!
//! The power of Welch's test is approximated by shifting Student's t by both quantiles (exact in the limit of many
//! observations; with n = 2 and 3 it is a little optimistic, which the tests bound).
//!
//! # References
//! - Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd ed., §2.5
//! - Correction for many tests, at its strictest step: Bonferroni; see [`holm`](super::holm)

use super::mean::t_quantile;

/// Share of comparisons that shall find what is there.
pub const USUAL_POWER: f64 = 0.8;

/// Most observations on each side that are asked for.
const MAX_OBSERVATIONS: u32 = 1000;

/// A two-sided test against a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestDesign {
    /// Difference up to which nothing matters, in the unit of the quantity.
    pub margin: f64,
    /// Probability of a false verdict of all tests together.
    pub alpha: f64,
    /// How many tests are corrected together.
    pub tests: usize,
}

impl TestDesign {
    /// The smallest true difference that the test shows in [`USUAL_POWER`] of all cases, with a standard `error` of the
    /// difference that has `freedom` degrees of freedom.
    pub fn detectable(&self, error: f64, freedom: f64) -> f64 {
        if error <= 0.0 {
            return self.margin;
        }
        let tests = super::to_f64(self.tests.max(1) as u64);
        let critical = t_quantile(1.0 - self.alpha / (2.0 * tests), freedom);
        self.margin + error * (critical + t_quantile(USUAL_POWER, freedom))
    }

    /// How many observations on each side show `difference`, if single ones scatter by the standard deviation `scatter`;
    /// at least two. `None` if more than a thousand are needed, or none are enough.
    pub fn observations_for(&self, difference: f64, scatter: f64) -> Option<u32> {
        let shows = |count: &u32| {
            let n = f64::from(*count);
            let error = scatter * (2.0 / n).sqrt();
            self.detectable(error, 2.0 * n - 2.0) <= difference
        };
        if difference <= self.margin {
            return None;
        }
        (2..=MAX_OBSERVATIONS).find(shows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{USUAL_CONFIDENCE, against_margin};
    use super::*;
    use linerate_model::random::Random;

    const DESIGN: TestDesign = TestDesign {
        margin: 0.02,
        alpha: 0.05,
        tests: 1,
    };

    /// The share of comparisons of `count` against `count` observations that show a true `difference`.
    fn shown(count: usize, difference: f64, scatter: f64) -> f64 {
        const ROUNDS: u32 = 4000;
        let mut random = Random::new(7);
        let mut normal = || random.normal() * scatter;
        let mut found = 0;
        for _ in 0..ROUNDS {
            let first: Vec<f64> = (0..count).map(|_| normal()).collect();
            let second: Vec<f64> = (0..count).map(|_| normal() + difference).collect();
            let test = against_margin(&first, &second, DESIGN.margin, 0.0, USUAL_CONFIDENCE);
            found += u32::from(test.unwrap().p < DESIGN.alpha);
        }
        f64::from(found) / f64::from(ROUNDS)
    }

    #[test]
    fn what_is_called_detectable_is_found_about_as_often_as_promised() {
        for count in [4_usize, 6, 10, 20] {
            let n = super::super::to_f64(count as u64);
            let scatter: f64 = 0.03;
            let difference = DESIGN.detectable(scatter * (2.0 / n).sqrt(), 2.0 * n - 2.0);
            let share = shown(count, difference, scatter);
            assert!((0.74..0.86).contains(&share), "n = {count}: {share}");
        }
    }

    #[test]
    fn as_many_as_are_asked_for_show_the_difference_and_half_of_them_do_not() {
        let needed = DESIGN.observations_for(0.05, 0.02).unwrap();
        let count = usize::try_from(needed).unwrap();
        assert!(shown(count, 0.05, 0.02) > 0.75, "{needed}");
        assert!(shown(count / 2, 0.05, 0.02) < 0.6, "{needed}");
    }

    #[test]
    fn more_tests_and_more_scatter_need_more_and_the_margin_itself_is_never_shown() {
        let needed = |design: TestDesign, scatter| design.observations_for(0.05, scatter);
        let strict = TestDesign {
            tests: 10,
            ..DESIGN
        };
        assert!(needed(strict, 0.02) > needed(DESIGN, 0.02));
        assert!(needed(DESIGN, 0.04) > needed(DESIGN, 0.02));
        assert_eq!(needed(DESIGN, 0.0), Some(2));
        assert_eq!(DESIGN.observations_for(0.02, 0.001), None);
        assert_eq!(DESIGN.observations_for(0.021, 1.0), None);
        assert!((DESIGN.detectable(0.0, 3.0) - 0.02).abs() < 1e-12);
    }
}
