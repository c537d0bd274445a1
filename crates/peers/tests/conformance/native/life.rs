//! The life of a test: refusals, limits, aborts, time, and the order of things.

use super::{ask, carry, frame, interrupt, never, pair, prepare, senders, server, server_with};
use crate::harness::{End, Role, START, client_config, converse, later, server_config, specs};
use linerate_model::sample::{ByteStreamSender, IntervalCount, StreamReport};
use linerate_model::spec::{Direction, Imitation, Pace, Side, Stop, TestSpec, WaitMode};
use linerate_model::{BitRate, ByteCount, PacketCount};
use linerate_peers::native::Native;
use linerate_peers::native::message::{Finished, Message, Report, TestNumber};
use linerate_peers::{
    Action, ClientConfig, Ending, Fence, Input, LEASE_TERM, LeaseGrant, LeaseRequest, Limits,
    PeerEvent, PeerKind as _, ProtocolError, Refusal, RefusalCode, ServerConfig, StopCause,
    TIMEOUT, TestEnd,
};
use std::time::Duration;

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
            .contains("streams = 60000: must be from 1 to 10000")
    );
    assert_eq!(
        server.give(Input::Bytes(&prepare(2, &specs()[0]))).1,
        Ok(())
    );
    assert!(
        server
            .actions
            .iter()
            .any(|a| matches!(a, Action::Prepare { .. }))
    );

    client.wanted = vec![wild];
    assert_eq!(
        converse(&mut client, &mut End::server(&Native), usize::MAX),
        Ok(())
    );
    let refused = |a: &Action| {
        matches!(
            a,
            Action::TestOver(TestEnd::Impossible(Refusal {
                code: RefusalCode::Invalid,
                ..
            }))
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
        intrusion: false,
        ..Limits::default()
    };
    let short = TestSpec {
        stop: Stop::After(Duration::from_secs(1)),
        ..TestSpec::tcp_bulk().with_pace(Pace::At(BitRate::from_bps(1_000_000)))
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
            short
                .clone()
                .with_imitation(Imitation::slow_receiver(Duration::from_millis(1))),
            "`linerate serve --allow-imitation`",
        ),
        (
            TestSpec {
                wait: WaitMode::Spin,
                ..short.clone()
            },
            "--allow-intrusive",
        ),
        (
            short.clone().with_pace(Pace::Unpaced),
            "set a rate of at most 1 Mbit/s",
        ),
        (
            short.with_pace(Pace::At(BitRate::from_bps(2_000_000))),
            "at most 1 Mbit/s",
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
        |action| matches!(action, Action::Prepare { spec, .. } if spec.transport() == linerate_model::spec::Transport::Tcp),
    );
    let message = "\u{1b}[2Jno such workload".to_owned();
    let code = RefusalCode::Unsupported;
    let (bytes, outcome) = server.give(Input::Prepared(Err(Refusal { code, message })));
    assert_eq!(outcome, Ok(()));
    let (bytes, outcome) = client.give(Input::Bytes(&bytes));
    assert_eq!(outcome, Ok(()));
    assert!(
        client
            .actions
            .contains(&Action::TestOver(TestEnd::Refused(Refusal {
                code,
                message: "·[2Jno such workload".into()
            })))
    );
    carry(&mut client, &mut server, &bytes);
    assert!(
        client
            .actions
            .contains(&Action::TestOver(TestEnd::Complete))
    );
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
        assert!(at(&stop) < at(&Action::TestOver(TestEnd::Aborted)));
        assert!(
            at(&Action::TestOver(TestEnd::Aborted)) < at(&Action::TestOver(TestEnd::Complete)),
            "the second test"
        );
        assert!(end.is_closed());
    }
}

#[test]
fn traffic_that_its_user_ends_is_reported_whoever_sends() {
    for spec in specs() {
        let (mut client, mut server) = pair(std::slice::from_ref(&spec), senders, senders);
        (client.ignores, server.ignores) = (never, never);
        let (bytes, outcome) = client.give(Input::End(Ending::Traffic));
        assert_eq!(outcome, Ok(()));
        carry(&mut client, &mut server, &bytes);
        for end in [&client, &server] {
            assert!(
                end.actions.contains(&Action::TestOver(TestEnd::Complete)),
                "{spec:?}"
            );
            assert!(end.is_closed());
        }
        let reported = client
            .actions
            .iter()
            .any(|a| matches!(a, Action::Peer(PeerEvent::Report(_))));
        assert!(reported, "{spec:?}");
    }
}

#[test]
fn traffic_that_is_ended_twice_or_when_it_is_over_ends_once() {
    let (mut client, mut server) = pair(&specs()[..1], senders, senders);
    let before = server.actions.len();
    let (mut bytes, _) = client.give(Input::End(Ending::Traffic));
    bytes.extend(client.give(Input::End(Ending::Traffic)).0);
    (client.ignores, server.ignores) = (never, never);
    carry(&mut client, &mut server, &bytes);
    assert!(server.actions.len() > before);
    let (bytes, outcome) = client.give(Input::End(Ending::Traffic));
    assert_eq!((bytes.as_slice(), outcome), (&[][..], Ok(())));
}

#[test]
fn a_test_that_is_ended_before_traffic_flows_is_aborted() {
    let (mut client, mut server) = pair(
        &specs()[..1],
        |action| matches!(action, Action::OpenStreams { .. }),
        never,
    );
    assert_eq!(client.session.state(), "connecting");
    client.ignores = never;
    let (bytes, _) = client.give(Input::End(Ending::Traffic));
    carry(&mut client, &mut server, &bytes);
    assert!(client.actions.contains(&Action::TestOver(TestEnd::Aborted)));
    assert!(server.actions.contains(&Action::TestOver(TestEnd::Aborted)));
}

#[test]
fn an_abort_by_the_server_stops_both_ends() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let (bytes, _) = server.give(Input::End(Ending::Test {
        code: RefusalCode::Internal,
        reason: "recvmmsg: ENOMEM".into(),
    }));
    let (bytes, outcome) = client.give(Input::Bytes(&bytes));
    assert_eq!(outcome, Ok(()));
    carry(&mut client, &mut server, &bytes);
    assert!(client.actions.contains(&Action::TestOver(TestEnd::Aborted)));
    assert!(server.actions.contains(&Action::TestOver(TestEnd::Aborted)));
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
        let aborted = end
            .actions
            .iter()
            .filter(|a| **a == Action::TestOver(TestEnd::Aborted));
        assert_eq!(aborted.count(), 1);
    }
}

#[test]
fn an_abort_that_crosses_a_refusal_is_answered() {
    let is_prepare = |action: &Action| matches!(action, Action::Prepare { .. });
    let (mut client, mut server) = pair(&specs()[..1], never, is_prepare);
    let (from_client, _) = client.give(interrupt());
    let (from_server, _) = server.give(Input::Prepared(Err(Refusal {
        code: RefusalCode::Unsupported,
        message: "no".into(),
    })));
    let (answer, outcome) = server.give(Input::Bytes(&from_client));
    assert_eq!(outcome, Ok(()));
    let (bye, outcome) = client.give(Input::Bytes(&[from_server, answer].concat()));
    assert_eq!(outcome, Ok(()));
    assert!(client.actions.contains(&Action::TestOver(TestEnd::Aborted)));
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
    let taken = |a: &Action| {
        matches!(
            a,
            Action::Peer(PeerEvent::Report(_)) | Action::PeerFinished { .. }
        )
    };
    assert!(!client.actions.iter().any(taken), "{:?}", client.actions);
    assert!(client.actions.contains(&Action::TestOver(TestEnd::Aborted)));
}

#[test]
fn what_the_client_said_before_it_saw_the_servers_abort_is_dropped() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let (from_server, _) = server.give(interrupt());
    let sent = vec![PacketCount::new(0); 2];
    let (mut from_client, _) = client.give(Input::Finished { sent });
    from_client.extend(client.give(Input::Bytes(&from_server)).0);
    assert_eq!(server.give(Input::Bytes(&from_client)).1, Ok(()));
    let taken = |a: &Action| matches!(a, Action::PeerFinished { .. });
    assert!(!server.actions.iter().any(taken), "{:?}", server.actions);
    assert!(server.actions.contains(&Action::TestOver(TestEnd::Aborted)));
}

#[test]
fn receivers_run_before_the_peer_is_told_and_senders_start_after() {
    let (client, server) = pair(&specs()[4..5], never, never);
    for end in [&client, &server] {
        assert_eq!(
            end.after(&Action::Start(Side::Receiver)),
            None,
            "the peer is told"
        );
    }
    let is_prepared = |a: &Action| matches!(a, Action::Prepare { .. });
    let prepare = server.actions.iter().find(|a| is_prepared(a));
    assert_eq!(
        server.after(prepare.expect("a test")),
        None,
        "Ready, Connected"
    );
    assert!(server.order.windows(3).any(|three| {
        let action = |at: Option<usize>| at.map(|at| &server.actions[at]);
        (action(three[0]), three[1], action(three[2]))
            == (
                Some(&Action::Start(Side::Receiver)),
                None,
                Some(&Action::Start(Side::Sender)),
            )
    }));
}

#[test]
fn data_streams_that_never_arrive_are_reported_as_a_firewall_may_cause_it() {
    let is_prepare = |action: &Action| matches!(action, Action::Prepare { .. });
    let mut server = server();
    server.ignores = is_prepare;
    server
        .give(Input::Bytes(&prepare(1, &specs()[0])))
        .1
        .unwrap();
    let ports = vec![(Side::Receiver, vec![5302])];
    server.give(Input::Prepared(Ok(ports))).1.unwrap();
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
fn a_silent_peer_is_named_with_state_and_seconds() {
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
fn a_report_before_the_far_senders_are_done_is_refused() {
    let (mut client, server) = pair(&specs()[2..3], never, senders);
    let reports = server.reports();
    let early = Message::Report(Report { test: 1, reports });
    let error = client.give(Input::Bytes(&frame(&early))).1.unwrap_err();
    assert!(
        error.to_string().contains("has not said that its senders"),
        "{error}"
    );
}

#[test]
fn a_client_may_leave_between_tests_without_a_word_but_not_in_one() {
    assert_eq!(server().give(Input::Eof).1, Ok(()));
    let (_, mut server) = pair(&specs()[..1], senders, never);
    let error = server.give(Input::Eof).1.unwrap_err();
    assert!(error.to_string().contains("in state running"), "{error}");
}

#[test]
fn as_many_intervals_as_a_test_may_have_fit_a_report() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let mut reports = server.reports();
    let interval = IntervalCount {
        start: Duration::new(86_399, 999_999_999),
        end: Duration::new(86_399, 999_999_999),
        bytes: ByteCount::new(9_999_999_999_999),
        packets: PacketCount::new(9_999_999_999),
        next_expected: Some(999_999_999_999),
    };
    let each = TestSpec::tcp_bulk().intervals_per_stream() as usize;
    reports[0].streams = vec![StreamReport {
        intervals: vec![interval; each],
        ..StreamReport::new(0, ByteStreamSender::default())
    }];
    let (bytes, _) = server.give(Input::Reports(reports));
    client.give(Input::Bytes(&bytes)).1.unwrap();
    let told = |a: &Action| matches!(a, Action::Peer(PeerEvent::Report(_)));
    assert!(client.actions.iter().any(told), "{} bytes", bytes.len());
}

#[test]
fn a_report_too_long_for_a_message_ends_the_test_with_advice() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let mut reports = server.reports();
    reports[0].streams = vec![StreamReport {
        intervals: vec![IntervalCount::default(); 500_000],
        ..StreamReport::new(0, ByteStreamSender::default())
    }];
    let (bytes, outcome) = server.give(Input::Reports(reports));
    assert_eq!(outcome, Ok(()));
    client.give(Input::Bytes(&bytes)).1.unwrap();
    let advice = |a: &Action| matches!(a, Action::Stop { code: RefusalCode::Limit, reason, .. } if reason.contains("longer interval"));
    assert!(client.actions.iter().any(advice), "{:?}", client.actions);
}

#[test]
fn a_server_that_shuts_down_says_so() {
    let (mut client, mut server) = pair(&specs()[..1], senders, never);
    let (bytes, outcome) = server.give(Input::End(Ending::Session));
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
fn a_lease_is_decided_on_between_tests_and_the_session_goes_on() {
    const FENCE: Fence = Fence::new(u64::MAX);
    // Else the client of these tests says goodbye.
    let is_next = |action: &Action| {
        matches!(
            action,
            Action::Peer(PeerEvent::Hello(_)) | Action::TestOver(_)
        )
    };
    let (mut client, mut server) = pair(&[], is_next, never);
    let mut asked = |client: &mut End, request: LeaseRequest, decision| {
        let (bytes, outcome) = client.give(Input::Lease(request));
        assert_eq!(outcome, Ok(()));
        carry(client, &mut server, &bytes);
        let heard = server.actions.last().cloned();
        let (bytes, outcome) = server.give(Input::Leased(decision));
        assert_eq!(outcome, Ok(()));
        assert_eq!(client.give(Input::Bytes(&bytes)).1, Ok(()));
        assert_eq!(
            (client.session.state(), server.session.state()),
            ("idle", "idle")
        );
        (heard, client.actions.last().cloned())
    };
    let take = |holder: String| LeaseRequest::Take {
        holder,
        term: LEASE_TERM,
    };
    let grant = LeaseGrant {
        fence: FENCE,
        term: LEASE_TERM,
        wanted: true,
        unix_ns: Some(-5),
    };
    // Others are shown the holder's words.
    let (heard, told) = asked(&mut client, take("a\n".repeat(1000)), Ok(grant));
    let shown = take("a·".repeat(32));
    assert_eq!(heard, Some(Action::Peer(PeerEvent::Lease(shown))));
    assert_eq!(told, Some(Action::Peer(PeerEvent::Leased(grant))));
    let release = LeaseRequest::Release { fence: FENCE };
    let refusal = Refusal {
        code: RefusalCode::Denied,
        message: "it is over".to_owned(),
    };
    let (heard, told) = asked(&mut client, release.clone(), Err(refusal.clone()));
    assert_eq!(heard, Some(Action::Peer(PeerEvent::Lease(release.clone()))));
    assert_eq!(told, Some(Action::TestOver(TestEnd::Refused(refusal))));

    // A decision that comes after the client gave up changes nothing.
    let (bytes, _) = client.give(Input::Lease(release));
    carry(&mut client, &mut server, &bytes);
    let (bytes, _) = client.give(interrupt());
    carry(&mut client, &mut server, &bytes);
    assert_eq!(server.give(Input::Leased(Ok(grant))), (Vec::new(), Ok(())));
    assert_eq!(
        (client.session.state(), server.session.state()),
        ("idle", "idle")
    );
}

#[test]
fn a_server_learns_from_the_greeting_which_lease_the_tests_are_of() {
    for fence in [None, Some(Fence::new(7))] {
        let config = ClientConfig {
            fence,
            ..client_config()
        };
        let mut client = End::new(Role::Client, Native.client(config, START), &specs()[..1]);
        let mut server = End::server(&Native);
        assert_eq!(converse(&mut client, &mut server, usize::MAX), Ok(()));
        let named = server.actions.iter().find_map(|action| match action {
            Action::Peer(PeerEvent::Hello(hello)) => Some(hello.fence),
            _ => None,
        });
        assert_eq!(named, Some(fence));
    }
}
