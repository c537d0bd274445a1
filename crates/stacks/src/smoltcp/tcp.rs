//! TCP on smoltcp: listening sockets, each of which becomes a test.

use super::Sizes;
use super::test::Test;
use crate::protocol;
use ::smoltcp::iface::{SocketHandle, SocketSet};
use ::smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use linerate_model::spec::Transport;
use linerate_model::stack::{StackPool, StackTraffic};
use linerate_model::{ByteCount, MonoInstant};
use linerate_peers::Demux;

/// Maximum concurrent streams.
const STREAMS: usize = 16;

/// Payload to send; the content is arbitrary.
static BLOCK: [u8; 16 * 1024] = [0; 16 * 1024];

/// One socket and its test.
#[derive(Debug)]
struct Stream {
    handle: SocketHandle,
    /// First bytes, until they identify the test.
    begins: Vec<u8>,
    /// Whether the test is identified; an unsupported request counts as data towards this end.
    is_open: bool,
    test: Option<Test>,
    /// Bytes written to the socket since it was opened.
    queued: u64,
}

/// All streams.
#[derive(Debug)]
pub(super) struct Streams {
    port: u16,
    all: Vec<Stream>,
    sizes: Sizes,
    received: u64,
    /// Bytes acknowledged on ended streams.
    sent: u64,
    peak_received: usize,
    peak_sent: usize,
}

impl Streams {
    pub(super) fn new(sockets: &mut SocketSet<'static>, port: u16, sizes: Sizes) -> Self {
        let stream = |_| {
            let receive = SocketBuffer::new(vec![0; sizes.receive]);
            let send = SocketBuffer::new(vec![0; sizes.send]);
            let mut socket = Socket::new(receive, send);
            // As in lwIP's server: send data as soon as there is some.
            socket.set_nagle_enabled(false);
            Stream {
                handle: sockets.add(socket),
                begins: Vec::new(),
                is_open: false,
                test: None,
                queued: 0,
            }
        };
        Self {
            port,
            all: (0..STREAMS).map(stream).collect(),
            sizes,
            received: 0,
            sent: 0,
            peak_received: 0,
            peak_sent: 0,
        }
    }

    /// Runs all streams; returns when one of them is due by itself.
    pub(super) fn turn(
        &mut self,
        sockets: &mut SocketSet<'static>,
        now: MonoInstant,
    ) -> Option<MonoInstant> {
        let mut next: Option<MonoInstant> = None;
        for stream in &mut self.all {
            let socket = sockets.get_mut::<Socket<'static>>(stream.handle);
            self.peak_received = self.peak_received.max(socket.recv_queue());
            if socket.state() == State::Closed {
                self.sent += stream.queued;
                stream.listen(socket, self.port);
            }
            self.received += stream.receive(socket, now);
            let due = stream.send(socket, now);
            self.peak_sent = self.peak_sent.max(socket.send_queue());
            stream.end(socket, now);
            next = [next, due].into_iter().flatten().min();
        }
        next
    }

    /// Payload that crossed between stack and program.
    pub(super) fn traffic(&self, sockets: &SocketSet<'static>) -> StackTraffic {
        let acknowledged = |stream: &Stream| {
            let waiting = sockets.get::<Socket<'static>>(stream.handle).send_queue();
            stream.queued.saturating_sub(waiting as u64)
        };
        let open: u64 = self.all.iter().map(acknowledged).sum();
        StackTraffic {
            received_bytes: ByteCount::new(self.received),
            sent_bytes: ByteCount::new(self.sent + open),
            ..StackTraffic::default()
        }
    }

    /// The sockets' buffers, with the peak use of the fullest.
    pub(super) fn pools(&self) -> [StackPool; 2] {
        let pool = |name: &str, peak: usize, capacity: usize| StackPool {
            name: name.to_owned(),
            peak: peak as u64,
            capacity: capacity as u64,
            unit_bytes: ByteCount::new(1),
            failures: 0,
        };
        [
            pool("tcp-receive-buffer", self.peak_received, self.sizes.receive),
            pool("tcp-send-buffer", self.peak_sent, self.sizes.send),
        ]
    }
}

impl Stream {
    fn listen(&mut self, socket: &mut Socket<'static>, port: u16) {
        self.begins.clear();
        self.is_open = false;
        self.test = None;
        self.queued = 0;
        // The socket is closed and the port valid, so this cannot fail.
        let _ = socket.listen(port);
    }

    /// Reads received bytes; returns how many are payload.
    fn receive(&mut self, socket: &mut Socket<'static>, now: MonoInstant) -> u64 {
        let mut payload = 0;
        while socket.can_recv() {
            let taken = socket.recv(|bytes| (bytes.len(), self.take(bytes, now)));
            payload += taken.unwrap_or(0) as u64;
        }
        payload
    }

    /// Processes received bytes, of which the first ones open the test; returns how many are payload.
    fn take(&mut self, bytes: &[u8], now: MonoInstant) -> usize {
        if self.is_open {
            return bytes.len();
        }
        self.begins.extend_from_slice(bytes);
        self.open(now)
    }

    /// Opens the test once the first bytes identify it; returns how many of them are payload.
    fn open(&mut self, now: MonoInstant) -> usize {
        let Demux::EachATest { opening_len } = protocol().about().demux else {
            return 0;
        };
        if self.begins.len() < opening_len(&self.begins) {
            return 0;
        }
        self.is_open = true;
        self.test = Test::open(now, Transport::Tcp, &self.begins, usize::MAX);
        let preamble = self.test.as_ref().map_or(0, Test::preamble_len);
        self.begins.len() - preamble
    }

    /// Writes what is due and fits; returns when more is due.
    fn send(&mut self, socket: &mut Socket<'static>, now: MonoInstant) -> Option<MonoInstant> {
        let test = self.test.as_mut()?;
        let sent = test.sends();
        test.pass(now);
        if sent && !test.sends() {
            socket.close();
        }
        // A full buffer has room again once a frame has arrived.
        let mut next = None;
        while socket.can_send() {
            match test.due(now) {
                Ok(most) => {
                    let block = &BLOCK[..most.min(BLOCK.len())];
                    let written = socket.send_slice(block).unwrap_or(0);
                    test.sent(now, written);
                    self.queued += written as u64;
                }
                Err(due) => {
                    next = due;
                    break;
                }
            }
        }
        next.into_iter().chain(test.deadline()).min()
    }

    /// Closes this end's half once the peer has closed its own, unless it still sends.
    fn end(&mut self, socket: &mut Socket<'static>, now: MonoInstant) {
        if socket.state() == State::CloseWait && !socket.can_recv() {
            if let Some(test) = &mut self.test {
                test.end(now);
            }
            if !self.test.as_ref().is_some_and(Test::sends) {
                socket.close();
            }
        }
        // Skip TIME-WAIT: the socket is needed for the next stream.
        if socket.state() == State::TimeWait {
            socket.abort();
        }
    }
}
