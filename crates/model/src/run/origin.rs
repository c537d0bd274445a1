//! Where the figures of a trial come from, and what is known in that case only.

use crate::cost::ProfileSummary;
use crate::dut::DutCounters;
use crate::estimate::Interval;
use crate::sample::EndpointReport;
use crate::spec::Side;
use crate::time::as_optional_seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Where the figures of a trial come from.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "origin", rename_all = "kebab-case")]
pub enum TrialOrigin {
    /// A log of another tool.
    Imported(Imported),
    /// Linerate itself.
    Measured(Box<Measured>),
}

impl Default for TrialOrigin {
    fn default() -> Self {
        Self::Measured(Box::default())
    }
}

/// What a log leaves open.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Imported {
    /// The interval in which each rounded key's true value lies, by key name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rounding: BTreeMap<String, Interval>,
}

/// Who ended a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialEnd {
    /// It came to its planned end, or broke off by itself.
    #[default]
    Planned,
    /// Its user, before its planned end: what an end did from then on is no part of the test.
    User,
}

impl TrialEnd {
    /// What is said of a trial or an experiment that its user ended.
    pub const BY_USER: &str = "stopped by the user before its end";

    /// Whether nobody ended it before its end.
    pub const fn is_planned(&self) -> bool {
        matches!(self, Self::Planned)
    }
}

/// What a device under test that linerate started did during a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DeviceReport {
    /// What it counted.
    #[serde(flatten)]
    pub counted: DutCounters,
    /// CPU time of its own threads, zero where the kernel does its work in software interrupts; absent where programs that
    /// linerate did not start do it, or other ones since.
    #[serde(
        rename = "busy_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub busy: Option<Duration>,
}

/// What only a measurement of our own leaves.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Measured {
    /// Host counters gained during the trial, by side and signal name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<Side, BTreeMap<String, u64>>,
    /// What each layer of both ends' systems cost, from sampled profiles; absent if none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileSummary>,
    /// What the peer's tool printed of the test, as it sent it; in the first of the trials that one test made.
    #[serde(
        rename = "far_output",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub peer_output: Option<String>,
    /// Who ended it.
    #[serde(default, skip_serializing_if = "TrialEnd::is_planned")]
    pub end: TrialEnd,
    /// What the device under test counted during the trial; absent where linerate did not start one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceReport>,
    /// The raw reports of both ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<EndpointReport>,
}
