//! What a run shows of what limits it, and what follows.

use super::counts::{Counts, Observation, Seen};
use super::likelihoods::Likelihoods;
use super::suspects;
use super::weights::Suspects;
use super::{limited, made, signs};
use linerate_model::run::Run;
use linerate_model::spec::Transport;

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
