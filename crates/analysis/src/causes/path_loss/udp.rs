//! Loss of datagrams: the same share at light and at heavy load.

use super::CAUSE;
use crate::causes::evidence::{Bucket, Delays, Evidence, LossPlaces, Need, Overload, load};
use crate::causes::{
    Case, RuleOutcome, clear, not_evaluated, not_recorded, proof_from, round_trip, supported_if,
    words,
};
use crate::thresholds::plateau::{FLAT_MOST, SPAN_RATIO};
use linerate_model::PacketCount;
use linerate_model::run::{
    Baseline, Change, Confidence, Experiment, Place, Prediction, Quantity, Trial,
};
use linerate_model::units::float;

pub(super) fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if !Need::Loss.is_met(evidence) {
        return not_recorded(&[Need::Loss]);
    }
    let all = Loss::of(evidence.trials().iter().copied());
    if all.lost == 0 {
        return clear(format!(
            "none of {} packets was lost",
            words::count(all.sent)
        ));
    }
    if evidence.is_latency() {
        return requests(evidence, all);
    }
    if let Some(placed) = elsewhere(evidence) {
        return clear(format!(
            "{} were lost in the network",
            placed.figure(&[Place::Network])
        ));
    }
    if let Some(bucket) = Bucket::from_evidence(evidence) {
        return clear(format!(
            "{} packets passed whole at {}, and a longer trial at no higher load lost {}: the loss comes from volume",
            words::count(bucket.passed),
            words::rate(bucket.passed_load),
            words::percent(bucket.loss)
        ));
    }
    if Need::SeveralLoads.is_met(evidence) {
        at_all_loads(evidence, all)
    } else {
        at_one_load(evidence, all)
    }
}

/// Loss of requests, or of their answers.
fn requests(evidence: &Evidence<'_>, all: Loss) -> RuleOutcome {
    let Some(overload) = Overload::from_evidence(evidence) else {
        let mut earlier = evidence.earlier().iter();
        let is_timed = earlier
            .any(|finding| round_trip::CAUSE.id == finding.rule && finding.found().is_some());
        if is_timed
            && evidence
                .trials()
                .iter()
                .any(|trial| trial.requests().is_some())
        {
            return clear(format!(
                "{} of {} messages got no answer: too few to be what the run shows",
                words::count(all.lost),
                words::count(all.sent)
            ));
        }
        let claim = "request/response that both ends keep up with loads nothing";
        return found(Confidence::Weak, None, all, claim);
    };
    let below = Loss::of(overload.below(evidence));
    let claim = format!(
        "{}; at lower rates {} of {} were lost",
        overload.describe(),
        words::count(below.lost),
        words::count(below.sent)
    );
    // Of a hundred that were lost one may have been lost at any load.
    if below.lost <= all.lost / 100 {
        return clear(claim);
    }
    found(Confidence::Weak, None, all, &claim)
}

/// Packets of some trials.
#[derive(Clone, Copy, Default)]
struct Loss {
    sent: u64,
    lost: u64,
}

impl Loss {
    fn of<'a>(trials: impl Iterator<Item = &'a Trial>) -> Self {
        let count = |known: Option<PacketCount>| known.map_or(0, PacketCount::get);
        let mut sum = Self::default();
        for packets in trials.filter_map(|trial| trial.packets()) {
            sum.sent = sum.sent.saturating_add(count(packets.sent));
            sum.lost = sum.lost.saturating_add(count(packets.lost));
        }
        sum
    }

    fn ratio(self) -> f64 {
        linerate_model::Ratio::from_parts(self.lost, self.sent).get()
    }

    /// Variance of the ratio if each packet is lost by itself.
    fn variance(self) -> f64 {
        let p = self.ratio();
        p * (1.0 - p) / float(self.sent.max(1))
    }

    /// Variance of what single `trials` of these packets lost, as a multiple of what independent losses at one ratio have:
    /// about the packets of a burst where losses come in bursts; at least 1. Pearson's χ² by its degrees of freedom
    /// (Wedderburn, Biometrika 61 (1974)).
    fn overdispersion<'a>(self, trials: impl Iterator<Item = &'a Trial>) -> f64 {
        let losses = trials.map(|trial| Self::of(std::iter::once(trial)));
        let losses: Vec<Self> = losses.filter(|loss| loss.sent > 0).collect();
        let p = self.ratio();
        if losses.len() < 2 || p <= 0.0 || p >= 1.0 {
            return 1.0;
        }
        let of_trial = |loss: &Self| {
            (float(loss.lost) - p * float(loss.sent)).powi(2) / (float(loss.sent) * p * (1.0 - p))
        };
        let freedom = float(losses.len() as u64 - 1);
        (losses.iter().map(of_trial).sum::<f64>() / freedom).max(1.0)
    }

    /// Whether `other` is the same loss where losses scatter by `overdispersion`: the ratios differ by chance, or by less than
    /// a factor of two while what remains of the packets, and so the rate, is the same share of the load.
    fn is_like(self, other: Self, overdispersion: f64) -> bool {
        let (a, b) = (self.ratio(), other.ratio());
        let apart = (a - b).abs();
        let error = (overdispersion * (self.variance() + other.variance())).sqrt();
        apart <= 3.0 * error || apart <= a.max(b) / 2.0 && apart <= (1.0 - a.min(b)) * FLAT_MOST
    }
}

/// The ledger, when it shows that the network lost next to nothing.
fn elsewhere(evidence: &Evidence<'_>) -> Option<LossPlaces> {
    LossPlaces::from_evidence(evidence)
        .filter(|placed| placed.share(&[Place::Network, Place::Unknown]) < 0.1)
}

/// Fewer lost packets than these cannot tell one loss ratio from another.
const FEWEST_LOST: u32 = 10;
/// Loads up to the highest at which a loss is the same span at least this factor, else load may have made all of it.
const LEAST_SPAN: f64 = 2.0;

/// What was lost at one load.
struct AtLoad {
    load: f64,
    loss: Loss,
}

/// The trials by their loads, in rising order; loads that are closer than two measurements of one are one load.
fn by_load(evidence: &Evidence<'_>) -> Vec<AtLoad> {
    let mut trials: Vec<&Trial> = evidence.trials().to_vec();
    trials.retain(|trial| load(trial).is_some());
    trials.sort_by(|a, b| load(a).unwrap_or(0.0).total_cmp(&load(b).unwrap_or(0.0)));
    let is_same = |a: &&Trial, b: &&Trial| load(b) <= load(a).map(|load| load * SPAN_RATIO);
    let groups = trials.chunk_by(is_same).map(|group| AtLoad {
        load: group.iter().filter_map(|t| load(t)).fold(0.0, f64::max),
        loss: Loss::of(group.iter().copied()),
    });
    groups.collect()
}

fn at_all_loads(evidence: &Evidence<'_>, all: Loss) -> RuleOutcome {
    let Some(best) = evidence.highest_rate(|trial| trial.received_rate) else {
        return not_recorded(&[Need::ReceivedRate]);
    };
    // At half of what is known to get through, load does not make loss.
    let at = |light: bool| {
        let trials = evidence.trials().iter().copied();
        trials.filter(move |t| load(t).is_some_and(|l| (l <= best / 2.0) == light))
    };
    let (low, high) = (Loss::of(at(true)), Loss::of(at(false)));
    if low.sent == 0 {
        return not_evaluated("a trial at no more than half of the best received rate");
    }
    if all.lost < u64::from(FEWEST_LOST) {
        return not_evaluated(format!(
            "more than {} lost packets, to compare loss between loads",
            all.lost
        ));
    }
    let claim = format!(
        "at loads up to {}, {} of {} packets were lost ({}), above it {} of {} ({})",
        words::rate(best / 2.0),
        words::count(low.lost),
        words::count(low.sent),
        words::percent(low.ratio()),
        words::count(high.lost),
        words::count(high.sent),
        words::percent(high.ratio())
    );
    if low.lost == 0 || low.ratio() < high.ratio() / 100.0 {
        return clear(claim);
    }
    let loads = by_load(evidence);
    let scatter = low.overdispersion(at(true));
    let is_alike = |at: &&AtLoad| low.is_like(at.loss, scatter);
    let alike = loads.iter().take_while(is_alike).count();
    if alike < loads.len() && !spans(&loads[..alike]) {
        return clear(format!("the loss depends on the load: {claim}"));
    }
    // What load adds on top is another rule's; the base explains its part of all that was lost.
    let base = low.ratio() * float(all.sent);
    let share = (base / float(all.lost)).min(1.0);
    if alike < loads.len() && share < 0.1 {
        return clear(claim);
    }
    // Of losses in bursts each burst counts once.
    let tells = float(low.lost) >= f64::from(FEWEST_LOST) * scatter;
    let confidence = supported_if(alike == loads.len() && tells);
    found(confidence, Some(share), all, &claim)
}

/// Whether the highest of `loads` is a multiple of the lowest.
fn spans(loads: &[AtLoad]) -> bool {
    matches!(loads, [lowest, .., highest] if highest.load >= lowest.load * LEAST_SPAN)
}

fn at_one_load(evidence: &Evidence<'_>, all: Loss) -> RuleOutcome {
    let Some(delays) = Delays::from_evidence(evidence) else {
        return not_recorded(&[Need::SeveralLoads, Need::Delay]);
    };
    if delays.queue_stands() {
        return clear(format!(
            "a queue stands under load (median delay variation {}): the loss comes from load",
            words::time(delays.loaded)
        ));
    }
    let Some(placed) =
        LossPlaces::from_evidence(evidence).filter(|p| p.share(&[Place::Network]) >= 0.5)
    else {
        return not_evaluated(
            "proof that the packets were lost in the network, or trials at two or more loads",
        );
    };
    let claim = format!(
        "{} in the network while no queue stood (median delay variation {})",
        placed.figure(&[Place::Network]),
        words::time(delays.loaded)
    );
    found(
        Confidence::Weak,
        Some(placed.share(&[Place::Network])),
        all,
        &claim,
    )
}

fn found(confidence: Confidence, share: Option<f64>, all: Loss, claim: &str) -> RuleOutcome {
    CAUSE.found(Case {
        share,
        confidence,
        claim: format!("The path loses packets whatever the load: {claim}."),
        evidence: vec![format!(
            "{} of {} packets were lost in all ({}).",
            words::count(all.lost),
            words::count(all.sent),
            words::percent(all.ratio())
        )],
        experiment: lighter_load(),
    })
}

/// Loss that does not come from load stays at a quarter of it; that of a full link, a policer or a slow
/// receiver goes away. The factor of two leaves room for chance: a hundred lost packets are enough.
fn lighter_load() -> Experiment {
    proof_from(
        Baseline::BelowBest,
        Change::Load { factor: 0.25 },
        [Prediction::within(Quantity::LossRatio, 0.5, 2.0)],
    )
}
