//! The reproduction document, `linerate/reproduce/1`: whether a published result holds, cell by cell and claim by claim.
//!
//! There is no single score: a cell has a verdict with its interval, a claim the combinations in which it held.

use crate::audit::Audit;
use crate::estimate::Estimate;
use crate::run::Tool;
use crate::units::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema id of this version.
pub const SCHEMA: &str = "linerate/reproduce/1";

/// A published table beside a measurement.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reproduction {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What judged.
    pub tool: Tool,
    /// What the table's own figures contradict.
    pub audit: Audit,
    /// The runs that were measured, by their ids.
    pub runs: Vec<String>,
    /// The command that repeats the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Largest relative difference at which a value counts as reproduced.
    pub margin_ratio: Ratio,
    /// Relative difference that repetitions must be able to show, or nothing is said of the cell.
    pub sensitivity_ratio: Ratio,
    /// How many cells have each verdict.
    pub tally: VerdictTally,
    /// What to expect by chance.
    pub expected: ExpectedFalse,
    /// What the published set-up and that of the measurement have in common, and what not.
    pub setup: Vec<SetupFact>,
    /// Every cell of the table, in its order.
    pub cells: Vec<CellVerdict>,
    /// Every claim of the table, in its order.
    pub claims: Vec<ClaimVerdict>,
}

/// How many cells have each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct VerdictTally {
    /// The interval of the ratio lies inside the margin.
    pub reproduced: u32,
    /// No difference beyond what repetitions explain.
    pub compatible: u32,
    /// A difference that repetitions do not explain.
    pub differs: u32,
    /// Too few repetitions, or too much scatter.
    pub cannot_tell: u32,
    /// Something else was measured.
    pub not_comparable: u32,
    /// Nothing was measured.
    pub not_measured: u32,
}

/// False verdicts to expect.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ExpectedFalse {
    /// Probability that any cell is said to differ if all true values are equal (Holm over the table).
    pub any_differs: f64,
    /// Most cells that are said to be reproduced though their true ratio lies on the margin or beyond, on average: one in
    /// twenty of those that were tested.
    pub reproduced: f64,
}

/// One fact of the set-up.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SetupFact {
    /// Its name: `cpu`, `kernel`, `nic`, or one of the table's own.
    pub fact: String,
    /// As published.
    pub published: String,
    /// As recorded of the measurement; absent where it records no such fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// What follows of it.
    pub bearing: SetupBearing,
}

crate::named_enum! {
    /// What follows of a fact of the set-up.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum SetupBearing {
        /// It differs, and the user takes that as no difference.
        Accepted = "differs, accepted",
        /// It differs or is not recorded: values are not comparable.
        Differs = "differs: values are not comparable",
        /// It is the same.
        Same = "the same",
    }
}

/// One cell of the table beside what was measured.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CellVerdict {
    /// Its levels.
    pub cell: String,
    /// The unit of its values.
    pub unit: String,
    /// As published.
    pub published: f64,
    /// Independent runs behind it; absent where the table does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_runs: Option<u32>,
    /// What was measured: geometric mean with its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Estimate>,
    /// Measured / published, with its 90 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Estimate>,
    /// Probability of at least such a difference if both are of the same distribution, corrected for all cells (Holm).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// What is shown.
    pub verdict: CellOutcome,
    /// Why, where the interval does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What is shown of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum CellOutcome {
    /// Inside the prediction interval, and not shown to be inside the margin.
    Compatible,
    /// The repetitions cannot show a difference of the size asked for.
    CannotTell {
        /// So many would; absent where none do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repetitions: Option<u32>,
    },
    /// Outside the prediction interval.
    Differs,
    /// The set-up differs.
    NotComparable,
    /// Nothing was measured.
    NotMeasured,
    /// The 90 % interval of the ratio lies inside the margin (two one-sided tests at 5 %).
    Reproduced,
}

/// One claim beside the published figures and what was measured.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// The claim as an expression.
    pub claim: String,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// In the published figures.
    pub published: ClaimTally,
    /// In what was measured.
    pub measured: ClaimTally,
    /// Combinations in which published and measured figures say the same.
    pub agree: u32,
}

/// In how many combinations of the other factors a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ClaimTally {
    /// Combinations that have all the cells it reads.
    pub asked: u32,
    /// Combinations in which the values hold it.
    pub held: u32,
    /// Combinations in which it holds for all values of the 95 % intervals (of published figures: of their rounding).
    pub shown: u32,
    /// Combinations in which it holds for none.
    pub refuted: u32,
}
