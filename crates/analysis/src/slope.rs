//! What one more of something costs: the line through what rounds of several levels took, and where it bends.
//!
//! Each round visits every level, so that what disturbs a round disturbs its levels alike; each gives a slope of its own,
//! and the estimate is the mean of these with Student's interval. A second slope is told only when the data demand it.

use crate::statistics::{Confidence, StatisticsError, USUAL_CONFIDENCE, mean};
use linerate_model::Estimate;

/// A line, by level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Where the level is 0.
    pub start: Estimate,
    /// What one more level adds.
    pub slope: Estimate,
    /// Where one slope is not enough.
    pub bend: Option<Bend>,
}

/// A line of two slopes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bend {
    /// The level at which they meet.
    pub at: f64,
    /// The slope below it.
    pub below: Estimate,
    /// The slope above it.
    pub above: Estimate,
}

/// How far a straight line must miss the mean of a level, relative to it, before a bend is looked for: less is of no use
/// to who asks what something costs.
const NOTABLE_MISS: f64 = 0.05;
/// Of the squares that a straight line leaves, the most that the bent one may leave.
const LEFT_BY_BEND: f64 = 0.5;

/// Weights whose sum of products with the costs of a round is a coefficient.
type Weights = Vec<f64>;

fn product(weights: &[f64], costs: &[f64]) -> f64 {
    weights
        .iter()
        .zip(costs)
        .map(|(weight, cost)| weight * cost)
        .sum()
}

/// Least squares: the weights of start and slope.
fn straight(levels: &[f64]) -> Option<(Weights, Weights)> {
    let n = f64::from(u32::try_from(levels.len()).ok()?);
    let center = levels.iter().sum::<f64>() / n;
    let spread: f64 = levels.iter().map(|level| (level - center).powi(2)).sum();
    let slope: Weights = levels
        .iter()
        .map(|level| (level - center) / spread)
        .collect();
    let start = slope
        .iter()
        .map(|weight| 1.0 / n - center * weight)
        .collect();
    (spread > 0.0).then_some((start, slope))
}

/// The weights of a hinge, which is 0 up to a level and rises by 1 a level above it, beside a straight line.
fn hinge(levels: &[f64], at: f64) -> Option<(Weights, Weights)> {
    let (start, slope) = straight(levels)?;
    let shape: Vec<f64> = levels.iter().map(|level| (level - at).max(0.0)).collect();
    let (offset, rise) = (product(&start, &shape), product(&slope, &shape));
    let rest: Vec<f64> = levels
        .iter()
        .zip(&shape)
        .map(|(level, shape)| shape - offset - rise * level)
        .collect();
    let size = product(&rest, &rest);
    let change: Weights = rest.iter().map(|rest| rest / size).collect();
    let below = slope
        .iter()
        .zip(&change)
        .map(|(slope, change)| slope - rise * change)
        .collect();
    (size > 1e-9).then_some((below, change))
}

fn estimate(
    weights: &[f64],
    rounds: &[Vec<f64>],
    confidence: Confidence,
) -> Result<Estimate, StatisticsError> {
    let values: Vec<f64> = rounds.iter().map(|costs| product(weights, costs)).collect();
    mean(&values, confidence)
}

/// The mean of each level.
fn means(levels: usize, rounds: &[Vec<f64>]) -> Result<Vec<f64>, StatisticsError> {
    let of = |at: usize| rounds.iter().map(|costs| costs[at]).collect::<Vec<_>>();
    (0..levels)
        .map(|at| Ok(mean(&of(at), USUAL_CONFIDENCE)?.point))
        .collect()
}

/// The line through rounds of costs, each with one cost per level. Levels rise.
///
/// # Errors
/// Fewer than two levels, no round, or a round without a cost for each level.
pub fn line(levels: &[f64], rounds: &[Vec<f64>]) -> Result<Line, StatisticsError> {
    if rounds.iter().any(|costs| costs.len() != levels.len()) {
        return Err(StatisticsError::TooFew {
            found: rounds.len(),
        });
    }
    let (start, slope) = straight(levels).ok_or(StatisticsError::TooFew {
        found: levels.len(),
    })?;
    Ok(Line {
        start: estimate(&start, rounds, USUAL_CONFIDENCE)?,
        slope: estimate(&slope, rounds, USUAL_CONFIDENCE)?,
        bend: bend(levels, rounds)?,
    })
}

/// The bend that explains best what a straight line leaves.
fn bend(levels: &[f64], rounds: &[Vec<f64>]) -> Result<Option<Bend>, StatisticsError> {
    let Some((start, slope)) = straight(levels).filter(|_| levels.len() >= 4) else {
        return Ok(None);
    };
    let means = means(levels.len(), rounds)?;
    let (start, slope) = (product(&start, &means), product(&slope, &means));
    let left: Vec<f64> = levels
        .iter()
        .zip(&means)
        .map(|(level, mean)| mean - start - slope * level)
        .collect();
    if left
        .iter()
        .zip(&means)
        .all(|(left, mean)| left.abs() <= NOTABLE_MISS * mean.abs())
    {
        return Ok(None);
    }
    // Two levels on each side: one point tells no slope.
    let knots = &levels[1..levels.len() - 1];
    let squares = product(&left, &left);
    let of = |at: &f64| {
        let (below, change) = hinge(levels, *at)?;
        // A hinge takes away its own share of the squares: it stands apart from the straight line.
        let change_of_means = product(&change, &means);
        let size = 1.0 / product(&change, &change);
        Some((*at, below, change, squares - change_of_means.powi(2) * size))
    };
    let best = knots
        .iter()
        .filter_map(of)
        .min_by(|one, other| one.3.total_cmp(&other.3));
    let Some((at, below, change, _)) = best.filter(|best| best.3 <= LEFT_BY_BEND * squares) else {
        return Ok(None);
    };
    // The best of several knots: each must be surer by as much (Bonferroni).
    let tries = f64::from(u32::try_from(knots.len()).unwrap_or(u32::MAX));
    let sure =
        Confidence::new(1.0 - (1.0 - USUAL_CONFIDENCE.get()) / tries).unwrap_or(USUAL_CONFIDENCE);
    let differs = estimate(&change, rounds, sure)?
        .interval
        .is_some_and(|interval| !interval.contains(0.0));
    let above: Weights = below
        .iter()
        .zip(&change)
        .map(|(below, change)| below + change)
        .collect();
    Ok(differs.then_some(Bend {
        at,
        below: estimate(&below, rounds, USUAL_CONFIDENCE)?,
        above: estimate(&above, rounds, USUAL_CONFIDENCE)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [f64; 6] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0];

    /// Noise that is the same in every run: of these rounds the mean is 0.
    fn rounds(cost: impl Fn(f64) -> f64, noise: f64) -> Vec<Vec<f64>> {
        let off = |round: u32, at: usize| {
            f64::from((round * 7 + u32::try_from(at).unwrap() * 3) % 5) - 2.0
        };
        (0..20)
            .map(|round| {
                LEVELS
                    .iter()
                    .enumerate()
                    .map(|(at, level)| cost(*level) + noise * off(round, at))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn a_straight_line_has_its_slope_in_the_interval_and_no_bend() {
        let line = line(&LEVELS, &rounds(|level| 300.0 + 12.0 * level, 3.0)).unwrap();
        let interval = line.slope.interval.unwrap();
        assert!(
            interval.contains(12.0) && interval.high - interval.low < 1.0,
            "{line:?}"
        );
        assert!(line.start.interval.unwrap().contains(300.0), "{line:?}");
        assert_eq!((line.slope.n, line.bend), (20, None));
    }

    #[test]
    fn a_line_that_bends_has_two_slopes_and_tells_where() {
        let cost = |level: f64| 300.0 + 10.0 * level + 50.0 * (level - 4.0).max(0.0);
        let bend = line(&LEVELS, &rounds(cost, 1.0)).unwrap().bend.unwrap();
        assert!((bend.at - 4.0).abs() < 1e-9, "{bend:?}");
        assert!(
            (bend.below.point - 10.0).abs() < 2.0 && (bend.above.point - 60.0).abs() < 2.0,
            "{bend:?}"
        );
    }

    #[test]
    fn noise_and_bends_that_nobody_would_notice_are_none() {
        assert_eq!(line(&LEVELS, &rounds(|_| 300.0, 40.0)).unwrap().bend, None);
        let slight = |level: f64| 300.0 + 10.0 * level + 0.5 * (level - 4.0).max(0.0);
        assert_eq!(line(&LEVELS, &rounds(slight, 0.1)).unwrap().bend, None);
    }

    #[test]
    fn what_shifts_a_whole_round_does_not_widen_the_slope() {
        let mut rounds = rounds(|level| 300.0 + 12.0 * level, 0.0);
        for (round, costs) in rounds.iter_mut().enumerate() {
            let shift = f64::from(u32::try_from(round).unwrap()) * 50.0;
            for cost in costs {
                *cost += shift;
            }
        }
        let interval = line(&LEVELS, &rounds).unwrap().slope.interval.unwrap();
        assert!(interval.high - interval.low < 1e-6, "{interval:?}");
    }

    #[test]
    fn too_little_is_refused() {
        assert!(line(&[1.0], &[vec![1.0]]).is_err());
        assert!(line(&LEVELS, &[]).is_err());
        assert!(line(&LEVELS, &[vec![1.0]]).is_err());
    }
}
