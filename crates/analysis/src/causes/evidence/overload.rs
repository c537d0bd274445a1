//! Requests at a rate that rises until they are not answered in full.

use super::{Evidence, thread_load_in};
use crate::causes::words;
use linerate_model::run::{Knee, Trial};
use linerate_model::spec::Side;
use linerate_model::{PacketRate, Ratio};

/// The lowest rate that was too much.
pub(in crate::causes) struct Overload<'a> {
    knee: Knee,
    rate: PacketRate,
    trial: &'a Trial,
}

impl<'a> Overload<'a> {
    /// Of the run's curve; `None` if every rate was answered in full, or there was one rate only.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'a>) -> Option<Self> {
        let knee = evidence.run.curve()?.knee?;
        let rate = knee.saturated?;
        let trial = evidence.trials().iter().find(|trial| {
            let asked = rate_of(trial);
            asked.is_some_and(|asked| (asked - rate.pps()).abs() <= 1e-6 * rate.pps())
        })?;
        Some(Self { knee, rate, trial })
    }

    /// Whether the asking end could not ask.
    pub(in crate::causes) const fn is_of_the_sender(&self) -> bool {
        self.knee.sender_limited
    }

    /// Trials at lower rates than it.
    pub(in crate::causes) fn below(
        &self,
        evidence: &Evidence<'a>,
    ) -> impl Iterator<Item = &'a Trial> {
        let rate = self.rate.pps() * (1.0 - 1e-6);
        let trials = evidence.trials().iter().copied();
        trials.filter(move |trial| rate_of(trial).is_some_and(|asked| asked < rate))
    }

    /// What the rates up to it showed, in a sentence.
    pub(in crate::causes) fn describe(&self) -> String {
        let short = if self.is_of_the_sender() {
            "asked"
        } else {
            "answered"
        };
        let least = per_second(self.rate);
        match self.knee.answered_in_full {
            Some(most) => {
                let most = per_second(most);
                format!("requests were {short} in full up to {most}, not at {least}")
            }
            None => format!("requests were {short} in full at no rate, not even at {least}"),
        }
    }

    /// Share of the requests that were meant to be sent and were not, or were sent and not answered.
    pub(in crate::causes) fn missing(&self) -> Option<Ratio> {
        let requests = self.trial.requests()?;
        let lacking = if self.is_of_the_sender() {
            requests.unsent
        } else {
            requests.unanswered
        };
        Some(Ratio::from_parts(lacking.get(), requests.intended.get()))
    }

    /// Share of that trial in which the busiest traffic thread of `side` ran or waited for a core.
    pub(in crate::causes) fn pressure(&self, side: Side) -> Option<f64> {
        thread_load_in(self.trial, side)
    }
}

fn rate_of(trial: &Trial) -> Option<f64> {
    Some(trial.requests()?.intended_rate?.pps())
}

/// `1 200 per second`.
fn per_second(rate: PacketRate) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is not negative, and far below 2^64"
    )]
    let whole = rate.pps().round() as u64;
    format!("{} per second", words::count(whole))
}
