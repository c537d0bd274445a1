//! Handshakes of datagram streams: the peer is verified before anything is sent to it. The datagrams are the protocol's
//! (see [`Handshake`]); here are sockets and timeouts. Every datagram may be lost.

use super::{POLL_INTERVAL, Wait};
use crate::error::{EngineError, Result};
use crate::plan::EndpointPlan;
use linerate_model::spec::{Side, TestWork};
use linerate_model::{Clock, MonoInstant};
use linerate_peers::{Arrival, Batch, Handshake, HandshakeStep, Numbers, Part, SendTime};
use linerate_sys::clock::MonoClock;
use linerate_sys::tcp::{apply_buffers, apply_class, wait_readable};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Request intervals without a request after which a client has the answer: so many requests in a row are not lost by
/// chance.
const SETTLED_AFTER_REQUESTS: u32 = 5;

/// Receive buffer for handshake datagrams, bytes.
pub(super) const MAX_HANDSHAKE_BYTES: usize = 64;

pub(super) fn bind(plan: &EndpointPlan, local: SocketAddr) -> Result<Vec<UdpSocket>> {
    let open = |_| open(plan, local);
    let all: Result<_, _> = (0..plan.spec.streams).map(open).collect();
    all.map_err(|error| EngineError::io("bind data ports on", &local.ip(), error))
}

pub(super) fn open(plan: &EndpointPlan, local: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(local)?;
    apply_buffers(&socket, &plan.spec.socket)?;
    apply_class(&socket, &plan.spec.socket)?;
    Ok(socket)
}

pub(super) fn connect(
    plan: &EndpointPlan,
    remotes: &[SocketAddr],
    timeout: Duration,
) -> Result<Vec<UdpSocket>> {
    let deadline = MonoClock.now().after(timeout);
    let sockets: Result<Vec<_>, _> = (0..)
        .zip(remotes)
        .map(|(stream, remote)| {
            let socket = open_to(plan, *remote)?;
            let Some(handshake) = plan.format.handshake(stream) else {
                return Ok(socket);
            };
            let failed = |error| EngineError::io("greet the server at", &remote, error);
            if greet(handshake.as_ref(), &socket, deadline).map_err(failed)? {
                return Ok(socket);
            }
            Err(EngineError::NoPeer {
                stream: usize::from(stream),
                what: handshake.answer_name(),
                from: remote.ip(),
                waited: timeout,
            })
        })
        .collect();
    let sockets = sockets?;
    probe_path(plan, sockets.first().map(|socket| (socket, None)));
    Ok(sockets)
}

/// A client's socket, connected to `remote`.
pub(super) fn open_to(plan: &EndpointPlan, remote: SocketAddr) -> Result<UdpSocket> {
    let failed = |error| EngineError::io("open a data socket to", &remote, error);
    let socket = open(plan, from_any(remote)).map_err(failed)?;
    socket.connect(remote).map_err(failed)?;
    Ok(socket)
}

/// Any address and port of this host from which `remote` can be reached.
fn from_any(remote: SocketAddr) -> SocketAddr {
    let any = match remote {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(any, 0)
}

/// Payload that every path of IPv6 carries in one packet, bytes (RFC 8200 §5: 1280 B), and nearly every one of IPv4.
const EVERY_PATH: usize = 1280 - 40 - 8;

/// Discards what it gets (RFC 863); where nobody listens, the host's system does.
const DISCARD_PORT: u16 = 9;

/// Sends one datagram of full length that no receiver counts: a router that carries less answers before the traffic
/// begins, and the system cuts what follows into fragments. One is enough, since the system keeps the path's MTU by address.
/// `stream` is the first one's socket, and its address where that is not connected.
pub(super) fn probe_path(plan: &EndpointPlan, stream: Option<(&UdpSocket, Option<SocketAddr>)>) {
    let (Side::Sender, Some((socket, to))) = (plan.side, stream) else {
        return;
    };
    let payload = plan.stream(0).payload;
    if payload <= EVERY_PATH || !matches!(plan.spec.work, TestWork::Datagrams(_)) {
        return;
    }
    let mut datagram = vec![0; payload];
    let format = plan.format.datagrams(0, payload);
    let is_marked = format.is_some_and(|format| {
        let is_marked = format.numbers() == Numbers::PerPart && payload >= format.header_len();
        if is_marked {
            let sent = SendTime {
                monotonic: MonoClock.now(),
                wall_ns: 0,
            };
            let (part, first) = (Part::WarmUp, 0);
            format.write(&mut datagram, payload, Batch { part, first, sent });
        }
        is_marked
    });
    // A failure shows again in the traffic.
    if is_marked {
        drop(match to {
            Some(to) => socket.send_to(&datagram, to),
            None => socket.send(&datagram),
        });
    } else {
        drop(discarded(plan, socket, &datagram));
    }
}

/// Sends `datagram` to a port of the same host that discards it: the protocol has none that its receiver does not count.
fn discarded(plan: &EndpointPlan, socket: &UdpSocket, datagram: &[u8]) -> io::Result<()> {
    let (local, mut remote) = (socket.local_addr()?, socket.peer_addr()?);
    remote.set_port(DISCARD_PORT);
    let aside = open(plan, SocketAddr::new(local.ip(), 0))?;
    aside.connect(remote)?;
    aside.send(datagram).map(drop)
}

/// Sends the request, repeatedly if allowed, until the server answers; returns whether it did before `deadline`.
/// Traffic that overtakes the answer is discarded.
fn greet(handshake: &dyn Handshake, socket: &UdpSocket, deadline: MonoInstant) -> io::Result<bool> {
    let request = handshake.request();
    // Where a request is repeated, a refusal means that the server's port is not open yet, or a route is missing: the
    // deadline decides.
    let fatal = |outcome: io::Result<usize>| match (outcome, handshake.repeats()) {
        (Err(error), None) => Err(error),
        (outcome, _) => Ok(outcome.unwrap_or(0)),
    };
    let mut next = Some(MonoClock.now());
    loop {
        let now = MonoClock.now();
        if now >= deadline {
            return Ok(false);
        }
        if next.is_some_and(|next| now >= next) {
            fatal(socket.send(&request))?;
            next = handshake.repeats().map(|gap| now.after(gap));
        }
        let left = next.unwrap_or(deadline).min(deadline);
        if !wait_readable(&[socket.as_fd()], left.saturating_since(now))?[0] {
            continue;
        }
        let mut bytes = [0; MAX_HANDSHAKE_BYTES];
        let length = fatal(socket.recv(&mut bytes))?;
        if handshake.is_answer(&bytes[..length]) {
            if let Some(confirmation) = handshake.confirmation() {
                // If it is lost, silence has the same effect at the server.
                drop(socket.send(&confirmation));
            }
            return Ok(true);
        }
    }
}

/// Progress of the handshake of one stream at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandshakeState {
    Awaited,
    Answered { last: MonoInstant },
    Settled,
}

impl HandshakeState {
    pub(super) fn is_settled(self, now: MonoInstant, handshake: &dyn Handshake) -> bool {
        let silence = handshake.repeats().unwrap_or_default() * SETTLED_AFTER_REQUESTS;
        match self {
            Self::Awaited => false,
            Self::Answered { last } => now.saturating_since(last) >= silence,
            Self::Settled => true,
        }
    }
}

/// Server: connects each socket to its client, which must be at `from`.
pub(super) fn welcome(
    plan: &EndpointPlan,
    sockets: &[UdpSocket],
    from: IpAddr,
    wait: &Wait<'_>,
) -> Result<()> {
    let failed = |error| EngineError::io("take datagrams on", &"a data port", error);
    let awaited = |stream, what| EngineError::NoPeer {
        stream,
        what,
        from,
        waited: wait.timeout,
    };
    match plan.format.arrival() {
        Arrival::FirstDatagram => {
            for (stream, socket) in sockets.iter().enumerate() {
                if !take_first(socket, from, wait).map_err(failed)? {
                    return Err(awaited(stream, "datagram"));
                }
            }
            Ok(())
        }
        Arrival::Handshake => {
            let streams = (0..).zip(sockets);
            let handshakes = streams.map(|(stream, _)| plan.format.handshake(stream));
            let Some(handshakes) = handshakes.collect::<Option<Vec<_>>>() else {
                return Err(EngineError::NotConnected { stream: 0 });
            };
            match take_requests(&handshakes, sockets, from, wait).map_err(failed)? {
                None => {
                    probe_path(plan, sockets.first().map(|socket| (socket, None)));
                    Ok(())
                }
                Some(stream) => Err(awaited(stream, "UDP hello")),
            }
        }
        Arrival::SharedPort | Arrival::ToldPorts => Err(EngineError::NotConnected { stream: 0 }),
    }
}

/// Answers the clients' requests until all streams are settled or the `wait` is over; then returns a stream without
/// any.
fn take_requests(
    handshakes: &[Box<dyn Handshake>],
    sockets: &[UdpSocket],
    from: IpAddr,
    wait: &Wait<'_>,
) -> io::Result<Option<usize>> {
    // At a shared port a stream has its socket because its client's request was answered.
    let first = |socket: &UdpSocket| match socket.peer_addr() {
        Ok(_) => HandshakeState::Answered {
            last: MonoClock.now(),
        },
        Err(_) => HandshakeState::Awaited,
    };
    let mut states: Vec<_> = sockets.iter().map(first).collect();
    let fds: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    loop {
        let now = MonoClock.now();
        let mut streams = states.iter().zip(handshakes);
        let open =
            streams.position(|(state, handshake)| !state.is_settled(now, handshake.as_ref()));
        let next = wait.next();
        if open.is_none() || (next.is_none() && states.contains(&HandshakeState::Awaited)) {
            return Ok(open);
        }
        let readable = wait_readable(&fds, POLL_INTERVAL)?;
        let streams = handshakes.iter().zip(sockets).zip(&mut states);
        for (((handshake, socket), state), _) in streams.zip(readable).filter(|(_, ready)| *ready) {
            *state = hear(handshake.as_ref(), socket, from, *state);
        }
    }
}

/// Reads one datagram and answers it if it is the expected client's request.
fn hear(
    handshake: &dyn Handshake,
    socket: &UdpSocket,
    from: IpAddr,
    state: HandshakeState,
) -> HandshakeState {
    let mut bytes = [0; MAX_HANDSHAKE_BYTES];
    let Ok((length, address)) = socket.recv_from(&mut bytes) else {
        return state;
    };
    if address.ip().to_canonical() != from {
        return state;
    }
    match handshake.hear(&bytes[..length]) {
        HandshakeStep::Answer(answer) if socket.connect(address).is_ok() => {
            // If it is lost, another request follows.
            drop(socket.send(&answer));
            HandshakeState::Answered {
                last: MonoClock.now(),
            }
        }
        HandshakeStep::Confirmed if state != HandshakeState::Awaited => HandshakeState::Settled,
        _ => state,
    }
}

/// Connects to the sender of the first datagram that arrives from `from`; returns whether one arrived within `wait`. It
/// stays queued: it is part of the test. Datagrams of others before it are discarded.
fn take_first(socket: &UdpSocket, from: IpAddr, wait: &Wait<'_>) -> io::Result<bool> {
    while let Some(left) = wait.next() {
        if !wait_readable(&[socket.as_fd()], left)?[0] {
            continue;
        }
        let (_, address) = socket.peek_from(&mut [0])?;
        if address.ip().to_canonical() == from {
            socket.connect(address)?;
            return Ok(true);
        }
        socket.recv_from(&mut [0])?;
    }
    Ok(false)
}
