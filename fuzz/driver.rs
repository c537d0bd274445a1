//! A driver that answers everything at once, and sometimes lets time pass, says something out of turn, or hangs up.

use linerate_model::MonoInstant;
use linerate_model::PacketCount;
use linerate_model::sample::{DatagramReceiver, EndpointReport, SequenceCount, StreamReport};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_peers::key::{Credential, Key, SIZE};
use linerate_peers::{
    Action, Arrival, ClientConfig, Control, Ending, Input, PeerKind, PeerEvent, RANDOM_BYTES, RefusalCode,
    ServerConfig, Session, StreamEvent, StreamFormat, StreamOrder,
    UnprovedSending,
};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

const START: MonoInstant = MonoInstant::from_nanos(0);

/// The client of this protocol against a hostile server that says `data`, and its server against such a client.
pub fn both_ends(kind: &dyn PeerKind, data: &[u8]) {
    let client = ClientConfig {
        version: "0.1.0".into(),
        ..ClientConfig::new(Ipv4Addr::LOCALHOST.into(), [7; RANDOM_BYTES])
    };
    let server = ServerConfig {
        version: "0.1.0".into(),
        session: "s-1".into(),
        unproved: UnprovedSending::AtMostReceived,
        ..ServerConfig::new(Ipv4Addr::LOCALHOST.into(), [7; RANDOM_BYTES])
    };
    if kind.about().has_keys() {
        let key = Key::new(b"a key of this target alone").expect("invariant: it is long enough");
        let credential = Some(Credential { key, ephemeral: [7; SIZE] });
        let client = ClientConfig { credential: credential.clone(), ..client.clone() };
        let server = ServerConfig { credential, ..server.clone() };
        feed(true, kind.about().control, kind.client(client, START), data);
        feed(false, kind.about().control, kind.server(server, START), data);
    }
    feed(true, kind.about().control, kind.client(client, START), data);
    if kind.about().control != Control::Shell {
        feed(false, kind.about().control, kind.server(server, START), data);
    }
}

struct Driver {
    is_client: bool,
    session: Box<dyn Session>,
    now: MonoInstant,
    spec: TestSpec,
    begun: u16,
    /// Bytes come as what data streams say, not over a control connection.
    has_control: bool,
    heard: u16,
    /// Of the data streams.
    format: Option<Arc<dyn StreamFormat>>,
}

/// Feeds `data` in pieces: 0xfe, an operation byte and its number stand for something the driver does.
fn feed(is_client: bool, control: Control, session: Box<dyn Session>, data: &[u8]) {
    let mut driver = Driver {
        is_client,
        session,
        has_control: control != Control::Absent,
        heard: 0,
        now: START,
        spec: TestSpec::tcp_bulk(),
        begun: 0,
        format: None,
    };
    driver.settle();
    let mut rest = data;
    while !rest.is_empty() {
        let cut = rest
            .iter()
            .position(|byte| *byte == 0xfe)
            .unwrap_or(rest.len());
        let (bytes, tail) = rest.split_at(cut);
        driver.bytes(bytes);
        rest = match tail {
            [0xfe, operation, tail @ ..] => {
                driver.operate(*operation);
                tail
            }
            _ => &[],
        };
    }
    driver.give(Input::Eof);
    assert!(
        driver.session.deadline().is_none(),
        "a session ends with its connection"
    );
}

impl Driver {
    /// Messages are separated by what the driver answers in between, so bytes come in small pieces.
    fn bytes(&mut self, bytes: &[u8]) {
        if !self.has_control {
            return self.datagrams(bytes);
        }
        for piece in bytes.chunks(16) {
            self.give(Input::Bytes(piece));
        }
    }

    /// The first piece is what a stream begins with; the others come when its traffic is over.
    fn datagrams(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(160) {
            self.heard += 1;
            match (self.is_client, self.heard) {
                (false, 1) => {
                    let transport = match bytes.len() % 2 {
                        0 => Transport::Udp,
                        _ => Transport::Tcp,
                    };
                    self.give(Input::Stream(StreamEvent::Opened { transport, bytes }));
                    self.give(self.reports());
                }
                (true, 1) => self.give(Input::Stream(StreamEvent::FirstData {
                    stream: bytes[0].into(),
                })),
                _ => self.give(Input::Stream(StreamEvent::Datagram { stream: 0, bytes })),
            }
        }
    }

    fn operate(&mut self, operation: u8) {
        match operation % 9 {
            0 => self.give(Input::Timeout),
            1 => self.now = self.now.after(Duration::from_millis(900)),
            2 => self.give(Input::End(Ending::Test {
                code: RefusalCode::Interrupted,
                reason: "fuzz".into(),
            })),
            3 => self.give(Input::End(Ending::Session)),
            4 => self.give(Input::Stopped),
            5 => self.give(Input::Reports(Vec::new())),
            6 => self.give(Input::End(Ending::Traffic)),
            7 => self.give(Input::Progress(linerate_peers::Progress::default())),
            _ => self.give(Input::Bytes(&[0xfe])),
        }
    }

    fn give(&mut self, input: Input<'_>) {
        if let Err(error) = self.session.handle(self.now, input) {
            assert!(error.to_string().len() < 4096, "{error}");
        }
        self.settle();
    }

    fn settle(&mut self) {
        while let Some(action) = self.session.poll_action() {
            for answer in self.answers(action) {
                if let Err(error) = self.session.handle(self.now, answer) {
                    assert!(error.to_string().len() < 4096, "{error}");
                }
            }
        }
    }

    fn sides(&self) -> Vec<Side> {
        let own = if self.is_client {
            Side::Sender
        } else {
            Side::Receiver
        };
        match self.spec.direction {
            Direction::Forward => vec![own],
            Direction::Reverse => vec![own.other()],
            Direction::Duplex => vec![own, own.other()],
        }
    }

    fn answers(&mut self, action: Action) -> Vec<Input<'static>> {
        match action {
            Action::Peer(PeerEvent::Hello(_)) | Action::TestOver(_)
                if self.is_client && self.begun < 7 =>
            {
                self.begun += 1;
                self.spec = self.wanted();
                vec![Input::Begin(Box::new(self.spec.clone()))]
            }
            Action::Admit => vec![Input::Admitted(Ok(()))],
            Action::Prepare { spec, format } => {
                let is_told =
                    format.arrival() == Arrival::ToldPorts && spec.transport() == Transport::Udp;
                self.format = Some(format);
                self.spec = *spec;
                let ports = self
                    .sides()
                    .into_iter()
                    .map(|side| (side, vec![1]))
                    .collect();
                let mut answers = vec![Input::Prepared(Ok(ports))];
                answers.extend((!is_told).then_some(Input::Connected));
                answers
            }
            Action::Listen { transport, .. } => vec![
                Input::Prepared(Ok(vec![(Side::Receiver, vec![1])])),
                Input::Stream(StreamEvent::Opened {
                    transport,
                    bytes: &[0; 64],
                }),
            ],
            Action::OpenStreams { format, .. } => {
                self.format = Some(format);
                vec![Input::Connected]
            }
            Action::Stream(StreamOrder::Grant(_)) if self.is_client => {
                vec![Input::Stream(StreamEvent::GrantSpent)]
            }
            Action::Start(Side::Receiver) if self.tells_its_end() => vec![self.reports()],
            Action::Start(Side::Sender) if self.is_granted() => Vec::new(),
            Action::StopSenders if !self.is_granted() => Vec::new(),
            Action::Start(Side::Sender) | Action::StopSenders => {
                let sent = vec![PacketCount::new(1); usize::from(self.spec.streams)];
                let mut answers = vec![Input::Finished { sent }];
                if self.sides() == [Side::Sender] {
                    answers.push(self.reports());
                }
                answers
            }
            Action::PeerFinished { .. } => vec![self.reports()],
            Action::Stop { .. } => vec![Input::Stopped],
            _ => Vec::new(),
        }
    }

    /// Messages flow only as far as they are granted.
    fn is_granted(&self) -> bool {
        self.format
            .as_ref()
            .is_some_and(|format| format.is_granted())
    }

    /// Receivers see the end in their streams, which no control connection begins or ends.
    fn tells_its_end(&self) -> bool {
        self.has_control
            && self
                .format
                .as_ref()
                .is_some_and(|format| format.tells_its_end())
    }

    /// The test that is begun as the `begun`-th.
    fn wanted(&self) -> TestSpec {
        if self.begun > 3 {
            let transport = [Transport::Tcp, Transport::Udp][usize::from(self.begun) / 6];
            return TestSpec {
                stop: Stop::Transactions(100),
                ..TestSpec::ping_pong(transport)
            };
        }
        let base = if self.begun % 2 == 1 {
            TestSpec::udp_datagrams(Pace::Unpaced)
        } else {
            TestSpec::tcp_bulk()
        };
        TestSpec {
            direction: [Direction::Duplex, Direction::Reverse, Direction::Forward]
                [usize::from(self.begun) % 3],
            ..base
        }
    }

    fn reports(&self) -> Input<'static> {
        let receiver = DatagramReceiver {
            sequence: SequenceCount {
                received: PacketCount::new(6),
                next_expected: 7,
                ..SequenceCount::default()
            },
            sent_there: Some(PacketCount::new(7)),
            ..DatagramReceiver::default()
        };
        let stream = StreamReport {
            packets: PacketCount::new(6),
            duration: Duration::from_secs(1),
            ..StreamReport::new(0, receiver)
        };
        let streams = vec![stream; usize::from(self.spec.streams)];
        let report = |side| EndpointReport::of_streams(side, streams.clone());
        Input::Reports(self.sides().into_iter().map(report).collect())
    }
}
