use super::Netperf;
use super::block::{Block, Size, kind};
use super::classic;
use super::test::Test;
use super::{omni, request};
use crate::session::{
    Action, Input, Limits, PeerKind as _, RANDOM_BYTES, RefusalCode, ServerConfig, Session, TestEnd,
};
use linerate_model::sample::{ByteStreamSender, EndpointReport, StreamReport, TcpSocketReport};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, MonoInstant, PacketCount};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn every_test() -> [TestSpec; 5] {
    [
        TestSpec::tcp_bulk(),
        TestSpec {
            direction: Direction::Reverse,
            ..TestSpec::tcp_bulk()
        },
        TestSpec::udp_datagrams(Pace::Unpaced),
        TestSpec::ping_pong(Transport::Tcp),
        TestSpec::ping_pong(Transport::Udp),
    ]
}

#[test]
fn what_a_client_asks_for_is_what_the_server_reads() {
    for mut spec in every_test() {
        spec.work.set_payload(ByteCount::new(1000));
        spec.stop = Stop::After(Duration::from_secs(7));
        spec.socket.receive_buffer_bytes = Some(ByteCount::new(1 << 20));
        let order = request::read(&classic::request(&spec, HERE)).unwrap();
        assert_eq!(order.test, Test::from_spec(&spec));
        let same = (order.spec.transport(), order.spec.direction);
        assert_eq!(same, (spec.transport(), spec.direction));
        assert_eq!(order.length, Some(Duration::from_secs(7)));
        assert_eq!(order.spec.socket, spec.socket);
        // A server that only receives a byte stream reads as much at once as it likes.
        if order.test != Test::TcpStream {
            assert_eq!(order.spec.payload(), spec.payload(), "{spec:?}");
        }
    }
}

#[test]
fn buffers_are_left_to_the_system_by_minus_one() {
    let request = classic::request(&TestSpec::tcp_bulk(), HERE);
    assert_eq!((request.signed(0), request.signed(1)), (-1, -1));
    assert_eq!(request.word(14), 4, "the address family");
    let v6 = classic::request(&TestSpec::tcp_bulk(), Ipv6Addr::LOCALHOST.into());
    assert_eq!(v6.word(14), 6);
    let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped().into();
    assert_eq!(classic::request(&TestSpec::tcp_bulk(), mapped).word(14), 4);
}

#[test]
fn a_time_is_asked_for_in_whole_seconds_that_are_enough() {
    let length = |millis, warm_up| {
        classic::length(&TestSpec {
            stop: Stop::After(Duration::from_millis(millis)),
            warm_up: Duration::from_millis(warm_up),
            ..TestSpec::tcp_bulk()
        })
    };
    assert_eq!(length(1000, 0), 1);
    assert_eq!(length(1001, 0), 2);
    assert_eq!(length(2000, 100), 3);
    let bytes = Stop::Bytes(ByteCount::new(1));
    let spec = TestSpec {
        stop: bytes,
        ..TestSpec::tcp_bulk()
    };
    assert_eq!(classic::length(&spec), 86_400);
}

/// The words of an OMNI request that say which test it is.
fn omni_request(protocol: u32, direction: u32, sizes: [u32; 2]) -> Block {
    let mut words = [0_u32; 42];
    (words[0], words[6]) = (u32::MAX, u32::MAX);
    (words[1], words[7]) = (u32::MAX, u32::MAX);
    (words[5], words[11]) = (sizes[0], sizes[1]);
    words[14] = 3;
    (words[23], words[24]) = (protocol, direction);
    Block::new(kind::OMNI, u32::MAX, &words)
}

#[test]
fn an_omni_request_is_the_test_that_its_directions_say() {
    let none = [0, 0];
    for (protocol, direction, sizes, test) in [
        (6, 4, none, Test::TcpStream),
        (6, 2, none, Test::TcpMaerts),
        (17, 4, none, Test::UdpStream),
        (6, 6, [1, 1], Test::TcpRr),
        (17, 6, [32, 32], Test::UdpRr),
    ] {
        let order = request::read(&omni_request(protocol, direction, sizes)).unwrap();
        assert_eq!(order.test, test);
        assert_eq!(order.length, Some(Duration::from_secs(3)));
        assert_eq!(order.least, 1);
    }
}

#[test]
fn omni_requests_that_cannot_be_met_are_refused() {
    let mut crr = omni_request(6, 6, [1, 1]);
    assert_eq!(
        request::read(&omni_request(6, 6, [1, 1])).unwrap().test,
        Test::TcpRr
    );
    let mut words = [0; 42];
    (0..42).for_each(|at| words[at] = crr.word(at));
    words[12] = 4;
    crr = Block::new(kind::OMNI, 0, &words);
    for request in [
        crr,
        omni_request(132, 4, [0, 0]),
        omni_request(17, 2, [0, 0]),
        omni_request(6, 6, [1, 100]),
        omni_request(6, 6, [0, 0]),
        omni_request(6, 0, [0, 0]),
    ] {
        assert_eq!(request::read(&request).unwrap_err().status, 95);
    }
}

fn report(side: Side, bytes: u64, packets: u64) -> EndpointReport {
    let tcp = TcpSocketReport {
        samples: Vec::new(),
        congestion_control: Some("cubic".to_owned()),
    };
    let sender = ByteStreamSender {
        tcp,
        ..ByteStreamSender::default()
    };
    let stream = StreamReport::new(0, sender);
    let stream = stream.with_counts(ByteCount::new(bytes), PacketCount::new(packets));
    EndpointReport::of_streams(side, vec![stream])
}

#[test]
fn omni_results_have_both_halves_of_every_count() {
    let order = request::read(&omni_request(6, 2, [0, 0])).unwrap();
    let sent = report(Side::Sender, (5 << 32) + 7, 0);
    let results = omni::results(&order, &sent, Duration::from_secs(3), 4);
    assert_eq!((results.word(4), results.word(5)), (5, 7));
    assert_eq!((results.word(0), results.word(1)), (0, 0));
    assert_eq!(results.seconds(10), Some(Duration::from_secs(3)));
    assert_eq!(results.word(19), 4);
    assert_eq!(results.text(67, 4), "cubic");
    let order = request::read(&omni_request(17, 6, [32, 32])).unwrap();
    let answered = report(Side::Receiver, 3200, 100);
    let results = omni::results(&order, &answered, Duration::from_secs(3), 4);
    assert_eq!(results.word(9), 100, "transactions");
}

fn server(limits: Limits, turn_away: Option<RefusalCode>) -> Box<dyn Session> {
    let config = ServerConfig {
        facts: [("cores_online", 3)].into_iter().collect(),
        limits,
        turn_away: turn_away.map(|code| (code, String::new())),
        ..ServerConfig::new(HERE, [7; RANDOM_BYTES])
    };
    Netperf.server(config, MonoInstant::default())
}

/// What the server answers to this first request, and what else it does.
fn answers(mut server: Box<dyn Session>, request: &Block) -> (Vec<Block>, Vec<Action>) {
    let bytes = request.write(Size::Long);
    let outcome = server.handle(MonoInstant::default(), Input::Bytes(&bytes));
    assert_eq!(outcome, Ok(()));
    let (mut said, mut done) = (Vec::new(), Vec::new());
    while let Some(action) = server.poll_action() {
        match action {
            Action::Send(bytes) => said.push(Block::read(&bytes)),
            other => done.push(other),
        }
    }
    (said, done)
}

#[test]
fn a_test_of_another_type_is_answered_998() {
    let (said, done) = answers(
        server(Limits::default(), None),
        &Block::new(34, u32::MAX, &[]),
    );
    assert_eq!(said[0].status, 998);
    assert!(matches!(
        done.last(),
        Some(Action::TestOver(TestEnd::Refused(_)))
    ));
}

#[test]
fn limits_and_access_rules_hold() {
    let limits = Limits {
        max_duration: Duration::from_secs(1),
        ..Limits::default()
    };
    let (said, _) = answers(server(limits, None), &omni_request(6, 4, [0, 0]));
    assert_eq!((said[0].kind, said[0].status), (98, 1));
    let limits = Limits {
        max_rate: Some(BitRate::from_bps(1_000_000)),
        ..Limits::default()
    };
    let (said, _) = answers(server(limits, None), &omni_request(6, 4, [0, 0]));
    assert_eq!(said[0].status, 1);
    for (code, status) in [(RefusalCode::Busy, 16), (RefusalCode::Denied, 13)] {
        let turned = server(Limits::default(), Some(code));
        let (said, done) = answers(turned, &omni_request(6, 4, [0, 0]));
        assert_eq!(said[0].status, status);
        assert_eq!(done, [Action::Closed]);
    }
}

#[test]
fn small_requests_of_netperf_are_answered() {
    let (said, _) = answers(
        server(Limits::default(), None),
        &Block::new(kind::CPU_CALIBRATE, 0, &[]),
    );
    assert_eq!((said[0].kind, said[0].status), (kind::CPU_CALIBRATE, 0));
    assert_eq!(said[0].word(1), 3, "cores of this host");
}

#[test]
fn a_client_of_short_blocks_is_told_what_to_use() {
    let mut server = server(Limits::default(), None);
    let short = classic::request(&TestSpec::tcp_bulk(), HERE).write(Size::Short);
    server
        .handle(MonoInstant::default(), Input::Bytes(&short))
        .unwrap();
    let late = server.deadline().unwrap();
    let error = server.handle(late, Input::Timeout).unwrap_err();
    assert!(error.to_string().contains("2.6"), "{error}");
}

#[test]
fn a_receiver_that_hears_no_end_stops_by_its_clock() {
    let mut server = server(Limits::default(), None);
    let now = MonoInstant::default();
    let request = omni_request(17, 6, [1, 1]).write(Size::Long);
    server.handle(now, Input::Bytes(&request)).unwrap();
    let ports = vec![(Side::Receiver, vec![7])];
    let prepared = Input::Prepared(Ok(ports));
    server.handle(now, prepared).unwrap();
    server.handle(now, Input::Connected).unwrap();
    let end = server.deadline().unwrap();
    assert_eq!(end.saturating_since(now), Duration::from_secs(3 + 4));
    server.handle(end, Input::Timeout).unwrap();
    let reports = vec![report(Side::Receiver, 9, 9)];
    server
        .handle(end.after(Duration::from_secs(1)), Input::Reports(reports))
        .unwrap();
    let mut said = Vec::new();
    let mut is_drained = false;
    while let Some(action) = server.poll_action() {
        match action {
            Action::Send(bytes) => said.push(Block::read(&bytes)),
            Action::PeerFinished { .. } => is_drained = true,
            _ => {}
        }
    }
    assert!(is_drained);
    assert_eq!(said[0].word(11), 7, "the data port");
    assert_eq!(said[1].kind, kind::OMNI + 2);
    assert_eq!(said[1].seconds(10), Some(Duration::from_secs(3)));
}
