//! Nothing saturated: what was asked for was carried.

use super::evidence::{Evidence, Need, Regime};
use super::{Case, Cause, clear, not_evaluated, proof_from, words};
use linerate_model::run::{
    Baseline, Change, Confidence, Experiment, Limit, Prediction, Quantity, RuleOutcome, Trial,
    Verdict,
};
use linerate_model::{BitRate, PacketCount, Ratio};

/// Everything that was intended was offered and arrived.
pub(crate) static CAUSE: Cause = Cause {
    id: "intended-load",
    name: "none: the path carried the whole intended load",
    summary: "Every intended load arrived with no loss, or next to none below a probe that carried more.",
    needs: &[Need::IntendedLoad, Need::OfferedLoad, Need::ReceivedRate],
    explains_shortage: true,
    is_whole_story: true,
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear("round trips were timed: no load in bit/s was intended");
    }
    if evidence.trials().is_empty() {
        return not_evaluated("the run has no trial");
    }
    if !Need::IntendedLoad.is_met(evidence) {
        return clear("no load was intended: the test was unpaced and took what it could get");
    }
    if let Some(missing) = Need::missing(CAUSE.needs, evidence) {
        return not_evaluated(missing);
    }
    if evidence.regime() == Regime::Nothing {
        if evidence.is_unfinished_search() {
            return not_evaluated(
                "loads up to that at which something gives way: the search ended before",
            );
        }
        return carried(evidence);
    }
    clear(evidence.stressed().first().map_or_else(
        || "the search found a bound below the highest load asked for".to_owned(),
        |trial| gave_way(trial),
    ))
}

/// Of fewer packets none is lost by chance too often where one in ten is: (1 - 1/10)^29 = 5 %.
const FEW: u64 = 29;

fn gave_way(trial: &Trial) -> String {
    let rate = |rate: Option<BitRate>| {
        rate.map_or_else(|| "an unknown rate".to_owned(), |r| r.to_string())
    };
    let loss = trial.loss_ratio().unwrap_or_default();
    format!(
        "of {} intended, {} was offered and {} arrived ({loss} of the packets lost)",
        rate(trial.intended_load),
        rate(trial.offered_load),
        rate(trial.received_rate)
    )
}

fn carried(evidence: &Evidence<'_>) -> RuleOutcome {
    let relaxed = evidence.relaxed();
    let highest = relaxed.iter().max_by_key(|trial| trial.intended_load);
    let Some(highest) = highest else {
        return not_evaluated("a trial that carried its load");
    };
    let packets = |part: fn(&linerate_model::run::Packets) -> Option<PacketCount>| {
        let known = relaxed.iter().filter_map(|trial| part(trial.packets()?));
        known.map(PacketCount::get).reduce(u64::saturating_add)
    };
    let intended = highest.intended_load.map_or(0.0, BitRate::as_f64);
    let mut figures = vec![format!(
        "{} made up to an intended load of {}; the highest was offered at {} and received at {}.",
        words::were(evidence.trials().len() as u64, "trial"),
        words::rate(intended),
        words::rate(highest.offered_load.map_or(0.0, BitRate::as_f64)),
        words::rate(highest.received_rate.map_or(0.0, BitRate::as_f64)),
    )];
    let few = highest.packets().and_then(|p| p.sent);
    let few = few.filter(|sent| sent.get() < FEW);
    if let (Some(sent), Some(lost)) = (packets(|p| p.sent), packets(|p| p.lost)) {
        figures.push(format!(
            "{} of {} packets were lost.",
            words::count(lost),
            words::count(sent)
        ));
    }
    if let Some(sent) = few {
        figures.push(format!(
            "With only {sent} packets at that load, a loss of one in ten may go unseen: test longer."
        ));
    }
    CAUSE.found(Case {
        share: Some(1.0),
        confidence: if few.is_some() {
            Confidence::Weak
        } else {
            Confidence::Supported
        },
        claim: format!(
            "Nothing saturated: the intended load of {} of L4 payload was carried, so the limit lies above it.",
            words::rate(intended)
        ),
        evidence: figures,
        experiment: more_load(evidence.is_tcp()),
    })
}

/// The verdict on a trial that carried its load but for next to nothing, below `probe`, which carried more.
pub(crate) fn but_for_few(trial: &Trial, probe: String) -> Verdict {
    const NAME: &str = "none: the path carried the intended load but for few packets";
    let loss = trial.loss_ratio().unwrap_or_default();
    let intended = trial.intended_load.unwrap_or_default();
    let missing = trial.packets().and_then(|packets| packets.lost);
    let missing = words::count(missing.unwrap_or_default().get());
    let places = trial
        .ledger()
        .iter()
        .filter(|entry| entry.packets.get() > 0);
    let places = places.map(|entry| {
        format!(
            "{} of {missing} lost packets: {} ({}).",
            words::count(entry.packets.get()),
            entry.place.as_str(),
            entry.source
        )
    });
    Verdict {
        limit: Limit::new(CAUSE.id, NAME),
        side: CAUSE.side,
        share_ratio: Some(Ratio::clamped(1.0)),
        confidence: Confidence::Supported,
        claim: format!(
            "The intended load of {intended} of L4 payload was carried: {} arrived, {loss} of the packets were lost. \
             A probe carried more, so this loss does not limit the rate.",
            trial.received_rate.unwrap_or_default()
        ),
        evidence: std::iter::once(probe).chain(places).collect(),
        experiment: Some(Box::new(more_load(false))),
        weighed: None,
        directions: Vec::new(),
    }
}

/// A quarter more than what passed passes too, as long as nothing saturates; anything that limits
/// at the load that was carried holds the rate or loses packets.
fn more_load(tcp: bool) -> Experiment {
    let mut predictions = vec![Prediction::at_least(Quantity::ReceivedRate, 1.2)];
    if !tcp {
        predictions.push(Prediction::at_most(Quantity::LossRatio, 0.001).absolute());
    }
    proof_from(
        Baseline::Carried,
        Change::Load { factor: 1.25 },
        predictions,
    )
}
