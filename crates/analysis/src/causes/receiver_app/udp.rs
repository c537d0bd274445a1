//! Datagrams: the queue at the socket never runs empty.

use super::CAUSE;
use crate::causes::evidence::{Cpu, Evidence, LossPlaces, Need, Reader};
use crate::causes::{Case, RuleOutcome, clear, not_recorded, place, proof, words};
use crate::thresholds::reader::RESTS;
use linerate_model::ByteCount;
use linerate_model::run::{Change, Confidence, Place, Prediction, Quantity};
use linerate_model::spec::Side;

/// A buffer smaller than this is no ordinary one: a quarter of what Linux gives by default (208 KiB),
/// some twenty full frames. Whatever stands before it, the buffer is the first thing to change.
const ORDINARY_BUFFER: ByteCount = ByteCount::new(52 * 1024);

pub(super) fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    place::examine(evidence, Place::ReceiverSocket, |placed, share| {
        queued(evidence, placed, share)
    })
}

/// Whether the queue at the socket, where `share` was lost, is the application's doing.
fn queued(evidence: &Evidence<'_>, placed: &LossPlaces, share: f64) -> RuleOutcome {
    let reader = Reader::from_evidence(evidence);
    match reader.stands {
        None => return not_recorded(&[Need::DelayFloor]),
        Some(false) => {
            return clear(format!(
                "the reader emptied its socket in between: the smallest delay fell to {}",
                words::time(reader.always.unwrap_or(0.0))
            ));
        }
        Some(true) => {}
    }
    let Some((cpu, runnable)) = Cpu::of_side(evidence, Side::Receiver).zip(reader.runnable) else {
        return not_recorded(&[Need::ReceiverCpu]);
    };
    if runnable >= RESTS || reader.is_held_up(&cpu) {
        return clear(cpu.figures().join(" "));
    }
    let rate = evidence.mean_rate(|trial| trial.received_rate);
    let mut figures = reader.figures();
    let mut confidence = Confidence::Supported;
    if let Some(buffer) = evidence.receive_buffer().filter(|b| *b < ORDINARY_BUFFER) {
        confidence = Confidence::Weak;
        figures.push(format!(
            "The receive buffer held only {buffer}, too little to tell a slow application from one that pauses: an experiment with a larger one would."
        ));
    }
    CAUSE.found(Case {
        share: Some(share),
        confidence,
        claim: format!(
            "The receiver's application limits: it took {} of L4 payload and rested {} of the time while a queue of at least {} always stood before it, and {} were dropped there.",
            words::rate(rate),
            words::percent(1.0 - runnable),
            words::time(reader.always.unwrap_or(0.0)),
            placed.figure(&[Place::ReceiverSocket])
        ),
        evidence: figures,
        // A buffer too small for the reader's pauses would lose less when it is larger. (The lab waits
        // until the buffer is full before it counts.)
        experiment: proof(
            Change::ReceiveBuffer { factor: 2.0 },
            [
                Prediction::within(Quantity::ReceivedRate, 0.85, 1.15),
                Prediction::at_least(Quantity::LossRatio, 0.8),
            ],
        ),
    })
}
