//! What limits a run, and what each rule found.

use super::Limit;
use crate::experiment::Experiment;
use crate::spec::{Direction, Side};
use crate::units::{BitRate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// How sure a verdict is.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Confidence {
        /// Hints only, or a source is missing.
        Weak = "weak",
        /// Evidence from the run supports it.
        Supported = "supported",
        /// An experiment was run and agreed.
        Confirmed = "confirmed",
    }
}

/// What limits a run, and why.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Verdict {
    /// What limits.
    #[serde(flatten)]
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
    /// What probes add to it; null where none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighed: Option<Box<Weighed>>,
    /// The directions that this limits, of a run in several; empty where the run has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<Direction>,
}

impl Verdict {
    /// Says that it is of one direction of several, also in the claim.
    pub fn name_direction(&mut self, direction: Direction) {
        let way = match direction {
            Direction::Forward => "Forward: ",
            Direction::Reverse => "Reverse: ",
            Direction::Duplex => "Both ways: ",
        };
        self.claim.insert_str(0, way);
        self.directions = vec![direction];
    }

    /// Whether it holds for `direction`.
    pub fn holds_for(&self, direction: Direction) -> bool {
        self.directions.is_empty() || self.directions.contains(&direction)
    }
}

/// A verdict as probes see it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Weighed {
    /// How probable it is that this limit is the one whose relief raises the rate most, by how often such evidence was
    /// seen under each limit in scenes whose limit was measured.
    pub probability_ratio: Ratio,
    /// What would limit next; null where the run does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextLimit>,
}

impl Weighed {
    /// Probability from which on a limit is supported, if nothing else stands against it.
    pub const SUPPORTED: f64 = 0.9;
}

/// What would limit if the verdict's limit were relieved.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct NextLimit {
    /// What would limit.
    #[serde(flatten)]
    pub limit: Limit,
    /// On which side; null for the path.
    pub side: Option<Side>,
    /// The highest rate that it would let through, at the cost per byte that was measured: L4 payload at the receiver.
    #[serde(rename = "received_bps")]
    pub rate: BitRate,
}

/// A rule's outcome. A check that could not be made has not passed.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum RuleOutcome {
    /// The cause was found.
    Found {
        /// The case for it.
        verdict: Box<Verdict>,
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

impl Finding {
    /// What the rule found; `None` if it found nothing, or could not be examined.
    pub fn found(&self) -> Option<&Verdict> {
        match &self.outcome {
            RuleOutcome::Found { verdict } => Some(verdict),
            _ => None,
        }
    }
}
