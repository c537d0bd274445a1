//! What a study can show before it is made: by how earlier runs of its cells scattered, or by a scatter that is assumed.

use super::{alpha, margin};
use crate::estimates::{Measured, run_values};
use crate::statistics::{Moments, TestDesign, to_f64};
use linerate_model::Quantity;
use linerate_model::run::{EffectScale, Run};
use std::collections::BTreeMap;

/// A study that is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStudy {
    /// What each series of cells varies, with the number of levels.
    pub series: Vec<Vec<(String, usize)>>,
    /// How often each cell is measured.
    pub repetitions: u32,
    /// How many quantities each run tells, of which all effects are corrected together.
    pub quantities: usize,
}

impl PlannedStudy {
    /// How many effects are tested: each level against the first of its factor, and each two of two factors.
    pub fn tests(&self) -> usize {
        let all: usize = self.series.iter().map(|factors| effects(factors)).sum();
        all * self.quantities.max(1)
    }

    /// The smallest relative main effect of a factor, by the places of its series and in that, that such a study shows in
    /// four of five cases, where runs of a cell scatter by `deviation` (of logarithms). `None` where each cell is measured
    /// once.
    pub fn detectable(&self, series: usize, factor: usize, deviation: f64) -> Option<f64> {
        let factors = self.series.get(series)?;
        let cells: usize = factors.iter().map(|factor| factor.1.max(1)).product();
        let (_, levels) = factors.get(factor)?;
        // Each of both levels is averaged over the combinations of all other factors.
        let combinations = to_f64((cells / levels.max(&1)) as u64);
        let n = f64::from(self.repetitions);
        let freedom = 2.0 * combinations * (n - 1.0);
        let design = TestDesign {
            margin: margin(EffectScale::Ratio),
            alpha: alpha(),
            tests: self.tests(),
        };
        let error = deviation * (2.0 / (n * combinations)).sqrt();
        (freedom > 0.0).then(|| design.detectable(error, freedom).exp_m1())
    }
}

/// Main effects and interactions of a series.
fn effects(factors: &[(String, usize)]) -> usize {
    let more = |factor: &(String, usize)| factor.1.saturating_sub(1);
    let alone: usize = factors.iter().map(more).sum();
    let pairs = factors.iter().enumerate().map(|(at, first)| {
        let others = factors[at + 1..].iter();
        others
            .map(|second| more(first) * more(second))
            .sum::<usize>()
    });
    alone + pairs.sum::<usize>()
}

/// How runs of the same cells scatter.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierScatter {
    /// Of what.
    pub quantity: Quantity,
    /// Standard deviation of the logarithms within cells.
    pub deviation: f64,
    /// Runs that it is from.
    pub runs: usize,
    /// Cells that they are of.
    pub cells: usize,
}

/// The scatter of each rate and delay within `cells`, each with its earlier runs; cells with one run tell nothing.
pub fn earlier_scatter(cells: &[Vec<&Run>]) -> Vec<EarlierScatter> {
    let mut found: BTreeMap<Quantity, Vec<Moments>> = BTreeMap::new();
    for runs in cells {
        let mut seen: BTreeMap<Measured, Vec<f64>> = BTreeMap::new();
        for (key, value) in runs.iter().flat_map(|run| run_values(run)) {
            if value > 0.0 && !key.1.is_of_rare_events() {
                seen.entry(key).or_default().push(value.ln());
            }
        }
        for ((_, quantity), values) in seen {
            let of = Moments::from_samples(&values).filter(|of| of.variance.is_some());
            found.entry(quantity).or_default().extend(of);
        }
    }
    let known = found.into_iter().filter_map(|(quantity, cells)| {
        let freedom: f64 = cells.iter().map(|of| of.count - 1.0).sum();
        let squares: f64 = cells
            .iter()
            .map(|of| of.variance.unwrap_or_default() * (of.count - 1.0))
            .sum();
        (freedom > 0.0).then(|| EarlierScatter {
            quantity,
            deviation: (squares / freedom).sqrt(),
            runs: count(cells.iter().map(|of| of.count).sum()),
            cells: cells.len(),
        })
    });
    known.collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of runs"
)]
const fn count(runs: f64) -> usize {
    runs as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(repetitions: u32) -> PlannedStudy {
        PlannedStudy {
            series: vec![vec![("ip".to_owned(), 2), ("payload".to_owned(), 3)]],
            repetitions,
            quantities: 2,
        }
    }

    #[test]
    fn every_effect_and_every_interaction_is_a_test_of_each_quantity() {
        assert_eq!(planned(10).tests(), 2 * (1 + 2 + 2));
        let mut two = planned(10);
        two.series.push(vec![("streams".to_owned(), 4)]);
        assert_eq!(two.tests(), 2 * (1 + 2 + 2 + 3));
    }

    #[test]
    fn more_repetitions_show_less_and_more_scatter_needs_more() {
        let [few, many] = [3, 30].map(|n| planned(n).detectable(0, 0, 0.02).unwrap());
        assert!(few > 2.0 * many, "{few} {many}");
        assert!(planned(10).detectable(0, 0, 0.1) > planned(10).detectable(0, 0, 0.05));
        // Of the factor with three levels fewer cells are averaged.
        assert!(planned(10).detectable(0, 1, 0.05) > planned(10).detectable(0, 0, 0.05));
        assert_eq!(planned(1).detectable(0, 0, 0.02), None);
    }
}
