//! Handshakes of datagram streams that threads carry in turns: one server's socket for each thread, to which the client
//! connects one for each stream. Many are under way at once, so that a long path costs few round trips.

use super::udp::{HandshakeState, MAX_HANDSHAKE_BYTES, open, open_to, probe_path};
use super::{POLL_INTERVAL, Wait};
use crate::error::{EngineError, Result};
use crate::plan::EndpointPlan;
use linerate_model::{Clock, MonoInstant};
use linerate_peers::{Handshake, HandshakeStep};
use linerate_sys::clock::MonoClock;
use linerate_sys::epoll::{Interest, Readiness};
use linerate_sys::tcp::wait_readable;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Streams that are being opened at once: a datagram of each, which takes 768 bytes there, fits the usual receive buffer
/// of the server's socket (208 KiB).
const GREETED_AT_ONCE: usize = 200;

/// A server's socket for the streams of one thread, and where their clients are once they are known.
pub(super) struct SharedSocket {
    pub(super) socket: UdpSocket,
    pub(super) clients: Vec<SocketAddr>,
}

impl SharedSocket {
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            socket: self.socket.try_clone()?,
            clients: self.clients.clone(),
        })
    }
}

/// Binds a port for each thread.
pub(super) fn bind(plan: &EndpointPlan, local: SocketAddr) -> Result<Vec<SharedSocket>> {
    let open = |_| {
        let socket = open(plan, local)?;
        socket.set_nonblocking(true)?;
        let clients = Vec::new();
        Ok(SharedSocket { socket, clients })
    };
    let all: io::Result<_> = (0..plan.spec.traffic_threads()).map(open).collect();
    all.map_err(|error| EngineError::io("bind data ports on", &local.ip(), error))
}

/// The handshake of stream `stream`.
fn handshake(plan: &EndpointPlan, stream: u16) -> Result<Box<dyn Handshake>> {
    let handshake = plan.format.handshake(stream);
    handshake.ok_or_else(|| EngineError::NotConnected {
        stream: stream.into(),
    })
}

/// Opens a socket for each stream and sends requests until the server has answered all.
pub(super) fn connect(
    plan: &EndpointPlan,
    remotes: &[SocketAddr],
    timeout: Duration,
) -> Result<Vec<UdpSocket>> {
    let deadline = MonoClock.now().after(timeout);
    let failed = |error| EngineError::io("wait for", &"answers to UDP hellos", error);
    let readiness = Readiness::new().map_err(failed)?;
    let mut streams = (0_u16..).zip(remotes);
    let mut open: Vec<Greeted> = Vec::with_capacity(remotes.len());
    // Repetitions, in the order in which they are due: the gap is always the same.
    let mut requests: VecDeque<(MonoInstant, usize)> = VecDeque::new();
    let (mut pending, mut ready) = (0, Vec::new());
    loop {
        let now = MonoClock.now();
        while pending < GREETED_AT_ONCE {
            let Some((stream, remote)) = streams.next() else {
                break;
            };
            let greeted = Greeted::open(plan, stream, *remote)?;
            readiness
                .add(&greeted.socket, open.len(), Interest::Read)
                .map_err(failed)?;
            greeted.request();
            requests.push_back((now.after(greeted.gap()), open.len()));
            open.push(greeted);
            pending += 1;
        }
        if pending == 0 {
            break;
        }
        while let Some((_, index)) = requests.pop_front_if(|(due, _)| *due <= now) {
            let greeted = &open[index];
            if !greeted.is_answered {
                greeted.request();
                requests.push_back((now.after(greeted.gap()), index));
            }
        }
        if now >= deadline {
            return Err(unanswered(&open, remotes, timeout));
        }
        let until = requests.front().map_or(deadline, |(due, _)| *due);
        ready.clear();
        let limit = until.min(deadline).saturating_since(now);
        readiness.wait(limit, &mut ready).map_err(failed)?;
        for index in &ready {
            let greeted = &mut open[*index];
            if greeted.hear() {
                readiness.remove(&greeted.socket).map_err(failed)?;
                pending -= 1;
            }
        }
    }
    let sockets: Vec<_> = open.into_iter().map(|greeted| greeted.socket).collect();
    probe_path(plan, sockets.first().map(|socket| (socket, None)));
    Ok(sockets)
}

fn unanswered(open: &[Greeted], remotes: &[SocketAddr], waited: Duration) -> EngineError {
    let streams = open.iter().position(|greeted| !greeted.is_answered);
    let stream = streams.unwrap_or(0);
    EngineError::NoPeer {
        stream,
        what: open[stream].handshake.answer_name(),
        from: remotes[stream].ip(),
        waited,
    }
}

/// A client's socket whose handshake is under way.
struct Greeted {
    socket: UdpSocket,
    handshake: Box<dyn Handshake>,
    is_answered: bool,
}

impl Greeted {
    fn open(plan: &EndpointPlan, stream: u16, remote: SocketAddr) -> Result<Self> {
        Ok(Self {
            socket: open_to(plan, remote)?,
            handshake: handshake(plan, stream)?,
            is_answered: false,
        })
    }

    fn gap(&self) -> Duration {
        self.handshake.repeats().unwrap_or(POLL_INTERVAL)
    }

    /// Sends the request; one that does not get through is repeated.
    fn request(&self) {
        drop(self.socket.send(&self.handshake.request()));
    }

    /// Reads what came, which has arrived; returns whether the stream is answered with it.
    fn hear(&mut self) -> bool {
        let mut bytes = [0; MAX_HANDSHAKE_BYTES];
        // A refusal means that the server's port is not open yet: the deadline decides.
        let Ok(length) = self.socket.recv(&mut bytes) else {
            return false;
        };
        if self.is_answered || !self.handshake.is_answer(&bytes[..length]) {
            return false;
        }
        if let Some(confirmation) = self.handshake.confirmation() {
            // If it is lost, silence has the same effect at the server.
            drop(self.socket.send(&confirmation));
        }
        self.is_answered = true;
        true
    }
}

/// What a server knows of the client of one stream.
struct Client {
    handshake: Box<dyn Handshake>,
    state: HandshakeState,
    address: Option<SocketAddr>,
}

/// Server: answers the requests of all streams, which must come from `from`.
pub(super) fn welcome(
    plan: &EndpointPlan,
    sockets: &mut [SharedSocket],
    from: IpAddr,
    wait: &Wait<'_>,
) -> Result<()> {
    let failed = |error| EngineError::io("take datagrams on", &"a data port", error);
    let client = |stream| {
        Ok(Client {
            handshake: handshake(plan, stream)?,
            state: HandshakeState::Awaited,
            address: None,
        })
    };
    let all: Result<Vec<_>> = (0..plan.spec.streams).map(client).collect();
    let mut all = all?;
    let mut awaited = all.len();
    loop {
        let now = MonoClock.now();
        let is_settled = |client: &Client| client.state.is_settled(now, client.handshake.as_ref());
        if awaited == 0 && all.iter().all(is_settled) {
            break;
        }
        if wait.next().is_none() {
            let missing = |client: &Client| client.address.is_none();
            // With an answer to all there is nothing left to wait for.
            let Some(stream) = all.iter().position(missing) else {
                break;
            };
            return Err(EngineError::NoPeer {
                stream,
                what: "UDP hello",
                from,
                waited: wait.timeout,
            });
        }
        let fds: Vec<_> = sockets.iter().map(|shared| shared.socket.as_fd()).collect();
        let readable = wait_readable(&fds, POLL_INTERVAL).map_err(failed)?;
        for ((thread, shared), _) in (0..).zip(&*sockets).zip(readable).filter(|(_, is)| *is) {
            let streams = plan.spec.streams_of_thread(thread);
            let mut bytes = [0; MAX_HANDSHAKE_BYTES];
            while let Ok((length, address)) = shared.socket.recv_from(&mut bytes) {
                let stream = plan.format.stream_of(&bytes[..length]);
                let own = stream.filter(|stream| streams.contains(stream));
                if let Some(stream) = own
                    && address.ip().to_canonical() == from
                {
                    let client = &mut all[usize::from(stream)];
                    let is_new = client.hear(&shared.socket, &bytes[..length], address);
                    awaited -= usize::from(is_new);
                }
            }
        }
    }
    let mut addresses = all.into_iter().filter_map(|client| client.address);
    for (thread, shared) in (0..).zip(&mut *sockets) {
        let streams = plan.spec.streams_of_thread(thread).len();
        shared.clients = addresses.by_ref().take(streams).collect();
        shared.socket.set_nonblocking(false).map_err(failed)?;
    }
    let first = sockets.first();
    probe_path(
        plan,
        first.map(|first| (&first.socket, first.clients.first().copied())),
    );
    Ok(())
}

impl Client {
    /// Answers a datagram that is the stream's request; returns whether it is the first.
    fn hear(&mut self, socket: &UdpSocket, datagram: &[u8], address: SocketAddr) -> bool {
        match self.handshake.hear(datagram) {
            HandshakeStep::Answer(answer) => {
                // If it is lost, another request follows.
                drop(socket.send_to(&answer, address));
                let last = MonoClock.now();
                self.state = HandshakeState::Answered { last };
                self.address.replace(address).is_none()
            }
            HandshakeStep::Confirmed if self.address == Some(address) => {
                self.state = HandshakeState::Settled;
                false
            }
            HandshakeStep::Confirmed | HandshakeStep::Ignored => false,
        }
    }
}
