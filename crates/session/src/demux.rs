//! Assigns data streams to tests at a port that all tests of a protocol share.
//!
//! TCP streams and control connections arrive at one listener, distinguished by what each begins with: a cookie, or the
//! mark of one stream. Datagram streams arrive at one UDP socket; each then gets a connected socket of its own on the same
//! port, which the kernel prefers to the shared one. Where they do not identify their test, tests from one address open
//! theirs one after the other.

use crate::endpoints::DataStreams;
use crate::opening::peek;
use anyhow::{Result, bail};
use linerate_engine::Early;
use linerate_model::spec::Transport;
use linerate_model::{Clock as _, MonoInstant};
use linerate_peers::{HandshakeStep, StreamFormat};
use linerate_sys::clock::MonoClock;
use linerate_sys::shared::bind_shared;
use linerate_sys::tcp::wait_readable;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval at which a waiting test checks that its client is still there, and answers repeated requests.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Timeout of a new connection's cookie: it is sent with the connection.
const COOKIE_LIMIT: Duration = Duration::from_secs(5);

/// A test that waits for its streams, or runs.
struct PendingTest {
    /// Source and destination address of its control connection.
    from: IpAddr,
    to: SocketAddr,
    /// Streams that it still waits for.
    wanted: Option<AwaitedStreams>,
    /// TCP streams by order of acceptance, which is the order of the client's streams; their cookies are read in any
    /// order.
    tcp: Vec<(u64, TcpStream)>,
    /// Datagram streams by their index.
    udp: Vec<(usize, UdpSocket)>,
}

impl PendingTest {
    fn new(from: IpAddr, to: SocketAddr) -> Self {
        Self {
            from,
            to,
            wanted: None,
            tcp: Vec::new(),
            udp: Vec::new(),
        }
    }

    fn awaits(&self, transport: Transport) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| {
            wanted.transport == transport && self.tcp.len() + self.udp.len() < wanted.count
        })
    }

    /// Index of the TCP stream that begins with `bytes`, if it is one with a mark that has not come yet.
    fn stream_of(&self, bytes: &[u8]) -> Option<u64> {
        let wanted = self.wanted.as_ref()?;
        let mut marks = (0..).zip(&wanted.marks);
        let (index, _) = marks.find(|(_, mark)| mark.opening == bytes)?;
        let is_new = self.tcp.iter().all(|(known, _)| *known != index);
        is_new.then_some(index)
    }

    /// Index of the datagram stream without a socket that `request` opens, and what to answer.
    fn opened_by(&self, request: &[u8], answer: Answer) -> Option<(usize, Vec<u8>)> {
        let wanted = self.wanted.as_ref()?;
        if wanted.marks.is_empty() {
            return Some((self.udp.len(), answer(request)?));
        }
        let is_new = |index: &usize| self.udp.iter().all(|(known, _)| known != index);
        let mut new = (0..wanted.marks.len()).filter(is_new);
        new.find_map(|index| Some((index, wanted.answer(index, request, answer)?)))
    }

    /// Answers a request of a stream that has its socket: its client has not received the answer.
    fn repeat_answer(&self, index: usize, socket: &UdpSocket, request: &[u8], answer: Answer) {
        let wanted = self.wanted.as_ref();
        if let Some(said) = wanted.and_then(|wanted| wanted.answer(index, request, answer)) {
            // It asks again if this one is lost too.
            drop(socket.send(&said));
        }
    }

    /// Hands over the streams, in order.
    fn hand_over(&mut self) -> DataStreams {
        self.wanted = None;
        let mut tcp = std::mem::take(&mut self.tcp);
        tcp.sort_by_key(|(number, _)| *number);
        let mut udp = std::mem::take(&mut self.udp);
        udp.sort_by_key(|(index, _)| *index);
        DataStreams {
            tcp: tcp.into_iter().map(|(_, stream)| stream).collect(),
            udp: udp
                .into_iter()
                .map(|(_, socket)| (socket, Early::default()))
                .collect(),
        }
    }

    fn is_complete(&self) -> bool {
        self.wanted
            .as_ref()
            .is_some_and(|wanted| !self.awaits(wanted.transport))
    }
}

/// Streams of a test expected at a shared port.
#[derive(Debug, Clone)]
pub struct AwaitedStreams {
    /// Their transport.
    pub transport: Transport,
    /// Their number.
    pub count: usize,
    /// What each begins with, in order; none where they are known by their test's cookie.
    pub marks: Vec<StreamMark>,
}

impl AwaitedStreams {
    /// The answer to a request of the datagram stream at `index`; `None` if it is none.
    fn answer(&self, index: usize, request: &[u8], answer: Answer) -> Option<Vec<u8>> {
        match self.marks.get(index) {
            Some(mark) => mark.answer(request),
            None => answer(request),
        }
    }
}

/// What one data stream of a test begins with.
#[derive(Debug, Clone)]
pub struct StreamMark {
    /// First bytes of a TCP stream.
    pub opening: Vec<u8>,
    /// Index of the stream within its direction.
    pub stream: u8,
    /// Format of the test's streams.
    pub format: Arc<dyn StreamFormat>,
}

impl StreamMark {
    fn answer(&self, request: &[u8]) -> Option<Vec<u8>> {
        match self.format.handshake(self.stream.into())?.hear(request) {
            HandshakeStep::Answer(said) => Some(said),
            HandshakeStep::Confirmed | HandshakeStep::Ignored => None,
        }
    }
}

/// Answer to a datagram that opens a stream, where streams have no marks.
type Answer = fn(&[u8]) -> Option<Vec<u8>>;

/// What tells a test from others: its cookie, or the number of its control connection.
type Key = Vec<u8>;

/// All tests at a port.
pub struct StreamDemux {
    pending_tests: Mutex<BTreeMap<Key, PendingTest>>,
    changed: Condvar,
    /// Id of the protocol, for error messages.
    protocol: &'static str,
    /// How connections are told apart.
    by: By,
}

/// How connections at a shared port are told apart.
#[derive(Clone, Copy)]
enum By {
    /// By the cookie of their test.
    Cookie {
        /// Its length, bytes.
        length: usize,
        answer: Answer,
    },
    /// By the mark of each data stream, of this length in bytes; what has none is a control connection.
    Mark { length: usize },
}

/// Classification of a connection by its cookie.
pub enum Admission {
    /// It is a new control connection.
    New(DemuxHandle, TcpStream),
    /// It is a data stream of a test, or was closed as unexpected.
    Settled,
}

/// A test's registration in the demultiplexer, until dropped.
pub struct DemuxHandle {
    demux: Arc<StreamDemux>,
    key: Key,
}

impl Drop for DemuxHandle {
    fn drop(&mut self) {
        self.demux.lock().remove(&self.key);
        self.demux.changed.notify_all();
    }
}

impl StreamDemux {
    /// Demultiplexer of a protocol whose cookies have this length in bytes, and whose datagram streams are answered by
    /// `answer`.
    pub fn new(
        protocol: &'static str,
        cookie_len: usize,
        answer: fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Self {
        let length = cookie_len;
        Self::by(protocol, By::Cookie { length, answer })
    }

    /// Demultiplexer of a protocol whose data streams begin with marks of this length in bytes, and its control connections
    /// with something else.
    pub fn at_one_port(protocol: &'static str, mark_len: usize) -> Self {
        Self::by(protocol, By::Mark { length: mark_len })
    }

    fn by(protocol: &'static str, by: By) -> Self {
        Self {
            protocol,
            pending_tests: Mutex::default(),
            changed: Condvar::new(),
            by,
        }
    }

    fn answer(&self) -> Answer {
        match self.by {
            By::Cookie { answer, .. } => answer,
            By::Mark { .. } => |_| None,
        }
    }

    /// Whether a test of the client at `from` waits for TCP streams whose marks it knows.
    pub fn awaits_streams_of(&self, from: IpAddr) -> bool {
        let from = from.to_canonical();
        let is_marked = matches!(self.by, By::Mark { .. });
        is_marked
            && self
                .lock()
                .values()
                .any(|test| test.from == from && test.awaits(Transport::Tcp))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, PendingTest>> {
        self.pending_tests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns the connection accepted as the `number`-th by what it begins with.
    pub fn admit(self: &Arc<Self>, stream: TcpStream, number: u64) -> Result<Admission> {
        stream.set_nonblocking(false)?;
        match self.by {
            By::Cookie { length, .. } => {
                let cookie = self.read_cookie(&stream, length)?;
                self.show(cookie, stream, number)
            }
            By::Mark { length } => self.sort(stream, number, length),
        }
    }

    /// Takes a data stream by its mark; everything else is a control connection, of which nothing is read.
    fn sort(
        self: &Arc<Self>,
        mut stream: TcpStream,
        number: u64,
        length: usize,
    ) -> Result<Admission> {
        let bytes = peek(&stream, |_| length)?;
        let (from, to) = (
            stream.peer_addr()?.ip().to_canonical(),
            stream.local_addr()?,
        );
        let mark = bytes.get(..length).unwrap_or_default();
        let mut pending_tests = self.lock();
        let found = pending_tests.values_mut().find_map(|test| {
            let is_awaited = test.from == from && test.awaits(Transport::Tcp);
            let index = test.stream_of(mark).filter(|_| is_awaited)?;
            Some((test, index))
        });
        if let Some((test, index)) = found {
            // It has arrived, so this does not wait.
            stream.read_exact(&mut vec![0; length])?;
            test.tcp.push((index, stream));
            self.changed.notify_all();
            return Ok(Admission::Settled);
        }
        let key = number.to_be_bytes().to_vec();
        pending_tests.insert(key.clone(), PendingTest::new(from, to));
        let demux = Arc::clone(self);
        Ok(Admission::New(DemuxHandle { demux, key }, stream))
    }

    /// Reads the cookie with which every connection begins.
    fn read_cookie(&self, mut stream: &TcpStream, length: usize) -> Result<Vec<u8>> {
        let deadline: MonoInstant = MonoClock.now().after(COOKIE_LIMIT);
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < bytes.len() {
            let left = deadline.saturating_since(MonoClock.now());
            if left.is_zero() {
                let id = self.protocol;
                bail!("it showed no cookie within {COOKIE_LIMIT:?}: it is not a client of {id}");
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut bytes[filled..]) {
                Ok(0) => bail!("it hung up after {filled} bytes of its cookie"),
                Ok(length) => filled += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(bytes)
    }

    /// Assigns a connection by its cookie.
    fn show(self: &Arc<Self>, cookie: Key, stream: TcpStream, number: u64) -> Result<Admission> {
        let (from, to) = (
            stream.peer_addr()?.ip().to_canonical(),
            stream.local_addr()?,
        );
        let mut pending_tests = self.lock();
        if let Some(pending) = pending_tests.get_mut(&cookie) {
            if pending.from == from && pending.awaits(Transport::Tcp) {
                pending.tcp.push((number, stream));
                self.changed.notify_all();
            }
            return Ok(Admission::Settled);
        }
        pending_tests.insert(cookie.clone(), PendingTest::new(from, to));
        let (demux, key) = (Arc::clone(self), cookie);
        Ok(Admission::New(DemuxHandle { demux, key }, stream))
    }

    /// Handles the requests that have arrived at the shared UDP socket.
    pub fn meet(&self, shared: &UdpSocket) {
        let mut requests = waiting(shared);
        while let Some((request, address)) = requests.pop() {
            // An unanswered request is repeated, or its client gives up.
            if let Ok(more) = self.invite(address, &request) {
                requests.extend(more);
            }
        }
    }

    /// Opens a socket for the stream that `request` from `address` opens, and answers it. Returns what other addresses had
    /// sent to that socket before it was connected.
    fn invite(&self, address: SocketAddr, request: &[u8]) -> std::io::Result<Vec<Request>> {
        let address = canonical(address);
        let mut pending_tests = self.lock();
        let of_address = |(_, socket): &&(usize, UdpSocket)| {
            socket.peer_addr().is_ok_and(|peer| peer == address)
        };
        for test in pending_tests.values() {
            if let Some((index, socket)) = test.udp.iter().find(of_address) {
                test.repeat_answer(*index, socket, request, self.answer());
                return Ok(Vec::new());
            }
        }
        let opened = pending_tests.values_mut().find_map(|test| {
            let is_awaited = test.from == address.ip() && test.awaits(Transport::Udp);
            let (index, said) = test
                .opened_by(request, self.answer())
                .filter(|_| is_awaited)?;
            Some((test, index, said))
        });
        let Some((test, index, said)) = opened else {
            return Ok(Vec::new());
        };
        let socket = bind_shared(canonical(test.to))?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        let strays = waiting(&socket);
        socket.send(&said)?;
        test.udp.push((index, socket));
        self.changed.notify_all();
        Ok(strays)
    }
}

impl DemuxHandle {
    /// What was read of the control connection: its cookie, if it has one.
    pub fn cookie(&self) -> Option<&[u8]> {
        match self.demux.by {
            By::Cookie { .. } => Some(&self.key),
            By::Mark { .. } => None,
        }
    }

    /// Announces the streams that the test expects. Datagram streams without marks from one address are opened for one test
    /// at a time: waits for its turn, until the client sends something on its control connection.
    pub fn expect(
        &self,
        streams: AwaitedStreams,
        control: &TcpStream,
        limit: Duration,
    ) -> Result<()> {
        let deadline = MonoClock.now().after(limit);
        let mut pending_tests = self.demux.lock();
        loop {
            let from = pending_tests.get(&self.key).map(|pending| pending.from);
            let others = pending_tests.iter().any(|(key, pending)| {
                *key != self.key && Some(pending.from) == from && pending.awaits(Transport::Udp)
            });
            if streams.transport == Transport::Tcp || !streams.marks.is_empty() || !others {
                break;
            }
            if MonoClock.now() >= deadline {
                bail!("another UDP test from the same address never opened its streams");
            }
            if wait_readable(&[control.as_fd()], Duration::ZERO)?[0] {
                bail!("its client said something, or left, before it was its turn");
            }
            let waited = self
                .demux
                .changed
                .wait_timeout(pending_tests, POLL_INTERVAL);
            (pending_tests, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(pending) = pending_tests.get_mut(&self.key) {
            pending.wanted = Some(streams);
        }
        Ok(())
    }

    /// Waits for the streams. `None` if `is_over` before: they will not come any more.
    pub fn wait(
        &self,
        is_over: &dyn Fn() -> Result<bool>,
        limit: Duration,
    ) -> Result<Option<DataStreams>> {
        let deadline = MonoClock.now().after(limit);
        let mut pending_tests = self.demux.lock();
        loop {
            if let Some(pending) = pending_tests.get_mut(&self.key)
                && pending.is_complete()
            {
                let data_streams = pending.hand_over();
                self.demux.changed.notify_all();
                for (socket, _) in &data_streams.udp {
                    socket.set_nonblocking(false)?;
                }
                return Ok(Some(data_streams));
            }
            if MonoClock.now() >= deadline {
                self.forget(&mut pending_tests);
                bail!(
                    "not all data streams came within {limit:?}: a firewall or NAT may let only the control connection pass; `linerate ports` lists what must be open"
                );
            }
            let waited = self
                .demux
                .changed
                .wait_timeout(pending_tests, POLL_INTERVAL);
            (pending_tests, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if let Some(pending) = pending_tests.get(&self.key) {
                repeat_answers(pending, self.demux.answer());
            }
            if is_over()? {
                self.forget(&mut pending_tests);
                return Ok(None);
            }
        }
    }

    /// Discards the streams so far.
    fn forget(&self, pending_tests: &mut BTreeMap<Key, PendingTest>) {
        if let Some(pending) = pending_tests.get_mut(&self.key) {
            drop(pending.hand_over());
        }
        self.demux.changed.notify_all();
    }
}

/// A datagram that may be a request, with its source.
type Request = (Vec<u8>, SocketAddr);

/// Maximum datagrams read from a socket at once, so that a flood does not block others for long.
const MAX_DATAGRAMS_PER_READ: usize = 256;

/// Receive buffer for requests, bytes, with room to detect longer datagrams.
const MAX_REQUEST_BYTES: usize = 64;

/// Datagrams queued in a non-blocking socket, last first.
fn waiting(socket: &UdpSocket) -> Vec<Request> {
    let mut found = Vec::new();
    let mut bytes = [0; MAX_REQUEST_BYTES];
    for _ in 0..MAX_DATAGRAMS_PER_READ {
        match socket.recv_from(&mut bytes) {
            Ok((length, address)) => found.push((bytes[..length].to_vec(), address)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // An ICMP error for an earlier datagram; it does not concern the next one.
            Err(_) => {}
        }
    }
    found.reverse();
    found
}

/// Repeats the answer for a client that repeats its request: it has not received it.
fn repeat_answers(test: &PendingTest, answer: Answer) {
    for (index, socket) in &test.udp {
        for (request, _) in waiting(socket) {
            test.repeat_answer(*index, socket, &request, answer);
        }
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}
