//! A study in lines: the mean of each cell.

use super::paper::Paper;
use crate::figures::{UNKNOWN, Unit, Value};
use crate::words;
use linerate_model::run::{CellEstimate, Run};

/// Every cell with its means, and how many runs they come from.
pub(super) fn means(paper: &mut Paper, run: &Run) {
    let mut before = "";
    for mean in &run.estimates {
        if mean.cell != before {
            paper.strong("cell", &mean.cell);
        }
        paper.row("", &said(mean));
        before = &mean.cell;
    }
    if run.estimates.is_empty() {
        paper.row("result", UNKNOWN);
    }
    paper.row("runs", &format!("{}, in random order", run.parts.len()));
}

/// `94.1 Mbit/s (95 %: 93.8–94.4, n = 10) received, L4 payload, client → server`.
fn said(mean: &CellEstimate) -> String {
    let value = Value {
        estimate: mean.estimate,
    };
    let point = value.point();
    let (unit, what) = match mean.quantity.as_str() {
        "received_bps" => (Unit::for_rate(point), "received, L4 payload"),
        "conditional_throughput_bps" => {
            (Unit::for_rate(point), "conditional throughput, L4 payload")
        }
        "loss_ratio" => (Unit::PERCENT, "lost"),
        "p50_ns" => (Unit::for_nanos(point), "median delay"),
        "p99_ns" => (Unit::for_nanos(point), "p99 delay"),
        other => (Unit::PLAIN, other),
    };
    let alone = if mean.estimate.n == 1 { " (n = 1)" } else { "" };
    let way = words::direction(mean.direction);
    format!("{}{alone} {what}, {way}", value.show(unit))
}
