//! Where a run came from: what measured, what was asked for, and which logs were read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Everything that was set, also by default: kebab- or snake-case keys.
    #[serde(default)]
    pub values: BTreeMap<String, serde_json::Value>,
}
