//! `--live`: the whole terminal shows the test while it goes on.
//!
//! A thread of its own reads keys and draws, so that the view answers whatever the test waits for. What is shown is
//! `linerate_live`'s; this is the terminal. It is given back, as it was, when the view is dropped, before a second wish
//! to end kills the process, and before the message of a panic.

mod screen;
#[cfg(test)]
mod tests;

use crate::terminal;
use anyhow::Result;
use linerate_live::{Live, Scroll, render};
use linerate_model::exit::{ExitCode, Failure};
use linerate_studies::watch::{Event, Watcher};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use screen::{FrameWriter, Screen};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::env;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Signals that ask a program to end.
const ENDING: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Frames are at least this far apart, as the updates of the progress bar: more would disturb the test beside them.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// The view, as a watcher of the command.
pub(crate) struct LiveView {
    state: Arc<Mutex<Shown>>,
    screen: Arc<Screen>,
    /// Tells the thread that the command is over.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// What is also said below the screen that the view leaves.
    notes: Vec<String>,
}

/// What is shown, and whether it has changed since it was drawn.
#[derive(Default)]
struct Shown {
    live: Live,
    is_drawn: bool,
}

impl LiveView {
    /// Takes the terminal; `interrupt` is set by the first key or signal that asks for the end of the test.
    pub(crate) fn start(interrupt: &Arc<AtomicBool>) -> Result<Self> {
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        if !io::stderr().is_terminal() || is_dumb {
            return Err(refused("standard error is not one that can be drawn on").into());
        }
        let signals = Signals::new(ENDING)?;
        let screen = Screen::enter()
            .map_err(|error| refused(&format!("there is none to read keys from ({error})")))?;
        let screen = Arc::new(screen);
        screen::restore_on_panic(&screen);
        let state = Arc::new(Mutex::new(Shown::default()));
        let (over, ended) = channel();
        let mut desk = Desk {
            state: Arc::clone(&state),
            screen: Arc::clone(&screen),
            interrupt: Arc::clone(interrupt),
            signals,
        };
        let thread = thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || desk.attend(&ended));
        // Dropped without a thread, it gives the terminal back.
        let mut view = Self {
            state,
            screen,
            over: Some(over),
            thread: None,
            notes: Vec::new(),
        };
        view.thread = Some(thread?);
        Ok(view)
    }
}

fn refused(why: &str) -> Failure {
    let message = format!(
        "--live needs a terminal, and {why}: leave out --live, or use --stream for events that a program reads"
    );
    Failure::new(ExitCode::Usage, message)
}

/// What a panic of the other thread left is shown all the same.
fn locked(state: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watcher for LiveView {
    fn event(&mut self, event: Event<'_>) {
        let mut shown = locked(&self.state);
        shown.is_drawn = false;
        let live = &mut shown.live;
        match event {
            Event::Began { kind, title, hosts } => live.began(kind, title, hosts),
            Event::Follows { kind, title } => live.follows(kind, title),
            Event::Progress {
                share,
                text,
                elapsed,
            } => live.progress(share, text, elapsed),
            Event::Cores { here, there } => live.cores(here, there),
            Event::Interval(interval) => live.interval(interval),
            Event::Trial(trial) => live.trial(trial),
            Event::Note(text) => {
                live.note(text);
                self.notes.push(text.to_owned());
            }
            Event::Ended => {}
        }
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            // A panic of it has said so by itself.
            drop(thread.join());
        }
        self.screen.leave();
        for text in &self.notes {
            terminal::note(text);
        }
    }
}

/// The thread that reads keys and draws.
struct Desk {
    state: Arc<Mutex<Shown>>,
    screen: Arc<Screen>,
    interrupt: Arc<AtomicBool>,
    signals: Signals,
}

impl Desk {
    /// Until the command is over.
    fn attend(&mut self, ended: &Receiver<()>) {
        let backend = CrosstermBackend::new(FrameWriter::new(&self.screen));
        // Without a terminal there is nothing to draw, but signals still count.
        let mut terminal = Terminal::new(backend).ok();
        let mut has_keys = true;
        loop {
            if let Some(terminal) = &mut terminal {
                self.draw(terminal);
            }
            let signals: Vec<_> = self.signals.pending().collect();
            for signal in signals {
                self.end(signal);
            }
            let wait = if has_keys {
                Duration::ZERO
            } else {
                FRAME_INTERVAL
            };
            if !matches!(ended.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                break;
            }
            if has_keys {
                has_keys = self.read_keys().is_ok();
            }
        }
        // From here on there is no test to keep.
        let gone = Arc::new(AtomicBool::new(true));
        for signal in ENDING {
            drop(signal_hook::flag::register_conditional_default(
                signal,
                Arc::clone(&gone),
            ));
        }
    }

    /// Waits for the time of a frame at most; an error if the terminal is gone.
    fn read_keys(&self) -> io::Result<()> {
        let mut wait = FRAME_INTERVAL;
        while event::poll(wait)? {
            match event::read()? {
                Input::Key(key) if key.kind != KeyEventKind::Release => self.press(key),
                Input::Resize(..) => locked(&self.state).is_drawn = false,
                _ => {}
            }
            wait = Duration::ZERO;
        }
        Ok(())
    }

    fn press(&self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd' | '\\') if control => self.end(SIGINT),
            KeyCode::Char('q' | 'Q' | 'x') | KeyCode::Esc | KeyCode::F(10) => self.end(SIGINT),
            _ => self.look(key.code),
        }
    }

    /// Keys that choose what is in view.
    fn look(&self, code: KeyCode) {
        let size = ratatui::crossterm::terminal::size().unwrap_or_default();
        let page = i16::try_from(size.1 / 4).unwrap_or(1);
        let mut shown = locked(&self.state);
        shown.is_drawn = false;
        let live = &mut shown.live;
        let by = match code {
            KeyCode::Tab | KeyCode::Right => return live.focus(true),
            KeyCode::BackTab | KeyCode::Left => return live.focus(false),
            KeyCode::Up | KeyCode::Char('k') => Scroll::Lines(-1),
            KeyCode::Down | KeyCode::Char('j') => Scroll::Lines(1),
            KeyCode::PageUp => Scroll::Lines(-page),
            KeyCode::PageDown => Scroll::Lines(page),
            KeyCode::Home => Scroll::Begin,
            KeyCode::End => Scroll::End,
            _ => return,
        };
        live.scroll(by, size);
    }

    /// The first wish ends the test, the second the process.
    fn end(&self, signal: i32) {
        if self.interrupt.swap(true, Ordering::Relaxed) {
            self.screen.leave();
            drop(signal_hook::low_level::emulate_default_handler(signal));
        }
        let mut shown = locked(&self.state);
        shown.live.ends();
        shown.is_drawn = false;
    }

    fn draw(&self, terminal: &mut Terminal<CrosstermBackend<FrameWriter>>) {
        let mut shown = locked(&self.state);
        if shown.is_drawn {
            return;
        }
        shown.is_drawn = true;
        let live = &shown.live;
        // A terminal that is gone says so by a signal.
        drop(terminal.draw(|frame| render(live, frame.area(), frame.buffer_mut())));
    }
}
