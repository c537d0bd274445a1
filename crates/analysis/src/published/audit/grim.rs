//! Means that no set of n readings of the stated resolution can have.

use super::{Check, Contradiction, Examined};
use crate::published::figure::number;
use crate::published::table::{PublishedCell, Statistic};

pub(super) const CHECK: Check = Check {
    id: "grim",
    asks: "Can n readings of the stated resolution have this mean?",
    source: "GRIM: Brown, Heathers, “The GRIM test”, Soc. Psychol. Personal. Sci. 8 (2017), 10.1177/1948550616673876",
    expected_false: 0.0,
    run: |table| {
        Examined::each(
            table,
            "no cell has n, a resolution, and a mean printed finer than resolution / n",
            cell,
        )
    },
};

/// The sums of n readings that round to the printed mean, in steps of the resolution: from the first whole number to
/// the last. `None` if the cell does not tell, or the sums are so many that nothing is ruled out, or too large for exact
/// arithmetic.
pub(super) fn sums(cell: &PublishedCell) -> Option<(f64, f64)> {
    let (n, resolution) = (f64::from(cell.n?), cell.resolution?);
    if cell.statistic != Statistic::Mean {
        return None;
    }
    let range = cell.value.rounded_from();
    let scale = n / resolution;
    let (low, high) = (range.low * scale, range.high * scale);
    // A half may have been rounded either way, and the product is not exact.
    let slack = 1e-9 * low.abs().max(high.abs()).max(1.0);
    let is_exact = high.abs() < 1e12;
    (is_exact && high - low < 1.0).then(|| ((low - slack).ceil(), (high + slack).floor()))
}

fn cell(cell: &PublishedCell) -> Option<Vec<Contradiction>> {
    let (first, last) = sums(cell)?;
    if first <= last {
        return Some(Vec::new());
    }
    let (n, resolution) = (cell.n?, cell.resolution?);
    let mean = |sum: f64| number(sum * resolution / f64::from(n));
    let text = format!(
        "{n} readings in steps of {} have the mean {} or {}, none that rounds to {}",
        number(resolution),
        mean(last),
        mean(first),
        cell.value.shown()
    );
    Some(vec![Contradiction::new(
        cell,
        "mean × n is a whole number of the resolution",
        text,
    )])
}
