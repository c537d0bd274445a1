//! Other programs: what a traffic thread lacked of its host's CPU, they took.

use super::evidence::Evidence;
use super::{Cause, receiver_cpu, receiver_socket, sender_app, sender_cpu, tool, words};
use crate::readings::{are_apart, others_share, throttled_share};
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

/// Says first what other programs used of the hosts, if it was much; and of a verdict that blames a CPU, a sender that did
/// not send more, or the socket before a reader, that they are why, where they took what the thread waited for.
pub(crate) fn apply(run: &Run, direction: Direction, verdict: &mut Verdict) {
    // An emulator, and the link of a demonstration, are programs too, and no others.
    if run.has_emulated_link() {
        return;
    }
    let evidence = Evidence::new(run, direction, &[]);
    if let Some((side, judge)) = suspect(verdict)
        && let Some(held_up) = HeldUp::from_evidence(run, &evidence, side)
    {
        judge(&held_up, verdict);
    }
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
    let is = |cause: &Cause| verdict.limit == cause.limit();
    if is(&sender_cpu::CAUSE) || is(&tool::CAUSE) && verdict.side == Some(Side::Sender) {
        Some((Side::Sender, HeldUp::judge))
    } else if is(&sender_app::CAUSE) {
        Some((Side::Sender, HeldUp::judge_application))
    } else if is(&receiver_cpu::CAUSE) {
        Some((Side::Receiver, HeldUp::judge))
    } else if is(&receiver_socket::CAUSE) {
        Some((Side::Receiver, HeldUp::judge_socket))
    } else {
        None
    }
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
    let is_duplex = run
        .config
        .test()
        .is_some_and(|test| test.direction == Direction::Duplex);
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
    /// These, or the far end, which does not tell whether it runs here.
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
        let others = told.map_or(Others::OrFarEnd(used), Others::Programs);
        let cores = evidence.mean(|trial| {
            let count = trial.cpu_of(side)?.cores.len();
            u32::try_from(count).ok().map(f64::from)
        })?;
        let is_by_others = used * cores >= waited.max(LEAST_CORES);
        let would_gain = waited >= LEAST_WAIT.max(ran * (LEAST_GAIN - 1.0)) && ran < HOT;
        let is_stopped = stopped.is_some_and(|stopped| stopped >= THROTTLED);
        (is_by_others && would_gain && !is_stopped).then_some(Self {
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
            Others::Programs(used) | Others::OrFarEnd(used) => self.doubt(verdict, used),
        }
    }

    /// What kept the thread from running is not known, or may have been too little to matter.
    fn doubt(&self, verdict: &mut Verdict, used: f64) {
        let side = self.side.as_str();
        let whose = match self.others {
            Others::Programs(_) => String::new(),
            Others::OrFarEnd(_) => format!(", or the far end if it runs on the {side}'s host,"),
        };
        weaken(verdict);
        verdict.evidence.insert(
            0,
            format!(
                "The {side}'s traffic thread waited for a core {} of the time while other programs{whose} used {} of the {side}'s host.",
                words::percent(self.waited),
                words::percent(used)
            ),
        );
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
        let can_be_run = |found: &Experiment| found.test.is_some() || found.result.is_some();
        if !verdict.experiment.as_deref().is_some_and(can_be_run) {
            verdict.experiment = Some(Box::new(Experiment::in_words(
                format!(
                    "stop the other programs on the {side}'s host, or leave its traffic thread a core of its own"
                ),
                "the rate grows as the thread no longer waits",
            )));
        }
    }
}

/// Makes a verdict that no experiment confirmed weak.
fn weaken(verdict: &mut Verdict) {
    if verdict.confidence == Confidence::Supported {
        verdict.confidence = Confidence::Weak;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes;
    use linerate_model::run::Run;
    use linerate_model::spec::TestSpec;
    use serde_json::json;

    /// Share that others took of two cores, of which so much was busy, by a test both ways whose four threads took 0.4 each.
    fn taken(busy: f64) -> f64 {
        let side = json!({
            "host_ratio": busy, "softirq_ratio": 0.0, "cores": [busy, busy], "thread_cores": 0.4, "thread_ratio": 0.4
        });
        let one = |direction: &str| {
            json!({
                "index": 0, "transport": "tcp", "direction": direction, "valid": true, "work": "byte-stream",
                "origin": "measured", "received_bps": 900_000_000, "duration_s": 1.0,
                "cpu": {"sender": side, "receiver": side}
            })
        };
        let test = TestSpec {
            direction: Direction::Duplex,
            ..TestSpec::tcp_bulk()
        };
        let run: Run = serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {"asked": {"kind": "test", "test": test}},
            "trials": [one("forward"), one("reverse")]
        }))
        .unwrap();
        others(&run, &run.trials[0], Side::Sender).unwrap()
    }

    #[test]
    fn the_other_way_of_a_test_is_no_other_program() {
        assert!(taken(0.8).abs() < 1e-9);
        assert!((taken(1.0) - 0.2).abs() < 1e-9);
    }

    /// How sure it is that a sender's CPU limits which ran a tenth of the time and waited for a core for `waited` of it, beside
    /// what filled its host, where the far end tells nothing of itself.
    fn beside_a_silent_far_end(waited: f64) -> (String, Confidence) {
        let side = json!({
            "host_ratio": 1.0, "softirq_ratio": 0.0, "cores": [1.0, 1.0], "thread_cores": 0.1, "thread_ratio": 0.1,
            "run_delay_ratio": waited
        });
        let trial = json!({
            "index": 0, "transport": "tcp", "direction": "forward", "valid": true, "work": "byte-stream",
            "origin": "measured", "received_bps": 900_000_000, "duration_s": 1.0, "cpu": {"sender": side}
        });
        let run: Run = serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {"asked": {"kind": "test", "test": TestSpec::tcp_bulk()}},
            "trials": [trial]
        }))
        .unwrap();
        let mut verdict = Verdict {
            limit: sender_cpu::CAUSE.limit(),
            confidence: Confidence::Supported,
            ..causes::undecided(String::new(), Vec::new())
        };
        apply(&run, Direction::Forward, &mut verdict);
        (verdict.limit.id().to_owned(), verdict.confidence)
    }

    /// What becomes of a verdict on `cause` where other programs took what the sender waited for, beside these counters.
    fn beside_a_niced_build(
        cause: &'static Cause,
        counters: &serde_json::Value,
    ) -> (String, Confidence) {
        let side = json!({
            "host_ratio": 0.36, "niced_ratio": 0.62, "softirq_ratio": 0.01, "cores": [0.4, 0.3], "thread_cores": 0.06,
            "thread_ratio": 0.06, "run_delay_ratio": 0.12
        });
        let trial = json!({
            "index": 0, "transport": "tcp", "direction": "forward", "valid": true, "work": "byte-stream",
            "origin": "measured", "received_bps": 17_900_000, "duration_s": 1.0,
            "cpu": {"sender": side, "receiver": side}, "counters": {"sender": counters, "receiver": {}}
        });
        let run: Run = serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {}, "trials": [trial]
        }))
        .unwrap();
        let mut verdict = Verdict {
            limit: cause.limit(),
            side: cause.side,
            confidence: Confidence::Supported,
            ..causes::undecided(String::new(), Vec::new())
        };
        apply(&run, Direction::Forward, &mut verdict);
        (verdict.limit.id().to_owned(), verdict.confidence)
    }

    #[test]
    fn a_quota_that_cannot_be_read_may_be_why_a_thread_waited() {
        let said = |confidence| ("other-programs".to_owned(), confidence);
        let no_quota = json!({"cgroup.throttled_ns": 0});
        let known = beside_a_niced_build(&sender_cpu::CAUSE, &no_quota);
        assert_eq!(known, said(Confidence::Supported));
        let unknown = beside_a_niced_build(&sender_cpu::CAUSE, &json!({}));
        assert_eq!(unknown, said(Confidence::Weak));
    }

    #[test]
    fn an_application_that_others_keep_from_running_is_not_slow() {
        let no_quota = json!({"cgroup.throttled_ns": 0});
        let app = beside_a_niced_build(&sender_app::CAUSE, &no_quota);
        assert_eq!(app, ("other-programs".to_owned(), Confidence::Weak));
    }

    /// What is said of a receiver's full socket whose reader waited for a core for `waited` of the time beside others.
    fn before_a_late_reader(waited: f64) -> (String, Confidence) {
        let side = |waited: f64| {
            json!({
                "host_ratio": 0.4, "niced_ratio": 0.55, "softirq_ratio": 0.05, "cores": [0.4, 0.4], "thread_cores": 0.1,
                "thread_ratio": 0.1, "run_delay_ratio": waited
            })
        };
        let trial = json!({
            "index": 0, "transport": "udp", "direction": "forward", "valid": true, "work": "datagrams",
            "origin": "measured", "received_bps": 300_000_000, "duration_s": 1.0,
            "cpu": {"sender": side(0.0), "receiver": side(waited)}
        });
        let run: Run = serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "udp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {}, "trials": [trial]
        }))
        .unwrap();
        let mut verdict = Verdict {
            limit: receiver_socket::CAUSE.limit(),
            confidence: Confidence::Supported,
            ..causes::undecided(String::new(), Vec::new())
        };
        apply(&run, Direction::Forward, &mut verdict);
        (verdict.limit.id().to_owned(), verdict.confidence)
    }

    #[test]
    fn a_full_socket_before_a_reader_that_others_delay_is_shown_by_nothing() {
        let said = |limit: &str, confidence| (limit.to_owned(), confidence);
        let socket = "receiver-socket";
        assert_eq!(
            before_a_late_reader(0.3),
            said("other-programs", Confidence::Weak)
        );
        assert_eq!(before_a_late_reader(0.05), said(socket, Confidence::Weak));
        assert_eq!(
            before_a_late_reader(0.0),
            said(socket, Confidence::Supported)
        );
    }

    #[test]
    fn what_may_be_the_far_ends_use_of_a_host_makes_a_verdict_on_its_cpu_weak() {
        let said = |confidence| ("sender-cpu".to_owned(), confidence);
        assert_eq!(beside_a_silent_far_end(0.8), said(Confidence::Weak));
        assert_eq!(beside_a_silent_far_end(0.0), said(Confidence::Supported));
    }
}
