//! Counters for whoever started the switch.

use super::counts::Counts;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::{Clock as _, MonoInstant};
use linerate_p4::DataPlane as _;
use linerate_p4_switch::{Control, PortError, Station};
use linerate_sys::clock::MonoClock;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What somebody who started the switch asks of it, line by line.
#[derive(Debug)]
pub(super) struct Questions {
    /// Silence after which nobody is there any more; empty lines are signs of life then, and no questions.
    patience: Option<Duration>,
    asked: AtomicU64,
    /// Nanoseconds of this host's clock.
    heard: AtomicU64,
    pub(super) ended: AtomicBool,
}

impl Questions {
    /// `patience` is the longest silence.
    pub(super) fn new(patience: Option<Duration>) -> Self {
        Self {
            patience,
            asked: AtomicU64::new(0),
            heard: AtomicU64::new(MonoClock.now().as_nanos()),
            ended: AtomicBool::new(false),
        }
    }

    /// Whether nobody has said anything for too long.
    pub(super) fn is_silent(&self) -> bool {
        let heard = MonoInstant::from_nanos(self.heard.load(Ordering::Relaxed));
        self.patience
            .is_some_and(|patience| MonoClock.now().saturating_since(heard) >= patience)
    }

    /// How the run ends: nobody who is heard of no more is an error.
    pub(super) fn check_heard(&self) -> Result<ExitCode, Failure> {
        if self.is_silent() {
            let message = "whoever started it has not been heard of for too long";
            return Err(Failure::new(ExitCode::Peer, message));
        }
        Ok(ExitCode::Done)
    }

    /// Counts lines of standard input until it ends, and wakes the switch at each.
    pub(super) fn read(self: &Arc<Self>, control: Control) {
        let own = Arc::clone(self);
        std::thread::spawn(move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                own.heard
                    .store(MonoClock.now().as_nanos(), Ordering::Relaxed);
                if own.patience.is_some() && line.is_empty() {
                    continue;
                }
                own.asked.fetch_add(1, Ordering::Relaxed);
                control.run(Box::new(|_, _| ()));
            }
            own.ended.store(true, Ordering::Relaxed);
            control.run(Box::new(|_, _| ()));
        });
    }
}

/// Lets packets through until `is_over`, and answers questions meanwhile.
pub(super) fn answering(
    station: &mut Station,
    questions: &Questions,
    is_over: impl Fn() -> bool,
    counts: impl Fn(&mut Station) -> Counts,
) -> Result<Result<(), PortError>, Failure> {
    let mut answered = 0;
    loop {
        let has_question = || questions.asked.load(Ordering::Relaxed) > answered;
        let ended = station.run(|| is_over() || has_question());
        if ended.is_err() || !has_question() {
            return Ok(ended);
        }
        counts(station).print(true)?;
        answered += 1;
    }
}
