//! How the traffic thread of one side fared for CPU time.

use super::class::classes;
use crate::readings::throttled_share;
use crate::thresholds::cpu::THROTTLED;
use crate::thresholds::thread::{ALWAYS, HELD_UP, LATE, RUNNABLE, STARVED, THROTTLED_MUCH};
use linerate_model::Ratio;
use linerate_model::run::Trial;
use linerate_model::spec::Side;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thread {
    /// It ran when it wanted to.
    Free,
    /// It waited for a core now and then.
    Late,
    /// It ran or waited for a core nearly all the time; or it waited, or was stopped by a quota, much of it.
    Starved,
}

/// Of `side`'s thread; `None` where its host tells nothing.
pub(super) fn thread(trial: &Trial, side: Side) -> Option<Thread> {
    trial.counters(side)?;
    let cpu = trial.cpu_of(side)?;
    let waited = cpu.run_delay_ratio?.get();
    let ran = cpu.thread_ratio.map_or(0.0, Ratio::get);
    let stopped = throttled_share(trial, side).unwrap_or_default();
    let is_short = waited >= STARVED || stopped >= THROTTLED_MUCH;
    // A kernel may count the time in a quota's pauses as one of waiting, or not.
    let runnable = (ran + waited.max(stopped)).min(1.0);
    Some(if runnable >= ALWAYS || is_short && runnable >= RUNNABLE {
        Thread::Starved
    } else if is_kept_waiting(trial, side) {
        Thread::Late
    } else {
        Thread::Free
    })
}

/// Whether `side`'s thread waited for a core, or for the next period of its quota, now and then at least.
pub(super) fn is_kept_waiting(trial: &Trial, side: Side) -> bool {
    let waited = trial.cpu_of(side).and_then(|cpu| cpu.run_delay_ratio);
    waited.is_some_and(|waited| waited.get() >= LATE)
        || throttled_share(trial, side).is_some_and(|stopped| stopped >= THROTTLED)
}

/// What `side`'s thread did with its time, to follow its name: where it had none left this says why.
pub(super) fn described(trial: &Trial, side: Side) -> String {
    let cpu = trial.cpu_of(side);
    let ran = cpu.and_then(|cpu| cpu.thread_ratio).unwrap_or_default();
    let waited = cpu.and_then(|cpu| cpu.run_delay_ratio).unwrap_or_default();
    match throttled_share(trial, side).filter(|stopped| *stopped >= THROTTLED) {
        Some(stopped) => format!(
            "was stopped by its CPU quota {} of the time",
            Ratio::clamped(stopped)
        ),
        None => format!("ran {ran} of the time and waited for a core {waited}"),
    }
}

/// Whether `side`'s thread waited for its own schedule more than it did anything else, and hardly ever in its calls.
pub(super) fn is_paused(trial: &Trial, side: Side) -> bool {
    spent(trial, side) == Some(Spent::Paused)
}

classes! {
    /// Where most of a traffic thread's time went: one that its socket holds up is not what limits.
    Spent {
        /// In its calls, a sender without room in its socket, a receiver without anything to read.
        Blocked "blocked",
        /// There too, and the rest mostly elsewhere.
        PartlyBlocked "partly-blocked",
        /// There too, and the rest mostly until times of its own.
        PartlyPaused "partly-paused",
        /// Hardly ever there, but until times of its own.
        Paused "paused",
        /// On a core.
        Running "running",
        /// For a core or the next period of its quota.
        Waiting "waiting",
    }
}

/// Where most of the time of `side`'s thread went; `None` where its host does not tell.
pub(super) fn spent(trial: &Trial, side: Side) -> Option<Spent> {
    let cpu = trial.cpu_of(side)?;
    let share = |share: Option<Ratio>| share.map(Ratio::get);
    let blocked = share(cpu.blocked_ratio)?;
    let (paused, ran) = (share(cpu.paused_ratio)?, share(cpu.thread_ratio)?);
    let waited = share(cpu.run_delay_ratio)?;
    let is_idle = paused >= ran.max(waited);
    Some(if blocked >= HELD_UP[1] {
        Spent::Blocked
    } else if blocked >= HELD_UP[0] {
        if is_idle {
            Spent::PartlyPaused
        } else {
            Spent::PartlyBlocked
        }
    } else if is_idle {
        Spent::Paused
    } else if ran >= waited {
        Spent::Running
    } else {
        Spent::Waiting
    })
}
