//! `linerate run`: every cell of a plan, repeated, in random order; a part for each.

use crate::context::Context;
use crate::plan::{Cell, StudyPlan};
use crate::recorder::{Header, Recorder};
use crate::run::{After, Test, is_of_peer};
use crate::watch::ScaledWatcher;
use anyhow::{Context as _, Result};
use linerate_analysis::study::findings;
use linerate_analysis::study::rounds::{CellPrecision, next_round};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::consent::Allowed;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::random::Random;
use linerate_model::run::{Run, RunKind, RunRequest, RunStatus, RunWork, StudyPlace};
use linerate_model::{Clock as _, MonoInstant};
use linerate_sys::clock::MonoClock;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

/// Runs the study; of `earlier`, an incomplete study of the same plan, the finished parts are taken over.
pub fn study(
    context: &mut Context<'_>,
    plan: &Allowed<StudyPlan>,
    earlier: Option<Run>,
) -> Result<Run> {
    plan.check_budget()?;
    plan.check_restart()?;
    plan.check_links()?;
    for cell in &plan.cells {
        cell.test.check_host()?;
    }
    let taken = earlier.map_or_else(|| Ok(Vec::new()), |earlier| finished_parts(plan, earlier))?;
    let mut recorder = Recorder::begin(context, header(plan))?;
    for part in taken {
        recorder.part(context, part);
    }
    let id = recorder.run_mut().id.clone();
    let mut measuring = Measuring {
        context,
        recorder: &mut recorder,
        plan,
        started: BTreeMap::new(),
        round: 0,
    };
    let measured = match plan.budget {
        Some(budget) => measuring.by_width(budget),
        None => measuring.in_order(),
    };
    measured.with_context(|| format!("the study {id} ended early; go on with --resume {id}"))?;
    conclude(plan, recorder.run_mut());
    Ok(recorder.finish(context))
}

/// Means of the cells and what they show.
fn conclude(plan: &StudyPlan, run: &mut Run) {
    let cells = || plan.cells.iter().map(|cell| cell.label.as_str());
    let control = plan.control().map(|cell| cell.label.as_str());
    if let RunWork::Study {
        estimates,
        findings: found,
        parts,
    } = &mut run.work
    {
        *estimates = linerate_analysis::estimates(cells(), parts);
        *found = Some(Box::new(findings(cells(), control, parts)));
    }
}

/// A study that is being measured.
struct Measuring<'a, 'c> {
    context: &'a mut Context<'c>,
    recorder: &'a mut Recorder,
    plan: &'a StudyPlan,
    /// Peers whose program was started for this round, by their address.
    started: BTreeMap<String, PeerAddress>,
    round: u32,
}

/// A run of a study: what is measured, which repetition of it (from 1), in which round, and the share of the study before
/// and after it.
struct Next {
    place: usize,
    repetition: u32,
    round: u32,
    shares: (f64, f64),
}

impl Measuring<'_, '_> {
    /// Measures in the plan's order what no part has yet.
    fn in_order(&mut self) -> Result<()> {
        let order = self.plan.order();
        let done: BTreeSet<_> = self.parts().iter().filter_map(key).collect();
        let share = 1.0 / f64::from(u32::try_from(order.len()).unwrap_or(u32::MAX));
        let mut offset = 0.0;
        for (repetition, place) in order {
            let label = self.plan.place(place).map_or("", |(_, label)| label);
            if !done.contains(&(label.to_owned(), repetition + 1)) {
                let next = Next {
                    place,
                    repetition: repetition + 1,
                    round: repetition,
                    shares: (offset, offset + share),
                };
                if self.one(&next)?.is_break() {
                    break;
                }
            }
            offset += share;
        }
        Ok(())
    }

    /// Measures what is known least, as long as `budget` lasts.
    fn by_width(&mut self, budget: Duration) -> Result<()> {
        let begun = MonoClock.now();
        let before = self.spent_before();
        for number in 0.. {
            let known = self.known();
            let mut round = next_round(&known, self.plan.precision);
            let made = self.parts().len() as u64;
            Random::new(self.plan.seed.wrapping_add(made)).shuffle(&mut round);
            let mut has_measured = false;
            for place in round {
                let spent = before + since(begun);
                let time = self
                    .plan
                    .place(place)
                    .map_or(Duration::ZERO, |(cell, _)| cell.time());
                if spent + time > budget {
                    continue;
                }
                has_measured = true;
                let share = |time: Duration| time.div_duration_f64(budget).min(1.0);
                let next = Next {
                    place,
                    repetition: u32::try_from(known[place].runs + 1).unwrap_or(u32::MAX),
                    round: number,
                    shares: (share(spent), share(spent + time)),
                };
                if self.one(&next)?.is_break() {
                    return Ok(());
                }
            }
            if !has_measured {
                break;
            }
        }
        Ok(())
    }

    /// What the parts that are there took, by the plan.
    fn spent_before(&mut self) -> Duration {
        let plan = self.plan;
        let places = || (0..plan.places()).filter_map(|place| plan.place(place));
        let time = |part: &Run| {
            let (label, _) = key(part)?;
            let (cell, _) = places().find(|(_, known)| *known == label)?;
            Some(cell.time())
        };
        self.parts().iter().filter_map(time).sum()
    }

    /// What is known of each cell, and of the control.
    fn known(&mut self) -> Vec<CellPrecision> {
        let plan = self.plan;
        let parts = self.parts();
        let of_place = |place: usize| {
            let label = plan.place(place).map_or("", |(_, label)| label);
            let of_cell = parts.iter().filter(|part| part.is_of_cell(label));
            CellPrecision::from_runs(&of_cell.collect::<Vec<_>>())
        };
        (0..plan.places()).map(of_place).collect()
    }

    fn parts(&mut self) -> &[Run] {
        self.recorder.run_mut().parts()
    }

    /// The peer of a cell. Where it is started anew for each round, its program ends with the round.
    fn peer(&mut self, cell: &Cell, round: u32) -> PeerAddress {
        if !self.plan.restart {
            return cell.far.clone();
        }
        if self.round != round {
            self.started.clear();
            self.round = round;
        }
        let started = self.started.entry(cell.far.to_string());
        started
            .or_insert_with(|| cell.far.restarted().unwrap_or_else(|| cell.far.clone()))
            .clone()
    }

    /// Measures one run; a break if the user wants to stop. Another tool that fails is asked once more: a server that
    /// gives up a test for what an overloaded path lost would else end a study of hours.
    fn one(&mut self, next: &Next) -> Result<ControlFlow<()>> {
        let Some((cell, label)) = self.plan.place(next.place) else {
            return Ok(ControlFlow::Continue(()));
        };
        let far = self.peer(cell, next.round);
        // The control is called like the cell that it measures, so that nobody treats it as another.
        let name = format!("{} (repetition {})", cell.label, next.repetition);
        let (offset, end) = next.shares;
        let mut watcher = ScaledWatcher {
            inner: &mut *self.context.watcher,
            name: &name,
            offset,
            scale: end - offset,
        };
        let (command, interrupt) = (&self.context.command, self.context.interrupt);
        let mut inner = Context::of_part(command, interrupt, &mut watcher);
        let mut measured = measure(&mut inner, self.plan, cell, far.clone());
        if let Err(error) = &measured
            && far.kind().about().is_foreign
            && is_of_peer(error)
        {
            let note = format!("{name} was measured again: {error:#}");
            self.recorder.run_mut().notes.push(note);
            measured = measure(&mut inner, self.plan, cell, far);
        }
        // Before its error: a run that the user ends may fail by that, before its peer has answered.
        if self.context.interrupted() {
            return Ok(ControlFlow::Break(()));
        }
        let mut part = measured?;
        part.title = Some(name);
        part.config.place = Some(StudyPlace {
            cell: label.to_owned(),
            repetition: next.repetition,
        });
        self.recorder.part(self.context, part);
        Ok(ControlFlow::Continue(()))
    }
}

fn since(begun: MonoInstant) -> Duration {
    MonoClock.now().saturating_since(begun)
}

fn measure(
    context: &mut Context<'_>,
    plan: &StudyPlan,
    cell: &Cell,
    far: PeerAddress,
) -> Result<Run> {
    let target = Target {
        key: plan.key.clone(),
        login: plan.login.clone(),
        ip: cell.ip,
        link: cell.link,
        ..Target::new(far)
    };
    let after = After {
        payload: cell.payload,
        diagnose: cell.diagnose,
        prove: plan.prove,
    };
    let mut test = cell.test.clone();
    if let (Test::Latency(latency), Some((program, key_file))) = (&mut test, &plan.wrapped) {
        latency.wrap_program(program, key_file.as_deref());
    }
    // A cell is one frame size, and so one search, which its means are made of.
    test.measure(context, &target, after)
        .map(Run::into_only_search)
}

fn header(plan: &StudyPlan) -> Header {
    Header {
        kind: RunKind::Study,
        title: plan.title.clone(),
        target: None,
        asked: RunRequest::Study(plan.settings()),
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
    if earlier.config.asked != Some(RunRequest::Study(plan.settings())) {
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
