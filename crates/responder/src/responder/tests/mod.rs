//! Sessions with the host's own client, without a network: bytes from one to the other, and a clock that is set.

mod extremes;

use super::*;
use linerate_model::MonoInstant;
use linerate_model::spec::{Direction, Pace, Stop, TestSpec};
use linerate_peers::native::Native;
use linerate_peers::{
    Action, ClientConfig, Ending, Input, PeerEvent, PeerKind as _, RefusalCode, Session, TestEnd,
};
use proptest::prelude::*;
use std::time::Duration;

pub(super) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A client and a responder.
struct Pair {
    client: Box<dyn Session>,
    responder: Responder,
    now: u64,
    /// What the client's driver is told, but for sending.
    actions: Vec<Action>,
}

impl Pair {
    fn new() -> Self {
        let config = ClientConfig::new(CLIENT, [7; 32]);
        let mut responder = Responder::new(Config::new("board", "stack", 7));
        responder.control_opened(MonoInstant::default(), CLIENT);
        let mut pair = Self {
            client: Native.client(config, MonoInstant::default()),
            responder,
            now: 0,
            actions: Vec::new(),
        };
        pair.exchange();
        assert_eq!(pair.responder.state(), State::Idle);
        pair
    }

    fn tell(&mut self, input: Input<'_>) {
        let now = MonoInstant::from_nanos(self.now);
        self.client.handle(now, input).unwrap();
        self.exchange();
    }

    /// Carries what both have to say until neither has more.
    fn exchange(&mut self) {
        loop {
            let mut is_quiet = true;
            while let Some(action) = self.client.poll_action() {
                if let Action::Send(bytes) = action {
                    is_quiet = false;
                    for part in bytes.chunks(13) {
                        self.responder.control_received(self.instant(), part);
                    }
                } else {
                    self.actions.push(action);
                }
            }
            self.responder.poll(self.instant());
            let mut room = [0; 37];
            loop {
                let length = self.responder.control_output(&mut room);
                if length == 0 {
                    break;
                }
                is_quiet = false;
                let now = MonoInstant::from_nanos(self.now);
                let bytes = Input::Bytes(&room[..length]);
                self.client.handle(now, bytes).unwrap();
            }
            if is_quiet {
                return;
            }
        }
    }

    const fn instant(&self) -> MonoInstant {
        MonoInstant::from_nanos(self.now)
    }

    /// Lets time pass, in which both look at the clock.
    fn pass(&mut self, time: Duration) {
        let end = self.now + u64::try_from(time.as_nanos()).unwrap();
        while self.now < end {
            self.now = end.min(self.now + 100_000_000);
            self.tell(Input::Timeout);
        }
    }

    fn begin(&mut self, spec: &TestSpec) {
        self.actions.clear();
        self.tell(Input::Begin(Box::new(spec.clone())));
    }

    fn opens_streams(&self) -> bool {
        let opens = |action: &Action| matches!(action, Action::OpenStreams { .. });
        self.actions.iter().any(opens)
    }

    /// Why the client is to stop its test.
    fn stop_reason(&self) -> Option<(RefusalCode, &str)> {
        self.actions.iter().find_map(|action| match action {
            Action::Stop { code, reason, .. } => Some((*code, reason.as_str())),
            _ => None,
        })
    }

    /// The client's data stream comes.
    fn connect(&mut self) {
        let token = self.responder.test.token;
        let from = SocketAddr::new(CLIENT, 4000);
        for (kind, reply) in [(2, Reply::SendBack), (4, Reply::Nothing)] {
            let mut hello = [0; 18];
            hello[..4].copy_from_slice(&token.to_be_bytes());
            hello[5] = kind;
            let now = self.instant();
            let said = self
                .responder
                .datagram_received(now, Port::Receive, from, &mut hello);
            assert_eq!(said, reply);
        }
        self.tell(Input::Connected);
    }
}

fn spec() -> TestSpec {
    TestSpec {
        stop: Stop::Transactions(10),
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    }
}

#[test]
fn the_client_hears_who_is_there_and_what_it_allows() {
    let pair = Pair::new();
    let hello = pair.actions.iter().find_map(|action| match action {
        Action::Peer(PeerEvent::Hello(hello)) => Some(hello),
        _ => None,
    });
    let hello = hello.unwrap();
    assert_eq!(hello.facts.board.as_deref(), Some("board"));
    assert_eq!(hello.limits.max_streams, 1);
    assert_eq!(hello.limits.max_duration, Duration::from_hours(1));
}

#[test]
fn a_test_that_the_client_aborts_is_dropped_by_both_and_the_next_one_is_made() {
    let mut pair = Pair::new();
    for connects in [false, true] {
        pair.begin(&spec());
        assert!(pair.opens_streams());
        if connects {
            pair.connect();
            assert_eq!(pair.responder.state(), State::Running);
        }
        let (code, reason) = (RefusalCode::Internal, "a socket failed".to_owned());
        pair.tell(Input::End(Ending::Test { code, reason }));
        pair.tell(Input::Stopped);
        let over = Action::TestOver(TestEnd::Aborted);
        assert!(pair.actions.contains(&over), "{:?}", pair.actions);
        assert_eq!(pair.responder.state(), State::Idle);
    }
}

#[test]
fn a_data_stream_that_does_not_come_ends_the_test_with_the_reason() {
    let mut pair = Pair::new();
    pair.begin(&spec());
    pair.pass(Duration::from_millis(4900));
    assert_eq!(pair.stop_reason(), None);
    pair.pass(Duration::from_millis(200));
    let (code, reason) = pair.stop_reason().unwrap();
    assert_eq!(code, RefusalCode::Timeout);
    assert!(reason.contains("did not come"), "{reason}");
    pair.tell(Input::Stopped);
    assert_eq!(pair.responder.state(), State::Idle);
}

#[test]
fn both_ends_stay_while_nothing_happens_and_a_silent_client_is_let_go() {
    let mut pair = Pair::new();
    pair.pass(Duration::from_mins(1));
    assert_eq!(pair.responder.state(), State::Idle);
    let later = pair.instant().after(Duration::from_secs(10));
    pair.responder.poll(later);
    assert_eq!(pair.responder.state(), State::Closing);
    while pair.responder.control_output(&mut [0; 64]) > 0 {}
    assert!(pair.responder.control_wants_close());
}

#[test]
fn what_is_refused_is_said_and_leaves_the_session_open() {
    let mut pair = Pair::new();
    let refused = TestSpec {
        streams: 2,
        ..spec()
    };
    pair.begin(&refused);
    let refusal = pair.actions.iter().find_map(|action| match action {
        Action::TestOver(TestEnd::Refused(refusal)) => Some(refusal),
        _ => None,
    });
    let refusal = refusal.unwrap();
    assert_eq!(refusal.code, RefusalCode::Limit);
    assert!(refusal.message.contains("-P 1"), "{}", refusal.message);
    pair.begin(&spec());
    assert!(pair.opens_streams());
}

#[test]
fn strangers_get_no_answer_and_no_test() {
    let mut pair = Pair::new();
    pair.begin(&spec());
    let mut hello = [0; 18];
    hello[..4].copy_from_slice(&pair.responder.test.token.to_be_bytes());
    hello[5] = 2;
    let stranger = SocketAddr::from(([192, 0, 2, 1], 4000));
    let now = pair.instant();
    let responder = &mut pair.responder;
    let reply = responder.datagram_received(now, Port::Receive, stranger, &mut hello);
    assert_eq!(reply, Reply::Nothing);
    assert!(!responder.stream_opened(stranger.ip()));
    // Of the client, but of a test over UDP.
    assert!(!responder.stream_opened(CLIENT));
    assert!(responder.datagram_output(now, &mut [0; 1472]).is_none());
}

#[test]
fn a_device_that_sleeps_wakes_for_what_it_sends_and_not_at_all_where_it_spins() {
    let mut pair = Pair::new();
    let look = pair.responder.deadline(pair.instant());
    assert_eq!(look, pair.instant().after(LOOK));
    let mut spins = spec();
    spins.wait = linerate_model::spec::WaitMode::Spin;
    spins.direction = Direction::Forward;
    pair.begin(&spins);
    pair.connect();
    assert_eq!(pair.responder.state(), State::Running);
    assert_eq!(pair.responder.deadline(pair.instant()), pair.instant());
}

/// What a client says first.
pub(super) fn hello_of_client() -> Vec<u8> {
    let config = ClientConfig::new(CLIENT, [7; 32]);
    let mut client = Native.client(config, MonoInstant::default());
    let mut said = Vec::new();
    while let Some(action) = client.poll_action() {
        if let Action::Send(bytes) = action {
            said.extend_from_slice(&bytes);
        }
    }
    said
}

/// A message of this kind.
pub(super) fn message(kind: u8, body: &str) -> Vec<u8> {
    let length = u32::try_from(body.len() + 1).unwrap();
    [&length.to_be_bytes()[..], &[kind], body.as_bytes()].concat()
}

/// What a client says of a whole test.
fn conversation() -> Vec<u8> {
    let mut said = hello_of_client();
    let spec = serde_json::to_string(&spec()).unwrap();
    for (kind, body) in [
        (16, format!("{{\"test\":1,\"spec\":{spec}}}")),
        (20, "{\"test\":1}".to_owned()),
        (23, "{\"test\":1,\"sent\":[10]}".to_owned()),
        (25, "{\"test\":1}".to_owned()),
    ] {
        said.extend(message(kind, &body));
    }
    said
}

proptest! {
    /// Whatever is said, the responder answers within bounds and serves the next client.
    #[test]
    fn a_conversation_with_any_bytes_changed_does_no_harm(
        changes in prop::collection::vec((0_usize..1200, any::<u8>()), 0..6),
        piece in 1_usize..300,
        cut in 0_usize..1200,
    ) {
        let mut bytes = conversation();
        for (at, byte) in changes {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        bytes.truncate(cut.max(1));
        let mut responder = Responder::new(Config::new("board", "stack", 7));
        responder.control_opened(MonoInstant::default(), CLIENT);
        let mut answered = 0;
        for (at, part) in (0..).zip(bytes.chunks(piece)) {
            let now = MonoInstant::from_nanos(at * 1_000_000);
            responder.control_received(now, part);
            responder.poll(now);
            answered += responder.control_output(&mut [0; 4096]);
        }
        prop_assert!(answered < 16 * 1024);
        let later = MonoInstant::from_nanos(1_000_000_000);
        responder.control_closed(later);
        responder.control_opened(later, CLIENT);
        responder.control_received(later, &conversation()[..60]);
        prop_assert!(responder.control_output(&mut [0; 4096]) > 10);
        prop_assert_ne!(responder.state(), State::Closing);
    }
}
