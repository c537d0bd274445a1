//! `linerate run`: every cell of a plan, repeated, in random order; a part for each.

use crate::client::Target;
use crate::context::Context;
use crate::plan::{Cell, StudyPlan, Test};
use crate::recorder::{Header, Recorder};
use crate::run::demo::Scaled;
use crate::run::{latency, saturate, single};
use anyhow::{Context as _, Result};
use linerate_analysis::statistics::{USUAL_CONFIDENCE, mean};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{CellEstimate, Run, RunKind, RunStatus};
use linerate_model::spec::Direction;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Where a part says which cell it measured, and in which repetition (from 1).
const CELL: &str = "cell";
const REPETITION: &str = "repetition";

/// Runs the study; of `earlier`, an incomplete study of the same plan, the finished parts are taken over.
pub fn study(context: &mut Context<'_>, plan: &StudyPlan, earlier: Option<Run>) -> Result<Run> {
    let taken = earlier.map_or_else(|| Ok(Vec::new()), |earlier| finished_parts(plan, earlier))?;
    let mut recorder = Recorder::begin(context, header(plan))?;
    for part in taken {
        recorder.part(part)?;
    }
    let id = recorder.run_mut().id.clone();
    measure_missing(context, &mut recorder, plan)
        .with_context(|| format!("the study {id} ended early; go on with --resume {id}"))?;
    let run = recorder.run_mut();
    run.estimates = estimates(plan, &run.parts);
    recorder.finish(context)
}

/// Measures in order what no part has yet.
fn measure_missing(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    plan: &StudyPlan,
) -> Result<()> {
    let order = plan.order();
    let done: BTreeSet<_> = recorder.run_mut().parts.iter().filter_map(key).collect();
    let share = 1.0 / f64::from(u32::try_from(order.len()).unwrap_or(u32::MAX));
    let mut offset = 0.0;
    for (repetition, index) in order {
        let cell = &plan.cells[index];
        let number = repetition + 1;
        if !done.contains(&(cell.label.clone(), u64::from(number))) {
            let name = format!("{} (repetition {number})", cell.label);
            let mut watcher = Scaled {
                inner: &mut *context.watcher,
                name: &name,
                offset,
                scale: share,
            };
            let mut inner = Context {
                store: None,
                watcher: &mut watcher,
                command: context.command.clone(),
                interrupt: context.interrupt,
            };
            let mut part = measure(&mut inner, plan, cell)?;
            if context.interrupted() {
                break;
            }
            part.title = Some(name);
            part.config
                .values
                .insert(CELL.to_owned(), json!(cell.label));
            part.config
                .values
                .insert(REPETITION.to_owned(), json!(number));
            recorder.part(part)?;
        }
        offset += share;
    }
    Ok(())
}

fn measure(context: &mut Context<'_>, plan: &StudyPlan, cell: &Cell) -> Result<Run> {
    let target = Target::new(plan.far.clone());
    match &cell.test {
        Test::Single(spec) => single(context, &target, spec),
        Test::Latency(plan) => latency(context, &target, plan),
        Test::Saturate(plan) => saturate(context, &target, plan),
    }
}

fn header(plan: &StudyPlan) -> Header {
    Header {
        kind: RunKind::Study,
        title: plan.title.clone(),
        values: plan.values(),
        hosts: Vec::new(),
    }
}

/// The parts of an earlier study, if it is one of this plan.
fn finished_parts(plan: &StudyPlan, earlier: Run) -> Result<Vec<Run>, Failure> {
    let refuse = |why: &str| {
        let message = format!("cannot resume {}: {why}", earlier.id);
        Err(Failure::new(ExitCode::Plan, message))
    };
    if earlier.kind != RunKind::Study {
        return refuse("it is no study; give the id of an incomplete one");
    }
    if earlier.config.values != plan.values() {
        return refuse("its plan was another one; leave out --resume to begin anew");
    }
    if earlier.status != RunStatus::Incomplete {
        return refuse("it is complete; leave out --resume to run the plan again");
    }
    Ok(earlier
        .parts
        .into_iter()
        .filter(|part| key(part).is_some())
        .collect())
}

/// Cell and repetition of a part.
fn key(part: &Run) -> Option<(String, u64)> {
    let cell = part.config.values.get(CELL)?.as_str()?;
    let repetition = part.config.values.get(REPETITION)?.as_u64()?;
    Some((cell.to_owned(), repetition))
}

/// Means over the repetitions, in the order of the plan's cells.
fn estimates(plan: &StudyPlan, parts: &[Run]) -> Vec<CellEstimate> {
    plan.cells
        .iter()
        .flat_map(|cell| cell_estimates(&cell.label, parts))
        .collect()
}

fn cell_estimates(label: &str, parts: &[Run]) -> Vec<CellEstimate> {
    let mut seen: BTreeMap<(Direction, &str), Vec<f64>> = BTreeMap::new();
    for part in parts
        .iter()
        .filter(|part| key(part).is_some_and(|(cell, _)| cell == label))
    {
        for (direction, quantity, value) in observations(part) {
            seen.entry((direction, quantity)).or_default().push(value);
        }
    }
    let estimate = |((direction, quantity), values): ((Direction, &str), Vec<f64>)| {
        let estimate = mean(&values, USUAL_CONFIDENCE).ok()?;
        Some(CellEstimate {
            cell: label.to_owned(),
            direction,
            quantity: quantity.to_owned(),
            estimate,
        })
    };
    seen.into_iter().filter_map(estimate).collect()
}

/// What one run says about its cell; invalid trials say nothing.
#[expect(
    clippy::cast_precision_loss,
    reason = "delays of less than a hundred days"
)]
fn observations(part: &Run) -> Vec<(Direction, &'static str, f64)> {
    if part.kind == RunKind::Saturate {
        let zero_loss = part.goals.iter().take(1);
        return zero_loss
            .filter_map(|goal| {
                Some((
                    goal.direction,
                    "conditional_throughput_bps",
                    goal.conditional_throughput?.as_f64(),
                ))
            })
            .collect();
    }
    let mut found = Vec::new();
    for trial in part.trials.iter().filter(|trial| trial.valid) {
        let delay = trial
            .delay
            .as_ref()
            .filter(|_| part.kind == RunKind::Latency);
        let values = [
            (
                "received_bps",
                trial
                    .received_rate
                    .filter(|_| delay.is_none())
                    .map(|rate| rate.as_f64()),
            ),
            (
                "loss_ratio",
                trial
                    .loss_ratio()
                    .filter(|_| delay.is_none())
                    .map(|ratio| ratio.get()),
            ),
            (
                "p50_ns",
                delay
                    .and_then(|delay| delay.p50_ns)
                    .map(|nanos| nanos as f64),
            ),
            (
                "p99_ns",
                delay
                    .and_then(|delay| delay.p99_ns)
                    .map(|nanos| nanos as f64),
            ),
        ];
        let known = values
            .into_iter()
            .filter_map(|(name, value)| Some((trial.direction, name, value?)));
        found.extend(known);
    }
    found
}
