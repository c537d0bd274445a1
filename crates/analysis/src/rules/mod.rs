//! Diagnosis rules: each looks for one cause that limits a run, and says found, clear or not evaluated.
//!
//! A rule reads an `Evidence`, derived from one direction of one run, and nothing else. A check that
//! could not be made has not passed: it names what is missing. No rule is ever more than *supported*;
//! *confirmed* is only for an experiment that was run and agreed.
//!
//! # References
//! - Causes: T-RAT (Zhang et al. 2002), RFC 6349, Linux TCP chronographs (commit 05b055e89121)
//! - Intended and offered load: RFC 2285 §3.5

mod ceiling;
mod diagnose;
mod evidence;
mod page;
mod settle;
mod words;

mod congestion;
mod intended_load;
mod link;
mod overload_cpu;
mod path_loss;
mod path_mtu;
mod place;
mod policer;
mod receiver_app;
mod receiver_backlog;
mod receiver_cpu;
mod receiver_socket;
mod receiver_window;
mod round_trip;
mod sender_app;
mod sender_buffer;
mod sender_cpu;
mod tool;
mod unknown;

pub use diagnose::{conclude, diagnose};
use evidence::{Evidence, Need};
pub(crate) use evidence::{has_bucket, link_speed};
pub(crate) use link::{BEFORE_RECEIVER, FULL_LINK, own_shaper};
pub use page::page;

use linerate_model::Ratio;
use linerate_model::run::{
    Baseline, Change, Confidence, Experiment, ExperimentTest, Limit, Prediction, RuleOutcome,
    Verdict,
};
use linerate_model::spec::Side;

/// Every rule. A new one: its folder with its case files, its `mod` line above, its entry here.
///
/// The order breaks ties between rules that explain the same share: a cause comes before the place
/// where it shows (a receiver's CPU before the socket that overflows because of it). `unknown` is
/// last, since it reads what the others found.
pub(crate) static ALL: &[&dyn Rule] = &[
    &round_trip::RoundTrip,
    &intended_load::IntendedLoad,
    &tool::Tool,
    &sender_cpu::SenderCpu,
    &receiver_cpu::ReceiverCpu,
    &receiver_backlog::ReceiverBacklog,
    &receiver_app::ReceiverApp,
    &receiver_socket::ReceiverSocket,
    &receiver_window::ReceiverWindow,
    &sender_buffer::SenderBuffer,
    &sender_app::SenderApp,
    &path_mtu::PathMtu,
    &policer::Policer,
    &link::Link,
    &path_loss::PathLoss,
    &congestion::Congestion,
    &unknown::Unknown,
];

/// A cause that explains a limit, and the evidence it needs.
pub(crate) trait Rule: Sync {
    /// The rule's kebab-case name in findings, case files and docs.
    fn id(&self) -> &'static str;
    /// What it finds, as a noun with its article: "the link's rate".
    fn name(&self) -> &'static str;
    /// The limit it can find.
    fn limit(&self) -> Limit {
        Limit::new(self.id(), self.name())
    }
    /// One sentence for the reference page.
    fn summary(&self) -> &'static str;
    /// What it reads. Without these it may not be able to decide.
    fn needs(&self) -> &'static [Need];
    /// Whether what it finds explains what a sender of datagrams never offered, not only what was lost.
    fn explains_shortage(&self) -> bool {
        false
    }
    /// The outcome where `case` shows its limit.
    fn found(&self, case: Case) -> RuleOutcome {
        case.found(self.limit())
    }
    /// Decides for one direction of one run.
    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome;
}

/// The case for a cause, while a rule puts it together.
pub(crate) struct Case {
    side: Option<Side>,
    /// Share of the loss or of the time that it explains; `None` when it cannot be said.
    share: Option<f64>,
    confidence: Confidence,
    claim: String,
    evidence: Vec<String>,
    /// [`proof`] where linerate can run it, else [`Experiment::in_words`].
    experiment: Experiment,
}

impl Case {
    /// The outcome where it is one for `limit`.
    fn found(self, limit: Limit) -> RuleOutcome {
        RuleOutcome::Found {
            verdict: Box::new(Verdict {
                limit,
                side: self.side,
                share_ratio: self.share.map(Ratio::clamped),
                confidence: self.confidence.min(Confidence::Supported),
                claim: self.claim,
                evidence: self.evidence,
                experiment: Some(Box::new(self.experiment)),
                weighed: None,
            }),
        }
    }
}

/// An experiment that linerate can run; its words follow from its values.
fn proof(change: Change, predictions: impl Into<Vec<Prediction>>) -> Experiment {
    proof_from(Baseline::default(), change, predictions)
}

/// The same, for a search whose baseline has a load of its own.
fn proof_from(
    baseline: Baseline,
    change: Change,
    predictions: impl Into<Vec<Prediction>>,
) -> Experiment {
    Experiment::from(ExperimentTest {
        change,
        predictions: predictions.into(),
        baseline,
    })
}

/// Supported where all that `holds` asks for was seen, else weak.
fn supported_if(holds: bool) -> Confidence {
    if holds {
        Confidence::Supported
    } else {
        Confidence::Weak
    }
}

fn clear(because: impl Into<String>) -> RuleOutcome {
    RuleOutcome::Clear {
        because: because.into(),
    }
}

fn not_evaluated(missing: impl Into<String>) -> RuleOutcome {
    RuleOutcome::NotEvaluated {
        missing: missing.into(),
    }
}

/// Not evaluated, since the run has none of `needs`.
fn not_recorded(needs: &[Need]) -> RuleOutcome {
    not_evaluated(Need::not_recorded(needs))
}

#[cfg(test)]
mod tests;
