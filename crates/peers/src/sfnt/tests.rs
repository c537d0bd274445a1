//! Both ends against each other, step by step: several sizes in one session, and what may go wrong.

use super::{Release, Sfnt};
use crate::ProtocolError;
use crate::session::{
    Action, ClientConfig, Ending, Grant, Input, Limits, PeerEvent, PeerHello, PeerKind as _,
    RANDOM_BYTES, Refusal, RefusalCode, Sent, ServerConfig, Session, StreamEvent, StreamOrder,
    StreamTarget, TestEnd,
};
use crate::sfnt::Streams;
use linerate_model::spec::{Side, Stop, TestSpec, Transport, WaitMode};
use linerate_model::{ByteCount, MonoInstant, PacketCount};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

const NOW: MonoInstant = MonoInstant::from_nanos(1_000_000_000);

fn client_at(local: IpAddr) -> Box<dyn Session> {
    Sfnt::DEFAULT.client(ClientConfig::new(local, [1; RANDOM_BYTES]), NOW)
}

fn client() -> Box<dyn Session> {
    client_at(Ipv4Addr::LOCALHOST.into())
}

fn server(release: Release) -> Box<dyn Session> {
    let config = ServerConfig {
        session: "1".to_owned(),
        ..ServerConfig::new(Ipv4Addr::LOCALHOST.into(), [7; RANDOM_BYTES])
    };
    let values = [
        ("sfnt-version", release.version),
        ("sfnt-checksum", release.checksum),
    ];
    let values = values.map(|(name, value)| (name.to_owned(), value));
    let set = Sfnt::DEFAULT.with_settings(&values.into()).unwrap();
    set.server(config, NOW)
}

fn release(version: &str) -> Release {
    Release {
        version: version.to_owned(),
        checksum: "0123456789abcdef0123456789abcdef".to_owned(),
    }
}

/// What a session wants done: the bytes it sends, and the rest.
fn wishes(session: &mut dyn Session) -> (Vec<u8>, Vec<Action>) {
    let (mut bytes, mut others) = (Vec::new(), Vec::new());
    while let Some(action) = session.poll_action() {
        match action {
            Action::Send(more) => bytes.extend(more),
            other => others.push(other),
        }
    }
    (bytes, others)
}

fn give(session: &mut dyn Session, input: Input<'_>) -> (Vec<u8>, Vec<Action>) {
    session.handle(NOW, input).unwrap();
    wishes(session)
}

fn begin(spec: &TestSpec) -> Input<'static> {
    Input::Begin(Box::new(spec.clone()))
}

fn spec(transport: Transport, size: u64) -> TestSpec {
    TestSpec {
        stop: Stop::Transactions(1),
        ..TestSpec::ping_pong(transport).with_payload(ByteCount::new(size))
    }
}

/// Both ends up to the first grants of a UDP test, and these.
fn opened(version: &str) -> [(Box<dyn Session>, Vec<Action>); 2] {
    let (mut client, mut server) = (client(), server(release(version)));
    let (bytes, _) = wishes(&mut *server);
    let (_, actions) = give(&mut *client, Input::Bytes(&bytes));
    let hello = PeerHello {
        facts: [
            ("sfnt-version", version.to_owned()),
            ("sfnt-checksum", release(version).checksum),
        ]
        .into_iter()
        .collect(),
        limits: Limits {
            max_streams: 1,
            ..Limits::default()
        },
        ..PeerHello::default()
    };
    assert_eq!(actions, [Action::Peer(PeerEvent::Hello(Box::new(hello)))]);
    let (options, actions) = give(&mut *client, begin(&spec(Transport::Udp, 0)));
    assert!(
        matches!(actions[..], [Action::Prepare { .. }]),
        "{actions:?}"
    );
    let bound = |side, port| Input::Prepared(Ok(vec![(side, vec![port])]));
    let (address, _) = give(&mut *client, bound(Side::Sender, 4001));
    let (_, actions) = give(&mut *server, Input::Bytes(&options));
    assert!(
        matches!(&actions[..], [Action::Peer(PeerEvent::Hello(_)), Action::Prepare { spec, .. }] if spec.transport() == Transport::Udp),
        "{actions:?}"
    );
    let (place, _) = give(&mut *server, bound(Side::Receiver, 4002));
    let open = |side, port| Action::OpenStreams {
        target: StreamTarget::Ports(vec![(side, vec![port])]),
        format: Arc::new(Streams),
    };
    let (_, actions) = give(&mut *server, Input::Bytes(&address));
    assert_eq!(actions, [open(Side::Sender, 4001)]);
    let (_, actions) = give(&mut *client, Input::Bytes(&place));
    assert_eq!(actions, [open(Side::Receiver, 4002)]);
    give(&mut *server, Input::Connected);
    let (announced, granted) = give(&mut *client, Input::Connected);
    let (_, taken) = give(&mut *server, Input::Bytes(&announced));
    [(client, granted), (server, taken)]
}

fn grant(size: u64) -> Action {
    Action::Stream(StreamOrder::Grant(Grant {
        messages: 2,
        size: ByteCount::new(size),
    }))
}

#[test]
fn a_session_of_each_version_makes_tests_of_several_sizes() {
    for version in ["1.4.0", "1.5.0", "1.6.0-rc1", "bd7b04c-modified"] {
        let [(mut client, granted), (mut server, taken)] = opened(version);
        assert_eq!(granted, [Action::Start(Side::Sender), grant(0)]);
        assert_eq!(taken, [grant(0)]);
        for size in [1, 1472] {
            let (_, actions) = give(&mut *client, Input::Stream(StreamEvent::GrantSpent));
            assert_eq!(actions, [Action::StopSenders]);
            let sent = vec![PacketCount::new(1)];
            give(&mut *client, Input::Finished { sent });
            let (_, actions) = give(&mut *client, Input::Reports(Vec::new()));
            assert_eq!(
                actions,
                [
                    Action::Peer(PeerEvent::Report(Vec::new())),
                    Action::TestOver(TestEnd::Complete)
                ]
            );
            let (none, actions) = give(&mut *client, begin(&spec(Transport::Udp, size)));
            assert!(none.is_empty());
            assert!(matches!(
                actions[..],
                [Action::OpenStreams {
                    target: StreamTarget::SameStreams,
                    ..
                }]
            ));
            let (announced, actions) = give(&mut *client, Input::Connected);
            assert_eq!(actions, [Action::Start(Side::Sender), grant(size)]);
            let (_, actions) = give(&mut *server, Input::Bytes(&announced));
            assert_eq!(actions, [grant(size)]);
        }
        // It is used up; the user leaves.
        give(&mut *client, Input::Stream(StreamEvent::GrantSpent));
        let sent = vec![PacketCount::new(1)];
        give(&mut *client, Input::Finished { sent });
        give(&mut *client, Input::Reports(Vec::new()));
        let (goodbye, actions) = give(&mut *client, Input::End(Ending::Session));
        assert_eq!(
            (goodbye.as_slice(), &actions[..]),
            (&[0; 4][..], &[Action::Closed][..])
        );
        let (_, actions) = give(&mut *server, Input::Bytes(&goodbye));
        assert_eq!(actions, [Action::PeerFinished { sent: Sent::Untold }]);
        let (_, actions) = give(&mut *server, Input::Reports(Vec::new()));
        assert_eq!(
            actions,
            [Action::TestOver(TestEnd::Complete), Action::Closed]
        );
    }
}

#[test]
fn a_lost_datagram_ends_the_test_with_what_to_do() {
    let [(mut client, _), _] = opened("1.6");
    let sent = vec![PacketCount::new(0)];
    let (_, actions) = give(&mut *client, Input::Finished { sent });
    let [Action::Stop { code, reason, .. }] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(*code, RefusalCode::Timeout);
    assert!(reason.contains("lost"), "{reason}");
    let (none, actions) = give(&mut *client, Input::Stopped);
    assert!(none.is_empty());
    assert_eq!(
        actions,
        [Action::TestOver(TestEnd::Aborted), Action::Closed]
    );
}

#[test]
fn what_is_announced_is_exchanged_before_a_user_who_stops_is_obeyed() {
    let [(mut client, _), _] = opened("1.6");
    assert_eq!(give(&mut *client, Input::End(Ending::Traffic)).1, []);
    assert_eq!(
        give(&mut *client, Input::Stream(StreamEvent::GrantSpent)).1,
        [Action::StopSenders]
    );
}

#[test]
fn a_test_by_time_goes_on_until_its_time_is_over() {
    let [(mut client, _), _] = opened("1.6");
    give(&mut *client, Input::Stream(StreamEvent::GrantSpent));
    let sent = vec![PacketCount::new(1)];
    give(&mut *client, Input::Finished { sent });
    give(&mut *client, Input::Reports(Vec::new()));
    let timed = TestSpec {
        stop: Stop::After(Duration::from_secs(1)),
        ..spec(Transport::Udp, 64)
    };
    give(&mut *client, begin(&timed));
    let (_, mut actions) = give(&mut *client, Input::Connected);
    let mut now = NOW;
    let mut grants = 0;
    while !actions.contains(&Action::StopSenders) {
        let given = actions
            .iter()
            .filter(|a| matches!(a, Action::Stream(StreamOrder::Grant(_))));
        grants += given.count();
        now = now.after(Duration::from_millis(50));
        client
            .handle(now, Input::Stream(StreamEvent::GrantSpent))
            .unwrap();
        actions = wishes(&mut *client).1;
    }
    let took = now.saturating_since(NOW);
    assert!(took >= Duration::from_secs(1), "{took:?}");
    assert!(
        took < Duration::from_millis(1200) && grants > 10,
        "{took:?}, {grants} grants"
    );
}

#[test]
fn tests_that_it_cannot_make_are_refused_with_what_to_do() {
    let bulk = TestSpec::tcp_bulk();
    let streams = TestSpec {
        streams: 2,
        ..spec(Transport::Tcp, 1)
    };
    let polling = TestSpec {
        wait: WaitMode::BusyPoll,
        ..spec(Transport::Tcp, 1)
    };
    let v6 = Ipv6Addr::LOCALHOST.into();
    let v4 = Ipv4Addr::LOCALHOST.into();
    for (local, spec, hint) in [
        (v4, &bulk, "linerate latency"),
        (v4, &streams, "--streams"),
        (v4, &polling, "--wait spin"),
        (v6, &spec(Transport::Udp, 1), "-4"),
    ] {
        let mut client = client_at(local);
        let (bytes, _) = wishes(&mut *server(release("1.5.0")));
        give(&mut *client, Input::Bytes(&bytes));
        let (_, actions) = give(&mut *client, begin(spec));
        let [Action::TestOver(TestEnd::Impossible(Refusal { message, .. }))] = &actions[..] else {
            panic!("{actions:?}");
        };
        assert!(message.contains(hint), "{message}");
    }
}

#[test]
fn a_client_that_leaves_at_once_wants_another_version() {
    let mut server = server(release("1.6.0"));
    wishes(&mut *server);
    let error = server.handle(NOW, Input::Eof).unwrap_err();
    assert!(error.to_string().contains("--sfnt-version"), "{error}");
}

#[test]
fn an_announcement_out_of_bounds_ends_the_session() {
    for (count, size) in [(-1, 1), (i32::MIN, 1), (1, -1), (1, 65_508), (1, i32::MAX)] {
        let [_, (mut server, _)] = opened("1.6");
        let bytes: Vec<u8> = [count, size]
            .into_iter()
            .flat_map(i32::to_le_bytes)
            .collect();
        let error = server.handle(NOW, Input::Bytes(&bytes)).unwrap_err();
        assert!(matches!(error, ProtocolError::Unexpected { .. }), "{error}");
        assert_eq!(wishes(&mut *server).1, [Action::Closed]);
    }
}

#[test]
fn a_client_that_never_ends_its_options_is_not_kept() {
    let mut server = server(release("1.6.0"));
    wishes(&mut *server);
    let outcome = (0..10_000).try_for_each(|_| server.handle(NOW, Input::Bytes(&[1; 1024])));
    assert!(outcome.is_err());
}

#[test]
fn the_usual_sizes_are_those_of_the_tool() {
    let sizes = |transport| -> Vec<u64> {
        let all = Sfnt::DEFAULT.usual_sizes(transport);
        all.into_iter().map(ByteCount::get).collect()
    };
    let udp = sizes(Transport::Udp);
    assert_eq!(udp[..4], [0, 1, 2, 4]);
    assert_eq!(
        udp[11..],
        [1024, 1472, 1473, 2048, 4096, 8192, 16384, 32768]
    );
    let tcp = sizes(Transport::Tcp);
    assert_eq!((tcp.len(), tcp[0], tcp[16]), (17, 1, 65536));
}

#[test]
fn the_release_in_use_is_known() {
    let release = Release::default();
    assert_eq!(Release::known(&release.version), Some(release));
    assert_eq!(Release::known("1.7.0"), None);
}
