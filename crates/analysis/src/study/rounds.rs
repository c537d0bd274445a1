//! Which cells a study with a budget measures next: those that are known least.
//!
//! Only the width of a cell's own interval and the budget decide, never whether a difference between cells is shown:
//! so no effect gets more chances than the test counts. Stopping at a width leaves intervals a little short (a lucky
//! small scatter stops early); the tests bound by how much.

use super::on_scale;
use crate::estimates::values_of_runs;
use crate::repetition::units;
use crate::statistics::{USUAL_CONFIDENCE, Unit, mean};
use linerate_model::Ratio;
use linerate_model::run::{EffectScale, Run};

/// Runs that every cell gets before widths are compared. With three the width is mostly chance, and cells that look narrow
/// by chance, which get no more runs, would cover 92 % in place of 95 %.
pub const MIN_RUNS: usize = 5;
/// Most runs of a cell. Beyond it drift, which no repetition averages out, is larger than the interval.
const MAX_RUNS: usize = 1000;

/// What a study knows of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellPrecision {
    /// Runs made, valid or not.
    pub runs: usize,
    /// Half of the widest 95 % interval of its rates and delays, relative; infinite where there is none yet.
    pub width: f64,
}

impl CellPrecision {
    /// What these runs of a cell tell.
    pub fn from_runs(runs: &[&Run]) -> Self {
        let seen = values_of_runs(runs.iter().copied());
        // Tails and losses scatter by nature: no budget makes them as narrow as the rest.
        let seen = seen
            .into_iter()
            .filter(|(key, _)| !key.1.is_of_rare_events());
        let seen = seen.map(|(_, values)| on_scale(values, EffectScale::Ratio));
        let seen = seen.filter(|values| !values.is_empty());
        let widths = seen.map(|values| {
            let interval = mean(&Unit::values(&units(&values).units), USUAL_CONFIDENCE)
                .ok()
                .and_then(|of| of.interval);
            interval.map_or(f64::INFINITY, |of| (of.high - of.low) / 2.0)
        });
        let width = widths.reduce(f64::max);
        Self {
            runs: runs.len(),
            width: width.unwrap_or(f64::INFINITY),
        }
    }

    /// Whether more runs of it are of use.
    fn is_open(&self, precision: Option<Ratio>) -> bool {
        // A cell whose runs fail takes no more of the budget than the others' first rounds.
        let fails = self.width.is_infinite() && self.runs >= 2 * MIN_RUNS;
        let wanted = precision.map_or(0.0, Ratio::get);
        self.width > wanted && self.runs < MAX_RUNS && !fails
    }
}

/// The cells that are measured next, once each: first all that have too few runs, then of those that are not known well
/// enough the wider half. None where all are.
pub fn next_round(cells: &[CellPrecision], precision: Option<Ratio>) -> Vec<usize> {
    let few: Vec<usize> = (0..cells.len())
        .filter(|cell| cells[*cell].runs < MIN_RUNS)
        .collect();
    if !few.is_empty() {
        return few;
    }
    let mut open: Vec<usize> = (0..cells.len())
        .filter(|cell| cells[*cell].is_open(precision))
        .collect();
    open.sort_by(|a, b| cells[*b].width.total_cmp(&cells[*a].width));
    // Half of them, so that what drifts over time still spreads over several.
    open.truncate(open.len().div_ceil(2));
    open.sort_unstable();
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Moments;
    use linerate_model::random::Random;

    fn known(runs: usize, width: f64) -> CellPrecision {
        CellPrecision { runs, width }
    }

    #[test]
    fn cells_with_too_few_runs_come_first_then_the_wider_half() {
        let first = [known(5, 0.5), known(4, 0.1), known(0, f64::INFINITY)];
        assert_eq!(next_round(&first, None), [1, 2]);
        let later = [known(5, 0.01), known(5, 0.2), known(9, 0.1), known(5, 0.0)];
        assert_eq!(next_round(&later, None), [1, 2]);
        assert_eq!(next_round(&later, Some(Ratio::clamped(0.15))), [1]);
        assert_eq!(next_round(&later, Some(Ratio::clamped(0.2))), [0_usize; 0]);
        let failing = [known(10, f64::INFINITY), known(5, 0.0)];
        assert_eq!(next_round(&failing, None), [0_usize; 0]);
    }

    /// A hundred runs over four cells of which one scatters ten times as much.
    fn spent(random: &mut Random, precision: Option<Ratio>) -> Vec<Vec<f64>> {
        let mut cells = vec![Vec::new(); 4];
        let mut left = 100;
        while left > 0 {
            let known: Vec<CellPrecision> = cells
                .iter()
                .map(|values: &Vec<f64>| CellPrecision {
                    runs: values.len(),
                    width: mean(values, USUAL_CONFIDENCE)
                        .ok()
                        .and_then(|of| of.interval)
                        .map_or(f64::INFINITY, |of| (of.high - of.low) / 2.0),
                })
                .collect();
            let round = next_round(&known, precision);
            if round.is_empty() {
                break;
            }
            for cell in round {
                let deviation = if cell == 0 { 0.1 } else { 0.01 };
                cells[cell].push(deviation * random.normal());
                left -= 1;
            }
        }
        cells
    }

    #[test]
    fn the_budget_goes_where_the_interval_is_widest() {
        let cells = spent(&mut Random::new(1), None);
        let counts: Vec<usize> = cells.iter().map(Vec::len).collect();
        assert!(counts[0] > 40, "{counts:?}");
        assert!(counts.iter().all(|count| *count >= MIN_RUNS), "{counts:?}");
    }

    /// Intervals of cells that were measured by width cover 95 %, less at most three points.
    #[test]
    fn measuring_by_width_leaves_intervals_nearly_as_wide_as_they_must_be() {
        const ROUNDS: u32 = 1000;
        for (precision, least) in [(None, 0.92), (Some(Ratio::clamped(0.02)), 0.935)] {
            let mut random = Random::new(2);
            let mut hits = 0;
            for _ in 0..ROUNDS {
                for values in spent(&mut random, precision) {
                    let interval = mean(&values, USUAL_CONFIDENCE).unwrap().interval.unwrap();
                    hits += u32::from(interval.contains(0.0));
                    assert!(Moments::from_samples(&values).unwrap().variance.is_some());
                }
            }
            let share = f64::from(hits) / f64::from(ROUNDS * 4);
            assert!((least..0.97).contains(&share), "{precision:?}: {share}");
        }
    }
}
