//! How probable what is seen is under each cause: what was judged, and what was counted in scenes whose limit was measured.
//!
//! All of it stands in `likelihoods.json`. A judgement is how often a class is seen under a cause, in four steps; scenes
//! that are counted take its place as they add up. What is seen only beside another fault (a path that loses packets while
//! an application rests) is possible.

use super::counts::{ClassCounts, Counts, key};
use crate::causes::{self, Cause};
use linerate_model::spec::Transport;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The fitted data.
#[derive(Deserialize)]
pub(super) struct LikelihoodData {
    priors: Priors,
    levels: Levels,
    judgement: Figure,
    power: Figure,
    tables: BTreeMap<String, Table>,
}

/// How probable each cause is before anything is known of a run, by what was carried.
#[derive(Deserialize)]
struct Priors {
    tcp: Vec<Prior>,
    udp: Vec<Prior>,
}

#[derive(Deserialize)]
struct Prior {
    cause: String,
    probability: f64,
}

#[derive(Deserialize)]
struct Figure {
    value: f64,
}

/// How often something is seen, in proportion to the others.
#[derive(Deserialize)]
struct Levels {
    usually: f64,
    possibly: f64,
    rarely: f64,
    hardly: f64,
}

/// Of one sign or probe, by what was carried.
#[derive(Deserialize)]
struct Table {
    judged: Vec<ClassLikelihoods>,
    counted: BTreeMap<String, ClassCounts>,
}

/// One class: the causes under which it is seen so often, and how often under the others.
#[derive(Deserialize)]
struct ClassLikelihoods {
    class: String,
    others: Level,
    #[serde(default)]
    usually: Vec<String>,
    #[serde(default)]
    possibly: Vec<String>,
    #[serde(default)]
    rarely: Vec<String>,
    #[serde(default)]
    hardly: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Usually,
    Possibly,
    Rarely,
    Hardly,
}

impl Levels {
    const fn of(&self, level: Level) -> f64 {
        match level {
            Level::Usually => self.usually,
            Level::Possibly => self.possibly,
            Level::Rarely => self.rarely,
            Level::Hardly => self.hardly,
        }
    }
}

impl ClassLikelihoods {
    fn level(&self, cause: &Cause) -> Level {
        let named = [
            (&self.usually, Level::Usually),
            (&self.possibly, Level::Possibly),
            (&self.rarely, Level::Rarely),
            (&self.hardly, Level::Hardly),
        ];
        let mut named = named.into_iter();
        let found = named.find(|(causes, _)| causes.iter().any(|id| id == cause.id));
        found.map_or(self.others, |(_, level)| level)
    }
}

impl LikelihoodData {
    /// The likelihoods that were built in.
    pub(super) fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<LikelihoodData> = LazyLock::new(|| {
            serde_json::from_str(include_str!("likelihoods.json"))
                .expect("invariant: a test reads the table")
        });
        &BUILT_IN
    }

    /// The causes that may limit `transport`, with how probable each is before anything is known.
    pub(super) fn priors(&self, transport: Transport) -> Vec<(&'static Cause, f64)> {
        let priors = match transport {
            Transport::Tcp => &self.priors.tcp,
            Transport::Udp => &self.priors.udp,
        };
        let prior = |prior: &Prior| {
            let known = causes::ALL.iter().find(|cause| cause.id == prior.cause);
            let known = known.expect("invariant: a test knows every cause of the table");
            (*known, prior.probability)
        };
        priors.iter().map(prior).collect()
    }

    /// Signs and probes go together: each counts for less than it would alone.
    pub(super) fn power(&self) -> f64 {
        self.power.value
    }

    /// What was counted of every sign and probe.
    pub(super) fn counted(&self) -> Counts {
        let counted = self.tables.iter();
        Counts(
            counted
                .map(|(key, table)| (key.clone(), table.counted.clone()))
                .collect(),
        )
    }

    /// The ids of the classes of the sign or probe with this key; none where it is not known.
    pub(super) fn classes(&self, key: &str) -> Vec<&str> {
        let judged = self.tables.get(key).map_or(&[][..], |table| &table.judged);
        judged.iter().map(|judged| judged.class.as_str()).collect()
    }

    /// The causes that judgements name.
    #[cfg(test)]
    pub(super) fn named(&self) -> impl Iterator<Item = &String> {
        let judged = self.tables.values().flat_map(|table| &table.judged);
        judged.flat_map(|class| {
            let [usually, possibly] = [&class.usually, &class.possibly];
            let levels = [usually, possibly, &class.rarely, &class.hardly];
            levels.into_iter().flatten()
        })
    }

    /// How probable each class of the sign or probe with this key was judged to be under `cause`; they add up to 1.
    pub(super) fn judged(&self, key: &str, cause: &Cause) -> Vec<f64> {
        let judged = self.tables.get(key).map_or(&[][..], |table| &table.judged);
        let parts = judged
            .iter()
            .map(|judged| self.levels.of(judged.level(cause)));
        let all: f64 = parts.clone().sum();
        parts.map(|part| part / all).collect()
    }
}

impl Counts {
    /// Of the scenes of `make verdicts` that are for fitting.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Counts> = LazyLock::new(|| LikelihoodData::built_in().counted());
        &BUILT_IN
    }
}

/// How probable each class of one sign or probe is under each cause.
pub(super) struct Likelihoods(Vec<(&'static Cause, Vec<f64>)>);

impl Likelihoods {
    /// From how probable each class is under each cause.
    #[cfg(test)]
    pub(super) const fn new(chances: Vec<(&'static Cause, Vec<f64>)>) -> Self {
        Self(chances)
    }

    /// Of the sign or probe with this key: what was judged counts as much as some scenes.
    pub(super) fn of(transport: Transport, id: &str, counts: &Counts) -> Self {
        let fitted = LikelihoodData::built_in();
        let (key, judgement) = (key(transport, id), fitted.judgement.value);
        let classes = fitted.classes(&key);
        let of_cause = |(cause, _): (&'static Cause, f64)| {
            let counted = counts.of(&key, cause);
            let count = |class: &&str| counted.and_then(|counted| counted.get(*class));
            let count = |class: &&str| count(class).copied().unwrap_or_default();
            let all: f64 = classes.iter().map(count).sum();
            let judged = fitted.judged(&key, cause);
            let chances = classes
                .iter()
                .zip(judged)
                .map(|(class, judged)| judgement.mul_add(judged, count(class)) / (judgement + all));
            (cause, chances.collect())
        };
        Self(fitted.priors(transport).into_iter().map(of_cause).collect())
    }

    /// How probable it is that one of `classes`, by their positions, is seen under `cause`.
    pub(super) fn chance(&self, cause: &Cause, classes: &[usize]) -> f64 {
        let chances = self.0.iter().find(|(known, _)| *known == cause);
        chances.map_or(1.0, |(_, chances)| {
            let known = classes.iter().filter_map(|class| chances.get(*class));
            known.sum()
        })
    }
}
