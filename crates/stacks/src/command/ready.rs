//! Detects from outside whether a program is ready.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum length of an output line.
const MAX_LINE: u64 = 4096;

/// Timeout of one connection attempt: a device on a TAP device may not answer yet.
const CONNECTING: Duration = Duration::from_millis(500);

/// Whether a TCP or UDP socket of this network namespace listens on `port`.
pub(super) fn is_bound(port: u16) -> bool {
    // State numbers of `net/tcp_states.h`: a listening TCP socket, and an unconnected UDP one.
    [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")]
        .into_iter()
        .any(|(file, state)| {
            let text = fs::read_to_string(format!("/proc/thread-self/net/{file}"));
            has_socket(&text.unwrap_or_default(), port, state)
        })
}

/// Whether a table has a socket with this port and state: `  0: 00000000:1389 00000000:0000 0A …`.
fn has_socket(table: &str, port: u16, state: &str) -> bool {
    let end = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let own = words.next().is_some_and(|own| own.ends_with(&end));
        own && words.nth(1) == Some(state)
    })
}

/// Whether a connection to `address` is accepted.
pub(super) fn accepts(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, CONNECTING).is_ok()
}

/// Output of a program, read while any process holds the pipe.
#[derive(Debug)]
pub(super) struct Output {
    /// A line contained the text.
    is_seen: Arc<AtomicBool>,
    reader: JoinHandle<String>,
}

impl Output {
    /// Starts to read to the end, looking for `wanted`.
    pub(super) fn read(pipe: impl Read + Send + 'static, wanted: Option<String>) -> Self {
        let is_seen = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_seen);
        let reader = thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let (mut line, mut last) = (Vec::new(), String::new());
            // An error counts as the end of the output.
            while let Ok(1..) = pipe.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                if wanted.as_ref().is_some_and(|wanted| text.contains(wanted)) {
                    seen.store(true, Ordering::Relaxed);
                }
                if !text.is_empty() {
                    last = text;
                }
                line.clear();
            }
            last
        });
        Self { is_seen, reader }
    }

    pub(super) fn is_seen(&self) -> bool {
        self.is_seen.load(Ordering::Relaxed)
    }

    /// The last non-empty line, once all writers have ended.
    pub(super) fn last(self) -> String {
        // A thread that failed has read nothing.
        self.reader.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_is_found_by_its_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue\n   0: 00000000:1389 00000000:0000 0A 00000000\n   1: 0100007F:138A 0100007F:1389 01 00000000\n";
        assert!(has_socket(table, 5001, "0A"));
        assert!(!has_socket(table, 5002, "0A"));
        assert!(has_socket(table, 5002, "01"));
        assert!(!has_socket("", 5001, "0A"));
    }

    #[test]
    fn sockets_of_this_process_are_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_bound(port));
        assert!(accepts(listener.local_addr().unwrap()));
        let socket = std::net::UdpSocket::bind("[::1]:0").unwrap();
        assert!(is_bound(socket.local_addr().unwrap().port()));
    }
}
