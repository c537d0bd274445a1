//! The terminal's keys, as long as it is there.

use linerate_model::Clock as _;
use linerate_sys::clock::MonoClock;
use linerate_sys::ending::has_hung_up;
use linerate_sys::wake::wait;
use ratatui::crossterm::event::{self, Event};
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// What keys are read from.
pub(super) enum Keyboard {
    Input(io::Stdin),
    Terminal(File),
}

impl Keyboard {
    /// Standard input if it is a terminal, else the terminal that the process belongs to.
    pub(super) fn open() -> io::Result<Self> {
        let input = io::stdin();
        if input.is_terminal() {
            Ok(Self::Input(input))
        } else {
            Ok(Self::Terminal(File::open("/dev/tty")?))
        }
    }

    /// The next input, waiting for `time` at most; an error once the terminal is gone. Crossterm must not be asked
    /// then: it reads the end of the file for ever.
    pub(super) fn next(&self, time: Duration) -> io::Result<Option<Event>> {
        if !time.is_zero() {
            wait([self.as_fd()], Some(MonoClock.now().after(time)))?;
        }
        if has_hung_up(self.as_fd()) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if event::poll(Duration::ZERO)? {
            event::read().map(Some)
        } else {
            Ok(None)
        }
    }
}

impl AsFd for Keyboard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Input(input) => input.as_fd(),
            Self::Terminal(file) => file.as_fd(),
        }
    }
}
