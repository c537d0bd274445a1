//! A study in lines: the mean of each cell.

use super::paper::Paper;
use crate::figures::{UNKNOWN, Unit, Value};
use crate::words;
use linerate_model::run::{CellEstimate, Run};

/// Every cell with its means, and how many runs they come from.
pub(super) fn means(paper: &mut Paper, run: &Run) {
    let cells = run.estimates.iter().map(|mean| mean.cell.chars().count());
    let indent = (cells.max().unwrap_or(0) + 2).clamp(12, paper.width() / 2);
    let mut before = "";
    for mean in &run.estimates {
        let name = if mean.cell == before { "" } else { &mean.cell };
        paper.item(name, indent, &said(mean));
        before = &mean.cell;
    }
    if run.estimates.is_empty() {
        paper.row("result", UNKNOWN);
    }
    paper.row("runs", &format!("{}, in random order", run.parts.len()));
}

/// `94.1 Mbit/s (95 %: 93.8–94.4, n = 10) received_bps, client → server`.
fn said(mean: &CellEstimate) -> String {
    let value = Value {
        estimate: mean.estimate,
    };
    let point = value.point();
    let unit = match mean.quantity.rsplit('_').next() {
        Some("bps") => Unit::for_rate(point),
        Some("ns") => Unit::for_nanos(point),
        _ => Unit::PERCENT,
    };
    let alone = if mean.estimate.n == 1 { ", n = 1" } else { "" };
    let way = words::direction(mean.direction);
    format!("{}{alone} {}, {way}", value.show(unit), mean.quantity)
}
