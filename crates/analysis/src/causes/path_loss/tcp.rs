//! Loss that TCP meets: retransmissions that were needed, without a queue that load would make.

use super::CAUSE;
use crate::causes::evidence::{
    Delays, Evidence, Need, Others, Regime, Stall, needless, share_of, time_told, window_share,
};
use crate::causes::{Case, RuleOutcome, clear, not_recorded, proof_from, words};
use crate::thresholds::tcp::LEAST_SHARE;
use linerate_model::run::{Baseline, Change, Confidence, Experiment, Prediction, Quantity};
use linerate_model::tcp::TcpWait;

/// TCP sees its losses as retransmissions; without a standing queue, load did not cause them.
pub(super) fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.regime() == Regime::Nothing {
        return clear("everything that was intended was carried");
    }
    let Some(again) = retransmitted(evidence) else {
        return not_recorded(&[Need::Loss]);
    };
    if again == 0 {
        return clear("no segment was retransmitted");
    }
    if let Some(stall) = Stall::from_evidence(evidence) {
        return clear(stall.elsewhere());
    }
    if let Some(share) = needless(evidence) {
        return clear(format!(
            "{} of {} retransmissions were not needed: the path reorders",
            words::percent(share),
            words::count(again)
        ));
    }
    if let Some(others) = Others::from_evidence(evidence) {
        return clear(format!(
            "the loss comes from load that is not this transfer's: {}",
            others.describe()
        ));
    }
    let Some(delays) = Delays::from_evidence(evidence) else {
        return not_recorded(&[Need::Delay]);
    };
    if delays.queue_stands() {
        return clear(format!(
            "{} retransmitted while a queue stood (RTT {}, {} at best): the loss comes from load",
            words::were(again, "segment"),
            words::time(delays.loaded),
            words::time(delays.base)
        ));
    }
    // What is left to congestion control counts where its causes were not recorded.
    let Some(share) = share_of(evidence, TcpWait::Loss).or_else(|| window_share(evidence)) else {
        return not_recorded(&[Need::Chronographs]);
    };
    if share < LEAST_SHARE {
        return clear(format!(
            "loss held the congestion window down only {} of the time",
            words::percent(share)
        ));
    }
    found(evidence, again, delays, share)
}

fn found(evidence: &Evidence<'_>, again: u64, delays: Delays, share: f64) -> RuleOutcome {
    let again = words::were(again, "segment");
    let mut figures = vec![format!("{again} retransmitted.")];
    let efficiency = evidence.tcp(|tcp| Some(tcp.rfc6349?.efficiency_ratio?.get()));
    figures.extend(efficiency.map(|ratio| {
        format!(
            "{} of the bytes sent were not retransmissions (TCP efficiency, RFC 6349).",
            words::percent(ratio)
        )
    }));
    figures.extend(time_told(evidence));
    CAUSE.found(Case {
        share: Some(share),
        confidence: Confidence::Supported,
        claim: format!(
            "The path's loss limits: {again} retransmitted while no queue stood (RTT {}, {} at best), and loss held the congestion window down {} of the time.",
            words::time(delays.loaded),
            words::time(delays.base),
            words::percent(share)
        ),
        evidence: figures,
        experiment: more_streams(),
    })
}

/// Loss by chance leaves each stream its own share of windows, so two carry nearly twice as much; a
/// full link or a policer carries the same.
fn more_streams() -> Experiment {
    proof_from(
        Baseline::BelowBest,
        Change::Streams { factor: 2 },
        [Prediction::at_least(Quantity::ReceivedRate, 1.3)],
    )
}

fn retransmitted(evidence: &Evidence<'_>) -> Option<u64> {
    let subject = evidence.subject();
    let known = subject
        .iter()
        .filter_map(|trial| trial.tcp()?.retransmitted_segments);
    known.reduce(u64::saturating_add)
}
