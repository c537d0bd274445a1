//! Datagrams at half the rate that was carried: loss that comes with a rate is gone there, loss by chance is not.

use super::datagrams::{self, Datagrams};
use super::suspects::Suspect;
use super::{Compared, Probe, shown};
use crate::experiment::NotRun;
use linerate_model::Ratio;
use linerate_model::run::{Change, Place, Run, Trial};
use linerate_model::spec::TestSpec;
use std::time::Duration;

pub(super) struct HalfLoad;

/// After a test of TCP or of datagrams.
pub(super) const HALF_LOAD: HalfLoad = HalfLoad;

/// Half of what was carried: below any rate that limits, with room for what others took.
const FACTOR: f64 = 0.5;

/// Of this share or more, a loss at half the load is not the rate's.
const LOSSY: f64 = 0.0005;

#[derive(Debug, Clone, Copy)]
enum Answer {
    /// All arrived.
    Carried,
    /// Some were lost on the path.
    LostOnPath,
    /// Some were lost at the receiver.
    LostAtReceiver,
}

const ANSWERS: usize = 3;

impl Probe for HalfLoad {
    fn id(&self) -> &'static str {
        "datagrams-at-half"
    }

    fn change(&self) -> Change {
        Change::Datagrams { factor: FACTOR }
    }

    fn cost(&self) -> Duration {
        datagrams::TIME
    }

    fn answers(&self) -> usize {
        ANSWERS
    }

    fn judged(&self, suspect: Suspect, answer: usize) -> f64 {
        let chances: [f64; ANSWERS] = match suspect {
            Suspect::PathLoss => [0.10, 0.88, 0.02],
            Suspect::ReceiverSocket => [0.60, 0.02, 0.38],
            Suspect::ReceiverCpu | Suspect::ReceiverApp | Suspect::ReceiverBacklog => {
                [0.83, 0.02, 0.15]
            }
            Suspect::Policer => [0.94, 0.05, 0.01],
            _ => [0.97, 0.02, 0.01],
        };
        chances[answer]
    }

    fn read(&self, compared: &Compared<'_>) -> Vec<usize> {
        read(compared.changed)
            .into_iter()
            .map(|answer| answer as usize)
            .collect()
    }

    fn describe(&self, compared: &Compared<'_>) -> String {
        let loss = compared.changed.loss_ratio().unwrap_or_default();
        let offered = shown(compared.changed.offered_load);
        let outcome = match read(compared.changed).as_slice() {
            [Answer::Carried] => "all of them arrived".to_owned(),
            [Answer::LostOnPath] => format!("{loss} were lost on the path all the same"),
            [Answer::LostAtReceiver] => format!("{loss} were lost at the receiver all the same"),
            _ => format!("{loss} were lost, where is not known"),
        };
        format!("Of datagrams at half the rate ({offered}), {outcome}.")
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        Datagrams::at(FACTOR).test(run, baseline)
    }
}

fn read(changed: &Trial) -> Vec<Answer> {
    let Some(loss) = changed.loss_ratio().map(Ratio::get) else {
        return Vec::new();
    };
    if loss < LOSSY {
        return vec![Answer::Carried];
    }
    match datagrams::share_at(changed, &[Place::Network]) {
        Some(share) if share >= 0.5 => vec![Answer::LostOnPath],
        Some(_) => vec![Answer::LostAtReceiver],
        None if datagrams::receiver_dropped_none(changed) => vec![Answer::LostOnPath],
        None => vec![Answer::LostOnPath, Answer::LostAtReceiver],
    }
}
