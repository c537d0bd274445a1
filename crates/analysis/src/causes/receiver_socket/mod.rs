//! The receiver's socket: packets arrived and found the socket's buffer full.

use super::evidence::{Cpu, Evidence, Need, Reader};
use super::{Case, Cause, RuleOutcome, place, proof};
use linerate_model::run::{Change, Confidence, Experiment, Place, Prediction, Quantity};
use linerate_model::spec::Side;

/// Packets were dropped at the receiving socket.
pub(crate) static CAUSE: Cause = Cause {
    id: "receiver-socket",
    name: "the receiver's socket buffer",
    side: Some(Side::Receiver),
    subject: "the receiver's socket buffer",
    summary: "Packets were dropped because the receiving socket's buffer was full.",
    needs: &[Need::Loss, Need::Ledger],
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    place::examine(evidence, Place::ReceiverSocket, |placed, share| {
        let mut figures = vec![format!(
            "Counted by {}.",
            placed.source(Place::ReceiverSocket)
        )];
        if let Some(buffer) = evidence.receive_buffer() {
            figures.push(format!("The receive buffer held {buffer}."));
        }
        figures.extend(Reader::from_evidence(evidence).figures());
        let cpu = Cpu::of_side(evidence, Side::Receiver);
        figures.extend(cpu.and_then(|cpu| cpu.throttling()));
        CAUSE.found(Case {
            share: Some(share),
            confidence: Confidence::Supported,
            claim: format!(
                "The receiver's socket limits: {} were dropped because its buffer was full.",
                placed.figure(&[Place::ReceiverSocket])
            ),
            evidence: figures,
            experiment: larger_buffer(),
        })
    })
}

/// Eight times the room holds the bursts that overflow a small buffer. A reader that is too slow for
/// good fills any buffer, and loss elsewhere does not see it. (The lab waits until the buffer is full
/// before it counts.)
fn larger_buffer() -> Experiment {
    proof(
        Change::ReceiveBuffer { factor: 8.0 },
        [Prediction::at_most(Quantity::LossRatio, 0.5)],
    )
}
