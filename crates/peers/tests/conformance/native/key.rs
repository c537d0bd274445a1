//! Who holds the key is served, nobody else, and nobody between two who hold it learns or changes what they say.

use super::{PREAMBLE, frame, hello};
use crate::harness::{End, Role, START, client_config, converse, server_config, specs};
use linerate_model::facts::Facts;
use linerate_model::sample::{IntervalCount, StreamReport};
use linerate_peers::key::{Credential, Key};
use linerate_peers::native::Native;
use linerate_peers::native::message::{Farewell, Message, Welcome};
use linerate_peers::{
    Action, ClientConfig, Input, Limits, PeerEvent, PeerKind, ProtocolError, RefusalCode,
    ServerConfig, TestEnd,
};

fn credential(key: &str, ephemeral: u8) -> Credential {
    Credential {
        key: Key::new(key.as_bytes()).expect("invariant: the keys here are long enough"),
        ephemeral: [ephemeral; 32],
    }
}

const RIGHT: &str = "correct horse battery staple";
const WRONG: &str = "another key of some length";

/// What a server tells of its host and makes of its tests, to be looked for.
const SECRETS: [&[u8]; 7] = [
    b"horse",
    b"host-of-these-tests",
    b"cores_online",
    b"token",
    b"payload",
    b"session",
    b"0.1.0",
];

fn server(key: Option<&str>, ephemeral: u8) -> End {
    let mut config = ServerConfig {
        credential: key.map(|key| credential(key, ephemeral)),
        ..server_config()
    };
    config.facts.hostname = Some("host-of-these-tests".into());
    End::new(Role::Server, Native.server(config, START), &[])
}

fn client(key: Option<&str>) -> End {
    let config = ClientConfig {
        credential: key.map(|key| credential(key, 2)),
        ..client_config()
    };
    End::new(Role::Client, Native.client(config, START), &specs())
}

/// A conversation between ends with these keys, in pieces of `chunk` bytes.
fn with_keys(
    client_key: Option<&str>,
    server_key: Option<&str>,
    chunk: usize,
) -> (End, End, Result<(), ProtocolError>) {
    let (mut client, mut server) = (client(client_key), server(server_key, 1));
    let outcome = converse(&mut client, &mut server, chunk);
    (client, server, outcome)
}

fn completed(end: &End) -> usize {
    let over = Action::TestOver(TestEnd::Complete);
    end.actions.iter().filter(|action| **action == over).count()
}

/// Whether this server told its driver of the client, or of a test of it.
fn was_entered(server: &End) -> bool {
    let enters = |action: &Action| {
        matches!(
            action,
            Action::Peer(PeerEvent::Hello(_)) | Action::Prepare { .. }
        )
    };
    server.actions.iter().any(enters)
}

#[test]
fn who_holds_the_key_is_served_however_its_bytes_are_cut() {
    for chunk in [1, 2, 3, 17, 1000, usize::MAX] {
        let (client, server, outcome) = with_keys(Some(RIGHT), Some(RIGHT), chunk);
        assert_eq!(outcome, Ok(()));
        let tests = specs().len();
        assert_eq!((completed(&client), completed(&server)), (tests, tests));
        assert!(client.is_closed() && server.is_closed());
        let Some(Action::Peer(PeerEvent::Hello(hello))) = client.actions.first() else {
            panic!("{:?}", client.actions);
        };
        let name = hello.facts.hostname.as_deref();
        assert_eq!(name, Some("host-of-these-tests"));
    }
}

#[test]
fn who_listens_reads_nothing_of_what_is_said() {
    let shown = |sent: &[u8]| {
        let finds = |secret: &&&[u8]| sent.windows(secret.len()).any(|part| part == **secret);
        SECRETS.iter().filter(finds).count()
    };
    let (client, server, _) = with_keys(Some(RIGHT), Some(RIGHT), usize::MAX);
    assert_eq!((shown(&client.sent), shown(&server.sent)), (0, 0));
    assert!(client.sent.starts_with(PREAMBLE) && server.sent.starts_with(PREAMBLE));
    // What is looked for is what they say.
    let (client, server, _) = with_keys(None, None, usize::MAX);
    assert_eq!(
        shown(&[client.sent, server.sent].concat()),
        SECRETS.len() - 1
    );
}

#[test]
fn without_a_key_nothing_but_the_messages_is_sent() {
    let (client, _, outcome) = with_keys(None, None, usize::MAX);
    assert_eq!(outcome, Ok(()));
    assert!(client.sent.starts_with(&hello()));
}

#[test]
fn who_holds_no_key_or_another_is_not_served_and_told_what_to_do() {
    let cases = [
        (None, Some(RIGHT), "give the file of its key with --key"),
        (Some(RIGHT), None, "leave --key away at the client"),
        (Some(WRONG), Some(RIGHT), "the client's key is another"),
    ];
    for (client, server, text) in cases {
        let (client, server, outcome) = with_keys(client, server, usize::MAX);
        let error = outcome.unwrap_err();
        assert!(matches!(error, ProtocolError::Key { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(server.is_closed() && !was_entered(&server), "{error}");
        // The client reads the same.
        let mut client = client;
        let error = client.give(Input::Bytes(&server.sent)).1.unwrap_err();
        assert!(matches!(error, ProtocolError::TurnedAway { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(client.is_closed());
    }
}

/// What is said before the other end has shown the key may come from anybody.
#[test]
fn a_refusal_that_anybody_may_have_said_is_marked() {
    for key in [None, Some(RIGHT)] {
        let mut client = client(key);
        let farewell = Message::Farewell(Farewell {
            code: RefusalCode::Busy,
            message: "4 clients are the most here".into(),
        });
        let bytes = [PREAMBLE, &frame(&farewell)].concat();
        let error = client.give(Input::Bytes(&bytes)).1.unwrap_err().to_string();
        assert!(error.contains("4 clients are the most here"), "{error}");
        assert_eq!(error.contains("without proof of the key"), key.is_some());
    }
}

/// Versions that seal nothing, and whoever plays one, get no session with an end that has a key.
#[test]
fn a_peer_that_seals_nothing_is_refused() {
    let welcome = Message::Welcome(Box::new(Welcome {
        version: "0.1.0".into(),
        session: "s-1".into(),
        limits: Limits::default(),
        facts: Facts::default(),
    }));
    let unknown = Message::Farewell(Farewell {
        code: RefusalCode::Protocol,
        message: "no message has kind 8".into(),
    });
    for message in [welcome, unknown, Message::Ping] {
        let mut client = client(Some(RIGHT));
        client.give(Input::Bytes(&[])).1.unwrap();
        let bytes = [PREAMBLE, &frame(&message)].concat();
        let (said, outcome) = client.give(Input::Bytes(&bytes));
        let error = outcome.unwrap_err().to_string();
        assert!(
            error.contains("same version of linerate at both ends"),
            "{error}"
        );
        assert!(client.is_closed() && said.is_empty());
        assert!(
            client
                .actions
                .iter()
                .all(|action| *action == Action::Closed)
        );
    }
}

#[test]
fn a_server_that_only_pretends_to_hold_the_key_is_left() {
    let mut client = client(Some(RIGHT));
    client.give(Input::Bytes(&[])).1.unwrap();
    let bytes = [PREAMBLE, &frame(&Message::Seal(vec![9; 48]))].concat();
    let error = client.give(Input::Bytes(&bytes)).1.unwrap_err();
    assert!(
        error.to_string().contains("does not hold this key itself"),
        "{error}"
    );
    assert!(client.is_closed());
}

/// Someone who holds another key, and sits between a client and a server that hold one: neither talks with it.
#[test]
fn a_relay_with_a_key_of_its_own_gets_nothing_from_either_end() {
    let (mut client_here, mut server_there) = (client(Some(RIGHT)), server(Some(RIGHT), 1));
    let (mut its_server, mut its_client) = (server(Some(WRONG), 3), client(Some(WRONG)));
    let asked = client_here.give(Input::Bytes(&[])).0;
    let (answer, outcome) = its_server.give(Input::Bytes(&asked));
    assert!(matches!(outcome, Err(ProtocolError::Key { .. })));
    assert!(client_here.give(Input::Bytes(&answer)).1.is_err());
    let asked = its_client.give(Input::Bytes(&[])).0;
    assert!(server_there.give(Input::Bytes(&asked)).1.is_err());
    for end in [&its_server, &server_there] {
        assert!(end.is_closed() && !was_entered(end));
    }
}

/// What a key holder once said opens nothing: not at another session, not even at one with the same ephemeral key.
#[test]
fn a_recording_of_a_client_opens_nothing() {
    let (recorded, _, _) = with_keys(Some(RIGHT), Some(RIGHT), usize::MAX);
    let mut victim = server(Some(RIGHT), 3);
    let (answer, outcome) = victim.give(Input::Bytes(&recorded.sent));
    let error = outcome.unwrap_err();
    assert!(
        matches!(error, ProtocolError::Altered { record: 1, .. }),
        "{error}"
    );
    assert!(victim.is_closed() && !was_entered(&victim));
    let told = answer.windows(4).any(|part| part == b"host");
    assert!(!told);
    // Its first message alone is answered, and holds no more than the time for a hello.
    let mut victim = server(Some(RIGHT), 3);
    let first = PREAMBLE.len() + 5 + 48;
    let (answer, outcome) = victim.give(Input::Bytes(&recorded.sent[..first]));
    assert_eq!((outcome, answer.len()), (Ok(()), first));
    assert!(!was_entered(&victim));
    let begun = victim.now;
    assert!(victim.wait_out(10).is_err());
    let held = victim.now.saturating_since(begun);
    assert!(held <= server_config().timeout, "{held:?}");
    assert!(victim.is_closed() && !was_entered(&victim));
}

/// The records that an end has sent after preamble and handshake, each with its length.
fn records(sent: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &sent[PREAMBLE.len() + 5 + 48..];
    let mut records = Vec::new();
    while let [high, low, ..] = rest {
        let length = 2 + usize::from(u16::from_be_bytes([*high, *low]));
        records.push(rest[..length].to_vec());
        rest = &rest[length..];
    }
    records
}

/// A relay that has carried all until the channel stood and both have said their hellos: it holds what the client says next,
/// and the server's welcome.
fn relayed() -> (End, End, Vec<Vec<u8>>) {
    let (mut client, mut server) = (client(Some(RIGHT)), server(Some(RIGHT), 1));
    let said = client.give(Input::Bytes(&[])).0;
    let part = server.give(Input::Bytes(&said)).0;
    let hello = client.give(Input::Bytes(&part)).0;
    let welcome = server.give(Input::Bytes(&hello)).0;
    let prepare = client.give(Input::Bytes(&welcome)).0;
    assert!(!prepare.is_empty());
    (client, server, vec![hello, welcome, prepare])
}

/// Whatever a relay does with one record, the session ends at both ends before a test is prepared.
#[test]
fn a_record_that_a_relay_makes_changes_drops_repeats_or_moves_ends_the_session() {
    let altered = |at: usize, record: &[u8]| {
        let mut record = record.to_vec();
        record[at] ^= 1;
        record
    };
    let (_, _, said) = relayed();
    let [hello, welcome, prepare] = &said[..] else {
        panic!("{said:?}");
    };
    let mut deeds: Vec<Vec<u8>> = (0..prepare.len()).map(|at| altered(at, prepare)).collect();
    deeds.extend([
        hello.clone(),
        [hello.as_slice(), prepare].concat(),
        welcome.clone(),
        frame(&Message::Bye),
        b"\0\x11seventeen bytes..".to_vec(),
    ]);
    let mut shortened = prepare.clone();
    shortened.pop();
    let length = u16::try_from(shortened.len() - 2).unwrap();
    shortened[..2].copy_from_slice(&length.to_be_bytes());
    deeds.push(shortened);
    for deed in deeds {
        let (mut client, mut server, _) = relayed();
        let (mut answer, mut outcome) = server.give(Input::Bytes(&deed));
        if outcome.is_ok() {
            // A length that grew: the server waits for the rest, and reads what comes next as that.
            (answer, outcome) = server.give(Input::Bytes(&vec![7; 70_000]));
        }
        let error = outcome.unwrap_err();
        assert!(matches!(error, ProtocolError::Altered { .. }), "{error}");
        assert!(error.to_string().contains("changed on its way"), "{error}");
        let prepares = |action: &Action| matches!(action, Action::Prepare { .. });
        assert!(server.is_closed() && !server.actions.iter().any(prepares));
        let error = client.give(Input::Bytes(&answer)).1.unwrap_err();
        assert!(
            matches!(
                error,
                ProtocolError::TurnedAway {
                    code: RefusalCode::Protocol,
                    ..
                }
            ),
            "{error}"
        );
        assert!(client.is_closed());
    }
}

/// No record of a whole session may be left out, repeated or moved, in either direction.
#[test]
fn every_record_of_a_session_has_its_place() {
    let (client_sent, server_sent) = {
        let (client, server, _) = with_keys(Some(RIGHT), Some(RIGHT), usize::MAX);
        (records(&client.sent), records(&server.sent))
    };
    for (role, said) in [(Role::Client, &server_sent), (Role::Server, &client_sent)] {
        assert!(said.len() > 20, "{}", said.len());
        for at in 0..said.len() - 1 {
            let mut dropped = said.clone();
            dropped.remove(at);
            let mut repeated = said.clone();
            repeated.insert(at, said[at].clone());
            let mut swapped = said.clone();
            swapped.swap(at, at + 1);
            for list in [dropped, repeated, swapped] {
                let (mut client, mut server) = (client(Some(RIGHT)), server(Some(RIGHT), 1));
                let first = client.give(Input::Bytes(&[])).0;
                let part = server.give(Input::Bytes(&first)).0;
                let mut end = match role {
                    Role::Client => client,
                    Role::Server => server,
                };
                if role == Role::Client {
                    end.give(Input::Bytes(&part)).1.unwrap();
                }
                let mut outcomes = list.iter().map(|record| end.give(Input::Bytes(record)).1);
                let error = outcomes.find_map(Result::err).unwrap();
                assert!(matches!(error, ProtocolError::Altered { .. }), "{error}");
                drop(outcomes);
                assert!(end.is_closed());
            }
        }
    }
}

#[test]
fn a_long_frame_is_split_and_a_report_of_megabytes_arrives() {
    let mut config = ServerConfig {
        credential: Some(credential(RIGHT, 1)),
        ..server_config()
    };
    config.facts.insert("essay", "x".repeat(60_000));
    let mut server = End::new(Role::Server, Native.server(config, START), &[]);
    server.streams = |spec, side| {
        let one = crate::harness::seven_each(spec, side);
        let many = |stream: StreamReport| StreamReport {
            intervals: vec![IntervalCount::default(); 20_000],
            ..stream
        };
        one.into_iter().map(many).collect()
    };
    let mut client = client(Some(RIGHT));
    assert_eq!(converse(&mut client, &mut server, 4096), Ok(()));
    assert_eq!(completed(&client), specs().len());
    let longest = records(&server.sent).iter().map(Vec::len).max();
    assert_eq!(longest, Some(2 + 65_535));
}

/// Lengths that only a hostile end says are refused by their header alone, and what has not proved the key gets little room.
#[test]
fn hostile_lengths_are_refused_by_their_header() {
    let with = |bytes: &[u8]| {
        let mut server = server(Some(RIGHT), 1);
        server.give(Input::Bytes(&[PREAMBLE, bytes].concat())).1
    };
    // Before the handshake: a hello of a key's absence is read, if it is short; a part has its length.
    for bytes in [
        b"\0\0\x04\x01\x01".as_slice(),
        b"\0\0\0\x32\x08",
        b"\0\0\0\0\x08",
        b"\xff\xff\xff\xff\x08",
        b"\0\x01\0\0\x10",
    ] {
        let error = with(bytes).unwrap_err();
        assert!(matches!(error, ProtocolError::Length { .. }), "{error}");
    }
    let error = with(&frame(&Message::Seal(vec![0; 47]))).unwrap_err();
    assert!(matches!(error, ProtocolError::Key { .. }), "{error}");
    // After it.
    let opening = client(Some(RIGHT)).give(Input::Bytes(&[])).0;
    for (length, is_refused) in [
        (0_u16, true),
        (16, true),
        (17, false),
        (1024, false),
        (1025, true),
        (65_535, true),
    ] {
        let mut server = server(Some(RIGHT), 1);
        server.give(Input::Bytes(&opening)).1.unwrap();
        let outcome = server.give(Input::Bytes(&length.to_be_bytes())).1;
        assert_eq!(outcome.is_err(), is_refused, "{length}");
    }
    // Whoever has proved the key may send records of any length.
    let (_, mut server, _) = relayed();
    server.give(Input::Bytes(&[0xff, 0xff])).1.unwrap();
}

#[test]
fn a_connection_cut_in_a_record_is_told_from_one_that_ended() {
    for (cut, is_regular) in [(0, true), (1, false), (20, false)] {
        let (_, mut server, said) = relayed();
        server.give(Input::Bytes(&said[2][..cut])).1.unwrap();
        let outcome = server.give(Input::Eof).1;
        assert_eq!(outcome.is_ok(), is_regular, "{cut}");
        assert!(server.is_closed());
    }
}

/// Key, prologue and protocol of the handshake are a contract between versions. The value was computed from the specifications
/// (Noise revision 34, RFC 7748, RFC 8439), not by this code.
#[test]
fn the_opening_of_a_client_with_a_key_is_the_same_in_every_version() {
    let said = client(Some(RIGHT)).give(Input::Bytes(&[])).0;
    assert_eq!(said[..PREAMBLE.len() + 5], *b"linerate\0\x02\0\0\0\x31\x08");
    let hex: Vec<_> = said[15..]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        hex.concat(),
        "ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59d46329053a35f70829b79128fe64ebaa"
    );
}

/// What is sealed is a function of key, ephemeral keys and inputs alone.
#[test]
fn a_session_is_the_same_every_time() {
    let sent = || {
        let (client, server, _) = with_keys(Some(RIGHT), Some(RIGHT), usize::MAX);
        (client.sent, server.sent)
    };
    assert!(sent() == sent());
}
