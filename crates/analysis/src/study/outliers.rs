//! Runs far from the others of their cell: shown, and in every mean.
//!
//! # References
//! - Modified z-score by the median absolute deviation, bound 3.5: Iglewicz, Hoaglin, "How to Detect and Handle
//!   Outliers", 1993

use super::Runs;
use crate::estimates::{Measured, run_values};
use crate::statistics::{USUAL_CONFIDENCE, median};
use linerate_model::run::Outlier;
use std::collections::BTreeMap;

/// Fewer runs do not tell which of them is far.
const MIN_RUNS: usize = 5;
/// Distance from the median in standard deviations of a normal distribution.
const BOUND: f64 = 3.5;
/// Standard deviations of a normal distribution in one median absolute deviation.
const PER_DEVIATION: f64 = 1.4826;
/// Relative distance below which nothing is far, however little the others scatter.
const MIN_DISTANCE: f64 = 0.01;

/// Of every quantity but loss, which is none at all in most runs.
pub(super) fn outliers(cells: &[&str], runs: &Runs<'_>) -> Vec<Outlier> {
    cells.iter().flat_map(|cell| of_cell(cell, runs)).collect()
}

fn of_cell(cell: &str, runs: &Runs<'_>) -> Vec<Outlier> {
    let mut seen: BTreeMap<Measured, Vec<(usize, f64)>> = BTreeMap::new();
    let runs = runs.of_cell(cell);
    for (place, run) in runs.iter().enumerate() {
        for (key, value) in run_values(run) {
            seen.entry(key).or_default().push((place, value));
        }
    }
    let mut found = Vec::new();
    for ((direction, quantity), values) in seen {
        let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let Some(bounds) = Bounds::from_values(&plain).filter(|_| !quantity.is_share()) else {
            continue;
        };
        let far = values.iter().filter(|(_, value)| bounds.is_far(*value));
        found.extend(far.filter_map(|(place, value)| {
            Some(Outlier {
                place: runs[*place].config.place.clone()?,
                direction,
                quantity,
                value: *value,
                median: bounds.median,
            })
        }));
    }
    found
}

struct Bounds {
    median: f64,
    distance: f64,
}

impl Bounds {
    fn from_values(values: &[f64]) -> Option<Self> {
        let middle = |values: &[f64]| Some(median(values, USUAL_CONFIDENCE).ok()?.point);
        let center = middle(values).filter(|_| values.len() >= MIN_RUNS)?;
        let distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
        let scatter = PER_DEVIATION * middle(&distances)?;
        Some(Self {
            median: center,
            distance: (BOUND * scatter).max(MIN_DISTANCE * center.abs()),
        })
    }

    fn is_far(&self, value: f64) -> bool {
        (value - self.median).abs() > self.distance
    }
}
