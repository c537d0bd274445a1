//! The measuring tool: the generator's own ceiling, or a schedule it did not keep.

use super::evidence::{Cpu, Evidence, Gap, Need, Regime};
use super::{Case, Rule, RuleOutcome, clear, not_evaluated, words};
use linerate_model::BitRate;
use linerate_model::run::{Confidence, Experiment, Limit};
use linerate_model::spec::Side;

/// The generator itself can do no more.
pub(super) struct Tool;

/// A rate this close to the calibrated ceiling is the tool's, not the device's.
const NEAR_CEILING: f64 = 0.95;

impl Rule for Tool {
    fn id(&self) -> &'static str {
        "tool"
    }

    fn limit(&self) -> Limit {
        Limit::Tool
    }

    fn summary(&self) -> &'static str {
        "The generator reached its own calibrated ceiling, or fell short with CPU time to spare."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::OfferedLoad, Need::Ceiling, Need::SenderCpu]
    }

    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome {
        if evidence.is_latency() {
            return clear("request/response keeps one message in flight");
        }
        let offered = evidence
            .trials()
            .iter()
            .filter_map(|trial| trial.offered_load)
            .max();
        let Some(offered) = offered.map(BitRate::as_f64) else {
            return not_evaluated(format!("Not recorded: {}", Need::OfferedLoad.describe()));
        };
        let regime = evidence.regime();
        if regime == Regime::Nothing {
            return clear("the generator offered every load that was intended");
        }
        if regime == Regime::Loss && Gap::around_best(evidence).short_share() < 0.5 {
            return clear("the generator offered what was then lost");
        }
        match evidence
            .configured("ceiling_bps")
            .filter(|ceiling| *ceiling > 0.0)
        {
            Some(ceiling) if offered >= ceiling * NEAR_CEILING => at_ceiling(offered, ceiling),
            ceiling => below_ceiling(evidence, offered, ceiling),
        }
    }
}

fn at_ceiling(offered: f64, ceiling: f64) -> RuleOutcome {
    let figure = format!(
        "{} of L4 payload is {} of the {} that this host can generate",
        words::rate(offered),
        words::percent(offered / ceiling),
        words::rate(ceiling)
    );
    case(
        Some(1.0),
        Confidence::Supported,
        format!("The tool limits: {figure}, so the path may carry more."),
        vec![format!("{figure} (calibration on loopback).")],
    )
}

fn below_ceiling(evidence: &Evidence<'_>, offered: f64, ceiling: Option<f64>) -> RuleOutcome {
    let below = ceiling.map(|ceiling| {
        format!(
            "{} offered is below the ceiling of {}",
            words::rate(offered),
            words::rate(ceiling)
        )
    });
    if evidence.regime() != Regime::Sender {
        let missing = || not_evaluated(format!("Not recorded: {}", Need::Ceiling.describe()));
        return below.map_or_else(missing, clear);
    }
    let Some(cpu) = Cpu::of_side(evidence, Side::Sender) else {
        return not_evaluated(format!("Not recorded: {}", Need::SenderCpu.describe()));
    };
    let explains = cpu.explains(Gap::around_best(evidence).shortage());
    if cpu.is_hot() || cpu.is_starved() || cpu.has_cpu_steal() || explains {
        return clear(format!(
            "the sender had no CPU time left: {}",
            cpu.figures().join(" ")
        ));
    }
    if !cpu.is_idle() {
        return not_evaluated(
            "Not recorded: CPU time of the sender's traffic thread (trials.cpu.sender.thread_ratio)",
        );
    }
    let mut figures = cpu.figures();
    figures.extend(below.map(|text| format!("{text}.")));
    let late = |trial: &linerate_model::run::Trial| trial.lateness()?.p99_ns.map(words::nanos);
    if let Some(late) = evidence.mean(late) {
        figures.push(format!(
            "The 99 % quantile of send lateness was {}.",
            words::time(late)
        ));
    }
    case(
        Some(Gap::around_best(evidence).short_share()),
        Confidence::Weak,
        format!(
            "The generator fell short at {} of L4 payload without loss and with CPU time to spare: the tool, or something that pushes back on its socket, limits.",
            words::rate(offered)
        ),
        figures,
    )
}

fn case(
    share: Option<f64>,
    confidence: Confidence,
    claim: String,
    evidence: Vec<String>,
) -> RuleOutcome {
    Case {
        limit: Limit::Tool,
        side: Some(Side::Sender),
        share,
        confidence,
        claim,
        evidence,
        // Nothing that this host can change lifts its own ceiling, so linerate cannot run this.
        experiment: Experiment::in_words(
            "send in two streams, or from a faster host",
            "more is offered and more arrives",
        ),
    }
    .found()
}
