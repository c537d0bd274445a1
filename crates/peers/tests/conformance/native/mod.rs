//! What the native protocol promises beyond what every protocol does.

mod key;
mod life;
mod patience;
mod wire;

use crate::harness::{End, Role, START, converse, server_config};
use linerate_model::spec::{Side, TestSpec};
use linerate_peers::native::Native;
use linerate_peers::native::message::{Hello, Message, Prepare};
use linerate_peers::{Action, Ending, Input, PeerKind, ProtocolError, RefusalCode, ServerConfig};

pub(crate) const PREAMBLE: &[u8] = b"linerate\x00\x02";

pub(crate) fn frame(message: &Message) -> Vec<u8> {
    message.encode().expect("a short message")
}

pub(crate) fn hello() -> Vec<u8> {
    let (tool, version) = ("linerate".to_owned(), "0.1.0".to_owned());
    [
        PREAMBLE.to_vec(),
        frame(&Message::Hello(Hello {
            tool,
            version,
            fence: None,
        })),
    ]
    .concat()
}

/// A server that has said hello and holds whatever its driver should answer.
pub(crate) fn server_with(config: ServerConfig) -> End {
    let mut server = End::new(Role::Server, Native.server(config, START), &[]);
    assert_eq!(server.give(Input::Bytes(&hello())).1, Ok(()));
    server
}

pub(crate) fn server() -> End {
    server_with(server_config())
}

pub(crate) fn prepare(test: u32, spec: &TestSpec) -> Vec<u8> {
    let spec = Box::new(spec.clone());
    frame(&Message::Prepare(Prepare { test, spec }))
}

pub(crate) fn ask(server: &mut End, message: &Message) -> Result<(), ProtocolError> {
    server.give(Input::Bytes(&frame(message))).1
}

/// A pair that has come as far as it can while the named actions stay unanswered.
pub(crate) fn pair(
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
pub(crate) fn carry(client: &mut End, server: &mut End, bytes: &[u8]) {
    let (answer, outcome) = server.give(Input::Bytes(bytes));
    assert_eq!(outcome, Ok(()));
    let (answer, outcome) = client.give(Input::Bytes(&answer));
    assert_eq!(outcome, Ok(()));
    if !answer.is_empty() {
        carry(client, server, &answer);
    }
}

pub(crate) const fn never(_: &Action) -> bool {
    false
}

pub(crate) const fn senders(action: &Action) -> bool {
    matches!(action, Action::Start(Side::Sender))
}

pub(crate) fn interrupt() -> Input<'static> {
    Input::End(Ending::Test {
        code: RefusalCode::Interrupted,
        reason: "the user pressed ^C".into(),
    })
}
