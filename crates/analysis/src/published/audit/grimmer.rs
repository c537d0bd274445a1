//! Standard deviations that no set of n readings of the stated resolution with this mean can have.
//!
//! In steps of the resolution readings are whole numbers. Their sum T and the sum of their squares S are whole too, of
//! the same parity (x² and x are), S is at least that of readings as equal as T lets them be, and the variance is
//! (S − T²/n) / (n − 1). All T and S that round to the printed figures are tried.

use super::grim::sums;
use super::{Check, Contradiction, Examined};
use crate::published::figure::{Figure, number};
use crate::published::table::PublishedCell;

pub(super) const CHECK: Check = Check {
    id: "grimmer",
    asks: "Can n readings of the stated resolution have this mean and this standard deviation?",
    source: "GRIMMER: Anaya, PeerJ Preprints 4:e2400v1 (2016); Allard, “Analytic-GRIMMER” (2018)",
    expected_false: 0.0,
    run: |table| {
        Examined::each(
            table,
            "no cell has n, a resolution, a mean and a standard deviation printed finely enough",
            cell,
        )
    },
};

/// Most sums of squares that are tried for one sum; more rule nothing out.
const MAX_SQUARES: f64 = 2.0;

fn cell(cell: &PublishedCell) -> Option<Vec<Contradiction>> {
    let (first, last) = sums(cell)?;
    let (n, resolution, sd) = (
        cell.n.filter(|n| *n > 1)?,
        cell.resolution?,
        cell.sd.as_ref()?,
    );
    if first > last {
        // The mean alone is contradicted already.
        return None;
    }
    let count = f64::from(n);
    let ranges = |sum| {
        let sample = squares(sd, resolution, sum, count, count - 1.0)?;
        Some([sample, squares(sd, resolution, sum, count, count)?])
    };
    // A mean on the edge of its rounding has two sums.
    for sum in [first, last] {
        if ranges(sum)?
            .iter()
            .any(|(low, high)| has_whole(*low, *high, sum, count))
        {
            return Some(Vec::new());
        }
    }
    let [sample, population] = ranges(first)?;
    let text = format!(
        "the {n} readings sum up to {} steps of {}; for sd = {} the sum of their squares must lie in {}–{} (with n in the \
         denominator {}–{}), be of the same parity as the sum, and at least {}: there is none",
        number(first),
        number(resolution),
        sd.shown(),
        number(sample.0),
        number(sample.1),
        number(population.0),
        number(population.1),
        number(least_squares(first, count)),
    );
    Some(vec![Contradiction::new(
        cell,
        "sd² × (n − 1) + T² / n is a whole number of the parity of T, in steps of the resolution",
        text,
    )])
}

/// The sums of squares that give the printed deviation; `None` if so many that all parities are there.
fn squares(sd: &Figure, resolution: f64, sum: f64, count: f64, freedom: f64) -> Option<(f64, f64)> {
    let range = sd.rounded_from();
    let of = |deviation: f64| {
        let deviation = deviation.max(0.0) / resolution;
        deviation.powi(2) * freedom + sum.powi(2) / count
    };
    let (low, high) = (of(range.low), of(range.high));
    let is_exact = high < 1e12;
    (is_exact && high - low < MAX_SQUARES).then_some((low, high))
}

/// Whether a whole number of the right parity lies there that readings can have.
fn has_whole(low: f64, high: f64, sum: f64, count: f64) -> bool {
    let slack = 1e-9 * high.abs().max(1.0);
    let parity = sum.rem_euclid(2.0);
    let mut whole = (low - slack).ceil().max(least_squares(sum, count));
    while whole <= high + slack {
        if (whole.rem_euclid(2.0) - parity).abs() < 0.5 {
            return true;
        }
        whole += 1.0;
    }
    false
}

/// The sum of squares of readings that are as equal as can be.
fn least_squares(sum: f64, count: f64) -> f64 {
    let each = (sum / count).floor();
    let larger = sum - each * count;
    (count - larger) * each.powi(2) + larger * (each + 1.0).powi(2)
}
