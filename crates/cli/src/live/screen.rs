//! The terminal's other screen: entered, drawn on by whole frames, and left once, whoever comes first.

use ratatui::crossterm::QueueableCommand as _;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The screen of standard error while the view has it.
#[derive(Debug)]
pub(super) struct Screen {
    is_left: AtomicBool,
}

impl Screen {
    /// Keys come as they are typed, and what was on the terminal is put aside.
    pub(super) fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        let screen = Self {
            is_left: AtomicBool::new(false),
        };
        let mut err = io::stderr().lock();
        let entered = err
            .queue(EnterAlternateScreen)
            .and_then(|err| err.queue(Hide));
        if let Err(error) = entered.and_then(Write::flush) {
            drop(err);
            screen.leave();
            return Err(error);
        }
        Ok(screen)
    }

    /// Gives the terminal back as it was. Later calls, and later frames, do nothing.
    pub(super) fn leave(&self) {
        // The lock keeps a frame whole that another thread writes.
        let mut err = io::stderr().lock();
        if self.is_left.swap(true, Ordering::Relaxed) {
            return;
        }
        // A terminal that is gone needs nothing back.
        let left = err
            .queue(LeaveAlternateScreen)
            .and_then(|err| err.queue(Show));
        drop(left.and_then(Write::flush));
        drop(disable_raw_mode());
    }

    /// Writes a frame, unless the screen was left.
    fn show(&self, frame: &[u8]) -> io::Result<()> {
        let mut err = io::stderr().lock();
        if self.is_left.load(Ordering::Relaxed) {
            return Ok(());
        }
        err.write_all(frame)
    }
}

/// The message of a panic comes on the screen that the user had.
pub(super) fn restore_on_panic(screen: &Arc<Screen>) {
    let (screen, say) = (Arc::clone(screen), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        screen.leave();
        say(info);
    }));
}

/// Collects a frame and writes it at once.
pub(super) struct FrameWriter {
    screen: Arc<Screen>,
    frame: Vec<u8>,
}

impl FrameWriter {
    pub(super) fn new(screen: &Arc<Screen>) -> Self {
        Self {
            screen: Arc::clone(screen),
            frame: Vec::new(),
        }
    }
}

impl Write for FrameWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let shown = self.screen.show(&self.frame);
        self.frame.clear();
        shown
    }
}
