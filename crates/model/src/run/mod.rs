//! The run document, `linerate/run/2`: what every command prints with `--json` and the store keeps.
//!
//! Keys carry their unit. What a source cannot tell is absent or null, never zero.

mod cpu;
mod figures;
mod forwarding;
mod instance;
mod kind;
mod limit;
mod methods;
mod origin;
mod packets;
mod search;
mod streams;
mod study;
mod tcp;
mod trial;
mod verdict;
mod wall_clock;
mod work;

pub use crate::delay::{Delay, DelayOf, DelayQuantile, Statistic};
pub use crate::experiment::{
    Answer, Baseline, Change, Experiment, ExperimentOutcome, ExperimentRecord, ExperimentTest,
    ExperimentTrial, Observed, Part, Prediction, Probe,
};
pub use crate::origin::{
    Config, DemoSettings, IpChoice, MethodSettings, RunRequest, SearchSettings, Source,
    StudyBudget, StudyCell, StudyPlace, StudySeries, StudySettings, SwitchSettings, TargetConfig,
    Tool,
};
pub use crate::requests::{Knee, Requests};
pub use crate::turns::{Turn, Turns};
pub use cpu::{CpuSide, CpuSummary};
pub use forwarding::{
    CostRange, DelayTrial, Device, Forwarding, ForwardingDelay, ForwardingGoal, FrameCost,
    FrameMix, LengthLoss, PairLoss, StageDelay, frame_rate,
};
pub use instance::{BuildId, Instance, StartId};
pub use kind::{RunKind, RunWork};
pub use limit::Limit;
pub use methods::{
    AddressTable, BackToBack, CacheReplacement, CriticalLoad, CriticalLoadTrial, FlowCache,
    FlowCost, FlowPoint, FullLoad, LearningRate, LoadPlace, LossCurve, LossPoint, MethodResult,
    Reset, ResetTime, Soak, SoakInterval,
};
pub use origin::{DeviceReport, Imported, Measured, TrialEnd, TrialOrigin};
pub use packets::{LedgerEntry, Packets, Place};
pub use search::{BoundedBy, CurveFacts, GoalResult};
pub use streams::{RateQuantiles, StreamShare, StreamShares};
pub use study::{
    ControlDifference, Effect, EffectScale, EffectVerdict, FactorLevel, Interaction, MainEffect,
    Outlier, Repetition, RepetitionLevel, Scatter, SimpleEffect, StudyControl, StudyFindings,
    Transient,
};
pub use tcp::TcpSummary;
pub use trial::{Trial, TrialInterval};
pub use verdict::{Confidence, Finding, NextLimit, RuleOutcome, Verdict, Weighed};
pub use wall_clock::WallClockOffset;
pub use work::{
    ByteStreamResult, ClosedLoopResult, ConnectionOutcomes, ConnectionsResult, DatagramsResult,
    ExchangeConditions, FlowClassResult, FlowsResult, OpenLoopResult, Slowdown, TrialWork,
    UnitCounts,
};

use crate::estimate::Estimate;
use crate::facts::Facts;
pub use crate::quantity::Quantity;
use crate::spec::{Direction, Side};
use crate::stack::StackReport;
use crate::time::WallTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema id of this version.
pub const SCHEMA: &str = "linerate/run/2";

/// A whole run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Unique in a store: `20261121-050000-udp-1f3a`.
    pub id: String,
    /// What the run is about in a few words, for lists and headings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it started; absent when a log does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<WallTime>,
    /// Whether it came to its end.
    pub status: RunStatus,
    /// What measured: linerate itself, or the tool whose log was read.
    pub tool: Tool,
    /// Where an imported run came from; absent for our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// What was asked for: the command line that repeats it, and its parsed form.
    pub config: Config,
    /// The hosts that took part.
    #[serde(default)]
    pub hosts: Vec<Host>,
    /// Each trial in the order it was made.
    #[serde(default)]
    pub trials: Vec<Trial>,
    /// What limits, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Every rule's outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Experiments that were run on what the rules found, with their trials, which are in no other list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<ExperimentRecord>,
    /// Short trials with one change each, made after the run's own to tell apart what may limit; in no other list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    /// The network stack that was started for this run, and what it counted; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackReport>,
    /// Which start of which build of the peer's program answered; absent where the peer does not tell, and of runs that
    /// are made of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Instance>,
    /// Where the figures of an imported log contradict each other, and which of them are unknown for it or have an interval
    /// that holds both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Things the user should know: imprecise sources, clock steps, unusual settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Which command, or what kind of log, this came from, and what only that kind of run has.
    #[serde(flatten)]
    pub work: RunWork,
}

impl Run {
    /// A complete run of which nothing more is known yet.
    pub fn new(id: impl Into<String>, work: impl Into<RunWork>, tool: Tool) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            id: id.into(),
            title: None,
            started: None,
            status: RunStatus::Complete,
            tool,
            source: None,
            config: Config::default(),
            hosts: Vec::new(),
            trials: Vec::new(),
            verdict: None,
            findings: Vec::new(),
            experiments: Vec::new(),
            probes: Vec::new(),
            stack: None,
            instance: None,
            doubts: Vec::new(),
            notes: Vec::new(),
            work: work.into(),
        }
    }

    /// The host that is `side` of traffic in `direction`; `None` where nothing is known of it.
    pub fn host_of(&self, direction: Direction, side: Side) -> Option<&Host> {
        let role = HostRole::of(direction, side);
        self.hosts.iter().find(|host| host.role == role)
    }
}

/// A mean over the repetitions of one cell of a study.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CellEstimate {
    /// The cell by its levels: `payload = 64, streams = 2`.
    pub cell: String,
    /// Seen from the client.
    pub direction: Direction,
    /// The quantity by its key in a trial or goal, which carries the unit: `received_bps`.
    pub quantity: Quantity,
    /// Mean and interval over the valid runs of the cell, and how many of them are independent.
    pub estimate: Estimate,
    /// What n counts: the outermost level that the cell repeats.
    #[serde(default, skip_serializing_if = "RepetitionLevel::is_run")]
    pub level: RepetitionLevel,
}

crate::named_enum! {
    /// Whether a run came to its end.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RunStatus {
        /// All trials were made.
        Complete = "complete",
        /// Ended early: killed, interrupted, or the peer went away. Its trials still stand.
        Incomplete = "incomplete",
        /// Came to its end, but the result cannot be trusted; trials say why.
        Invalid = "invalid",
    }
}

crate::named_enum! {
    /// The end of the control connection that a host is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum HostRole {
        /// It asks for tests.
        Client = "client",
        /// It is asked.
        Server = "server",
    }
}

impl HostRole {
    /// Which end `side` of traffic in `direction` is; of both directions at once that of the forward one.
    pub const fn of(direction: Direction, side: Side) -> Self {
        match (direction, side) {
            (Direction::Reverse, Side::Sender)
            | (Direction::Forward | Direction::Duplex, Side::Receiver) => Self::Server,
            (Direction::Reverse, Side::Receiver)
            | (Direction::Forward | Direction::Duplex, Side::Sender) => Self::Client,
        }
    }
}

/// A host that took part.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Host {
    /// Names the machine, not the traffic's direction.
    pub role: HostRole,
    /// Name or address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// CPU, kernel, memory, interface, sysctls…
    #[serde(default)]
    pub facts: Facts,
    /// Its wall clock against that of the host that wrote the run; absent where they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_clock: Option<WallClockOffset>,
}

impl Host {
    /// A host of which nothing is known but its part.
    pub fn new(role: HostRole) -> Self {
        Self {
            role,
            name: None,
            facts: Facts::default(),
            wall_clock: None,
        }
    }
}
