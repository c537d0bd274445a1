//! What a run shows of what limits it, and what follows.

use super::class::Class;
use super::counts::{Counts, Observation, Seen};
use super::likelihoods::Likelihoods;
use super::signs::Shown;
use super::weights::Suspects;
use super::{half_load, last_of, limited, made, probes, shaper, shown_by, signs};
use linerate_model::run::{Run, Trial};
use linerate_model::spec::Transport;

/// Signs of one trial go together, and probes meet the same path and hosts: each counts for less than it would alone.
pub(super) const POWER: f64 = 0.7;

impl Observation {
    /// Of a run that something limits; `None` if probes cannot explain it.
    pub fn from_run(run: &Run) -> Option<Self> {
        limited(run).map(|limited| Self::of(run, limited))
    }

    /// Of the trial of `run` that is to be explained.
    pub(super) fn of(run: &Run, limited: &Trial) -> Self {
        let shown = Shown {
            run,
            trial: shown_by(run, limited),
            goal: run.goals().iter().max_by_key(|goal| goal.upper_bound),
            half: last_of(run, half_load::CHANGE),
            shaped: shaper::payload_rate(run, limited),
        };
        let seen = |id: &str, classes: Vec<&str>| Seen {
            id: id.to_owned(),
            classes: classes.into_iter().map(str::to_owned).collect(),
        };
        let signs = signs::of(limited.transport).iter().map(|sign| {
            let read = (sign.read)(&shown);
            let is_known = |id| sign.classes.iter().any(|class| class.id == id);
            debug_assert!(read.is_none_or(is_known), "{}: {read:?}", sign.id);
            seen(sign.id, read.into_iter().collect())
        });
        let answers = made::compared(run, limited).map(|(probe, compared)| {
            let positions = probe.read(&compared).into_iter();
            let class = |position: usize| Some(probe.classes().get(position)?.id);
            seen(probe.id(), positions.filter_map(class).collect())
        });
        Self {
            transport: limited.transport,
            seen: signs
                .chain(answers)
                .filter(|seen| !seen.classes.is_empty())
                .collect(),
        }
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
            let Some(known) = classes_of(self.transport, id) else {
                continue;
            };
            let table = Likelihoods::of(self.transport, id, known, counts);
            let position = |class: &String| known.iter().position(|known| known.id == *class);
            let positions: Vec<usize> = classes.iter().filter_map(position).collect();
            suspects.update(&table, &positions, POWER);
        }
    }
}

/// The classes of the sign or probe with this key.
pub(super) fn classes_of(transport: Transport, id: &str) -> Option<&'static [Class]> {
    let sign = signs::of(transport).iter().find(|sign| sign.id == id);
    let probe = || probes(transport).iter().find(|probe| probe.id() == id);
    sign.map(|sign| sign.classes)
        .or_else(|| probe().map(|probe| probe.classes()))
}
