//! `--live`: the whole terminal shows the test while it goes on.
//!
//! A thread of its own reads keys and draws, so that the view answers whatever the test waits for. What is shown is
//! `linerate_live`'s; this is the terminal. It is given back, as it was, when the view is dropped, before the process is
//! ended, and before the message of a panic.

mod keyboard;
mod screen;
#[cfg(test)]
mod tests;

use crate::terminal;
use anyhow::Result;
use keyboard::Keyboard;
use linerate_live::{Live, Scroll, render};
use linerate_model::exit::{ExitCode, Failure};
use linerate_studies::watch::{Event, Watcher};
use linerate_sys::ending;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use screen::{FrameWriter, Screen};
use std::env;
use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Frames are at least this far apart, as the updates of the progress bar: more would disturb the test beside them.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// Largest view. Whoever holds the other end of a terminal can give it any size, and each place takes memory.
const MAX_COLUMNS: u16 = 1024;
const MAX_ROWS: u16 = 512;

/// The view, as a watcher of the command.
pub(crate) struct LiveView {
    state: Arc<Mutex<LiveState>>,
    screen: Arc<Screen>,
    /// Tells the thread that the command is over.
    over: Option<Sender<()>>,
    /// The thread, and what ends when it has ended.
    thread: Option<(JoinHandle<()>, Receiver<()>)>,
    /// What is also said below the screen that the view leaves.
    notes: Vec<String>,
}

/// The part of the terminal that is drawn on; `None` without a terminal.
fn view_area() -> Option<Rect> {
    let (columns, rows) = ratatui::crossterm::terminal::size().ok()?;
    Some(Rect::new(
        0,
        0,
        columns.min(MAX_COLUMNS),
        rows.min(MAX_ROWS),
    ))
}

/// What is shown, and whether it has changed since it was drawn.
#[derive(Default)]
struct LiveState {
    live: Live,
    is_drawn: bool,
}

impl LiveView {
    /// Takes the terminal. Its keys ask for the end of the test as signals do.
    pub(crate) fn start() -> Result<Self> {
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        if !io::stderr().is_terminal() || is_dumb {
            return Err(refused("standard error is not a terminal that can be drawn on").into());
        }
        let keyless = |error| refused(&format!("no terminal to read keys from ({error})"));
        let keyboard = Keyboard::open().map_err(keyless)?;
        let screen = Arc::new(Screen::enter().map_err(keyless)?);
        screen::restore_on_panic(&screen);
        let shown = Arc::clone(&screen);
        ending::before_end(move || shown.leave());
        let state = Arc::new(Mutex::new(LiveState::default()));
        let (over, ended) = channel();
        let (ending, has_ended) = channel();
        let mut desk = Desk {
            state: Arc::clone(&state),
            screen: Arc::clone(&screen),
            keyboard,
            is_ending: false,
        };
        let thread = thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || {
                desk.attend(&ended);
                drop(ending);
            });
        // Dropped without a thread, it gives the terminal back.
        let mut view = Self {
            state,
            screen,
            over: Some(over),
            thread: None,
            notes: Vec::new(),
        };
        view.thread = Some((thread?, has_ended));
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
fn locked(state: &Mutex<LiveState>) -> MutexGuard<'_, LiveState> {
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
            Event::Note(text) | Event::Warning(text) => {
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
        if let Some((thread, has_ended)) = self.thread.take()
            // A write to a terminal that is stopped, or gone meanwhile, may not return.
            && has_ended.recv_timeout(FRAME_INTERVAL * 3) == Err(RecvTimeoutError::Disconnected)
        {
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
    state: Arc<Mutex<LiveState>>,
    screen: Arc<Screen>,
    keyboard: Keyboard,
    /// Whether the view says that the test ends.
    is_ending: bool,
}

impl Desk {
    /// Until the command is over.
    fn attend(&mut self, ended: &Receiver<()>) {
        let backend = CrosstermBackend::new(FrameWriter::new(&self.screen));
        // Without a terminal there is nothing to draw.
        let mut terminal = view_area().and_then(|area| {
            let viewport = Viewport::Fixed(area);
            Terminal::with_options(backend, TerminalOptions { viewport }).ok()
        });
        let mut has_keys = true;
        loop {
            if ending::is_asked() && !self.is_ending {
                self.is_ending = true;
                let mut shown = locked(&self.state);
                shown.live.ends();
                shown.is_drawn = false;
            }
            if let Some(terminal) = &mut terminal {
                self.draw(terminal);
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
    }

    /// Waits for the time of a frame at most; an error if the terminal is gone.
    fn read_keys(&self) -> io::Result<()> {
        let mut wait = FRAME_INTERVAL;
        while let Some(input) = self.keyboard.next(wait)? {
            match input {
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
            KeyCode::Char('c' | 'd' | '\\') if control => ending::ask(),
            KeyCode::Char('q' | 'Q' | 'x') | KeyCode::Esc | KeyCode::F(10) => ending::ask(),
            _ => self.look(key.code),
        }
    }

    /// Keys that choose what is in view.
    fn look(&self, code: KeyCode) {
        let area = view_area().unwrap_or_default();
        let page = i16::try_from(area.height / 4).unwrap_or(1);
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
        live.scroll(by, area);
    }

    fn draw(&self, terminal: &mut Terminal<CrosstermBackend<FrameWriter>>) {
        let mut shown = locked(&self.state);
        if shown.is_drawn {
            return;
        }
        shown.is_drawn = true;
        let live = &shown.live;
        // A terminal that is gone says so by a signal.
        if let Some(area) = view_area().filter(|area| *area != terminal.get_frame().area()) {
            drop(terminal.resize(area));
        }
        drop(terminal.draw(|frame| render(live, frame.area(), frame.buffer_mut())));
    }
}
