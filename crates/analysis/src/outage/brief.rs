//! Losses that reporting intervals do not resolve: all within two of them, where an outage that is shorter than these looks
//! like any other loss.

use super::{LEAST_DUE_PACKETS, LEAST_OF_DATAGRAMS, quiet, seconds};
use crate::readings::whole_intervals;
use linerate_model::PacketCount;
use linerate_model::run::{Run, Trial, TrialInterval, TrialWork};
use linerate_model::spec::Direction;
use std::fmt;
use std::time::Duration;

/// The intervals around a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unresolved {
    start: Duration,
    end: Duration,
    /// The length of one interval.
    interval: Duration,
}

/// `from 3 s to 5 s: intervals of 1 s resolve no outage shorter than 2 s`
impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "from {} s to {} s: intervals of {} s resolve no outage shorter than {} s",
            seconds(self.start),
            seconds(self.end),
            seconds(self.interval),
            seconds(self.interval * 2)
        )
    }
}

/// An outage has so many whole intervals on one side of it at least, or others tell nothing of the rest.
const LEAST_WHOLE: usize = 3;

/// The loss of the first trial in `direction` whose intervals do not resolve it, where no trial has another one.
pub(crate) fn of_run(run: &Run, direction: Direction) -> Option<Unresolved> {
    let here = run.trials.iter().filter(|t| t.direction == direction);
    let lossy = here.filter(|trial| super::all_lost(trial).is_some_and(|lost| lost > 0));
    let found = lossy.map(unresolved).collect::<Option<Vec<_>>>()?;
    found.into_iter().next()
}

/// Where all of a trial's loss is within two of its intervals that follow each other, as many packets at least as an
/// outage takes, and only intervals tell when what arrived came.
pub(crate) fn unresolved(trial: &Trial) -> Option<Unresolved> {
    if !matches!(trial.work, TrialWork::Datagrams(_)) {
        return None;
    }
    let quiet = quiet::find(trial);
    if !quiet.is_by_interval || !quiet.times.is_empty() {
        return None;
    }
    let missing = |interval: &TrialInterval| interval.lost_packets.map(PacketCount::get);
    let whole: Vec<&TrialInterval> = whole_intervals(trial).collect();
    if whole.iter().any(|interval| missing(interval).is_none()) {
        return None;
    }
    let is_lossy = |interval: &&&TrialInterval| missing(interval).is_some_and(|lost| lost > 0);
    let first = whole.iter().position(|one| is_lossy(&one))?;
    let last = whole.iter().rposition(|one| is_lossy(&one))?;
    let (lossy, others) = (&whole[first..=last], whole.len() - (last + 1 - first));
    // What is lost in an interval may be noticed in the next one alone.
    let around = &whole[first.saturating_sub(usize::from(first == last))..=last];
    if around.len() > 2 || others < LEAST_WHOLE {
        return None;
    }
    let all = lossy.iter().filter_map(|one| missing(one));
    let all = all.fold(0, u64::saturating_add);
    let received = trial.packets()?.received?.as_f64();
    let due = received * LEAST_OF_DATAGRAMS.div_duration_f64(trial.duration?);
    let interval = whole[0].end.saturating_sub(whole[0].start);
    (PacketCount::new(all).as_f64() >= due.max(LEAST_DUE_PACKETS)).then(|| Unresolved {
        start: around[0].start,
        end: around[around.len() - 1].end,
        interval,
    })
}
