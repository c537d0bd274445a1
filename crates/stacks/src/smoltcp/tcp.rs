//! TCP streams of iperf2 on smoltcp: each a socket that listens until somebody comes.

use super::Sizes;
use ::smoltcp::iface::{SocketHandle, SocketSet};
use ::smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use linerate_model::stack::{StackPool, StackTraffic};
use linerate_model::{ByteCount, MonoInstant};
use linerate_peers::iperf2::header::{Amount, Header, Way, opening_len};
use std::time::Duration;

/// Streams at once.
const STREAMS: usize = 16;

/// A test of which no length is told, as in iperf2.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// What is sent: the content does not matter.
static BLOCK: [u8; 16 * 1024] = [0; 16 * 1024];

/// What a stream asks this end to send.
#[derive(Debug, Clone, Copy)]
struct Sending {
    began: MonoInstant,
    until: MonoInstant,
    /// Bit/s; none: as fast as it goes.
    rate: Option<u64>,
    written: u64,
}

/// One socket and what it carries.
#[derive(Debug)]
struct Stream {
    handle: SocketHandle,
    header: Vec<u8>,
    /// Once the header is whole.
    is_open: bool,
    sending: Option<Sending>,
    /// Handed to the socket since it was opened.
    queued: u64,
}

/// Every stream.
#[derive(Debug)]
pub(super) struct Streams {
    port: u16,
    all: Vec<Stream>,
    sizes: Sizes,
    received: u64,
    /// Acknowledged on streams that are over.
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
            // As lwIP's server: data goes when there is some.
            socket.set_nagle_enabled(false);
            Stream {
                handle: sockets.add(socket),
                header: Vec::new(),
                is_open: false,
                sending: None,
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

    /// Moves what can be moved; when one of the streams is to go on by itself.
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
            stream.end(socket);
            next = [next, due].into_iter().flatten().min();
        }
        next
    }

    /// What crossed the border of stack and program.
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

    /// The sockets' buffers; how full the fullest was.
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
        self.header.clear();
        self.is_open = false;
        self.sending = None;
        self.queued = 0;
        // It is closed and the port is one: it can listen.
        let _ = socket.listen(port);
    }

    /// Takes what came; how much of it is payload.
    fn receive(&mut self, socket: &mut Socket<'static>, now: MonoInstant) -> u64 {
        let mut payload = 0;
        while socket.can_recv() {
            let taken = socket.recv(|bytes| {
                let used = self.open(bytes, now);
                (bytes.len(), (bytes.len() - used) as u64)
            });
            payload += taken.unwrap_or(0);
        }
        payload
    }

    /// Takes the settings at the beginning; how many of the bytes they are.
    fn open(&mut self, bytes: &[u8], now: MonoInstant) -> usize {
        let mut used = 0;
        while !self.is_open && used < bytes.len() {
            self.header.push(bytes[used]);
            used += 1;
            if self.header.len() >= opening_len(&self.header) {
                self.is_open = true;
                // What is no header that is known is data towards this end.
                if let Ok(header) = Header::of_tcp(&self.header) {
                    self.sending = sending(&header, now);
                }
            }
        }
        used
    }

    /// Writes what there is room for and what is due; when more is.
    fn send(&mut self, socket: &mut Socket<'static>, now: MonoInstant) -> Option<MonoInstant> {
        let sending = self.sending.as_mut()?;
        if now >= sending.until {
            socket.close();
            self.sending = None;
            return None;
        }
        while socket.can_send() {
            if let Some(due) = sending.due().filter(|due| *due > now) {
                return Some(due.min(sending.until));
            }
            let Ok(written) = socket.send_slice(&BLOCK) else {
                break;
            };
            sending.written += written as u64;
            self.queued += written as u64;
            if written == 0 {
                break;
            }
        }
        Some(sending.until)
    }

    /// Ends this end's half once the peer has ended its own, unless it still sends.
    fn end(&mut self, socket: &mut Socket<'static>) {
        if socket.state() == State::CloseWait && self.sending.is_none() && !socket.can_recv() {
            socket.close();
        }
        // Nobody waits for the last moments of a stream: its socket is for the next one.
        if socket.state() == State::TimeWait {
            socket.abort();
        }
    }
}

impl Sending {
    /// When the next byte is to go; none: at once.
    fn due(&self) -> Option<MonoInstant> {
        let bits = u128::from(self.written) * 8 * 1_000_000_000;
        let nanos = bits / u128::from(self.rate?.max(1));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        Some(self.began.after(Duration::from_nanos(nanos)))
    }
}

fn sending(header: &Header, now: MonoInstant) -> Option<Sending> {
    if matches!(header.way, Way::Forward { .. }) {
        return None;
    }
    let time = match header.amount {
        Amount::Time(time) => time,
        Amount::Bytes(_) | Amount::Untold => DEFAULT_TIME,
    };
    Some(Sending {
        began: now,
        until: now.after(time),
        rate: header.rate.map(linerate_model::BitRate::bps),
        written: 0,
    })
}
