//! What `linerate doctor` found and did: the document `linerate/doctor/1`.

use crate::facts::Facts;
use crate::histogram::Histogram;
use crate::knob::{Knob, Setting};
use crate::run::Tool;
use crate::time::{WallTime, as_seconds};
use crate::units::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Version of the document.
pub const SCHEMA: &str = "linerate/doctor/1";

/// One host, examined.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Examination {
    /// [`SCHEMA`].
    pub schema: String,
    /// What examined it.
    pub tool: Tool,
    /// When, by that host's clock.
    pub made: WallTime,
    /// The host's name, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Facts of the host.
    #[serde(default)]
    pub facts: Facts,
    /// Interface that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Core that measurements are to be pinned to, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<u32>,
    /// Every check that was asked for, worst first.
    pub checks: Vec<Checked>,
    /// Changes that were made or taken back, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeMade>,
    /// The file that takes the changes back, while there is any to take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_file: Option<String>,
    /// Interruptions of each core, if they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// What else must be known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A check and what came of it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Checked {
    /// Its kebab-case name.
    pub id: String,
    /// What it looks at.
    pub summary: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: CheckOutcome,
}

/// What came of a check. One that could not be made has not passed.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum CheckOutcome {
    /// Something spoils or blurs measurements.
    Found {
        /// What.
        finding: Finding,
    },
    /// It is as it should be.
    Fine {
        /// What it is now.
        now: String,
    },
    /// It could not be checked.
    NotChecked {
        /// Why not, and what would help.
        missing: String,
    },
}

/// Something that spoils or blurs measurements.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is now.
    pub now: String,
    /// What it costs, with a figure where there is one.
    pub cost: String,
    /// Where that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What to set, in words or as commands.
    pub set: String,
    /// Changes that linerate can make and take back, in the order to make them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
}

crate::named_enum! {
    /// How bad a finding is; the worst first.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Severity {
        /// Results on this host can mislead.
        High = "high",
        /// Results scatter, or latency is higher than the path's.
        Medium = "medium",
        /// Worth knowing.
        Low = "low",
    }
}

/// A change that was tried.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ChangeMade {
    /// What was to be changed.
    pub knob: Knob,
    /// Its value before, if it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The value that was wanted.
    pub wanted: String,
    /// Its value afterwards, if it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// What became of it.
    pub result: ChangeResult,
    /// Why, where that is not plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeResult {
    /// It had that value already.
    Already,
    /// It has that value now.
    Changed,
    /// Somebody else has changed it, so it was left as it is.
    Kept,
    /// The kernel, or this program's rights, did not allow it.
    Refused,
    /// The old value is back.
    Restored,
}

/// How long a spinning thread was kept from running, core by core.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Jitter {
    /// Time asked for.
    #[serde(rename = "asked_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub asked: Duration,
    /// Each core, all at the same time.
    pub cores: Vec<CoreJitter>,
}

/// Interruptions of one core.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CoreJitter {
    /// The core.
    pub core: u32,
    /// Why it could not be measured; all else is then zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// From the first reading of the clock to the last.
    #[serde(rename = "elapsed_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub elapsed: Duration,
    /// Readings of the clock.
    pub readings: u64,
    /// Median time between two readings in ns: what the clock itself costs.
    pub reading_ns: u64,
    /// Gaps above this many ns count as interruptions.
    pub threshold_ns: u64,
    /// Number of interruptions.
    pub interruptions: u64,
    /// Time lost in them: the gaps less `reading_ns` each.
    pub lost_ns: u64,
    /// Share of the time that was lost.
    pub lost_ratio: Ratio,
    /// Quantile 0.5 of the interruptions; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// Quantile 0.99 of the interruptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// Quantile 0.999 of the interruptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
    /// Longest interruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// All interruptions.
    pub histogram: Histogram,
    /// Time that the hypervisor took from this core meanwhile (`/proc/stat`, in steps of 10 ms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<u64>,
    /// Interrupts that this core served meanwhile, the most frequent first in number but sorted by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub interrupts: BTreeMap<String, u64>,
    /// Times that the thread was put aside for another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u64>,
}
