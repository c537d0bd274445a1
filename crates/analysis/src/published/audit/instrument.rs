//! Figures more precise than the instrument.

use super::{Check, Contradiction, Examined};
use crate::published::figure::{Figure, number};
use crate::published::table::{PublishedCell, Statistic};

pub(super) const CHECK: Check = Check {
    id: "instrument",
    asks: "Is no figure finer than the instrument and the number of readings make it?",
    source: "a reading is a whole number of the resolution; a mean of n readings moves in steps of resolution / n",
    expected_false: 0.0,
    run: |table| Examined::each(table, "no cell has a resolution", cell),
};

/// A column is printed with as many digits as its finest figure needs, and one more to be rounded later.
const GUARD: f64 = 100.0;

fn cell(cell: &PublishedCell) -> Option<Vec<Contradiction>> {
    let resolution = cell.resolution?;
    let mut found = Vec::new();
    let single = (cell.n == Some(1)).then_some(("value", &cell.value));
    let extremes = [("min", cell.min.as_ref()), ("max", cell.max.as_ref())];
    let readings = extremes
        .into_iter()
        .filter_map(|(name, figure)| Some((name, figure?)));
    for (name, figure) in readings.chain(single) {
        if !is_multiple(figure, resolution) {
            let below = (figure.value / resolution).floor() * resolution;
            found.push(Contradiction::new(
                cell,
                format!("{name} is a reading: a whole number of the resolution"),
                format!(
                    "{} lies between the readings {} and {}",
                    figure.shown(),
                    number(below),
                    number(below + resolution)
                ),
            ));
        }
    }
    if let (Statistic::Mean, Some(n)) = (cell.statistic, cell.n) {
        let finest = resolution / f64::from(n);
        if n > 1 && cell.value.step * GUARD < finest * (1.0 - 1e-9) {
            found.push(Contradiction::new(
                cell,
                "a mean of n readings moves in steps of resolution / n",
                format!(
                    "{} is printed in steps of {}; {n} readings in steps of {} make steps of {}",
                    cell.value.shown(),
                    number(cell.value.step),
                    number(resolution),
                    number(finest)
                ),
            ));
        }
    }
    Some(found)
}

/// Whether some value that rounds to the figure is a whole number of steps.
fn is_multiple(figure: &Figure, resolution: f64) -> bool {
    let range = figure.rounded_from();
    let slack = 1e-9 * (figure.value.abs() / resolution).max(1.0);
    (range.low / resolution - slack).ceil() <= (range.high / resolution + slack).floor()
}
