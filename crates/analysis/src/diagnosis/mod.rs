//! What limits, by what changes when one thing is changed: a limit is what raises the rate when it is relieved.
//!
//! Suspects stand side by side, each with a weight: how often it limits before anything is known of a run. What the run's
//! own trial shows (signs) and what short trials with one change each answer ([`Probe`]s) move the weights by Bayes' rule:
//! every sign and every probe has classes, and of each was judged, and then counted in scenes whose limit was measured, how
//! often it is seen if a suspect is what limits. The next probe is the one that is expected to tell the suspects apart best
//! per second spent, and what an answer refutes leads to the next suspect, never to the end. Does no I/O: `studies` runs
//! what is asked for here.
//!
//! # References
//! - Expected information as the measure of an experiment: D. V. Lindley, Ann. Math. Statist. 27(4), 1956

mod bursts;
mod carried_load;
mod carried_more;
mod class;
mod conclusion;
mod contention;
mod counts;
mod datagrams;
mod delivered;
mod explained;
mod falls;
mod half_load;
mod likelihoods;
mod line_rate;
mod lost;
mod lost_behind;
mod made;
mod next_limit;
mod observation;
mod off_path;
mod outcome;
mod paused;
mod queue;
mod rate;
mod return_path;
mod shaper;
mod short_queue;
mod signs;
mod starved;
mod thread;
mod weights;
mod window;

#[cfg(test)]
mod tests;

use crate::thresholds::weight::{LEAST_GAIN, SURE};
pub use counts::{Counts, Observation, ObservedClass};

pub(crate) use conclusion::conclude;
pub(crate) use next_limit::withdraw as withdraw_next_limit;

use likelihoods::{LikelihoodData, Likelihoods};

use crate::causes::{self, is_whole_story, link};
use crate::experiment::{NotRun, took_effect};
use linerate_model::run::{Change, Run, Trial};
use linerate_model::spec::{TestSpec, Transport};
use linerate_model::{BitRate, Ratio};
use std::time::Duration;
use weights::{Suspect, Suspects};

/// Every probe of a limited byte stream. A new one: its file, its `mod` line above, its entry here; its classes go into
/// `likelihoods.json`.
static OF_BYTE_STREAMS: &[&dyn Probe] = &[
    &datagrams::OVERLOAD,
    &datagrams::FAR_ABOVE_TCP,
    &half_load::HalfLoad,
    &return_path::ReturnPath,
    &rate::STREAMS,
    &rate::RECEIVE_BUFFER,
    &rate::SEND_BUFFER,
    &rate::SENDER_CORE,
    &rate::RECEIVER_CORE,
];

/// Every probe of limited datagrams.
static OF_DATAGRAMS: &[&dyn Probe] = &[
    &datagrams::OVERLOAD,
    &half_load::HalfLoad,
    &rate::HALF_PAYLOAD,
    &rate::AGGREGATION,
    &rate::DATAGRAM_BUFFER,
    &rate::SENDER_CORE,
    &rate::RECEIVER_CORE,
];

/// The probes of what `transport` carried.
const fn probes(transport: Transport) -> &'static [&'static dyn Probe] {
    match transport {
        Transport::Tcp => OF_BYTE_STREAMS,
        Transport::Udp => OF_DATAGRAMS,
    }
}

/// A short trial with one change, and what its answers say of each suspect.
trait Probe: Sync {
    /// Its key in the table of counts.
    fn id(&self) -> &'static str;
    /// What is done differently.
    fn change(&self) -> Change;
    /// Trial time, warm-up included.
    fn cost(&self) -> Duration;
    /// The ids of the answers that can be told apart.
    fn classes(&self) -> &'static [&'static str];
    /// The answers that a trial may stand for, by their positions: one, or several where it does not tell them apart (a
    /// rate that may have risen or not); none if it says nothing.
    fn read(&self, compared: &ProbeComparison<'_>) -> Vec<usize>;
    /// Whether what was seen rules `suspect` out, however much else speaks for it.
    fn speaks_against(&self, _compared: &ProbeComparison<'_>, _suspect: Suspect) -> bool {
        false
    }
    /// What was seen, in one sentence with figures.
    fn describe(&self, compared: &ProbeComparison<'_>) -> String;
    /// The test of the changed trial; `run` has a baseline in `compared`'s direction.
    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun>;
}

/// A probe's trial beside others.
struct ProbeComparison<'a> {
    /// The run that it was made in.
    run: &'a Run,
    /// The run's own, which is to be explained.
    limited: &'a Trial,
    /// The one without the change: the run's own, or the probe at the same load.
    baseline: &'a Trial,
    changed: &'a Trial,
    /// Datagrams at half the rate, if they were sent.
    half: Option<&'a Trial>,
}

impl ProbeComparison<'_> {
    /// Received rate of the changed trial as a multiple of the baseline's.
    fn rate_ratio(&self) -> Option<f64> {
        let (before, after) = (self.baseline.received_rate?, self.changed.received_rate?);
        (before.bps() > 0).then(|| after.as_f64() / before.as_f64())
    }
}

/// What to try next.
#[derive(Debug, Clone, PartialEq)]
pub struct NextProbe {
    /// What is done differently.
    pub change: Change,
    /// The test to run.
    pub test: TestSpec,
}

/// The probe that best tells apart what may limit `run`, in at most `left`; `None` when one suspect is left or nothing limits,
/// when no probe says more, or where none can be made.
///
/// `refused` are changes that could not be made here.
pub fn next_probe(run: &Run, left: Duration, refused: &[Change]) -> Option<NextProbe> {
    next_by(Counts::built_in(), run, left, refused)
}

/// [`next_probe`] with these counts of composed scenes in place of the built-in ones.
fn next_by(counts: &Counts, run: &Run, left: Duration, refused: &[Change]) -> Option<NextProbe> {
    let limited = limited(run)?;
    if carried_load::conclude(run, limited, &[]).is_some() {
        return None;
    }
    let suspects = conclusion::weigh(run, limited, counts);
    let mut open = open_probes(run, limited, refused);
    open.retain(|(probe, _)| probe.cost() <= left);
    let (likeliest, weight) = suspects.best();
    let proof = || {
        let change = unproved(run, limited, likeliest)?;
        open.iter().position(|(probe, _)| probe.change() == change)
    };
    let best = if !run.probes.is_empty() && weight >= SURE {
        proof()?
    } else {
        let telling = open.iter().map(|(probe, _)| *probe);
        // One at least: signs alone are not believed, however much they say.
        let first = || (run.probes.is_empty() && !open.is_empty()).then_some(0);
        most_telling(&suspects, counts, telling)
            .or_else(proof)
            .or_else(first)?
    };
    let (probe, test) = open.swap_remove(best);
    Some(NextProbe {
        change: probe.change(),
        test,
    })
}

/// What must be tried before `suspect` is more than likely: what the path does to datagrams is told from what it does to
/// TCP, and loss that comes with a rate from loss by chance, by more of them and by fewer.
fn unproved(run: &Run, limited: &Trial, suspect: Suspect) -> Option<Change> {
    let is_full_link =
        || *suspect == link::CAUSE && line_rate::is_reached(run, shown_by(run, limited));
    if !suspect.is_on_path() || is_full_link() {
        return None;
    }
    let beside = if *suspect == causes::return_path::CAUSE {
        return_path::CHANGE
    } else {
        half_load::CHANGE
    };
    let mut needed = [datagrams::OVERLOAD.change(), beside].into_iter();
    needed.find(|change| !made::spoke(run, limited, *change))
}

/// Any probe that has not been made and can be, whatever it may tell: to learn what is answered.
pub fn any_probe(run: &Run, refused: &[Change]) -> Option<NextProbe> {
    let open = open_probes(run, limited(run)?, refused);
    open.into_iter().next().map(|(probe, test)| NextProbe {
        change: probe.change(),
        test,
    })
}

/// The probes that can be made and have not said anything yet, with their tests.
fn open_probes(
    run: &Run,
    limited: &Trial,
    refused: &[Change],
) -> Vec<(&'static dyn Probe, TestSpec)> {
    let open = |probe: &&'static dyn Probe| {
        let change = probe.change();
        let baseline = reference(run, limited, change)?;
        let mut made = run.probes.iter().filter(|made| made.change == change);
        let is_over = refused.contains(&change)
            || made::spoke(run, limited, change)
            || made.clone().count() >= MOST_TRIES
            // The same again would have no more effect.
            || made.any(|made| took_effect(change, baseline, &made.trial).is_err());
        let test = probe.test(run, baseline).ok()?;
        (!is_over).then_some((*probe, test))
    };
    probes(limited.transport).iter().filter_map(open).collect()
}

/// A probe that says nothing, since the host had no time for it, is made once more.
const MOST_TRIES: usize = 2;

/// The trial whose rate is to be explained; `None` also where the run has a verdict that explains it.
fn limited(run: &Run) -> Option<&Trial> {
    candidate(run).filter(|_| !run.verdict.as_ref().is_some_and(is_whole_story))
}

/// The trial that probes can explain, if `run` has one: traffic in one direction, measured by
/// linerate itself. Of several trials of datagrams it is the one of which most arrived; of a
/// search, of those up to the bound that it found: what it looked for is what keeps the next higher load from meeting
/// its goal, which may be far below what arrives at most.
fn candidate(run: &Run) -> Option<&Trial> {
    let asked = crate::experiment::repeatable(run).ok()?;
    let mut trials = run.trials.iter().filter(|trial| {
        let moved = trial.received_rate.is_some_and(|rate| rate.bps() > 0);
        moved && trial.valid && trial.direction == asked.direction
    });
    match asked.transport() {
        Transport::Tcp => trials.next().filter(|_| run.trials.len() == 1),
        Transport::Udp => {
            let bound = upper_load(run);
            let within = |trial: &&Trial| bound.is_none() || trial.intended_load <= bound;
            trials
                .filter(within)
                .max_by_key(|trial| trial.received_rate)
        }
    }
}

/// The trial that a probe with `change` is compared with.
///
/// Datagrams under overload may arrive more slowly than at the load that carries most, so a change is compared with a
/// trial at the same load: the first probe.
fn reference<'a>(run: &'a Run, limited: &'a Trial, change: Change) -> Option<&'a Trial> {
    if limited.transport == Transport::Tcp || matches!(change, Change::Datagrams { .. }) {
        return Some(limited);
    }
    last_of(run, datagrams::OVERLOAD.change())
}

/// The trial that shows what limits: of a search the one that bounds it from above, since what is carried whole shows no
/// limit.
fn shown_by<'a>(run: &'a Run, limited: &'a Trial) -> &'a Trial {
    overloaded(run, limited).unwrap_or(limited)
}

/// Of a search: the trial that bounds it from above, of several the one that lost most, and where they lost alike the one
/// that sent most: a sender that fell short of what it sent in another was interrupted, which tells nothing of a limit.
/// What loads far above it meet is what would limit next.
fn overloaded<'a>(run: &'a Run, limited: &Trial) -> Option<&'a Trial> {
    let bound = upper_load(run)?;
    let beyond = run.trials.iter().filter(|trial| {
        let is_beyond = trial.intended_load.is_some_and(|load| load >= bound);
        trial.valid && is_beyond && trial.direction == limited.direction
    });
    let loss = |trial: &Trial| trial.loss_ratio().map_or(0.0, Ratio::get);
    beyond.min_by(|a, b| {
        let loads = a.intended_load.cmp(&b.intended_load);
        loads
            .then(loss(b).total_cmp(&loss(a)))
            .then(b.offered_load.cmp(&a.offered_load))
    })
}

/// The lowest intended load of a search that was refused, of several goals the one of the highest. Its bound is what was
/// offered there, which may be less.
fn upper_load(run: &Run) -> Option<BitRate> {
    let bound = run
        .goals()
        .iter()
        .filter_map(|goal| goal.upper_bound)
        .max()?;
    let intended = run.trials.iter().filter_map(|trial| trial.intended_load);
    intended.filter(|load| *load >= bound).min()
}

/// The last valid trial of the probe with this change.
fn last_of(run: &Run, change: Change) -> Option<&Trial> {
    let mut made = run.probes.iter().rev();
    let last = made.find(|made| made.change == change && made.trial.valid);
    last.map(|made| &made.trial)
}

/// The probe, by its position, that tells `suspects` apart best per second; `None` if none is worth it.
fn most_telling<'a>(
    suspects: &Suspects,
    counts: &Counts,
    probes: impl Iterator<Item = &'a dyn Probe>,
) -> Option<usize> {
    let gain = |probe: &dyn Probe| {
        expected_information(probe, counts, suspects) / probe.cost().as_secs_f64()
    };
    probes
        .map(gain)
        .enumerate()
        .filter(|(_, gain)| *gain >= LEAST_GAIN)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(position, _)| position)
}

/// By how many bits the answer is expected to shrink the uncertainty over `suspects`.
fn expected_information(probe: &dyn Probe, counts: &Counts, suspects: &Suspects) -> f64 {
    let table = Likelihoods::of(suspects.transport, probe.id(), counts);
    let power = LikelihoodData::built_in().power();
    let after = |answer: usize| {
        let (mut updated, chance) = (suspects.clone(), suspects.chance(&table, answer));
        updated.update(&table, &[answer], power);
        chance * updated.entropy()
    };
    suspects.entropy() - (0..probe.classes().len()).map(after).sum::<f64>()
}
