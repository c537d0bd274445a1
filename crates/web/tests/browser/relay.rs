//! Stands between a browser and the site: keeps what is asked and answered, and breaks a stream off where it is told to.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

/// The relay, at the site's port of another address of this host: the site answers to each of its own addresses.
pub(crate) struct Relay {
    address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    connections: Vec<Connection>,
    /// Those that carry streams of events, in the order in which these were asked for.
    streams: Vec<usize>,
    /// Where the next stream of events breaks off; every connection after it does at once.
    breaks_after: Option<&'static str>,
    is_down: bool,
}

#[derive(Default, Clone)]
struct Connection {
    asked: String,
    answered: String,
    is_closed: bool,
}

const EVENTS: &str = "GET /events HTTP/1.1\r\n";

impl Connection {
    fn is_stream(&self) -> bool {
        self.asked.contains(EVENTS)
    }
}

/// A stream of events: what its request said, and what came of it.
pub(crate) struct Stream {
    pub(crate) request: String,
    pub(crate) answer: String,
}

impl Relay {
    pub(crate) fn before(site: &str) -> Self {
        let (_, port) = site.rsplit_once(':').unwrap();
        let address = format!("127.0.0.2:{port}");
        let listener = TcpListener::bind(&address).unwrap();
        let shared = Arc::new(Shared::default());
        let (site, taken) = (site.to_owned(), Arc::clone(&shared));
        thread::spawn(move || {
            for browser in listener.incoming() {
                // One that is dropped is closed.
                let browser = browser.unwrap();
                if let Some(number) = taken.begin() {
                    taken.pass_on(number, browser, TcpStream::connect(&site).unwrap());
                }
            }
        });
        Self { address, shared }
    }

    /// The site as the browser sees it.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Breaks the stream of events off when this text was passed on; until it is restored nothing is passed on then.
    pub(crate) fn break_off_after(&self, text: &'static str) {
        self.shared.lock().breaks_after = Some(text);
    }

    pub(crate) fn restore(&self) {
        self.shared.lock().is_down = false;
    }

    /// The streams of events that were asked for so far, in their order.
    pub(crate) fn streams(&self) -> Vec<Stream> {
        let state = self.shared.lock();
        let stream = |number: &usize| {
            let Connection {
                asked, answered, ..
            } = &state.connections[*number];
            Stream {
                request: asked[asked.rfind(EVENTS).unwrap()..].to_owned(),
                answer: answered.clone(),
            }
        };
        state.streams.iter().map(stream).collect()
    }

    /// Waits until no stream of events is open.
    pub(crate) fn wait_for_no_stream(&self) {
        let is_open = |state: &mut State| {
            let mut all = state.connections.iter();
            all.any(|one| one.is_stream() && !one.is_closed)
        };
        let state = self.shared.lock();
        drop(self.shared.changed.wait_while(state, is_open).unwrap());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The number of a new connection, if it is passed on.
    fn begin(&self) -> Option<usize> {
        let mut state = self.lock();
        if state.is_down {
            return None;
        }
        state.connections.push(Connection::default());
        Some(state.connections.len() - 1)
    }

    fn pass_on(self: &Arc<Self>, number: usize, browser: TcpStream, site: TcpStream) {
        let (up, down) = (Arc::clone(self), Arc::clone(self));
        let (from_browser, to_site) = (browser.try_clone().unwrap(), site.try_clone().unwrap());
        thread::spawn(move || {
            up.copy(from_browser, to_site, |state, text| {
                state.ask(number, text);
                text.len()
            });
        });
        thread::spawn(move || {
            down.copy(site, browser, |state, text| state.answer(number, text));
            down.lock().connections[number].is_closed = true;
            down.changed.notify_all();
        });
    }

    /// Passes on what comes, as long as `take` lets all of it through.
    fn copy(
        &self,
        mut from: TcpStream,
        mut to: TcpStream,
        mut take: impl FnMut(&mut State, &str) -> usize,
    ) {
        let mut bytes = [0; 1 << 14];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..count]);
            let passed = take(&mut self.lock(), &text).min(count);
            if to.write_all(&bytes[..passed]).is_err() || passed < count {
                break;
            }
        }
        // Both ways: neither side waits for the other.
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}

impl State {
    fn ask(&mut self, number: usize, text: &str) {
        let connection = &mut self.connections[number];
        let was_stream = connection.is_stream();
        connection.asked.push_str(text);
        if connection.is_stream() && !was_stream {
            self.streams.push(number);
        }
    }

    /// Keeps what comes down a connection; how many bytes of it are passed on.
    fn answer(&mut self, number: usize, text: &str) -> usize {
        let connection = &mut self.connections[number];
        let end = self.breaks_after.filter(|_| connection.is_stream());
        let end = end.and_then(|marker| Some(text.find(marker)? + marker.len()));
        let passed = end.unwrap_or(text.len());
        connection.answered.push_str(&text[..passed]);
        if end.is_some() {
            self.breaks_after = None;
            self.is_down = true;
        }
        passed
    }
}
