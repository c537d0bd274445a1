//! Headers and reports of every generation, and both ends with each other, without a network.

use super::header::{Amount, Back, Header, Request, Way, opening_len, write};
use super::report::Report;
use super::*;
use crate::framing::{Counters, Framing, Opening, Width};
use crate::session::{Action, Input, Limits, RefusalCode, TIMEOUT};
use linerate_model::sample::{EndpointReport, SequenceCount, Snapshot, StreamReport};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount};
use std::time::Duration;

const START: MonoInstant = MonoInstant::from_nanos(5_000_000_000);

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A first datagram: number, time, then these words, and a filling.
fn datagram(number: u32, rest: &[u32]) -> Vec<u8> {
    let mut bytes = words(&[number, 1, 2]);
    bytes.extend(words(rest));
    bytes.resize(1470, b'7');
    bytes
}

#[test]
fn every_generation_is_told_by_its_first_datagram() {
    let time = (-1000_i32).cast_unsigned();
    let base = [0, 1, 5001, 0, 1_048_576, time];
    let wide = |second: u32, flags: u32| {
        let mut all = vec![second];
        all.extend(base);
        all[1] = flags;
        all
    };
    let extended = [0x4800_0000, 1, 5001, 0, 0, time, 0, 0, 0, 0x0002_0002];
    let cases: Vec<(&str, Vec<u8>, Width, Counters, u8)> = vec![
        (
            "up to 2.0.9",
            datagram(0, &base),
            Width::Narrow,
            Counters::Bits32,
            0,
        ),
        (
            "zperf up to 4.1",
            datagram(0, &[0, 1, 0, 0, 10, 0]),
            Width::Narrow,
            Counters::Bits32,
            0,
        ),
        (
            "zperf from 4.2 on",
            datagram(0, &wide(0x7a7a_7a7a, 0)),
            Width::Wide,
            Counters::Bits32,
            0,
        ),
        (
            "2.0.13",
            datagram(0, &[&wide(0, 0x4800_0000)[..], &[0; 10]].concat()),
            Width::Wide,
            Counters::Bits64,
            0,
        ),
        (
            "from 2.1 on",
            datagram(1, &[&[0][..], &extended[..]].concat()),
            Width::Wide,
            Counters::Bits64,
            1,
        ),
        (
            "linerate",
            datagram(1, &wide(0, 0)),
            Width::Wide,
            Counters::Bits32,
            1,
        ),
        (
            "no header",
            words(&[0, 1, 2]),
            Width::Narrow,
            Counters::Bits32,
            0,
        ),
    ];
    for (name, bytes, width, counters, first) in cases {
        let header = Header::of_udp(&bytes).unwrap();
        assert_eq!(
            (header.width, header.counters, header.first),
            (width, counters, first),
            "{name}"
        );
        assert_eq!(header.way, Way::Forward { back: None }, "{name}");
    }
    assert_eq!(Header::of_udp(&datagram(u32::MAX, &base)), None);
}

#[test]
fn a_tcp_stream_is_data_unless_its_flags_say_a_header() {
    let plain = words(&[0, 2, 5001, 0, 0, (-1000_i32).cast_unsigned(), 0x3031_3233]);
    assert_eq!(Header::of_tcp(&plain).unwrap().skip, 24);
    for data in [b"0123456789012345678901234567".to_vec(), {
        let mut zperf = vec![0; 4];
        zperf.extend([b'z'; 200]);
        zperf
    }] {
        assert_eq!(Header::of_tcp(&data).unwrap().skip, 0);
    }
    let back = words(&[0x8000_0001, 1, 5002, 0, 0, (-500_i32).cast_unsigned()]);
    let header = Header::of_tcp(&back).unwrap();
    assert_eq!(header.skip, 24);
    assert_eq!(
        header.way,
        Way::Forward {
            back: Some((5002, Back::AtOnce))
        }
    );
    assert_eq!(header.amount, Amount::Time(Duration::from_secs(5)));
    assert!(Header::of_tcp(&words(&[0x0080_0000, 100, 1])).is_err());
    assert!(Header::of_tcp(&words(&[0x5000_0000, 1, 5001])).is_err());
}

#[test]
fn what_is_asked_for_is_read_as_it_was_meant() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for way in [Way::Reverse, Way::FullDuplex] {
            let rate = BitRate::from_bps(12_000_000_000);
            let request = Request {
                transport,
                way,
                streams: 1,
                buffer: 1400,
                rate: Some(rate),
                amount: Amount::Time(Duration::from_millis(2500)),
            };
            let bytes = write(&request);
            assert!(bytes.len() <= Opening::MOST);
            let header = match transport {
                Transport::Tcp => Header::of_tcp(&bytes).unwrap(),
                Transport::Udp => {
                    let mut datagram = words(&[1, 0, 0, 0]);
                    datagram.extend(&bytes);
                    Header::of_udp(&datagram).unwrap()
                }
            };
            assert_eq!(header.way, way);
            assert_eq!(header.rate, Some(rate));
            assert_eq!(header.buffer, Some(1400));
            assert_eq!(header.amount, request.amount);
            assert!(header.is_extended || transport == Transport::Tcp);
        }
    }
}

#[test]
fn headers_cut_off_anywhere_or_of_any_bytes_are_survived() {
    let request = Request {
        transport: Transport::Tcp,
        way: Way::FullDuplex,
        streams: 1,
        buffer: 1400,
        rate: None,
        amount: Amount::Bytes(7),
    };
    let whole = write(&request);
    for length in 0..=whole.len() {
        let part = &whole[..length];
        let needed = opening_len(part);
        assert_eq!(needed, if length < 4 { 4 } else { 64 });
        assert_eq!(
            Header::of_tcp(part).is_ok(),
            length < 4 || length >= 64,
            "{length}"
        );
        let _ = Header::of_udp(part);
        let _ = Report::read(part);
    }
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        let mut bytes = Vec::new();
        for _ in 0..20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.extend(((seed >> 33) as u32).to_be_bytes());
        }
        assert!(opening_len(&bytes) <= 256);
        let _ = Header::of_tcp(&bytes);
        let _ = Header::of_udp(&bytes);
        if let Some(report) = Report::read(&bytes) {
            let _ = report.as_stream(0, 9, 1470);
        }
    }
}

const REPORT: Report = Report {
    bytes: (7 << 32) + 5,
    duration: Duration::from_millis(2500),
    lost: 11,
    out_of_order: 3,
    datagrams: 17_007,
    jitter: Duration::from_micros(120),
};

#[test]
fn a_report_is_read_in_every_form_it_is_written_in() {
    for (width, is_extended, length) in [
        (Width::Narrow, false, 52),
        (Width::Wide, false, 56),
        (Width::Wide, true, 128),
    ] {
        let bytes = REPORT.write(width, is_extended, 1470).unwrap();
        assert_eq!(bytes.len(), length);
        assert_eq!(Report::read(&bytes), Some(REPORT));
        // As long as the server's buffer, as up to 2.0.13.
        let mut long = bytes.clone();
        long.resize(1470, b'0');
        assert_eq!(Report::read(&long), Some(REPORT), "{length}");
        for cut in 0..52 {
            assert_eq!(Report::read(&bytes[..cut]), None);
        }
    }
    let many = Report {
        datagrams: (9 << 32) + 1,
        ..REPORT
    };
    let bytes = many.write(Width::Wide, true, 1470).unwrap();
    assert_eq!(Report::read(&bytes), Some(many));
}

#[test]
fn a_report_never_takes_more_than_what_asked_for_it() {
    assert_eq!(REPORT.write(Width::Narrow, false, 51), None);
    assert_eq!(REPORT.write(Width::Wide, true, 55), None);
    assert_eq!(
        REPORT.write(Width::Wide, true, 100).map(|b| b.len()),
        Some(56)
    );
}

#[test]
fn what_was_received_is_right_in_every_way_of_counting() {
    let of = |datagrams, lost, bytes| Report {
        datagrams,
        lost,
        bytes,
        ..REPORT
    };
    let received = |report: Report| report.received(1000, 100);
    // 1000 sent, 30 lost; the end is counted.
    assert_eq!(received(of(1001, 30, 971 * 100)), 970);
    // Duplicates are bytes, but no datagrams.
    assert_eq!(received(of(1001, 0, 1005 * 100)), 1000);
    // linerate: the end is not counted.
    assert_eq!(received(of(1000, 30, 970 * 100)), 970);
    // zperf: datagrams are those received.
    assert_eq!(received(of(970, 30, 970 * 100)), 970);
    // 2.0.10 to 2.0.12 with the end −1001: both counts are too high.
    let high = (1 << 31) - 1001;
    assert_eq!(received(of(high, high - 971, 971 * 100)), 970);
}

#[test]
fn the_jitter_of_2_0_12_is_found_behind_its_additional_word() {
    let high = (1 << 31) - 1001;
    let mut bytes = words(&[
        0,
        0,
        0,
        0,
        0x8000_0000,
        0,
        97_000,
        2,
        0,
        high - 970,
        0,
        high,
        0,
        0,
        250,
    ]);
    bytes.resize(1470, 0);
    let report = Report::read(&bytes).unwrap();
    assert_eq!(report.jitter, Duration::from_micros(250));
}

fn client_config() -> ClientConfig {
    ClientConfig {
        local: std::net::Ipv4Addr::LOCALHOST.into(),
        version: "0.1.0".into(),
        timeout: TIMEOUT,
        credential: None,
        random: [7; crate::COOKIE_LEN - 1],
    }
}

fn server_config() -> ServerConfig {
    ServerConfig {
        local: std::net::Ipv4Addr::LOCALHOST.into(),
        sfnt: crate::sfnt::Release::default(),
        version: "0.1.0".into(),
        timeout: TIMEOUT,
        session: "s-1".into(),
        facts: std::collections::BTreeMap::new(),
        limits: Limits::default(),
        turn_away: None,
        credential: None,
    }
}

/// What a session wants done, but for datagrams; these are returned.
fn actions(session: &mut dyn Session) -> (Vec<Action>, Vec<Vec<u8>>) {
    let (mut all, mut datagrams) = (Vec::new(), Vec::new());
    while let Some(action) = session.poll_action() {
        match action {
            Action::SendDatagram { bytes, .. } => datagrams.push(bytes),
            other => all.push(other),
        }
    }
    (all, datagrams)
}

fn report(side: Side, streams: Vec<StreamReport>) -> EndpointReport {
    EndpointReport {
        side,
        streams,
        before: Snapshot::default(),
        after: Snapshot::default(),
        profile: None,
    }
}

/// A receiver that got 97 of 100 datagrams of 1000 bytes.
fn received() -> StreamReport {
    StreamReport {
        bytes: ByteCount::new(97_000),
        packets: PacketCount::new(97),
        duration: Duration::from_secs(1),
        sequence: Some(SequenceCount {
            received: PacketCount::new(97),
            next_expected: 100,
            ..SequenceCount::default()
        }),
        sent_there: Some(PacketCount::new(100)),
        ..StreamReport::default()
    }
}

fn spec(transport: Transport, direction: Direction) -> TestSpec {
    let base = match transport {
        Transport::Tcp => TestSpec::tcp_bulk(),
        Transport::Udp => TestSpec {
            payload_bytes: ByteCount::new(1000),
            ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(800_000)))
        },
    };
    TestSpec {
        direction,
        stop: Stop::After(Duration::from_secs(1)),
        ..base
    }
}

fn begun(spec: &TestSpec) -> (client::Client, Iperf2Framing) {
    let mut client = client::Client::new(&client_config());
    client
        .handle(START, Input::Begin(Box::new(spec.clone())))
        .unwrap();
    let (all, _) = actions(&mut client);
    let Some(Action::OpenStreams {
        framing: Framing::Iperf2(framing),
        ports,
    }) = all.last()
    else {
        panic!("{all:?}");
    };
    assert!(ports.is_empty());
    client.handle(START, Input::Connected).unwrap();
    if spec.transport == Transport::Udp && spec.direction != Direction::Reverse {
        let settled = client.deadline().unwrap();
        assert!(settled > START && settled < START.after(Duration::from_millis(100)));
        client.handle(settled, Input::Timeout).unwrap();
    }
    (client, *framing)
}

use crate::framing::Iperf2 as Iperf2Framing;

#[test]
fn a_datagram_test_ends_with_the_far_ends_own_report() {
    let (mut client, framing) = begun(&spec(Transport::Udp, Direction::Forward));
    let (all, first) = actions(&mut client);
    assert_eq!(all, [Action::StartSenders]);
    assert_eq!((first.len(), first[0].len()), (1, 1000));
    assert_eq!(word(&first[0], 0), Some(1));
    let sent = vec![PacketCount::new(100)];
    client.handle(START, Input::Finished { sent }).unwrap();
    let own = vec![report(Side::Sender, vec![StreamReport::default()])];
    client.handle(START, Input::Reports(own)).unwrap();
    let (all, ends) = actions(&mut client);
    assert!(all.is_empty());
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].len(), 1000);
    assert_eq!(word(&ends[0], 0), Some(101_u32.wrapping_neg()));

    // The server, whose engine saw the data and that end.
    let mut first = words(&[1, 0, 0, 0]);
    first.extend(framing.opening.as_bytes());
    first.resize(1000, 0);
    let mut server = server::Server::new(server_config(), START);
    let transport = Transport::Udp;
    server
        .handle(
            START,
            Input::Guest {
                transport,
                bytes: &first,
            },
        )
        .unwrap();
    let (all, _) = actions(&mut server);
    assert!(matches!(all[1], Action::Prepare { .. }), "{all:?}");
    server
        .handle(
            START,
            Input::Prepared {
                ports: vec![],
                token: 0,
            },
        )
        .unwrap();
    server.handle(START, Input::Connected).unwrap();
    assert_eq!(actions(&mut server).0, [Action::StartReceivers]);
    let saw = vec![report(Side::Receiver, vec![received()])];
    server.handle(START, Input::Reports(saw)).unwrap();
    let (_, answers) = actions(&mut server);
    assert_eq!(answers.len(), 1);
    // A repeated end gets it again.
    server
        .handle(
            START,
            Input::Datagram {
                stream: 0,
                bytes: &ends[0],
            },
        )
        .unwrap();
    assert_eq!(actions(&mut server).1, answers);
    let later = server.deadline().unwrap();
    server.handle(later, Input::Timeout).unwrap();
    assert_eq!(actions(&mut server).0, [Action::TestOver, Action::Closed]);

    client
        .handle(
            START,
            Input::Datagram {
                stream: 0,
                bytes: &answers[0],
            },
        )
        .unwrap();
    let (all, _) = actions(&mut client);
    let [Action::PeerReport(reports), Action::TestOver] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!(reports[0].side, Side::Receiver);
    assert_eq!(reports[0].streams[0].packets, PacketCount::new(97));
    assert_eq!(reports[0].streams[0].told.unwrap().lost, 3);
}

#[test]
fn an_end_is_repeated_for_a_bounded_time_and_then_the_far_end_is_named_as_missing() {
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
    let (all, asked) = actions(&mut client);
    assert_eq!(
        (all.as_slice(), asked.len()),
        (&[Action::StartReceivers][..], 2)
    );
    client.handle(START, Input::Heard { stream: 1 }).unwrap();
    let now = client.deadline().unwrap();
    client.handle(now, Input::Timeout).unwrap();
    assert_eq!(actions(&mut client).1.len(), 1);
    client.handle(now, Input::Heard { stream: 0 }).unwrap();
    // Its end was heard on one stream only.
    let streams = vec![
        received(),
        StreamReport {
            index: 1,
            ..StreamReport::default()
        },
    ];
    client
        .handle(now, Input::Reports(vec![report(Side::Receiver, streams)]))
        .unwrap();
    let (all, datagrams) = actions(&mut client);
    assert!(datagrams.is_empty());
    let [Action::PeerReport(reports), Action::TestOver] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!(reports[0].side, Side::Sender);
    assert_eq!(reports[0].streams.len(), 1);
    assert_eq!(reports[0].streams[0].packets, PacketCount::new(100));
    assert_eq!(reports[0].streams[0].bytes, ByteCount::new(100_000));
}

#[test]
fn a_far_end_that_cannot_send_is_named() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for direction in [Direction::Reverse, Direction::Duplex] {
            let (mut client, _) = begun(&spec(transport, direction));
            actions(&mut client);
            client.handle(START.after(TIMEOUT), Input::Timeout).unwrap();
            let (all, _) = actions(&mut client);
            let Some(Action::Stop { reason, .. }) = all.first() else {
                panic!("{all:?}");
            };
            assert!(reason.contains("from 2.1 on"), "{reason}");
            client.handle(START.after(TIMEOUT), Input::Stopped).unwrap();
            assert_eq!(actions(&mut client).0, [Action::TestAborted]);
        }
    }
}

#[test]
fn of_a_tcp_stream_the_far_end_tells_nothing() {
    for (direction, sides) in [
        (Direction::Forward, &[Side::Receiver][..]),
        (Direction::Reverse, &[Side::Sender]),
        (Direction::Duplex, &[Side::Receiver, Side::Sender]),
    ] {
        let (mut client, _) = begun(&spec(Transport::Tcp, direction));
        client.handle(START, Input::Reports(Vec::new())).unwrap();
        let (all, _) = actions(&mut client);
        let silent: Vec<_> = sides.iter().map(|side| report(*side, Vec::new())).collect();
        assert!(all.contains(&Action::PeerReport(silent)), "{all:?}");
        assert_eq!(all.last(), Some(&Action::TestOver));
    }
}

#[test]
fn tests_that_iperf2_cannot_make_are_refused() {
    let udp = spec(Transport::Udp, Direction::Forward);
    for wrong in [
        TestSpec {
            warm_up: Duration::from_secs(1),
            ..udp.clone()
        },
        TestSpec {
            workload: "ping-pong".to_owned(),
            ..udp.clone()
        },
        TestSpec {
            direction: Direction::Reverse,
            stop: Stop::Transactions(9),
            ..udp.clone()
        },
        TestSpec {
            direction: Direction::Duplex,
            payload_bytes: ByteCount::new(79),
            ..udp.clone()
        },
        TestSpec {
            payload_bytes: ByteCount::new(16),
            pace: Pace::At(BitRate::from_bps(10_000_000_000)),
            stop: Stop::After(Duration::from_mins(10)),
            ..udp
        },
    ] {
        let mut client = client::Client::new(&client_config());
        client
            .handle(START, Input::Begin(Box::new(wrong.clone())))
            .unwrap();
        let (all, _) = actions(&mut client);
        assert!(
            matches!(all.last(), Some(Action::Refused { .. })),
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
        let outcome = server.handle(START, Input::Guest { transport, bytes });
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
            matches!(&all[0], Action::Refused { code: said, .. } if *said == code),
            "{all:?}"
        );
        assert_eq!(all[1], Action::Closed);
    }
    let (is_ok, all) = outcome(&datagram(u32::MAX, &[]), Transport::Udp);
    assert!(!is_ok);
    assert_eq!(all, [Action::Closed]);
}
