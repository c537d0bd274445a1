//! What each end says and asks for.

use super::super::{SETTLE_ONE, client, server, word};
use super::{datagram, words};
use crate::iperf2::report::Report;
use crate::iperf2::streams::{Streams, Width};
use crate::session::{
    Action, ClientConfig, FIRST_ANSWER, Input, Limits, PeerEvent, RANDOM_BYTES, Refusal,
    RefusalCode, ServerConfig, Session, StreamEvent, StreamOrder, StreamTarget, TIMEOUT, TestEnd,
};
use crate::steps::OVERTIME;
use linerate_model::sample::{
    DatagramReceiver, DatagramSender, EndpointReport, PeerCounts, PeerStream, SequenceCount,
    StreamReport,
};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, MonoInstant, PacketCount};
use std::any::Any;
use std::net::Ipv4Addr;
use std::time::Duration;

pub(super) const START: MonoInstant = MonoInstant::from_nanos(5_000_000_000);

fn client_config() -> ClientConfig {
    ClientConfig {
        version: "0.1.0".into(),
        ..ClientConfig::new(Ipv4Addr::LOCALHOST.into(), [7; RANDOM_BYTES])
    }
}

pub(super) fn server_config() -> ServerConfig {
    ServerConfig {
        version: "0.1.0".into(),
        session: "s-1".into(),
        ..ServerConfig::new(Ipv4Addr::LOCALHOST.into(), [7; RANDOM_BYTES])
    }
}

/// What a session wants done, but for datagrams; these are returned.
pub(super) fn actions(session: &mut dyn Session) -> (Vec<Action>, Vec<Vec<u8>>) {
    let (mut all, mut datagrams) = (Vec::new(), Vec::new());
    while let Some(action) = session.poll_action() {
        match action {
            Action::Stream(StreamOrder::Datagram { bytes, .. }) => datagrams.push(bytes),
            other => all.push(other),
        }
    }
    (all, datagrams)
}

pub(super) fn report(side: Side, streams: Vec<StreamReport>) -> EndpointReport {
    EndpointReport::of_streams(side, streams)
}

/// What the peer counted in its own way.
fn peer_counts(stream: &StreamReport) -> PeerCounts {
    stream.work.get::<PeerStream>().unwrap().counts.unwrap()
}

/// A receiver that got 97 of 100 datagrams of 1000 bytes.
fn received() -> StreamReport {
    let receiver = DatagramReceiver {
        sequence: SequenceCount {
            received: PacketCount::new(97),
            next_expected: 100,
            ..SequenceCount::default()
        },
        sent_there: Some(PacketCount::new(100)),
        ..DatagramReceiver::default()
    };
    StreamReport {
        duration: Duration::from_secs(1),
        ..StreamReport::new(0, receiver).with_counts(ByteCount::new(97_000), PacketCount::new(97))
    }
}

fn spec(transport: Transport, direction: Direction) -> TestSpec {
    let base = match transport {
        Transport::Tcp => TestSpec::tcp_bulk(),
        Transport::Udp => TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(800_000)))
            .with_payload(ByteCount::new(1000)),
    };
    TestSpec {
        direction,
        stop: Stop::After(Duration::from_secs(1)),
        ..base
    }
}

fn begun(spec: &TestSpec) -> (client::Client, Streams) {
    let mut client = client::Client::new(&client_config());
    client
        .handle(START, Input::Begin(Box::new(spec.clone())))
        .unwrap();
    let (all, _) = actions(&mut client);
    let Some(Action::OpenStreams { format, target }) = all.last() else {
        panic!("{all:?}");
    };
    assert_eq!(*target, StreamTarget::Ports(Vec::new()));
    client.handle(START, Input::Connected).unwrap();
    if spec.transport() == Transport::Udp && spec.direction != Direction::Reverse {
        let settled = client.deadline().unwrap();
        assert!(settled > START && settled < START.after(Duration::from_millis(200)));
        client.handle(settled, Input::Timeout).unwrap();
    }
    let format: &dyn Any = format.as_ref();
    let format = format.downcast_ref().expect("this protocol's streams");
    (client, *format)
}

#[test]
#[expect(clippy::too_many_lines, reason = "one conversation, both ends in turn")]
fn a_datagram_test_ends_with_the_peers_own_report() {
    let (mut client, format) = begun(&spec(Transport::Udp, Direction::Forward));
    let (all, first) = actions(&mut client);
    assert_eq!(all, [Action::Start(Side::Sender)]);
    assert_eq!((first.len(), first[0].len()), (1, 1000));
    assert_eq!(word(&first[0], 0), Some(1));
    let sent = vec![PacketCount::new(100)];
    client.handle(START, Input::Finished { sent }).unwrap();
    let own = vec![report(
        Side::Sender,
        vec![StreamReport::new(0, DatagramSender::default())],
    )];
    client.handle(START, Input::Reports(own)).unwrap();
    let (all, ends) = actions(&mut client);
    assert!(all.is_empty());
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].len(), 1000);
    assert_eq!(word(&ends[0], 0), Some(102_u32.wrapping_neg()));

    // The server, whose engine saw the data and that end.
    let mut first = words(&[1, 0, 0, 0]);
    first.extend(format.opening.as_bytes());
    first.resize(1000, 0);
    let mut server = server::Server::new(server_config(), START);
    let transport = Transport::Udp;
    server
        .handle(
            START,
            Input::Stream(StreamEvent::Opened {
                transport,
                bytes: &first,
            }),
        )
        .unwrap();
    let (all, _) = actions(&mut server);
    assert!(matches!(all[1], Action::Prepare { .. }), "{all:?}");
    server.handle(START, Input::Prepared(Ok(vec![]))).unwrap();
    server.handle(START, Input::Connected).unwrap();
    assert_eq!(actions(&mut server).0, [Action::Start(Side::Receiver)]);
    // It counts the opening with the traffic.
    let mut with_opening = received();
    let receiver = with_opening.work.get_mut::<DatagramReceiver>().unwrap();
    receiver.sent_there = Some(PacketCount::new(101));
    receiver.sequence = SequenceCount {
        received: PacketCount::new(98),
        next_expected: 101,
        ..SequenceCount::default()
    };
    let saw = vec![report(Side::Receiver, vec![with_opening])];
    server.handle(START, Input::Reports(saw)).unwrap();
    let (_, answers) = actions(&mut server);
    assert_eq!(answers.len(), 1);
    // A repeated end gets it again.
    server
        .handle(
            START,
            Input::Stream(StreamEvent::Datagram {
                stream: 0,
                bytes: &ends[0],
            }),
        )
        .unwrap();
    assert_eq!(actions(&mut server).1, answers);
    let later = server.deadline().unwrap();
    server.handle(later, Input::Timeout).unwrap();
    assert_eq!(
        actions(&mut server).0,
        [Action::TestOver(TestEnd::Complete), Action::Closed]
    );

    client
        .handle(
            START,
            Input::Stream(StreamEvent::Datagram {
                stream: 0,
                bytes: &answers[0],
            }),
        )
        .unwrap();
    let (all, _) = actions(&mut client);
    let [
        Action::Peer(PeerEvent::Report(reports)),
        Action::TestOver(TestEnd::Complete),
    ] = &all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(reports[0].side, Side::Receiver);
    assert_eq!(reports[0].streams[0].packets, PacketCount::new(97));
    assert_eq!(peer_counts(&reports[0].streams[0]).lost, 3);

    // The next one waits until such a server has closed.
    let next = spec(Transport::Udp, Direction::Forward);
    client.handle(START, Input::Begin(Box::new(next))).unwrap();
    assert!(actions(&mut client).0.is_empty());
    let now = client.deadline().unwrap();
    client.handle(now, Input::Timeout).unwrap();
    assert!(matches!(
        actions(&mut client).0[..],
        [Action::OpenStreams { .. }]
    ));
}

/// What the peer answers to the end of a second of datagrams.
fn answer(bytes: u64, lost: u64, datagrams: u64) -> Vec<u8> {
    let theirs = Report {
        bytes,
        duration: Duration::from_secs(1),
        lost,
        out_of_order: 0,
        datagrams,
        jitter: Duration::ZERO,
        is_modern: true,
    };
    theirs.write(Width::Wide, true, 1000).unwrap()
}

/// The first answer counts: one that is repeated may be of a session that the peer has begun anew.
#[test]
fn an_answer_that_is_quicker_than_the_own_report_counts() {
    let (mut client, _) = begun(&spec(Transport::Udp, Direction::Forward));
    drop(actions(&mut client));
    let sent = vec![PacketCount::new(100)];
    client.handle(START, Input::Finished { sent }).unwrap();
    assert_eq!(actions(&mut client).1.len(), 1);
    let bytes = &answer(100_000, 0, 102);
    let heard = Input::Stream(StreamEvent::Datagram { stream: 0, bytes });
    client.handle(START, heard).unwrap();
    assert_eq!(actions(&mut client), (vec![], vec![]));
    client.handle(START, Input::Reports(Vec::new())).unwrap();
    let (all, ends) = actions(&mut client);
    assert_eq!(ends, Vec::<Vec<u8>>::new());
    let Some(Action::Peer(PeerEvent::Report(reports))) = all.first() else {
        panic!("{all:?}");
    };
    assert_eq!(peer_counts(&reports[0].streams[0]).datagrams, 102);
}

/// iperf2 answers every end, and warns that its answer was lost if nobody is there to hear a later one.
#[test]
fn who_said_an_end_again_is_there_for_the_later_answers() {
    let (mut client, _) = begun(&spec(Transport::Udp, Direction::Forward));
    drop(actions(&mut client));
    let sent = vec![PacketCount::new(100)];
    client.handle(START, Input::Finished { sent }).unwrap();
    client.handle(START, Input::Reports(Vec::new())).unwrap();
    let again = client.deadline().unwrap();
    client.handle(again, Input::Timeout).unwrap();
    assert_eq!(actions(&mut client).1.len(), 2);
    let bytes = &answer(100_000, 0, 100);
    for late in [0, 1] {
        let heard = Input::Stream(StreamEvent::Datagram { stream: 0, bytes });
        let now = again.after(Duration::from_millis(late));
        client.handle(now, heard).unwrap();
        assert_eq!(actions(&mut client), (vec![], vec![]));
    }
    let over = client.deadline().unwrap();
    assert!(over >= again.after(Duration::from_millis(200)));
    client.handle(over, Input::Timeout).unwrap();
    let (all, ends) = actions(&mut client);
    assert!(ends.is_empty());
    assert_eq!(all.last(), Some(&Action::TestOver(TestEnd::Complete)));
}

/// iperf2 from 2.1 on reads what comes after its report into the report's own memory, and sends that again.
#[test]
fn an_echo_of_the_own_report_is_no_report_of_the_peer() {
    let (mut client, _) = begun(&spec(Transport::Udp, Direction::Duplex));
    drop(actions(&mut client));
    let sent = vec![PacketCount::new(100)];
    client.handle(START, Input::Finished { sent }).unwrap();
    // A receiver would take the answer for traffic.
    assert!(actions(&mut client).1.is_empty());
    let own = vec![
        report(
            Side::Sender,
            vec![StreamReport::new(0, DatagramSender::default())],
        ),
        report(Side::Receiver, vec![received()]),
    ];
    client.handle(START, Input::Reports(own)).unwrap();
    assert_eq!(actions(&mut client).1.len(), 1);

    let mut hear = |bytes: &[u8]| {
        let heard = Input::Stream(StreamEvent::Datagram { stream: 0, bytes });
        client.handle(START, heard).unwrap();
        actions(&mut client)
    };
    let mut end = words(&[101_u32.wrapping_neg(), 0, 0, u32::MAX]);
    end.resize(1000, 0);
    let (_, answers) = hear(&end);
    assert_eq!(answers.len(), 1);
    assert_eq!(hear(&answers[0]), (vec![], vec![]));
    let (all, _) = hear(&answer(98_000, 4, 102));
    let Some(Action::Peer(PeerEvent::Report(reports))) = all.first() else {
        panic!("{all:?}");
    };
    let far = &reports[0].streams[0];
    assert_eq!((far.packets.get(), peer_counts(far).lost), (96, 4));
}

#[test]
fn an_end_is_repeated_for_a_bounded_time_and_then_the_peer_is_named_as_missing() {
    let (mut client, _) = begun(&spec(Transport::Udp, Direction::Forward));
    let sent = vec![PacketCount::new(100)];
    client.handle(START, Input::Finished { sent }).unwrap();
    client.handle(START, Input::Reports(Vec::new())).unwrap();
    actions(&mut client);
    let mut ends = 0;
    let stop = loop {
        let now = client.deadline().expect("it waits for something");
        client.handle(now, Input::Timeout).unwrap();
        let (all, datagrams) = actions(&mut client);
        ends += datagrams.len();
        if let Some(stop) = all.into_iter().next() {
            break stop;
        }
        assert!(ends < 1000);
    };
    let Action::Stop { code, reason, .. } = stop else {
        panic!("{stop:?}");
    };
    assert_eq!(code, RefusalCode::Timeout);
    assert!(reason.contains("iperf -s -u"), "{reason}");
}

#[test]
fn a_far_sender_is_asked_until_every_stream_of_it_has_begun() {
    let two = TestSpec {
        streams: 2,
        ..spec(Transport::Udp, Direction::Reverse)
    };
    let (mut client, _) = begun(&two);
    let mut asks = vec![actions(&mut client)];
    // The second stream is opened later; then both are asked again until they are heard.
    let mut now = START;
    for _ in 0..2 {
        now = client.deadline().unwrap();
        client.handle(now, Input::Timeout).unwrap();
        asks.push(actions(&mut client));
    }
    assert_eq!(asks[0].0, [Action::Start(Side::Receiver)]);
    let counts: Vec<_> = asks.iter().map(|(_, datagrams)| datagrams.len()).collect();
    assert_eq!(counts, [1, 2, 2]);
    client
        .handle(now, Input::Stream(StreamEvent::FirstData { stream: 1 }))
        .unwrap();
    now = client.deadline().unwrap();
    client.handle(now, Input::Timeout).unwrap();
    assert_eq!(actions(&mut client).1.len(), 1);
    client
        .handle(now, Input::Stream(StreamEvent::FirstData { stream: 0 }))
        .unwrap();
    // Its end was heard on one stream only.
    let streams = vec![
        received(),
        StreamReport::new(1, DatagramReceiver::default()),
    ];
    client
        .handle(now, Input::Reports(vec![report(Side::Receiver, streams)]))
        .unwrap();
    let (all, datagrams) = actions(&mut client);
    assert!(datagrams.is_empty());
    let [
        Action::Peer(PeerEvent::Report(reports)),
        Action::TestOver(TestEnd::Complete),
    ] = &all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(reports[0].side, Side::Sender);
    assert_eq!(reports[0].streams.len(), 1);
    assert_eq!(reports[0].streams[0].packets, PacketCount::new(100));
    assert_eq!(reports[0].streams[0].bytes, ByteCount::new(100_000));
}

/// Streams of a peer that sends begin one after the other.
/// Once an iperf2 has sent its end, it takes the next datagram of the same socket for the answer to it.
#[test]
fn a_peer_sends_until_nothing_of_ours_can_still_come() {
    let told = |transport, direction| {
        let (_, streams) = begun(&spec(transport, direction));
        // Hundredths of a second, negative.
        let amount = word(streams.opening.as_bytes(), 20);
        -amount.map(u32::cast_signed).unwrap()
    };
    assert_eq!(told(Transport::Udp, Direction::Duplex), 106);
    assert_eq!(told(Transport::Tcp, Direction::Duplex), 100);
    assert_eq!(told(Transport::Udp, Direction::Reverse), 100);
}

#[test]
fn once_one_stream_has_come_the_others_may_take_their_time() {
    let two = TestSpec {
        streams: 2,
        stop: Stop::After(TIMEOUT),
        ..spec(Transport::Tcp, Direction::Reverse)
    };
    let (mut client, _) = begun(&two);
    actions(&mut client);
    let heard = Input::Stream(StreamEvent::FirstData { stream: 0 });
    client.handle(START, heard).unwrap();
    client
        .handle(START.after(FIRST_ANSWER), Input::Timeout)
        .unwrap();
    assert_eq!(actions(&mut client), (vec![], vec![]));
    client.handle(START.after(TIMEOUT), Input::Timeout).unwrap();
    let (all, _) = actions(&mut client);
    let Some(Action::Stop { reason, .. }) = all.first() else {
        panic!("{all:?}");
    };
    assert!(reason.contains("within 10 s"), "{reason}");
}

#[test]
fn a_peer_that_cannot_send_is_named() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for direction in [Direction::Reverse, Direction::Duplex] {
            let (mut client, _) = begun(&spec(transport, direction));
            actions(&mut client);
            let due = START.after(FIRST_ANSWER + SETTLE_ONE);
            client.handle(due, Input::Timeout).unwrap();
            let (all, _) = actions(&mut client);
            let Some(Action::Stop { reason, .. }) = all.first() else {
                panic!("{all:?}");
            };
            assert!(reason.contains("within 4 s"), "{reason}");
            assert!(reason.contains("from 2.1 on"), "{reason}");
            client.handle(START.after(TIMEOUT), Input::Stopped).unwrap();
            assert_eq!(actions(&mut client).0, [Action::TestOver(TestEnd::Aborted)]);
        }
    }
}

#[test]
fn of_a_tcp_stream_the_peer_tells_nothing() {
    for (direction, sides) in [
        (Direction::Forward, &[Side::Receiver][..]),
        (Direction::Reverse, &[Side::Sender]),
        (Direction::Duplex, &[Side::Receiver, Side::Sender]),
    ] {
        let (mut client, _) = begun(&spec(Transport::Tcp, direction));
        client.handle(START, Input::Reports(Vec::new())).unwrap();
        let (all, _) = actions(&mut client);
        let silent: Vec<_> = sides.iter().map(|side| report(*side, Vec::new())).collect();
        assert!(
            all.contains(&Action::Peer(PeerEvent::Report(silent))),
            "{all:?}"
        );
        assert_eq!(all.last(), Some(&Action::TestOver(TestEnd::Complete)));
    }
}

#[test]
fn a_far_sender_of_datagrams_took_as_long_as_its_stamps_say() {
    let took = Duration::from_millis(990);
    let far = far_sender(|receiver| receiver.sent_in = Some(took)).unwrap();
    assert_eq!((far.packets.get(), far.bytes.get()), (100, 100_000));
    assert_eq!(far.duration, took);
}

#[test]
fn a_far_sender_whose_end_was_lost_sent_what_the_numbers_show_if_little_can_be_missing() {
    let sent = |received: u64, took_millis: u64| {
        let far = far_sender(|receiver| {
            receiver.sent_there = None;
            receiver.sent_in = Some(Duration::from_millis(took_millis));
            receiver.sequence.next_expected = 10_000;
            receiver.sequence.received = PacketCount::new(received);
        });
        far.map(|far| far.packets.get())
    };
    // Of the second 1 ms is left, for 11 datagrams at most.
    assert_eq!(sent(8_899, 999), Some(10_000));
    assert_eq!(sent(8_901, 999), None);
    // It took as long as it was to, and longer.
    assert_eq!(sent(9_900, 1000), Some(10_000));
    assert_eq!(sent(9_900, 1001), Some(10_000));
    assert_eq!(sent(9_901, 1001), None);
    assert_eq!(sent(10_000, 1000), None);
    assert_eq!(sent(5_000, 0), None);
}

/// What is reported of a far sender of a second of datagrams, by what the receiver here saw of it.
fn far_sender(change: impl FnOnce(&mut DatagramReceiver)) -> Option<StreamReport> {
    let (mut client, _) = begun(&spec(Transport::Udp, Direction::Reverse));
    drop(actions(&mut client));
    let mut own = received();
    change(own.work.get_mut().unwrap());
    let own = vec![report(Side::Receiver, vec![own])];
    client.handle(START, Input::Reports(own)).unwrap();
    let (all, _) = actions(&mut client);
    let Some(Action::Peer(PeerEvent::Report(reports))) = all.into_iter().next() else {
        panic!("no report");
    };
    let sender = reports
        .into_iter()
        .find(|report| report.side == Side::Sender)?;
    sender.streams.into_iter().next()
}

#[test]
fn tests_that_iperf2_cannot_make_are_refused() {
    let udp = spec(Transport::Udp, Direction::Forward);
    for wrong in [
        TestSpec {
            warm_up: Duration::from_secs(1),
            ..udp.clone()
        },
        TestSpec::ping_pong(Transport::Udp),
        TestSpec {
            direction: Direction::Reverse,
            stop: Stop::Transactions(9),
            ..udp.clone()
        },
        TestSpec {
            direction: Direction::Duplex,
            ..udp.clone().with_payload(ByteCount::new(79))
        },
        TestSpec {
            stop: Stop::After(Duration::from_mins(10)),
            ..udp
                .with_payload(ByteCount::new(16))
                .with_pace(Pace::At(BitRate::from_bps(10_000_000_000)))
        },
    ] {
        let mut client = client::Client::new(&client_config());
        client
            .handle(START, Input::Begin(Box::new(wrong.clone())))
            .unwrap();
        let (all, _) = actions(&mut client);
        assert!(
            matches!(all.last(), Some(Action::TestOver(TestEnd::Impossible(_)))),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_server_keeps_its_limits_and_its_peace() {
    let limits = Limits {
        max_rate: Some(BitRate::from_bps(1_000_000)),
        ..Limits::default()
    };
    let plain = |rate| datagram(1, &[0, 0, 1, 5001, 0, rate, 0]);
    let outcome = |bytes: &[u8], transport| {
        let mut server = server::Server::new(
            ServerConfig {
                limits,
                ..server_config()
            },
            START,
        );
        let outcome = server.handle(
            START,
            Input::Stream(StreamEvent::Opened { transport, bytes }),
        );
        let (all, datagrams) = actions(&mut server);
        assert!(datagrams.is_empty());
        (outcome.is_ok(), all)
    };
    let (_, all) = outcome(&plain(900_000), Transport::Udp);
    assert!(matches!(all[1], Action::Prepare { .. }));
    for (bytes, transport) in [
        (plain(2_000_000), Transport::Udp),
        // A TCP stream has no rate, and this server allows none without.
        (words(&[0, 1, 5001, 0, 0, 0]), Transport::Tcp),
    ] {
        let (_, all) = outcome(&bytes, transport);
        let code = RefusalCode::Limit;
        assert!(
            matches!(&all[0], Action::TestOver(TestEnd::Refused(Refusal { code: said, .. })) if *said == code),
            "{all:?}"
        );
        assert_eq!(all[1], Action::Closed);
    }
    let (is_ok, all) = outcome(&datagram(u32::MAX, &[]), Transport::Udp);
    assert!(!is_ok);
    assert_eq!(all, [Action::Closed]);
}

/// A client that sends does not say for how long: the server's limit is all that ends it.
#[test]
fn a_client_that_goes_on_is_ended_by_the_server_s_limit() {
    let max_duration = Duration::from_secs(2);
    for (bytes, transport) in [
        (datagram(1, &[0, 0, 1, 5001, 0, 0, 0]), Transport::Udp),
        (words(&[0, 1, 5001, 0, 0, 0]), Transport::Tcp),
    ] {
        let limits = Limits {
            max_duration,
            ..Limits::default()
        };
        let config = ServerConfig {
            limits,
            ..server_config()
        };
        let mut server = server::Server::new(config, START);
        let opened = Input::Stream(StreamEvent::Opened {
            transport,
            bytes: &bytes,
        });
        server.handle(START, opened).unwrap();
        server
            .handle(START, Input::Prepared(Ok(Vec::new())))
            .unwrap();
        server.handle(START, Input::Connected).unwrap();
        let due = server.deadline().unwrap();
        assert_eq!(due, START.after(max_duration + OVERTIME), "{transport}");
        actions(&mut server);
        server.handle(due, Input::Timeout).unwrap();
        let (all, _) = actions(&mut server);
        let code = RefusalCode::Limit;
        assert!(
            matches!(&all[..], [Action::Stop { code: said, .. }] if *said == code),
            "{all:?}"
        );
    }
}

#[test]
fn every_form_of_our_own_report_is_read_as_what_came() {
    let stream = received();
    let end = stream.work.get::<DatagramReceiver>().unwrap();
    let report = Report::from_receiver(&stream, end);
    for is_extended in [false, true] {
        let bytes = report.write(Width::Wide, is_extended, 1000).unwrap();
        assert_eq!(bytes.len() == 128, is_extended);
        // The one that opened the stream is among those that came, and nothing else beyond what was sent.
        assert_eq!(Report::read(&bytes).unwrap().received(99, 1000), 96);
    }
}
