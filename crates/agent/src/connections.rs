//! Open connections: when the agent ends, whatever waits for one of their clients ends too.

use linerate_model::Clock as _;
use linerate_sys::clock::MonoClock;
use linerate_sys::tcp_info;
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All open connections.
#[derive(Default)]
pub(crate) struct Connections {
    open: Mutex<Open>,
    changed: Condvar,
}

#[derive(Default)]
struct Open {
    next: u64,
    /// The agent has ended: new connections are closed at once.
    has_ended: bool,
    streams: BTreeMap<u64, TcpStream>,
}

/// Registers a connection as open until it is dropped.
pub(crate) struct ConnectionGuard<'a> {
    connections: &'a Connections,
    number: u64,
}

impl ConnectionGuard<'_> {
    /// Its number, higher than those of all before.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        self.connections.lock().streams.remove(&self.number);
        self.connections.changed.notify_all();
    }
}

impl Connections {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers an accepted connection.
    pub(crate) fn enter(&self, stream: &TcpStream) -> io::Result<ConnectionGuard<'_>> {
        let stream = stream.try_clone()?;
        let mut open = self.lock();
        if open.has_ended {
            stream.shutdown(Shutdown::Both)?;
        }
        let number = open.next;
        open.next += 1;
        open.streams.insert(number, stream);
        drop(open);
        let connections = self;
        Ok(ConnectionGuard {
            connections,
            number,
        })
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.lock().streams.len()
    }

    /// Whether fewer bytes than so many have arrived on a connection, as its kernel counts; also of one that is gone.
    pub(crate) fn has_less(&self, number: u64, than: usize) -> bool {
        let open = self.lock();
        let info = open
            .streams
            .get(&number)
            .map(|stream| tcp_info::read(stream, 0));
        let received = info.and_then(|info| info.ok()?.bytes_received);
        received.is_none_or(|bytes| bytes < than as u64)
    }

    /// Shuts a connection down, if it is still open: who reads from it hears of its end.
    pub(crate) fn shut(&self, number: u64) {
        if let Some(stream) = self.lock().streams.get(&number) {
            // One that is already gone needs no shutdown.
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Waits up to `patience` for the connections to close, then shuts the rest down: pending reads and writes return.
    pub(crate) fn end(&self, patience: Duration) {
        let deadline = MonoClock.now().after(patience);
        let mut open = self.lock();
        while !open.streams.is_empty() {
            let left = deadline.saturating_since(MonoClock.now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(open, left);
            (open, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        open.has_ended = true;
        for stream in open.streams.values() {
            // A connection that is already gone needs no shutdown.
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    #[test]
    fn what_has_arrived_is_counted_before_it_is_read() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let connections = Connections::default();
        let known = connections.enter(&stream).unwrap();
        assert!(connections.has_less(known.number(), 1));
        client.write_all(b"li").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        // Until the end has come, so that both bytes have.
        let mut bytes = Vec::new();
        (&stream).read_to_end(&mut bytes).unwrap();
        assert!(!connections.has_less(known.number(), 2));
        assert!(connections.has_less(known.number(), 10));
        let number = known.number();
        drop(known);
        assert!(connections.has_less(number, 1));
    }

    #[test]
    fn who_reads_from_a_silent_client_hears_of_the_end() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let _silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let connections = Connections::default();
        thread::scope(|scope| {
            let known = connections.enter(&stream).unwrap();
            let reader = scope.spawn(move || {
                let _known = known;
                stream.read(&mut [0]).unwrap()
            });
            connections.end(Duration::ZERO);
            assert_eq!(reader.join().unwrap(), 0);
        });
        assert!(connections.lock().streams.is_empty());
        // With none there is nothing to wait for.
        connections.end(Duration::MAX);
        // A thread may come to know its connection only now.
        let _late = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut late, _) = listener.accept().unwrap();
        let _known = connections.enter(&late).unwrap();
        assert_eq!(late.read(&mut [0]).unwrap(), 0);
    }
}
