//! Where the figures of a trial come from, and what is known in that case only.

use super::Trial;
use crate::cost::ProfileSummary;
use crate::estimate::Interval;
use crate::sample::EndpointReport;
use crate::spec::Side;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// The raw reports of both ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<EndpointReport>,
}

/// Empty or `None` where the trial has another origin.
impl Trial {
    /// What only a measurement of our own leaves.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.origin {
            TrialOrigin::Imported(_) => None,
            TrialOrigin::Measured(measured) => Some(measured),
        }
    }

    /// The same, to be changed.
    pub fn measured_mut(&mut self) -> Option<&mut Measured> {
        match &mut self.origin {
            TrialOrigin::Imported(_) => None,
            TrialOrigin::Measured(measured) => Some(measured),
        }
    }

    /// What the host counters of `side` gained during the trial, by signal name.
    pub fn counters(&self, side: Side) -> Option<&BTreeMap<String, u64>> {
        self.measured()?.counters.get(&side)
    }

    /// The raw reports of both ends.
    pub fn raw(&self) -> &[EndpointReport] {
        self.measured().map_or(&[], |measured| &measured.raw)
    }

    /// What each layer of both ends' systems cost.
    pub fn profile(&self) -> Option<&ProfileSummary> {
        self.measured()?.profile.as_ref()
    }

    /// The interval in which the rounded value of `key` lies.
    pub fn rounding(&self, key: &str) -> Option<&Interval> {
        match &self.origin {
            TrialOrigin::Imported(imported) => imported.rounding.get(key),
            TrialOrigin::Measured(_) => None,
        }
    }

    /// The intervals of a log's rounded figures, by key, to be changed.
    pub fn rounding_mut(&mut self) -> Option<&mut BTreeMap<String, Interval>> {
        match &mut self.origin {
            TrialOrigin::Imported(imported) => Some(&mut imported.rounding),
            TrialOrigin::Measured(_) => None,
        }
    }
}
