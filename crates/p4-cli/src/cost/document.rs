//! Costs as JSON: what every turn took, and what follows of it.

use super::Measured;
use super::control::{self, Row};
use super::estimate::estimate;
use super::measure::Effort;
use linerate_p4::generate::Scale;
use serde_json::{Value, json};

/// The whole document: factors, or rows of the control plane.
pub(crate) fn text(measured: &[Measured], control: &[Row], effort: &Effort) -> String {
    let factors: Vec<Value> = measured.iter().map(factor).collect();
    let document = json!({
        "kind": "linerate/p4-cost/1",
        "target": "linerate, in process",
        "architecture": std::env::consts::ARCH,
        "optimised": !cfg!(debug_assertions),
        "clock": "CPU time of the thread",
        "sweeps": effort.sweeps,
        "rounds_per_sweep": effort.rounds,
        "turn_ns": u64::try_from(effort.turn.as_nanos()).unwrap_or(u64::MAX),
        "factors": factors,
        "control_plane": control::document(control),
    });
    format!("{document:#}\n")
}

fn factor(measured: &Measured) -> Value {
    let Measured {
        family,
        samples,
        line,
    } = measured;
    let levels = samples.levels.iter().enumerate().map(|(at, level)| {
        let turns: Vec<f64> = samples.rounds.iter().map(|costs| costs[at]).collect();
        json!({
            "level": level, "packet_ns": measured.level(at).as_ref().map(estimate),
            "packets_per_s": measured.level(at).map(|mean| 1e9 / mean.point), "turns_packet_ns": turns,
        })
    });
    let bend = line.bend.map(|bend| {
        let at = if family.scale == Scale::Decades {
            10_f64.powf(bend.at)
        } else {
            bend.at
        };
        json!({"at": at, "below_ns": estimate(&bend.below), "above_ns": estimate(&bend.above)})
    });
    json!({
        "factor": family.id, "one_more": family.unit,
        "scale": match family.scale { Scale::Decades => "decades", Scale::Linear => "linear" },
        "each_ns": estimate(&line.slope), "bend": bend, "levels": levels.collect::<Vec<_>>(),
        "published": family.published.map(|published| {
            json!({"target": "NIKSS", "cycles": published.cycles, "at": published.at})
        }),
    })
}
