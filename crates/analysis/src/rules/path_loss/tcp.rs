//! Loss under TCP: retransmissions without a queue.

use super::case;
use crate::rules::evidence::{Delays, Evidence, Need, Regime};
use crate::rules::{RuleOutcome, clear, not_evaluated, words};
use linerate_model::run::{Confidence, Trial};

/// TCP sees its losses as retransmissions; without a standing queue, load did not cause them.
pub(super) fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.regime() == Regime::Nothing {
        return clear("everything that was intended was carried");
    }
    let retransmitted = |trial: &&Trial| trial.tcp.as_ref()?.retransmitted_segments;
    let known: Vec<u64> = evidence
        .subject()
        .iter()
        .filter_map(retransmitted)
        .collect();
    let Some(again) = known.into_iter().reduce(u64::saturating_add) else {
        return not_evaluated(format!("Not recorded: {}", Need::Loss.describe()));
    };
    if again == 0 {
        return clear("no segment was retransmitted");
    }
    let Some(delays) = Delays::of(evidence) else {
        return not_evaluated(format!("Not recorded: {}", Need::Delay.describe()));
    };
    let again = words::count(again);
    if delays.queue_stands() {
        return clear(format!(
            "{again} segments were retransmitted while a queue stood (RTT {}, {} at best): the loss comes from load",
            words::time(delays.loaded),
            words::time(delays.base)
        ));
    }
    let Some(share) = window_share(evidence) else {
        return not_evaluated(format!("Not recorded: {}", Need::Chronographs.describe()));
    };
    if share < 0.2 {
        return clear(format!(
            "the congestion window limited only {} of the time",
            words::percent(share)
        ));
    }
    let told = format!(
        "{again} segments were retransmitted while no queue stood (RTT {}, {} at best), and the congestion window limited {} of the time",
        words::time(delays.loaded),
        words::time(delays.base),
        words::percent(share)
    );
    case(
        Confidence::Supported,
        Some(share),
        format!("The path's loss limits: {told}."),
        vec![format!("{again} segments were retransmitted.")],
    )
}

/// Share of the time that is left to the congestion window: busy, and neither window nor buffer limited.
pub(in crate::rules) fn window_share(evidence: &Evidence<'_>) -> Option<f64> {
    evidence.tcp(|tcp| {
        let other = tcp.rwnd_limited_ratio?.get() + tcp.sndbuf_limited_ratio?.get();
        Some((tcp.busy_ratio?.get() - other).max(0.0))
    })
}
