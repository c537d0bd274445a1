//! Standard deviations that the smallest and the largest reading rule out.

use super::{Check, Contradiction, Examined};
use crate::published::figure::{Figure, number};
use crate::published::table::{PublishedCell, Statistic};

pub(super) const CHECK: Check = Check {
    id: "spread",
    asks: "Can n readings with this mean, minimum and maximum have this standard deviation?",
    source: "upper bound: Bhatia, Davis, “A better bound on the variance”, Am. Math. Monthly 107 (2000); lower bound: the \
             two extreme readings alone, the others equal",
    expected_false: 0.0,
    run: |table| Examined::each(table, "no cell has n, a mean, sd, min and max", cell),
};

fn cell(cell: &PublishedCell) -> Option<Vec<Contradiction>> {
    let n = f64::from(cell.n.filter(|n| *n > 2)?);
    let (sd, min, max) = (cell.sd.as_ref()?, cell.min.as_ref()?, cell.max.as_ref()?);
    if cell.statistic != Statistic::Mean {
        return None;
    }
    // The farthest and the nearest that the extremes can lie from the mean, after rounding.
    let slack = |figure: &Figure| f64::midpoint(figure.step, cell.value.step);
    let (below, above) = (cell.value.value - min.value, max.value - cell.value.value);
    let most = ((below + slack(min)) * (above + slack(max)) * n / (n - 1.0))
        .max(0.0)
        .sqrt();
    let (near_below, near_above) = ((below - slack(min)).max(0.0), (above - slack(max)).max(0.0));
    // The two extremes, and n − 2 readings that bring the mean back.
    let rest = (near_above - near_below).abs() - slack(min) - slack(max);
    let squares = near_below.powi(2) + near_above.powi(2) + rest.max(0.0).powi(2) / (n - 2.0);
    // With n in the denominator, as some programs print it: the smaller of both.
    let least = (squares / n).sqrt();
    let printed = sd.rounded_from();
    let figures = format!(
        "n = {n}, mean {}, min {}, max {}",
        cell.value.shown(),
        min.shown(),
        max.shown()
    );
    let mut found = Vec::new();
    if printed.low > most * (1.0 + 1e-9) {
        found.push(Contradiction::new(
            cell,
            "sd² ≤ (max − mean) (mean − min) n / (n − 1)",
            format!("sd = {} > {} with {figures}", sd.shown(), number(most)),
        ));
    }
    if printed.high < least * (1.0 - 1e-9) {
        found.push(Contradiction::new(
            cell,
            "sd² ≥ ((max − mean)² + (mean − min)² + (max + min − 2 mean)² / (n − 2)) / n",
            format!("sd = {} < {} with {figures}", sd.shown(), number(least)),
        ));
    }
    Some(found)
}
