//! Where a run came from: what measured, what was asked for, and which logs were read.

use crate::calibration::HostCeiling;
use crate::link::EmulatedLink;
use crate::spec::{Direction, TestSpec};
use crate::time::as_seconds;
use crate::{BitRate, ByteCount, Layer, Quantile, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// A measuring program.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Tool {
    /// `linerate`, `iperf3`, `iperf2`, `sfnt-pingpong`.
    pub name: String,
    /// Its version; absent when a log does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Tool {
    const LINERATE: &str = "linerate";

    /// This program in this version.
    pub fn linerate(version: impl Into<String>) -> Self {
        Self {
            name: Self::LINERATE.to_owned(),
            version: Some(version.into()),
        }
    }

    /// Whether it is linerate, in whichever version.
    pub fn is_linerate(&self) -> bool {
        self.name == Self::LINERATE
    }

    /// A tool that does not say its version.
    pub fn unversioned(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: None,
        }
    }
}

/// Where an imported run came from.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Source {
    /// Id of the log format in `store`.
    pub format: String,
    /// The files, as given.
    pub files: Vec<String>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Config {
    /// A command line that repeats the run; absent for imported runs whose log does not show one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whom it was measured with; absent for runs that are made of parts, and for imported ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetConfig>,
    /// What was to be measured; absent where an imported log does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<RunRequest>,
    /// The place of a part in its study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<StudyPlace>,
    /// Speed of the test's interface as told at import, L1 bit/s.
    #[serde(
        rename = "link_speed_bps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub link_speed: Option<BitRate>,
    /// What linerate does at most on the client's host; absent unless it was calibrated for such a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<HostCeiling>,
}

impl Config {
    /// The test that was to be made, or the first of those that differ.
    pub fn test(&self) -> Option<&TestSpec> {
        self.asked.as_ref()?.test()
    }

    /// Every setting as text, by its path of keys: `test.work.payload_bytes`.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        for value in [
            serde_json::to_value(&self.asked),
            serde_json::to_value(&self.target),
            serde_json::to_value(&self.place),
        ] {
            list("", &value.unwrap_or_default(), &mut settings);
        }
        let link_speed = self.link_speed.map(|rate| rate.bps().to_string());
        settings.extend(link_speed.map(|text| ("link_speed_bps".to_owned(), text)));
        settings
    }
}

/// Adds every leaf of `value`; a list of plain values is one leaf.
fn list(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, value) in map {
                list(&below(key), value, into);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (index, value) in items.iter().enumerate() {
                list(&below(&index.to_string()), value, into);
            }
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(shown).collect();
            into.insert(path.to_owned(), items.join("; "));
        }
        plain => {
            into.insert(path.to_owned(), shown(plain));
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whom a test is made with, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TargetConfig {
    /// The peer's address as on the command line: `iperf3://10.0.0.2`.
    pub peer: String,
    /// Which version of IP may be used.
    #[serde(default)]
    pub ip: IpChoice,
    /// Silence of the peer after which it counts as gone.
    #[serde(rename = "timeout_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub timeout: Duration,
    /// Interface whose counters belong to the test; absent for the one that carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The link element before an emulated board; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<EmulatedLink>,
}

crate::named_enum! {
    /// A version of IP.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum IpChoice {
        /// Either.
        #[default]
        Any = "IP",
        /// IPv4.
        V4 = "IPv4",
        /// IPv6.
        V6 = "IPv6",
    }
}

impl IpChoice {
    /// Whether an address is of this version.
    pub const fn fits(self, address: &SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// What was to be measured.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RunRequest {
    /// One test.
    Test {
        /// The test.
        test: TestSpec,
    },
    /// The load at which loss or delay begins.
    Search {
        /// The datagram stream whose load is varied.
        test: TestSpec,
        /// Where and how exactly to search.
        search: SearchSettings,
    },
    /// Messages by size and mode.
    Latency {
        /// The first of its tests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test: Option<TestSpec>,
        /// Ways to wait, by name.
        modes: Vec<String>,
        /// Turns that each size and mode is measured in.
        rounds: u32,
        /// Quantiles to list; the first is the one of sfnt-pingpong's table.
        #[serde(rename = "percentiles_ratio")]
        percentiles: Vec<Quantile>,
        /// The program under which every mode is measured again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wrap: Option<String>,
    },
    /// A search for each frame size and direction through a device.
    Switch(SwitchSettings),
    /// Many tests in an order of their own.
    Study(StudySettings),
    /// Two hosts on one machine.
    Demo(DemoSettings),
}

impl RunRequest {
    /// The test that was to be made, or the first of those that differ.
    pub const fn test(&self) -> Option<&TestSpec> {
        match self {
            Self::Test { test } | Self::Search { test, .. } => Some(test),
            Self::Latency { test, .. } => test.as_ref(),
            Self::Study(_) | Self::Switch(_) | Self::Demo(_) => None,
        }
    }
}

/// Where and how exactly a search looks.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SearchSettings {
    /// Loss ratios, each a goal of its own.
    #[serde(rename = "loss_goals_ratio")]
    pub loss_goals: Vec<Ratio>,
    /// Delay that every goal must also meet: `p99<2ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_goal: Option<String>,
    /// Lowest load, L4 payload.
    #[serde(rename = "min_load_bps")]
    pub min_load: BitRate,
    /// Highest load, L4 payload.
    #[serde(rename = "max_load_bps")]
    pub max_load: BitRate,
    /// How close the bounds shall be.
    #[serde(rename = "width_ratio")]
    pub width: Ratio,
    /// Most trial time.
    #[serde(rename = "budget_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub budget: Duration,
    /// Whether both ends are sampled at saturation.
    #[serde(default)]
    pub profile: bool,
}

/// Everything that decides what is measured of a device between two ports.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SwitchSettings {
    /// The device, as on the command line.
    pub device: String,
    /// Lengths of frames, from destination address to FCS.
    ///
    /// Of a mix the mean, rounded to whole bytes.
    pub frame_bytes: Vec<ByteCount>,
    /// Mixes of lengths among them, as they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frame_mixes: Vec<String>,
    /// Headers that frames have beside Ethernet, IP and UDP, as they were given: `vlan=100, tcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_headers: Option<String>,
    /// One after the other.
    pub directions: Vec<Direction>,
    /// Shares of the throughput at which delay is measured.
    #[serde(rename = "delay_loads_ratio")]
    pub delay_loads: Vec<Ratio>,
    /// Where and how exactly to search at the first frame size.
    pub search: SearchSettings,
    /// Ids of the methods; empty in documents of earlier builds, which search for the throughput.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// How they are done.
    #[serde(default)]
    pub method_settings: MethodSettings,
}

/// How the methods of a device's test are done.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodSettings {
    /// Addresses that are taught to a switch.
    pub addresses: u32,
    /// Tests whose longest bursts are averaged (RFC 9004 asks for 50).
    pub bursts: u32,
    /// Step between two loads of the loss curve, as a share of the highest (RFC 2544 asks for at most 10 %).
    #[serde(rename = "loss_step_ratio")]
    pub loss_step: Ratio,
    /// Shell command that resets the device; `None`: linerate does what the kind of device has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_command: Option<String>,
    /// How often the device is reset.
    pub resets: u32,
    /// Length of the trial of each reset.
    #[serde(rename = "reset_time_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub reset_time: Duration,
    /// Length of a soak, and of all trials of a search for the critical load.
    #[serde(rename = "soak_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub soak: Duration,
    /// Load of a soak, as a share of the throughput with the largest loss goal.
    #[serde(rename = "soak_load_ratio")]
    pub soak_load: Ratio,
    /// Average loss ratio at the critical load.
    #[serde(rename = "target_loss_ratio")]
    pub target_loss: Ratio,
}

impl Default for MethodSettings {
    fn default() -> Self {
        Self {
            addresses: 10_000,
            bursts: 50,
            loss_step: Ratio::clamped(0.1),
            reset_command: None,
            resets: 3,
            reset_time: Duration::from_secs(5),
            soak: Duration::from_hours(1),
            soak_load: Ratio::clamped(0.9),
            target_loss: Ratio::clamped(1e-7),
        }
    }
}

/// Everything that decides what a study measures.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StudySettings {
    /// The peer's address as in the plan.
    pub host: String,
    /// How often each cell is measured.
    pub repetitions: u32,
    /// Seed of the order.
    pub seed: u64,
    /// What is measured.
    pub cells: Vec<StudyCell>,
    /// Indices of the cells in the order of measuring; one beyond the last cell is the control. Empty with a budget,
    /// which makes the order as it goes.
    pub order: Vec<usize>,
    /// The cell that is measured a second time as the A/A control, under [`StudyPlace::CONTROL`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// What decides how often each cell is measured, where that is not `repetitions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<StudyBudget>,
    /// Whether the limit of each part is proven.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prove: bool,
    /// Whether the peer's program is started anew for each repetition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
    /// The series that its cells belong to; empty where all cells vary the same factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<StudySeries>,
}

/// Cells of a study that vary the same factors, and are compared with one another only.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StudySeries {
    /// Its name, which begins the names of its cells: `series = NAME, …`.
    pub name: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// How long a study may measure, and when a cell is known well enough.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StudyBudget {
    /// Most time of all runs together.
    #[serde(rename = "time_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub time: Duration,
    /// Half of a cell's 95 % interval, relative to its value, at which no more runs are spent on it; absent: none is small
    /// enough.
    #[serde(
        rename = "precision_ratio",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub precision: Option<Ratio>,
}

/// One cell of a study.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StudyCell {
    /// Its settings in words.
    pub cell: String,
    /// What it measures.
    pub test: RunRequest,
    /// What else its plan gives, in the plan's words: `load = tcp, diagnose = 5s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
}

/// The place of a part in its study.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StudyPlace {
    /// The cell, as in [`StudyCell::cell`].
    pub cell: String,
    /// The repetition, from 1.
    pub repetition: u32,
}

impl StudyPlace {
    /// The cell of a run that measures another cell a second time. While it is measured it is called like that cell.
    pub const CONTROL: &str = "A/A control";

    /// What stands before the name of a series in its cells.
    pub const SERIES: &str = "series";

    /// The series that the cell belongs to; `None` in a study without any.
    pub fn series(&self) -> Option<String> {
        let (name, series) = self.levels().into_iter().next()?;
        (name == Self::SERIES).then_some(series)
    }

    /// Whether the run is of the control.
    pub fn is_control(&self) -> bool {
        self.cell == Self::CONTROL
    }

    /// Factor and level of each setting of the cell: `direction = forward, payload = 256` in pairs. A comma within a value
    /// is not followed by a name and `=`.
    pub fn levels(&self) -> Vec<(&str, String)> {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        for piece in self.cell.split(", ") {
            match (piece.split_once(" = "), pairs.last_mut()) {
                (Some((name, value)), _) => pairs.push((name, value.to_owned())),
                (None, Some((_, value))) => {
                    value.push_str(", ");
                    value.push_str(piece);
                }
                (None, None) => pairs.push(("cell", piece.to_owned())),
            }
        }
        pairs
    }
}

/// The link between the two hosts of a demonstration.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DemoSettings {
    /// Its rate at `link_layer`.
    #[serde(rename = "link_rate_bps")]
    pub link_rate: BitRate,
    /// The layer whose bits its rate counts.
    pub link_layer: Layer,
    /// Its delay, one way.
    #[serde(rename = "link_delay_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub link_delay: Duration,
}
