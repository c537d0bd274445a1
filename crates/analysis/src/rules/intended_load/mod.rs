//! Nothing saturated: what was asked for was carried.

use super::evidence::{Delays, Evidence, Need, Overload, Regime};
use super::{Case, Rule, clear, not_evaluated, proof_from, words};
use linerate_model::run::{
    Baseline, Change, Confidence, Delay, DelayOf, Experiment, Prediction, Quantity, RuleOutcome,
    Trial,
};
use linerate_model::{BitRate, PacketCount};

/// Everything that was intended was offered and arrived.
pub(super) struct IntendedLoad;

impl Rule for IntendedLoad {
    fn id(&self) -> &'static str {
        "intended-load"
    }

    fn name(&self) -> &'static str {
        "none: the path carried the whole intended load"
    }

    fn summary(&self) -> &'static str {
        "Nothing saturated: every intended load was offered and arrived without loss."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::IntendedLoad, Need::OfferedLoad, Need::ReceivedRate]
    }

    fn explains_shortage(&self) -> bool {
        true
    }

    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome {
        if evidence.is_latency() {
            return latency(evidence);
        }
        if evidence.trials().is_empty() {
            return not_evaluated("the run has no trial");
        }
        if evidence
            .trials()
            .iter()
            .all(|trial| trial.intended_load.is_none())
        {
            return clear("no load was intended: the test was unpaced and took what it could get");
        }
        if let Some(missing) = Need::missing(self.needs(), evidence) {
            return not_evaluated(missing);
        }
        if evidence.regime() == Regime::Nothing {
            return carried(evidence);
        }
        clear(evidence.stressed().first().map_or_else(
            || "the search found a bound below the highest load asked for".to_owned(),
            |trial| gave_way(trial),
        ))
    }
}

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
        words::trials_were(evidence.trials().len()),
        words::rate(intended),
        words::rate(highest.offered_load.map_or(0.0, BitRate::as_f64)),
        words::rate(highest.received_rate.map_or(0.0, BitRate::as_f64)),
    )];
    if let (Some(sent), Some(lost)) = (packets(|p| p.sent), packets(|p| p.lost)) {
        figures.push(format!(
            "{} of {} packets were lost.",
            words::count(lost),
            words::count(sent)
        ));
    }
    Case {
        limit: IntendedLoad.limit(),
        side: None,
        share: Some(1.0),
        confidence: Confidence::Supported,
        claim: format!(
            "Nothing saturated: the intended load of {} of L4 payload was carried, so the limit lies above it.",
            words::rate(intended)
        ),
        evidence: figures,
        experiment: more_load(evidence.is_tcp()),
    }
    .found()
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

/// Request/response at rest loads nothing; what can be said is how long it took, and how load changed that.
fn latency(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence
        .trials()
        .iter()
        .any(|trial| trial.in_band().is_some())
    {
        return clear("TCP streams filled the path on purpose, beside the probes".to_owned());
    }
    if let Some(overload) = Overload::from_evidence(evidence) {
        return clear(overload.told());
    }
    let lost = |trial: &&Trial| trial.packets().and_then(|packets| packets.lost);
    let unanswered: u64 = evidence
        .trials()
        .iter()
        .filter_map(lost)
        .map(PacketCount::get)
        .fold(0, u64::saturating_add);
    if unanswered > 0 {
        return clear(format!(
            "{} requests got no answer",
            words::count(unanswered)
        ));
    }
    let timed: Vec<(&Trial, &Delay)> = evidence
        .trials()
        .iter()
        .filter_map(|trial| Some((*trial, trial.delay()?)))
        .collect();
    let known = || timed.iter().filter(|entry| entry.1.p50_ns.is_some());
    let fastest = known().min_by_key(|entry| entry.1.p50_ns);
    let slowest = known().max_by_key(|entry| entry.1.p50_ns);
    let (Some(fastest), Some(slowest)) = (fastest, slowest) else {
        return not_evaluated("Not recorded: a delay distribution (trials.delay)");
    };
    let claim = queue_claim(&timed).unwrap_or_else(|| delay_claim(*fastest, *slowest));
    Case {
        limit: IntendedLoad.limit(),
        side: None,
        share: Some(1.0),
        confidence: Confidence::Supported,
        claim,
        evidence: timed.iter().map(|(trial, delay)| told(trial, delay)).collect(),
        experiment: Experiment::in_words("repeat with `--wait spin` and with load from `--load`", "spinning lowers the median where waking up dominates; load raises it where a queue is shared"),
    }
    .found()
}

fn of_what(delay: &Delay) -> &'static str {
    match delay.of {
        DelayOf::HalfRoundTrip => "half round trip",
        DelayOf::ResponseTime => "response time",
        DelayOf::RoundTrip => "round trip",
        DelayOf::Lateness => "lateness",
        DelayOf::OneWay => "one-way delay",
        DelayOf::Part => "part of a round trip",
        DelayOf::Pdv => "delay variation",
    }
}

/// The two trials that show a queue best: they differ in what else there was on the path, and in nothing else.
/// Another size, another way to wait or another rate takes its own time, without any queue.
fn queue_claim(timed: &[(&Trial, &Delay)]) -> Option<String> {
    let median = |delay: &Delay| delay.p50_ns.map(words::nanos);
    let pairs = timed.iter().flat_map(|quick| {
        let alike = |slow: &&(&Trial, &Delay)| {
            let (quick, slow) = (quick.0, slow.0);
            quick.payload_bytes == slow.payload_bytes && way(quick) == way(slow)
        };
        timed.iter().filter(alike).map(move |slow| (quick, slow))
    });
    let standing = pairs.filter_map(|(quick, slow)| {
        let delays = Delays {
            base: median(quick.1)?,
            loaded: median(slow.1)?,
        };
        let stands = delays.base < delays.loaded && delays.queue_stands();
        stands.then_some((delays.loaded - delays.base, quick, slow))
    });
    let (_, quick, slow) = standing.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let what = of_what(quick.1);
    Some(format!(
        "The messages themselves saturate nothing, but the median {what} rises from {} in {} to {} in {}: a queue stands in their way.",
        quantiles(quick.1),
        label(quick.0),
        quantiles(slow.1),
        label(slow.0),
    ))
}

/// The trial's label without what else there was on the path.
fn way(trial: &Trial) -> String {
    let label = trial.label.as_deref().unwrap_or_default();
    let parts = label.split(", ");
    let own = parts.filter(|part| *part != "idle" && !part.starts_with("under "));
    own.collect::<Vec<_>>().join(", ")
}

/// The fastest and the slowest trial.
fn delay_claim(fastest: (&Trial, &Delay), slowest: (&Trial, &Delay)) -> String {
    let what = of_what(fastest.1);
    let (low, high) = (quantiles(fastest.1), quantiles(slowest.1));
    if fastest.1.p50_ns == slowest.1.p50_ns {
        return format!("Nothing saturated: the median {what} was {low}.");
    }
    let (quick, slow) = (label(fastest.0), label(slowest.0));
    format!("Nothing saturated: the median {what} was {low} in {quick} and {high} in {slow}.")
}

fn label(trial: &Trial) -> String {
    trial.label.as_ref().map_or_else(
        || format!("trial {}", trial.index),
        |label| format!("trial “{label}”"),
    )
}

fn quantiles(delay: &Delay) -> String {
    let time = |nanos: Option<u64>| {
        nanos.map_or_else(|| "unknown".to_owned(), |n| words::time(words::nanos(n)))
    };
    format!("{} (p99 {})", time(delay.p50_ns), time(delay.p99_ns))
}

fn told(trial: &Trial, delay: &Delay) -> String {
    let count = delay.count.map_or(String::new(), |n| {
        format!(" over {} values", words::count(n))
    });
    format!("In {}: median {}{count}.", label(trial), quantiles(delay))
}
