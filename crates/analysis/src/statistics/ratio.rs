//! Ratios of what was measured side by side.

use super::margin::exponential;
use super::mean::mean;
use super::{Confidence, StatisticsError};
use linerate_model::Estimate;

/// Geometric mean of `second / first` over pairs measured side by side, with Student's interval on
/// the logarithms: what drifts from pair to pair but is common to both cancels.
pub fn paired_ratio(
    pairs: &[(f64, f64)],
    confidence: Confidence,
) -> Result<Estimate, StatisticsError> {
    let logs = pairs
        .iter()
        .enumerate()
        .map(|(index, &(first, second))| {
            let positive = first > 0.0 && second > 0.0;
            let log = (second / first).ln();
            match (positive, log.is_finite()) {
                (true, true) => Ok(log),
                (true, false) => Err(StatisticsError::NotFinite { index }),
                (false, _) => Err(StatisticsError::NotPositive { index }),
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    mean(&logs, confidence).map(exponential)
}
