//! Means of a study: each quantity of each cell over its repetitions.

use crate::repetition::{OfRun, Units, units};
use crate::statistics::{Moments, USUAL_CONFIDENCE, Unit, mean};
use linerate_model::run::{CellEstimate, ExchangeConditions, Run, RunWork, Trial};
use linerate_model::spec::Direction;
use linerate_model::{Interval, Quantity};
use std::collections::BTreeMap;

/// Means over the repetitions of these cells, which the parts of a study say where they belong, in the order of the cells.
/// A run is one observation, whatever it is made of; runs of one start of the peer's program are one together where the
/// cell has several starts.
pub fn estimates<'a>(cells: impl IntoIterator<Item = &'a str>, parts: &[Run]) -> Vec<CellEstimate> {
    cells
        .into_iter()
        .flat_map(|cell| cell_estimates(cell, parts))
        .collect()
}

fn cell_estimates(label: &str, parts: &[Run]) -> Vec<CellEstimate> {
    let of_cell = parts.iter().filter(|part| part.is_of_cell(label));
    values_of_runs(of_cell)
        .into_iter()
        .filter_map(|((direction, quantity), values)| {
            let Units { level, units } = units(&values);
            let mut estimate = mean(&Unit::values(&units), USUAL_CONFIDENCE).ok()?;
            // Student's interval knows no bounds, the quantity does.
            estimate.interval = estimate.interval.map(|interval| {
                Interval::new(interval.low.max(0.0), interval.high.min(quantity.most()))
            });
            Some(CellEstimate {
                cell: label.to_owned(),
                direction,
                quantity,
                estimate,
                level,
            })
        })
        .collect()
}

/// One way of the traffic, and what is told of it.
pub(crate) type Measured = (Direction, Quantity);

/// What each run says of each direction and quantity, with the start that it was measured with.
pub(crate) fn values_of_runs<'a>(
    runs: impl IntoIterator<Item = &'a Run>,
) -> BTreeMap<Measured, Vec<OfRun<'a>>> {
    let mut seen: BTreeMap<_, Vec<OfRun<'a>>> = BTreeMap::new();
    for run in runs {
        for (key, value) in run_values(run) {
            let of = (run.instance.as_ref(), value);
            seen.entry(key).or_default().push(of);
        }
    }
    seen
}

/// What one run says of each direction and quantity: the mean of its trials.
pub(crate) fn run_values(part: &Run) -> BTreeMap<Measured, f64> {
    let mut seen: BTreeMap<Measured, Vec<f64>> = BTreeMap::new();
    for (key, value) in observations(part) {
        seen.entry(key).or_default().push(value);
    }
    let means = seen.into_iter();
    let means = means.filter_map(|(key, values)| Some((key, Moments::from_samples(&values)?.mean)));
    means.collect()
}

/// What is averaged.
pub(crate) const AVERAGED: [Quantity; 9] = [
    Quantity::ReceivedRate,
    Quantity::LossRatio,
    Quantity::ConditionalThroughput,
    Quantity::FrameThroughput,
    Quantity::MEDIAN_DELAY,
    Quantity::P99_DELAY,
    Quantity::RisingDelayLoad,
    Quantity::Responsiveness,
    Quantity::AcknowledgedRate,
];

/// What one run says about its cell. Invalid trials say nothing.
fn observations(part: &Run) -> Vec<(Measured, f64)> {
    let one = |direction, quantity, value| vec![((direction, quantity), value)];
    match &part.work {
        RunWork::Saturate { goals, .. } => {
            // The strictest goal comes first.
            let strictest = goals.first();
            let found = strictest.and_then(|goal| Some((goal, goal.conditional_throughput?)));
            let in_frames = |rate| part.config.test()?.device_frames(rate);
            found.map_or_else(Vec::new, |(goal, rate)| {
                let (quantity, value) = match in_frames(rate) {
                    Some(frames) => (Quantity::FrameThroughput, frames.pps()),
                    None => (Quantity::ConditionalThroughput, rate.as_f64()),
                };
                one(goal.direction, quantity, value)
            })
        }
        RunWork::Latency { responsiveness, .. } if !responsiveness.is_empty() => {
            let known = responsiveness.iter().filter_map(|one| {
                let key = (one.direction, Quantity::Responsiveness);
                Some((key, one.responsiveness_rpm?))
            });
            known.collect()
        }
        RunWork::Latency {
            curve: Some(facts), ..
        } => {
            let rise = facts.knee.as_ref().and_then(|knee| knee.above);
            let direction = part.trials.first().map(|trial| trial.direction);
            direction
                .zip(rise)
                .map_or_else(Vec::new, |(direction, load)| {
                    one(direction, Quantity::RisingDelayLoad, load.pps())
                })
        }
        RunWork::Latency { .. } => of_trials(asked_for(&part.trials), |_| {
            [Quantity::MEDIAN_DELAY, Quantity::P99_DELAY]
        }),
        _ => of_trials(part.trials.iter().collect(), |trial| {
            // Of a receiver that tells nothing, what its TCP acknowledged is the nearest that is known.
            let rate = match trial.received_rate {
                Some(_) => Quantity::ReceivedRate,
                None => Quantity::AcknowledgedRate,
            };
            [rate, Quantity::LossRatio]
        }),
    }
}

/// The trials that a latency run was made for: under load and wrapped if it has such, and without the kernel's stamps,
/// which cost time.
fn asked_for(trials: &[Trial]) -> Vec<&Trial> {
    let has = |trial: &&Trial, what: fn(&ExchangeConditions) -> bool| {
        trial.conditions().is_some_and(what)
    };
    let mut kept: Vec<&Trial> = trials
        .iter()
        .filter(|trial| trial.decomposition().is_none())
        .collect();
    let marks: [fn(&ExchangeConditions) -> bool; 2] = [|c| c.load.is_some(), |c| c.wrapped];
    for mark in marks {
        if kept.iter().any(|trial| has(trial, mark)) {
            kept.retain(|trial| has(trial, mark));
        }
    }
    kept
}

fn of_trials(trials: Vec<&Trial>, asked: fn(&Trial) -> [Quantity; 2]) -> Vec<(Measured, f64)> {
    let valid = trials.into_iter().filter(|trial| trial.valid);
    valid
        .flat_map(|trial| {
            let known = asked(trial).into_iter().filter_map(|quantity| {
                let value = quantity.of(trial)?;
                Some(((trial.direction, quantity), value))
            });
            known.collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::BitRate;
    use linerate_model::run::{ByteStreamResult, ClosedLoopResult, RunKind, StudyPlace, Tool};
    use linerate_model::spec::{Transport, WaitMode};

    fn trial(load: Option<&str>, wrapped: bool, p50_ns: u64) -> Trial {
        let delay = serde_json::json!({"of": "round-trip", "p50_ns": p50_ns});
        let work = ClosedLoopResult {
            conditions: Some(ExchangeConditions {
                mode: "block".to_owned(),
                wait: WaitMode::default(),
                datapath: "sockets".to_owned(),
                wrapped,
                load: load.map(str::to_owned),
            }),
            delay: serde_json::from_value(delay).unwrap(),
            ..ClosedLoopResult::default()
        };
        Trial::new(0, Transport::Udp, Direction::Forward, work)
    }

    fn medians(trials: Vec<Trial>) -> Vec<f64> {
        let mut part = Run::new("a", RunKind::Latency, Tool::unversioned("linerate"));
        part.trials = trials;
        part.config.place = Some(StudyPlace {
            cell: "all".to_owned(),
            repetition: 1,
        });
        let all = estimates(["all"], &[part]);
        let medians = all
            .iter()
            .filter(|one| one.quantity == Quantity::MEDIAN_DELAY);
        medians.map(|one| one.estimate.point).collect()
    }

    #[test]
    fn what_was_measured_for_comparison_is_not_averaged_with_what_was_asked_for() {
        assert_eq!(
            medians(vec![trial(None, false, 10), trial(Some("tcp"), false, 90)]),
            [90.0]
        );
        assert_eq!(
            medians(vec![trial(None, false, 10), trial(None, true, 4)]),
            [4.0]
        );
        assert_eq!(
            medians(vec![trial(None, false, 10), trial(None, false, 20)]),
            [15.0]
        );
    }

    #[test]
    fn of_a_receiver_that_tells_nothing_what_its_tcp_acknowledged_is_averaged() {
        let of_stream = |received: Option<u64>| {
            let tcp = serde_json::json!({"acknowledged_bps": 90});
            let work = ByteStreamResult {
                tcp: serde_json::from_value(tcp).unwrap(),
                ..ByteStreamResult::default()
            };
            let mut trial = Trial::new(0, Transport::Tcp, Direction::Forward, work);
            trial.received_rate = received.map(BitRate::from_bps);
            let mut part = Run::new("a", RunKind::Tcp, Tool::unversioned("linerate"));
            part.trials = vec![trial];
            let values = run_values(&part);
            let values = values.into_iter();
            values
                .map(|((_, quantity), value)| (quantity, value))
                .collect::<Vec<_>>()
        };
        assert_eq!(of_stream(None), [(Quantity::AcknowledgedRate, 90.0)]);
        assert_eq!(of_stream(Some(80)), [(Quantity::ReceivedRate, 80.0)]);
    }
}
