//! The sending application: TCP had nothing to send.

use super::evidence::{Cpu, Evidence, Need, Regime, time_told};
use super::{Case, Cause, RuleOutcome, clear, not_recorded, proof, supported_if, words};
use crate::thresholds::tcp::LEAST_SHARE;
use linerate_model::BitRate;
use linerate_model::run::{Change, Experiment, Prediction, Quantity, Trial};
use linerate_model::spec::Side;

/// The application did not give TCP enough data.
pub(crate) static CAUSE: Cause = Cause {
    id: "sender-app",
    name: "the sender's application",
    side: Some(Side::Sender),
    subject: "the sending application",
    summary: "TCP was idle because the sending application gave it no data, with CPU time to spare.",
    needs: &[Need::Chronographs, Need::SenderCpu],
    explains_shortage: true,
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear(evidence.of_messages());
    }
    if !evidence.is_tcp() {
        return clear("datagrams are offered at an intended load, whatever the application has");
    }
    if evidence.regime() == Regime::Nothing {
        return clear("the application offered what was intended");
    }
    let Some(busy) = evidence.tcp(|tcp| Some(tcp.busy_ratio?.get())) else {
        return not_recorded(&[Need::Chronographs]);
    };
    if busy > 1.0 - LEAST_SHARE {
        return clear(format!(
            "TCP had data to send {} of the time",
            words::percent(busy)
        ));
    }
    let cpu = Cpu::of_side(evidence, Side::Sender);
    if let Some(hot) = cpu.as_ref().filter(|cpu| cpu.is_hot() || cpu.is_starved()) {
        return clear(format!("the application had no CPU time: {}", hot.reason()));
    }
    let idle = words::percent(1.0 - busy);
    let paced = Paced::from_evidence(evidence);
    let mut figures = vec![format!(
        "TCP had data to send {} of the trial (chronograph of the sending side).",
        words::percent(busy)
    )];
    figures.extend(cpu.iter().flat_map(Cpu::figures));
    figures.extend(time_told(evidence));
    let known = cpu.is_some_and(|cpu| cpu.is_idle());
    CAUSE.found(Case {
        share: Some(1.0 - busy),
        confidence: supported_if(known),
        claim: match &paced {
            Some(paced) => format!(
                "The sending application limits: it gave TCP {} of the {} that were intended, and {idle} of the time TCP had nothing to send.",
                words::rate(paced.given),
                words::rate(paced.intended)
            ),
            None => {
                format!("The sending application limits: {idle} of the time TCP had nothing to send.")
            }
        },
        evidence: figures,
        experiment: paced.map_or_else(larger_writes, |_| twice_the_load()),
    })
}

/// An application that keeps to an intended load, in bit/s.
struct Paced {
    intended: f64,
    given: f64,
}

impl Paced {
    fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let rate = |part: fn(&Trial) -> Option<BitRate>| {
            evidence.mean(|trial| Some(part(trial)?.as_f64()))
        };
        Some(Self {
            intended: rate(|trial| trial.intended_load)?,
            given: rate(|trial| trial.offered_load.or(trial.received_rate))?,
        })
    }
}

/// An application that is late by some share is so at twice the load too, and gives nearly twice as much; a window, a
/// link or a buffer does not carry more for it.
fn twice_the_load() -> Experiment {
    proof(
        Change::Load { factor: 2.0 },
        [Prediction::at_least(Quantity::ReceivedRate, 1.5)],
    )
}

/// Four times as much per write, as often as before, is more to send where writes are what is missing.
/// A window, a link or a buffer does not carry more for it.
fn larger_writes() -> Experiment {
    proof(
        Change::Payload { factor: 4.0 },
        [Prediction::at_least(Quantity::ReceivedRate, 1.5)],
    )
}
