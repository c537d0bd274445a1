//! A driver without sockets: it answers every action at once, the way a faultless engine would.

use linerate_model::sample::{
    ByteStreamReceiver, ByteStreamSender, DatagramReceiver, DatagramSender, EndpointReport,
    SequenceCount, Snapshot, StreamReport, StreamWork,
};
use linerate_model::spec::{Direction, Side, Stop, TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant, PacketCount};
use linerate_peers::{
    Action, Arrival, ClientConfig, Control, Ending, Input, PeerEvent, PeerKind, ProtocolError,
    RANDOM_BYTES, ServerConfig, Session, StreamEvent, StreamFormat, StreamOrder, Tests,
};
use std::net::Ipv4Addr;
use std::time::Duration;

pub(crate) const START: MonoInstant = MonoInstant::from_nanos(1_000_000_000);

/// The protocols that have a control connection: those whose sessions talk with each other in bytes. What the
/// others do is in their streams, and tested there.
pub(crate) fn conversing() -> impl Iterator<Item = &'static dyn PeerKind> {
    let all = linerate_peers::ALL.iter().copied();
    all.filter(|kind| kind.about().control == Control::Connection)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

pub(crate) fn client_config() -> ClientConfig {
    ClientConfig {
        version: "0.1.0".into(),
        ..ClientConfig::new(Ipv4Addr::LOCALHOST.into(), [7; RANDOM_BYTES])
    }
}

pub(crate) fn server_config() -> ServerConfig {
    ServerConfig {
        version: "0.1.0".into(),
        session: "s-1".into(),
        facts: [("cores_online", 4)].into_iter().collect(),
        ..ServerConfig::new(Ipv4Addr::LOCALHOST.into(), [7; RANDOM_BYTES])
    }
}

/// Tests of every direction and transport.
pub(crate) fn specs() -> Vec<TestSpec> {
    let mut specs = Vec::new();
    for direction in [Direction::Forward, Direction::Reverse, Direction::Duplex] {
        specs.push(TestSpec {
            direction,
            streams: 2,
            ..TestSpec::tcp_bulk()
        });
        specs.push(TestSpec {
            direction,
            ..TestSpec::udp_datagrams(linerate_model::spec::Pace::Unpaced)
        });
    }
    specs
}

/// The tests of [`specs`] that a protocol carries, with one stream each if it makes no more; those of
/// [`ping_pongs`] if it carries none.
pub(crate) fn specs_of(kind: &dyn PeerKind) -> Vec<TestSpec> {
    let one = |spec: &TestSpec| TestSpec {
        streams: 1,
        ..spec.clone()
    };
    let fitting = |spec: TestSpec| [spec.clone(), one(&spec)].into_iter();
    let carried: Vec<_> = specs()
        .into_iter()
        .filter_map(|spec| fitting(spec).find(|spec| kind.check(spec).is_ok()))
        .collect();
    if carried.is_empty() {
        ping_pongs()
    } else {
        carried
    }
}

/// Requests and responses of each transport, of lengths at the bounds.
fn ping_pongs() -> Vec<TestSpec> {
    let ping_pong = |(transport, size)| TestSpec {
        stop: Stop::Transactions(700),
        ..TestSpec::ping_pong(transport).with_payload(ByteCount::new(size))
    };
    [
        (Transport::Tcp, 1),
        (Transport::Udp, 0),
        (Transport::Udp, 1400),
    ]
    .map(ping_pong)
    .to_vec()
}

/// One end: a session and the driver that answers it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is how far one part of a test is"
)]
pub(crate) struct End {
    pub(crate) role: Role,
    pub(crate) session: Box<dyn Session>,
    /// Tests the client still has to ask for.
    pub(crate) wanted: Vec<TestSpec>,
    /// Every action but `Send`, in order.
    pub(crate) actions: Vec<Action>,
    /// Every action in order: `None` for a `Send`, else its place in `actions`.
    pub(crate) order: Vec<Option<usize>>,
    /// Every byte sent.
    pub(crate) sent: Vec<u8>,
    pub(crate) now: MonoInstant,
    /// Actions the driver leaves unanswered.
    pub(crate) ignores: fn(&Action) -> bool,
    /// What each side of a test reports of its streams.
    pub(crate) streams: fn(&TestSpec, Side) -> Vec<StreamReport>,
    spec: Option<TestSpec>,
    finished: bool,
    peer_finished: bool,
    reported: bool,
    /// Messages flow only as far as they are granted.
    is_granted: bool,
    arrivals: Arrivals,
}

/// How this end's receivers hear that all was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrivals {
    /// Over the control connection.
    Told,
    /// In their streams, which have not begun.
    Seen,
    /// In their streams, which are running.
    Running,
}

impl Arrivals {
    fn from_format(format: &dyn StreamFormat) -> Self {
        if format.tells_its_end() {
            Self::Seen
        } else {
            Self::Told
        }
    }
}

impl End {
    pub(crate) fn client(kind: &dyn PeerKind, wanted: &[TestSpec]) -> Self {
        let session = kind.client(client_config(), START);
        Self::new(Role::Client, session, wanted)
    }

    pub(crate) fn server(kind: &dyn PeerKind) -> Self {
        Self::new(Role::Server, kind.server(server_config(), START), &[])
    }

    pub(crate) fn new(role: Role, session: Box<dyn Session>, wanted: &[TestSpec]) -> Self {
        Self {
            role,
            session,
            wanted: wanted.to_vec(),
            actions: Vec::new(),
            order: Vec::new(),
            sent: Vec::new(),
            now: START,
            ignores: |_| false,
            streams: seven_each,
            spec: None,
            finished: false,
            peer_finished: false,
            reported: false,
            is_granted: false,
            arrivals: Arrivals::Told,
        }
    }

    /// Gives one input and answers whatever comes of it; returns the bytes to send.
    pub(crate) fn give(&mut self, input: Input<'_>) -> (Vec<u8>, Result<(), ProtocolError>) {
        let mut outcome = self.session.handle(self.now, input);
        let from = self.sent.len();
        while let Some(action) = self.session.poll_action() {
            if let Action::Send(bytes) = action {
                self.sent.extend(bytes);
                self.order.push(None);
                continue;
            }
            let answers = if outcome.is_ok() && !(self.ignores)(&action) {
                self.answers(&action)
            } else {
                Vec::new()
            };
            self.order.push(Some(self.actions.len()));
            self.actions.push(action);
            for answer in answers {
                let answered = self.session.handle(self.now, answer);
                outcome = outcome.and(answered);
            }
        }
        (self.sent[from..].to_vec(), outcome)
    }

    fn sends(&self) -> bool {
        let direction = self.spec.as_ref().map(|spec| spec.direction);
        match self.role {
            Role::Client => direction != Some(Direction::Reverse),
            Role::Server => direction != Some(Direction::Forward),
        }
    }

    fn receives(&self) -> bool {
        let direction = self.spec.as_ref().map(|spec| spec.direction);
        match self.role {
            Role::Client => direction != Some(Direction::Forward),
            Role::Server => direction != Some(Direction::Reverse),
        }
    }

    fn begin(&mut self, spec: TestSpec) {
        self.spec = Some(spec);
        self.finished = false;
        self.peer_finished = false;
        self.reported = false;
    }

    fn next_test(&mut self) -> Vec<Input<'static>> {
        if self.role == Role::Server {
            return Vec::new();
        }
        if self.wanted.is_empty() {
            return vec![Input::End(Ending::Session)];
        }
        let spec = self.wanted.remove(0);
        self.begin(spec.clone());
        vec![Input::Begin(Box::new(spec))]
    }

    pub(crate) fn reports(&self) -> Vec<EndpointReport> {
        let sides = [
            (self.sends(), Side::Sender),
            (self.receives(), Side::Receiver),
        ];
        sides
            .into_iter()
            .filter(|(plays, _)| *plays)
            .map(|(_, side)| EndpointReport {
                side,
                streams: self
                    .spec
                    .as_ref()
                    .map_or_else(Vec::new, |spec| (self.streams)(spec, side)),
                before: Snapshot::default(),
                after: Snapshot {
                    at_ns: 123_456,
                    ..Snapshot::default()
                },
                profile: None,
                clock: None,
            })
            .collect()
    }

    fn report_if_done(&mut self) -> Vec<Input<'static>> {
        let sent = self.finished || !self.sends();
        let taken = self.peer_finished || !self.receives();
        if self.reported || !sent || !taken {
            return Vec::new();
        }
        self.reported = true;
        vec![Input::Reports(self.reports())]
    }

    fn finish(&mut self) -> Vec<Input<'static>> {
        self.finished = true;
        let streams = usize::from(self.spec.as_ref().map_or(0, |spec| spec.streams));
        let sent = vec![PacketCount::new(7); streams];
        let mut answers = vec![Input::Finished { sent }];
        answers.extend(self.report_if_done());
        answers
    }

    fn answers(&mut self, action: &Action) -> Vec<Input<'static>> {
        match action {
            Action::Peer(PeerEvent::Hello(_)) | Action::TestOver(_) => self.next_test(),
            Action::Admit => vec![Input::Admitted(Ok(()))],
            Action::Prepare { spec, format } => {
                let is_told =
                    format.arrival() == Arrival::ToldPorts && spec.transport() == Transport::Udp;
                self.begin((**spec).clone());
                self.arrivals = Arrivals::from_format(format.as_ref());
                let plays = [
                    (self.sends(), Side::Sender),
                    (self.receives(), Side::Receiver),
                ];
                let ports = plays
                    .into_iter()
                    .filter(|(plays, _)| *plays)
                    .map(|(_, side)| (side, vec![5302]))
                    .collect();
                let mut answers = vec![Input::Prepared(Ok(ports))];
                answers.extend((!is_told).then_some(Input::Connected));
                answers
            }
            Action::OpenStreams { format, .. } => {
                self.is_granted = format.is_granted();
                self.arrivals = Arrivals::from_format(format.as_ref());
                vec![Input::Connected]
            }
            Action::Stream(StreamOrder::Grant(_)) if self.role == Role::Client => {
                vec![Input::Stream(StreamEvent::GrantSpent)]
            }
            Action::Start(Side::Receiver) if self.arrivals == Arrivals::Seen => {
                self.arrivals = Arrivals::Running;
                Vec::new()
            }
            Action::Start(Side::Sender) if self.is_granted => Vec::new(),
            Action::Start(Side::Sender) => self.finish(),
            Action::StopSenders if !self.finished => self.finish(),
            Action::PeerFinished { .. } => {
                self.peer_finished = true;
                self.report_if_done()
            }
            Action::Stop { .. } => vec![Input::Stopped],
            _ => Vec::new(),
        }
    }

    /// The streams of a test under way end, if that is for them to say; what this end sends then.
    pub(crate) fn end_streams(&mut self) -> (Vec<u8>, Result<(), ProtocolError>) {
        if self.arrivals != Arrivals::Running {
            return (Vec::new(), Ok(()));
        }
        self.arrivals = Arrivals::Seen;
        let reports = self.reports();
        self.give(Input::Reports(reports))
    }

    /// Lets time pass to the end of streams or the next deadline of a test under way; what this end sends then.
    pub(crate) fn pass_time(&mut self) -> Vec<u8> {
        if self.arrivals == Arrivals::Running {
            return self.end_streams().0;
        }
        let Some(deadline) = self.session.deadline() else {
            return Vec::new();
        };
        self.now = self.now.max(deadline);
        self.give(Input::Timeout).0
    }

    /// Says timeout at each deadline until the session is over; panics if that takes more than `most` steps.
    pub(crate) fn wait_out(&mut self, most: usize) -> Result<(), ProtocolError> {
        for _ in 0..most {
            let Some(deadline) = self.session.deadline() else {
                return Ok(());
            };
            self.now = self.now.max(deadline);
            self.give(Input::Timeout).1?;
        }
        panic!(
            "still in state {} after {most} deadlines",
            self.session.state()
        );
    }

    /// The action after this one; `None` if that is a `Send` or there is none.
    pub(crate) fn after(&self, action: &Action) -> Option<&Action> {
        let is_it = |at: &Option<usize>| at.is_some_and(|at| self.actions[at] == *action);
        let at = self.order.iter().position(is_it).expect("it happened");
        self.actions.get((*self.order.get(at + 1)?)?)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.actions.last() == Some(&Action::Closed) && self.session.deadline().is_none()
    }
}

/// Seven datagrams or so many bytes per stream, one of them lost on the way.
pub(crate) fn seven_each(spec: &TestSpec, side: Side) -> Vec<StreamReport> {
    let is_udp = spec.transport() == Transport::Udp;
    let received = 7 - u64::from(side == Side::Receiver);
    let work = || match (side, is_udp) {
        (Side::Sender, true) => StreamWork::from(DatagramSender::default()),
        (Side::Sender, false) => ByteStreamSender::default().into(),
        (Side::Receiver, true) => StreamWork::from(DatagramReceiver {
            sequence: SequenceCount {
                received: PacketCount::new(received),
                next_expected: 7,
                ..SequenceCount::default()
            },
            ..DatagramReceiver::default()
        }),
        (Side::Receiver, false) => ByteStreamReceiver::default().into(),
    };
    let bytes = ByteCount::new(received * spec.payload().get());
    let packets = PacketCount::new(if is_udp { received } else { 0 });
    let stream = |index| StreamReport {
        duration: Duration::from_secs(10),
        ..StreamReport::new(index, work()).with_counts(bytes, packets)
    };
    (0..spec.streams).map(stream).collect()
}

/// Both ends of a connection that carries `chunk` bytes at a time, each way in turn, until both are quiet.
pub(crate) fn converse(
    client: &mut End,
    server: &mut End,
    chunk: usize,
) -> Result<(), ProtocolError> {
    let (to_server, outcome) = client.give(Input::Bytes(&[]));
    outcome?;
    carry_on(client, server, to_server, chunk)
}

/// Exchanges bytes until both ends are quiet, beginning with `to_server` from the client.
fn carry_on(
    client: &mut End,
    server: &mut End,
    mut to_server: Vec<u8>,
    chunk: usize,
) -> Result<(), ProtocolError> {
    let (mut to_client, outcome) = server.give(Input::Bytes(&[]));
    outcome?;
    loop {
        if to_server.is_empty() && to_client.is_empty() {
            // All is said: what is under way in the streams arrives.
            for (end, said) in [
                (&mut *client, &mut to_server),
                (&mut *server, &mut to_client),
            ] {
                let (more, outcome) = end.end_streams();
                outcome?;
                said.extend(more);
            }
        }
        if to_server.is_empty() && to_client.is_empty() {
            return Ok(());
        }
        let piece: Vec<u8> = to_server.drain(..chunk.min(to_server.len())).collect();
        let (answer, outcome) = server.give(Input::Bytes(&piece));
        outcome?;
        to_client.extend(answer);
        let piece: Vec<u8> = to_client.drain(..chunk.min(to_client.len())).collect();
        let (answer, outcome) = client.give(Input::Bytes(&piece));
        outcome?;
        to_server.extend(answer);
    }
}

/// A whole session of these tests: of the first only, if the protocol makes one per connection.
pub(crate) fn session(
    kind: &dyn PeerKind,
    specs: &[TestSpec],
    chunk: usize,
) -> (End, End, Result<(), ProtocolError>) {
    let wanted = match kind.about().tests {
        Tests::Many => specs,
        Tests::Alike | Tests::One => specs.get(..1).unwrap_or_default(),
    };
    let (mut client, mut server) = (End::client(kind, wanted), End::server(kind));
    let mut outcome = converse(&mut client, &mut server, chunk);
    // A protocol whose client ends the test lets time pass first.
    for _ in 0..8 {
        if outcome.is_err() || kind.about().tests == Tests::Many || client.is_closed() {
            break;
        }
        let said = client.pass_time();
        server.now = client.now;
        outcome = carry_on(&mut client, &mut server, said, chunk);
    }
    // A client without a word of farewell just hangs up.
    if outcome.is_ok() && client.is_closed() && !server.is_closed() {
        outcome = server.give(Input::Eof).1;
    }
    (client, server, outcome)
}

/// Whole sessions that together make every test.
pub(crate) fn sessions(kind: &dyn PeerKind, chunk: usize) -> Vec<(End, End)> {
    let whole = |specs: &[TestSpec]| {
        let (client, server, outcome) = session(kind, specs, chunk);
        assert_eq!(outcome, Ok(()), "{}", kind.id());
        (client, server)
    };
    match kind.about().tests {
        Tests::Many => vec![whole(&specs_of(kind))],
        Tests::Alike | Tests::One => specs_of(kind).chunks(1).map(whole).collect(),
    }
}

/// `now` this much later.
pub(crate) fn later(end: &mut End, time: Duration) {
    end.now = end.now.after(time);
}
