//! What was found of the link between the switches.

use linerate_model::mesh::{LinkCertainty, MeshReport};
use std::fmt::Write as _;

/// L4 payload of a link of 20 Mbit/s that carries full segments with time stamps: 1448 of 1514 bytes.
const CAPACITY: f64 = 20e6 * 1448.0 / 1514.0;

/// Directions of the link that were found: proven, with its capacity within 5 %, and with flows of that direction alone.
pub(crate) fn found(report: &MeshReport) -> usize {
    let directions = [true, false].map(|to_right| {
        report.links.iter().any(|link| {
            let flows = &link.flows;
            let over = |from: usize, to: usize| from < 4 && to >= 4;
            let all = flows.iter().all(|flow| {
                let ends = if to_right {
                    (flow.from, flow.to)
                } else {
                    (flow.to, flow.from)
                };
                over(ends.0, ends.1)
            });
            let error = link.capacity.point / CAPACITY - 1.0;
            link.certainty == LinkCertainty::Proven && all && flows.len() > 2 && error.abs() < 0.05
        })
    });
    directions.iter().filter(|found| **found).count()
}

/// Whether a proven link leads from the side of one host to that of the other.
pub(crate) fn pass(report: &MeshReport, (from, to): (usize, usize)) -> bool {
    let proven = report.links.iter();
    let mut proven = proven.filter(|link| link.certainty == LinkCertainty::Proven);
    proven.any(|link| {
        let flows = &link.flows;
        flows.iter().any(|flow| flow.from == from) && flows.iter().any(|flow| flow.to == to)
    })
}

/// The links and the rates of the crowds, for the message of a failure.
pub(crate) fn shown(report: &MeshReport) -> String {
    let mut text = format!(
        "{:?}\n{:?}\nflows {:?}\n",
        report.notes, report.links, report.crowd_flows
    );
    for crowd in &report.crowds {
        let rates = crowd.rates.iter();
        let rates = rates.map(|rate| format!("{}:{:.2}", rate.flow, rate.received.as_f64() / 1e6));
        let rates: Vec<_> = rates.collect();
        writeln!(text, "{:?} {}", crowd.purpose, rates.join(" ")).unwrap();
    }
    text
}
