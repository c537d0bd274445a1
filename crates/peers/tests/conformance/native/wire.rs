//! Greeting, framing, and peers that are something else.

use super::{PREAMBLE, frame, hello, server};
use crate::harness::{End, Role, START, client_config, converse, server_config};
use linerate_model::ByteCount;
use linerate_model::spec::{Stop, TestSpec};
use linerate_peers::native::message::{Farewell, Message, Prepare, Refused};
use linerate_peers::native::{Native, VERSION};
use linerate_peers::{
    Action, Input, PeerEvent, PeerKind, ProtocolError, Refusal, RefusalCode, ServerConfig,
};

#[test]
fn a_peer_of_another_protocol_is_named() {
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
                    text.contains(&format!("the peer speaks {name}, not")),
                    "{text}"
                );
                assert!(end.is_closed());
            }
        }
    }
}

#[test]
fn a_peer_that_said_too_little_to_be_recognised_is_judged_when_it_falls_silent() {
    let mut client = End::client(&Native, &[]);
    assert_eq!(client.give(Input::Bytes(b"220 ")).1, Ok(()));
    let error = client.wait_out(10).unwrap_err();
    assert!(matches!(error, ProtocolError::Foreign { .. }), "{error}");
}

#[test]
fn a_linerate_of_another_version_is_told_at_both_ends() {
    for theirs in [VERSION - 1, VERSION + 1] {
        let ours = VERSION;
        let other = ProtocolError::Version { theirs, ours };
        let preamble = [b"linerate".as_slice(), &theirs.to_be_bytes()].concat();
        let mut server = End::server(&Native);
        let hello = [preamble.as_slice(), b"\x00\x00\x00\x09\x63whatever"].concat();
        let (answer, outcome) = server.give(Input::Bytes(&hello));
        assert_eq!(outcome, Err(other.clone()));
        assert_eq!(answer, PREAMBLE, "so that the client can say the same");
        let mut client = End::client(&Native, &[]);
        let (_, outcome) = client.give(Input::Bytes(&preamble));
        assert_eq!(outcome, Err(other.clone()));
        let words = other.to_string();
        assert!(words.contains(&format!("version {theirs}")), "{words}");
    }
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
        "the peer ended the session (busy, state greeting): 4 clients are the most here"
    );
    assert!(server.is_closed() && client.is_closed());
}

/// Its place is taken before it is welcome, so that two who come at once do not both get the last one.
#[test]
fn a_client_is_welcome_once_it_has_a_place() {
    let waiting = || {
        let mut server = End::server(&Native);
        server.ignores = |action| matches!(action, Action::Admit);
        let asked = [hello(), frame(&Message::Ping)].concat();
        assert_eq!(
            server.give(Input::Bytes(&asked)),
            (PREAMBLE.to_vec(), Ok(()))
        );
        assert_eq!(server.actions, [Action::Admit]);
        server
    };
    let mut admitted = waiting();
    let (welcome, outcome) = admitted.give(Input::Admitted(Ok(())));
    assert_eq!(outcome, Ok(()));
    assert!(welcome.escape_ascii().to_string().contains("session"));

    let (code, message) = (RefusalCode::Busy, "4 clients are the most here".to_owned());
    let reason = Farewell {
        code,
        message: message.clone(),
    };
    let mut refused = waiting();
    let refusal = Refusal { code, message };
    let (farewell, outcome) = refused.give(Input::Admitted(Err(refusal)));
    assert_eq!(outcome, Ok(()));
    assert_eq!(farewell, frame(&Message::Farewell(reason)));
    assert!(refused.is_closed());
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
fn facts_too_long_for_a_message_are_left_out_and_said_to_be() {
    let mut config = server_config();
    config.facts.insert("essay", "x".repeat(70_000));
    let mut server = End::new(Role::Server, Native.server(config, START), &[]);
    let mut client = End::client(&Native, &[]);
    assert_eq!(converse(&mut client, &mut server, usize::MAX), Ok(()));
    let Some(Action::Peer(PeerEvent::Hello(hello))) = client.actions.first() else {
        panic!("{:?}", client.actions);
    };
    assert!(
        hello.facts.rest().contains_key("facts-missing"),
        "{hello:?}"
    );
}

#[test]
fn the_peers_goodbye_is_passed_on_without_its_control_characters() {
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
