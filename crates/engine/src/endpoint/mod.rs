//! Opens the sockets of one direction of a test and verifies the peer.
//!
//! The client connects to one port per stream, or every stream to one. TCP: the connection starts with an opening,
//! which is not counted. UDP: hello datagrams, see [`udp`]. In both the server accepts only the address that requested
//! the test, with the token agreed over the control connection.

mod held;
mod primed;
mod tcp;
mod turns;
mod udp;

pub use held::HeldSockets;
pub use primed::Early;

use crate::check::check;
use crate::datapaths::in_kernel::PortPrograms;
use crate::datapaths::{self, PathSetup, TurnSockets, TurnsPath, TurnsSetup};
use crate::error::{EngineError, Result};
use crate::plan::{EndpointPlan, Role, opening_at_one_port};
use crate::task::StreamTask;
use crate::workloads::{self, Ends, Path, StreamSetup};
use linerate_model::spec::{Direction, TestSpec, Transport};
use linerate_model::{Clock as _, MonoInstant};
use linerate_peers::{AfterTraffic, Arrival};
use linerate_sys::clock::MonoClock;
use linerate_sys::process;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;
use turns::SharedSocket;

/// One side of one direction, with open sockets and no threads yet. Owns all handles.
pub struct Opened {
    plan: EndpointPlan,
    sockets: Sockets,
    /// Datagrams that arrived before a stream had its socket, by stream.
    early: Vec<Early>,
    /// Listeners for further connections of the test, by stream, if its workload accepts them.
    listeners: Vec<TcpListener>,
}

/// Data streams that continue in the next test; of one transport, the other list is empty.
#[derive(Default)]
pub struct KeptStreams {
    /// TCP streams, in order.
    pub tcp: Vec<TcpStream>,
    /// Connected UDP sockets, in order.
    pub udp: Vec<UdpSocket>,
}

/// The data sockets, by stream.
enum Sockets {
    Listening(Vec<TcpListener>),
    Tcp(Vec<TcpStream>),
    /// Bound, and connected once the handshake is over.
    Udp(Vec<UdpSocket>),
    /// The server's for streams that take turns, one for each thread.
    UdpShared(Vec<SharedSocket>),
}

static CLOCK: MonoClock = MonoClock;

/// How long a server waits for its client.
struct Wait<'a> {
    timeout: Duration,
    deadline: MonoInstant,
    /// Whether the client will not come any more.
    is_over: &'a dyn Fn() -> bool,
}

/// Maximum wait for the next event: bounds the delay until `is_over` is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Wait<'_> {
    /// Time to wait for the next event; `None` if the wait is over.
    fn next(&self) -> Option<Duration> {
        let left = self.deadline.saturating_since(CLOCK.now());
        (!left.is_zero() && !(self.is_over)()).then(|| left.min(POLL_INTERVAL))
    }
}

impl Opened {
    const fn new(plan: EndpointPlan, sockets: Sockets) -> Self {
        let early = Vec::new();
        Self {
            plan,
            sockets,
            early,
            listeners: Vec::new(),
        }
    }

    /// The server's end: binds one ephemeral port per stream, or per thread that carries several, on `local` (its port is ignored, its
    /// scope is not).
    pub fn listen(plan: EndpointPlan, local: SocketAddr) -> Result<Self> {
        check(&plan.spec, plan.format.as_ref())?;
        check_descriptors(&plan)?;
        let local = canonical(local, 0);
        let sockets = match plan.spec.transport() {
            Transport::Tcp => Sockets::Listening(tcp::listen(&plan, local)?),
            Transport::Udp if plan.spec.threads.is_some() => {
                Sockets::UdpShared(turns::bind(&plan, local)?)
            }
            Transport::Udp => Sockets::Udp(udp::bind(&plan, local)?),
        };
        Ok(Self::new(plan, sockets))
    }

    /// The ports bound by [`listen`](Self::listen), by stream.
    pub fn ports(&self) -> Vec<u16> {
        let port = |address: io::Result<SocketAddr>| address.map_or(0, |a| a.port());
        match &self.sockets {
            Sockets::Listening(all) => all.iter().map(|s| port(s.local_addr())).collect(),
            Sockets::Tcp(all) => all.iter().map(|s| port(s.local_addr())).collect(),
            Sockets::Udp(all) => all.iter().map(|s| port(s.local_addr())).collect(),
            Sockets::UdpShared(all) => all.iter().map(|s| port(s.socket.local_addr())).collect(),
        }
    }

    /// The client's end: connects to `ports` of `remote`, one per stream or one for all (none: the
    /// port of `remote`), and shows the token. Returns when the server has taken all UDP streams; TCP streams may still wait to
    /// be accepted.
    pub fn connect(
        plan: EndpointPlan,
        remote: SocketAddr,
        ports: &[u16],
        timeout: Duration,
    ) -> Result<Self> {
        check(&plan.spec, plan.format.as_ref())?;
        check_descriptors(&plan)?;
        let streams = usize::from(plan.spec.streams);
        let ports: &[u16] = &per_stream(&plan.spec, ports)?;
        let only = match ports {
            [] => Some(remote.port()),
            [only] => Some(*only),
            _ => None,
        };
        let same = only.map_or_else(Vec::new, |port| vec![port; streams]);
        let ports = if same.is_empty() { ports } else { &same };
        if ports.len() != streams {
            return Err(EngineError::PortCount {
                ports: ports.len(),
                streams,
            });
        }
        let remotes: Vec<_> = ports.iter().map(|port| canonical(remote, *port)).collect();
        let is_one_port = only == Some(remote.port());
        let opening = |stream| {
            let is_numbered = is_one_port && plan.format.arrival() == Arrival::Handshake;
            plan.format.tcp_opening(if is_numbered {
                opening_at_one_port(&plan.spec, plan.side.other(), stream)
            } else {
                stream
            })
        };
        let sockets = match plan.spec.transport() {
            Transport::Tcp => Sockets::Tcp(tcp::connect(&plan, &remotes, &opening, timeout)?),
            Transport::Udp if plan.spec.threads.is_some() => {
                Sockets::Udp(turns::connect(&plan, &remotes, timeout)?)
            }
            Transport::Udp => Sockets::Udp(udp::connect(&plan, &remotes, timeout)?),
        };
        Ok(Self::new(plan, sockets))
    }

    /// Server: accepts the client's data connections or hellos, only from address `from` and only with the token. Gives
    /// up when `is_over`, or when the time is up. No effect at the client.
    pub fn await_peer(
        &mut self,
        from: IpAddr,
        timeout: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> Result<()> {
        let from = from.to_canonical();
        let wait = Wait {
            timeout,
            deadline: CLOCK.now().after(timeout),
            is_over,
        };
        match &mut self.sockets {
            Sockets::Listening(listeners) => {
                let streams = tcp::accept(&self.plan, listeners, from, &wait)?;
                let listeners = std::mem::replace(&mut self.sockets, Sockets::Tcp(streams));
                if let Sockets::Listening(listeners) = listeners
                    && workloads::find(&self.plan.spec.workload)?.connects()
                {
                    self.listeners = listeners;
                }
                Ok(())
            }
            Sockets::Udp(sockets) => udp::welcome(&self.plan, sockets, from, &wait),
            Sockets::UdpShared(sockets) => turns::welcome(&self.plan, sockets, from, &wait),
            Sockets::Tcp(_) => Ok(()),
        }
    }

    /// Server with TCP streams that were accepted and identified at a shared port.
    pub fn with_tcp(plan: EndpointPlan, streams: Vec<TcpStream>) -> Result<Self> {
        check(&plan.spec, plan.format.as_ref())?;
        for stream in &streams {
            let applied = stream
                .set_nonblocking(false)
                .and_then(|()| linerate_sys::tcp::apply(stream, &plan.spec.socket))
                .and_then(|()| tcp::pass_over(stream, plan.format.as_ref()));
            applied.map_err(|error| EngineError::io("set up", &"a data connection", error))?;
        }
        let sockets = Sockets::Tcp(streams);
        Ok(Self::new(plan, sockets))
    }

    /// Server with connected UDP sockets whose clients' requests were answered. A handshake of more than that is over with
    /// [`await_peer`](Self::await_peer).
    pub fn with_udp(plan: EndpointPlan, sockets: Vec<UdpSocket>) -> Result<Self> {
        check(&plan.spec, plan.format.as_ref())?;
        for socket in &sockets {
            linerate_sys::tcp::apply_buffers(socket, &plan.spec.socket)
                .and_then(|()| linerate_sys::tcp::apply_class(socket, &plan.spec.socket))
                .map_err(|error| EngineError::io("set up", &"a data socket", error))?;
        }
        if plan.format.arrival() != Arrival::Handshake {
            udp::probe_path(&plan, sockets.first().map(|socket| (socket, None)));
        }
        let sockets = Sockets::Udp(sockets);
        Ok(Self::new(plan, sockets))
    }

    /// Adds datagrams that arrived before the sockets existed, by stream: the receiver counts them first.
    #[must_use]
    pub fn primed(self, early: Vec<Early>) -> Self {
        Self { early, ..self }
    }

    /// The opposite direction over the same sockets.
    pub fn twin(&self, plan: EndpointPlan) -> Result<Self> {
        check(&plan.spec, plan.format.as_ref())?;
        let failed = |error| EngineError::io("use for both directions", &"a data socket", error);
        let sockets = match &self.sockets {
            Sockets::Listening(all) => clones(all, TcpListener::try_clone).map(Sockets::Listening),
            Sockets::Tcp(all) => clones(all, TcpStream::try_clone).map(Sockets::Tcp),
            Sockets::Udp(all) => clones(all, UdpSocket::try_clone).map(Sockets::Udp),
            Sockets::UdpShared(all) => clones(all, SharedSocket::try_clone).map(Sockets::UdpShared),
        };
        Ok(Self::new(plan, sockets.map_err(failed)?))
    }

    /// Keeps the data sockets open after their traffic, as far as the peer's protocol needs it.
    pub fn hold(&self) -> Result<HeldSockets> {
        let failed = |error| EngineError::io("keep open", &"a data socket", error);
        let is_client = self.plan.role == Role::Client;
        let (mut open, mut datagrams) = (Ok(Vec::new()), Ok(Vec::new()));
        match (self.plan.format.after_traffic(), &self.sockets) {
            (AfterTraffic::KeepAtClient, Sockets::Tcp(all)) if is_client => {
                open = clones(all, |socket| socket.as_fd().try_clone_to_owned());
            }
            (AfterTraffic::KeepAtClient, Sockets::Udp(all)) if is_client => {
                open = clones(all, |socket| socket.as_fd().try_clone_to_owned());
            }
            (AfterTraffic::SpeakDatagrams, Sockets::Udp(all)) => {
                datagrams = clones(all, UdpSocket::try_clone);
            }
            _ => {}
        }
        let (open, datagrams) = (open.map_err(failed)?, datagrams.map_err(failed)?);
        Ok(HeldSockets::new(&self.plan.format, open, datagrams))
    }

    /// The open streams, for the next test of a session that reuses them.
    pub fn kept(&self) -> Result<KeptStreams> {
        let failed = |error| EngineError::io("keep open", &"a data socket", error);
        let mut kept = KeptStreams::default();
        match &self.sockets {
            // Tests of threads that carry several streams share none with the next.
            Sockets::Listening(_) | Sockets::UdpShared(_) => {}
            Sockets::Tcp(all) => kept.tcp = clones(all, TcpStream::try_clone).map_err(failed)?,
            Sockets::Udp(all) => kept.udp = clones(all, UdpSocket::try_clone).map_err(failed)?,
        }
        Ok(kept)
    }

    /// Connects bound datagram sockets to the peer's, one port each, with addresses from the control connection.
    pub fn join(&mut self, remote: SocketAddr, ports: &[u16]) -> Result<()> {
        let Sockets::Udp(sockets) = &self.sockets else {
            return Err(EngineError::NotConnected { stream: 0 });
        };
        if ports.len() != sockets.len() {
            return Err(EngineError::PortCount {
                ports: ports.len(),
                streams: sockets.len(),
            });
        }
        for (socket, port) in sockets.iter().zip(ports) {
            let remote = canonical(remote, *port);
            let failed = |error| EngineError::io("connect a data socket to", &remote, error);
            socket.connect(remote).map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) const fn plan(&self) -> &EndpointPlan {
        &self.plan
    }

    /// Opens the datapaths on the sockets and the workload's streams on the paths.
    pub(crate) fn into_tasks(self) -> Result<Vec<StreamTask>> {
        let plan = &self.plan;
        let workload = workloads::find(&plan.spec.workload)?;
        let mut early = self.early.into_iter();
        let ports = PortPrograms::default();
        let task = |(index, socket): (u8, OpenSocket)| {
            let early = early.next().unwrap_or_default();
            task(plan, index, socket, early, &ports)
        };
        let sockets: Vec<_> = match self.sockets {
            Sockets::Listening(_) => return Err(EngineError::NotConnected { stream: 0 }),
            Sockets::Tcp(all) if workload.connects() => {
                let mut listeners = self.listeners.into_iter();
                let ends = all.iter().map(|socket| ends(socket, listeners.next()));
                ends.collect::<Result<_, _>>()?
            }
            Sockets::Tcp(all) if plan.spec.threads.is_some() => by_thread(&plan.spec, all)
                .map(OpenSocket::Streams)
                .collect(),
            Sockets::Tcp(all) => all.into_iter().map(OpenSocket::Tcp).collect(),
            Sockets::Udp(all) => {
                // An unconnected socket would receive anybody's datagrams.
                let alone = all.iter().position(|socket| socket.peer_addr().is_err());
                if let Some(stream) = alone {
                    return Err(EngineError::NotConnected { stream });
                }
                if plan.spec.threads.is_some() {
                    let threads = by_thread(&plan.spec, all).map(TurnSockets::Own);
                    threads.map(OpenSocket::Turns).collect()
                } else {
                    all.into_iter().map(OpenSocket::Udp).collect()
                }
            }
            Sockets::UdpShared(all) => {
                if let Some(stream) = all.iter().position(|shared| shared.clients.is_empty()) {
                    return Err(EngineError::NotConnected { stream });
                }
                let shared = |s: SharedSocket| TurnSockets::Shared(s.socket, s.clients);
                all.into_iter().map(shared).map(OpenSocket::Turns).collect()
            }
        };
        (0..).zip(sockets).map(task).collect()
    }
}

enum OpenSocket {
    Connections(Ends),
    /// Those of one thread.
    Streams(Vec<TcpStream>),
    Tcp(TcpStream),
    /// Of the datagram streams of one thread.
    Turns(TurnSockets),
    Udp(UdpSocket),
}

/// Descriptors that this process needs beside those of a test's streams.
const OTHER_DESCRIPTORS: u64 = 200;

/// Refuses a test whose streams need more descriptors than this process may have, before any is opened.
fn check_descriptors(plan: &EndpointPlan) -> Result<()> {
    let spec = &plan.spec;
    let directions = u64::from(spec.direction.ways());
    // The server of datagrams has a socket for each thread.
    let sockets = match (plan.role, spec.transport(), spec.work.connections()) {
        (Role::Client, _, Some(work)) => u64::from(spec.streams) + u64::from(work.concurrent),
        (Role::Server, _, Some(work)) => {
            let most = |thread| 1 + workloads::most_accepted(plan.connections(thread), work.close);
            (0..spec.streams).map(most).sum()
        }
        (Role::Server, Transport::Udp, None) => spec.traffic_threads().into(),
        (Role::Client, _, None) | (Role::Server, Transport::Tcp, None) => spec.streams.into(),
    };
    let needed = sockets * directions + OTHER_DESCRIPTORS;
    match process::max_open_files().filter(|most| needed > *most) {
        None => Ok(()),
        Some(most) => Err(EngineError::Host {
            what: match spec.work.connections() {
                Some(work) => format!("opening {} connections at once", work.concurrent),
                None if spec.streams == 1 => "opening a stream".to_owned(),
                None => format!("opening {} streams", spec.streams),
            },
            why: format!("it takes {needed} descriptors, and this process may have {most}"),
            remedy: "raise the hard limit of open files (ulimit -Hn, LimitNOFILE= of a service)",
        }),
    }
}

/// The port of each stream, where the server opened one for each thread that carries several.
fn per_stream(spec: &TestSpec, ports: &[u16]) -> Result<Vec<u16>> {
    let threads = spec.traffic_threads();
    if spec.threads.is_none() {
        return Ok(ports.to_vec());
    }
    if ports.len() != usize::from(threads) {
        return Err(EngineError::PortCount {
            ports: ports.len(),
            streams: threads.into(),
        });
    }
    let of_thread = |(thread, port): (u16, &u16)| {
        let streams = spec.streams_of_thread(thread);
        vec![*port; streams.len()]
    };
    Ok((0..).zip(ports).flat_map(of_thread).collect())
}

/// The sockets of all streams, thread by thread.
fn by_thread<S>(spec: &TestSpec, all: Vec<S>) -> impl Iterator<Item = Vec<S>> {
    let mut all = all.into_iter();
    let counts: Vec<_> = (0..spec.traffic_threads())
        .map(|thread| spec.streams_of_thread(thread).len())
        .collect();
    counts
        .into_iter()
        .map(move |count| all.by_ref().take(count).collect())
}

/// Addresses with which a workload opens or accepts its own connections.
fn ends(socket: &TcpStream, listener: Option<TcpListener>) -> Result<OpenSocket> {
    let there = socket.peer_addr();
    let there = there.map_err(|e| EngineError::io("name the ends of", &"a data socket", e))?;
    Ok(OpenSocket::Connections(match listener {
        Some(listener) => Ends::Listening(listener, there.ip().to_canonical()),
        None => Ends::To(there),
    }))
}

/// One stream: its path, plan and work.
fn task(
    plan: &EndpointPlan,
    index: u8,
    socket: OpenSocket,
    early: Early,
    ports: &PortPrograms,
) -> Result<StreamTask> {
    let datapath = datapaths::find(&plan.spec.datapath.id)?;
    let workload = workloads::find(&plan.spec.workload)?;
    let stream = plan.stream(index);
    let setup = PathSetup {
        payload: stream.payload,
        calls: workload.calls(plan.side, &stream),
        wait: workload.waiting(plan.side, &stream),
        role: plan.role,
        nagle: workload.nagle(),
        own_receive_buffer: plan.spec.socket.receive_buffer_bytes.is_some(),
        stamps: plan.spec.work.is_decomposed(),
        params: &plan.spec.datapath.params,
        both_ways: plan.spec.direction == Direction::Duplex,
        probe: workload.probe(plan.side, &stream),
        ports,
    };
    let path = match socket {
        OpenSocket::Connections(ends) => Path::Connections(ends),
        OpenSocket::Streams(sockets) => Path::Streams(sockets),
        OpenSocket::Tcp(socket) => Path::Stream(datapath.stream(socket, &setup)?),
        OpenSocket::Turns(sockets) => {
            let setup = TurnsSetup {
                format: Arc::clone(&plan.format),
                first: plan.spec.streams_of_thread(index.into()).start,
                side: plan.side,
                payload: stream.payload,
                batch: setup.calls.most(),
                wait: setup.wait,
            };
            Path::Datagrams(Box::new(TurnsPath::new(sockets, setup)?))
        }
        OpenSocket::Udp(socket) => {
            let path = datapath.datagrams(socket, &setup)?;
            Path::Datagrams(primed::with(early, path))
        }
    };
    let (wait, progress) = (stream.wait, Arc::default());
    let setup = StreamSetup {
        path,
        plan: stream,
        progress: Arc::clone(&progress),
        clock: &CLOCK,
    };
    Ok(StreamTask {
        index,
        wait,
        work: workload.work(plan.side, setup)?,
        progress,
    })
}

/// Duplicates the handle of each socket.
fn clones<S, T>(sockets: &[S], clone: impl Fn(&S) -> io::Result<T>) -> io::Result<Vec<T>> {
    sockets.iter().map(clone).collect()
}

/// `address` with `port`; an IPv4-mapped IPv6 address becomes IPv4.
fn canonical(address: SocketAddr, port: u16) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), port),
        IpAddr::V6(_) => {
            let mut address = address;
            address.set_port(port);
            address
        }
    }
}

#[cfg(test)]
mod tests;
