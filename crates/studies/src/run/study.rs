//! `linerate run`: every cell of a plan, repeated, in random order; a part for each.

use crate::context::Context;
use crate::plan::{Cell, StudyPlan, Test};
use crate::recorder::{Header, Recorder};
use crate::run::{LatencyPlan, diagnose, latency, prove, saturate, single};
use crate::watch::Scaled;
use anyhow::{Context as _, Result};
use linerate_client::Target;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Asked, CellEstimate, Run, RunKind, RunStatus, RunWork, StudyPlace};
use std::collections::BTreeSet;
use std::time::Duration;

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
        Test::Latency(latency_plan) => {
            let plan = wrapped(plan, latency_plan);
            return latency(context, &target, &plan);
        }
        Test::Saturate(plan) => saturate(context, &target, plan),
    }?;
    let run = match cell.diagnose {
        Duration::ZERO => run,
        time => diagnose(context, &target, run, time),
    };
    if plan.prove {
        return prove(context, &target, run);
    }
    Ok(run)
}

/// The plan of a cell, whose wrapper knows what it is to start.
fn wrapped(study: &StudyPlan, plan: &LatencyPlan) -> LatencyPlan {
    let mut plan = plan.clone();
    if let (Some(wrap), Some((program, key_file))) = (&mut plan.wrap, &study.wrapped) {
        wrap.program.clone_from(program);
        wrap.key_file.clone_from(key_file);
    }
    plan
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
    let cells = plan.cells.iter().map(|cell| cell.label.as_str());
    linerate_analysis::estimates(cells, parts)
}
