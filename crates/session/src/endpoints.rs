//! This end's part of a test: its endpoints, from sockets to reports.

use crate::error::Result;
use linerate_engine::{
    Early, EndpointPlan, HeldSockets, KeptStreams, Opened, Progress, Role, Running, datapaths,
};
use linerate_model::sample::{EndpointReport, Snapshot};
use linerate_model::signals::{self, DROPS_WATCHED};
use linerate_model::spec::{Direction, Observe, Side, TestSpec, Transport};
use linerate_model::{Clock as _, PacketCount};
use linerate_observe::{DropWatch, Mark, Observer, ProfileError, Profiler, Scope};
use linerate_peers::{Grant, Sent, StreamFormat};
use linerate_sys::clock::{MonoClock, resolution};
use linerate_sys::tcp::receive;
use linerate_sys::udp::Blocking;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// Idle timeout of datagram receivers after the sender has stopped, for datagrams still under way.
///
/// Longer than the queue of a shaped link takes between two datagrams at 1 Mbit/s (12 ms), and than a path across a
/// continent; short against a trial of a second.
const DATAGRAM_IDLE_TIMEOUT: Duration = Duration::from_millis(150);

/// Idle timeout of byte-stream receivers after the sender has stopped, if the end of the stream does not arrive. Longer
/// than TCP's minimum retransmission timeout (200 ms).
const STREAM_END_TIMEOUT: Duration = Duration::from_millis(300);

/// Maximum length of a datagram kept before a stream's test, bytes.
const MAX_DATAGRAM_BYTES: usize = 2048;

/// Which sides of the traffic an end plays.
pub(crate) fn sides(role: Role, direction: Direction) -> &'static [Side] {
    match (role, direction) {
        (_, Direction::Duplex) => &[Side::Receiver, Side::Sender],
        (Role::Client, Direction::Forward) | (Role::Server, Direction::Reverse) => &[Side::Sender],
        (Role::Client, Direction::Reverse) | (Role::Server, Direction::Forward) => {
            &[Side::Receiver]
        }
    }
}

/// Lifecycle of one endpoint.
enum Stage {
    Opened(Box<Opened>),
    Running(Running),
    Done(Vec<linerate_model::sample::StreamReport>),
}

struct Endpoint {
    side: Side,
    stage: Option<Stage>,
    announced: bool,
}

/// All endpoints of this end in one test.
pub(crate) struct Endpoints {
    parts: Vec<Endpoint>,
    before: Option<Snapshot>,
    drops: Drops,
    /// Sockets that stay open until the test is over, or into the next one.
    held: Vec<HeldSockets>,
    /// Receivers' streams whose first bytes have been reported to the session.
    heard: Vec<bool>,
    format: Arc<dyn StreamFormat>,
    /// Streams for the next test, if they continue in it.
    kept: Option<KeptStreams>,
    /// Used-up grants already reported.
    spent: u64,
    observe: Observe,
    /// Of the interface of the data, where that is another than the session's.
    observer: Option<Observer>,
    profiler: Option<Result<Profiler, ProfileError>>,
}

/// The kernel's reasons for dropping this test's datagrams.
enum Drops {
    /// Not counted yet, or not at all: only packets of numbered datagrams carry the test's token.
    Unwatched(Option<Mark>),
    /// Counted since the start.
    Watched(DropWatch),
    /// Not counted, and why.
    Missing(String),
}

impl Drops {
    fn from_spec(spec: &TestSpec, format: &dyn StreamFormat) -> Self {
        if !spec.work.is_datagrams() {
            return Self::Unwatched(None);
        }
        let datapath = datapaths::find(&spec.datapath.id);
        if datapath.is_ok_and(|kind| !kind.passes_kernel_stack()) {
            return Self::Missing(format!("frames of {} pass the stack by", spec.datapath.id));
        }
        let Some(mark) = format.datagram_mark() else {
            return Self::Missing("its datagrams do not say whose they are".to_owned());
        };
        if spec.datapath.aggregates_sent() {
            return Self::Missing("with gso one drop may be of many datagrams".to_owned());
        }
        Self::Unwatched(Some(Mark {
            word: mark.word,
            byte_at: mark.byte_at,
            byte: mark.byte,
        }))
    }

    fn start(&mut self) {
        if let Self::Unwatched(Some(mark)) = self {
            *self = match DropWatch::open(*mark) {
                Ok(watch) => Self::Watched(watch),
                Err(why) => Self::Missing(why),
            };
        }
    }

    fn read(&self, into: &mut Snapshot) {
        match self {
            Self::Unwatched(_) => {}
            Self::Watched(watch) => watch.read(into),
            Self::Missing(why) => {
                into.missing.insert(DROPS_WATCHED.to_owned(), why.clone());
            }
        }
    }
}

/// What observes the interfaces of a test's data, where its datapath chooses them.
fn own_observer(spec: &TestSpec, role: Role) -> Option<Observer> {
    let mut interfaces = test_interfaces(spec, role).into_iter();
    let first = interfaces.next()?;
    Some(Observer::new(Scope {
        beside: interfaces.collect(),
        ..Scope::live(Some(first))
    }))
}

/// The interfaces of a test's data at one end, where its datapath chooses them.
pub(crate) fn test_interfaces(spec: &TestSpec, role: Role) -> Vec<String> {
    let kind = datapaths::find(&spec.datapath.id);
    kind.map_or_else(
        |_| Vec::new(),
        |kind| kind.interfaces(&spec.datapath.params, role),
    )
}

impl Endpoints {
    /// Binds ports for every side this end plays.
    pub(crate) fn listen(
        role: Role,
        spec: &TestSpec,
        format: &Arc<dyn StreamFormat>,
        local: SocketAddr,
    ) -> Result<Self> {
        Self::build(role, spec, format, |plan| Ok(Opened::listen(plan, local)?))
    }

    /// Takes open streams, in order: at the server those that arrived at the port of the control connection, at the
    /// client those of the previous test.
    pub(crate) fn adopt(
        role: Role,
        spec: &TestSpec,
        format: &Arc<dyn StreamFormat>,
        data_streams: DataStreams,
    ) -> Result<Self> {
        let (mut tcp, mut udp) = (data_streams.tcp.into_iter(), data_streams.udp.into_iter());
        let streams = usize::from(spec.streams);
        Self::build(role, spec, format, |plan| {
            Ok(match spec.transport() {
                Transport::Tcp => Opened::with_tcp(plan, tcp.by_ref().take(streams).collect())?,
                Transport::Udp => {
                    let (sockets, early) = udp.by_ref().take(streams).unzip();
                    Opened::with_udp(plan, sockets)?.primed(early)
                }
            })
        })
    }

    /// Client: connects to the server's ports.
    pub(crate) fn connect(
        spec: &TestSpec,
        format: &Arc<dyn StreamFormat>,
        remote: SocketAddr,
        ports: &[(Side, Vec<u16>)],
        timeout: Duration,
    ) -> Result<Self> {
        Self::build(Role::Client, spec, format, |plan| {
            let theirs = plan.side.other();
            let there = ports
                .iter()
                .find(|(side, _)| *side == theirs)
                .map_or(&[][..], |(_, ports)| ports);
            Ok(Opened::connect(plan, remote, there, timeout)?)
        })
    }

    fn build(
        role: Role,
        spec: &TestSpec,
        format: &Arc<dyn StreamFormat>,
        mut open: impl FnMut(EndpointPlan) -> Result<Opened>,
    ) -> Result<Self> {
        let (mut parts, mut held): (Vec<Endpoint>, _) = (Vec::new(), Vec::new());
        for &side in ordered(role, spec.direction) {
            let plan = EndpointPlan {
                side,
                role,
                spec: spec.clone(),
                format: Arc::clone(format),
            };
            let opened = match parts.first() {
                Some(Endpoint {
                    stage: Some(Stage::Opened(first)),
                    ..
                }) if format.shares_sockets() => first.twin(plan)?,
                _ => open(plan)?,
            };
            held.push(opened.hold()?);
            parts.push(Endpoint {
                side,
                stage: Some(Stage::Opened(Box::new(opened))),
                announced: false,
            });
        }
        Ok(Self {
            parts,
            before: None,
            drops: Drops::from_spec(spec, format.as_ref()),
            observe: spec.observe,
            observer: own_observer(spec, role),
            profiler: None,
            held,
            heard: vec![false; usize::from(spec.traffic_threads())],
            format: Arc::clone(format),
            kept: None,
            spent: 0,
        })
    }

    /// Connects the bound datagram sockets to the peer's ports.
    pub(crate) fn join(&mut self, remote: SocketAddr, ports: &[(Side, Vec<u16>)]) -> Result<()> {
        for part in &mut self.parts {
            let theirs = part.side.other();
            let there = ports.iter().find(|(side, _)| *side == theirs);
            if let (Some(Stage::Opened(opened)), Some((_, ports))) = (&mut part.stage, there) {
                opened.join(remote, ports)?;
            }
        }
        Ok(())
    }

    /// Grants more messages to exchange; `false` if more grants are queued than any peer needs.
    pub(crate) fn grant(&self, grant: Grant) -> bool {
        self.running().all(|running| running.grant(grant))
    }

    /// Grants used up since the last call.
    pub(crate) fn newly_spent(&mut self) -> u64 {
        let spent: u64 = self.running().map(Running::spent).sum();
        // Streams that have ended have reported all their grants.
        let fresh = spent.saturating_sub(self.spent);
        self.spent += fresh;
        fresh
    }

    fn running(&self) -> impl Iterator<Item = &Running> {
        self.parts.iter().filter_map(|part| match &part.stage {
            Some(Stage::Running(running)) => Some(running),
            _ => None,
        })
    }

    /// Streams of a finished test for the next one; empty unless they continue in it.
    pub(crate) fn take_streams(&mut self) -> DataStreams {
        let KeptStreams { tcp, udp } = self.kept.take().unwrap_or_default();
        let udp = udp
            .into_iter()
            .map(|socket| (socket, Early::default()))
            .collect();
        DataStreams { tcp, udp }
    }

    /// Ports on which this end waits, by the side that it plays there.
    pub(crate) fn ports(&self) -> Vec<(Side, Vec<u16>)> {
        let port_of = |part: &Endpoint| match &part.stage {
            Some(Stage::Opened(opened)) => Some((part.side, opened.ports())),
            _ => None,
        };
        self.parts.iter().filter_map(port_of).collect()
    }

    /// Server: waits until the client has connected every stream, or `is_over`.
    pub(crate) fn await_peer(
        &mut self,
        from: IpAddr,
        timeout: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> Result<()> {
        for part in &mut self.parts {
            if let Some(Stage::Opened(opened)) = &mut part.stage {
                opened.await_peer(from, timeout, is_over)?;
            }
        }
        Ok(())
    }

    /// Starts every endpoint of `side`; the first start of a test reads the host's counters.
    pub(crate) fn start(&mut self, side: Side, observer: &Observer) -> Result<()> {
        if self.before.is_none() {
            if self.observe != Observe::None {
                self.drops.start();
            }
            self.before = Some(self.snapshot(observer));
            // Before the traffic threads start: where the whole host may not be sampled, they and this thread are.
            self.profiler =
                (self.observe == Observe::All).then(|| Profiler::start(MonoClock.now()));
        }
        for part in self.parts.iter_mut().filter(|part| part.side == side) {
            part.stage = match part.stage.take() {
                Some(Stage::Opened(opened)) => {
                    if self.format.is_granted() {
                        self.kept = Some(opened.kept()?);
                    }
                    Some(Stage::Running(opened.start()?))
                }
                other => other,
            };
        }
        Ok(())
    }

    fn snapshot(&self, observer: &Observer) -> Snapshot {
        let now = MonoClock.now();
        if self.observe == Observe::None {
            return Snapshot {
                at_ns: now.as_nanos(),
                ..Snapshot::default()
            };
        }
        let mut snapshot = self.observer.as_ref().unwrap_or(observer).snapshot(now);
        self.drops.read(&mut snapshot);
        snapshot
    }

    /// Takes the samples of a profile, to be called many times a second while sampling, and clears the wake-ups: check
    /// for events after this.
    pub(crate) fn tend(&mut self) {
        self.running().for_each(Running::clear_wakeup);
        if let Some(Ok(profiler)) = &mut self.profiler {
            profiler.drain();
        }
    }

    /// Counts of this end so far; the receiver's view where it has one. TCP figures are a sender's: a receiver's window
    /// and round-trip time do not describe what it receives.
    pub(crate) fn progress(&self) -> Progress {
        let running = |part: &Endpoint| match &part.stage {
            Some(Stage::Running(running)) => Some((part.side, running.progress())),
            _ => None,
        };
        let mut all = self.parts.iter().filter_map(running);
        let Some((side, first)) = all.next() else {
            return Progress::default();
        };
        let sender = match side {
            Side::Sender => Some(first),
            Side::Receiver => all
                .find(|(side, _)| *side == Side::Sender)
                .map(|(_, of)| of),
        };
        Progress {
            tcp: sender.and_then(|sender| sender.tcp),
            ..first
        }
    }

    /// What each stream of newly stopped senders sent. Once per test.
    pub(crate) fn newly_sent(&mut self) -> Option<Vec<PacketCount>> {
        let part = self
            .parts
            .iter_mut()
            .find(|part| part.side == Side::Sender && !part.announced)?;
        match part.stage.take() {
            Some(Stage::Running(running)) if running.is_finished() => {
                let reports = running.join();
                let sent = reports.iter().map(|report| report.packets).collect();
                part.stage = Some(Stage::Done(reports));
                part.announced = true;
                Some(sent)
            }
            other => {
                part.stage = other;
                None
            }
        }
    }

    /// A stream whose first bytes, datagram or answer has arrived. Once per stream.
    pub(crate) fn newly_heard(&mut self) -> Option<u16> {
        let heard = |running: &Running| (0_u16..).zip(running.heard()).collect::<Vec<_>>();
        let (fresh, _) = self.running().flat_map(heard).find(|(stream, is_heard)| {
            *is_heard && self.heard.get(usize::from(*stream)) == Some(&false)
        })?;
        self.heard[usize::from(fresh)] = true;
        Some(fresh)
    }

    /// Descriptors that become readable when streams end or use up their grants.
    pub(crate) fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        self.running().filter_map(Running::wakeup_fd).collect()
    }

    /// Whether samples must be taken frequently.
    pub(crate) const fn is_sampling(&self) -> bool {
        matches!(self.profiler, Some(Ok(_)))
    }

    /// Sockets of a test whose traffic has ended at this end: what arrives on them now is not traffic.
    pub(crate) fn quiet_sockets(&self) -> Vec<BorrowedFd<'_>> {
        let done = |part: &Endpoint| matches!(part.stage, Some(Stage::Done(_)));
        if !self.parts.iter().all(done) {
            return Vec::new();
        }
        self.held
            .first()
            .map_or_else(Vec::new, HeldSockets::datagram_sockets)
    }

    /// A datagram that arrived on one of them.
    pub(crate) fn datagram(&self) -> Option<(u16, Vec<u8>)> {
        if self.quiet_sockets().is_empty() {
            return None;
        }
        self.held.first()?.receive()
    }

    /// Sends a datagram on a stream. An error counts as a loss.
    pub(crate) fn send_datagram(&self, stream: u16, bytes: Vec<u8>) {
        if let Some(held) = self.held.first() {
            held.send(stream, bytes);
        }
    }

    /// Stops the senders early; what they sent so far counts.
    pub(crate) fn stop_senders(&self) {
        for part in self.parts.iter().filter(|part| part.side == Side::Sender) {
            if let Some(Stage::Running(running)) = &part.stage {
                running.stop();
            }
        }
    }

    /// Tells the receivers how much was sent: they drain what is still under way, then end.
    pub(crate) fn drain(&mut self, sent: &Sent) {
        let quiet = match sent {
            Sent::Packets(_) => DATAGRAM_IDLE_TIMEOUT,
            Sent::Bytes(_) | Sent::Untold => STREAM_END_TIMEOUT,
        };
        for part in self
            .parts
            .iter_mut()
            .filter(|part| part.side == Side::Receiver)
        {
            if let Some(Stage::Running(running)) = &part.stage {
                running.finish(sent.clone(), quiet);
            }
            part.announced = true;
        }
    }

    /// Reports of all endpoints, once all of them have ended.
    pub(crate) fn reports(&mut self, observer: &Observer) -> Option<Vec<EndpointReport>> {
        let ends_itself = self.format.tells_its_end();
        for part in self
            .parts
            .iter_mut()
            .filter(|part| part.side == Side::Receiver && (part.announced || ends_itself))
        {
            part.stage = match part.stage.take() {
                Some(Stage::Running(running)) if running.is_finished() => {
                    Some(Stage::Done(running.join()))
                }
                other => other,
            };
        }
        let all_done = self
            .parts
            .iter()
            .all(|part| matches!(part.stage, Some(Stage::Done(_))));
        if !all_done {
            return None;
        }
        let mut after = self.snapshot(observer);
        let before = self.before.clone().unwrap_or_default();
        let profile = match self.profiler.take() {
            None => None,
            Some(Ok(profiler)) => Some(profiler.finish(MonoClock.now())),
            Some(Err(error)) => {
                let why = error.to_string();
                after.missing.insert(signals::PROFILE.to_owned(), why);
                None
            }
        };
        let resolution = u64::try_from(resolution().as_nanos()).unwrap_or(u64::MAX);
        let clock = observer.clock_identity(resolution);
        let report = |part: Endpoint| match part.stage {
            Some(Stage::Done(streams)) => Some(EndpointReport {
                side: part.side,
                streams,
                before: before.clone(),
                after: after.clone(),
                profile: profile.clone(),
                clock: clock.clone(),
            }),
            _ => None,
        };
        Some(self.parts.drain(..).filter_map(report).collect())
    }

    /// Ends all endpoints as they are, whatever is still under way; their reports.
    pub(crate) fn halt(&mut self, observer: &Observer) -> Vec<EndpointReport> {
        for part in &mut self.parts {
            part.announced = true;
            part.stage = match part.stage.take() {
                Some(Stage::Running(running)) => {
                    running.stop();
                    Some(Stage::Done(running.join()))
                }
                other => other,
            };
        }
        self.reports(observer).unwrap_or_default()
    }

    /// Stops everything.
    pub(crate) fn stop(&mut self) {
        for part in &mut self.parts {
            if let Some(Stage::Running(running)) = part.stage.take() {
                running.stop();
                running.join();
            }
        }
    }
}

/// Open data streams, in order; of the transport under test, the other list is empty.
#[derive(Default)]
pub struct DataStreams {
    /// Streams of a TCP test.
    pub tcp: Vec<TcpStream>,
    /// Streams of a UDP test, with the datagrams that arrived before the stream had a socket of its own.
    pub udp: Vec<(UdpSocket, Early)>,
}

impl DataStreams {
    /// The next datagram after the first of its stream, which stays queued; with the stream's index.
    pub(crate) fn next_datagram(&mut self) -> Option<(u16, Vec<u8>)> {
        let mut room = [0; MAX_DATAGRAM_BYTES];
        (0..)
            .zip(&mut self.udp)
            .find_map(|(index, (socket, early))| {
                if early.datagrams.len() > 1 {
                    return Some((index, early.datagrams.remove(1)));
                }
                let length = receive(socket, &mut room, Blocking::No).ok()?;
                Some((index, room[..length].to_vec()))
            })
    }

    /// Sockets of its datagrams, to wait on.
    pub(crate) fn datagram_sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.udp.iter().map(|(socket, _)| socket.as_fd())
    }

    /// Their transport.
    pub const fn transport(&self) -> Transport {
        if self.tcp.is_empty() {
            Transport::Udp
        } else {
            Transport::Tcp
        }
    }
}

/// Order in which both ends open their sides, so that neither waits for the other's second one.
fn ordered(role: Role, direction: Direction) -> &'static [Side] {
    match (role, direction) {
        (Role::Client, Direction::Duplex) => &[Side::Sender, Side::Receiver],
        _ => sides(role, direction),
    }
}
