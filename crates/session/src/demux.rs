//! Assigns data streams to tests at a port that all tests of a protocol share.
//!
//! TCP streams and control connections arrive at one listener, distinguished by the cookie with which each begins.
//! Datagram streams arrive at one UDP socket and do not identify their test, so tests from one address open theirs one
//! after the other; each then gets a connected socket of its own on the same port, which the kernel prefers to the
//! shared one.

use crate::endpoints::DataStreams;
use anyhow::{Result, bail};
use linerate_engine::Early;
use linerate_model::spec::Transport;
use linerate_model::{Clock as _, MonoInstant};
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
    udp: Vec<UdpSocket>,
}

impl PendingTest {
    fn awaits(&self, transport: Transport) -> bool {
        self.wanted.is_some_and(|wanted| {
            wanted.transport == transport && self.tcp.len() + self.udp.len() < wanted.count
        })
    }

    /// Hands over the streams, in order.
    fn hand_over(&mut self) -> DataStreams {
        self.wanted = None;
        let mut tcp = std::mem::take(&mut self.tcp);
        tcp.sort_by_key(|(number, _)| *number);
        DataStreams {
            tcp: tcp.into_iter().map(|(_, stream)| stream).collect(),
            udp: std::mem::take(&mut self.udp)
                .into_iter()
                .map(|socket| (socket, Early::default()))
                .collect(),
        }
    }

    fn is_complete(&self) -> bool {
        self.wanted
            .is_some_and(|wanted| !self.awaits(wanted.transport))
    }
}

/// Streams of a test expected at a shared port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedStreams {
    /// Their transport.
    pub transport: Transport,
    /// Their number.
    pub count: usize,
}

/// First bytes of a control connection and of its test's data streams.
type Cookie = Vec<u8>;

/// All tests at a port.
pub struct StreamDemux {
    pending_tests: Mutex<BTreeMap<Cookie, PendingTest>>,
    changed: Condvar,
    /// Id of the protocol, for error messages.
    protocol: &'static str,
    /// Length of a cookie, bytes.
    cookie_len: usize,
    /// Answer to a datagram that opens a stream.
    answer: fn(&[u8]) -> Option<Vec<u8>>,
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
    cookie: Cookie,
}

impl Drop for DemuxHandle {
    fn drop(&mut self) {
        self.demux.lock().remove(&self.cookie);
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
        Self {
            protocol,
            pending_tests: Mutex::default(),
            changed: Condvar::new(),
            cookie_len,
            answer,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Cookie, PendingTest>> {
        self.pending_tests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the cookie with which every connection begins.
    pub fn read_cookie(&self, mut stream: &TcpStream) -> Result<Vec<u8>> {
        stream.set_nonblocking(false)?;
        let deadline: MonoInstant = MonoClock.now().after(COOKIE_LIMIT);
        let mut bytes = vec![0; self.cookie_len];
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

    /// Assigns the connection accepted as the `number`-th by its cookie.
    pub fn show(
        self: &Arc<Self>,
        cookie: Cookie,
        stream: TcpStream,
        number: u64,
    ) -> Result<Admission> {
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
        let pending = PendingTest {
            from,
            to,
            wanted: None,
            tcp: Vec::new(),
            udp: Vec::new(),
        };
        pending_tests.insert(cookie.clone(), pending);
        let demux = Arc::clone(self);
        Ok(Admission::New(DemuxHandle { demux, cookie }, stream))
    }

    /// Handles the requests that have arrived at the shared UDP socket.
    pub fn meet(&self, shared: &UdpSocket) {
        let mut requests = waiting(shared);
        while let Some((request, address)) = requests.pop() {
            let Some(said) = (self.answer)(&request) else {
                continue;
            };
            // An unanswered request is repeated, or its client gives up.
            if let Ok(more) = self.invite(address, &said) {
                requests.extend(more);
            }
        }
    }

    /// Opens a socket for the stream from `address` and answers it. Returns what other addresses had sent to that
    /// socket before it was connected.
    fn invite(&self, address: SocketAddr, said: &[u8]) -> std::io::Result<Vec<Request>> {
        let address = canonical(address);
        let mut pending_tests = self.lock();
        let same = |socket: &&UdpSocket| socket.peer_addr().is_ok_and(|peer| peer == address);
        let mut known = pending_tests.values().flat_map(|pending| &pending.udp);
        if let Some(socket) = known.find(same) {
            socket.send(said)?;
            return Ok(Vec::new());
        }
        let host = pending_tests
            .values_mut()
            .find(|pending| pending.from == address.ip() && pending.awaits(Transport::Udp));
        let Some(host) = host else {
            return Ok(Vec::new());
        };
        let socket = bind_shared(canonical(host.to))?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        let strays = waiting(&socket);
        socket.send(said)?;
        host.udp.push(socket);
        self.changed.notify_all();
        Ok(strays)
    }
}

impl DemuxHandle {
    /// The client's cookie.
    pub fn cookie(&self) -> &[u8] {
        &self.cookie
    }

    /// Announces the streams that the test expects. Datagram streams from one address are opened for one test at a
    /// time: waits for its turn, until the client sends something on its control connection.
    pub fn expect(
        &self,
        streams: AwaitedStreams,
        control: &TcpStream,
        limit: Duration,
    ) -> Result<()> {
        let deadline = MonoClock.now().after(limit);
        let mut pending_tests = self.demux.lock();
        loop {
            let from = pending_tests.get(&self.cookie).map(|pending| pending.from);
            let others = pending_tests.iter().any(|(cookie, pending)| {
                *cookie != self.cookie
                    && Some(pending.from) == from
                    && pending.awaits(Transport::Udp)
            });
            if streams.transport == Transport::Tcp || !others {
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
        if let Some(pending) = pending_tests.get_mut(&self.cookie) {
            pending.wanted = Some(streams);
        }
        Ok(())
    }

    /// Waits for the streams. `None` if the client sends something on its control connection instead.
    pub fn wait(&self, control: &TcpStream, limit: Duration) -> Result<Option<DataStreams>> {
        let deadline = MonoClock.now().after(limit);
        let mut pending_tests = self.demux.lock();
        loop {
            if let Some(pending) = pending_tests.get_mut(&self.cookie)
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
            if let Some(pending) = pending_tests.get(&self.cookie) {
                repeat_answers(&pending.udp, self.demux.answer);
            }
            if wait_readable(&[control.as_fd()], Duration::ZERO)?[0] {
                self.forget(&mut pending_tests);
                return Ok(None);
            }
        }
    }

    /// Discards the streams so far.
    fn forget(&self, pending_tests: &mut BTreeMap<Cookie, PendingTest>) {
        if let Some(pending) = pending_tests.get_mut(&self.cookie) {
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
fn repeat_answers(sockets: &[UdpSocket], answer: fn(&[u8]) -> Option<Vec<u8>>) {
    for socket in sockets {
        for (request, _) in waiting(socket) {
            if let Some(said) = answer(&request) {
                // It asks again if this one is lost too.
                drop(socket.send(&said));
            }
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
