//! An experiment that would confirm what limits a run: one change, and what it must do if the claim is true.
//!
//! A prediction is chosen so that it fails if another likely limit were the true one. Words are
//! derived from the values, so that what people read and what is run cannot differ.

use crate::dut::DutRelief;
use crate::estimate::Estimate;
use crate::quantity::Quantity;
use crate::run::{Limit, Trial};
use crate::spec::Side;
use crate::time::WallTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that is done differently from the baseline; everything else stays.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// The intended load, as a multiple of the rate that the baseline's receiver got (L4 payload).
    Load {
        /// Multiple of the received rate.
        factor: f64,
    },
    /// The payload of each datagram, or the size of each write (TCP), at the same intended load.
    Payload {
        /// Multiple of the baseline's payload.
        factor: f64,
    },
    /// The number of parallel streams; the intended load is that of all together and stays.
    Streams {
        /// Multiple of the baseline's streams.
        factor: u16,
    },
    /// The sender's socket buffer, as a multiple of what the system really gave the baseline.
    SendBuffer {
        /// Multiple of the buffer.
        factor: f64,
    },
    /// The receiver's socket buffer, as a multiple of what the system really gave the baseline.
    ReceiveBuffer {
        /// Multiple of the buffer.
        factor: f64,
    },
    /// Datagrams, after TCP in its place, at a multiple of the rate that was carried (L4 payload): they show what the
    /// path and the hosts carry whatever TCP makes of it.
    Datagrams {
        /// Multiple of the received rate.
        factor: f64,
    },
    /// Datagrams as small as acknowledgements, after TCP and the other way, at a multiple of the rate of
    /// these: they show what the return path carries.
    ReturnDatagrams {
        /// Multiple of the acknowledgements per second.
        factor: f64,
    },
    /// The traffic thread of one side is pinned to a core that was less busy.
    OtherCore {
        /// Whose thread.
        side: Side,
    },
    /// Segmentation offload at the sender and its counterpart at the receiver (UDP GSO and GRO).
    Aggregation {
        /// Switched on, or off.
        on: bool,
    },
    /// Traffic flows the other way.
    Reverse,
    /// A wire takes the place of the device under test.
    Wire,
    /// The device under test is relieved while it runs.
    Relief {
        /// By what.
        relief: DutRelief,
    },
}

impl Change {
    /// Whether it is made to a device under test, and the test stays as it is.
    pub const fn is_of_device(self) -> bool {
        matches!(self, Self::Wire | Self::Relief { .. })
    }

    /// By what a device is relieved.
    pub const fn relief(self) -> Option<DutRelief> {
        match self {
            Self::Relief { relief } => Some(relief),
            _ => None,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Load { factor } => {
                write!(
                    f,
                    "set the intended load to {} times the received rate",
                    short(factor)
                )
            }
            Self::Payload { factor } => write!(
                f,
                "{} at the same intended load",
                scaled(factor, "the payload per packet")
            ),
            Self::Streams { factor } => f.write_str(&scaled(f64::from(factor), "the streams")),
            Self::SendBuffer { factor } => {
                f.write_str(&scaled(factor, "the sender's socket buffer"))
            }
            Self::ReceiveBuffer { factor } => {
                f.write_str(&scaled(factor, "the receiver's socket buffer"))
            }
            Self::Datagrams { factor } => write!(
                f,
                "send datagrams at {} times the carried rate",
                short(factor)
            ),
            Self::ReturnDatagrams { factor } => write!(
                f,
                "send small datagrams the other way at {} times the rate of acknowledgements",
                short(factor)
            ),
            Self::OtherCore { side: whose } => {
                write!(
                    f,
                    "move the {}'s traffic thread to another core",
                    whose.as_str()
                )
            }
            Self::Aggregation { on: true } => {
                f.write_str("send and receive many packets per system call (GSO and GRO)")
            }
            Self::Aggregation { on: false } => {
                f.write_str("send and receive without aggregation (no GSO, no GRO)")
            }
            Self::Reverse => f.write_str("send the other way"),
            Self::Wire => f.write_str("put a wire in the device's place"),
            Self::Relief { relief } => relief.fmt(f),
        }
    }
}

/// A factor of a change with at most three decimals: `2`, `0.354`.
fn short(factor: f64) -> f64 {
    (factor * 1000.0).round() / 1000.0
}

/// The quantities that predictions are about, by their names in documents.
pub const PREDICTED: [(Quantity, &str); 8] = [
    (Quantity::OfferedRate, "offered-rate"),
    (Quantity::ReceivedRate, "received-rate"),
    (Quantity::WireRate, "wire-rate"),
    (Quantity::OfferedPacketRate, "offered-packet-rate"),
    (Quantity::ReceivedPacketRate, "received-packet-rate"),
    (Quantity::LossRatio, "loss-ratio"),
    (Quantity::DelayUnderLoad, "delay"),
    (Quantity::WindowUse, "window-use"),
];

/// A predicted quantity by its name.
mod predicted {
    use super::PREDICTED;
    use crate::quantity::Quantity;
    use schemars::{Schema, SchemaGenerator, json_schema};
    use serde::{Deserialize, Deserializer, Serializer, de, ser};
    use std::borrow::Cow;

    pub(super) fn serialize<S: Serializer>(quantity: &Quantity, to: S) -> Result<S::Ok, S::Error> {
        let mut all = PREDICTED.iter();
        let name = all.find(|(known, _)| known == quantity);
        let name =
            name.ok_or_else(|| ser::Error::custom("no prediction is about this quantity"))?;
        to.serialize_str(name.1)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Quantity, D::Error> {
        let name = Cow::<str>::deserialize(from)?;
        let mut all = PREDICTED.iter();
        let quantity = all.find(|(_, known)| *known == name);
        let unknown = || de::Error::unknown_variant(&name, &[]);
        quantity.map(|(quantity, _)| *quantity).ok_or_else(unknown)
    }

    pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
        let names = PREDICTED.map(|(quantity, name)| {
            json_schema!({"type": "string", "const": name, "description": quantity.noun()})
        });
        json_schema!({"oneOf": names})
    }
}

/// What a change must do to one quantity if the claim is true.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Prediction {
    /// What it is about.
    #[serde(with = "predicted")]
    #[schemars(schema_with = "predicted::schema")]
    pub quantity: Quantity,
    /// Whether the bounds are on changed ÷ baseline; otherwise on the changed value itself, in the
    /// unit of the quantity.
    pub relative: bool,
    /// Lower bound; absent when any value below the upper one will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Upper bound; absent when any value above the lower one will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

impl Prediction {
    /// Changed ÷ baseline is at least `factor`.
    pub const fn at_least(quantity: Quantity, factor: f64) -> Self {
        Self {
            quantity,
            relative: true,
            at_least: Some(factor),
            at_most: None,
        }
    }

    /// Changed ÷ baseline is at most `factor`.
    pub const fn at_most(quantity: Quantity, factor: f64) -> Self {
        Self {
            quantity,
            relative: true,
            at_least: None,
            at_most: Some(factor),
        }
    }

    /// Changed ÷ baseline is within `low..=high`.
    pub const fn within(quantity: Quantity, low: f64, high: f64) -> Self {
        Self {
            quantity,
            relative: true,
            at_least: Some(low),
            at_most: Some(high),
        }
    }

    /// Makes the bounds those of the changed value itself, in the unit of the quantity.
    #[must_use]
    pub const fn absolute(mut self) -> Self {
        self.relative = false;
        self
    }

    /// A value of this prediction's kind for people: `1.32 times the baseline's`, `12.3 Mbit/s`.
    pub fn shown(&self, value: f64) -> String {
        if self.relative {
            format!("{} times the baseline's", factor(value))
        } else {
            self.quantity.shown(value)
        }
    }

    /// How many percent of the baseline it may differ either way; `None` if the bounds are others than that.
    fn tolerance(&self, low: f64, high: f64) -> Option<f64> {
        let is_symmetric = (low + high - 2.0).abs() < 1e-9;
        (self.relative && is_symmetric).then(|| ((high - 1.0) * 1000.0).round() / 10.0)
    }

    /// A bound without what it is compared with.
    pub fn bound(&self, value: f64) -> String {
        if self.relative {
            factor(value)
        } else {
            self.quantity.shown(value)
        }
    }
}

/// What multiplying `what` by a factor is called: `halve the streams`, `multiply the streams by 8`.
fn scaled(factor: f64, what: &str) -> String {
    let is = |wanted: f64| (factor - wanted).abs() < 1e-9;
    if is(0.5) {
        format!("halve {what}")
    } else if is(2.0) {
        format!("double {what}")
    } else {
        format!("multiply {what} by {}", short(factor))
    }
}

/// Three digits that count, for ratios from thousandths to thousands.
fn factor(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 || v <= 0.0 => format!("{value:.2}"),
        v if v >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} is ", self.quantity)?;
        match (self.at_least, self.at_most) {
            (Some(low), Some(high)) => match self.tolerance(low, high) {
                Some(percent) => write!(f, "within ±{percent} % of the baseline"),
                None => write!(f, "from {} to {}", self.bound(low), self.shown(high)),
            },
            (Some(low), None) => write!(f, "at least {}", self.shown(low)),
            (None, Some(high)) => write!(f, "at most {}", self.shown(high)),
            (None, None) => f.write_str("anything"),
        }
    }
}

/// What is changed, and what must then be seen.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ExperimentTest {
    /// The one thing done differently.
    pub change: Change,
    /// All of these must come true.
    pub predictions: Vec<Prediction>,
    /// The load of a search's baseline.
    #[serde(default, skip_serializing_if = "Baseline::is_default")]
    pub baseline: Baseline,
}

/// At which load the baseline of a saturation search's experiment runs: there the limit shows, and little else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// Just above the bound that was found.
    #[default]
    AboveBound,
    /// Half as much again as the bound: where one trial carries clearly more than the next.
    FarAboveBound,
    /// Above all that got through, also beyond the bound: where a little loss at every load made it.
    AbovePath,
    /// Below the highest received rate.
    BelowBest,
    /// The highest load that was carried without loss.
    Carried,
    /// Just above the bound that was found, or where there is none above the lowest load at which something was lost.
    AboveLoss,
    /// The most that linerate sends over a wire in the device's place.
    Ceiling,
}

impl Baseline {
    /// Whether it is what a test means that does not say.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ExperimentTest {
    /// The predictions as one phrase.
    pub fn expect(&self) -> String {
        let each: Vec<String> = self.predictions.iter().map(ToString::to_string).collect();
        each.join(", and ")
    }
}

crate::named_enum! {
    /// What an experiment says to the claim.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Answer {
        /// Every prediction came true.
        Agreed = "agreed",
        /// At least one prediction was shown to be false.
        Disagreed = "disagreed",
        /// Neither could be shown.
        Undecided = "undecided",
    }
}

/// One prediction and what was seen.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Observed {
    /// What was predicted.
    pub prediction: Prediction,
    /// Changed ÷ baseline (geometric mean over the pairs) for a relative prediction, else the mean of
    /// the changed trials in the unit of the quantity; with its interval.
    pub estimate: Estimate,
    /// True or false when the whole interval is inside or outside the bounds; null when neither is shown.
    pub came_true: Option<bool>,
}

/// What came of an experiment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ExperimentOutcome {
    /// What it says to the claim.
    pub answer: Answer,
    /// Pairs of a baseline and a changed trial that were judged.
    pub pairs: u32,
    /// Each prediction with what was seen.
    #[serde(default)]
    pub observed: Vec<Observed>,
    /// What else decided the answer: a sender that could not offer the changed load, pairs left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An experiment that would confirm a claim, and its result once it was run.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Experiment {
    /// What to change.
    pub change: String,
    /// What to expect if the claim is true.
    pub expect: String,
    /// What happened; absent until it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Change and expectation as values that linerate can run and judge; absent where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<ExperimentTest>,
    /// The figures of the result; absent until it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ExperimentOutcome>,
    /// Why it was asked for and could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
}

/// A short trial of the run's test with one change, made to tell apart what may limit. The run's own trial of the
/// same direction is what it is compared with.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Probe {
    /// What was done differently.
    pub change: Change,
    /// What was measured.
    pub trial: Trial,
}

/// An experiment that was run, with its trials.
///
/// These trials are apart from the run's own on purpose: they measure a changed test, so that no
/// curve, ledger or rule reads them.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// What the claim says limits.
    #[serde(flatten)]
    pub limit: Limit,
    /// On which side; null for the path.
    pub side: Option<Side>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<WallTime>,
    /// What was asked, and what came of it.
    pub experiment: Experiment,
    /// Every trial in the order it was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<ExperimentTrial>,
}

/// One trial of an experiment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ExperimentTrial {
    /// Which of the two tests it measured.
    pub part: Part,
    /// The pair that it belongs to, from 1; 0 for the pilot.
    pub pair: u32,
    /// What was measured.
    pub trial: Trial,
}

crate::named_enum! {
    /// The tests of an experiment.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Part {
        /// The first baseline: tells received rate and buffers, which the change is relative to; not judged.
        Pilot = "pilot",
        /// The test as it was, short.
        Baseline = "baseline",
        /// The short test with the one change.
        Changed = "changed",
    }
}

impl Experiment {
    /// An experiment that only people can run.
    pub fn in_words(change: impl Into<String>, expect: impl Into<String>) -> Self {
        Self {
            change: change.into(),
            expect: expect.into(),
            ..Self::default()
        }
    }
}

impl From<ExperimentTest> for Experiment {
    fn from(test: ExperimentTest) -> Self {
        Self {
            test: Some(test.clone()),
            ..Self::in_words(test.change.to_string(), test.expect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_values() {
        let test = ExperimentTest {
            change: Change::ReceiveBuffer { factor: 2.0 },
            predictions: vec![
                Prediction::at_least(Quantity::ReceivedRate, 1.3),
                Prediction::at_most(Quantity::DelayUnderLoad, 2e6).absolute(),
            ],
            baseline: Baseline::default(),
        };
        let experiment = Experiment::from(test);
        assert_eq!(experiment.change, "double the receiver's socket buffer");
        assert_eq!(
            experiment.expect,
            "the received rate is at least 1.30 times the baseline's, and the delay under load is at most 2 ms"
        );
        let flat = Prediction::within(Quantity::WireRate, 0.95, 1.05);
        assert_eq!(
            flat.to_string(),
            "the rate on the wire (L1) is within ±5 % of the baseline"
        );
    }

    #[test]
    fn documents_of_before_are_read_and_new_ones_come_back_the_same() {
        let old: Experiment =
            serde_json::from_str(r#"{"change": "a", "expect": "b", "result": "c"}"#).unwrap();
        assert_eq!(
            (old.result.as_deref(), old.test, old.outcome),
            (Some("c"), None, None)
        );
        let new = Experiment::from(ExperimentTest {
            change: Change::OtherCore {
                side: Side::Receiver,
            },
            predictions: vec![Prediction::at_most(Quantity::LossRatio, 0.5)],
            baseline: Baseline::default(),
        });
        let text = serde_json::to_string(&new).unwrap();
        assert!(
            text.contains(r#""change":{"kind":"other-core","side":"receiver"}"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), new);
    }

    #[test]
    fn factors_have_the_digits_that_count() {
        let loss = Prediction::at_most(Quantity::LossRatio, 0.1);
        assert_eq!(loss.shown(0.000_04), "4.0e-5 times the baseline's");
    }
}
