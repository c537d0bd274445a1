//! What limits a run, and what each rule found.

use crate::experiment::Experiment;
use crate::spec::Side;
use crate::units::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can limit a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Nothing saturated: what was asked for was carried.
    IntendedLoad,
    /// The link's or shaper's rate.
    Link,
    /// A policer that drops above a rate.
    Policer,
    /// Loss on the path that does not come from load.
    PathLoss,
    /// Packets larger than the path carries.
    PathMtu,
    /// Other traffic or congestion control.
    Congestion,
    /// The sender's CPU.
    SenderCpu,
    /// The sender's application.
    SenderApp,
    /// The sender's socket buffer.
    SenderBuffer,
    /// The receiver's advertised window.
    ReceiverWindow,
    /// The receiver's CPU.
    ReceiverCpu,
    /// The receiver's softnet backlog.
    ReceiverBacklog,
    /// The receiver's socket buffer.
    ReceiverSocket,
    /// The receiver's application.
    ReceiverApp,
    /// The measuring tool itself.
    Tool,
    /// Not known.
    Unknown,
}

impl Limit {
    /// The kebab-case name, as in the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IntendedLoad => "intended-load",
            Self::Link => "link",
            Self::Policer => "policer",
            Self::PathLoss => "path-loss",
            Self::PathMtu => "path-mtu",
            Self::Congestion => "congestion",
            Self::SenderCpu => "sender-cpu",
            Self::SenderApp => "sender-app",
            Self::SenderBuffer => "sender-buffer",
            Self::ReceiverWindow => "receiver-window",
            Self::ReceiverCpu => "receiver-cpu",
            Self::ReceiverBacklog => "receiver-backlog",
            Self::ReceiverSocket => "receiver-socket",
            Self::ReceiverApp => "receiver-app",
            Self::Tool => "tool",
            Self::Unknown => "unknown",
        }
    }
}

/// How sure a verdict is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Hints only, or a source is missing.
    Weak,
    /// Evidence from the run supports it.
    Supported,
    /// An experiment was run and agreed.
    Confirmed,
}

/// What limits a run, and why.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Verdict {
    /// What limits.
    pub limit: Limit,
    /// On which side; null for the path or nothing.
    pub side: Option<Side>,
    /// Share of the loss or of the time that this explains; null when it cannot be said.
    pub share_ratio: Option<Ratio>,
    /// How sure.
    pub confidence: Confidence,
    /// One sentence with figures.
    pub claim: String,
    /// The figures that show it, one sentence each.
    pub evidence: Vec<String>,
    /// An experiment that would confirm it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Box<Experiment>>,
}

/// A rule's outcome. A check that could not be made has not passed.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum RuleOutcome {
    /// The cause was found.
    Found {
        /// The case for it.
        verdict: Verdict,
    },
    /// The cause can be ruled out.
    Clear {
        /// The figure that rules it out.
        because: String,
    },
    /// Not enough is known to decide.
    NotEvaluated {
        /// What is missing.
        missing: String,
    },
}

/// One rule's outcome for one run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: String,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: RuleOutcome,
}
