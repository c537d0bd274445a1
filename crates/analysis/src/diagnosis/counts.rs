//! How often each sign and each probe's answer was seen under each limit, in scenes whose limit was measured.

use super::suspects::Suspect;
use super::{Probe, probes};
use linerate_model::spec::Transport;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What one run shows: the classes of its signs, and the answers of its probes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// What was carried.
    pub transport: Transport,
    /// Each sign that is known, and each probe that said something.
    pub seen: Vec<Seen>,
}

/// A sign's class, or a probe's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Which sign or probe.
    pub id: String,
    /// The classes or answers that it stands for: one, or several that it does not tell apart.
    pub classes: Vec<usize>,
}

/// The probe with this key.
pub(super) fn probe(transport: Transport, id: &str) -> Option<&'static dyn Probe> {
    let mut known = probes(transport).iter();
    known.find(|probe| probe.id() == id).copied()
}

/// Signs of one trial go together, so each counts for less than it would alone; probes are trials of their own. For those
/// of which the table knows nothing better.
const SIGN_WEIGHT: f64 = 0.3;
const PROBE_WEIGHT: f64 = 0.8;
/// How often each class was seen under each limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// By sign or probe, then by limit.
    counts: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// The power to which the likelihoods of a sign or probe are taken: below 1 where others tell the same.
    weights: BTreeMap<String, f64>,
}

impl Counts {
    /// Of the scenes of `make verdicts` that are for fitting.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Counts> = LazyLock::new(|| {
            serde_json::from_str(include_str!("counts.json"))
                .expect("invariant: a test reads the table")
        });
        &BUILT_IN
    }

    /// The power to which the likelihoods of a sign or probe are taken.
    pub fn weight(&self, transport: Transport, id: &str) -> f64 {
        let usual = match probe(transport, id) {
            Some(_) => PROBE_WEIGHT,
            None => SIGN_WEIGHT,
        };
        let known = self.weights.get(&key(transport, id));
        known.copied().unwrap_or(usual)
    }

    /// Sets it.
    pub fn set_weight(&mut self, transport: Transport, id: &str, weight: f64) {
        self.weights.insert(key(transport, id), weight);
    }

    /// Takes in what was seen under the limit with this id.
    pub fn add(&mut self, limit: &str, observation: &Observation) {
        self.count(limit, observation, 1.0);
    }

    /// Takes out what was taken in.
    pub fn remove(&mut self, limit: &str, observation: &Observation) {
        self.count(limit, observation, -1.0);
    }

    fn count(&mut self, limit: &str, observation: &Observation, times: f64) {
        for Seen { id, classes } in &observation.seen {
            let limits = self
                .counts
                .entry(key(observation.transport, id))
                .or_default();
            let counts = limits.entry(limit.to_owned()).or_default();
            // What is not told apart is shared out.
            let parts: f64 = classes.iter().map(|_| 1.0).sum();
            for class in classes {
                if counts.len() <= *class {
                    counts.resize(class + 1, 0.0);
                }
                counts[*class] += times / parts;
            }
        }
    }

    /// How many scenes with this limit were counted, at most of all signs and probes.
    pub(super) fn scenes(&self, transport: Transport, suspect: Suspect) -> f64 {
        let of_transport = key(transport, "");
        let tables = self
            .counts
            .iter()
            .filter(|(key, _)| key.starts_with(&of_transport));
        let counts = tables.filter_map(|(_, limits)| limits.get(suspect.id()));
        counts.map(|counts| counts.iter().sum()).fold(0.0, f64::max)
    }

    pub(super) fn of(&self, transport: Transport, id: &str, suspect: Suspect) -> &[f64] {
        let limits = self.counts.get(&key(transport, id));
        limits
            .and_then(|limits| limits.get(suspect.id()))
            .map_or(&[], Vec::as_slice)
    }
}

fn key(transport: Transport, id: &str) -> String {
    match transport {
        Transport::Tcp => format!("tcp/{id}"),
        Transport::Udp => format!("udp/{id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{signs, suspects};

    #[test]
    fn the_table_is_read_and_of_known_limits() {
        let known = |transport: Transport, id: &str| {
            suspects::of(transport)
                .iter()
                .any(|(suspect, _)| suspect.id() == id)
        };
        for (key, limits) in &Counts::built_in().counts {
            let (transport, id) = match key.split_once('/').unwrap() {
                ("tcp", id) => (Transport::Tcp, id),
                (_, id) => (Transport::Udp, id),
            };
            let is_sign = signs::of(transport).any(|sign| sign.id == id);
            assert!(is_sign || probe(transport, id).is_some(), "{key}");
            for limit in limits.keys() {
                assert!(known(transport, limit), "{key}: {limit}");
            }
        }
    }
}
