//! A port that all tests of a protocol share: which data stream belongs to which test.
//!
//! TCP streams and control connections come to one listener; the cookie that each begins with tells them
//! apart. Datagram streams come to one UDP socket and say nothing of their test, so tests of one address
//! open theirs one after the other; each then gets a connected socket of its own on the same port, which the
//! kernel prefers to the shared one.

use crate::access::plain;
use crate::endpoints::Guests;
use anyhow::{Result, bail};
use linerate_engine::iperf3::{LEN, answer};
use linerate_model::spec::Transport;
use linerate_model::{Clock as _, MonoInstant};
use linerate_peers::{COOKIE_LEN, Cookie};
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
const LOOK: Duration = Duration::from_millis(20);

/// How long a stranger may take to show its cookie: it is sent with the connection.
const COOKIE_LIMIT: Duration = Duration::from_secs(5);

/// One test that waits for its streams, or runs.
struct Visit {
    /// Where its control connection comes from, and where it goes to.
    from: IpAddr,
    to: SocketAddr,
    /// Streams it still waits for, of which kind.
    wanted: Option<(Transport, usize)>,
    /// TCP streams with their number in the order of acceptance: that is the order of the client's streams,
    /// while their cookies are read in any order.
    tcp: Vec<(u64, TcpStream)>,
    udp: Vec<UdpSocket>,
}

impl Visit {
    fn awaits(&self, transport: Transport) -> bool {
        self.wanted.is_some_and(|(kind, count)| {
            kind == transport && self.tcp.len() + self.udp.len() < count
        })
    }

    /// Hands over what has come, in order.
    fn hand_over(&mut self) -> Guests {
        self.wanted = None;
        let mut tcp = std::mem::take(&mut self.tcp);
        tcp.sort_by_key(|(number, _)| *number);
        Guests {
            tcp: tcp.into_iter().map(|(_, stream)| stream).collect(),
            udp: std::mem::take(&mut self.udp)
                .into_iter()
                .map(|socket| (socket, Vec::new()))
                .collect(),
        }
    }

    fn is_complete(&self) -> bool {
        self.wanted
            .is_some_and(|(transport, _)| !self.awaits(transport))
    }
}

/// All tests that are known at a port.
#[derive(Default)]
pub(crate) struct Door {
    visits: Mutex<BTreeMap<Cookie, Visit>>,
    changed: Condvar,
}

/// What became of a connection that showed a cookie.
pub(crate) enum Shown {
    /// It is a new control connection.
    New(Entry, TcpStream),
    /// It is a data stream of a test, or was closed because it is none that is awaited.
    Settled,
}

/// A test's place at the door; it is given up with this.
pub(crate) struct Entry {
    door: Arc<Door>,
    cookie: Cookie,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.door.lock().remove(&self.cookie);
        self.door.changed.notify_all();
    }
}

impl Door {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Cookie, Visit>> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the connection accepted as the `number`-th, with its cookie, to where it belongs.
    pub(crate) fn show(
        self: &Arc<Self>,
        cookie: Cookie,
        stream: TcpStream,
        number: u64,
    ) -> Result<Shown> {
        let (from, to) = (plain(stream.peer_addr()?.ip()), stream.local_addr()?);
        let mut visits = self.lock();
        if let Some(visit) = visits.get_mut(&cookie) {
            if visit.from == from && visit.awaits(Transport::Tcp) {
                visit.tcp.push((number, stream));
                self.changed.notify_all();
            }
            return Ok(Shown::Settled);
        }
        let visit = Visit {
            from,
            to,
            wanted: None,
            tcp: Vec::new(),
            udp: Vec::new(),
        };
        visits.insert(cookie, visit);
        let door = Arc::clone(self);
        Ok(Shown::New(Entry { door, cookie }, stream))
    }

    /// Takes the requests that have come to the shared UDP socket.
    pub(crate) fn meet(&self, shared: &UdpSocket) {
        let mut requests = waiting(shared);
        while let Some((request, address)) = requests.pop() {
            let Some(said) = answer(&request) else {
                continue;
            };
            // A request that cannot be answered is repeated, or its client gives up.
            if let Ok(more) = self.invite(address, said) {
                requests.extend(more);
            }
        }
    }

    /// Opens a socket for the stream from `address` and answers it. Returns what had come to that socket
    /// from others before it was connected.
    fn invite(&self, address: SocketAddr, said: [u8; LEN]) -> std::io::Result<Vec<Request>> {
        let address = canonical(address);
        let mut visits = self.lock();
        let same = |socket: &&UdpSocket| socket.peer_addr().is_ok_and(|peer| peer == address);
        let mut known = visits.values().flat_map(|visit| &visit.udp);
        if let Some(socket) = known.find(same) {
            socket.send(&said)?;
            return Ok(Vec::new());
        }
        let host = visits
            .values_mut()
            .find(|visit| visit.from == address.ip() && visit.awaits(Transport::Udp));
        let Some(host) = host else {
            return Ok(Vec::new());
        };
        let socket = bind_shared(canonical(host.to))?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        let strays = waiting(&socket);
        socket.send(&said)?;
        host.udp.push(socket);
        self.changed.notify_all();
        Ok(strays)
    }
}

impl Entry {
    /// What the client showed.
    pub(crate) const fn cookie(&self) -> &[u8; COOKIE_LEN] {
        self.cookie.as_bytes()
    }

    /// From now on this many streams are awaited. Datagram streams of one address are opened for one test at
    /// a time: this waits for its turn.
    pub(crate) fn expect(&self, transport: Transport, count: usize, limit: Duration) -> Result<()> {
        let deadline = MonoClock.now().after(limit);
        let mut visits = self.door.lock();
        loop {
            let from = visits.get(&self.cookie).map(|visit| visit.from);
            let others = visits.iter().any(|(cookie, visit)| {
                *cookie != self.cookie && Some(visit.from) == from && visit.awaits(Transport::Udp)
            });
            if transport == Transport::Tcp || !others {
                break;
            }
            if MonoClock.now() >= deadline {
                bail!("another UDP test from the same address never opened its streams");
            }
            let waited = self.door.changed.wait_timeout(visits, LOOK);
            (visits, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(visit) = visits.get_mut(&self.cookie) {
            visit.wanted = Some((transport, count));
        }
        Ok(())
    }

    /// Waits for the streams. `None` if the client says something on its control connection instead.
    pub(crate) fn wait(&self, control: &TcpStream, limit: Duration) -> Result<Option<Guests>> {
        let deadline = MonoClock.now().after(limit);
        let mut visits = self.door.lock();
        loop {
            if let Some(visit) = visits.get_mut(&self.cookie)
                && visit.is_complete()
            {
                let guests = visit.hand_over();
                self.door.changed.notify_all();
                for (socket, _) in &guests.udp {
                    socket.set_nonblocking(false)?;
                }
                return Ok(Some(guests));
            }
            if MonoClock.now() >= deadline {
                self.forget(&mut visits);
                bail!(
                    "not all data streams came within {limit:?}: a firewall or NAT may let only the control connection pass"
                );
            }
            let waited = self.door.changed.wait_timeout(visits, LOOK);
            (visits, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if let Some(visit) = visits.get(&self.cookie) {
                repeat_answers(&visit.udp);
            }
            if wait_readable(&[control.as_fd()], Duration::ZERO)?[0] {
                self.forget(&mut visits);
                return Ok(None);
            }
        }
    }

    /// Gives up what came so far.
    fn forget(&self, visits: &mut BTreeMap<Cookie, Visit>) {
        if let Some(visit) = visits.get_mut(&self.cookie) {
            drop(visit.hand_over());
        }
        self.door.changed.notify_all();
    }
}

/// A datagram that may be a request, and where it came from.
type Request = (Vec<u8>, SocketAddr);

/// Most datagrams that are taken from a socket at once, so that a flood stops nobody else for long.
const MOST: usize = 256;

/// What waits in a non-blocking socket, the last first.
fn waiting(socket: &UdpSocket) -> Vec<Request> {
    let mut found = Vec::new();
    let mut bytes = [0; LEN + 1];
    for _ in 0..MOST {
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
fn repeat_answers(sockets: &[UdpSocket]) {
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

/// Reads the cookie that every connection begins with.
pub(crate) fn read_cookie(mut stream: &TcpStream) -> Result<Cookie> {
    stream.set_nonblocking(false)?;
    let deadline: MonoInstant = MonoClock.now().after(COOKIE_LIMIT);
    let mut bytes = [0; COOKIE_LEN];
    let mut filled = 0;
    while filled < COOKIE_LEN {
        let left = deadline.saturating_since(MonoClock.now());
        if left.is_zero() {
            bail!("it showed no cookie within {COOKIE_LIMIT:?}: it is no iperf3 client");
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes[filled..]) {
            Ok(0) => bail!("it hung up after {filled} bytes of its cookie"),
            Ok(length) => filled += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Cookie::from_wire(bytes))
}
