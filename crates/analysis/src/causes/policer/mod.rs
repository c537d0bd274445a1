//! A policer: packets above a rate are dropped at once, without waiting in a queue.

mod emptied;

pub(crate) use emptied::apply;

use super::evidence::{Bucket, Delays, Evidence, LossPlaces, Need, Plateau, Regime};
use super::{
    Case, Cause, RuleOutcome, clear, not_evaluated, not_recorded, proof_from, supported_if, words,
};
use crate::thresholds::policer::SHORTEST_QUEUE;
use linerate_model::ByteCount;
use linerate_model::run::{Baseline, Change, Experiment, Place, Prediction, Quantity};

/// Something in the path drops what exceeds a rate.
pub(crate) static CAUSE: Cause = Cause {
    id: "policer",
    name: "a policer",
    subject: "a policer",
    summary: "The path passes the same rate at every load and drops the rest at once: no queue stands.",
    needs: &[Need::Ledger, Need::SeveralLoads, Need::Delay],
    examine: Some(examine),
    because: |_| "what exceeds its rate is dropped without queueing",
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() || evidence.is_tcp() {
        return not_evaluated("datagrams at two or more loads");
    }
    if evidence.regime() != Regime::Loss {
        return clear("nothing that was offered was lost first");
    }
    let Some(plateau) = Plateau::from_evidence(evidence) else {
        return clear("no load lost more than the goal tolerates");
    };
    let bucket = Bucket::from_evidence(evidence);
    match plateau.flat {
        _ if bucket.is_some() => {}
        Some(true) => {}
        Some(false) => {
            return clear(format!(
                "no plateau: {} arrived at {} intended",
                words::rates(plateau.lowest, plateau.peak),
                words::rates(plateau.from, plateau.to)
            ));
        }
        None => return not_recorded(&[Need::SeveralLoads]),
    }
    let (Some(placed), Some(delays)) = (
        LossPlaces::from_evidence(evidence),
        Delays::from_evidence(evidence),
    ) else {
        let missing = Need::missing(&[Need::Ledger, Need::Delay], evidence);
        return not_evaluated(missing.unwrap_or_default());
    };
    decide(evidence, plateau, &placed, delays, bucket)
}

/// Just below its rate a policer drops nothing, and the delay does not fall, since no queue stood. A
/// link's queue drains at that load; loss on the path stays.
fn below_the_rate() -> Experiment {
    proof_from(
        Baseline::AbovePath,
        Change::Load { factor: 0.95 },
        [
            Prediction::at_most(Quantity::LossRatio, 0.1),
            Prediction::at_least(Quantity::DelayUnderLoad, 0.3),
        ],
    )
}

fn decide(
    evidence: &Evidence<'_>,
    plateau: Plateau,
    placed: &LossPlaces,
    delays: Delays,
    bucket: Option<Bucket>,
) -> RuleOutcome {
    let share = placed.share(&[Place::Network]);
    if placed.share(&[Place::Unknown]) >= 0.5 {
        return not_recorded(&[Need::Ledger]);
    }
    if share < 0.5 {
        let network = placed.figure(&[Place::Network]);
        return clear(format!("{network} were lost in the network"));
    }
    if delays.queue_stands() {
        return clear(format!(
            "a queue stands under load (median delay variation {})",
            words::time(delays.loaded)
        ));
    }
    let packet = evidence
        .mean(|trial| trial.payload_bytes.map(ByteCount::as_f64))
        .map(|bytes| bytes * 8e9 / plateau.peak.max(1.0));
    let queued = packet.map(|packet| (delays.loaded - delays.base).max(0.0) / packet);
    let mut figures = vec![format!(
        "Median delay variation was {} under load and {} without.",
        words::time(delays.loaded),
        words::time(delays.base)
    )];
    if let Some(queued) = queued {
        figures.push(format!(
            "At this rate that is a queue of {queued:.1} packets."
        ));
    }
    if let Some(bucket) = bucket {
        figures.push(format!(
            "{} packets passed whole at {}; a longer trial at {} lost {}: a bucket of tokens was emptied.",
            words::count(bucket.passed),
            words::rate(bucket.passed_load),
            words::rate(bucket.lost_load),
            words::percent(bucket.loss)
        ));
    }
    let none = queued.is_some_and(|queued| queued < SHORTEST_QUEUE);
    CAUSE.found(Case {
        share: Some(share),
        confidence: supported_if(none),
        claim: format!(
            "A policer limits: {} of L4 payload passed at {} intended, and {} were dropped in the network without queueing.",
            words::rates(plateau.lowest, plateau.peak),
            words::rates(plateau.from, plateau.to),
            placed.figure(&[Place::Network])
        ),
        evidence: figures,
        experiment: below_the_rate(),
    })
}
