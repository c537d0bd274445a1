//! A TCP window that is closed because its application does not read.

use super::CAUSE;
use crate::causes::evidence::{
    Cpu, Evidence, Need, Regime, StreamReader, receiver_window_share, time_told,
};
use crate::causes::{
    Case, RuleOutcome, clear, not_evaluated, not_recorded, proof, supported_if, words,
};
use crate::thresholds::tcp::LEAST_SHARE;
use linerate_model::run::{Change, Experiment, Prediction, Quantity};
use linerate_model::spec::Side;

pub(super) fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.regime() == Regime::Nothing {
        return clear("everything that was intended was carried");
    }
    let Some(share) = receiver_window_share(evidence) else {
        return not_recorded(&[Need::Chronographs]);
    };
    if share < LEAST_SHARE {
        return clear(format!(
            "the receiver's window limited {} of the time",
            words::percent(share)
        ));
    }
    let Some(reader) = StreamReader::from_evidence(evidence) else {
        return not_evaluated(
            "Not recorded: bytes that the receiving application had not read (trials.raw.streams.tcp.unread_bytes)",
        );
    };
    if !reader.is_behind() {
        return clear(reader.figures().join(" "));
    }
    let cpu = Cpu::of_side(evidence, Side::Receiver);
    if let Some(hot) = cpu.as_ref().filter(|cpu| cpu.is_hot() || cpu.is_starved()) {
        return clear(format!("the application had no CPU time: {}", hot.reason()));
    }
    let idle = cpu.as_ref().is_some_and(Cpu::is_idle);
    let mut figures = reader.figures();
    figures.extend(cpu.iter().flat_map(Cpu::figures));
    figures.extend(time_told(evidence));
    CAUSE.found(Case {
        share: Some(share),
        confidence: supported_if(idle),
        claim: format!(
            "The receiving application limits: {} of the time the window was closed over data that it had not read.",
            words::percent(share)
        ),
        evidence: figures,
        experiment: larger_buffer(),
    })
}

/// A larger buffer fills as well: only a faster reader carries more, where a window that is merely
/// small would carry twice as much.
fn larger_buffer() -> Experiment {
    proof(
        Change::ReceiveBuffer { factor: 2.0 },
        [Prediction::within(Quantity::ReceivedRate, 0.8, 1.2)],
    )
}
