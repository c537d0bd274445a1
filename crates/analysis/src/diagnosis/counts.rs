//! How often each sign and each probe's answer was seen under each limit, in scenes whose limit was measured.

use super::suspects::Suspect;
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
    pub classes: Vec<String>,
}

/// How often each class was seen under each limit.
///
/// By sign or probe, then by limit, then by class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<String, BTreeMap<String, ClassCounts>>);

type ClassCounts = BTreeMap<String, f64>;

impl Counts {
    /// Of the scenes of `make verdicts` that are for fitting.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Counts> = LazyLock::new(|| {
            serde_json::from_str(include_str!("counts.json"))
                .expect("invariant: a test reads the table")
        });
        &BUILT_IN
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
            let limits = self.0.entry(key(observation.transport, id)).or_default();
            let counts = limits.entry(limit.to_owned()).or_default();
            // What is not told apart is shared out.
            let parts: f64 = classes.iter().map(|_| 1.0).sum();
            for class in classes {
                *counts.entry(class.clone()).or_default() += times / parts;
            }
        }
    }

    pub(super) fn of(
        &self,
        transport: Transport,
        id: &str,
        suspect: Suspect,
    ) -> Option<&ClassCounts> {
        self.0.get(&key(transport, id))?.get(suspect.id())
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
    use crate::diagnosis::observation::classes_of;
    use crate::diagnosis::suspects;

    #[test]
    fn the_table_is_read_and_of_known_limits() {
        let known = |transport: Transport, id: &str| {
            suspects::of(transport)
                .iter()
                .any(|(suspect, _)| suspect.id() == id)
        };
        for (key, limits) in &Counts::built_in().0 {
            let (transport, id) = match key.split_once('/').unwrap() {
                ("tcp", id) => (Transport::Tcp, id),
                (_, id) => (Transport::Udp, id),
            };
            let classes = classes_of(transport, id).unwrap_or_else(|| panic!("{key}"));
            for (limit, counts) in limits {
                assert!(known(transport, limit), "{key}: {limit}");
                let is_known = |class: &String| classes.iter().any(|known| known.id == *class);
                assert!(counts.keys().all(is_known), "{key}: {counts:?}");
            }
        }
    }
}
