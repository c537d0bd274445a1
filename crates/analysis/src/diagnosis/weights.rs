//! Suspects with their weights.

use super::likelihoods::{LikelihoodData, Likelihoods};
use crate::causes::{Cause, link};
use linerate_model::spec::Transport;

/// A cause that may limit.
pub(super) type Suspect = &'static Cause;

/// Suspects with weights that add up to 1.
#[derive(Debug, Clone)]
pub(super) struct Suspects {
    /// What was carried.
    pub(super) transport: Transport,
    weights: Vec<(Suspect, f64)>,
}

impl Suspects {
    /// As before anything is known.
    pub(super) fn unweighed(transport: Transport) -> Self {
        Self {
            transport,
            weights: LikelihoodData::built_in().priors(transport),
        }
    }

    /// How probable an answer is before the probe is made.
    pub(super) fn chance(&self, table: &Likelihoods, answer: usize) -> f64 {
        self.weights
            .iter()
            .map(|(suspect, weight)| weight * table.chance(suspect, &[answer]))
            .sum()
    }

    /// Takes in that one of `classes` was seen, to the power `weight`; none says nothing.
    pub(super) fn update(&mut self, table: &Likelihoods, classes: &[usize], weight: f64) {
        if classes.is_empty() {
            return;
        }
        for (suspect, share) in &mut self.weights {
            *share *= table.chance(suspect, classes).powf(weight);
        }
        self.make_sum_one();
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = Suspect> {
        self.weights.iter().map(|(suspect, _)| *suspect)
    }

    fn make_sum_one(&mut self) {
        let sum: f64 = self.weights.iter().map(|(_, share)| share).sum();
        for (_, share) in self.weights.iter_mut().filter(|_| sum > 0.0) {
            *share /= sum;
        }
    }

    /// Leaves out those that are not; all stay if none would be left.
    pub(super) fn retain(&mut self, is: impl Fn(Suspect) -> bool) {
        if self.weights.iter().any(|(suspect, _)| is(suspect)) {
            self.weights.retain(|(suspect, _)| is(suspect));
            self.make_sum_one();
        }
    }

    /// Shannon entropy in bits.
    pub(super) fn entropy(&self) -> f64 {
        let weights = self.weights.iter().map(|(_, weight)| *weight);
        weights
            .filter(|weight| *weight > 0.0)
            .map(|weight| -weight * weight.log2())
            .sum()
    }

    /// The ids and weights of all, the weightiest first.
    pub(super) fn ranked(&self) -> Vec<(&'static str, f64)> {
        let ids = self
            .weights
            .iter()
            .map(|(suspect, weight)| (suspect.id, *weight));
        let mut ranked: Vec<_> = ids.collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }

    /// The weightiest, the earlier of two that weigh the same.
    pub(super) fn best(&self) -> (Suspect, f64) {
        self.weightiest_of(|_| true).unwrap_or((&link::CAUSE, 0.0))
    }

    /// The weightiest but one.
    pub(super) fn second(&self) -> (Suspect, f64) {
        let best = self.best().0;
        let second = self.weightiest_of(|suspect| suspect != best);
        second.unwrap_or((&link::CAUSE, 0.0))
    }

    /// The weightiest of those that are, the earlier of two that weigh the same.
    pub(super) fn weightiest_of(&self, is: impl Fn(Suspect) -> bool) -> Option<(Suspect, f64)> {
        let weights = self.weights.iter().copied();
        weights
            .filter(|(suspect, _)| is(suspect))
            .reduce(|best, next| if next.1 > best.1 { next } else { best })
    }
}
