//! How probable what is seen is under each suspect: what was counted, and what was judged before.

use super::class::{Class, judged};
use super::counts::Counts;
use super::suspects::{self, Suspect};
use linerate_model::spec::Transport;

/// What was judged before any scene was played counts as much as so many scenes.
const JUDGED: f64 = 15.0;

/// How probable each class of one sign or probe is under each suspect.
pub(super) struct Likelihoods(Vec<(Suspect, Vec<f64>)>);

impl Likelihoods {
    /// From how probable each class is under each suspect.
    #[cfg(test)]
    pub(super) const fn new(chances: Vec<(Suspect, Vec<f64>)>) -> Self {
        Self(chances)
    }

    /// Of the sign or probe with this key and these classes.
    pub(super) fn of(
        transport: Transport,
        id: &str,
        classes: &'static [Class],
        counts: &Counts,
    ) -> Self {
        let of_suspect = |(suspect, _): &(Suspect, f64)| {
            let counted = counts.of(transport, id, *suspect);
            let count = |class: &Class| counted.and_then(|counted| counted.get(class.id));
            let count = |class: &Class| count(class).copied().unwrap_or_default();
            let all: f64 = classes.iter().map(count).sum();
            let judged = judged(classes, *suspect);
            let chances = classes
                .iter()
                .zip(judged)
                .map(|(class, judged)| JUDGED.mul_add(judged, count(class)) / (JUDGED + all));
            (*suspect, chances.collect())
        };
        Self(suspects::of(transport).iter().map(of_suspect).collect())
    }

    /// How probable it is that one of `classes`, by their positions, is seen under `suspect`.
    pub(super) fn chance(&self, suspect: Suspect, classes: &[usize]) -> f64 {
        let chances = self.0.iter().find(|(known, _)| *known == suspect);
        chances.map_or(1.0, |(_, chances)| {
            let known = classes.iter().filter_map(|class| chances.get(*class));
            known.sum()
        })
    }
}
