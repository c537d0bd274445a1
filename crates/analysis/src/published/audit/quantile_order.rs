//! Quantiles that are not in order.

use super::{Check, Contradiction, Examined};
use crate::published::figure::Figure;
use crate::published::table::{PublishedCell, Statistic};

pub(super) const CHECK: Check = Check {
    id: "quantile-order",
    asks: "Are minimum, quantiles, mean and maximum in their order?",
    source: "the definition of a quantile; a mean lies between smallest and largest reading",
    expected_false: 0.0,
    run: |table| Examined::each(table, "no cell has two of min, max and quantiles", cell),
};

fn cell(cell: &PublishedCell) -> Option<Vec<Contradiction>> {
    let mut ordered: Vec<(String, &Figure)> = Vec::new();
    ordered.extend(cell.min.as_ref().map(|min| ("min".to_owned(), min)));
    let mut quantiles: Vec<(f64, &Figure)> = cell
        .quantiles
        .iter()
        .map(|(percent, figure)| (*percent, figure))
        .collect();
    if cell.statistic == Statistic::Median
        && !quantiles.iter().any(|(percent, _)| is_median(*percent))
    {
        quantiles.push((50.0, &cell.value));
        quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    ordered.extend(
        quantiles
            .into_iter()
            .map(|(percent, figure)| (format!("p{percent}"), figure)),
    );
    ordered.extend(cell.max.as_ref().map(|max| ("max".to_owned(), max)));
    let mean = ("mean".to_owned(), &cell.value);
    let bounds = [
        cell.min
            .as_ref()
            .map(|min| ("min".to_owned(), min))
            .map(|min| [min, mean.clone()]),
        cell.max
            .as_ref()
            .map(|max| ("max".to_owned(), max))
            .map(|max| [mean.clone(), max]),
    ];
    let of_mean = bounds
        .into_iter()
        .flatten()
        .filter(|_| cell.statistic == Statistic::Mean);
    let pairs: Vec<[(String, &Figure); 2]> = ordered
        .windows(2)
        .map(|pair| [pair[0].clone(), pair[1].clone()])
        .chain(of_mean)
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let broken = pairs
        .into_iter()
        .filter(|[low, high]| low.1.rounded_from().low > high.1.rounded_from().high);
    Some(
        broken
            .map(|[low, high]| {
                let rule = format!("{} ≤ {}", low.0, high.0);
                let text = format!(
                    "{} = {} > {} = {}",
                    low.0,
                    low.1.shown(),
                    high.0,
                    high.1.shown()
                );
                Contradiction::new(cell, rule, text)
            })
            .collect(),
    )
}

fn is_median(percent: f64) -> bool {
    (percent - 50.0).abs() < 1e-9
}
