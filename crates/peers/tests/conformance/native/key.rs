//! Who holds the key is served, and nobody else.

use crate::harness::{End, Role, START, client_config, converse, server_config, specs};
use linerate_model::facts::Facts;
use linerate_peers::key::{Credential, Key};
use linerate_peers::native::Native;
use linerate_peers::native::message::{Message, Welcome};
use linerate_peers::{
    Action, ClientConfig, Input, Limits, PeerEvent, PeerKind, ProtocolError, ServerConfig, TestEnd,
};

fn credential(key: &str, nonce: u8) -> Credential {
    Credential {
        key: Key::new(key.as_bytes()).expect("invariant: the keys here are long enough"),
        nonce: [nonce; 32],
    }
}

/// A conversation between ends that hold these keys.
fn with_keys(client: Option<&str>, server: Option<&str>) -> (End, End, Result<(), ProtocolError>) {
    let config = ServerConfig {
        credential: server.map(|key| credential(key, 1)),
        ..server_config()
    };
    let mut server = End::new(Role::Server, Native.server(config, START), &[]);
    let config = ClientConfig {
        credential: client.map(|key| credential(key, 2)),
        ..client_config()
    };
    let mut client = End::new(Role::Client, Native.client(config, START), &specs()[..1]);
    let outcome = converse(&mut client, &mut server, usize::MAX);
    (client, server, outcome)
}

const RIGHT: &str = "correct horse battery staple";

#[test]
fn who_holds_the_key_is_served() {
    let (client, _, outcome) = with_keys(Some(RIGHT), Some(RIGHT));
    assert_eq!(outcome, Ok(()));
    assert!(
        client
            .actions
            .contains(&Action::TestOver(TestEnd::Complete))
    );
    let said = client.sent.escape_ascii().to_string();
    assert!(!said.contains("horse"), "{said}");
}

#[test]
fn who_holds_no_key_or_another_is_not_served_and_told_what_to_do() {
    let cases = [
        (None, Some(RIGHT), "give the file of its key with --key"),
        (Some(RIGHT), None, "leave --key away here"),
        (
            Some("another key of some length"),
            Some(RIGHT),
            "its key is another",
        ),
    ];
    for (client, server, text) in cases {
        let (client, server, outcome) = with_keys(client, server);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
        assert!(client.is_closed(), "{error}");
        let prepared = server
            .actions
            .iter()
            .any(|a| matches!(a, Action::Prepare { .. }));
        assert!(!prepared, "{error}");
    }
}

/// Someone who sits between and knows no key: what a client said to one server opens no other session.
#[test]
fn a_proof_that_was_overheard_opens_nothing() {
    let (client, _, _) = with_keys(Some(RIGHT), Some(RIGHT));
    let config = ServerConfig {
        credential: Some(credential(RIGHT, 3)),
        ..server_config()
    };
    let mut server = End::new(Role::Server, Native.server(config, START), &[]);
    drop(server.give(Input::Bytes(&client.sent)));
    assert!(server.is_closed());
    assert!(
        !server
            .actions
            .iter()
            .any(|a| matches!(a, Action::Peer(PeerEvent::Hello(_))))
    );
}

#[test]
fn a_server_that_only_pretends_to_hold_the_key_is_left() {
    let config = ClientConfig {
        credential: Some(credential(RIGHT, 2)),
        ..client_config()
    };
    let mut client = End::new(Role::Client, Native.client(config, START), &specs()[..1]);
    let pretender = ServerConfig {
        credential: Some(credential("a key of its own making", 1)),
        ..server_config()
    };
    let mut server = End::new(Role::Server, Native.server(pretender, START), &[]);
    let (hello, _) = client.give(Input::Bytes(&[]));
    let (challenge, _) = server.give(Input::Bytes(&hello));
    drop(client.give(Input::Bytes(&challenge)));
    let welcome = Message::Welcome(Box::new(Welcome {
        version: "0.1.0".into(),
        session: "s-1".into(),
        limits: Limits::default(),
        facts: Facts::default(),
        proof: Some([0; 32]),
    }));
    let error = client
        .give(Input::Bytes(&welcome.encode().unwrap()))
        .1
        .unwrap_err();
    assert!(
        error.to_string().contains("does not hold this key itself"),
        "{error}"
    );
}
