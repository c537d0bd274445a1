//! What a study shows: effects of its factors with intervals, its A/A control, and what stands out in its runs.

use super::StudyPlace;
use crate::estimate::Estimate;
use crate::quantity::Quantity;
use crate::spec::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the repetitions of a study show.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct StudyFindings {
    /// How many effects were tested and corrected together (Holm): if none is there, any is shown with a probability of
    /// at most 5 %.
    pub tests: u32,
    /// The cell that was measured twice; absent where the plan has no control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<StudyControl>,
    /// Each level of each factor against the factor's first, averaged over the other factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub main_effects: Vec<MainEffect>,
    /// By how much an effect differs between levels of another factor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
    /// How the values of a cell scatter, by level of repetition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scatter: Vec<Scatter>,
    /// How often the peer's program was started and built for the study; absent where a run does not tell its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// Runs far from the others of their cell. They are in every mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
    /// Cells whose runs begin at another rate than they go on with. What comes first is in every mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transients: Vec<Transient>,
}

/// A level of a factor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct FactorLevel {
    /// The factor: `payload`.
    pub factor: String,
    /// Its level: `64`.
    pub level: String,
}

/// One level against the first of its factor.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MainEffect {
    /// The quantity by its key in a trial or goal.
    pub quantity: Quantity,
    /// The level.
    pub of: FactorLevel,
    /// The level that it is held against.
    pub against: String,
    /// Averaged over all combinations of the other factors that have both levels.
    pub effect: Effect,
    /// The series whose cells are compared; absent in a study without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
}

/// An effect at one level of another factor, against the same effect at that factor's first level.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Interaction {
    /// The quantity by its key in a trial or goal.
    pub quantity: Quantity,
    /// A level of the first factor, and a level of the second.
    pub of: [FactorLevel; 2],
    /// The levels that they are held against.
    pub against: [String; 2],
    /// Ratio of two ratios; of losses the difference of two differences.
    pub effect: Effect,
    /// The effect of each factor at both levels of the other one.
    pub simple: Vec<SimpleEffect>,
    /// The series whose cells are compared; absent in a study without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
}

/// The effect of a level at one level of another factor.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SimpleEffect {
    /// The level.
    pub of: FactorLevel,
    /// Where the other factor stands.
    pub at: FactorLevel,
    /// With its own interval, not corrected.
    pub estimate: Estimate,
}

/// An effect, tested.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Effect {
    /// What the effect is.
    pub scale: EffectScale,
    /// With its 95 % interval, which is not corrected for other tests; n counts the independent units of its cells: runs,
    /// or what [`CellEstimate::level`](super::CellEstimate::level) says.
    pub estimate: Estimate,
    /// Two-sided probability of at least this effect if there is none.
    pub p: f64,
    /// `p`, corrected for all tests of the study (Holm).
    pub p_adjusted: f64,
    /// What that shows.
    pub verdict: EffectVerdict,
    /// Smallest true effect that such a study shows in four of five cases: a relative change; of losses a difference.
    pub detectable_ratio: f64,
}

/// What an effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectScale {
    /// Difference of means; no effect is 0.
    Difference,
    /// Ratio of geometric means; no effect is 1.
    Ratio,
}

/// What a test of an effect shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectVerdict {
    /// No effect is shown, which is not that there is none.
    NotShown,
    /// There is one.
    Shown,
    /// It would be shown, but the A/A control shows one as large.
    WithinControl,
}

/// One cell measured twice, in turns with all others.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StudyControl {
    /// The cell.
    pub cell: String,
    /// The second against the first, for each quantity.
    pub differences: Vec<ControlDifference>,
}

impl StudyControl {
    /// Whether the cell differs from itself: then something else than the factors changed.
    pub fn shows_difference(&self) -> bool {
        let mut all = self.differences.iter();
        all.any(|one| one.effect.verdict == EffectVerdict::Shown)
    }
}

/// A quantity of the control.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ControlDifference {
    /// The quantity by its key in a trial or goal.
    pub quantity: Quantity,
    /// Seen from the client.
    pub direction: Direction,
    /// Corrected for all quantities of the control.
    pub effect: Effect,
}

/// How the values of one quantity scatter within cells, over all cells.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Scatter {
    /// The quantity by its key in a trial or goal.
    pub quantity: Quantity,
    /// The level of repetition.
    pub level: RepetitionLevel,
    /// Standard deviation of the logarithms of what is repeated there: 0.02 is 2 %.
    pub deviation_ratio: f64,
    /// How many are repeated there for each of the next level on average: runs of a cell, intervals of a run.
    pub repetitions: f64,
}

/// How often what answers the runs of a study was started and built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Repetition {
    /// Different builds of the peer's program; absent where a run does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builds: Option<u32>,
    /// Starts of it.
    pub starts: u32,
    /// Runs of the study.
    pub runs: u32,
    /// What n counts in the cell that has the outermost level.
    pub level: RepetitionLevel,
}

/// What is repeated, from the outside to the inside. Only the outermost level that a cell repeats gives n.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RepetitionLevel {
    /// A build of the peer's program.
    Build,
    /// A start of it.
    Start,
    /// A run of a cell: connections and sockets are set up anew.
    #[default]
    Run,
    /// A trial of a run.
    Trial,
    /// An interval of a trial.
    Interval,
}

impl RepetitionLevel {
    /// Whether it is the run, which n counts where nothing else is said.
    pub const fn is_run(&self) -> bool {
        matches!(self, Self::Run)
    }
}

/// A run that is far from the others of its cell.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Outlier {
    /// Where it stands.
    pub place: StudyPlace,
    /// Seen from the client.
    pub direction: Direction,
    /// The quantity by its key in a trial or goal.
    pub quantity: Quantity,
    /// What the run says.
    pub value: f64,
    /// Median of the cell.
    pub median: f64,
}

/// A beginning that is not like the rest, in several runs of a cell.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Transient {
    /// The cell.
    pub cell: String,
    /// Seen from the client.
    pub direction: Direction,
    /// Runs whose intervals were looked at.
    pub runs: u32,
    /// Those that begin unlike they go on.
    pub unsteady: u32,
    /// Those of them that were not steady by the middle of the test.
    pub never_steady: u32,
    /// Median time from which on the unsteady runs are steady.
    #[serde(rename = "steady_from_s", with = "crate::time::as_seconds")]
    #[schemars(with = "f64")]
    pub steady_from: Duration,
    /// Median ratio of the rate from then on to that of the whole run.
    pub steady_ratio: f64,
}
