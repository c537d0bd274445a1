//! How often each sign and each probe's answer was seen under each limit, in scenes whose limit was measured.

use crate::causes::Cause;
use linerate_model::spec::Transport;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one run shows: the classes of its signs, and the answers of its probes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// What was carried.
    pub transport: Transport,
    /// Each sign that is known, and each probe that said something.
    pub seen: Vec<ObservedClass>,
}

/// A sign's class, or a probe's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedClass {
    /// Which sign or probe.
    pub id: String,
    /// The classes or answers that it stands for: one, or several that it does not tell apart.
    pub classes: Vec<String>,
}

/// How often each class was seen under each limit.
///
/// By sign or probe, then by limit, then by class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(pub(super) BTreeMap<String, BTreeMap<String, ClassCounts>>);

/// How often each class was seen.
pub(super) type ClassCounts = BTreeMap<String, f64>;

impl Counts {
    /// Takes in what was seen under the limit with this id.
    pub fn add(&mut self, limit: &str, observation: &Observation) {
        self.count(limit, observation, 1.0);
    }

    /// Takes out what was taken in.
    pub fn remove(&mut self, limit: &str, observation: &Observation) {
        self.count(limit, observation, -1.0);
    }

    fn count(&mut self, limit: &str, observation: &Observation, times: f64) {
        for ObservedClass { id, classes } in &observation.seen {
            let limits = self.0.entry(key(observation.transport, id)).or_default();
            let counts = limits.entry(limit.to_owned()).or_default();
            // What is not told apart is shared out.
            let parts: f64 = classes.iter().map(|_| 1.0).sum();
            for class in classes {
                *counts.entry(class.clone()).or_default() += times / parts;
            }
        }
    }

    /// Of the sign or probe with this key, under `cause`.
    pub(super) fn of(&self, key: &str, cause: &Cause) -> Option<&ClassCounts> {
        self.0.get(key)?.get(cause.id)
    }
}

/// The key of a sign or probe in the table.
pub(super) fn key(transport: Transport, id: &str) -> String {
    match transport {
        Transport::Tcp => format!("tcp/{id}"),
        Transport::Udp => format!("udp/{id}"),
    }
}
