//! What was measured, as a table that another measurement is held against.

use super::figure::Figure;
use super::table::{PublishedCell, PublishedTable, Statistic};
use super::verdict::{Measured, values};
use std::collections::BTreeMap;

/// The cells of `table` that were measured, with mean, n and sd of the runs; `setup` are the facts of that measurement.
/// `None` if nothing was measured.
pub fn as_published(
    table: &PublishedTable,
    measured: &[Measured],
    setup: BTreeMap<String, String>,
) -> Option<PublishedTable> {
    let pairs = table.cells.iter().zip(measured);
    let cells: Vec<PublishedCell> = pairs
        .filter_map(|(cell, measured)| one(cell, measured))
        .collect();
    (!cells.is_empty()).then(|| PublishedTable {
        title: table
            .title
            .clone()
            .map(|title| format!("{title}, measured before")),
        source: Some("the runs of a package".to_owned()),
        // Of another table: its sums and its text.
        rules: Vec::new(),
        setup,
        cells,
        ..table.clone()
    })
}

fn one(cell: &PublishedCell, measured: &Measured) -> Option<PublishedCell> {
    let base = cell.unit.base;
    let values: Vec<f64> = values(measured).iter().map(|value| value / base).collect();
    let moments = crate::statistics::Moments::from_samples(&values)?;
    let runs = u32::try_from(values.len()).ok();
    Some(PublishedCell {
        levels: cell.levels.clone(),
        unit: cell.unit.clone(),
        value: figure(moments.mean)?,
        n: runs,
        runs,
        sd: moments
            .variance
            .and_then(|variance| figure(variance.sqrt())),
        min: None,
        max: None,
        quantiles: Vec::new(),
        resolution: None,
        statistic: Statistic::Mean,
    })
}

/// With nine significant digits: nothing that was measured is rounded away.
fn figure(value: f64) -> Option<Figure> {
    Figure::parse(&format!("{value:.8e}"))
}
