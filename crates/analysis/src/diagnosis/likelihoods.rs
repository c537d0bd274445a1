//! How probable what is seen is under each suspect: what was counted, and what was judged before.

use super::counts::{Counts, probe};
use super::suspects::{self, Suspect};
use super::{Probe, signs};
use linerate_model::spec::Transport;

/// What was judged before any scene was played counts as much as so many scenes. Of 2 and 5, and of five costs of
/// weights, this and the laboratory's cost were least surprised by a sixth of the scenes that neither knew.
const JUDGED: f64 = 5.0;

/// How probable each class of one sign or probe is under each suspect.
pub(super) struct Likelihoods(Vec<(Suspect, Vec<f64>)>);

impl Likelihoods {
    /// From how probable each class is under each suspect.
    pub(super) const fn new(chances: Vec<(Suspect, Vec<f64>)>) -> Self {
        Self(chances)
    }

    /// Of the sign or probe with this key.
    pub(super) fn of(transport: Transport, id: &str, counts: &Counts) -> Self {
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
