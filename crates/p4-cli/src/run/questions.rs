//! Counters for whoever started the switch.

use super::counts::Counts;
use linerate_model::exit::Failure;
use linerate_p4::DataPlane as _;
use linerate_p4_switch::{Control, PortError, Station};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What somebody who started the switch asks of it, line by line.
#[derive(Debug, Default)]
pub(super) struct Questions {
    asked: AtomicU64,
    pub(super) ended: AtomicBool,
}

impl Questions {
    /// Counts lines of standard input until it ends, and wakes the switch at each.
    pub(super) fn read(self: &Arc<Self>, control: Control) {
        let own = Arc::clone(self);
        std::thread::spawn(move || {
            for _ in io::stdin().lines().map_while(Result::ok) {
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
