//! The sender's CPU: the sending host could not make packets fast enough.

use super::evidence::{Cpu, Evidence, Gap, Need, Plateau, Regime};
use super::overload_cpu::requests;
use super::{Case, Cause, clear, not_evaluated, not_recorded, proof, supported_if, words};
use linerate_model::run::{Change, Confidence, Experiment, Prediction, Quantity, RuleOutcome};
use linerate_model::spec::Side;

/// The sending thread had no more CPU time to take.
pub(crate) static CAUSE: Cause = Cause {
    id: "sender-cpu",
    name: "the sender's CPU",
    side: Some(Side::Sender),
    subject: "the sender's CPU",
    summary: "The sender offered less than intended while its thread used, or waited for, all of a core.",
    needs: &[Need::OfferedLoad, Need::SenderCpu],
    explains_shortage: true,
    examine: Some(examine),
    because: |weighed| {
        if weighed.is_sender_alone {
            "everything that it sent arrived, and it sent no more"
        } else {
            (Cause::BASE.because)(weighed)
        }
    },
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return requests(&CAUSE, evidence, Side::Sender);
    }
    if !Need::OfferedLoad.is_met(evidence) {
        return not_recorded(&[Need::OfferedLoad]);
    }
    match evidence.regime() {
        Regime::Nothing => clear("the sender offered every load that was intended"),
        _ => Cpu::of_side(evidence, Side::Sender)
            .map_or_else(|| unrecorded(evidence), |cpu| recorded(evidence, &cpu)),
    }
}

/// A CPU makes packets, not bytes: of half the size it makes about as many per second. A link or a
/// policer that pushes back lets nearly twice as many pass. A thread that waits for its core, rather than
/// uses it, runs freely on another. TCP makes its own packets; there only that can be tried. What a quota
/// leaves is time, in which a sender that is not busy catches up with its schedule whatever its packets are.
fn proving(evidence: &Evidence<'_>, cpu: &Cpu) -> Experiment {
    if cpu.is_throttled() {
        return Experiment::in_words(
            "give the sender's control group a larger CPU quota",
            "the offered load grows in proportion",
        );
    }
    if cpu.is_starved() && (cpu.mostly_waits() || evidence.is_tcp()) {
        return proof(
            Change::OtherCore { side: Side::Sender },
            [Prediction::at_least(Quantity::OfferedRate, 1.2)],
        );
    }
    if !evidence.is_tcp() {
        return proof(
            Change::Payload { factor: 0.5 },
            [Prediction::within(Quantity::OfferedPacketRate, 0.75, 1.35)],
        );
    }
    Experiment::in_words(
        "send from a faster core, or in two streams on two cores",
        "the offered load grows, since each byte then costs less CPU time",
    )
}

/// The outcome for an end whose CPU is not what limits, as far as its figures tell.
pub(super) fn not_busy(cpu: &Cpu) -> RuleOutcome {
    if cpu.is_idle() || cpu.thread.is_some() {
        return clear(cpu.figures().join(" "));
    }
    thread_not_recorded(cpu)
}

/// The outcome where only the traffic thread's own CPU time would tell.
pub(super) fn thread_not_recorded(cpu: &Cpu) -> RuleOutcome {
    let end = cpu.name();
    not_evaluated(format!(
        "Not recorded: CPU time of the {end}'s traffic thread (trials.cpu.{end}.thread_ratio)"
    ))
}

fn recorded(evidence: &Evidence<'_>, cpu: &Cpu) -> RuleOutcome {
    // A sender with a schedule to keep suffers from any wait, a byte stream from long ones.
    let scheduled = Need::IntendedLoad.is_met(evidence);
    let short = !evidence.is_tcp() && cpu.explains(Gap::around_best(evidence).shortage());
    let starved = (cpu.is_starved() || short)
        && (evidence.regime() != Regime::Unpaced || scheduled)
        || evidence.is_tcp() && cpu.holds_up();
    let is_stolen = evidence.regime() == Regime::Sender && cpu.has_cpu_steal();
    if !cpu.is_hot() && !starved && !is_stolen {
        return not_busy(cpu);
    }
    let offered = evidence.mean_rate(|trial| trial.offered_load);
    let share = if evidence.regime() == Regime::Unpaced {
        let window = evidence
            .tcp(|tcp| Some(tcp.rwnd_limited_ratio?.get()))
            .unwrap_or(0.0);
        cpu.pressure().max(cpu.throttled).min(1.0 - window)
    } else {
        Gap::around_best(evidence).short_share().max(0.5)
    };
    let mut figures = shortfall(evidence);
    figures.extend(cpu.figures());
    CAUSE.found(Case {
        share: Some(share),
        // A host that is taken away in between explains a late sender, but not how late.
        // A CPU that gives out just where a link is full would be chance.
        confidence: supported_if((cpu.is_hot() || starved) && evidence.nominal_speed().is_none()),
        claim: format!(
            "The sender's CPU limits: it offered {} of L4 payload on average, and {}.",
            words::rate(offered),
            cpu.reason()
        ),
        evidence: figures,
        experiment: proving(evidence, cpu),
    })
}

/// A sender that falls short without loss is limited in itself; that its CPU is why, is likely only.
fn unrecorded(evidence: &Evidence<'_>) -> RuleOutcome {
    let falling = Plateau::from_evidence(evidence).filter(Plateau::falls);
    // An interface that pushes back, and an application that gives no more, fall short without loss too: only a CPU does
    // less when more is asked of it.
    let is_shown = falling.is_some() || Need::SenderCpu.is_met(evidence);
    if evidence.regime() != Regime::Sender || !is_shown {
        return not_recorded(&[Need::SenderCpu]);
    }
    let best = evidence.highest_rate(|trial| trial.offered_load);
    let peak = words::rate(best.unwrap_or(0.0));
    let mut figures = shortfall(evidence);
    let mut claim = match evidence.highest_relaxed() {
        Some(load) => format!(
            "The sender limits: the rate follows the intended load up to {load}, peaks at {peak}"
        ),
        None => format!("The sender limits: it offered at most {peak}"),
    };
    if let Some(plateau) = falling {
        claim.push_str(" and falls to ");
        claim.push_str(&words::rate(plateau.last));
        claim.push_str(" at an intended ");
        claim.push_str(&words::rate(plateau.to));
        figures.push(
            "The rate falls as more is intended: the host spends its time on each attempt; a link keeps its rate.".to_owned(),
        );
    }
    figures.push(if Need::SenderCpu.is_met(evidence) {
        "The sender's thread polls, so its CPU time shows nothing.".to_owned()
    } else {
        "CPU use was not recorded: that the sender's CPU is the cause is likely, not shown."
            .to_owned()
    });
    CAUSE.found(Case {
        share: Some(Gap::around_best(evidence).short_share()),
        confidence: Confidence::Weak,
        claim: format!(
            "{claim} with {}; its CPU is the likely cause.",
            loss(evidence)
        ),
        evidence: figures,
        experiment: Experiment::in_words(
            "record the sender's CPU (measure with linerate), and send larger packets",
            "its thread uses a whole core, and the offered load grows with the packet size",
        ),
    })
}

fn loss(evidence: &Evidence<'_>) -> String {
    let trials = evidence.trials().iter();
    let lost = trials.filter_map(|trial| Some(trial.packets()?.lost?.get()));
    match lost.reduce(u64::saturating_add) {
        None => "loss not recorded".to_owned(),
        Some(0) => "no loss".to_owned(),
        Some(lost) => format!("{} packets lost in all", words::count(lost)),
    }
}

/// Intended against offered at the loads that were not reached.
fn shortfall(evidence: &Evidence<'_>) -> Vec<String> {
    // More lines than these repeat themselves.
    const MAX_EXAMPLES: usize = 4;
    let short = evidence.stressed();
    short
        .iter()
        .filter_map(|trial| {
            Some(format!(
                "Of {} intended, the sender offered {}.",
                trial.intended_load?, trial.offered_load?
            ))
        })
        .take(MAX_EXAMPLES)
        .collect()
}
