//! Datagrams at half the rate that was carried: loss that comes with a rate is gone there, loss by chance is not.

use super::class::classes;
use super::datagrams::{self, Datagrams};
use super::outcome::{Outcome, loss_on_path, would_show};
use super::queue::{Queue, queue};
use super::thread::{Thread, thread};
use super::{Probe, ProbeComparison, last_of};
use crate::experiment::NotRun;
use crate::thresholds::half_load::FAR_LESS;
use linerate_model::Ratio;
use linerate_model::run::{Change, Run, Trial};
use linerate_model::spec::{Side, TestSpec};
use std::time::Duration;

pub(super) struct HalfLoad;

/// Half of what was carried, or less: below any rate that limits, with room for what others took.
const FACTOR: f64 = 0.5;
/// The change that it makes.
pub(super) const CHANGE: Change = Change::Datagrams { factor: FACTOR };

classes! {
    Answer {
        /// A queue stood that these datagrams do not fill.
        Waited "waited",
        /// All arrived.
        Carried "carried",
        LostOnPath "lost-on-path",
        /// Lost at a receiver that was short of CPU time.
        LostAtLateReceiver "lost-at-late-receiver",
        LostAtReceiver "lost-at-receiver",
        /// The sender did not even send these.
        Short "short",
        Lost "lost",
    }
}

impl Probe for HalfLoad {
    fn id(&self) -> &'static str {
        "datagrams-at-half"
    }

    fn change(&self) -> Change {
        CHANGE
    }

    fn cost(&self) -> Duration {
        datagrams::TIME
    }

    fn classes(&self) -> &'static [&'static str] {
        Answer::IDS
    }

    fn read(&self, compared: &ProbeComparison<'_>) -> Vec<usize> {
        answer(compared)
            .into_iter()
            .map(|answer| answer as usize)
            .collect()
    }

    fn describe(&self, compared: &ProbeComparison<'_>) -> String {
        let changed = compared.changed;
        let loss = changed.loss_ratio().unwrap_or_default();
        let outcome = match answer(compared) {
            Some(Answer::Carried) => "all of them arrived".to_owned(),
            Some(Answer::Waited) => "many had to wait all the same".to_owned(),
            Some(Answer::LostOnPath) => format!(
                "{} were lost on the path all the same",
                Ratio::clamped(loss_on_path(changed))
            ),
            Some(Answer::LostAtLateReceiver | Answer::LostAtReceiver) => {
                format!("{loss} were lost at the receiver all the same")
            }
            Some(Answer::Lost) => format!("{loss} were lost, where is not known"),
            Some(Answer::Short) => "the sender did not send all of them".to_owned(),
            None if changed.loss_ratio().is_some_and(|loss| loss.get() <= 0.0) => {
                "all of them arrived, too few to tell whether some are lost at any rate".to_owned()
            }
            None => datagrams::said(None, changed),
        };
        let Some(load) = changed.offered_load else {
            return "A probe with datagrams at half the rate could not be measured.".to_owned();
        };
        format!("Probe with datagrams at {load}, half the rate or less: {outcome}.")
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        Datagrams::at(FACTOR).test(run, baseline)
    }
}

fn answer(compared: &ProbeComparison<'_>) -> Option<Answer> {
    // It is not compared with itself.
    let alone = ProbeComparison {
        half: None,
        ..*compared
    };
    Some(match Datagrams::at(FACTOR).outcome(&alone)? {
        Outcome::AtSocketStarved => Answer::LostAtLateReceiver,
        Outcome::AtSocket | Outcome::AtSocketLate | Outcome::BeforeSocket => Answer::LostAtReceiver,
        _ if queue(compared.changed, None) == Queue::Standing => Answer::Waited,
        Outcome::CarriedLossy
        | Outcome::Dropped
        | Outcome::LostOnPath
        | Outcome::Lost
        | Outcome::LostUnqueued
            if is_far_less(compared) =>
        {
            Answer::Carried
        }
        Outcome::CarriedLossy | Outcome::Dropped | Outcome::LostOnPath => Answer::LostOnPath,
        Outcome::Lost | Outcome::LostUnqueued => Answer::Lost,
        Outcome::ShortStarved | Outcome::ShortUnseen if is_short_in_run(compared.limited) => {
            Answer::Short
        }
        Outcome::Carried if !is_enough(compared) => return None,
        _ => Answer::Carried,
    })
}

/// Whether what is lost at half the rate is little beside what the run itself lost, or datagrams above its rate.
fn is_far_less(compared: &ProbeComparison<'_>) -> bool {
    loss_on_path(compared.changed) * FAR_LESS <= greatest_loss(compared)
}

/// Whether these datagrams would show the loss of the run itself, or of those above its rate, if it came at any rate.
fn is_enough(compared: &ProbeComparison<'_>) -> bool {
    let loss = Some(greatest_loss(compared)).filter(|loss| *loss > 0.0);
    // Few above a low rate may all arrive by chance where far more of them do not.
    let far_above = || loss_of_probe(compared, datagrams::FAR_ABOVE_TCP.change());
    let loss = loss.unwrap_or_else(far_above);
    loss <= 0.0 || would_show(loss, Some(compared.changed))
}

/// Of the run itself and of datagrams above its rate, on the path.
fn greatest_loss(compared: &ProbeComparison<'_>) -> f64 {
    let above = loss_of_probe(compared, datagrams::OVERLOAD.change());
    loss_on_path(compared.limited).max(above)
}

/// Loss on the path of the probe with this change, 0 without one.
fn loss_of_probe(compared: &ProbeComparison<'_>, change: Change) -> f64 {
    last_of(compared.run, change).map_or(0.0, loss_on_path)
}

/// Whether the sender's thread was short of CPU time in the run itself, as far as its host tells.
fn is_short_in_run(limited: &Trial) -> bool {
    thread(limited, Side::Sender).is_none_or(|thread| thread != Thread::Free)
}
