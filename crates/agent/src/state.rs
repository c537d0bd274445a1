//! Admission of clients, and the session with each.

use crate::AgentPlan;
use crate::access::{is_in, unproved_sending};
use crate::connections::Connections;
use crate::data_streams::{Addresses, events};
use crate::notices::Notices;
use crate::pending::Pending;
use crate::per_address::{Counted as Place, PerAddress};
use crate::port::{By, Port, Shared};
use anyhow::{Context as _, Result, bail};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::agent::{AdmissionLimit, AgentEvent};
use linerate_model::facts::Facts;
use linerate_model::spec::{MAX_STREAMS, TestSpec};
use linerate_model::{ByteCount, Clock as _};
use linerate_observe::{Observer, Scope};
use linerate_peers::{Limits, PeerEvent, PeerKind, RefusalCode, ServerConfig};
use linerate_session::key::credential;
use linerate_session::login::{Gate, moment};
use linerate_session::{
    Admission, DataStreams, DemuxHandle, Driver, Flow, Line, SessionEvent, peek,
};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::random::random_bytes;
use linerate_sys::tcp::wait_readable;
use linerate_sys::wake::Waker;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// Polling interval of the listener's stop flag. It is woken by events, by signals, and by
/// [`Agent::stop`](crate::Agent::stop).
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Idle timeout of a datagram stream whose test was ended, and polling interval of the server's stop flag meanwhile.
const QUIET: Duration = Duration::from_secs(2);
const QUIET_READS: u32 = 10;

/// How long a client keeps its slot without a test.
const IDLE_LIMIT: Duration = Duration::from_mins(10);

/// How long sessions may take to end politely before their connections are closed: 1.5 times the delay after which a
/// session notices the end.
const GOODBYE_TIMEOUT: Duration = Duration::from_millis(750);

/// Maximum connections accepted from a port in a row, so that a flood does not starve other ports.
const MAX_ACCEPTED: usize = 64;

/// Wait after an accept failed.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Counts and limits of all clients of one agent.
struct AgentState<'a> {
    plan: &'a AgentPlan,
    stop: &'a AtomicBool,
    clients: PerAddress,
    pending: Pending,
    data_streams: Addresses,
    connections: Connections,
    sessions: AtomicU64,
    /// Number of clients that have left.
    left: AtomicU64,
    events: mpsc::Sender<AgentEvent>,
    notices: Mutex<Notices>,
    /// Wakes the listener.
    wakeup_fd: &'a Waker,
}

pub(crate) fn accept_loop(
    ports: &[Port],
    plan: &AgentPlan,
    stop: &AtomicBool,
    wakeup_fd: &Waker,
    tell: &mut dyn FnMut(&AgentEvent),
) -> Result<()> {
    let (events, inbox) = mpsc::channel();
    let state = AgentState::new(plan, stop, events, wakeup_fd);
    let mut fds: Vec<_> = ports.iter().flat_map(Port::fds).collect();
    fds.push(state.wakeup_fd.as_fd());
    thread::scope(|scope| {
        let mut connections = 0;
        loop {
            state.wakeup_fd.clear();
            for event in inbox.try_iter().chain(state.summary()) {
                tell(&event);
            }
            let one_left = plan.once && state.left.load(Ordering::Relaxed) > 0;
            if stop.load(Ordering::Relaxed) {
                state.connections.end(GOODBYE_TIMEOUT);
                return Ok(());
            }
            if one_left {
                return Ok(());
            }
            wait_readable(&fds, POLL_INTERVAL).context("waiting for clients")?;
            for port in ports {
                state.take_all(scope, port, &mut connections);
            }
        }
    })
}

/// Serves one client of linerate's own protocol over `line`, to its end.
pub(crate) fn serve_one(line: Line, plan: &AgentPlan, stop: &AtomicBool) -> Result<()> {
    let wakeup_fd = crate::wakeup_fd()?;
    let (events, _) = mpsc::channel();
    let state = AgentState::new(plan, stop, events, &wakeup_fd);
    state.converse(line, None, linerate_peers::own(), None)
}

/// The next connection at a port, if one is queued.
fn next(port: &Port) -> Option<(TcpStream, SocketAddr)> {
    match port.listener.accept() {
        Ok(accepted) => Some(accepted),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        // The client is already gone, or the process is out of descriptors.
        Err(_) => {
            sleep_until(MonoClock.now().after(ACCEPT_RETRY_INTERVAL));
            None
        }
    }
}

/// Event for a session that ended with an error.
fn failed(client: SocketAddr, error: &anyhow::Error) -> AgentEvent {
    AgentEvent::Failed {
        client,
        error: format!("{error:#}"),
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
fn canonical(from: SocketAddr) -> SocketAddr {
    SocketAddr::new(from.ip().to_canonical(), from.port())
}

/// Starts a thread in `scope`; an error if the host allows no more.
fn start_thread<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    thread: thread::Builder,
    work: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    thread.spawn_scoped(scope, work).map(drop)
}

impl<'a> AgentState<'a> {
    /// State of an agent without clients.
    fn new(
        plan: &'a AgentPlan,
        stop: &'a AtomicBool,
        events: mpsc::Sender<AgentEvent>,
        wakeup_fd: &'a Waker,
    ) -> Self {
        Self {
            plan,
            stop,
            clients: PerAddress::default(),
            pending: Pending::default(),
            data_streams: Addresses::default(),
            connections: Connections::default(),
            sessions: AtomicU64::new(0),
            left: AtomicU64::new(0),
            events,
            notices: Mutex::default(),
            wakeup_fd,
        }
    }
}

impl AgentState<'_> {
    /// Accepts what has arrived at a port; connections are numbered in order.
    fn take_all<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        port: &'scope Port,
        connections: &mut u64,
    ) {
        match &port.shared {
            None => {}
            Some(Shared {
                udp,
                by: By::Cookie(demux),
            }) => demux.meet(udp),
            Some(Shared {
                udp,
                by: By::Itself { flows, .. },
            }) => {
                for flow in flows.meet(udp, |from| self.admit_flow(from)) {
                    self.start(scope, flow.from, move || self.take_flow(flow, port));
                }
            }
        }
        for (stream, from) in std::iter::from_fn(|| next(port)).take(MAX_ACCEPTED) {
            let number = *connections;
            *connections += 1;
            if let Some(place) = self.pend(canonical(from).ip()) {
                self.start(scope, from, move || self.take(stream, place, number, port));
            }
        }
    }

    /// A pending slot for this address, if there is one.
    fn pend(&self, from: IpAddr) -> Option<Place<'_>> {
        let place = self.pending.enter(from);
        place.map_err(|lacks| self.refuse(from, None, lacks)).ok()
    }

    fn refuse(&self, address: IpAddr, port: Option<u16>, lacks: AdmissionLimit) {
        self.note(AgentEvent::Refused {
            address,
            port,
            lacks,
        });
    }

    /// A pending slot for a datagram stream from this address; a refused one is not answered.
    fn admit_flow(&self, from: IpAddr) -> Option<Place<'_>> {
        let is_admitted = self.plan.access.admits(from);
        is_admitted.then(|| self.pend(from)).flatten()
    }

    /// Runs `work` for a connection from `from` on its own thread. If the host has no thread left, only that client's
    /// socket is closed.
    fn start<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        from: SocketAddr,
        work: impl FnOnce() + Send + 'scope,
    ) {
        if let Err(error) = start_thread(scope, thread::Builder::new(), work) {
            let error = error.to_string();
            let address = from.ip().to_canonical();
            self.refuse(address, Some(from.port()), AdmissionLimit::Thread { error });
        }
    }

    fn notices(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Event with the number of suppressed events, if due.
    fn summary(&self) -> Option<AgentEvent> {
        self.notices().summary(MonoClock.now())
    }

    /// Reports an event about a client, rate-limited against floods.
    fn note(&self, event: AgentEvent) {
        if self.notices().admit(MonoClock.now()) {
            self.tell(event);
        }
    }

    /// Serves one connection to its end, and reports how the client left.
    fn take(&self, stream: TcpStream, place: Place<'_>, number: u64, port: &Port) {
        let Ok(from) = stream.peer_addr() else { return };
        let from = canonical(from);
        let Ok(_known) = self.connections.enter(&stream) else {
            return self.refuse(from.ip(), Some(from.port()), AdmissionLimit::OpenFile);
        };
        let served = match &port.shared {
            None => self.serve(stream, place, None, port),
            Some(Shared {
                by: By::Itself { opening_len, .. },
                ..
            }) => self.take_stream(stream, place, port, *opening_len),
            Some(Shared {
                by: By::Cookie(demux),
                ..
            }) => {
                let shown = demux
                    .read_cookie(&stream)
                    .and_then(|cookie| demux.show(cookie, stream, number));
                match shown {
                    Ok(Admission::Settled) => return,
                    Ok(Admission::New(handle, stream)) => {
                        self.serve(stream, place, Some(handle), port)
                    }
                    Err(error) => Err(error),
                }
            }
        };
        self.log_disconnect(from, served);
    }

    /// Reports how a client left.
    fn log_disconnect(&self, client: SocketAddr, served: Result<()>) {
        self.left.fetch_add(1, Ordering::Relaxed);
        self.note(match served {
            Ok(()) => AgentEvent::Left { client },
            Err(error) => failed(client, &error),
        });
        // Also without a message: `--once` waits for it.
        drop(self.wakeup_fd.wake());
    }

    /// Reports an event; at the agent's end there is no receiver any more.
    fn tell(&self, event: AgentEvent) {
        drop(self.events.send(event));
        drop(self.wakeup_fd.wake());
    }

    /// Serves a TCP stream that is a test.
    fn take_stream(
        &self,
        stream: TcpStream,
        place: Place<'_>,
        port: &Port,
        opening_len: fn(&[u8]) -> usize,
    ) -> Result<()> {
        stream.set_nonblocking(false)?;
        let bytes = peek(&stream, opening_len)?;
        let line = Line::absent(stream.local_addr()?, stream.peer_addr()?);
        let data_streams = DataStreams {
            tcp: vec![stream],
            udp: Vec::new(),
        };
        self.host(line, data_streams, (&bytes, place), port)
    }

    /// Serves a datagram stream that is a test.
    fn take_flow(&self, flow: Flow<Place<'_>>, port: &Port) {
        // Kept until the end: while its address is registered, nothing from there is a new stream.
        let _known = flow.place;
        let served = flow
            .socket
            .local_addr()
            .map_err(Into::into)
            .and_then(|local| {
                let line = Line::absent(local, flow.from);
                let first = flow.early.datagrams.first().cloned().unwrap_or_default();
                let data_streams = DataStreams {
                    tcp: Vec::new(),
                    udp: vec![(flow.socket, flow.early)],
                };
                self.host(line, data_streams, (&first, flow.leave), port)
            });
        self.log_disconnect(flow.from, served);
    }

    /// Serves a stream that is a test, and begins with `bytes`.
    fn host(
        &self,
        line: Line,
        data_streams: DataStreams,
        (bytes, place): (&[u8], Place<'_>),
        port: &Port,
    ) -> Result<()> {
        let from = line.remote();
        let from = canonical(from);
        let (_counted, before) = self.data_streams.one_more(from.ip());
        let busy = || (before >= u32::from(self.plan.max_clients)).then(|| self.busy());
        let turn_away = self.denied(from.ip(), port).or_else(busy);
        let mut driver = self.driver(line, &*port.kind, turn_away)?;
        let datagrams = data_streams.udp.first();
        let datagrams = datagrams.and_then(|(socket, _)| socket.try_clone().ok());
        let mut is_cut = false;
        driver.host(data_streams, bytes)?;
        let opening = Opening {
            bytes: ByteCount::new(bytes.len() as u64),
            place,
        };
        thread::scope(|scope| {
            let result = answer(&mut driver, self.stop, Some(opening), &mut |event| {
                is_cut |= matches!(event, SessionEvent::TestEnded { code, .. } if *code == RefusalCode::Limit);
                for event in events(from, &*port.kind, event) {
                    self.tell(event);
                }
                if let SessionEvent::Peer(PeerEvent::CallBack { port: there, spec }) = event {
                    let to = SocketAddr::new(from.ip(), *there);
                    let spec = spec.clone();
                    let work = move || self.call_back(to, &spec, &*port.kind);
                    if let Err(error) = start_thread(scope, thread::Builder::new(), work) {
                        let error = error.to_string();
                        self.tell(AgentEvent::NotCalledBack { client: to, error });
                    }
                }
            });
            driver.end_session();
            if let Some(socket) = datagrams.filter(|_| is_cut) {
                self.outlast(&socket);
            }
            result
        })
    }

    /// Waits for the end of a datagram stream whose test was ended by a limit: the rest of it must not be taken for
    /// another test.
    fn outlast(&self, socket: &UdpSocket) {
        if socket.set_read_timeout(Some(QUIET / QUIET_READS)).is_err() {
            return;
        }
        let mut silent = 0;
        while silent < QUIET_READS && !self.stop.load(Ordering::Relaxed) {
            silent = match socket.recv(&mut [0; 1]) {
                Ok(_) => 0,
                Err(_) => silent + 1,
            };
        }
    }

    /// Runs a test towards a client that requested it.
    fn call_back(&self, to: SocketAddr, spec: &TestSpec, kind: &dyn PeerKind) {
        let made = PeerAddress::parse(&format!("{}://{to}", kind.id()))
            .map_err(anyhow::Error::from)
            .and_then(|peer| Client::connect(&Target::new(peer)))
            .and_then(|mut client| client.run(spec, &mut |_| !self.stop.load(Ordering::Relaxed)));
        match made {
            Ok(outcome) => {
                let reports = outcome
                    .directions
                    .into_iter()
                    .filter_map(|done| done.sender);
                for event in events(to, kind, &SessionEvent::OwnReports(reports.collect())) {
                    self.tell(event);
                }
            }
            Err(error) => self.tell(failed(to, &error)),
        }
    }

    /// Serves one client to its end.
    fn serve(
        &self,
        stream: TcpStream,
        place: Place<'_>,
        handle: Option<DemuxHandle>,
        port: &Port,
    ) -> Result<()> {
        let from = stream.peer_addr()?.ip();
        let (turn_away, _counted) = match self.admit(from, port) {
            Ok(counted) => (None, Some(counted)),
            Err(why) => (Some(why), None),
        };
        let _waiting = turn_away.is_some().then_some(place);
        stream.set_nonblocking(false)?;
        let line = Line::over(stream, self.plan.timeout)?;
        self.converse(line, handle, &*port.kind, turn_away)
    }

    /// Takes a client slot until dropped; or returns why there is none.
    fn admit(&self, from: IpAddr, port: &Port) -> Result<Place<'_>, (RefusalCode, String)> {
        if let Some(why) = self.denied(from, port) {
            return Err(why);
        }
        let (place, counts) = self.clients.one_more(from.to_canonical());
        let most = u32::from(self.plan.max_clients);
        // Some slots are reserved for other addresses, so that one cannot take them all.
        let share = most - most / 4;
        if counts.total > most {
            return Err(self.busy());
        }
        if counts.of_address > share {
            let message = format!(
                "this address has {share} of this server's {most} places already; try again later, or start it with a higher --max-clients"
            );
            return Err((RefusalCode::Busy, message));
        }
        Ok(place)
    }

    /// Refusal of a client when all slots are taken.
    fn busy(&self) -> (RefusalCode, String) {
        let most = self.plan.max_clients;
        let message = format!(
            "this server has {most} clients already; try again later, or start it with a higher --max-clients"
        );
        (RefusalCode::Busy, message)
    }

    /// Why a client of this address is always refused, if so.
    fn denied(&self, from: IpAddr, port: &Port) -> Option<(RefusalCode, String)> {
        let access = &self.plan.access;
        let is_let_in = if self.asks_for_key(&*port.kind) {
            access.may_show_key(from)
        } else {
            access.admits(from)
        };
        (!is_let_in).then(|| (RefusalCode::Denied, access.denial(from)))
    }

    /// Whether clients of this protocol must authenticate with the key first.
    fn asks_for_key(&self, kind: &dyn PeerKind) -> bool {
        self.plan.key.is_some() && kind.about().has_keys()
    }

    /// Users that are accepted, for a session that begins now.
    fn gate(&self) -> Option<Gate> {
        let logins = self.plan.logins.clone()?;
        let moment = moment();
        Some(Gate { logins, moment })
    }

    fn converse(
        &self,
        line: Line,
        handle: Option<DemuxHandle>,
        kind: &dyn PeerKind,
        turn_away: Option<(RefusalCode, String)>,
    ) -> Result<()> {
        let mut driver = self.driver(line, kind, turn_away)?;
        if let Some(handle) = handle {
            driver.admit(handle)?;
        }
        let result = answer(&mut driver, self.stop, None, &mut |_| {});
        driver.end_session();
        result
    }

    /// Server side of a session over `line`.
    fn driver(
        &self,
        line: Line,
        kind: &dyn PeerKind,
        turn_away: Option<(RefusalCode, String)>,
    ) -> Result<Driver> {
        let (local, remote) = (line.local().ip(), line.remote().ip());
        // A refused client does not cause a reading of the host's facts.
        let is_served = turn_away.is_none();
        let found = || linerate_observe::interface_for(&Scope::live(None), remote, local);
        let interface = self.plan.interface.clone();
        let interface = interface.or_else(|| is_served.then(found).flatten());
        let observer = Observer::new(Scope::live(interface));
        let facts = if is_served {
            facts(kind, || observer.facts())
        } else {
            Facts::default()
        };
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let config = ServerConfig {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            timeout: self.plan.timeout,
            session: format!("{number:08}"),
            facts,
            limits: Limits {
                max_duration: self.plan.max_duration,
                max_streams: MAX_STREAMS,
                max_rate: self.plan.max_rate,
                imitation: self.plan.allow_imitation,
                intrusion: self.asks_for_key(kind) || is_in(remote, &self.plan.allow_intrusive),
            },
            unproved: unproved_sending(remote, &self.plan.allow_unproved),
            random: random_bytes()?,
            local,
            turn_away,
            credential: credential(self.plan.key.as_ref())?,
            logins: self.gate(),
        };
        let session = kind.server(config, MonoClock.now());
        Ok(Driver::server(line, session, observer, self.plan.timeout))
    }
}

/// Facts that a server of this kind reports; not read if it cannot.
fn facts(kind: &dyn PeerKind, read: impl FnOnce() -> Facts) -> Facts {
    if kind.about().tells_facts {
        read()
    } else {
        Facts::default()
    }
}

/// First bytes of a stream that is a test. Their source address may be forged: the stream stays pending until more has
/// arrived or been sent.
struct Opening<'a> {
    bytes: ByteCount,
    place: Place<'a>,
}

/// Serves until the client leaves, was idle for long, or the agent is stopped.
fn answer(
    driver: &mut Driver,
    stop: &AtomicBool,
    mut opening: Option<Opening<'_>>,
    tell: &mut dyn FnMut(&SessionEvent),
) -> Result<()> {
    let mut busy = MonoClock.now();
    while !stop.load(Ordering::Relaxed) {
        let now = MonoClock.now();
        if driver.has_test() {
            busy = now;
        } else if now.saturating_since(busy) >= IDLE_LIMIT {
            bail!("it made no test for {IDLE_LIMIT:?}: its place is free for others");
        }
        if let Some(Opening { place, .. }) =
            opening.take_if(|opening| driver.progress().bytes > opening.bytes)
        {
            drop(place);
        }
        match driver.turn().context("the session ended")? {
            Some(SessionEvent::Closed) => break,
            Some(event) => tell(&event),
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its client sends without waiting, so what is read before its traffic is missed.
    #[test]
    fn the_host_is_not_looked_at_for_a_client_that_is_told_nothing_of_it() {
        for kind in linerate_peers::ALL {
            let mut reads = 0;
            facts(*kind, || {
                reads += 1;
                Facts::default()
            });
            assert_eq!(reads, u32::from(kind.about().tells_facts), "{}", kind.id());
        }
    }

    #[test]
    fn a_thread_that_the_host_refuses_is_an_error_and_others_go_on() {
        // More than any address space has.
        let refused = thread::Builder::new().stack_size(1 << 60);
        let (done, outcome) = mpsc::channel();
        thread::scope(|scope| {
            start_thread(scope, refused, || {}).expect_err("no such stack");
            start_thread(scope, thread::Builder::new(), move || {
                done.send(()).unwrap();
            })
            .unwrap();
        });
        outcome.recv().unwrap();
    }
}
