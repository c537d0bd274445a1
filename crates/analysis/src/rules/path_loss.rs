//! Loss on the path that does not come from load.

use super::evidence::{Delays, Evidence, Need, Placed, Regime, load};
use super::{Case, Rule, RuleOutcome, clear, not_evaluated, proof, words};
use linerate_model::PacketCount;
use linerate_model::run::{
    Change, Confidence, Experiment, Limit, Place, Prediction, Quantity, Trial,
};

/// The path loses packets at every load.
pub(super) struct PathLoss;

impl Rule for PathLoss {
    fn id(&self) -> &'static str {
        "path-loss"
    }

    fn limit(&self) -> Limit {
        Limit::PathLoss
    }

    fn summary(&self) -> &'static str {
        "The path loses about the same share of packets at every load."
    }

    fn needs(&self) -> &'static [Need] {
        &[
            Need::Loss,
            Need::ReceivedRate,
            Need::SeveralLoads,
            Need::Delay,
        ]
    }

    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome {
        if evidence.is_tcp() {
            return tcp(evidence);
        }
        if !Need::Loss.is_met(evidence) {
            return not_evaluated(format!("Not recorded: {}", Need::Loss.describe()));
        }
        let all = Loss::of(evidence.trials().iter().copied());
        if all.lost == 0 {
            return clear(format!(
                "none of {} packets was lost",
                words::count(all.sent)
            ));
        }
        if evidence.is_latency() {
            return found(
                Confidence::Weak,
                None,
                all,
                "request/response loads nothing",
            );
        }
        if let Some(placed) = elsewhere(evidence) {
            return clear(format!(
                "{} were lost in the network",
                placed.figure(&[Place::Network])
            ));
        }
        if Need::SeveralLoads.is_met(evidence) {
            at_all_loads(evidence, all)
        } else {
            at_one_load(evidence, all)
        }
    }
}

/// Packets of some trials.
#[derive(Clone, Copy, Default)]
struct Loss {
    sent: u64,
    lost: u64,
}

impl Loss {
    fn of<'a>(trials: impl Iterator<Item = &'a Trial>) -> Self {
        trials
            .filter_map(|trial| trial.packets)
            .fold(Self::default(), |sum, packets| Self {
                sent: sum
                    .sent
                    .saturating_add(packets.sent.map_or(0, PacketCount::get)),
                lost: sum
                    .lost
                    .saturating_add(packets.lost.map_or(0, PacketCount::get)),
            })
    }

    fn ratio(self) -> f64 {
        linerate_model::Ratio::of(self.lost, self.sent).get()
    }

    /// Standard error of the ratio if each packet is lost by itself.
    fn error(self) -> f64 {
        let p = self.ratio();
        (p * (1.0 - p) / PacketCount::new(self.sent.max(1)).as_f64()).sqrt()
    }
}

/// The ledger, when it shows that the network lost next to nothing.
fn elsewhere(evidence: &Evidence<'_>) -> Option<Placed> {
    Placed::of(evidence).filter(|placed| placed.share(&[Place::Network, Place::Unknown]) < 0.1)
}

/// Fewer lost packets than these cannot tell one loss ratio from another.
const FEWEST_LOST: u64 = 10;

fn at_all_loads(evidence: &Evidence<'_>, all: Loss) -> RuleOutcome {
    let rates = evidence.trials().iter().filter_map(|t| t.received_rate);
    let Some(best) = rates.max().map(linerate_model::BitRate::as_f64) else {
        return not_evaluated(format!("Not recorded: {}", Need::ReceivedRate.describe()));
    };
    // At half of what is known to get through, load does not make loss.
    let pooled = |light: bool| {
        let trials = evidence.trials().iter().copied();
        Loss::of(trials.filter(move |t| load(t).is_some_and(|l| (l <= best / 2.0) == light)))
    };
    let (low, high) = (pooled(true), pooled(false));
    if low.sent == 0 {
        return not_evaluated("a trial at no more than half of the best received rate");
    }
    if all.lost < FEWEST_LOST {
        return not_evaluated(format!(
            "more than {} lost packets, to compare loss between loads",
            all.lost
        ));
    }
    let told = format!(
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
        return clear(told);
    }
    let apart = (low.ratio() - high.ratio()).abs();
    let chance = 3.0 * low.error().hypot(high.error());
    let equal = apart <= chance.max(high.ratio() / 2.0);
    // What load adds on top is another rule's; the base explains its part of all that was lost.
    let base = low.ratio() * PacketCount::new(all.sent).as_f64();
    let share = (base / PacketCount::new(all.lost).as_f64()).min(1.0);
    if !equal && share < 0.1 {
        return clear(told);
    }
    let confidence = if equal && low.lost >= FEWEST_LOST {
        Confidence::Supported
    } else {
        Confidence::Weak
    };
    found(confidence, Some(share), all, &told)
}

fn at_one_load(evidence: &Evidence<'_>, all: Loss) -> RuleOutcome {
    let Some(delays) = Delays::of(evidence) else {
        return not_evaluated(format!(
            "Not recorded: {}; {}",
            Need::SeveralLoads.describe(),
            Need::Delay.describe()
        ));
    };
    if delays.queue_stands() {
        return clear(format!(
            "a queue stands under load (median delay variation {}): the loss comes from load",
            words::time(delays.loaded)
        ));
    }
    let Some(placed) = Placed::of(evidence).filter(|p| p.share(&[Place::Network]) >= 0.5) else {
        return not_evaluated(
            "proof that the packets were lost in the network, or trials at two or more loads",
        );
    };
    let told = format!(
        "{} in the network while no queue stood (median delay variation {})",
        placed.figure(&[Place::Network]),
        words::time(delays.loaded)
    );
    found(
        Confidence::Weak,
        Some(placed.share(&[Place::Network])),
        all,
        &told,
    )
}

/// TCP sees its losses as retransmissions; without a standing queue, load did not cause them.
fn tcp(evidence: &Evidence<'_>) -> RuleOutcome {
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
pub(super) fn window_share(evidence: &Evidence<'_>) -> Option<f64> {
    evidence.tcp(|tcp| {
        let other = tcp.rwnd_limited_ratio?.get() + tcp.sndbuf_limited_ratio?.get();
        Some((tcp.busy_ratio?.get() - other).max(0.0))
    })
}

fn found(confidence: Confidence, share: Option<f64>, all: Loss, told: &str) -> RuleOutcome {
    case(
        confidence,
        share,
        format!("The path loses packets whatever the load: {told}."),
        vec![format!(
            "{} of {} packets were lost in all ({}).",
            words::count(all.lost),
            words::count(all.sent),
            words::percent(all.ratio())
        )],
    )
}

/// Loss that does not come from load stays at a quarter of it; that of a full link, a policer or a slow
/// receiver goes away. The factor of two leaves room for chance: a hundred lost packets are enough.
fn lighter_load() -> Experiment {
    proof(
        Change::Load { factor: 0.25 },
        [Prediction::within(Quantity::LossRatio, 0.5, 2.0)],
    )
}

fn case(
    confidence: Confidence,
    share: Option<f64>,
    claim: String,
    evidence: Vec<String>,
) -> RuleOutcome {
    Case {
        limit: Limit::PathLoss,
        side: None,
        share,
        confidence,
        claim,
        evidence,
        experiment: lighter_load(),
    }
    .found()
}
