//! How often each sign and each probe's answer was seen under each limit, in scenes whose limit was measured.

use super::suspects::{self, Suspect, Suspects};
use super::{Probe, limited, made, probes, signs};
use linerate_model::run::Run;
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

impl Observation {
    /// Of a run that something limits; `None` if probes cannot explain it.
    pub fn from_run(run: &Run) -> Option<Self> {
        let limited = limited(run)?;
        let signs = signs::of(limited.transport).filter_map(|sign| {
            Some(Seen {
                id: sign.id.to_owned(),
                classes: vec![sign.read(limited)?],
            })
        });
        let answers = made::compared(run, limited).map(|(probe, compared)| Seen {
            id: probe.id().to_owned(),
            classes: probe.read(&compared),
        });
        Some(Self {
            transport: limited.transport,
            seen: signs
                .chain(answers)
                .filter(|seen| !seen.classes.is_empty())
                .collect(),
        })
    }

    /// What may have limited, the likeliest first, each with its probability by `counts`.
    pub fn weigh(&self, counts: &Counts) -> Vec<(&'static str, f64)> {
        let mut suspects = Suspects::unweighed(self.transport);
        self.update(&mut suspects, counts);
        suspects.ranked()
    }

    /// Weighs `suspects` by what was seen.
    pub(super) fn update(&self, suspects: &mut Suspects, counts: &Counts) {
        for Seen { id, classes } in &self.seen {
            let table = Likelihoods::of(self.transport, id, counts);
            suspects.update(&table, classes, counts.weight(self.transport, id));
        }
    }

    /// The logarithm of how probable each sign and answer is, by `counts`, under each of [`limits`], in their order.
    pub fn log_likelihoods(&self, counts: &Counts) -> Vec<Vec<f64>> {
        let of_one = |Seen { id, classes }: &Seen| {
            let table = Likelihoods::of(self.transport, id, counts);
            let suspects = suspects::of(self.transport).iter();
            suspects
                .map(|(suspect, _)| table.chance(*suspect, classes).ln())
                .collect()
        };
        self.seen.iter().map(of_one).collect()
    }
}

/// The ids of what may limit what `transport` carried, with how often it does before anything is known of a run.
pub fn limits(transport: Transport) -> Vec<(&'static str, f64)> {
    let suspects = suspects::of(transport).iter();
    suspects
        .map(|(suspect, share)| (suspect.id(), *share))
        .collect()
}

fn probe(transport: Transport, id: &str) -> Option<&'static dyn Probe> {
    let mut known = probes(transport).iter();
    known.find(|probe| probe.id() == id).copied()
}

/// Signs of one trial go together, so each counts for less than it would alone; probes are trials of their own. For those
/// of which the table knows nothing better.
const SIGN_WEIGHT: f64 = 0.3;
const PROBE_WEIGHT: f64 = 0.8;
/// What was judged before any scene was played counts as much as so many scenes.
const JUDGED: f64 = 2.0;

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

    fn of(&self, transport: Transport, id: &str, suspect: Suspect) -> &[f64] {
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

/// How probable each class of one sign or probe is under each suspect.
pub(super) struct Likelihoods(Vec<(Suspect, Vec<f64>)>);

impl Likelihoods {
    /// From how probable each class is under each suspect.
    pub(super) const fn new(chances: Vec<(Suspect, Vec<f64>)>) -> Self {
        Self(chances)
    }

    fn of(transport: Transport, id: &str, counts: &Counts) -> Self {
        match probe(transport, id) {
            Some(probe) => Self::of_probe(probe, transport, counts),
            None => Self::of_sign(id, transport, counts),
        }
    }

    /// Of a probe, of which something was judged before it was counted.
    pub(super) fn of_probe(probe: &dyn Probe, transport: Transport, counts: &Counts) -> Self {
        Self::blend(transport, |suspect| {
            let judged = (0..probe.answers()).map(|answer| probe.judged(suspect, answer));
            (judged.collect(), counts.of(transport, probe.id(), suspect))
        })
    }

    /// Of a sign, of which nothing is known of a suspect but what all scenes together show.
    fn of_sign(id: &str, transport: Transport, counts: &Counts) -> Self {
        let classes = signs::of(transport)
            .find(|sign| sign.id == id)
            .map_or(1, signs::Sign::classes);
        let mut pooled = vec![0.5; classes];
        for (suspect, _) in suspects::of(transport) {
            for (sum, count) in pooled.iter_mut().zip(counts.of(transport, id, *suspect)) {
                *sum += count;
            }
        }
        Self::blend(transport, |suspect| {
            (pooled.clone(), counts.of(transport, id, suspect))
        })
    }

    fn blend<'a>(transport: Transport, known: impl Fn(Suspect) -> (Vec<f64>, &'a [f64])) -> Self {
        let of_suspect = |(suspect, _): &(Suspect, f64)| {
            let (judged, counted) = known(*suspect);
            let (all_judged, all): (f64, f64) = (judged.iter().sum(), counted.iter().sum());
            let chances = judged.iter().enumerate().map(|(class, judged)| {
                let count = counted.get(class).copied().unwrap_or_default();
                JUDGED.mul_add(judged / all_judged, count) / (JUDGED + all)
            });
            (*suspect, chances.collect())
        };
        Self::new(suspects::of(transport).iter().map(of_suspect).collect())
    }

    /// How probable it is that one of `classes` is seen under `suspect`.
    pub(super) fn chance(&self, suspect: Suspect, classes: &[usize]) -> f64 {
        let chances = self.0.iter().find(|(known, _)| *known == suspect);
        chances.map_or(1.0, |(_, chances)| {
            let known = classes.iter().filter_map(|class| chances.get(*class));
            known.sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
