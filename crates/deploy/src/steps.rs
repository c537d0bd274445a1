//! How long a conversation with another host's shell is waited for, by the steps that it makes.

use linerate_model::MonoInstant;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time for the first answer of a shell that prints something.
pub(crate) const BABBLE: Duration = Duration::from_secs(15);

/// Time until a shell says anything: a user who types a password has more.
const SILENCE: Duration = Duration::from_secs(20);
const SILENCE_WITH_TERMINAL: Duration = Duration::from_mins(1);

/// Whether somebody may be typing a password for ssh, which it reads from its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typist {
    /// There is no terminal.
    None,
    /// There is one.
    Possible,
}

impl Typist {
    /// How long a shell may say nothing at all.
    pub(crate) const fn silence(self) -> Duration {
        match self {
            Self::None => SILENCE,
            Self::Possible => SILENCE_WITH_TERMINAL,
        }
    }
}

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
    /// It is given up: nothing was ever heard.
    Silent,
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
    /// When a shell is given up that was not heard until then.
    silent: MonoInstant,
    /// The steps seen, and when.
    steps: u64,
    last: MonoInstant,
    /// When the shell was first heard.
    heard: Option<MonoInstant>,
}

impl Patience {
    pub(crate) fn new(
        now: MonoInstant,
        timeout: Duration,
        stalled: Duration,
        typist: Typist,
    ) -> Self {
        Self {
            end: now.after(timeout),
            stalled,
            silent: now.after(typist.silence()),
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
        let silent = Some(self.silent).filter(|_| self.heard.is_none() && steps == 0);
        match (babbles, silent) {
            (Some(at), _) if now >= at => Wait::Babbles,
            _ if now >= stalled => Wait::Stalled,
            (_, Some(at)) if now >= at => Wait::Silent,
            (babbles, silent) => {
                let ends = [babbles, silent].into_iter().flatten();
                Wait::Until(ends.fold(stalled, MonoInstant::min))
            }
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
        let timeout = Duration::from_mins(5);
        let mut patience = Patience::new(start, timeout, STALLED, Typist::Possible);
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
    fn a_shell_that_says_nothing_is_given_up_soon_where_nobody_types() {
        let start = MonoInstant::default();
        let hour = Duration::from_hours(1);
        let mut patience = Patience::new(start, hour, hour, Typist::None);
        let at = |seconds| start.after(Duration::from_secs(seconds));
        assert_eq!(patience.at(start, 0, false), Wait::Until(at(20)));
        assert_eq!(patience.at(at(20), 0, false), Wait::Silent);
        // Once it was heard, what it was asked to run may be silent.
        let mut patience = Patience::new(start, hour, hour, Typist::None);
        assert_eq!(patience.at(at(1), 1, true), Wait::Until(at(3600)));
        assert_eq!(patience.at(at(3000), 1, true), Wait::Until(at(3600)));
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
