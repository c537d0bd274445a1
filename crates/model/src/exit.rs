//! Exit codes: a contract with scripts.

use std::error::Error;
use std::iter::successors;
use std::process::{self, Termination};

/// How a command ended, as the process's exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done.
    Done = 0,
    /// Anything that has no code of its own, such as a run that the user interrupted or a full disk.
    Other = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The plan file is wrong.
    Plan = 3,
    /// This host, or the peer's, lacks something that the command needs.
    HostLacks = 4,
    /// The peer failed: unreachable, gone in mid-test, or speaking something else.
    Peer = 5,
    /// The run finished, but its result is not valid.
    Invalid = 6,
    /// A goal was not met, or a regression was found.
    GoalMissed = 7,
    /// Too few repetitions, or too much scatter, to show what was asked.
    CannotTell = 8,
}

impl ExitCode {
    /// The code that a program exited with, if it is one of these.
    pub fn of(code: i32) -> Option<Self> {
        let mut all = Self::ALL.iter().map(|(known, _)| *known);
        all.find(|known| *known as i32 == code)
    }

    /// The code of a command that ended with `error`: that of the first failure among it and its causes.
    pub fn for_error(error: &(dyn Error + 'static)) -> Self {
        Failure::of(error).map_or(Self::Other, |failure| failure.code)
    }

    /// Every code with one sentence for help and docs, in numeric order.
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::Done, "done"),
        (
            Self::Other,
            "anything else, such as an interrupted run or a full disk",
        ),
        (Self::Usage, "usage: the command line is wrong"),
        (Self::Plan, "the plan or input file is wrong"),
        (Self::HostLacks, "this host lacks something"),
        (Self::Peer, "the peer failed"),
        (Self::Invalid, "the run finished but is invalid"),
        (Self::GoalMissed, "goal not met, or regression"),
        (
            Self::CannotTell,
            "cannot tell: too few repetitions to show what was asked",
        ),
    ];
}

impl Termination for ExitCode {
    fn report(self) -> process::ExitCode {
        process::ExitCode::from(self as u8)
    }
}

/// What a step of a command gives.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error that knows which exit code it deserves.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The code to exit with.
    pub code: ExitCode,
    /// What was tried, on what, why it failed and what to do.
    pub message: String,
}

impl Failure {
    /// A failure of the given kind.
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The first failure among an error and its causes.
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        successors(Some(error), |&error| error.source()).find_map(<dyn Error>::downcast_ref)
    }
}
