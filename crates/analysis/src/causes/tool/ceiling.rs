//! A result that is as high as linerate goes on this host is the tool's, whatever else was found.

use super::CAUSE;
use crate::causes::{receiver_cpu, sender_cpu, words};
use crate::thresholds::ceiling::NEAR;
use linerate_model::BitRate;
use linerate_model::run::{Confidence, Limit, Run, Verdict};
use linerate_model::spec::{Direction, Side};

/// Turns a verdict that blames a host's CPU, the tool or nothing known into one that names the ceiling, where the
/// best trial reached it.
///
/// A limit that shows by other signs stands: a link whose rate happens to be near the ceiling has a queue before it.
pub(crate) fn apply(run: &Run, direction: Direction, verdict: &mut Verdict) {
    let Some(ceiling) = &run.config.ceiling else {
        return;
    };
    let (side, most) = match direction {
        Direction::Forward => (Side::Sender, ceiling.offered),
        Direction::Reverse => (Side::Receiver, ceiling.received),
        Direction::Duplex => return,
    };
    let cpu = match side {
        Side::Sender => &sender_cpu::CAUSE,
        Side::Receiver => &receiver_cpu::CAUSE,
    };
    let is_open = [cpu.limit(), CAUSE.limit(), Limit::unknown()].contains(&verdict.limit);
    let trials = run.trials.iter();
    let trials = trials.filter(|trial| trial.valid && trial.direction == direction);
    let best = match side {
        Side::Sender => trials.filter_map(|trial| trial.offered_load).max(),
        Side::Receiver => trials.filter_map(|trial| trial.received_rate).max(),
    };
    let Some(best) = best.map(BitRate::as_f64).filter(|_| is_open) else {
        return;
    };
    let most = most.as_f64();
    if best < NEAR * most {
        return;
    }
    let did = match side {
        Side::Sender => "sent",
        Side::Receiver => "received",
    };
    let way = if run.is_of_device() {
        "over a wire in the device's place"
    } else {
        "one stream over loopback"
    };
    let claim = format!(
        "Limited by linerate on this host: {} were {did}, {} of the {} that it does here at most ({way}, calibrated {}).",
        words::rate(best),
        words::percent(best / most),
        words::rate(most),
        ceiling.made
    );
    let before = std::mem::replace(&mut verdict.claim, claim);
    verdict.evidence.insert(0, before);
    verdict.limit = CAUSE.limit();
    verdict.side = Some(side);
    verdict.confidence = Confidence::Supported;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::diagnose;
    use serde_json::json;

    /// UDP unpaced from a thread that was always busy; `offered` in Mbit/s.
    fn run(offered: u64, ceiling: Option<u64>) -> Run {
        let mbit = |rate: u64| json!(rate * 1_000_000);
        let mut run = json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "udp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {},
            "trials": [{
                "index": 0, "transport": "udp", "direction": "forward", "valid": true,
                "work": "datagrams", "origin": "measured", "payload_bytes": 1448,
                "intended_bps": 10_000_000_000_u64, "offered_bps": mbit(offered), "received_bps": mbit(offered),
                "duration_s": 2.0,
                "packets": {"sent": 100_000, "received": 100_000, "lost": 0, "duplicated": 0, "reordered": 0, "loss_ratio": 0.0},
                "cpu": {"sender": {"thread_ratio": 0.99, "host_ratio": 0.5, "busiest_core_ratio": 1.0}}
            }]
        });
        if let Some(ceiling) = ceiling {
            run["config"]["ceiling"] = json!({
                "offered_bps": mbit(ceiling), "received_bps": mbit(ceiling / 2), "made": "2026-11-01T12:00:00Z"
            });
        }
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn what_comes_near_the_ceiling_is_the_tools_own() {
        let (verdict, _) = diagnose(&run(2000, None));
        assert_eq!(verdict.limit.id(), "sender-cpu");
        let (verdict, _) = diagnose(&run(2000, Some(2100)));
        assert_eq!(
            (verdict.limit.id(), verdict.side),
            ("tool", Some(Side::Sender))
        );
        assert!(
            verdict
                .claim
                .starts_with("Limited by linerate on this host: 2 Gbit/s were sent, 95.2 %"),
            "{}",
            verdict.claim
        );
        // What was said before stays as evidence.
        assert!(verdict.evidence[0].contains("CPU"), "{verdict:?}");
    }

    #[test]
    fn what_stays_below_it_is_not() {
        let (verdict, _) = diagnose(&run(1000, Some(2100)));
        assert_eq!(verdict.limit.id(), "sender-cpu");
    }
}
