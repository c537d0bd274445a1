//! Answers `GET /metrics` and `GET /health` over HTTP/1.1, on a network where anybody may ask anything.
//!
//! One thread with at most `MAX_EXCHANGES` connections, each with `MAX_REQUEST` bytes and `LIMIT` of time. When
//! another comes, the one that has waited longest goes: silence costs only silent ones. An answer reads counters and
//! starts nothing.
//!
//! # References
//! - RFC 9112, sections 2.1, 3 and 9.6
#![forbid(unsafe_code)]

use linerate_model::exit::{ExitCode, Failure};
use linerate_model::{Clock as _, MonoInstant};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::tcp::wait_readable;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum connections at a time.
const MAX_EXCHANGES: usize = 32;

/// Maximum length of a request's line and fields.
const MAX_REQUEST: usize = 8 << 10;

/// From a connection to the last byte of its answer.
const LIMIT: Duration = Duration::from_secs(5);

/// Polling interval of the end, and of clients that take their answer slowly.
const TURN: Duration = Duration::from_millis(100);

/// Opens the port where metrics are answered, as `--metrics` says.
///
/// # Errors
///
/// An address that cannot be had, as [`ExitCode::HostLacks`].
pub fn open(address: SocketAddr) -> Result<TcpListener, Failure> {
    let refused = |error: io::Error| {
        let message = format!(
            "cannot answer metrics on {address}: {error}; choose an address of this host and a free port with --metrics"
        );
        Failure::new(ExitCode::HostLacks, message)
    };
    let listener = TcpListener::bind(address).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    Ok(listener)
}

/// Answers until `is_over`. `page` makes the metrics.
pub fn answer_all(listener: &TcpListener, is_over: &AtomicBool, page: &dyn Fn() -> String) {
    let mut exchanges: VecDeque<Exchange> = VecDeque::new();
    while !is_over.load(Ordering::Relaxed) {
        let now = MonoClock.now();
        // As many in a row as there are places: a flood keeps nobody from an answer.
        let accepted = std::iter::from_fn(|| listener.accept().ok()).take(MAX_EXCHANGES);
        for (stream, _) in accepted {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if exchanges.len() >= MAX_EXCHANGES {
                exchanges.pop_front();
            }
            exchanges.push_back(Exchange::new(stream, now));
        }
        exchanges.retain_mut(|exchange| exchange.goes_on(now, page));
        let silent = exchanges.iter().filter(|exchange| exchange.is_reading());
        let mut fds = vec![listener.as_fd()];
        fds.extend(silent.map(|exchange| exchange.stream.as_fd()));
        if wait_readable(&fds, TURN).is_err() {
            sleep_until(MonoClock.now().after(TURN));
        }
    }
}

/// A connection.
struct Exchange {
    stream: TcpStream,
    since: MonoInstant,
    state: State,
}

enum State {
    Reading(Vec<u8>),
    Writing { answer: Vec<u8>, written: usize },
}

impl Exchange {
    fn new(stream: TcpStream, now: MonoInstant) -> Self {
        Self {
            stream,
            since: now,
            state: State::Reading(Vec::new()),
        }
    }

    const fn is_reading(&self) -> bool {
        matches!(self.state, State::Reading(_))
    }

    /// Reads or writes what can be; whether there is more to do.
    fn goes_on(&mut self, now: MonoInstant, page: &dyn Fn() -> String) -> bool {
        now.saturating_since(self.since) < LIMIT
            && match self.turn(page) {
                Ok(goes_on) => goes_on,
                Err(error) => {
                    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
                }
            }
    }

    fn turn(&mut self, page: &dyn Fn() -> String) -> io::Result<bool> {
        if let State::Reading(request) = &mut self.state {
            let mut bytes = [0; MAX_REQUEST];
            let count = self.stream.read(&mut bytes)?;
            if count == 0 {
                return Ok(false);
            }
            request.extend_from_slice(&bytes[..count]);
            let Some(answer) = answer(request, page) else {
                return Ok(true);
            };
            self.state = State::Writing { answer, written: 0 };
        }
        if let State::Writing { answer, written } = &mut self.state {
            while *written < answer.len() {
                *written += self.stream.write(&answer[*written..])?;
            }
            self.stream.shutdown(Shutdown::Write)?;
        }
        Ok(false)
    }
}

/// The answer to a request, once it is whole or too long.
fn answer(request: &[u8], page: &dyn Fn() -> String) -> Option<Vec<u8>> {
    let is_whole = request.windows(4).any(|end| end == b"\r\n\r\n");
    if !is_whole {
        return (request.len() >= MAX_REQUEST)
            .then(|| response("431 Request Header Fields Too Large", TEXT, ""));
    }
    let line = request.split(|byte| *byte == b'\r').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default());
    let mut words = line.split(' ');
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    Some(match (method, path) {
        (Some("GET"), "/metrics") => response("200 OK", OPENMETRICS, &page()),
        (Some("GET"), "/health") => response("200 OK", TEXT, "serving\n"),
        (Some("GET"), _) => response("404 Not Found", TEXT, "/metrics and /health are here\n"),
        _ => response("405 Method Not Allowed", TEXT, "GET alone is answered\n"),
    })
}

const TEXT: &str = "text/plain; charset=utf-8";
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

fn response(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\nAllow: GET\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn said(request: &str) -> Option<String> {
        let answer = answer(request.as_bytes(), &|| "counts\n".to_owned());
        answer.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_request_is_answered_when_it_is_whole() {
        assert_eq!(said("GET /metrics HTTP/1.1\r\nHost: x\r\n"), None);
        let page = said("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\r\n\r\ncounts\n"));
        assert!(page.contains("\r\nContent-Length: 7\r\n"), "{page}");
        for (request, status) in [
            ("GET /health HTTP/1.1\r\n\r\n", "200 "),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 "),
            ("GET /../etc/passwd HTTP/1.1\r\n\r\n", "404 "),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 "),
            ("\r\n\r\n", "405 "),
        ] {
            let answer = said(request).unwrap();
            assert_eq!(answer[9..].get(..4), Some(status), "{request}: {answer}");
        }
        let endless = "x".repeat(MAX_REQUEST);
        assert!(said(&endless).unwrap().contains(" 431 "));
    }

    #[test]
    fn a_thousand_silent_connections_do_not_keep_one_from_its_answer() {
        let listener = open("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| answer_all(&listener, &is_over, &|| "counts\n".to_owned()));
            let silent: Vec<_> = (0..1000)
                .filter_map(|_| TcpStream::connect(address).ok())
                .collect();
            let mut one = TcpStream::connect(address).unwrap();
            one.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
            let mut answer = String::new();
            one.read_to_string(&mut answer).unwrap();
            is_over.store(true, Ordering::Relaxed);
            assert!(answer.ends_with("counts\n"), "{answer}");
            drop(silent);
        });
    }
}
