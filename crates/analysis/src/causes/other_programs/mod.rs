//! Other programs: what a traffic thread lacked of its host's CPU, they took.

use super::evidence::Evidence;
use super::{
    Cause, device, receiver_app, receiver_cpu, receiver_socket, sender_app, sender_cpu, tool,
    undecided, words,
};
use crate::readings::{
    are_apart, device_cores, is_duplex, others_share, throttled_share, used_share,
};
use crate::thresholds::contention::{FULL, TAKEN};
use crate::thresholds::cpu::{HOT, LEAST_WAIT, THROTTLED};
use crate::thresholds::exclusion::LEAST_GAIN;
use crate::thresholds::others::{LEAST_CORES, SAID};
use crate::thresholds::thread::LATE;
use linerate_model::Ratio;
use linerate_model::run::{Confidence, CpuSide, Experiment, Run, Trial, Verdict};
use linerate_model::spec::{Direction, Side};

/// Programs that have nothing to do with the test use the cores that it needs.
pub(crate) static CAUSE: Cause = Cause {
    id: "other-programs",
    name: "other programs on the host",
    subject: "other programs",
    summary: "A traffic thread waited for a core, and other programs used as much.",
    ..Cause::BASE
};

/// Of a verdict that blames a CPU, a sender that did not send more, or the socket before a reader, says that other programs
/// are why, where they took what the thread waited for.
pub(crate) fn apply(run: &Run, direction: Direction, verdict: &mut Verdict) {
    // An emulator, and the link of a demonstration, are programs too, and no others.
    if run.has_emulated_link() {
        return;
    }
    let evidence = Evidence::new(run, direction, &[]);
    if let Some((side, judge)) = suspect(verdict) {
        if let Some(held_up) = HeldUp::from_evidence(run, &evidence, side) {
            judge(&held_up, verdict);
        } else if let Some(used) = unseen(run, &evidence, side) {
            let seen = format!(
                "Other programs used {} of the {}'s host, and may run beside the {side}, which tells nothing of its thread.",
                words::percent(used),
                side.other().as_str(),
                side = side.as_str(),
            );
            doubt(verdict, seen);
        }
    }
}

/// Leaves it open whether the device under test limits where other programs left it hardly any CPU time, unless an experiment
/// confirmed it.
///
/// Of a device whose own threads are not known, those may be the other programs.
pub(crate) fn doubt_device(run: &Run, direction: Direction, verdict: &mut Verdict) {
    if verdict.limit != device::CAUSE.limit() || run.has_emulated_link() {
        return;
    }
    let evidence = Evidence::new(run, direction, &[]);
    let is_known = evidence.mean(device_cores).is_some();
    if is_known && taken_of_full(&evidence, Side::Sender).is_some() {
        let seen = "Other programs left the device hardly any CPU time of this host.";
        doubt(verdict, seen.to_owned());
    }
}

/// Says first what other programs used of the hosts, if it was much.
pub(crate) fn mention(run: &Run, direction: Direction, verdict: &mut Verdict) {
    if run.has_emulated_link() {
        return;
    }
    let evidence = Evidence::new(run, direction, &[]);
    // Of one host that both ends see one figure is said.
    let is_named = verdict.limit == CAUSE.limit();
    match used(run, &evidence, verdict.side.filter(|_| is_named)) {
        // Round trips are the answer themselves: what they were measured beside belongs to it.
        Some(line) if verdict.limit.is_round_trip() => {
            verdict.claim.push(' ');
            verdict.claim.push_str(&line);
        }
        Some(line) => verdict.evidence.insert(0, line),
        None => {}
    }
}

/// Puts a thread that was held up into a verdict.
type Judge = fn(&HeldUp, &mut Verdict);

/// The host whose programs may be behind what a verdict blames, and how that is judged.
fn suspect(verdict: &Verdict) -> Option<(Side, Judge)> {
    let judges: [(&Cause, Judge); 6] = [
        (&sender_cpu::CAUSE, HeldUp::judge),
        (&receiver_cpu::CAUSE, HeldUp::judge),
        (&tool::CAUSE, HeldUp::judge),
        (&sender_app::CAUSE, HeldUp::judge_application),
        (&receiver_app::CAUSE, HeldUp::judge_application),
        (&receiver_socket::CAUSE, HeldUp::judge_socket),
    ];
    let mut judges = judges.into_iter();
    let (cause, judge) = judges.find(|(cause, _)| verdict.limit == cause.limit())?;
    Some((verdict.side.or(cause.side)?, judge))
}

/// Share of all cores that other programs took, where they left hardly any to `side`'s thread, if it runs on the host of the
/// other end, which alone tells; `None` also where its own waits are known.
fn unseen(run: &Run, evidence: &Evidence<'_>, side: Side) -> Option<f64> {
    let told = |trial: &Trial| trial.cpu_of(side)?.run_delay_ratio;
    if evidence.mean(|trial| told(trial).map(Ratio::get)).is_some() {
        return None;
    }
    let is_apart = evidence.trials().iter().any(|trial| are_apart(run, trial));
    taken_of_full(evidence, side.other()).filter(|_| !is_apart)
}

/// Share of all cores of `side`'s host that other programs took, where they left hardly any.
fn taken_of_full(evidence: &Evidence<'_>, side: Side) -> Option<f64> {
    let taken = evidence.mean(|trial| others_share(trial, side))?;
    let busy = evidence.mean(|trial| used_share(trial.cpu_of(side)?))?;
    (busy >= FULL && taken >= TAKEN).then_some(taken)
}

/// What other programs used, where it is much of a host: of `named`'s, or the one of which they used more.
fn used(run: &Run, evidence: &Evidence<'_>, named: Option<Side>) -> Option<String> {
    // Of one host that both see the sender's figures are taken.
    let shares = [Side::Receiver, Side::Sender].map(|side| {
        let share = evidence.mean(|trial| others(run, trial, side))?;
        let is_told = named.is_none_or(|named| named == side);
        Some((side, share)).filter(|(_, share)| is_told && *share >= SAID)
    });
    let most = shares
        .into_iter()
        .flatten()
        .max_by(|a, b| a.1.total_cmp(&b.1));
    most.map(|(side, share)| {
        let host = side.as_str();
        format!(
            "Other programs used {} of the {host}'s host.",
            words::percent(share)
        )
    })
}

/// Share of all cores that programs took which are neither end of the test; `None` where that is not known.
fn others(run: &Run, trial: &Trial, side: Side) -> Option<f64> {
    let is_known = |side| {
        trial
            .cpu_of(side)
            .is_some_and(|cpu: &CpuSide| cpu.thread_cores.is_some())
    };
    // The other end may be one of those that run here.
    let is_told = is_known(side) && (is_known(side.other()) || are_apart(run, trial));
    let share = others_share(trial, side).filter(|_| is_told)?;
    Some(share - other_ways_share(run, trial, side))
}

/// Share of all cores of `side`'s host that the traffic threads of the other way of a test both ways took.
fn other_ways_share(run: &Run, trial: &Trial, side: Side) -> f64 {
    let is_duplex = is_duplex(run);
    let cores = trial.cpu_of(side).map_or(0, |cpu| cpu.cores.len());
    let cores = u32::try_from(cores).map_or(1.0, f64::from).max(1.0);
    // Who sends on this host one way receives on it the other.
    let here = [Some(side.other()), (!are_apart(run, trial)).then_some(side)];
    let others = run
        .trials
        .iter()
        .filter(|other| is_duplex && other.direction != trial.direction);
    let threads = others.flat_map(|other| {
        let here = here.into_iter().flatten();
        here.filter_map(|side| other.cpu_of(side)?.thread_cores)
    });
    threads.sum::<f64>() / cores
}

/// A traffic thread that other programs kept from running.
struct HeldUp {
    side: Side,
    /// Shares of the time that it ran and waited for a core.
    ran: f64,
    waited: f64,
    /// Who used its host.
    others: Others,
    /// Whether its host told nothing of a CPU quota, which makes a thread wait too.
    is_quota_unknown: bool,
}

/// Who used a host beside a traffic thread, with the share of all its cores.
#[derive(Debug, Clone, Copy)]
enum Others {
    /// Programs that are neither end of the test.
    Programs(f64),
    /// These and perhaps the far end, which does not tell whether it runs here; they took more than it can.
    BesideFarEnd(f64),
    /// These, or the far end alone.
    OrFarEnd(f64),
}

impl HeldUp {
    /// `None` where the thread lacks nothing that others have, and where they may be a quota's or a hypervisor's doing.
    fn from_evidence(run: &Run, evidence: &Evidence<'_>, side: Side) -> Option<Self> {
        let share = |part: fn(&CpuSide) -> Option<Ratio>| {
            evidence.mean(|trial| Some(part(trial.cpu_of(side)?)?.get()))
        };
        let ran = share(|cpu| cpu.thread_ratio)?;
        let waited = share(|cpu| cpu.run_delay_ratio)?;
        let stopped = evidence.mean(|trial| throttled_share(trial, side));
        let told = evidence.mean(|trial| others(run, trial, side));
        let used = told.or_else(|| evidence.mean(|trial| others_share(trial, side)))?;
        let cores = evidence.mean(|trial| {
            let count = trial.cpu_of(side)?.cores.len();
            u32::try_from(count).ok().map(f64::from)
        })?;
        let least = waited.max(LEAST_CORES);
        let is_by_others = used * cores >= least;
        // Each stream of a far end that may run here keeps one core busy at most.
        let far_end = evidence.mean(|trial| Some(trial.streams.map_or(1.0, f64::from)));
        let far_end = far_end? * if is_duplex(run) { 2.0 } else { 1.0 };
        let is_beyond = used * cores - far_end >= least;
        let others = match told {
            Some(used) => Others::Programs(used),
            None if is_beyond => Others::BesideFarEnd(used),
            None => Others::OrFarEnd(used),
        };
        let would_gain = waited >= LEAST_WAIT.max(ran * (LEAST_GAIN - 1.0)) && ran < HOT;
        let is_stopped = stopped.is_some_and(|stopped| stopped >= THROTTLED);
        let is_stolen = share(|cpu| cpu.steal_ratio).is_some_and(|stolen| stolen >= waited);
        (is_by_others && would_gain && !is_stopped && !is_stolen).then_some(Self {
            side,
            ran,
            waited,
            others,
            is_quota_unknown: stopped.is_none(),
        })
    }

    fn judge(&self, verdict: &mut Verdict) {
        match self.others {
            Others::Programs(used) => self.name(verdict, used),
            Others::BesideFarEnd(used) => {
                self.name(verdict, used);
                weaken(verdict);
            }
            Others::OrFarEnd(used) => self.doubt(verdict, used),
        }
    }

    /// An application that is kept from running gives nothing either.
    fn judge_application(&self, verdict: &mut Verdict) {
        weaken(verdict);
        self.judge(verdict);
    }

    /// A socket fills while its reader waits for a core: whether more room would hold what comes meanwhile, or a free core
    /// is wanted, a full socket does not tell.
    fn judge_socket(&self, verdict: &mut Verdict) {
        weaken(verdict);
        match self.others {
            Others::Programs(used) if self.waited >= LATE => {
                let full = "Datagrams were lost at the receiver's socket, whose buffer was full.";
                verdict.evidence.insert(0, full.to_owned());
                self.name(verdict, used);
            }
            Others::Programs(used) | Others::BesideFarEnd(used) | Others::OrFarEnd(used) => {
                self.doubt(verdict, used);
            }
        }
    }

    /// What kept the thread from running is not known, or may have been too little to matter: no verdict but an experiment's
    /// tells it from what the verdict blames.
    fn doubt(&self, verdict: &mut Verdict, used: f64) {
        let side = self.side.as_str();
        let or_far_end = match self.others {
            Others::Programs(_) => String::new(),
            Others::BesideFarEnd(_) | Others::OrFarEnd(_) => {
                format!(", or the far end if it runs on the {side}'s host,")
            }
        };
        let waited = format!(
            "The {side}'s traffic thread waited for a core {} of the time while other programs{or_far_end} used {} of the {side}'s host.",
            words::percent(self.waited),
            words::percent(used)
        );
        doubt(verdict, waited);
    }

    fn name(&self, verdict: &mut Verdict, used: f64) {
        let side = self.side.as_str();
        let claim = format!(
            "Other programs limit: they used {} of the {side}'s host, and the {side}'s traffic thread waited for a core {} of the time (it ran {}).",
            words::percent(used),
            words::percent(self.waited),
            words::percent(self.ran)
        );
        verdict.claim = claim;
        if self.is_quota_unknown {
            weaken(verdict);
            verdict.evidence.push(format!(
                "Whether a CPU quota stopped the {side}'s thread is not known: its control group could not be read."
            ));
        }
        verdict.limit = CAUSE.limit();
        // What would show the blamed cause, such as another load, says nothing of other programs: only what was tried stays.
        let was_tried = |found: &Experiment| found.result.is_some() || found.not_run.is_some();
        if !verdict.experiment.as_deref().is_some_and(was_tried) {
            verdict.experiment = Some(Box::new(Experiment::in_words(
                format!(
                    "stop the other programs on the {side}'s host, or leave its traffic thread a core of its own"
                ),
                "the rate grows as the thread no longer waits",
            )));
        }
    }
}

/// Leaves it open whether what a verdict blames limits, or other programs, unless an experiment confirmed it.
fn doubt(verdict: &mut Verdict, seen: String) {
    verdict.evidence.insert(0, seen);
    if verdict.confidence == Confidence::Confirmed {
        return;
    }
    let name = verdict.limit.name();
    let claim = format!("Bottleneck not identified: most likely {name}, or else other programs.");
    let mut evidence = std::mem::take(&mut verdict.evidence);
    evidence.insert(1, std::mem::take(&mut verdict.claim));
    *verdict = undecided(claim, evidence);
}

/// Makes a verdict that no experiment confirmed weak.
fn weaken(verdict: &mut Verdict) {
    if verdict.confidence == Confidence::Supported {
        verdict.confidence = Confidence::Weak;
    }
}

#[cfg(test)]
mod tests;
