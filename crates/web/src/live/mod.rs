//! A test that the site started: a child process, and what its events say.

mod page;
mod request;
mod ring;
mod state;
mod stream;

pub(crate) use page::{choose, live, start, stop, test};
pub(crate) use stream::events;

use crate::access::Token;
use linerate_sys::process;
use ring::{Event, Ring};
use serde_json::json;
use state::{Phase, TestState};
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::watch;

/// Events that are kept for who comes back: minutes of any test.
const RING_EVENTS: usize = 4096;

/// Longest text of errors that is kept.
const MAX_ERROR_BYTES: u64 = 16 * 1024;

/// The test of this site: at most one at a time, since a second would disturb it.
pub(crate) struct Live {
    shared: Mutex<Shared>,
    /// Number of the newest event.
    newest: watch::Sender<u64>,
    /// Names this process in the numbers of events: those of another one mean nothing here.
    boot: Token,
    /// The program that measures.
    program: PathBuf,
    store: PathBuf,
}

struct Shared {
    state: TestState,
    ring: Ring,
    child: Option<Child>,
}

/// What a reader gets next.
pub(crate) enum News {
    /// What came since.
    Events(Vec<Event>),
    /// The whole state, as of an event's number: the reader is new, or was away for too long.
    Whole(u64, String),
}

impl Live {
    /// Tests made by `program`, kept in `store`.
    pub(crate) fn new(program: PathBuf, store: &Path) -> io::Result<Self> {
        Ok(Self {
            shared: Mutex::new(Shared {
                state: TestState::default(),
                ring: Ring::new(RING_EVENTS),
                child: None,
            }),
            newest: watch::Sender::new(0),
            boot: Token::new()?,
            program,
            store: store.to_owned(),
        })
    }

    /// A panic of another thread left a state that can be shown all the same.
    fn locked(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, shared: &mut Shared, name: &'static str, data: &str) {
        shared.ring.push(name, data);
        self.newest.send_replace(shared.ring.newest());
    }

    /// What came after the event `seen`.
    fn news(&self, seen: Option<u64>) -> News {
        let shared = self.locked();
        match seen.and_then(|seen| shared.ring.after(seen)) {
            Some(events) => News::Events(events),
            None => News::Whole(shared.ring.newest(), json!(shared.state).to_string()),
        }
    }

    /// Starts a test, unless one is under way; says why not.
    fn start(self: &Arc<Self>, begun: TestState, arguments: &[String]) -> Result<(), String> {
        let mut shared = self.locked();
        if shared.child.is_some() {
            return Err("a test is under way; stop it, or wait for its end".to_owned());
        }
        let child = Command::new(&self.program)
            .args(arguments)
            .arg("--store")
            .arg(&self.store)
            .args(["--stream", "--", &begun.target])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child =
            child.map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        let pipes = child.stdout.take().zip(child.stderr.take());
        shared.child = Some(child);
        shared.state = TestState {
            phase: Phase::Connecting,
            ..begun
        };
        let whole = json!(shared.state).to_string();
        self.tell(&mut shared, "state", &whole);
        drop(shared);
        let live = Arc::clone(self);
        thread::spawn(move || {
            let said = pipes.map(|(out, err)| {
                let errors = thread::spawn(move || text_of(err));
                live.follow(BufReader::new(out));
                errors.join().unwrap_or_default()
            });
            live.finish(&said.unwrap_or_default());
        });
        Ok(())
    }

    /// Takes in what the child prints until it has ended.
    fn follow(&self, out: impl io::BufRead) {
        for line in out.lines().map_while(Result::ok) {
            let mut shared = self.locked();
            if let Some((name, data)) = shared.state.line(&line) {
                self.tell(&mut shared, name, &data.to_string());
            }
        }
    }

    fn finish(&self, said: &str) {
        // Locked to the end: a test that starts meanwhile would be shown as ended. Both pipes are closed, so it has
        // ended, or is about to.
        let mut shared = self.locked();
        if let Some(mut child) = shared.child.take() {
            let _ = child.wait();
        }
        let (name, outcome) = shared.state.ended(said);
        self.tell(&mut shared, name, &outcome.to_string());
    }

    /// Asks the test to end early: what it measured is kept. Asked again, it ends at once.
    pub(crate) fn stop(&self) {
        let mut shared = self.locked();
        let Some(child) = &shared.child else { return };
        let _ = process::interrupt(child);
        shared.state.is_stopping = true;
        self.tell(&mut shared, "stopping", "{}");
    }
}

/// The beginning of what a program wrote.
fn text_of(from: impl io::Read) -> String {
    let mut text = Vec::new();
    let mut from = from.take(MAX_ERROR_BYTES);
    let _ = from.read_to_end(&mut text);
    // The rest is read and dropped: a full pipe would stop the program.
    let _ = io::copy(&mut from.into_inner(), &mut io::sink());
    String::from_utf8_lossy(&text).into_owned()
}
