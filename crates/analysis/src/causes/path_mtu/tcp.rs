//! A path on which full segments vanish: TCP connects, and then nothing gets through.

use super::CAUSE;
use crate::causes::evidence::{Evidence, Stall};
use crate::causes::{Case, RuleOutcome, clear, not_evaluated, supported_if, words};
use crate::statistics::to_f64;
use linerate_model::ByteCount;
use linerate_model::run::Experiment;

pub(super) fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    let Some(stall) = Stall::from_evidence(evidence) else {
        return passed(evidence);
    };
    let mut figures = vec![format!(
        "Handshake and control connection use the same path, and their short packets passed; {} B in all were acknowledged.",
        words::count(stall.acked)
    )];
    let timeouts = evidence.tcp(|tcp| Some(to_f64(tcp.retransmissions?.timeouts?)));
    figures.extend(
        timeouts.map(|n| format!("{n:.0} retransmission timeouts expired, without an answer.")),
    );
    CAUSE.found(Case {
        share: Some(1.0),
        confidence: supported_if(stall.is_complete),
        claim: claim(stall),
        evidence: figures,
        experiment: Experiment::in_words(
            "lower the MTU of the sender's interface (1280 B), or set net.ipv4.tcp_mtu_probing to 1",
            "data gets through",
        ),
    })
}

fn claim(stall: Stall) -> String {
    let (size, again) = (words::count(stall.smss), words::count(stall.again));
    if stall.is_complete {
        return format!(
            "The path's MTU limits: no segment of {size} B got through, {again} were sent again, and no error came back."
        );
    }
    format!(
        "The path's MTU limits: TCP stood still after {} B, {again} segments of up to {size} B were sent again, and no error came back.",
        words::count(stall.acked)
    )
}

/// What rules it out: segments of full length arrived.
fn passed(evidence: &Evidence<'_>) -> RuleOutcome {
    /// More than what a peer that only shakes hands takes.
    const SOME: u64 = 65_536;
    let subject = evidence.subject();
    let received = subject
        .iter()
        .filter_map(|trial| trial.received_bytes.or(trial.sent_bytes));
    match received.map(ByteCount::get).min() {
        Some(bytes) if bytes >= SOME => clear(format!("{} B arrived", words::count(bytes))),
        _ => not_evaluated(
            "Not recorded: what the receiver acknowledged and the sender sent again (trials.raw.streams.tcp)",
        ),
    }
}
