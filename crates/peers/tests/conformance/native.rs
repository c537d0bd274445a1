//! What the native protocol promises beyond what every protocol does.

use crate::harness::{End, Role, START, client_config, converse, later, server_config, specs};
use linerate_model::sample::{IntervalCount, StreamReport};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, PacketCount};
use linerate_peers::native::Native;
use linerate_peers::native::message::{
    Farewell, Finished, Hello, Message, Prepare, Refused, Report, TestNumber,
};
use linerate_peers::{
    Action, Input, Limits, PeerKind, ProtocolError, RefusalCode, ServerConfig, StopCause, TIMEOUT,
};
use std::time::Duration;

const PREAMBLE: &[u8] = b"linerate\x00\x01";

fn frame(message: &Message) -> Vec<u8> {
    message.encode().expect("a short message")
}

fn hello() -> Vec<u8> {
    let (tool, version) = ("linerate".to_owned(), "0.1.0".to_owned());
    [
        PREAMBLE.to_vec(),
        frame(&Message::Hello(Hello { tool, version })),
    ]
    .concat()
}

/// A server that has said hello and holds whatever its driver should answer.
fn server_with(config: ServerConfig) -> End {
    let mut server = End::new(Role::Server, Native.server(config, START), &[]);
    assert_eq!(server.give(Input::Bytes(&hello())).1, Ok(()));
    server
}

fn server() -> End {
    server_with(server_config())
}

fn prepare(test: u32, spec: &TestSpec) -> Vec<u8> {
    let spec = Box::new(spec.clone());
    frame(&Message::Prepare(Prepare { test, spec }))
}

fn ask(server: &mut End, message: &Message) -> Result<(), ProtocolError> {
    server.give(Input::Bytes(&frame(message))).1
}

/// A pair that has come as far as it can while the named actions stay unanswered.
fn pair(
    wanted: &[TestSpec],
    client_ignores: fn(&Action) -> bool,
    server_ignores: fn(&Action) -> bool,
) -> (End, End) {
    let mut client = End::client(&Native, wanted);
    let mut server = End::server(&Native);
    client.ignores = client_ignores;
    server.ignores = server_ignores;
    assert_eq!(converse(&mut client, &mut server, usize::MAX), Ok(()));
    (client, server)
}

/// Carries `bytes` that the client has said to the server, and whatever follows, until both are quiet.
fn carry(client: &mut End, server: &mut End, bytes: &[u8]) {
    let (answer, outcome) = server.give(Input::Bytes(bytes));
    assert_eq!(outcome, Ok(()));
    let (answer, outcome) = client.give(Input::Bytes(&answer));
    assert_eq!(outcome, Ok(()));
    if !answer.is_empty() {
        carry(client, server, &answer);
    }
}

const fn never(_: &Action) -> bool {
    false
}

const fn senders(action: &Action) -> bool {
    matches!(action, Action::StartSenders)
}

fn interrupt() -> Input<'static> {
    Input::Abort {
        code: RefusalCode::Interrupted,
        reason: "the user pressed ^C".into(),
    }
}

#[test]
fn a_far_end_of_another_protocol_is_named() {
    let cookie = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";
    let at_client: [(&[u8], &str); 6] = [
        (b"HTTP/1.1 400 Bad Request\r\n", "HTTP (a web server)"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH"),
        (b"\x09", "iperf3 (its server)"),
        (b"\xff", "iperf3 (its server)"),
        (b"\x15\x03\x01\x00\x02\x02\x32....", "TLS"),
        (b"220 mail.example.org", "an unknown protocol"),
    ];
    let at_server: [(&[u8], &str); 4] = [
        (b"GET / HTTP/1.1\r\n", "HTTP (a web client)"),
        (cookie, "iperf3 (its client)"),
        (b"\x16\x03\x01\x02\x00\x01......", "TLS"),
        (b"\0\0\0\0\0\0\0\0\0\0\0\0", "an unknown protocol"),
    ];
    for (role, cases) in [
        (Role::Client, &at_client[..]),
        (Role::Server, &at_server[..]),
    ] {
        for (bytes, name) in cases {
            for chunk in [1, 1000] {
                let mut end = match role {
                    Role::Client => End::client(&Native, &[]),
                    Role::Server => End::server(&Native),
                };
                let outcome = bytes
                    .chunks(chunk)
                    .find_map(|piece| end.give(Input::Bytes(piece)).1.err());
                let error = outcome.unwrap_or_else(|| end.give(Input::Eof).1.unwrap_err());
                let text = error.to_string();
                assert!(
                    text.contains(&format!("the far end speaks {name}, not")),
                    "{text}"
                );
                assert!(end.is_closed());
            }
        }
    }
}

#[test]
fn a_far_end_that_said_too_little_to_be_recognised_is_judged_when_it_falls_silent() {
    let mut client = End::client(&Native, &[]);
    assert_eq!(client.give(Input::Bytes(b"220 ")).1, Ok(()));
    let error = client.wait_out(10).unwrap_err();
    assert!(matches!(error, ProtocolError::Foreign { .. }), "{error}");
}

#[test]
fn a_linerate_of_another_version_is_told_at_both_ends() {
    let newer = ProtocolError::Version { theirs: 2, ours: 1 };
    let mut server = End::server(&Native);
    let (answer, outcome) = server.give(Input::Bytes(
        b"linerate\x00\x02\x00\x00\x00\x09\x63whatever",
    ));
    assert_eq!(outcome, Err(newer.clone()));
    assert_eq!(answer, PREAMBLE, "so that the client can say the same");
    let mut client = End::client(&Native, &[]);
    let (_, outcome) = client.give(Input::Bytes(b"linerate\x00\x02"));
    assert_eq!(outcome, Err(newer));
}

#[test]
fn a_client_that_is_not_welcome_learns_why() {
    let busy = (RefusalCode::Busy, "4 clients are the most here".to_owned());
    let config = ServerConfig {
        turn_away: Some(busy),
        ..server_config()
    };
    let mut server = End::new(Role::Server, Native.server(config, START), &[]);
    let mut client = End::client(&Native, &[]);
    let error = converse(&mut client, &mut server, usize::MAX).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the far end ended the session (busy, state greeting): 4 clients are the most here"
    );
    assert!(server.is_closed() && client.is_closed());
}

#[test]
fn a_length_out_of_range_is_refused_by_its_header_alone() {
    let cases: [(&[u8], &str); 4] = [
        (
            b"\0\0\0\0\x04",
            "announced 0 bytes for message Ping (state idle, offset",
        ),
        (b"\0\0\0\x02\x04", "1 to 1 are valid"),
        (b"\0\x80\0\0\x10", "8388608 bytes for message Prepare"),
        (b"\xff\xff\xff\xff\x63", "message unknown"),
    ];
    for (bytes, text) in cases {
        let error = server().give(Input::Bytes(bytes)).1.unwrap_err();
        assert!(matches!(error, ProtocolError::Length { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn before_hello_only_short_messages_are_taken() {
    let mut client = End::client(&Native, &[]);
    let bytes = [PREAMBLE, b"\0\x10\0\0\x18"].concat();
    let error = client.give(Input::Bytes(&bytes)).1.unwrap_err();
    assert!(
        error.to_string().contains("1 to 65536 are valid"),
        "{error}"
    );
}

#[test]
fn a_kind_that_is_unknown_or_of_the_other_end_is_refused() {
    for (bytes, text) in [
        (b"\0\0\0\x03\x63{}", "no message has kind 99"),
        (
            b"\0\0\0\x03\x18{}",
            "only the other end of a session sends it",
        ),
    ] {
        let error = server().give(Input::Bytes(bytes)).1.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn a_body_that_cannot_be_read_is_shown_with_state_offset_and_bytes() {
    let mut server = server();
    let (farewell, outcome) = server.give(Input::Bytes(b"\0\0\0\x0a\x10{\"test\":x"));
    let text = outcome.unwrap_err().to_string();
    let offset = hello().len();
    assert!(
        text.contains(&format!("state idle, offset {offset}, body \"{{")),
        "{text}"
    );
    let mut client = End::client(&Native, &[]);
    let outcome = client.give(Input::Bytes(&[PREAMBLE, &farewell].concat())).1;
    assert!(
        matches!(&outcome, Err(ProtocolError::TurnedAway { code: RefusalCode::Protocol, message, .. })
            if message.contains("Prepare")),
        "{outcome:?}"
    );
}

#[test]
fn a_deeply_nested_body_does_not_exhaust_the_stack() {
    let body = "[".repeat(60_000);
    let length = u32::try_from(body.len() + 1).unwrap();
    let bytes = [&length.to_be_bytes(), &b"\x10"[..], body.as_bytes()].concat();
    let error = server().give(Input::Bytes(&bytes)).1.unwrap_err();
    assert!(matches!(error, ProtocolError::Body { .. }), "{error}");
}

#[test]
fn a_specification_out_of_bounds_is_refused_and_the_session_goes_on() {
    let mut client = End::client(&Native, &specs()[..1]);
    let mut server = server();
    let wild = TestSpec {
        streams: 60_000,
        ..TestSpec::tcp_bulk()
    };
    let (answer, outcome) = server.give(Input::Bytes(&prepare(1, &wild)));
    assert_eq!(outcome, Ok(()));
    assert!(
        answer
            .escape_ascii()
            .to_string()
            .contains("streams = 60000: must be from 1 to 128")
    );
    assert_eq!(
        server.give(Input::Bytes(&prepare(2, &specs()[0]))).1,
        Ok(())
    );
    assert!(
        server
            .actions
            .iter()
            .any(|a| matches!(a, Action::Prepare(_)))
    );

    client.wanted = vec![wild];
    assert_eq!(
        converse(&mut client, &mut End::server(&Native), usize::MAX),
        Ok(())
    );
    let refused = |a: &Action| {
        matches!(
            a,
            Action::Refused {
                code: RefusalCode::Invalid,
                ..
            }
        )
    };
    assert!(client.actions.iter().any(refused), "{:?}", client.actions);
}

#[test]
fn a_test_beyond_the_servers_limits_is_refused_with_what_to_use() {
    let limits = Limits {
        max_duration: Duration::from_secs(5),
        max_streams: 1,
        max_rate: Some(BitRate::from_bps(1_000_000)),
    };
    let short = TestSpec {
        stop: Stop::After(Duration::from_secs(1)),
        pace: Pace::At(BitRate::from_bps(1_000_000)),
        ..TestSpec::tcp_bulk()
    };
    assert_eq!(limits.exceeded_by(&short), None);
    for (spec, text) in [
        (
            TestSpec {
                streams: 2,
                ..short.clone()
            },
            "use at most 1",
        ),
        (
            TestSpec {
                stop: Stop::After(Duration::from_secs(6)),
                ..short.clone()
            },
            "use at most 5s",
        ),
        (
            TestSpec {
                pace: Pace::Unpaced,
                ..short.clone()
            },
            "set a rate of at most 1.00 Mbit/s",
        ),
        (
            TestSpec {
                pace: Pace::At(BitRate::from_bps(2_000_000)),
                ..short
            },
            "at most 1.00 Mbit/s",
        ),
    ] {
        let mut server = server_with(ServerConfig {
            limits,
            ..server_config()
        });
        let (answer, _) = server.give(Input::Bytes(&prepare(1, &spec)));
        let answer = answer.escape_ascii().to_string();
        assert!(
            answer.contains(text) && answer.contains("\\\"limit\\\""),
            "{answer}"
        );
    }
}

#[test]
fn a_test_that_the_servers_driver_refuses_leaves_the_session_usable() {
    let (mut client, mut server) = pair(
        &specs()[..2],
        never,
        |action| matches!(action, Action::Prepare(spec) if spec.transport == linerate_model::spec::Transport::Tcp),
    );
    let message = "\u{1b}[2Jno such workload".to_owned();
    let code = RefusalCode::Unsupported;
    let (bytes, outcome) = server.give(Input::Refused { code, message });
    assert_eq!(outcome, Ok(()));
    let (bytes, outcome) = client.give(Input::Bytes(&bytes));
    assert_eq!(outcome, Ok(()));
    assert!(client.actions.contains(&Action::Refused {
        code,
        message: "·[2Jno such workload".into()
    }));
    carry(&mut client, &mut server, &bytes);
    assert!(client.actions.contains(&Action::TestOver));
    assert!(client.is_closed() && server.is_closed());
}

#[test]
fn an_abort_by_the_client_stops_both_ends_and_the_next_test_works() {
    let (mut client, mut server) = pair(&specs()[..2], senders, never);
    assert_eq!(client.session.state(), "running");
    client.ignores = never;
    let (bytes, _) = client.give(interrupt());
    carry(&mut client, &mut server, &bytes);
    for (end, cause) in [(&client, StopCause::Local), (&server, StopCause::Peer)] {
        let stop = Action::Stop {
            cause,
            code: RefusalCode::Interrupted,
            reason: "the user pressed ^C".into(),
        };
        let at = |wanted: &Action| end.actions.iter().position(|a| a == wanted).unwrap();
        assert!(at(&stop) < at(&Action::TestAborted));
        assert!(
            at(&Action::TestAborted) < at(&Action::TestOver),
            "the second test"
        );
        assert!(end.is_closed());
    }
}

#[test]
fn an_abort_by_the_server_stops_both_ends() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let (bytes, _) = server.give(Input::Abort {
        code: RefusalCode::Internal,
        reason: "recvmmsg: ENOMEM".into(),
    });
    let (bytes, outcome) = client.give(Input::Bytes(&bytes));
    assert_eq!(outcome, Ok(()));
    carry(&mut client, &mut server, &bytes);
    assert!(client.actions.contains(&Action::TestAborted));
    assert!(server.actions.contains(&Action::TestAborted));
}

#[test]
fn aborts_that_cross_are_one_abort() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let (from_client, _) = client.give(interrupt());
    let (from_server, _) = server.give(interrupt());
    assert_eq!(server.give(Input::Bytes(&from_client)).1, Ok(()));
    assert_eq!(client.give(Input::Bytes(&from_server)).1, Ok(()));
    for end in [&client, &server] {
        let stops = end
            .actions
            .iter()
            .filter(|a| matches!(a, Action::Stop { .. }));
        assert_eq!(stops.count(), 1);
        let aborted = end.actions.iter().filter(|a| **a == Action::TestAborted);
        assert_eq!(aborted.count(), 1);
    }
}

#[test]
fn an_abort_that_crosses_a_refusal_is_answered() {
    let is_prepare = |action: &Action| matches!(action, Action::Prepare(_));
    let (mut client, mut server) = pair(&specs()[..1], never, is_prepare);
    let (from_client, _) = client.give(interrupt());
    let (from_server, _) = server.give(Input::Refused {
        code: RefusalCode::Unsupported,
        message: "no".into(),
    });
    let (answer, outcome) = server.give(Input::Bytes(&from_client));
    assert_eq!(outcome, Ok(()));
    let (bye, outcome) = client.give(Input::Bytes(&[from_server, answer].concat()));
    assert_eq!(outcome, Ok(()));
    assert!(client.actions.contains(&Action::TestAborted));
    assert_eq!(server.give(Input::Bytes(&bye)).1, Ok(()));
    assert!(server.is_closed());
}

#[test]
fn what_was_under_way_when_a_test_was_aborted_is_not_taken_for_the_next() {
    // The server's senders finish and it reports while the client's abort is on its way.
    let reverse = &specs()[2];
    assert_eq!(reverse.direction, Direction::Reverse);
    let (mut client, mut server) = pair(std::slice::from_ref(reverse), never, senders);
    let (from_client, _) = client.give(interrupt());
    let sent = vec![PacketCount::new(0); 2];
    let (mut from_server, _) = server.give(Input::Finished { sent });
    from_server.extend(server.give(Input::Reports(server.reports())).0);
    from_server.extend(server.give(Input::Bytes(&from_client)).0);
    let (_, outcome) = client.give(Input::Bytes(&from_server));
    assert_eq!(outcome, Ok(()));
    let taken = |a: &Action| matches!(a, Action::PeerReport(_) | Action::PeerFinished { .. });
    assert!(!client.actions.iter().any(taken), "{:?}", client.actions);
    assert!(client.actions.contains(&Action::TestAborted));
}

#[test]
fn data_streams_that_never_arrive_are_reported_as_a_firewall_may_cause_it() {
    let is_prepare = |action: &Action| matches!(action, Action::Prepare(_));
    let mut server = server();
    server.ignores = is_prepare;
    server
        .give(Input::Bytes(&prepare(1, &specs()[0])))
        .1
        .unwrap();
    let ports = vec![(linerate_model::spec::Side::Receiver, vec![5302])];
    server.give(Input::Prepared { ports, token: 1 }).1.unwrap();
    let ping = frame(&Message::Ping);
    for _ in 0..10 {
        later(&mut server, Duration::from_secs(1));
        server.give(Input::Bytes(&ping)).1.unwrap();
        server.give(Input::Timeout).1.unwrap();
    }
    let stop = server.actions.iter().find_map(|action| match action {
        Action::Stop { code, reason, .. } => Some((*code, reason.clone())),
        _ => None,
    });
    let (code, reason) = stop.expect("the server gives up");
    assert_eq!(code, RefusalCode::Timeout);
    assert!(reason.contains("firewall"), "{reason}");
}

#[test]
fn a_test_that_does_not_end_is_ended_by_the_server() {
    let (_, mut server) = pair(&specs()[..1], senders, never);
    let ping = frame(&Message::Ping);
    // Ten seconds of test and a minute to drain.
    for second in 1..=70 {
        assert_eq!(server.session.state(), "running", "after {second} s");
        later(&mut server, Duration::from_secs(1));
        server.give(Input::Bytes(&ping)).1.unwrap();
        server.give(Input::Timeout).1.unwrap();
    }
    assert_eq!(server.session.state(), "stopping");
}

#[test]
fn a_silent_far_end_is_named_with_state_and_seconds() {
    let (mut client, _) = pair(&specs()[..1], senders, never);
    let error = client.wait_out(100).unwrap_err();
    assert_eq!(
        error,
        ProtocolError::Silent {
            state: "running",
            silence: TIMEOUT
        }
    );
    assert!(
        error.to_string().contains("10 s in state running"),
        "{error}"
    );
    assert!(client.is_closed());
}

#[test]
fn a_quiet_end_pings_once_a_second_and_a_busy_one_does_not() {
    let (mut client, _) = pair(&specs()[..1], senders, never);
    assert_eq!(
        client.session.deadline(),
        Some(START.after(Duration::from_secs(1)))
    );
    later(&mut client, Duration::from_millis(999));
    assert_eq!(client.give(Input::Timeout).0, b"");
    later(&mut client, Duration::from_millis(1));
    assert_eq!(client.give(Input::Timeout).0, frame(&Message::Ping));
    assert_eq!(
        client.session.deadline(),
        Some(client.now.after(Duration::from_secs(1)))
    );
}

#[test]
fn a_sender_must_count_every_stream() {
    let (_, mut server) = pair(&specs()[..1], senders, never);
    let sent = vec![PacketCount::new(1)];
    let error = ask(&mut server, &Message::Finished(Finished { test: 1, sent })).unwrap_err();
    assert!(
        error.to_string().contains("one figure per stream"),
        "{error}"
    );
}

#[test]
fn messages_about_no_test_or_another_one_are_refused() {
    let (_, mut server) = pair(&specs()[..1], senders, never);
    let wrong = Message::Start(TestNumber { test: 9 });
    let error = ask(&mut server, &wrong).unwrap_err();
    assert!(
        error.to_string().contains("no such test is under way"),
        "{error}"
    );
    let (mut client, _) = pair(&specs()[..1], senders, never);
    let reports = Vec::new();
    let early = Message::Report(Report { test: 1, reports });
    let error = client.give(Input::Bytes(&frame(&early))).1.unwrap_err();
    assert!(error.to_string().contains("sides or streams"), "{error}");
}

#[test]
fn a_client_may_leave_between_tests_without_a_word_but_not_in_one() {
    assert_eq!(server().give(Input::Eof).1, Ok(()));
    let (_, mut server) = pair(&specs()[..1], senders, never);
    let error = server.give(Input::Eof).1.unwrap_err();
    assert!(error.to_string().contains("in state running"), "{error}");
}

#[test]
fn a_report_too_long_for_a_message_ends_the_test_with_advice() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let mut reports = server.reports();
    reports[0].streams = vec![StreamReport {
        intervals: vec![IntervalCount::default(); 200_000],
        ..StreamReport::default()
    }];
    let (bytes, outcome) = server.give(Input::Reports(reports));
    assert_eq!(outcome, Ok(()));
    client.give(Input::Bytes(&bytes)).1.unwrap();
    let advice = |a: &Action| matches!(a, Action::Stop { code: RefusalCode::Limit, reason, .. } if reason.contains("longer interval"));
    assert!(client.actions.iter().any(advice), "{:?}", client.actions);
}

#[test]
fn facts_too_long_for_a_message_are_left_out_and_said_to_be() {
    let mut config = server_config();
    config
        .facts
        .insert("essay".into(), "x".repeat(70_000).into());
    let mut server = End::new(Role::Server, Native.server(config, START), &[]);
    let mut client = End::client(&Native, &[]);
    assert_eq!(converse(&mut client, &mut server, usize::MAX), Ok(()));
    let Some(Action::PeerHello(hello)) = client.actions.first() else {
        panic!("{:?}", client.actions);
    };
    assert!(hello.facts.contains_key("facts-missing"), "{hello:?}");
}

#[test]
fn the_far_ends_goodbye_is_passed_on_without_its_control_characters() {
    let mut client = End::client(&Native, &[]);
    let farewell = Message::Farewell(Farewell {
        code: RefusalCode::Denied,
        message: "go\u{7} away\u{1b}[0m".into(),
    });
    let bytes = [PREAMBLE.to_vec(), frame(&farewell)].concat();
    let error = client.give(Input::Bytes(&bytes)).1.unwrap_err();
    assert!(error.to_string().ends_with("go· away·[0m"), "{error}");
}

#[test]
fn a_server_that_shuts_down_says_so() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let (bytes, outcome) = server.give(Input::Bye);
    assert_eq!(outcome, Ok(()));
    let error = client.give(Input::Bytes(&bytes)).1.unwrap_err();
    assert!(error.to_string().contains("shutting down"), "{error}");
}

#[test]
fn a_driver_that_speaks_out_of_turn_is_told_the_state() {
    let error = server().give(Input::Connected).1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "bug in linerate: its driver said Connected in state idle"
    );
    let mut client = End::client(&Native, &[]);
    let spec = Box::new(TestSpec::tcp_bulk());
    let error = client.give(Input::Begin(spec)).1.unwrap_err();
    assert!(
        error.to_string().contains("Begin in state greeting"),
        "{error}"
    );
}

#[test]
fn every_message_survives_its_encoding() {
    let test = 7;
    let message = Message::Abort(Refused {
        test,
        code: RefusalCode::Timeout,
        message: "späti \"x\"".into(),
    });
    let bytes = frame(&message);
    assert_eq!(
        Message::decode(message.kind(), &bytes[5..]).unwrap(),
        message
    );
    assert_eq!(bytes.len(), 4 + usize::from(bytes[3]));
    let spec = Box::new(TestSpec {
        stop: Stop::Bytes(ByteCount::new(u64::MAX)),
        ..TestSpec::tcp_bulk()
    });
    let message = Message::Prepare(Prepare { test, spec });
    assert_eq!(
        Message::decode(message.kind(), &frame(&message)[5..]).unwrap(),
        message
    );
}

#[test]
fn the_opening_is_long_enough_to_make_an_iperf3_server_answer() {
    let mut config = client_config();
    config.version = String::new();
    let mut client = End::new(Role::Client, Native.client(config, START), &[]);
    assert!(client.give(Input::Bytes(&[])).0.len() >= 37);
}

#[test]
fn a_client_config_names_its_version_shortened() {
    let mut config = client_config();
    config.version = "9".repeat(99_999);
    let mut client = End::new(Role::Client, Native.client(config, START), &[]);
    assert!(client.give(Input::Bytes(&[])).0.len() < 200);
}
