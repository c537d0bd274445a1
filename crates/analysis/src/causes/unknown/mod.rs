//! What is left when something gave way and no other rule found why.

use super::evidence::{Evidence, LossPlaces, Need, Plateau, Regime, WindowEffect};
use super::{Case, Cause, RuleOutcome, clear, not_evaluated, not_recorded, words};
use crate::thresholds::outcome::LITTLE;
use linerate_model::PacketCount;
use linerate_model::run::{Confidence, Experiment, Place};
use linerate_model::spec::Side;

/// No cause was found; says what is known, on which side, and what was not recorded.
pub(crate) static CAUSE: Cause = Cause {
    id: "unknown",
    name: "not identified",
    summary: "Something limits, but what was recorded does not tell what.",
    needs: &[Need::ReceivedRate],
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    let mut earlier = evidence.earlier().iter();
    if let Some(found) = earlier.find(|finding| finding.found().is_some()) {
        return clear(format!("{} explains it", found.rule));
    }
    if evidence.trials().is_empty() {
        return not_evaluated("the run has no trial");
    }
    if !Need::ReceivedRate.is_met(evidence) && !Need::OfferedLoad.is_met(evidence) {
        return not_recorded(&[Need::ReceivedRate]);
    }
    match evidence.regime() {
        Regime::Loss => loss(evidence),
        Regime::Sender => case(
            Some(Side::Sender),
            format!(
                "The sender limits: it offered at most {} of L4 payload, less than intended, and nothing was lost; whether its CPU, its interface or its application holds it back is not recorded.",
                words::rate(
                    evidence
                        .highest_rate(|trial| trial.offered_load)
                        .unwrap_or(0.0)
                )
            ),
            Vec::new(),
            evidence,
        ),
        Regime::Nothing | Regime::Unpaced => {
            case(None, unpaced(evidence), again(evidence), evidence)
        }
    }
}

/// What was sent again, which tells no full link from a lossy path, nor that either is what limits.
fn again(evidence: &Evidence<'_>) -> Vec<String> {
    let again = evidence.sent_again().filter(|again| *again > 0);
    let said = again.map(|again| {
        format!(
            "{} sent again: a full link drops as a lossy path does, and RTT under load and at rest would tell.",
            words::were(again, "segment")
        )
    });
    said.into_iter().collect()
}

/// What a byte stream tells without counters: at least whether its window is what limits.
fn unpaced(evidence: &Evidence<'_>) -> String {
    let rate = words::rate(evidence.carried());
    let effect = WindowEffect::from_evidence(evidence).filter(|effect| effect.is_no_limit());
    let Some(effect) = effect else {
        return format!("What limits at {rate} of L4 payload is not known.");
    };
    let of_link = evidence.link_speed().map_or_else(String::new, |speed| {
        format!(
            ", {} of the link's {}",
            words::percent(evidence.carried() / speed),
            words::rate(speed)
        )
    });
    let else_limits = match effect {
        WindowEffect::Slope(_) => format!(
            "Segments wait in a queue before what limits at {rate} of L4 payload{of_link}: a slower link on the way, or a busy host"
        ),
        // Less than a full window may have been under way.
        WindowEffect::StoodStill(_) => format!(
            "Something else limits at {rate} of L4 payload{of_link}: a busy host, the receiver's window, or a slower link on the way"
        ),
    };
    format!(
        "Not the congestion window: {}. {else_limits}; the log does not tell which.",
        effect.describe()
    )
}

/// More lines than these repeat themselves.
const MOST_LINES: usize = 4;

fn describe(trial: &linerate_model::run::Trial) -> Option<String> {
    Some(format!(
        "Of {} intended, {} arrived with {} lost.",
        trial.intended_load?,
        trial.received_rate?,
        trial.loss_ratio()?
    ))
}

/// The shape of the curve tells the receiver from the path where counters do not.
fn loss(evidence: &Evidence<'_>) -> RuleOutcome {
    let highest = evidence
        .stressed()
        .iter()
        .filter_map(|t| t.loss_ratio())
        .map(linerate_model::Ratio::get)
        .fold(0.0, f64::max);
    if evidence.carried() <= 0.0 {
        return nothing_arrived(evidence);
    }
    let plateau = Plateau::from_evidence(evidence);
    let Some(falling) = plateau.filter(Plateau::falls) else {
        let places = LossPlaces::from_evidence(evidence).map(|placed| {
            format!(
                "{} could not be placed: {}.",
                placed.figure(&[Place::Unknown]),
                placed.source(Place::Unknown)
            )
        });
        if let Some(claim) = small_loss(evidence, highest) {
            return case(None, claim, places.into_iter().collect(), evidence);
        }
        let bounds = evidence
            .carried_below_loss()
            .map_or_else(String::new, |whole| {
                format!("{whole} arrived whole; above it, ")
            });
        return case(
            None,
            format!(
                "The limit lies behind the sender: {bounds}{} of L4 payload arrived at most and up to {} of the packets were lost; where is not recorded.",
                words::rate(evidence.carried()),
                words::percent(highest)
            ),
            places.into_iter().collect(),
            evidence,
        );
    };
    let carried = evidence.highest_relaxed();
    let fine = carried.map_or_else(String::new, |load| format!("{load} arrives whole, but "));
    let claim = format!(
        "Probably the receiver limits: {fine}at most {} arrives, and only {} when {} is intended, with {} of the packets lost; its CPU or its socket, the log does not tell.",
        words::rate(falling.peak),
        words::rate(falling.last),
        words::rate(falling.to),
        words::percent(highest)
    );
    let mut figures: Vec<String> = evidence
        .stressed()
        .iter()
        .filter_map(|t| describe(t))
        .take(MOST_LINES)
        .collect();
    figures.push("The rate falls as more is offered: the host spends its time on packets that it then drops; a link keeps its rate.".to_owned());
    case(Some(Side::Receiver), claim, figures, evidence)
}

/// All that was sent was lost.
fn nothing_arrived(evidence: &Evidence<'_>) -> RuleOutcome {
    let sent = evidence
        .trials()
        .iter()
        .filter_map(|trial| trial.packets()?.sent);
    let sent = sent.map(PacketCount::get).fold(0, u64::saturating_add);
    let claim = format!(
        "Nothing of {} packets arrived: a firewall, NAT or a missing route drops them, the path's MTU is smaller, or nobody reads them at that port.",
        words::count(sent)
    );
    let mut outcome = case(None, claim, Vec::new(), evidence);
    if let RuleOutcome::Found { verdict } = &mut outcome {
        verdict.experiment = Some(Box::new(Experiment::in_words(
            "let the test's port through every firewall on the way (`linerate ports` lists them), and repeat the test",
            "packets arrive",
        )));
    }
    outcome
}

/// So little lost at one load shows no limit: it may be near one, or be lost by chance.
fn small_loss(evidence: &Evidence<'_>, loss: f64) -> Option<String> {
    let is_one_load = evidence.reach().is_some() || evidence.trials().len() == 1;
    (is_one_load && loss > 0.0 && loss <= LITTLE).then(|| {
        format!(
            "{} of L4 payload arrived and {} of the packets were lost: loss by chance, short bursts and a load near the limit look the same at one load.",
            words::rate(evidence.carried()),
            words::percent(loss)
        )
    })
}

fn case(
    side: Option<Side>,
    claim: String,
    mut figures: Vec<String>,
    evidence: &Evidence<'_>,
) -> RuleOutcome {
    let mut wanted = vec![
        Need::SenderCpu,
        Need::ReceiverCpu,
        Need::LinkSpeed,
        Need::Delay,
    ];
    wanted.push(if evidence.is_tcp() {
        Need::Chronographs
    } else {
        Need::Ledger
    });
    figures.extend(Need::lacking(&wanted, evidence));
    CAUSE.found_at(
        side,
        Case {
            share: None,
            confidence: Confidence::Weak,
            claim,
            evidence: figures,
            // No claim, so nothing to predict: people must look further.
            experiment: Experiment::in_words(
                "measure with linerate at both ends",
                "counters and CPU time of both hosts show where packets or time are lost",
            ),
        },
    )
}
