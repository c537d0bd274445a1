//! Recorded conversations, replayed against one end: the bytes on the wire are a contract.
//!
//! A transcript is a text file in the folder of its protocol, `src/<protocol>/transcripts/`:
//!
//! ```text
//! # what it shows
//! end client            which end is under test
//! test {…}              client: a test it will ask for, as JSON
//! < …                   bytes of the peer, escaped
//! > …                   bytes this end sends after them
//! = …                   what its driver is told after them, by the action's name
//! ~                     time passes until this end wants to be told
//! ! …                   the error that ended the session
//! ```
//!
//! The driver is the harness's, which answers at once. Bytes may be recorded from other implementations.

use crate::harness::{End, Role, START, client_config, conversing, server_config};
use linerate_model::spec::Side;
use linerate_peers::{Action, Input, PeerEvent, PeerKind, StreamOrder, StreamTarget, TestEnd};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn folder(kind: &dyn PeerKind) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(kind.id())
        .join("transcripts")
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (byte, false) => byte,
            (_, true) => match rest.next().expect("an escape has a second character") {
                b'x' => {
                    let digits = [rest.next(), rest.next()].map(|d| d.expect("two hex digits"));
                    let digits = String::from_utf8(digits.to_vec()).expect("ASCII");
                    u8::from_str_radix(&digits, 16).expect("hex digits")
                }
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                plain => plain,
            },
        });
    }
    bytes
}

fn end_for(kind: &dyn PeerKind, text: &str) -> End {
    let tests: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("test "))
        .map(|json| serde_json::from_str(json).expect("a TestSpec"))
        .collect();
    let mut end = if text.contains("\nend client\n") {
        End::new(Role::Client, kind.client(client_config(), START), &tests)
    } else {
        assert!(text.contains("\nend server\n"), "which end?");
        End::new(Role::Server, kind.server(server_config(), START), &tests)
    };
    end.streams = |_, _| Vec::new();
    end
}

/// What a driver is told: the action's name, with what it is of where there are several.
fn name(action: &Action) -> String {
    let name = match action {
        Action::OpenStreams {
            target: StreamTarget::SameStreams,
            ..
        } => "ReuseStreams",
        Action::Peer(PeerEvent::CallBack { .. }) => "CallBack",
        Action::Peer(PeerEvent::Curtailed(_)) => "Curtailed",
        Action::Peer(PeerEvent::Delegate(_)) => "Delegate",
        Action::Peer(PeerEvent::Delegated(_)) => "Delegated",
        Action::Describe(_) => "Describe",
        Action::Peer(PeerEvent::Described(_)) => "Described",
        Action::Peer(PeerEvent::Hello(_)) => "PeerHello",
        Action::Peer(PeerEvent::Lease(_)) => "Lease",
        Action::Peer(PeerEvent::Leased(_)) => "Leased",
        Action::Peer(PeerEvent::Output(_)) => "PeerOutput",
        Action::Peer(PeerEvent::Progress(_)) => "PeerProgress",
        Action::Peer(PeerEvent::Report(_)) => "PeerReport",
        Action::Start(Side::Receiver) => "StartReceivers",
        Action::Start(Side::Sender) => "StartSenders",
        Action::Stream(StreamOrder::Datagram { .. }) => "SendDatagram",
        Action::Stream(StreamOrder::Grant(_)) => "Grant",
        Action::TestOver(TestEnd::Aborted) => "TestAborted",
        Action::TestOver(TestEnd::Impossible(_)) => "Impossible",
        Action::TestOver(TestEnd::Refused(_)) => "Refused",
        other => {
            let whole = format!("{other:?}");
            let mut words = whole.split(|c: char| !c.is_alphanumeric());
            return words.next().unwrap_or_default().to_owned();
        }
    };
    name.to_owned()
}

/// What the transcript should say, given the peer's bytes in it.
fn replay(kind: &dyn PeerKind, text: &str) -> String {
    let mut end = end_for(kind, text);
    let mut said = String::new();
    let mut told = 0;
    let opening = [String::new()];
    let inputs: Vec<String> = text
        .lines()
        .filter(|line| line.starts_with(['<', '~']))
        .map(str::to_owned)
        .collect();
    for line in text
        .lines()
        .take_while(|line| !line.starts_with(['<', '~', '>', '=', '!']))
    {
        writeln!(said, "{line}").expect("memory");
    }
    for input in opening.iter().chain(&inputs) {
        if !input.is_empty() {
            writeln!(said, "{input}").expect("memory");
        }
        let (sent, outcome) = match input.strip_prefix("< ") {
            None if input == "~" => (end.pass_time(), Ok(())),
            bytes => end.give(Input::Bytes(&unescape(bytes.unwrap_or_default()))),
        };
        if !sent.is_empty() {
            writeln!(said, "> {}", sent.escape_ascii()).expect("memory");
        }
        for action in &end.actions[told..] {
            writeln!(said, "= {}", name(action)).expect("memory");
        }
        told = end.actions.len();
        if let Err(error) = outcome {
            writeln!(said, "! {error}").expect("memory");
        }
    }
    said
}

#[test]
fn every_transcript_of_every_protocol_is_replayed_to_the_byte() {
    for kind in conversing() {
        let mut ends = BTreeSet::new();
        let entries = std::fs::read_dir(folder(kind));
        for entry in entries.expect("a protocol has transcripts") {
            let path = entry.expect("a readable folder").path();
            let text = std::fs::read_to_string(&path).expect("a readable transcript");
            assert_eq!(replay(kind, &text), text, "{}", path.display());
            ends.insert(text.contains("\nend client\n"));
        }
        assert_eq!(ends.len(), 2, "{}: a transcript of each end", kind.id());
    }
}

#[test]
fn escapes_are_undone() {
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(unescape(&bytes.escape_ascii().to_string()), bytes);
}
