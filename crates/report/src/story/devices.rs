//! What devices between two ports forward: one by frame size; of a study the cells that forward least and most.

use super::MAX_FIGURES;
use super::rates::{self, DirectionRate};
use crate::figures::{BigFigure, Value};
use crate::forwarding;
use crate::study::{Measure, StudyView, mean, strictest};
use linerate_model::run::{Run, RunKind};

/// What stands first, in frames per second.
pub(super) struct Forwarded {
    pub(super) sentence: String,
    pub(super) figures: Vec<BigFigure>,
}

/// `None` of runs that are not of devices, and of a study in which fewer than two cells have a result.
pub(super) fn forwarded(runs: &[Run], rates: &[DirectionRate<'_>]) -> Option<Forwarded> {
    let [run] = runs else {
        return None;
    };
    if run.kind() != RunKind::Switch {
        return of_study(run, rates);
    }
    let figures = forwarding::figures(run).into_iter();
    Some(Forwarded {
        sentence: crate::charts::capital(&forwarding::outcome(run).join("; ")) + ".",
        figures: figures.take(MAX_FIGURES).collect(),
    })
}

fn of_study(run: &Run, rates: &[DirectionRate<'_>]) -> Option<Forwarded> {
    // Before a study of something else is taken apart for nothing.
    if !run.parts().iter().any(Run::is_of_device) {
        return None;
    }
    let view = StudyView::from_parts(run.parts())?;
    if view.measure != Measure::FrameRate {
        return None;
    }
    let cells = view.cells().into_iter().filter_map(|(levels, observed)| {
        let first = observed.first()?;
        let goal = strictest(first.run, first.trials.first()?.direction)?;
        Some((view.words(levels, |_| true), mean(&observed)?, goal))
    });
    let mut cells: Vec<(String, Value, _)> = cells.collect();
    cells.sort_by(|(_, a, _), (_, b, _)| a.point().total_cmp(&b.point()));
    let [(least, low, goal), .., (most, high, _)] = cells.as_slice() else {
        return None;
    };
    let unit = view.measure.unit(view.largest());
    let condition = rates::condition(goal);
    let forwards = format!(
        "Forwards from {} ({least}) to {} ({most}), {condition}",
        unit.show(low.point()),
        unit.show(high.point()),
    );
    let figure = |(name, value): (&String, &Value)| {
        let (value, interval) = rates::split(value, unit);
        BigFigure {
            value,
            interval,
            about: format!("{name}, {condition}"),
        }
    };
    let limits = rates
        .iter()
        .filter_map(|rated| rates::limit(&rated.runs, rated.direction));
    let clauses: Vec<_> = [forwards].into_iter().chain(limits).collect();
    Some(Forwarded {
        sentence: clauses.join("; ") + ".",
        figures: [(most, high), (least, low)].map(figure).into(),
    })
}

#[cfg(test)]
mod tests {
    use crate::story::story;
    use linerate_model::run::{Run, RunKind, Tool};
    use linerate_model::spec::{Pace, TestSpec};
    use serde_json::{Value, json};

    /// A search over a device: its bound, bit/s of L4 payload, if it found one.
    fn part(device: &str, repetition: u32, lower: Option<u64>) -> Value {
        let bound = json!({
            "direction": "forward", "loss_goal_ratio": 0.0, "lower_bound_bps": lower, "upper_bound_bps": lower,
            "conditional_throughput_bps": lower, "reached": lower.is_some(), "bounded_by": lower.map(|_| "loss"),
            "width_ratio": null, "trials": 1, "time_s": 1.0
        });
        let trial = json!({
            "index": 0, "transport": "udp", "direction": "forward", "layer": "l4-payload", "work": "datagrams",
            "received_bps": 900_000_000_u64, "received_pps": 80_000.0, "valid": true, "origin": "measured"
        });
        let mut run = serde_json::to_value(Run::new(
            "part",
            RunKind::Saturate,
            Tool::unversioned("linerate"),
        ))
        .unwrap();
        let mut test = serde_json::to_value(TestSpec::udp_datagrams(Pace::Unpaced)).unwrap();
        test["datapath"] = json!({"id": "ports", "params": {}});
        test["work"]["payload_bytes"] = json!(125);
        run["goals"] = json!([bound]);
        run["trials"] = json!([trial]);
        run["config"]["asked"] = json!({"kind": "search", "test": test, "search": {
            "loss_goals_ratio": [0.0], "min_load_bps": 1000, "max_load_bps": 1_000_000_000, "width_ratio": 0.005,
            "budget_s": 3.0, "profile": false
        }});
        run["config"]["place"] =
            json!({"cell": format!("dut = {device}, frame-size = 171"), "repetition": repetition});
        run
    }

    fn study(parts: Vec<Value>) -> Run {
        let study = Run::new("study", RunKind::Study, Tool::unversioned("linerate"));
        let mut study = serde_json::to_value(study).unwrap();
        study["parts"] = parts.into();
        serde_json::from_value(study).unwrap()
    }

    #[test]
    fn devices_are_told_from_the_least_to_the_most_in_frames() {
        let parts = [("bridge", 300), ("router", 200), ("xdp", 2000)];
        let each = |repetition: u32| {
            parts.map(|(device, mbit)| part(device, repetition, Some(mbit * 1_000_000)))
        };
        let found = story(&[study((1..=3).flat_map(each).collect())]);
        let said = "Forwards from 0.2 Mpps (dut router) to 2 Mpps (dut xdp), without loss.";
        assert_eq!(found.sentence, said);
        let values: Vec<_> = found.figures.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(values, ["2 Mpps", "0.2 Mpps"]);
        assert_eq!(found.figures[0].interval.as_deref(), Some("n = 3"));
    }

    /// Its trials were at loads of its own choice, and their mean is nobody's result.
    #[test]
    fn a_search_without_a_bound_has_no_value() {
        let mut parts = vec![
            part("bridge", 1, Some(300_000_000)),
            part("xdp", 1, Some(500_000_000)),
        ];
        parts.push(part("router", 1, None));
        let found = story(&[study(parts)]);
        assert!(
            found
                .sentence
                .starts_with("Forwards from 300 kpps (dut bridge"),
            "{}",
            found.sentence
        );
    }
}
