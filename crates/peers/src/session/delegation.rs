//! A test that an agent makes with another one, for a client of its own.

use super::Fence;
use crate::key::Key;
use linerate_model::run::Host;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::TestSpec;
use linerate_model::time::as_seconds;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A test that a server is to make with another server, as its client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegation {
    /// Name or address of the other server's host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The key that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The lease on the other server's host that the test is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// The test; its directions are those between the delegated client and the other server.
    pub spec: Box<TestSpec>,
    /// How long after its receipt the test begins, at most [`MAX_DELAY`]: tests that are to load one path together begin
    /// at once although their connections take unequal times.
    #[serde(rename = "delay_s", with = "as_seconds", default)]
    pub delay: Duration,
}

/// Longest delay of a delegated test.
pub const MAX_DELAY: Duration = Duration::from_mins(1);

/// What came of a delegated test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelegatedTest {
    /// Reports of the end that played the client.
    pub client: Vec<EndpointReport>,
    /// Reports of the other server.
    pub server: Vec<EndpointReport>,
    /// Both hosts with their facts.
    pub hosts: Vec<Host>,
    /// What is to be known of the test outside the reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether it was ended early.
    #[serde(default)]
    pub stopped: bool,
}
