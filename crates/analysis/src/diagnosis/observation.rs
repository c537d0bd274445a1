//! What a run shows of what limits it, and what follows.

use super::counts::{Counts, Observation, ObservedClass, key};
use super::likelihoods::{LikelihoodData, Likelihoods};
use super::signs::SignInput;
use super::weights::Suspects;
use super::{half_load, last_of, limited, made, shaper, shown_by, signs};
use linerate_model::run::{Run, Trial};

impl Observation {
    /// Of a run that something limits; `None` if probes cannot explain it.
    pub fn from_run(run: &Run) -> Option<Self> {
        limited(run).map(|limited| Self::of(run, limited))
    }

    /// Of the trial of `run` that is to be explained.
    pub(super) fn of(run: &Run, limited: &Trial) -> Self {
        let shown = SignInput {
            run,
            trial: shown_by(run, limited),
            goal: run.goals().iter().max_by_key(|goal| goal.upper_bound),
            half: last_of(run, half_load::CHANGE),
            shaped: shaper::payload_rate(run, limited),
        };
        let seen = |id: &str, classes: Vec<&str>| ObservedClass {
            id: id.to_owned(),
            classes: classes.into_iter().map(str::to_owned).collect(),
        };
        let signs = signs::of(limited.transport).iter().map(|sign| {
            let read = (sign.read)(&shown);
            let class = read.and_then(|class| sign.classes.get(class));
            seen(sign.id, class.copied().into_iter().collect())
        });
        let answers = made::compared(run, limited).map(|(probe, compared)| {
            let positions = probe.read(&compared).into_iter();
            let class = |position: usize| probe.classes().get(position).copied();
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
        let fitted = LikelihoodData::built_in();
        for ObservedClass { id, classes } in &self.seen {
            let known = fitted.classes(&key(self.transport, id));
            let table = Likelihoods::of(self.transport, id, counts);
            let position = |class: &String| known.iter().position(|known| known == class);
            let positions: Vec<usize> = classes.iter().filter_map(position).collect();
            suspects.update(&table, &positions, fitted.power());
        }
    }
}
