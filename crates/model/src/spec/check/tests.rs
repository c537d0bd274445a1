use super::*;
use crate::spec::{Direction, OpenLoop, ShortConnections, Stall, WorkloadId};
use crate::units::PacketRate;

fn refused(change: impl FnOnce(&mut TestSpec)) -> SpecError {
    let mut spec = TestSpec::udp_datagrams(Pace::Unpaced);
    change(&mut spec);
    validate(&spec).unwrap_err()
}

#[test]
fn many_streams_share_threads() {
    let threads = |threads, streams, spec: TestSpec| {
        let spec = TestSpec {
            streams,
            threads,
            ..spec
        };
        validate(&spec).map_err(|error| error.to_string())
    };
    let udp = TestSpec::udp_datagrams(Pace::Unpaced);
    for (made, expected) in [
        (threads(Some(2), 10_000, TestSpec::tcp_bulk()), None),
        (threads(None, 128, udp.clone()), None),
        (
            threads(None, 129, TestSpec::tcp_bulk()),
            Some("at most 128"),
        ),
        (threads(Some(2), 10_000, udp.clone()), None),
        (threads(None, 129, udp), Some("shared by threads")),
        (
            threads(Some(3), 2, TestSpec::tcp_bulk()),
            Some("from 1 to 2"),
        ),
        (
            threads(Some(129), 500, TestSpec::tcp_bulk()),
            Some("from 1 to 128"),
        ),
    ] {
        let text = made.err();
        assert_eq!(text.is_some(), expected.is_some(), "{text:?}");
        assert!(
            text.unwrap_or_default()
                .contains(expected.unwrap_or_default())
        );
    }
}

#[test]
fn the_ready_made_specifications_are_valid() {
    for spec in [
        TestSpec::tcp_bulk(),
        TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(10_000_000))),
        TestSpec::ping_pong(Transport::Udp),
        TestSpec::tcp_crr(),
    ] {
        assert_eq!(validate(&spec), Ok(()));
    }
}

#[test]
fn a_refusal_names_the_key_and_what_would_be_valid() {
    let error = refused(|spec| spec.streams = 0);
    assert_eq!(error.to_string(), "streams = 0: must be from 1 to 10000");
}

#[test]
fn a_udp_payload_must_fit_a_datagram_and_a_tcp_write_need_not() {
    assert_eq!(
        refused(|s| s.work.set_payload(ByteCount::new(65_508))).key,
        "payload_bytes"
    );
    let spec = TestSpec::tcp_bulk().with_payload(ByteCount::new(65_508));
    assert_eq!(validate(&spec), Ok(()));
}

#[test]
fn every_bound_is_checked() {
    let day = Duration::from_hours(24);
    let greedy = Imitation::SlowReceiver {
        pause: Duration::ZERO,
        datagrams_per_read: 65,
    };
    assert_eq!(refused(|s| s.streams = 129).key, "streams");
    assert_eq!(
        refused(|s| s.workload = WorkloadId::new("Bulk")).key,
        "workload"
    );
    assert_eq!(
        refused(|s| s.work.set_pace(Pace::At(BitRate::default()))).key,
        "pace"
    );
    assert_eq!(refused(|s| s.stop = Stop::After(day * 2)).key, "stop");
    assert_eq!(refused(|s| s.stop = Stop::Transactions(0)).key, "stop");
    assert_eq!(refused(|s| s.warm_up = day).key, "warm_up");
    assert_eq!(refused(|s| s.interval = Duration::ZERO).key, "interval");
    assert_eq!(
        refused(|s| s.imitation = Some(Imitation::slow_receiver(day))).key,
        "receiver_pause"
    );
    assert_eq!(
        refused(|s| s.imitation = Some(greedy)).key,
        "receiver_reads"
    );
    let rests = Imitation::SlowSender { pause: day };
    assert_eq!(refused(|s| s.imitation = Some(rests)).key, "sender_pause");
    let mut open = OpenLoop::new(Transport::Udp, PacketRate::from_pps(1.0));
    open.answer_timeout = day;
    assert_eq!(
        refused(|s| s.work = TestWork::OpenLoop(open)).key,
        "answer_timeout_s"
    );
    let stall = Stall {
        every: Duration::from_secs(1),
        lasting: Duration::from_millis(501),
    };
    assert_eq!(
        refused(|s| s.imitation = Some(Imitation::StallingResponder(stall))).key,
        "responder_stall"
    );
    assert_eq!(refused(|s| s.pinning.remote = Some(9000)).key, "pinning");
    assert_eq!(refused(|s| s.datapath.id = String::new()).key, "datapath");
    assert_eq!(
        refused(|s| s.socket.send_buffer_bytes = Some(ByteCount::new(0))).key,
        "socket.send_buffer_bytes"
    );
}

#[test]
fn every_bound_of_connections_is_checked() {
    let of_connections = |change: fn(&mut ShortConnections)| {
        refused(|s| {
            *s = TestSpec::tcp_crr();
            if let TestWork::Connections(work) = &mut s.work {
                change(work);
            }
        })
        .key
    };
    assert_eq!(
        of_connections(|work| work.response = ByteCount::new(0)),
        "response_bytes"
    );
    assert_eq!(
        of_connections(|work| work.concurrent = MAX_CONNECTIONS + 1),
        "concurrent"
    );
    assert_eq!(
        of_connections(|work| work.timeout = Duration::from_secs(11)),
        "timeout_s"
    );
    assert_eq!(
        of_connections(|work| (work.concurrent, work.close) = (0, ConnectionClose::Hold)),
        "open"
    );
    let setting = |change: fn(&mut ShortConnections)| {
        refused(|s| {
            *s = TestSpec::tcp_crr();
            s.streams = 2;
            if let TestWork::Connections(work) = &mut s.work {
                work.concurrent = 2;
                change(work);
            }
        })
        .setting()
    };
    assert_eq!(setting(|work| work.request = ByteCount::new(0)), "request");
    assert_eq!(setting(|work| work.concurrent = 1), "threads");
    assert_eq!(setting(|work| work.concurrent = 0), "streams");
}

#[test]
fn only_an_unpaced_byte_stream_rests_between_writes() {
    let rests = Imitation::SlowSender {
        pause: Duration::from_millis(5),
    };
    assert_eq!(refused(|s| s.imitation = Some(rests)).key, "sender_pause");
    let spec = TestSpec::tcp_bulk().with_imitation(rests);
    assert_eq!(validate(&spec), Ok(()));
    let paced = spec.with_pace(Pace::At(BitRate::from_bps(1_000_000)));
    assert_eq!(validate(&paced).unwrap_err().key, "sender_pause");
}

#[test]
fn intervals_are_bounded_over_all_streams_and_directions() {
    let many = |spec: &mut TestSpec| {
        spec.streams = 128;
        spec.stop = Stop::After(Duration::from_secs(20));
        spec.interval = Duration::from_millis(1);
        spec.direction = Direction::Duplex;
    };
    let error = refused(many);
    assert_eq!(error.key, "interval");
    // 256 streams have 390 intervals each.
    let words = "at least 52ms: 256 streams over 20s have at most 100000 intervals in all";
    assert_eq!(error.valid, words);
    let mut spec = TestSpec::tcp_bulk();
    many(&mut spec);
    spec.fit_interval();
    assert_eq!(spec.interval, Duration::from_millis(52));
    assert_eq!(validate(&spec), Ok(()));
    assert!(spec.intervals_per_stream() >= 20_000 / 52);
    // One that fits stays.
    let usual = TestSpec::tcp_bulk();
    let mut same = usual.clone();
    same.fit_interval();
    assert_eq!(same, usual);
}

#[test]
fn a_day_of_millisecond_intervals_is_too_many() {
    let error = refused(|spec| {
        spec.stop = Stop::After(MAX_DURATION);
        spec.interval = MIN_INTERVAL;
    });
    assert_eq!(error.key, "interval");
}

#[test]
fn hostile_text_is_shortened_and_escaped() {
    let error = refused(|s| s.socket.congestion_control = Some("\u{1b}[31m".repeat(99)));
    assert!(error.value.len() < 200, "{error}");
    assert!(!error.to_string().contains('\u{1b}'), "{error}");
    let error = refused(|s| {
        s.datapath.params.insert("gso".into(), "x".repeat(257));
    });
    assert_eq!(error.key, "datapath.params");
}
