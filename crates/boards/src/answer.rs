//! Answers of a supervisor, and whether a descriptor has input.

use crate::boards::Record;
use linerate_model::exit::{ExitCode, Failure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::os::fd::BorrowedFd;

/// Answer of a supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The board is ready, or its link is as requested.
    Ready(Record),
    /// An error.
    Failed {
        /// Exit code for it.
        code: i32,
        /// What failed, and why.
        message: String,
    },
}

impl From<&Failure> for Answer {
    fn from(failure: &Failure) -> Self {
        Self::Failed {
            code: failure.code as i32,
            message: failure.message.clone(),
        }
    }
}

impl Answer {
    /// The board's record, or the error.
    pub(crate) fn into_record(self) -> Result<Record, Failure> {
        match self {
            Self::Ready(record) => Ok(record),
            Self::Failed { code, message } => {
                let mut known = ExitCode::ALL.iter().map(|(known, _)| *known);
                let code = known.find(|known| *known as i32 == code);
                Err(Failure::new(code.unwrap_or(ExitCode::Other), message))
            }
        }
    }
}

/// Writes an answer. A reader that has gone away is noticed elsewhere.
pub(crate) fn say(output: &mut impl Write, said: &Answer) {
    if let Ok(text) = serde_json::to_string(said) {
        let _ = writeln!(output, "{text}").and_then(|()| output.flush());
    }
}

/// Whether a descriptor is readable, or at its end.
pub(crate) fn is_readable(descriptor: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
}
