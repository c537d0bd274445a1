//! `linerate run`: every cell of a plan, repeated, in random order; a part for each.

use crate::context::Context;
use crate::plan::{Cell, StudyPlan, Test};
use crate::recorder::{Header, Recorder};
use crate::run::{latency, prove, saturate, single};
use crate::watch::Scaled;
use anyhow::{Context as _, Result};
use linerate_analysis::statistics::{USUAL_CONFIDENCE, mean};
use linerate_client::Target;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{
    Asked, CellEstimate, Run, RunKind, RunStatus, RunWork, StudyPlace, Trial,
};
use linerate_model::spec::Direction;
use linerate_model::{BitRate, Interval, Ratio};
use std::collections::{BTreeMap, BTreeSet};

/// Runs the study; of `earlier`, an incomplete study of the same plan, the finished parts are taken over.
pub fn study(context: &mut Context<'_>, plan: &StudyPlan, earlier: Option<Run>) -> Result<Run> {
    let taken = earlier.map_or_else(|| Ok(Vec::new()), |earlier| finished_parts(plan, earlier))?;
    let mut recorder = Recorder::begin(context, header(plan))?;
    for part in taken {
        recorder.part(context, part);
    }
    let id = recorder.run_mut().id.clone();
    measure_missing(context, &mut recorder, plan)
        .with_context(|| format!("the study {id} ended early; go on with --resume {id}"))?;
    let run = recorder.run_mut();
    let made = estimates(plan, run.parts());
    if let RunWork::Study { estimates, .. } = &mut run.work {
        *estimates = made;
    }
    Ok(recorder.finish(context))
}

/// Measures in order what no part has yet.
fn measure_missing(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    plan: &StudyPlan,
) -> Result<()> {
    let order = plan.order();
    let done: BTreeSet<_> = recorder.run_mut().parts().iter().filter_map(key).collect();
    let share = 1.0 / f64::from(u32::try_from(order.len()).unwrap_or(u32::MAX));
    let mut offset = 0.0;
    for (repetition, index) in order {
        let cell = &plan.cells[index];
        let number = repetition + 1;
        if !done.contains(&(cell.label.clone(), number)) {
            let name = format!("{} (repetition {number})", cell.label);
            let mut watcher = Scaled {
                inner: &mut *context.watcher,
                name: &name,
                offset,
                scale: share,
            };
            let mut inner = Context::of_part(&context.command, context.interrupt, &mut watcher);
            let mut part = measure(&mut inner, plan, cell)?;
            if context.interrupted() {
                break;
            }
            part.title = Some(name);
            part.config.place = Some(StudyPlace {
                cell: cell.label.clone(),
                repetition: number,
            });
            recorder.part(context, part);
        }
        offset += share;
    }
    Ok(())
}

fn measure(context: &mut Context<'_>, plan: &StudyPlan, cell: &Cell) -> Result<Run> {
    let target = Target {
        key: plan.key.clone(),
        login: plan.login.clone(),
        ..Target::new(plan.far.clone())
    };
    let run = match &cell.test {
        Test::Single(spec) => single(context, &target, spec),
        Test::Latency(plan) => return latency(context, &target, plan),
        Test::Saturate(plan) => saturate(context, &target, plan),
    }?;
    if plan.prove {
        return prove(context, &target, run);
    }
    Ok(run)
}

fn header(plan: &StudyPlan) -> Header {
    Header {
        kind: RunKind::Study,
        title: plan.title.clone(),
        target: None,
        asked: Asked::Study(plan.settings()),
        hosts: Vec::new(),
    }
}

/// The parts of an earlier study, if it is one of this plan.
fn finished_parts(plan: &StudyPlan, earlier: Run) -> Result<Vec<Run>, Failure> {
    let refuse = |why: &str| {
        let message = format!("cannot resume {}: {why}", earlier.id);
        Err(Failure::new(ExitCode::Plan, message))
    };
    let RunWork::Study { parts, .. } = earlier.work else {
        return refuse("it is not a study; give the id of an incomplete one");
    };
    if earlier.config.asked != Some(Asked::Study(plan.settings())) {
        return refuse("its plan was another one; leave out --resume to begin anew");
    }
    if earlier.status != RunStatus::Incomplete {
        return refuse("it is complete; leave out --resume to run the plan again");
    }
    Ok(parts
        .into_iter()
        .filter(|part| key(part).is_some())
        .collect())
}

/// Cell and repetition of a part.
fn key(part: &Run) -> Option<(String, u32)> {
    let place = part.config.place.as_ref()?;
    Some((place.cell.clone(), place.repetition))
}

/// Means over the repetitions, in the order of the plan's cells.
fn estimates(plan: &StudyPlan, parts: &[Run]) -> Vec<CellEstimate> {
    plan.cells
        .iter()
        .flat_map(|cell| cell_estimates(&cell.label, parts))
        .collect()
}

fn cell_estimates(label: &str, parts: &[Run]) -> Vec<CellEstimate> {
    let of_cell = parts
        .iter()
        .filter(|part| key(part).is_some_and(|(cell, _)| cell == label));
    let mut seen: BTreeMap<(Direction, usize), Vec<f64>> = BTreeMap::new();
    for (direction, quantity, value) in of_cell.flat_map(observations) {
        seen.entry((direction, quantity)).or_default().push(value);
    }
    seen.into_iter()
        .filter_map(|((direction, quantity), values)| {
            let mut estimate = mean(&values, USUAL_CONFIDENCE).ok()?;
            let (quantity, most) = QUANTITIES[quantity];
            // Student's interval knows no bounds, the quantity does.
            estimate.interval = estimate.interval.map(|interval| Interval {
                low: interval.low.max(0.0),
                high: interval.high.min(most),
            });
            Some(CellEstimate {
                cell: label.to_owned(),
                direction,
                quantity: quantity.to_owned(),
                estimate,
            })
        })
        .collect()
}

/// What is averaged, by its key in a trial or goal, with its largest possible value; the smallest is zero.
const QUANTITIES: [(&str, f64); 5] = [
    ("received_bps", f64::INFINITY),
    ("loss_ratio", 1.0),
    ("conditional_throughput_bps", f64::INFINITY),
    ("p50_ns", f64::INFINITY),
    ("p99_ns", f64::INFINITY),
];

/// What one run says about its cell: direction, position in [`QUANTITIES`], value. Invalid trials say nothing.
fn observations(part: &Run) -> Vec<(Direction, usize, f64)> {
    if part.kind() == RunKind::Saturate {
        // The strictest goal comes first.
        let strictest = part.goals().first();
        let found = strictest.and_then(|goal| Some((goal, goal.conditional_throughput?)));
        return found
            .map(|(goal, rate)| (goal.direction, 2, rate.as_f64()))
            .into_iter()
            .collect();
    }
    let valid = part.trials.iter().filter(|trial| trial.valid);
    valid
        .flat_map(|trial| {
            let values = match part.kind() {
                RunKind::Latency => delays(trial),
                _ => rates(trial),
            };
            let known = values
                .into_iter()
                .filter_map(|(position, value)| Some((trial.direction, position, value?)));
            known.collect::<Vec<_>>()
        })
        .collect()
}

fn rates(trial: &Trial) -> [(usize, Option<f64>); 2] {
    let rate = trial.received_rate.map(BitRate::as_f64);
    [(0, rate), (1, trial.loss_ratio().map(Ratio::get))]
}

#[expect(
    clippy::cast_precision_loss,
    reason = "delays of less than a hundred days"
)]
fn delays(trial: &Trial) -> [(usize, Option<f64>); 2] {
    let delay = trial.delay();
    let median = delay.and_then(|delay| delay.p50_ns);
    let p99 = delay.and_then(|delay| delay.p99_ns);
    [
        (3, median.map(|ns| ns as f64)),
        (4, p99.map(|ns| ns as f64)),
    ]
}
