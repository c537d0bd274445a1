//! Taking the turns of a sweep in their order, and making one trial of each cell's.

use super::order::Grid;
use super::wrap::Wrapped;
use super::{LatencyPlan, Load, Mode, ModeVariant, label, parts, spec};
use crate::context::Context;
use crate::recorder::Recorder;
use crate::run::Measurement;
use crate::watch::{Event, ScaledWatcher};
use anyhow::Result;
use linerate_analysis::assemble::{TurnReports, cut_short, trial_of_turns};
use linerate_client::planned_time;
use linerate_client::{Client, Pulse, Target, TestOutcome};
use linerate_model::ByteCount;
use linerate_model::run::Host;
use linerate_model::spec::{ClosedLoop, Direction, Stop, TestSpec, TestWork};
use linerate_peers::Tests;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What is measured with, through a whole run.
pub(super) struct Bench<'a> {
    pub(super) target: &'a Target,
    pub(super) client: &'a mut Client,
    /// The child that runs under the plan's wrapper.
    pub(super) wrapped: Option<Wrapped>,
    /// Turns taken so far.
    pub(super) taken: u32,
}

impl Bench<'_> {
    fn next_position(&mut self) -> u32 {
        self.taken += 1;
        self.taken - 1
    }

    /// Both hosts; what the wrapper loads is a fact of this one.
    pub(super) fn hosts(&self) -> Vec<Host> {
        let mut hosts = self.client.hosts();
        if let (Some(wrapped), Some(own)) = (&self.wrapped, hosts.first_mut()) {
            own.facts.wrapped_process = Some(wrapped.process().clone());
        }
        hosts
    }

    /// What must be known about the ends before their numbers are read.
    pub(super) fn notes(&self, plan: &LatencyPlan) -> Vec<String> {
        let mut notes = self.client.caveats();
        let kind = self.target.far.kind();
        let own = plan.modes.iter().any(|mode| *mode != Mode::default());
        if own && kind.about().is_foreign && kind.about().tests != Tests::Alike {
            notes.push(format!(
                "the peer is another tool ({}) and waits as it was started: the wait modes are this end's only",
                kind.id()
            ));
        }
        if let Some(wrapped) = &self.wrapped {
            notes
                .push("wrapped is the asking end only: the peer runs as it was started".to_owned());
            notes.extend(wrapped.warning());
        }
        notes
    }
}

/// One message size in one way.
struct Cell<'a> {
    size: ByteCount,
    way: &'a ModeVariant,
    turns: Vec<TurnReports>,
}

/// Measures every size in every way, in turns. What was measured is recorded also where the sweep ends early.
pub(super) fn sweep(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    bench: &mut Bench<'_>,
    plan: &LatencyPlan,
    load: Option<Load>,
) -> Result<()> {
    let ways = plan.ways();
    let in_all_ways = |&size: &ByteCount| {
        ways.iter().map(move |way| Cell {
            size,
            way,
            turns: Vec::new(),
        })
    };
    let mut cells: Vec<Cell<'_>> = plan.sizes.iter().flat_map(in_all_ways).collect();
    let tests = bench.client.tests();
    let grid = Grid {
        sizes: plan.sizes.len(),
        ways: ways.len(),
        rounds: plan.rounds_with(tests),
    };
    let order = grid.order(tests, plan.seed);
    let mut ended = Ok(());
    for (done, index) in order.iter().enumerate() {
        if context.interrupted() || ended.is_err() {
            break;
        }
        let cell = &mut cells[*index];
        let spec = turn_of(&spec(plan, cell.size, cell.way), grid.rounds);
        let label = label(&spec, cell.way, load);
        let share = Share {
            done,
            of: order.len(),
            label: &label,
        };
        let made = if cell.way.is_wrapped {
            wrapped_turn(context, recorder, bench, &spec, share)
        } else {
            turn(context, recorder, bench, &spec, share)
        };
        match made {
            Ok(reports) => cell.turns.extend(reports),
            Err(error) => ended = Err(error),
        }
    }
    for Cell { size, way, turns } in cells {
        let spec = spec(plan, size, way);
        let label = label(&spec, way, load);
        let index = recorder.next_index();
        let Some(mut trial) = trial_of_turns(index, Direction::Forward, turns) else {
            continue;
        };
        trial.label = Some(label);
        trial.set_conditions(way.conditions(load));
        recorder.trial(context, trial.clone());
        if plan.decompose && ended.is_ok() && !context.interrupted() {
            let mut run = Measurement {
                context,
                recorder,
                client: bench.client,
            };
            ended = parts::take_apart(&mut run, &spec, &trial);
        }
    }
    ended.inspect_err(|error| recorder.give_up(error))
}

/// One turn of a test that is made in so many.
fn turn_of(spec: &TestSpec, rounds: u32) -> TestSpec {
    let rounds = rounds.max(1);
    let stop = match spec.stop {
        Stop::After(time) => Stop::After(time / rounds),
        Stop::Bytes(bytes) => Stop::Bytes(ByteCount::new(bytes.get().div_ceil(rounds.into()))),
        Stop::Transactions(count) => Stop::Transactions(count.div_ceil(rounds.into())),
    };
    let each = |count: u64| count.div_ceil(rounds.into());
    let mut turn = TestSpec {
        stop,
        ..spec.clone()
    };
    if let TestWork::ClosedLoop(ClosedLoop { transactions, .. }) = &mut turn.work {
        transactions.at_least = transactions.at_least.map(each);
        transactions.at_most = transactions.at_most.map(each);
    }
    turn
}

/// The place of a turn in its sweep.
#[derive(Clone, Copy)]
struct Share<'a> {
    done: usize,
    of: usize,
    label: &'a str,
}

impl Share<'_> {
    /// So many turns as a share of the sweep.
    #[expect(clippy::cast_precision_loss, reason = "a handful of turns")]
    fn part(&self, turns: usize) -> f64 {
        turns as f64 / self.of.max(1) as f64
    }
}

/// Takes one turn; `None` if it was stopped before any traffic.
fn turn(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    bench: &mut Bench<'_>,
    spec: &TestSpec,
    share: Share<'_>,
) -> Result<Option<TurnReports>> {
    let mut watcher = ScaledWatcher {
        inner: &mut *context.watcher,
        name: share.label,
        offset: share.part(share.done),
        scale: share.part(1),
    };
    let (planned, interrupt) = (planned_time(spec), context.interrupt);
    let outcome = bench.client.run(spec, &mut |pulse: &Pulse| {
        if !pulse.elapsed.is_zero() {
            crate::progress::tell(&mut watcher, pulse, planned, None);
        }
        !interrupt.load(Ordering::Relaxed)
    })?;
    keep_notes(recorder, &outcome.notes);
    Ok(reports(bench.next_position(), spec, outcome))
}

/// Takes one turn under the wrapper, while this process looks after its own connection.
fn wrapped_turn(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    bench: &mut Bench<'_>,
    spec: &TestSpec,
    share: Share<'_>,
) -> Result<Option<TurnReports>> {
    let Some(wrapped) = &bench.wrapped else {
        return Ok(None);
    };
    context.watcher.event(Event::Progress {
        share: share.part(share.done),
        text: share.label,
        elapsed: Duration::ZERO,
    });
    let (client, interrupt) = (&mut *bench.client, context.interrupt);
    let turn = wrapped.run(bench.target, spec, &mut || {
        client.tend()?;
        Ok(!interrupt.load(Ordering::Relaxed))
    })?;
    keep_notes(recorder, &turn.notes);
    let position = bench.next_position();
    Ok(turn.sender.map(|sender| TurnReports {
        position,
        spec: spec.clone(),
        sender: Some(sender),
        receiver: turn.receiver,
    }))
}

fn keep_notes(recorder: &mut Recorder, fresh: &[String]) {
    let notes = &mut recorder.run_mut().notes;
    for note in fresh {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
}

fn reports(position: u32, spec: &TestSpec, outcome: TestOutcome) -> Option<TurnReports> {
    let stopped = outcome.stopped;
    let done = outcome.directions.into_iter().next()?;
    let spec = if stopped {
        cut_short(spec, done.sender.as_ref())
    } else {
        spec.clone()
    };
    Some(TurnReports {
        position,
        spec,
        sender: done.sender,
        receiver: done.receiver,
    })
}
