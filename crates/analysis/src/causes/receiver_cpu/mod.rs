//! The receiver's CPU: the receiving host could not take packets fast enough.

use super::evidence::{Cpu, Evidence, LossPlaces, Need, Reader, Regime, receiver_window_share};
use super::overload_cpu::requests;
use super::sender_cpu::not_busy;
use super::{Case, Cause, clear, not_recorded, proof, proof_from, words};
use crate::thresholds::tcp::LEAST_SHARE;
use linerate_model::run::{
    Baseline, Change, Confidence, Experiment, Place, Prediction, Quantity, RuleOutcome,
};
use linerate_model::spec::Side;

/// Places that the traffic thread empties.
const THREAD_SERVES: &[Place] = &[Place::ReceiverSocket];
/// Places that soft interrupts empty.
const SOFTIRQ_SERVES: &[Place] = &[Place::ReceiverNic, Place::ReceiverBacklog];

/// Packets were lost, or the window closed, because the receiver had no CPU time left.
pub(crate) static CAUSE: Cause = Cause {
    id: "receiver-cpu",
    name: "the receiver's CPU",
    side: Some(Side::Receiver),
    subject: "the receiver's CPU",
    summary: "Packets were dropped in the receiver, or its window was closed, while its thread or a soft interrupt used a whole core.",
    needs: &[Need::ReceiverCpu, Need::Ledger],
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return requests(&CAUSE, evidence, Side::Receiver);
    }
    match evidence.regime() {
        Regime::Nothing => return clear("everything that was offered arrived"),
        Regime::Sender => {
            return clear(
                "the sender offered less than intended before the receiver lost anything",
            );
        }
        Regime::Loss | Regime::Unpaced => {}
    }
    let Some(cpu) = Cpu::of_side(evidence, Side::Receiver) else {
        return not_recorded(&[Need::ReceiverCpu]);
    };
    let held_up = if evidence.is_tcp() {
        cpu.is_hot() || cpu.holds_up()
    } else {
        Reader::from_evidence(evidence).is_held_up(&cpu)
    };
    if !held_up {
        return not_busy(&cpu);
    }
    if evidence.is_tcp() {
        tcp(evidence, &cpu)
    } else {
        datagrams(evidence, &cpu)
    }
}

fn datagrams(evidence: &Evidence<'_>, cpu: &Cpu) -> RuleOutcome {
    let Some(placed) = LossPlaces::from_evidence(evidence) else {
        return not_recorded(&[Need::Ledger]);
    };
    let softirq = cpu.softirq_is_hot();
    let mut waiting = Vec::new();
    // The reader is held up: by soft interrupts, or else by its own thread.
    if cpu.thread_is_hot() || !softirq {
        waiting.extend_from_slice(THREAD_SERVES);
    }
    if softirq {
        waiting.extend_from_slice(SOFTIRQ_SERVES);
    }
    let share = placed.share(&waiting);
    if share < 0.1 {
        return clear(format!(
            "only {} were lost in the receiver",
            placed.figure(&waiting)
        ));
    }
    let claim = format!(
        "The receiver's CPU limits: {} were lost waiting for it, and {}.",
        placed.figure(&waiting),
        cpu.reason()
    );
    let experiment = less_work(cpu, evidence);
    found(cpu, share, claim, Confidence::Supported, experiment)
}

fn tcp(evidence: &Evidence<'_>, cpu: &Cpu) -> RuleOutcome {
    let window = receiver_window_share(evidence);
    let rate = evidence.mean_rate(|trial| trial.received_rate);
    let claim = format!(
        "The receiver's CPU limits at {} of L4 payload: {}.",
        words::rate(rate),
        cpu.reason()
    );
    // A busy receiver that never closes its window only just keeps up: it may or may not be the limit.
    let stopped = if cpu.holds_up() {
        cpu.pressure().max(cpu.throttled)
    } else {
        cpu.throttled
    };
    let shut = window.filter(|window| *window >= LEAST_SHARE);
    let sure = shut.is_some() || stopped >= 0.5;
    let (share, confidence) = if sure {
        (shut.unwrap_or(0.0).max(stopped), Confidence::Supported)
    } else {
        (0.5, Confidence::Weak)
    };
    found(cpu, share, claim, confidence, another_core(cpu))
}

/// A thread that uses its core has less to do where its system hands it many datagrams as one: as many
/// cross the wire, and a link or a policer loses as many as before. Soft interrupts take each by itself
/// whatever is made of them later; but they take packets, not bytes: twice as many packets of half the
/// size, and about as many per second get through as before. Through a link or a policer nearly twice as
/// many do. A thread that waits for its core, rather than uses it, keeps up on another. One that a quota
/// stops is away for most of each period: if it makes up for that when it is back, room for what came
/// meanwhile ends the loss, and the buffer was the limit; if not, a full buffer loses as much whatever
/// its size.
fn less_work(cpu: &Cpu, evidence: &Evidence<'_>) -> Experiment {
    if cpu.is_throttled() {
        return proof(
            Change::ReceiveBuffer { factor: 8.0 },
            [Prediction::at_least(Quantity::LossRatio, 0.6)],
        );
    }
    if cpu.is_starved() && cpu.mostly_waits() {
        return proof(
            Change::OtherCore {
                side: Side::Receiver,
            },
            [Prediction::at_most(Quantity::LossRatio, 0.5)],
        );
    }
    if !cpu.softirq_is_hot() && evidence.receiver_can_aggregate() {
        return proof_from(
            Baseline::FarAboveBound,
            Change::Aggregation { on: true },
            [Prediction::at_most(Quantity::LossRatio, 0.5)],
        );
    }
    proof(
        Change::Payload { factor: 0.5 },
        [Prediction::at_most(Quantity::ReceivedPacketRate, 1.3)],
    )
}

/// A stream of bytes has no packets to halve; a thread that waits for its core runs freely on another.
fn another_core(cpu: &Cpu) -> Experiment {
    if cpu.is_starved() {
        return proof(
            Change::OtherCore {
                side: Side::Receiver,
            },
            [Prediction::at_least(Quantity::ReceivedRate, 1.2)],
        );
    }
    Experiment::in_words(
        "receive with a faster core, or spread the traffic over more flows and cores",
        "the received rate grows",
    )
}

fn found(
    cpu: &Cpu,
    share: f64,
    claim: String,
    confidence: Confidence,
    experiment: Experiment,
) -> RuleOutcome {
    CAUSE.found(Case {
        share: Some(share),
        confidence,
        claim,
        evidence: cpu.figures(),
        experiment,
    })
}
