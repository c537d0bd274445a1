//! The comparison document, `linerate/compare/1`: what `linerate compare A B` says of B against A.
//!
//! Keys carry their unit: a metric's id names the unit of its values. What a source cannot tell is absent.

use crate::estimate::Estimate;
use crate::quantity::Quantity;
use crate::run::{HostRole, RunKind, Tool};
use crate::spec::{Direction, Transport};
use crate::time::WallTime;
use crate::units::{BitRate, ByteCount, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::quantity::BetterWhen;

/// The schema id of this version.
pub const SCHEMA: &str = "linerate/compare/1";

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The base.
    pub a: Compared,
    /// What is judged against it.
    pub b: Compared,
    /// Smallest relative difference that matters; of loss, see `loss_threshold_ratio`.
    pub threshold_ratio: Ratio,
    /// Smallest difference of two loss ratios that matters.
    pub loss_threshold_ratio: Ratio,
    /// Coverage that each interval claims, alone.
    pub confidence_ratio: f64,
    /// How many of the metrics were tested: the family that `p_adjusted` is corrected for.
    pub tested: u32,
    /// Tests that show B better by more than the threshold.
    pub faster: u32,
    /// Tests that show B worse by more than the threshold.
    pub slower: u32,
    /// Metrics that show no such difference, untested ones included.
    pub not_shown: u32,
    /// Whether anything is shown to be worse: exit code 7.
    pub regression: bool,
    /// The answer: exit codes 0, 7 and 8.
    #[serde(default)]
    pub answer: CompareAnswer,
    /// Smallest relative regression that the metrics that decide must be able to show; of loss, see
    /// `loss_sensitivity_ratio`.
    #[serde(default)]
    pub sensitivity_ratio: Ratio,
    /// Smallest rise of a loss ratio that they must be able to show.
    #[serde(default)]
    pub loss_sensitivity_ratio: Ratio,
    /// A against itself, measured in the same turns: a difference that it shows is the set-up's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Whether both were measured on the same machines.
    pub machines: Machines,
    /// Settings that both tell and that differ.
    pub settings: Vec<Difference>,
    /// What could be compared, in the order of A.
    pub pairs: Vec<Pair>,
    /// What has no partner, and why.
    pub unpaired: Vec<Unpaired>,
    /// What to be careful about.
    pub notes: Vec<String>,
}

/// The control of a comparison that was measured in turns: A against A.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Control {
    /// How often each side was measured.
    pub repetitions: u32,
    /// Seed of the order.
    pub seed: u64,
    /// Metrics that show a difference where there is none, in words.
    pub false_alarms: Vec<String>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Compared {
    /// What the user called it: an id, a path, a log.
    pub name: String,
    /// Id of the run.
    pub id: String,
    /// What was run.
    pub kind: RunKind,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it started, as far as its source says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<WallTime>,
    /// What measured.
    pub tool: Tool,
}

/// Whether two runs were measured on the same machines.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Machines {
    /// The answer.
    pub same: SameMachines,
    /// Facts that differ, or that one of them does not tell.
    pub differences: Vec<Difference>,
}

/// Whether two runs were measured on the same machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SameMachines {
    /// At least one end is another machine: absolute numbers are not comparable.
    Different,
    /// Both ends are the same machines.
    Same,
    /// One of the runs does not tell enough of its hosts.
    Unknown,
}

/// Something that is not the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Difference {
    /// Whose; absent for a setting of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<HostRole>,
    /// What differs: `cpu`, `kernel`, `nic`, or the key of a setting.
    pub what: String,
    /// In A; absent if it does not tell.
    #[serde(default)]
    pub a: Option<String>,
    /// In B; absent if it does not tell.
    #[serde(default)]
    pub b: Option<String>,
}

/// What was measured at one setting. What a source does not tell is absent.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ComparedCell {
    /// In words.
    pub name: String,
    /// What was run.
    pub kind: RunKind,
    /// Cell of a study, or part of a demo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Seen from the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Datagram payload, write size or message size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<ByteCount>,
    /// Parallel streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u16>,
    /// Wait mode and load beside the messages, of latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Intended load; absent also when unpaced.
    #[serde(
        rename = "intended_bps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub intended_load: Option<BitRate>,
    /// Goal of a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
}

/// A cell of A and the cell of B that it is compared with.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Pair {
    /// What both measured.
    pub cell: ComparedCell,
    /// What only one of them tells, and the other was taken to agree with.
    pub assumed: Vec<String>,
    /// Every metric that both know.
    pub metrics: Vec<MetricComparison>,
}

/// A cell without a partner.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Unpaired {
    /// `a` or `b`: whose.
    pub side: ComparedSide,
    /// The cell.
    pub cell: ComparedCell,
    /// Why nothing of the other side is comparable.
    pub why: String,
}

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedSide {
    /// The base.
    A,
    /// What is judged against it.
    B,
}

/// One metric of a pair.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MetricComparison {
    /// Its id, with the unit of its values: `half_round_trip_p50_ns`.
    pub metric: Quantity,
    /// In words: `half round trip, p50`.
    pub words: String,
    /// Which direction is good.
    pub better: BetterWhen,
    /// A's value: the geometric mean over its trials where there is a ratio, else the arithmetic one.
    pub a: Estimate,
    /// B's value: the geometric mean over its trials where there is a ratio, else the arithmetic one.
    pub b: Estimate,
    /// B / A.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Estimate>,
    /// B − A, where a ratio would say nothing (loss, values of zero).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Estimate>,
    /// What the intervals are made of, and so what they cover.
    pub basis: Basis,
    /// Probability of at least such a difference if the true one were no larger than the threshold (two-sided).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// `p`, corrected for all tests of this comparison (Holm).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// What is shown.
    pub verdict: CompareVerdict,
    /// Whether the interval shows that the difference is smaller than the threshold.
    pub within_threshold: bool,
    /// Whether the comparison cannot be answered without this metric.
    #[serde(default)]
    pub decides: bool,
    /// What is known of a regression.
    #[serde(default)]
    pub answer: CompareAnswer,
    /// What the repetitions could show; absent where nothing is known of the scatter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// Why no difference is shown, where that is not plain from the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Whether B is worse than A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompareAnswer {
    /// Neither is shown: the repetitions are too few, or scatter too much.
    #[default]
    CannotTell,
    /// No regression is shown, and one of the size asked for would have been.
    NoRegression,
    /// B is worse by more than the threshold.
    Regression,
}

/// What the repetitions of both sides could show.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Power {
    /// Smallest regression that would have been shown in four of five such comparisons: relative, of loss ratios their
    /// difference.
    pub detectable_ratio: f64,
    /// Repetitions on each side that would show the regression asked for, if they scatter as these; absent above 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u32>,
    /// What tells the scatter from trial to trial.
    pub scatter: ScatterFrom,
}

/// What tells the scatter from trial to trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScatterFrom {
    /// Several trials, or turns, on both sides.
    BothSides,
    /// Several on one side; the other is taken to scatter alike.
    OneSide,
    /// The intervals within the single trials: trials are taken to scatter like these, which is a guess.
    WithinTrials,
}

crate::named_enum! {
    /// What the intervals of a comparison are made of.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Basis {
        /// The scatter of several trials on both sides (Welch): covers what differs from trial to trial.
        BetweenTrials = "scatter between trials",
        /// The scatter of the turns of one trial on a side or both (Welch): covers what drifts on a host, not what
        /// differs from run to run.
        BetweenTurns = "scatter between the turns of one run",
        /// There is no interval.
        None = "none",
        /// Rounding of printed figures only.
        Rounding = "rounding of the log only",
        /// Lower and upper bound of a search.
        SearchBounds = "bounds of the search",
        /// Order statistics of the values of one trial: does not cover what differs from trial to trial.
        WithinTrial = "values of one trial only",
    }
}

/// What a comparison shows of B against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompareVerdict {
    /// B is better by more than the threshold.
    Faster,
    /// Neither is shown. This does not show that there is no difference.
    NoDifferenceShown,
    /// B is worse by more than the threshold.
    Slower,
}
