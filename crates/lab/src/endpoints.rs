//! This end's part of one test: its endpoints, from sockets to reports.

use anyhow::Result;
use linerate_engine::wire::COUNTED_MARK;
use linerate_engine::{EndpointPlan, Held, Opened, Progress, Role, Running};
use linerate_model::sample::{EndpointReport, Snapshot};
use linerate_model::signals::{self, DROPS_WATCHED};
use linerate_model::spec::{Direction, Observe, Side, TestSpec, Transport};
use linerate_model::{Clock as _, PacketCount};
use linerate_observe::{DropWatch, Mark, Observer, ProfileError, Profiler};
use linerate_peers::Framing;
use linerate_sys::clock::MonoClock;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// Datagrams still under way when the sender has stopped: the receiver ends this long after the last one.
///
/// Longer than the queue of a shaped link drains between two datagrams at 1 Mbit/s (12 ms), and than a
/// path across a continent takes; short against a trial of a second.
const QUIET: Duration = Duration::from_millis(150);

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

/// One endpoint through its life.
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
    /// Whether receivers see in their streams that all was sent.
    ends_itself: bool,
    /// Sockets that stay open until the test is over.
    held: Vec<Held>,
    observe: Observe,
    profiler: Option<Result<Profiler, ProfileError>>,
}

/// The kernel's reasons for dropping this test's datagrams.
enum Drops {
    /// Not yet, or none: only packets of numbered datagrams carry the test's token.
    Unwatched(Option<Mark>),
    /// Counted since the start.
    Watched(DropWatch),
    /// Not counted, and why.
    Missing(String),
}

impl Drops {
    fn of(spec: &TestSpec, framing: Framing) -> Self {
        if spec.transport != Transport::Udp || spec.workload != "datagrams" {
            return Self::Unwatched(None);
        }
        let Framing::Native { token } = framing else {
            return Self::Missing("its datagrams do not say whose they are".to_owned());
        };
        if spec.datapath.params.contains_key("gso") {
            return Self::Missing("with gso one drop may be of many datagrams".to_owned());
        }
        let (byte_at, byte) = COUNTED_MARK;
        Self::Unwatched(Some(Mark {
            word: token.to_be_bytes(),
            byte_at,
            byte,
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

impl Endpoints {
    /// At the server: binds ports for every side it plays.
    pub(crate) fn listen(spec: &TestSpec, framing: Framing, local: SocketAddr) -> Result<Self> {
        Self::build(Role::Server, spec, framing, |plan| {
            Ok(Opened::listen(plan, local)?)
        })
    }

    /// At the server: takes streams that have come to the port of the control connection, in the order in
    /// which they came.
    pub(crate) fn adopt(spec: &TestSpec, framing: Framing, guests: Guests) -> Result<Self> {
        let streams = usize::from(spec.streams);
        let (mut tcp, mut udp) = (guests.tcp.into_iter(), guests.udp.into_iter());
        Self::build(Role::Server, spec, framing, |plan| {
            Ok(match spec.transport {
                Transport::Tcp => Opened::with_tcp(plan, tcp.by_ref().take(streams).collect())?,
                Transport::Udp => Opened::with_udp(plan, udp.by_ref().take(streams).collect())?,
            })
        })
    }

    /// At the client: connects to the ports that the server waits on.
    pub(crate) fn connect(
        spec: &TestSpec,
        framing: Framing,
        remote: SocketAddr,
        ports: &[(Side, Vec<u16>)],
        timeout: Duration,
    ) -> Result<Self> {
        Self::build(Role::Client, spec, framing, |plan| {
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
        framing: Framing,
        mut open: impl FnMut(EndpointPlan) -> Result<Opened>,
    ) -> Result<Self> {
        let mut parts = Vec::new();
        for &side in ordered(role, spec.direction) {
            let plan = EndpointPlan {
                side,
                role,
                spec: spec.clone(),
                framing,
            };
            parts.push(Endpoint {
                side,
                stage: Some(Stage::Opened(Box::new(open(plan)?))),
                announced: false,
            });
        }
        Ok(Self {
            parts,
            before: None,
            drops: Drops::of(spec, framing),
            ends_itself: framing.ends_itself(),
            observe: spec.observe,
            profiler: None,
            held: Vec::new(),
        })
    }

    /// The ports this end waits on, by the side it plays there.
    pub(crate) fn ports(&self) -> Vec<(Side, Vec<u16>)> {
        let port_of = |part: &Endpoint| match &part.stage {
            Some(Stage::Opened(opened)) => Some((part.side, opened.ports())),
            _ => None,
        };
        self.parts.iter().filter_map(port_of).collect()
    }

    /// At the server: waits until the client has connected every stream.
    pub(crate) fn await_peer(&mut self, from: IpAddr, timeout: Duration) -> Result<()> {
        for part in &mut self.parts {
            if let Some(Stage::Opened(opened)) = &mut part.stage {
                opened.await_peer(from, timeout)?;
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
            // Before the traffic threads start: where the whole host may not be sampled, it is they
            // and this thread that are.
            self.profiler =
                (self.observe == Observe::All).then(|| Profiler::start(MonoClock.now()));
        }
        for part in self.parts.iter_mut().filter(|part| part.side == side) {
            part.stage = match part.stage.take() {
                Some(Stage::Opened(opened)) => {
                    self.held.push(opened.hold()?);
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
        let mut snapshot = observer.snapshot(now);
        self.drops.read(&mut snapshot);
        snapshot
    }

    /// Takes what was sampled. To be called many times a second.
    pub(crate) fn tend(&mut self) {
        if let Some(Ok(profiler)) = &mut self.profiler {
            profiler.drain();
        }
    }

    /// What this end has counted so far; the receiver's view where it has one.
    pub(crate) fn progress(&self) -> Progress {
        let running = |part: &Endpoint| match &part.stage {
            Some(Stage::Running(running)) => Some(running.progress()),
            _ => None,
        };
        self.parts.iter().find_map(running).unwrap_or_default()
    }

    /// Senders that have just come to their stop: what each of their streams sent. Once per test.
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

    /// Ends the senders before their time; what they sent so far is what they sent.
    pub(crate) fn stop_senders(&self) {
        for part in self.parts.iter().filter(|part| part.side == Side::Sender) {
            if let Some(Stage::Running(running)) = &part.stage {
                running.stop();
            }
        }
    }

    /// Tells the receivers how much was sent: they take what is still under way, then end.
    pub(crate) fn drain(&mut self, sent: &[PacketCount]) {
        for part in self
            .parts
            .iter_mut()
            .filter(|part| part.side == Side::Receiver)
        {
            if let Some(Stage::Running(running)) = &part.stage {
                running.finish(sent, QUIET);
            }
            part.announced = true;
        }
    }

    /// The reports of all endpoints, once every one of them is done.
    pub(crate) fn reports(&mut self, observer: &Observer) -> Option<Vec<EndpointReport>> {
        let ends_itself = self.ends_itself;
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
        let report = |part: Endpoint| match part.stage {
            Some(Stage::Done(streams)) => Some(EndpointReport {
                side: part.side,
                streams,
                before: before.clone(),
                after: after.clone(),
                profile: profile.clone(),
            }),
            _ => None,
        };
        Some(self.parts.drain(..).filter_map(report).collect())
    }

    /// Ends everything early.
    pub(crate) fn stop(&mut self) {
        for part in &mut self.parts {
            if let Some(Stage::Running(running)) = part.stage.take() {
                running.stop();
                running.join();
            }
        }
    }
}

/// Data streams that came to a port of many tests, in order; of the transport under test, the other list is empty.
pub(crate) struct Guests {
    pub(crate) tcp: Vec<TcpStream>,
    pub(crate) udp: Vec<UdpSocket>,
}

/// The order both ends open their sides in, so that neither waits for the other's second one.
fn ordered(role: Role, direction: Direction) -> &'static [Side] {
    match (role, direction) {
        (Role::Client, Direction::Duplex) => &[Side::Sender, Side::Receiver],
        _ => sides(role, direction),
    }
}
