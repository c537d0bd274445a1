//! The handshake of datagram streams: who is there, before anything is sent to them.
//!
//! ```text
//!  client                                   server (bound, talks to nobody)
//!    │── hello(token, stream), every 50 ms ──►│  right token, stream and address?
//!    │◄────────────── ack ────────────────────│  connects its socket to the sender
//!    │── done ───────────────────────────────►│  settled; or: no hello for 250 ms
//! ```
//! Every datagram may be lost. A lost ack brings another hello, which brings another ack. The
//! server answers nothing that does not carry the token from the control connection's address, and
//! never with more bytes than came: it cannot be used to reflect or amplify.

use super::netperf;
use crate::error::EngineError;
use crate::plan::EndpointPlan;
use crate::wire::{HEADER_LEN, Header, Kind, Stamp};
use linerate_model::{Clock, MonoInstant};
use linerate_peers::Framing;
use linerate_sys::clock::MonoClock;
use linerate_sys::tcp::{apply_buffers, apply_class, wait_readable};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Gap between two hellos.
const REPEAT: Duration = Duration::from_millis(50);

/// Silence of a client that was answered after which it has the answer: five hellos would have
/// to be lost in a row for this to be wrong.
const SETTLED: Duration = Duration::from_millis(250);

pub(super) fn bind(plan: &EndpointPlan, local: SocketAddr) -> Result<Vec<UdpSocket>, EngineError> {
    let open = |_| open(plan, local);
    let all: Result<_, _> = (0..plan.spec.streams).map(open).collect();
    all.map_err(|error| EngineError::io("bind data ports on", &local.ip(), error))
}

fn open(plan: &EndpointPlan, local: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(local)?;
    apply_buffers(&socket, &plan.spec.socket)?;
    apply_class(&socket, &plan.spec.socket)?;
    Ok(socket)
}

/// The datagram of the handshake with this meaning.
fn datagram(token: u32, stream: u8, kind: Kind) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    let header = Header {
        token,
        stream,
        kind,
        sequence: 0,
        sent: Stamp::from_instant(MonoInstant::default()),
    };
    header.write(&mut bytes);
    bytes
}

/// The meaning of a datagram of this stream's handshake.
fn meaning(token: u32, stream: u8, bytes: &[u8]) -> Option<Kind> {
    let header = Header::read(bytes)?;
    (header.token == token && header.stream == stream).then_some(header.kind)
}

pub(super) fn connect(
    plan: &EndpointPlan,
    remotes: &[SocketAddr],
    timeout: Duration,
) -> Result<Vec<UdpSocket>, EngineError> {
    let deadline = MonoClock.now().after(timeout);
    (0..)
        .zip(remotes)
        .map(|(stream, remote)| {
            let failed = |error| EngineError::io("open a data socket to", &remote, error);
            let any = match remote {
                SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
                SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
            };
            let socket = open(plan, SocketAddr::new(any, 0)).map_err(failed)?;
            socket.connect(remote).map_err(failed)?;
            let greeted = match plan.framing {
                // Nobody says that it is there before traffic comes.
                Framing::Iperf2(_)
                | Framing::Netperf { .. }
                | Framing::Sfnt
                | Framing::Sockperf => Ok(true),
                Framing::Iperf3 { .. } => super::iperf3::greet(&socket, deadline),
                Framing::Native { token } => greet(token, stream, &socket, deadline),
            };
            if greeted.map_err(failed)? {
                return Ok(socket);
            }
            Err(EngineError::NoPeer {
                stream: usize::from(stream),
                what: match plan.framing {
                    Framing::Iperf2(_) | Framing::Iperf3 { .. } => "answer to the UDP request",
                    Framing::Native { .. } => "answer to UDP hellos",
                    Framing::Netperf { .. } | Framing::Sfnt | Framing::Sockperf => "datagrams",
                },
                from: remote.ip(),
                waited: timeout,
            })
        })
        .collect()
}

/// Says hello until the server answers; whether it did before `deadline`.
fn greet(token: u32, stream: u8, socket: &UdpSocket, deadline: MonoInstant) -> io::Result<bool> {
    let hello = datagram(token, stream, Kind::Hello);
    let mut again = MonoClock.now();
    loop {
        let now = MonoClock.now();
        if now >= deadline {
            return Ok(false);
        }
        if now >= again {
            // A refusal means that the server's port is not open yet, or a route is missing: the
            // deadline decides.
            drop(socket.send(&hello));
            again = now.after(REPEAT);
        }
        let left = again.min(deadline).saturating_since(now);
        if !wait_readable(&[socket.as_fd()], left)?[0] {
            continue;
        }
        let mut bytes = [0; HEADER_LEN];
        let length = socket.recv(&mut bytes).unwrap_or(0);
        // Traffic of this stream is as good an answer as the ack.
        if meaning(token, stream, &bytes[..length]).is_some() {
            drop(socket.send(&datagram(token, stream, Kind::HelloDone)));
            return Ok(true);
        }
    }
}

/// How far the server is with one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandshakeState {
    Awaited,
    Answered { last: MonoInstant },
    Settled,
}

impl HandshakeState {
    fn is_settled(self, now: MonoInstant) -> bool {
        match self {
            Self::Awaited => false,
            Self::Answered { last } => now.saturating_since(last) >= SETTLED,
            Self::Settled => true,
        }
    }
}

pub(super) fn welcome(
    plan: &EndpointPlan,
    sockets: &[UdpSocket],
    from: IpAddr,
    timeout: Duration,
) -> Result<(), EngineError> {
    let token = match plan.framing {
        Framing::Native { token } => token,
        Framing::Netperf { .. } => return netperf::welcome(sockets, from, timeout),
        Framing::Iperf2(_) | Framing::Iperf3 { .. } | Framing::Sfnt | Framing::Sockperf => {
            return Err(EngineError::NotConnected { stream: 0 });
        }
    };
    let deadline = MonoClock.now().after(timeout);
    let failed = |error| EngineError::io("take UDP hellos on", &"a data port", error);
    let mut handshakes = vec![HandshakeState::Awaited; sockets.len()];
    let fds: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    loop {
        let now = MonoClock.now();
        let Some(stream) = handshakes
            .iter()
            .position(|handshake| !handshake.is_settled(now))
        else {
            return Ok(());
        };
        if now >= deadline && handshakes.contains(&HandshakeState::Awaited) {
            return Err(EngineError::NoPeer {
                stream,
                what: "UDP hello",
                from,
                waited: timeout,
            });
        }
        let readable = wait_readable(&fds, REPEAT).map_err(failed)?;
        for (index, (socket, ready)) in (0_u8..).zip(sockets.iter().zip(readable)) {
            if ready {
                let handshake = &mut handshakes[usize::from(index)];
                *handshake = meet(token, index, socket, from, *handshake);
            }
        }
    }
}

/// Reads one datagram and answers it if it is the awaited client's hello.
fn meet(
    token: u32,
    stream: u8,
    socket: &UdpSocket,
    from: IpAddr,
    handshake: HandshakeState,
) -> HandshakeState {
    let mut bytes = [0; HEADER_LEN];
    let Ok((length, address)) = socket.recv_from(&mut bytes) else {
        return handshake;
    };
    if address.ip().to_canonical() != from {
        return handshake;
    }
    match meaning(token, stream, &bytes[..length]) {
        Some(Kind::Hello) if socket.connect(address).is_ok() => {
            drop(socket.send(&datagram(token, stream, Kind::HelloAck)));
            HandshakeState::Answered {
                last: MonoClock.now(),
            }
        }
        Some(Kind::HelloDone) if handshake != HandshakeState::Awaited => HandshakeState::Settled,
        _ => handshake,
    }
}
