use super::params;
use super::results::{self, End};
use linerate_model::sample::{
    DatagramReceiver, DatagramSender, EndpointReport, Omitted, SequenceCount, StreamReport,
    StreamWork,
};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, PacketCount};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::time::Duration;

#[test]
fn what_a_client_asks_for_is_what_the_server_reads() {
    let mut spec = TestSpec {
        direction: Direction::Duplex,
        streams: 3,
        stop: Stop::After(Duration::from_secs(7)),
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(30_000_000)))
            .with_payload(ByteCount::new(1000))
    };
    spec.socket.send_buffer_bytes = Some(ByteCount::new(1 << 20));
    spec.socket.receive_buffer_bytes = spec.socket.send_buffer_bytes;
    spec.socket.congestion_control = Some("reno".to_owned());
    spec.socket.traffic_class = Some(0x28);
    spec.socket.no_delay = true;
    assert_eq!(params::obstacle(&spec), None);
    let read = params::read(&params::to_json(&spec)).unwrap();
    assert_eq!(read.spec, spec);
    assert_eq!(read.counters, crate::iperf3::Counters::Bits64);
}

#[test]
fn no_flag_is_ever_written_as_false_and_numbers_are_numbers() {
    for direction in [Direction::Forward, Direction::Reverse, Direction::Duplex] {
        let spec = TestSpec {
            direction,
            ..TestSpec::tcp_bulk()
        };
        let value = params::to_json(&spec);
        for (key, value) in value.as_object().unwrap() {
            assert!(!value.is_null() && *value != json!(false), "{key}");
            let is_flag = matches!(
                key.as_str(),
                "tcp" | "udp" | "reverse" | "bidirectional" | "nodelay"
            );
            assert_eq!(value.is_boolean(), is_flag, "{key}");
        }
    }
}

#[test]
fn flags_and_numbers_are_read_in_every_form_that_a_version_wrote() {
    let read = |value| params::read(&value).map(|test| test.spec);
    let spec = read(json!({"tcp": 1, "reverse": 1, "time": 1.0e1, "parallel": 2.0})).unwrap();
    assert_eq!(spec.direction, Direction::Reverse);
    assert_eq!(spec.stop, Stop::After(Duration::from_secs(10)));
    assert_eq!(spec.streams, 2);
    let spec = read(json!({"udp": true, "reverse": false, "len": 100, "bandwidth": 1e6})).unwrap();
    assert_eq!(spec.direction, Direction::Forward);
    assert_eq!(spec.pace(), Pace::At(BitRate::from_bps(1_000_000)));
}

#[test]
fn parameters_out_of_bounds_are_refused_with_their_code() {
    for (value, code) in [
        (json!({"tcp": true, "parallel": 129}), 6),
        (json!({"tcp": true, "parallel": 0}), 6),
        (json!({"tcp": true, "parallel": -1}), 114),
        (json!({"tcp": true, "len": 1e300}), 114),
        (json!({"tcp": true, "len": 2_000_000}), 7),
        (json!({"udp": true, "len": 8}), 20),
        (json!({"udp": true, "len": 65_508}), 20),
        (json!({"tcp": true, "time": 86_401}), 37),
        (json!({"tcp": true, "omit": 601}), 12),
        (
            json!({"tcp": true, "reverse": true, "bidirectional": true}),
            25,
        ),
        (json!({"tcp": true, "congestion": "../x"}), 134),
        (json!({"tcp": true, "TOS": 256}), 21),
        (json!({"sctp": true}), 114),
        (json!({}), 114),
        (json!({"tcp": true, "time": "10"}), 114),
    ] {
        let wrong = params::read(&value).unwrap_err();
        assert_eq!(wrong.code, code, "{value}: {}", wrong.cause);
    }
}

#[test]
fn what_iperf3_cannot_carry_is_refused_with_a_remedy() {
    use linerate_model::spec::Transport;
    let udp = TestSpec::udp_datagrams(Pace::Unpaced);
    let warm_up = Duration::from_millis(1500);
    for (spec, word) in [
        (TestSpec::ping_pong(Transport::Udp), "linerate serve"),
        (
            TestSpec {
                warm_up,
                ..udp.clone()
            },
            "whole seconds",
        ),
        (
            TestSpec {
                direction: Direction::Reverse,
                stop: Stop::Bytes(ByteCount::new(1)),
                ..udp
            },
            "-t",
        ),
    ] {
        let why = params::obstacle(&spec).unwrap();
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn results_of_a_lying_server_are_refused_or_cut() {
    use super::results::from_json;
    let spec = TestSpec::udp_datagrams(Pace::Unpaced);
    let good =
        json!({"id": 1, "bytes": 10, "jitter": 0.001, "errors": 2, "packets": 9, "end_time": 1.0});
    let with = |key: &str, value: Value| {
        let mut entry = good.clone();
        entry[key] = value;
        from_json(End::Server, &spec, &json!({"streams": [entry]}))
    };
    let of = |value| with("retransmits", value).unwrap()[0].streams[0].clone();
    let stream = of(json!(-1));
    assert_eq!(
        (stream.packets.get(), stream.work.rtp_jitter_ns()),
        (7, Some(1_000_000))
    );
    // 3.0 reads the upper half of each number.
    let old = json!({"id": 1, "bytes": 5 * spec.payload().get(), "errors": 0, "packets": 0});
    let old = from_json(End::Server, &spec, &json!({"streams": [old]})).unwrap();
    assert_eq!(old[0].streams[0].packets.get(), 5);
    for (key, value) in [
        ("bytes", json!(-5)),
        ("bytes", json!(1e300)),
        ("bytes", json!(u64::MAX)),
        ("bytes", json!(null)),
        ("packets", json!("9")),
        ("id", json!(2)),
    ] {
        assert!(with(key, value.clone()).is_err(), "{key} {value}");
    }
    for (key, value) in [
        ("errors", json!(1000)),
        ("errors", json!(-3)),
        ("jitter", json!(-1.0)),
        ("jitter", json!(1e30)),
        ("end_time", json!(-1.0)),
        ("start_time", json!(1e18)),
    ] {
        let stream = with(key, value.clone()).unwrap()[0].streams[0].clone();
        assert!(stream.packets.get() <= 9, "{key} {value}");
        assert!(
            stream
                .work
                .rtp_jitter_ns()
                .is_none_or(|nanos| nanos <= 10_000_000_000)
        );
    }
    assert!(
        from_json(
            End::Server,
            &spec,
            &json!({"streams": vec![good.clone(); 2]})
        )
        .is_err()
    );
    assert!(from_json(End::Server, &spec, &json!({})).is_err());
}

/// One stream's counts, of one side.
fn report(side: Side, stream: StreamReport) -> EndpointReport {
    EndpointReport::of_streams(side, vec![stream])
}

fn sent(packets: u64, before: u64) -> StreamReport {
    let sender = DatagramSender {
        omitted: Some(omitted(before)),
        ..DatagramSender::default()
    };
    StreamReport::new(0, sender).with_counts(ByteCount::default(), PacketCount::new(packets))
}

fn received(packets: u64, before: u64) -> StreamReport {
    let receiver = DatagramReceiver {
        omitted: Some(omitted(before)),
        ..DatagramReceiver::default()
    };
    StreamReport::new(0, receiver).with_counts(ByteCount::default(), PacketCount::new(packets))
}

fn omitted(before: u64) -> Omitted {
    Omitted {
        packets: PacketCount::new(before),
        missing: PacketCount::new(0),
    }
}

/// We sent 20 in the warm-up and 100 after it. The server ended its warm-up after 22, of which 3 were missing; 7
/// more were missing in all, and the last 5 never came.
#[test]
fn loss_after_a_warm_up_is_that_of_the_counted_datagrams_and_the_tail() {
    let spec = TestSpec {
        warm_up: Duration::from_secs(1),
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    let entry = json!({"id": 1, "bytes": 10, "jitter": 0, "errors": 10, "packets": 115,
                       "omitted_errors": 3, "omitted_packets": 22});
    let own = [report(Side::Sender, sent(100, 20))];
    let aligned = |entry: Value| {
        let mut theirs =
            results::from_json(End::Server, &spec, &json!({"streams": [entry]})).unwrap();
        results::align(&spec, &own, &mut theirs).map(|()| theirs[0].streams[0].packets.get())
    };
    assert_eq!(aligned(entry.clone()), Ok(100 - 7 - 5));
    let mut old = entry;
    old.as_object_mut().unwrap().remove("omitted_packets");
    let why = aligned(old).unwrap_err();
    assert!(why.contains("3.14") && why.contains("--warm-up"), "{why}");
}

/// The server sent 130 in all, 28 of them before its own end of the warm-up; we began to count after number 30.
#[test]
fn a_far_sender_counts_from_where_this_end_did() {
    let spec = TestSpec {
        direction: Direction::Reverse,
        warm_up: Duration::from_secs(1),
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    let own = [report(Side::Receiver, received(96, 30))];
    for entry in [
        json!({"id": 1, "bytes": 10, "packets": 130, "omitted_packets": 28, "omitted_errors": 0}),
        json!({"id": 1, "bytes": 10, "packets": 130}),
    ] {
        let mut theirs =
            results::from_json(End::Server, &spec, &json!({"streams": [entry]})).unwrap();
        results::align(&spec, &own, &mut theirs).unwrap();
        assert_eq!(theirs[0].streams[0].packets.get(), 100);
        let bytes = 100 * spec.payload().get();
        assert_eq!(theirs[0].streams[0].bytes.get(), bytes);
    }
}

/// A second and a half of CPU in two seconds, a third of it in the kernel.
#[test]
fn a_peer_hears_what_the_traffic_took_of_a_core() {
    let mut own = report(Side::Receiver, received(96, 0));
    (own.before.at_ns, own.after.at_ns) = (1_000_000_000, 3_000_000_000);
    own.streams[0].thread_cpu = Duration::from_millis(1500);
    own.streams[0].thread_system_cpu = Some(Duration::from_millis(500));
    let spec = TestSpec::udp_datagrams(Pace::Unpaced);
    let value = results::to_json(End::Server, &spec, &[own], Duration::ZERO);
    assert_eq!(value["cpu_util_total"], 75.0);
    assert_eq!(value["cpu_util_user"], 50.0);
    assert_eq!(value["cpu_util_system"], 25.0);
}

#[test]
fn a_stock_client_hears_of_the_tail_that_its_own_server_would_not_see() {
    let spec = TestSpec::udp_datagrams(Pace::Unpaced);
    let receiver = DatagramReceiver {
        sequence: SequenceCount {
            received: PacketCount::new(90),
            next_expected: 95,
            ..SequenceCount::default()
        },
        ..DatagramReceiver::default()
    };
    let mut own = vec![report(Side::Receiver, StreamReport::new(0, receiver))];
    results::add_tail(&mut own, &[report(Side::Sender, sent(100, 0))]);
    let value = results::to_json(End::Server, &spec, &own, Duration::ZERO);
    assert_eq!(value["streams"][0]["packets"], 100);
    assert_eq!(value["streams"][0]["errors"], 10);
}

#[test]
fn an_error_of_one_word_is_understood_when_the_connection_ends() {
    use crate::{
        Action, ClientConfig, Input, PeerKind as _, RANDOM_BYTES, Refusal, RefusalCode, TestEnd,
    };
    use linerate_model::MonoInstant;
    let now = MonoInstant::default();
    let config = ClientConfig::new(Ipv4Addr::LOCALHOST.into(), [1; RANDOM_BYTES]);
    let mut client = super::Iperf3.client(config, now);
    client.handle(now, Input::Bytes(b"\x09")).unwrap();
    client
        .handle(now, Input::Begin(Box::new(TestSpec::tcp_bulk())))
        .unwrap();
    client.handle(now, Input::Bytes(b"\xfe\0\0\0\x8e")).unwrap();
    client.handle(now, Input::Eof).unwrap();
    let refused = std::iter::from_fn(|| client.poll_action()).any(|action| {
        matches!(
            action,
            Action::TestOver(TestEnd::Refused(Refusal {
                code: RefusalCode::Denied,
                ..
            }))
        )
    });
    assert!(refused && client.deadline().is_none(), "{client:?}");
}

#[test]
fn a_congestion_control_that_this_host_lacks_is_told_by_iperf3s_own_code() {
    use crate::{Action, Ending, Input, PeerKind as _, RefusalCode};
    use linerate_model::MonoInstant;
    let now = MonoInstant::default();
    let mut server = super::Iperf3.server(server_config(), now);
    server.handle(now, Input::Bytes(&[0; 37])).unwrap();
    let wanted = super::inbox::framed(&json!({"tcp": true, "congestion": "pigeon"}));
    server.handle(now, Input::Bytes(&wanted)).unwrap();
    let ports = Vec::new();
    server.handle(now, Input::Prepared(Ok(ports))).unwrap();
    let (code, reason) = (RefusalCode::Unsupported, "no pigeons here".to_owned());
    server
        .handle(now, Input::End(Ending::Test { code, reason }))
        .unwrap();
    let said = std::iter::from_fn(|| server.poll_action())
        .any(|action| action == Action::Send(b"\xfe\0\0\0\x86\0\0\0\0".to_vec()));
    assert!(said);
}

fn server_config() -> crate::ServerConfig {
    crate::ServerConfig::new(Ipv4Addr::LOCALHOST.into(), [7; crate::RANDOM_BYTES])
}

/// The server's first word after the test, its receivers' orders, and what it answers once they are done.
#[test]
fn a_server_waits_for_the_bytes_that_its_client_says_it_sent() {
    use crate::{Action, Input, PeerKind as _, Sent};
    use linerate_model::MonoInstant;
    let now = MonoInstant::default();
    for (omit, expected) in [
        (0, Sent::Bytes(vec![ByteCount::new(501_600)])),
        (1, Sent::Untold),
    ] {
        let mut server = super::Iperf3.server(server_config(), now);
        let mut said = |input: Input<'_>| {
            server.handle(now, input).unwrap();
            std::iter::from_fn(|| server.poll_action()).collect::<Vec<_>>()
        };
        said(Input::Bytes(&[0; 37]));
        let wanted = super::inbox::framed(&json!({"tcp": true, "time": 1, "omit": omit}));
        said(Input::Bytes(&wanted));
        said(Input::Prepared(Ok(Vec::new())));
        said(Input::Connected);
        assert_eq!(
            said(Input::Bytes(b"\x04")),
            [Action::Send(b"\x0d".to_vec())]
        );
        let results = json!({"streams": [{"id": 1, "bytes": 501_600, "retransmits": 0}]});
        let orders = said(Input::Bytes(&super::inbox::framed(&results)));
        assert_eq!(orders, [Action::PeerFinished { sent: expected }]);
        let own = StreamReport::new(0, StreamWork::Unreported);
        let answers = said(Input::Reports(vec![report(Side::Receiver, own)]));
        assert!(
            matches!(&answers[..], [Action::Send(_), Action::Peer(_), Action::Send(byte)] if byte == b"\x0e"),
            "{answers:?}"
        );
    }
}
