//! How long a conversation with another host's shell is waited for, by the steps that it makes.

use linerate_model::MonoInstant;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time for the first answer of a shell that prints something.
pub(crate) const BABBLE: Duration = Duration::from_secs(15);

/// Steps of a dialogue that were made, by which its time is limited.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps(Arc<Counted>);

#[derive(Debug, Default)]
struct Counted {
    made: AtomicU64,
    has_heard: AtomicBool,
}

impl Steps {
    /// One more.
    pub(crate) fn made(&self) {
        self.0.made.fetch_add(1, Ordering::Relaxed);
    }

    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.0.made.load(Ordering::Relaxed)
    }

    /// The shell says something, whatever it is.
    pub(crate) fn heard(&self) {
        self.0.has_heard.store(true, Ordering::Relaxed);
    }

    /// Whether it has said anything.
    pub(crate) fn has_heard(&self) -> bool {
        self.0.has_heard.load(Ordering::Relaxed)
    }
}

/// What becomes of a conversation at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It is given up: what comes is no answer.
    Babbles,
    /// It is given up: nothing goes on.
    Stalled,
    /// It is waited for until then, at most.
    Until(MonoInstant),
}

/// How long a conversation is waited for. Until the shell speaks a user may type a password, or a network be slow; then its
/// first answer is a matter of milliseconds.
#[derive(Debug)]
pub(crate) struct Patience {
    end: MonoInstant,
    stalled: Duration,
    /// The steps seen, and when.
    steps: u64,
    last: MonoInstant,
    /// When the shell was first heard.
    heard: Option<MonoInstant>,
}

impl Patience {
    pub(crate) fn new(now: MonoInstant, timeout: Duration, stalled: Duration) -> Self {
        Self {
            end: now.after(timeout),
            stalled,
            steps: 0,
            last: now,
            heard: None,
        }
    }

    /// What becomes of it `now`, when so many steps were made, and whether the shell was heard.
    pub(crate) fn at(&mut self, now: MonoInstant, steps: u64, has_heard: bool) -> Wait {
        if steps > self.steps {
            (self.steps, self.last) = (steps, now);
        }
        if has_heard && self.heard.is_none() {
            self.heard = Some(now);
        }
        let stalled = self.last.after(self.stalled).min(self.end);
        let babbles = self.heard.filter(|_| steps == 0).map(|at| at.after(BABBLE));
        match babbles {
            Some(at) if now >= at => Wait::Babbles,
            _ if now >= stalled => Wait::Stalled,
            Some(at) => Wait::Until(at.min(stalled)),
            None => Wait::Until(stalled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALLED: Duration = Duration::from_mins(1);

    /// The second in which a host is given up that makes these steps and is heard in the second `heard`.
    fn given_up(steps: impl Fn(u64) -> u64, heard: Option<u64>) -> (u64, Wait) {
        let start = MonoInstant::default();
        let mut patience = Patience::new(start, Duration::from_mins(5), STALLED);
        for second in 0.. {
            let now = start.after(Duration::from_secs(second));
            let is_heard = heard.is_some_and(|at| second >= at);
            match patience.at(now, steps(second), is_heard) {
                Wait::Until(until) => assert!(until > now),
                given_up => return (second, given_up),
            }
        }
        unreachable!("it is waited for without end")
    }

    #[test]
    fn a_shell_that_prints_but_does_not_answer_is_given_up_soon() {
        assert_eq!(given_up(|_| 0, Some(0)), (15, Wait::Babbles));
        assert_eq!(given_up(|_| 0, Some(20)), (35, Wait::Babbles));
        // Somebody may type a password until then.
        assert_eq!(given_up(|_| 0, None), (60, Wait::Stalled));
        assert_eq!(given_up(|_| 0, Some(59)), (60, Wait::Stalled));
    }

    #[test]
    fn steps_are_waited_for_one_by_one_and_all_have_an_end() {
        assert_eq!(
            given_up(|second| u64::from(second >= 10), Some(0)),
            (70, Wait::Stalled)
        );
        assert_eq!(given_up(|second| second, Some(0)), (300, Wait::Stalled));
    }
}
