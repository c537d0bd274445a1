//! Other programs that leave the one host on which both ends run hardly any idle time.
//!
//! Each thread of the test is late then, the sender's as well as the receiver's, and what was counted on hosts with time to
//! spare does not tell which of them is what limits.

use super::weights::Suspect;
use crate::causes::{receiver_cpu, sender_cpu};
use crate::readings::{are_apart, others_share, used_share};
use crate::thresholds::contention::{FULL, IDLE_FREE, TAKEN};
use linerate_model::Ratio;
use linerate_model::run::{Run, Trial};
use linerate_model::spec::Side;

/// Whether contention makes `suspect` one of two that cannot be told apart.
pub(super) fn concerns(suspect: Suspect) -> bool {
    *suspect == sender_cpu::CAUSE || *suspect == receiver_cpu::CAUSE
}

/// The share of all cores that other programs took while `shown` was made and while most of its probes were; `None` where
/// they left some, where hosts do not tell, and where the ends are known to run on two.
pub(super) fn contention(run: &Run, shown: &Trial) -> Option<Ratio> {
    let share = filled(run, shown)?;
    let probes = run.probes.iter().map(|probe| &probe.trial);
    let beside = probes.clone().filter(|trial| filled(run, trial).is_some());
    (beside.count() * 2 >= probes.count()).then_some(Ratio::clamped(share))
}

/// Whether the cores of a host on which `trial` ran were hardly ever idle, whoever used them.
pub(super) fn is_full(trial: &Trial) -> bool {
    let mut sides = [Side::Sender, Side::Receiver].into_iter();
    sides.any(|side| {
        let busy = trial.cpu_of(side).and_then(used_share);
        busy.is_some_and(|busy| busy >= IDLE_FREE)
    })
}

/// What a user is told of it; the share stands in what is said of other programs.
pub(super) const NOTE: &str =
    "Other programs left hardly any of the host's CPU for either end: stop them and measure again.";

fn filled(run: &Run, trial: &Trial) -> Option<f64> {
    let sides = [Side::Sender, Side::Receiver].into_iter();
    let taken = sides.filter_map(|side| taken(trial, side));
    let most = taken.max_by(f64::total_cmp)?;
    (most >= TAKEN && !are_apart(run, trial)).then_some(most)
}

/// What other programs took of all cores of `side`'s host; `None` also where the host had time left.
fn taken(trial: &Trial, side: Side) -> Option<f64> {
    let cpu = trial.cpu_of(side)?;
    let is_full = used_share(cpu).is_some_and(|busy| busy >= FULL);
    others_share(trial, side).filter(|_| is_full)
}
