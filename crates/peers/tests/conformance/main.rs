//! What every protocol must do, walked over the registry: being listed is being tested.

mod harness;
mod native;
mod transcripts;

use harness::{
    End, Role, START, converse, conversing, later, server_config, session, sessions, specs,
    specs_of,
};
use linerate_model::ByteCount;
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::{Direction, Side, Stop, TestSpec};
use linerate_peers::{
    Action, Ending, Input, Limits, PeerEvent, PeerKind, ProtocolError, Refusal, ServerConfig,
    StreamEvent, TestEnd, Tests,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often these ends did this, over all their sessions.
fn count(ends: &[&End], action: &Action) -> usize {
    let all = ends.iter().flat_map(|end| &end.actions);
    all.filter(|done| *done == action).count()
}

/// All clients and all servers of these sessions.
fn by_role(made: &[(End, End)]) -> [Vec<&End>; 2] {
    let clients = made.iter().map(|(client, _)| client).collect();
    let servers = made.iter().map(|(_, server)| server).collect();
    [clients, servers]
}

#[test]
fn both_ends_make_every_test_and_part_in_peace() {
    for kind in conversing() {
        for ends in by_role(&sessions(kind, usize::MAX)) {
            let over = count(&ends, &Action::TestOver(TestEnd::Complete));
            assert_eq!(over, specs_of(kind).len(), "{}", kind.id());
            for end in ends {
                assert!(end.is_closed(), "{}: {:?}", kind.id(), end.session);
            }
        }
    }
}

/// What every protocol carries of a report: the bytes and datagrams of each stream.
fn essence(reports: &[EndpointReport]) -> BTreeMap<Side, Vec<(u16, u64, u64)>> {
    let stream = |s: &StreamReport| (s.index, s.bytes.get(), s.packets.get());
    reports
        .iter()
        .map(|report| (report.side, report.streams.iter().map(stream).collect()))
        .collect()
}

#[test]
fn the_client_gets_what_the_server_saw() {
    // Where nothing is told of the peer, nothing is.
    for kind in conversing().filter(|kind| kind.about().tests != Tests::Alike) {
        for spec in specs_of(kind) {
            let (client, server, outcome) = session(kind, &[spec], usize::MAX);
            assert_eq!(outcome, Ok(()));
            let told = client.actions.iter().find_map(|action| match action {
                Action::Peer(PeerEvent::Report(reports)) => Some(essence(reports)),
                _ => None,
            });
            assert_eq!(told, Some(essence(&server.reports())), "{}", kind.id());
        }
    }
}

#[test]
fn receivers_run_before_the_peer_sends() {
    for kind in conversing() {
        let specs = specs_of(kind);
        let playing = |not: Direction| specs.iter().filter(|s| s.direction != not).count();
        let made = sessions(kind, usize::MAX);
        let [clients, servers] = by_role(&made);
        for (ends, sends, receives) in [
            (
                clients,
                playing(Direction::Reverse),
                playing(Direction::Forward),
            ),
            (
                servers,
                playing(Direction::Forward),
                playing(Direction::Reverse),
            ),
        ] {
            assert_eq!(
                count(&ends, &Action::Start(Side::Sender)),
                sends,
                "{}",
                kind.id()
            );
            let started = count(&ends, &Action::Start(Side::Receiver));
            assert_eq!(started, receives, "{}", kind.id());
        }
    }
}

#[test]
fn a_byte_at_a_time_is_understood_like_all_at_once() {
    for kind in conversing() {
        let whole = sessions(kind, usize::MAX);
        for chunk in [1, 2, 7] {
            for ((client, server), (slow_client, slow_server)) in
                whole.iter().zip(sessions(kind, chunk))
            {
                assert_eq!(slow_client.actions, client.actions, "{}", kind.id());
                assert_eq!(slow_server.actions, server.actions, "{}", kind.id());
            }
        }
    }
}

/// Feeds one end what the other once said, byte by byte, so that its driver can answer in between.
fn replay(end: &mut End, bytes: &[u8]) -> Result<(), ProtocolError> {
    for byte in bytes {
        end.give(Input::Bytes(&[*byte])).1?;
    }
    Ok(())
}

#[test]
fn a_connection_that_ends_at_any_offset_ends_the_session() {
    for kind in conversing() {
        let specs = specs_of(kind);
        let spec = &specs[specs.len() - 1..];
        let (client, server, _) = session(kind, spec, usize::MAX);
        for (said, is_server) in [(&client.sent, true), (&server.sent, false)] {
            for cut in 0..=said.len() {
                let mut end = if is_server {
                    End::server(kind)
                } else {
                    End::client(kind, spec)
                };
                let _ = end.give(Input::Bytes(&[]));
                assert_eq!(replay(&mut end, &said[..cut]), Ok(()), "cut at {cut}");
                let (_, outcome) = end.give(Input::Eof);
                assert!(end.is_closed(), "cut at {cut}: {:?}", end.session);
                if let Err(error) = outcome {
                    assert!(error.to_string().len() > 20, "cut at {cut}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_peer_that_falls_silent_is_noticed_in_every_state() {
    for kind in conversing() {
        let (client, _, _) = session(kind, &specs_of(kind)[..1], usize::MAX);
        let said = &client.sent[..client.sent.len() - 1];
        for cut in (0..said.len()).step_by(9) {
            let mut end = End::server(kind);
            assert_eq!(replay(&mut end, &said[..cut]), Ok(()));
            let error = end.wait_out(100).err();
            assert!(end.is_closed(), "cut at {cut}: {error:?}");
            // A protocol of one test has nothing to tell a silent end after stopping it, or after all was said.
            let is_stopped = end.actions.iter().any(|a| matches!(a, Action::Stop { .. }));
            let is_over = end.actions.contains(&Action::TestOver(TestEnd::Complete));
            assert!(error.is_some() || is_stopped || is_over, "cut at {cut}");
        }
    }
}

/// For how long a server holds a client in a test by saying a byte of what it has to say once in each `gap`.
fn held_by_drips(kind: &dyn PeerKind, spec: &TestSpec, gap: Duration) -> Duration {
    let specs = [spec.clone()];
    let (_, server, _) = session(kind, &specs, usize::MAX);
    let mut client = End::client(kind, &specs);
    drop(client.give(Input::Bytes(&[])));
    for byte in &server.sent {
        let next = client.now.after(gap);
        while let Some(due) = client.session.deadline().filter(|due| *due <= next) {
            client.now = client.now.max(due);
            drop(client.give(Input::Timeout));
            // A step that was not taken by its time is tried again by a driver until the next byte.
            if client.session.deadline() == Some(due) {
                break;
            }
        }
        if client.is_closed() {
            return client.now.saturating_since(START);
        }
        client.now = next;
        drop(client.give(Input::Bytes(&[*byte])));
    }
    assert!(client.is_closed(), "{}: {:?}", kind.id(), client.session);
    client.now.saturating_since(START)
}

#[test]
fn a_server_that_drips_its_answers_holds_a_client_for_a_bounded_time() {
    for kind in conversing() {
        let is_own = kind.id() == linerate_peers::own().id();
        // 10 s for the greeting, 20 s for setting up, the test's second and 11 s for what drains, and 10 s for the end.
        // linerate's own: 15 s until traffic, 14 s for test and reports, and an answer to the abort.
        let most = Duration::from_secs(if is_own { 32 } else { 52 });
        // What ends by a number of transactions ends at once in this harness, or by time never.
        let by_time = |spec: &TestSpec| matches!(spec.stop, Stop::After(_));
        for spec in specs_of(kind).into_iter().filter(by_time) {
            let spec = TestSpec {
                stop: Stop::After(Duration::from_secs(1)),
                ..spec
            };
            for tenths in [1, 7, 20, 40, 60, 90] {
                let gap = Duration::from_millis(100) * tenths;
                let held = held_by_drips(kind, &spec, gap);
                assert!(held <= most, "{}, {gap:?}: {held:?}", kind.id());
            }
        }
    }
}

/// Whatever a client says of its test, it does not go on for long beyond what the server allows.
#[test]
fn a_test_that_its_client_does_not_end_is_over_when_the_server_s_limit_is() {
    const MAX_DURATION: Duration = Duration::from_mins(1);
    for kind in conversing() {
        // Ends of the own protocol tell each other when they are done, through links that they have filled.
        let is_own = kind.id() == linerate_peers::own().id();
        let margin = Duration::from_secs(if is_own { 60 } else { 5 });
        let mut made = 0;
        for spec in specs_of(kind) {
            let time = Stop::After(MAX_DURATION);
            for stop in [time, Stop::Bytes(ByteCount::new(1 << 40)), spec.stop] {
                let spec = TestSpec {
                    stop,
                    ..spec.clone()
                };
                if kind.check(&spec).is_err() {
                    continue;
                }
                let config = ServerConfig {
                    limits: Limits {
                        max_duration: MAX_DURATION,
                        ..server_config().limits
                    },
                    ..server_config()
                };
                let mut server = End::new(Role::Server, kind.server(config, START), &[]);
                let mut client = End::client(kind, &[spec]);
                for end in [&mut client, &mut server] {
                    end.ignores = |action| {
                        matches!(
                            action,
                            Action::Start(_) | Action::Stop { .. } | Action::Stream(_)
                        )
                    };
                }
                converse(&mut client, &mut server, usize::MAX).unwrap();
                if !server.actions.contains(&Action::Start(Side::Receiver)) {
                    continue;
                }
                made += 1;
                let due = server.session.deadline().unwrap();
                assert!(
                    due <= START.after(MAX_DURATION + margin),
                    "{}: {} for {:?}",
                    kind.id(),
                    server.session.state(),
                    due.saturating_since(START)
                );
            }
        }
        assert!(made > 0, "{}", kind.id());
    }
}

#[test]
fn two_ends_that_have_nothing_to_say_keep_each_other_alive() {
    for kind in conversing().filter(|kind| kind.about().tests == Tests::Many) {
        let mut client = End::client(kind, &[]);
        let mut server = End::server(kind);
        let (hello, _) = client.give(Input::Bytes(&[]));
        let (welcome, outcome) = server.give(Input::Bytes(&hello));
        assert_eq!(outcome, Ok(()));
        // The client's driver has nothing to ask for, and does not say goodbye.
        client
            .session
            .handle(client.now, Input::Bytes(&welcome))
            .unwrap();
        while client.session.poll_action().is_some() {}
        for _ in 0..100 {
            later(&mut client, Duration::from_secs(1));
            later(&mut server, Duration::from_secs(1));
            let (from_client, outcome) = client.give(Input::Timeout);
            assert_eq!(outcome, Ok(()));
            let (from_server, outcome) = server.give(Input::Bytes(&from_client));
            assert_eq!(outcome, Ok(()));
            assert_eq!(server.give(Input::Timeout).1, Ok(()));
            assert_eq!(client.give(Input::Bytes(&from_server)).1, Ok(()));
        }
    }
}

/// Inputs a confused driver might give.
fn any_input() -> impl Strategy<Value = Input<'static>> {
    use linerate_model::PacketCount;
    use linerate_model::spec::Side;
    use linerate_peers::{Progress, RefusalCode};
    prop_oneof![
        Just(Input::Eof),
        Just(Input::Timeout),
        Just(Input::Begin(Box::new(specs()[0].clone()))),
        Just(Input::Admitted(Ok(()))),
        Just(Input::Prepared(Ok(vec![(Side::Receiver, vec![1])]))),
        Just(Input::Prepared(Ok(vec![]))),
        Just(Input::Prepared(Err(Refusal {
            code: RefusalCode::Internal,
            message: "\u{1b}".repeat(9999)
        }))),
        Just(Input::Connected),
        Just(Input::Progress(Progress::default())),
        Just(Input::Finished {
            sent: vec![PacketCount::new(1); 2]
        }),
        Just(Input::Finished {
            sent: vec![PacketCount::new(1); 9999]
        }),
        Just(Input::Reports(vec![])),
        Just(Input::End(Ending::Test {
            code: RefusalCode::Interrupted,
            reason: "\"".repeat(9999)
        })),
        Just(Input::End(Ending::Traffic)),
        Just(Input::Stream(StreamEvent::GrantSpent)),
        Just(Input::Stopped),
        Just(Input::End(Ending::Session)),
    ]
}

/// A session fed with `bytes` must survive, and be over after an error.
fn survives(mut end: End, bytes: &[u8], chunk: usize) {
    for piece in bytes.chunks(chunk) {
        if let (_, Err(error)) = end.give(Input::Bytes(piece)) {
            assert!(end.is_closed(), "{error}");
            assert!(error.to_string().len() < 2000, "{error}");
            return;
        }
    }
    let _ = end.give(Input::Eof);
    assert!(end.is_closed());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for kind in conversing() {
            survives(End::server(kind), &bytes, 64);
            survives(End::client(kind, &specs_of(kind)), &bytes, 64);
        }
    }

    #[test]
    fn a_damaged_conversation_is_survived(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
        chunk in 1_usize..50,
    ) {
        for kind in conversing() {
            let all = specs_of(kind);
            let specs = &all[all.len() - 2..];
            let (client, server, _) = session(kind, specs, usize::MAX);
            for (mut said, end) in [
                (client.sent, End::server(kind)),
                (server.sent, End::client(kind, specs)),
            ] {
                let at = at.index(said.len());
                said[at] = byte;
                said.remove(cut.index(said.len()));
                survives(end, &said, chunk);
            }
        }
    }

    #[test]
    fn a_confused_driver_is_told_and_not_obeyed(
        inputs in prop::collection::vec(any_input(), 1..12),
        start in 0_usize..2000,
    ) {
        for kind in conversing() {
            let specs = specs_of(kind);
            let (client, server, _) = session(kind, &specs, usize::MAX);
            for (said, mut end) in [
                (client.sent, End::server(kind)),
                (server.sent, End::client(kind, &specs)),
            ] {
                let _ = end.give(Input::Bytes(&[]));
                let _ = replay(&mut end, &said[..start.min(said.len())]);
                for input in &inputs {
                    if let (_, Err(error)) = end.give(input.clone()) {
                        prop_assert!(end.is_closed(), "{}", error);
                    }
                }
            }
        }
    }
}

#[test]
fn every_protocol_has_seeds_for_fuzzing() {
    let protocols = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for kind in linerate_peers::ALL {
        let seeds = std::fs::read_dir(protocols.join(kind.id()).join("seeds"));
        assert!(seeds.is_ok_and(|seeds| seeds.count() > 3), "{}", kind.id());
    }
}
