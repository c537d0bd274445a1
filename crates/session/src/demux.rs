//! A port that all tests of a protocol share: which data stream belongs to which test.
//!
//! TCP streams and control connections come to one listener; the cookie that each begins with tells them
//! apart. Datagram streams come to one UDP socket and say nothing of their test, so tests of one address
//! open theirs one after the other; each then gets a connected socket of its own on the same port, which the
//! kernel prefers to the shared one.

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

/// How often a waiting test looks whether its client is still there, and answers repeated requests.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a new connection may take to show its cookie: it is sent with the connection.
const COOKIE_LIMIT: Duration = Duration::from_secs(5);

/// One test that waits for its streams, or runs.
struct PendingTest {
    /// Where its control connection comes from, and where it goes to.
    from: IpAddr,
    to: SocketAddr,
    /// Streams it still waits for.
    wanted: Option<AwaitedStreams>,
    /// TCP streams with their number in the order of acceptance: that is the order of the client's streams,
    /// while their cookies are read in any order.
    tcp: Vec<(u64, TcpStream)>,
    udp: Vec<UdpSocket>,
}

impl PendingTest {
    fn awaits(&self, transport: Transport) -> bool {
        self.wanted.is_some_and(|wanted| {
            wanted.transport == transport && self.tcp.len() + self.udp.len() < wanted.count
        })
    }

    /// Hands over what has come, in order.
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

/// The streams of a test that come to a shared port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedStreams {
    /// Of what kind.
    pub transport: Transport,
    /// How many.
    pub count: usize,
}

/// What a control connection and the data streams of its test begin with.
type Cookie = Vec<u8>;

/// All tests that are known at a port.
pub struct StreamDemux {
    pending_tests: Mutex<BTreeMap<Cookie, PendingTest>>,
    changed: Condvar,
    /// Id of the protocol, for messages.
    protocol: &'static str,
    /// Bytes of a cookie.
    cookie_len: usize,
    /// The answer to a datagram that opens a stream.
    answer: fn(&[u8]) -> Option<Vec<u8>>,
}

/// What became of a connection that showed a cookie.
pub enum Admission {
    /// It is a new control connection.
    New(DemuxHandle, TcpStream),
    /// It is a data stream of a test, or was closed because it is none that is awaited.
    Settled,
}

/// A test's place in the demultiplexer; it is given up with this.
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
    /// A port of this protocol, whose cookies have this length in bytes and whose datagram streams are answered so.
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

    /// Reads the cookie that every connection begins with.
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

    /// Takes the connection accepted as the `number`-th, with its cookie, to where it belongs.
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

    /// Takes the requests that have come to the shared UDP socket.
    pub fn meet(&self, shared: &UdpSocket) {
        let mut requests = waiting(shared);
        while let Some((request, address)) = requests.pop() {
            let Some(said) = (self.answer)(&request) else {
                continue;
            };
            // A request that cannot be answered is repeated, or its client gives up.
            if let Ok(more) = self.invite(address, &said) {
                requests.extend(more);
            }
        }
    }

    /// Opens a socket for the stream from `address` and answers it. Returns what had come to that socket
    /// from others before it was connected.
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
    /// What the client showed.
    pub fn cookie(&self) -> &[u8] {
        &self.cookie
    }

    /// From now on this many streams are awaited. Datagram streams of one address are opened for one test at
    /// a time: this waits for its turn, as long as the client says nothing on its control connection.
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

    /// Waits for the streams. `None` if the client says something on its control connection instead.
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
                    "not all data streams came within {limit:?}: a firewall or NAT may let only the control connection pass"
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

    /// Gives up what came so far.
    fn forget(&self, pending_tests: &mut BTreeMap<Cookie, PendingTest>) {
        if let Some(pending) = pending_tests.get_mut(&self.cookie) {
            drop(pending.hand_over());
        }
        self.demux.changed.notify_all();
    }
}

/// A datagram that may be a request, and where it came from.
type Request = (Vec<u8>, SocketAddr);

/// Most datagrams that are taken from a socket at once, so that a flood stops nobody else for long.
const MAX_DATAGRAMS_PER_READ: usize = 256;

/// Room for a request of any protocol, and to see that one is longer.
const MAX_REQUEST_BYTES: usize = 64;

/// What waits in a non-blocking socket, the last first.
fn waiting(socket: &UdpSocket) -> Vec<Request> {
    let mut found = Vec::new();
    let mut bytes = [0; MAX_REQUEST_BYTES];
    for _ in 0..MAX_DATAGRAMS_PER_READ {
        match socket.recv_from(&mut bytes) {
            Ok((length, address)) => found.push((bytes[..length].to_vec(), address)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // An earlier datagram was refused somewhere; it says nothing about the next one.
            Err(_) => {}
        }
    }
    found.reverse();
    found
}

/// A client that repeats its request has not got the answer.
fn repeat_answers(sockets: &[UdpSocket], answer: fn(&[u8]) -> Option<Vec<u8>>) {
    for socket in sockets {
        for (request, _) in waiting(socket) {
            if let Some(said) = answer(&request) {
                // It asks again if this is lost too.
                drop(socket.send(&said));
            }
        }
    }
}

/// An IPv4 address written as IPv6 made IPv4 again.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}
