//! The measuring tool: a schedule that the generator did not keep, or a result as high as linerate goes on this host.

mod ceiling;

pub(crate) use ceiling::apply as apply_ceiling;

use super::evidence::{Cpu, Evidence, Gap, Need, Regime};
use super::sender_cpu::thread_not_recorded;
use super::{Case, Cause, RuleOutcome, clear, not_evaluated, not_recorded, words};
use linerate_model::run::{Confidence, Experiment};
use linerate_model::spec::Side;

/// The generator itself can do no more.
pub(crate) static CAUSE: Cause = Cause {
    id: "tool",
    name: "linerate on this host",
    side: Some(Side::Sender),
    summary: "The generator fell short without loss and with CPU time to spare.",
    needs: &[Need::OfferedLoad, Need::IntendedLoad, Need::SenderCpu],
    explains_shortage: true,
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear(evidence.of_messages());
    }
    let Some(offered) = evidence.highest_rate(|trial| trial.offered_load) else {
        return not_recorded(&[Need::OfferedLoad]);
    };
    match evidence.regime() {
        Regime::Nothing => clear("the generator offered every load that was intended"),
        Regime::Loss => not_evaluated("Packets were lost, which may be why the sender fell short"),
        Regime::Unpaced => not_recorded(&[Need::IntendedLoad]),
        Regime::Sender => fell_short(evidence, offered),
    }
}

fn fell_short(evidence: &Evidence<'_>, offered: f64) -> RuleOutcome {
    let Some(cpu) = Cpu::of_side(evidence, Side::Sender) else {
        return not_recorded(&[Need::SenderCpu]);
    };
    let explains = cpu.explains(Gap::around_best(evidence).shortage());
    if cpu.is_hot() || cpu.is_starved() || cpu.has_cpu_steal() || explains {
        return clear(format!(
            "the sender had no CPU time left: {}",
            cpu.figures().join(" ")
        ));
    }
    if !cpu.is_idle() {
        return thread_not_recorded(&cpu);
    }
    let mut figures = cpu.figures();
    let late = |trial: &linerate_model::run::Trial| trial.lateness()?.p99_ns.map(words::nanos);
    if let Some(late) = evidence.mean(late) {
        figures.push(format!(
            "The 99 % quantile of send lateness was {}.",
            words::time(late)
        ));
    }
    CAUSE.found(Case {
        share: Some(Gap::around_best(evidence).short_share()),
        confidence: Confidence::Weak,
        claim: format!(
            "linerate on this host limits: it sent at most {} of L4 payload without loss and with CPU time to spare; something may push back on its socket.",
            words::rate(offered)
        ),
        evidence: figures,
        // What held the generator up is not known, so there is nothing that linerate could change by itself.
        experiment: Experiment::in_words(
            "send in two streams, or from a faster host",
            "more is offered and more arrives",
        ),
    })
}
