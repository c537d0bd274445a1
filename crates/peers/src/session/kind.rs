//! What a protocol is: its name, what it can do, and its two ends.

use super::{ClientConfig, ServerConfig, Session};
use crate::settings::{Setting, SettingValues};
use linerate_model::spec::{Direction, Stop, TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant};
use std::sync::Arc;
use std::time::Duration;

/// Properties and abilities of a protocol, the same in all its sessions.
#[derive(Debug, Clone, Copy)]
pub struct Capabilities {
    /// The kebab-case name in addresses (`iperf3://host`), in `--speak`, in the store and in reports.
    pub id: &'static str,
    /// One sentence for help and the reference table.
    pub summary: &'static str,
    /// The name in announcements to the server's operator, where it is not the id.
    pub name: Option<&'static str>,
    /// Whether the peer is a tool other than linerate.
    pub is_foreign: bool,
    /// The TCP port of the control connection, or of all its traffic, when an address names none.
    pub default_port: u16,
    /// How the program that serves it is started, for messages: a command in back quotes.
    pub start_hint: &'static str,
    /// How many tests one control connection carries.
    pub tests: Tests,
    /// Whether there is a control connection at all.
    pub control: Control,
    /// How a server assigns a data stream to a test.
    pub demux: Demux,
    /// Length in bytes of the opening by which a server knows its test's data streams where they come to the port of the
    /// control connection too; `None`: it needs ports of their own, or has but one port.
    pub one_port: Option<usize>,
    /// What the protocol does not report about a test's peer, for the notes of a run and the reference table; each a
    /// part of a sentence. Empty if it reports everything.
    pub blind_spots: &'static [&'static str],
    /// Kind of authentication between its ends.
    pub credential: CredentialKind,
    /// Length in bytes of the beginning of every client's first message, which tells this protocol from others; 0: a client
    /// need not speak first.
    pub greeting_len: usize,
    /// Whether its servers report facts about their host. Reading them takes some 10 ms, which delays the test where a
    /// client's traffic does not wait for an answer.
    pub tells_facts: bool,
    /// Settings that no other protocol has: of its servers, or, where there are none, of its addresses.
    pub settings: &'static [Setting],
}

impl Capabilities {
    /// Defaults for tools other than linerate; id, summary, port and start hint differ.
    pub const FOREIGN: Self = Self {
        id: "",
        summary: "",
        name: None,
        is_foreign: true,
        default_port: 0,
        start_hint: "",
        tests: Tests::Many,
        control: Control::Connection,
        demux: Demux::OwnPorts,
        one_port: None,
        blind_spots: &[],
        credential: CredentialKind::None,
        greeting_len: 0,
        tells_facts: false,
        settings: &[],
    };

    /// Whether it supports a shared key.
    pub const fn has_keys(&self) -> bool {
        matches!(self.credential, CredentialKind::Key)
    }

    /// Whether its servers support users and passwords.
    pub const fn has_users(&self) -> bool {
        matches!(self.credential, CredentialKind::User)
    }
}

/// Kind of authentication between the ends of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A key that both ends hold.
    Key,
    /// Nothing.
    None,
    /// A user and a password, checked by the server.
    User,
}

/// One control protocol: a client and a server state machine under a name.
pub trait PeerKind: Send + Sync {
    /// Properties and abilities of the protocol.
    fn about(&self) -> &'static Capabilities;
    /// The kebab-case name in addresses (`iperf3://host`), in `--speak`, in the store and in reports.
    fn id(&self) -> &'static str {
        self.about().id
    }
    /// The name in announcements to the server's operator.
    fn name(&self) -> &'static str {
        self.about().name.unwrap_or_else(|| self.id())
    }
    /// Message sizes that its own client measures by default.
    fn usual_sizes(&self, _transport: Transport) -> Vec<ByteCount> {
        vec![ByteCount::new(32)]
    }
    /// This protocol with the given settings by name; the error says which value is invalid and what to do.
    fn with_settings(&self, _values: &SettingValues) -> Result<Arc<dyn PeerKind>, String> {
        Err(format!("{} has no settings of its own", self.id()))
    }
    /// Checks that the protocol supports this test; the error says why not and what to do.
    fn check(&self, spec: &TestSpec) -> Result<(), String> {
        if self.about().is_foreign && spec.work.connections().is_some() {
            return Err(format!(
                "{} does not count connections that are opened for a request each: start `linerate serve` there",
                self.id()
            ));
        }
        self.obstacle(spec)
            .map_or(Ok(()), |why| Err(why.to_owned()))
    }
    /// Why the protocol does not support this test, and what to do; `None` if it does.
    fn obstacle(&self, _spec: &TestSpec) -> Option<&'static str> {
        None
    }
    /// `spec` with times that the protocol supports, none of them shorter: some count in whole seconds.
    fn fitted(&self, spec: TestSpec) -> TestSpec {
        spec
    }
    /// Client session on a newly opened connection.
    fn client(&self, config: ClientConfig, now: MonoInstant) -> Box<dyn Session>;
    /// Server session on a newly accepted connection.
    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session>;
}

/// `time` rounded up to whole seconds.
pub(crate) fn whole_seconds(time: Duration) -> Duration {
    let begun = u64::from(time.subsec_nanos() != 0);
    Duration::from_secs(time.as_secs().saturating_add(begun))
}

/// `spec`, with times in whole seconds where the server sends: it cannot stop at another time.
pub(crate) fn with_whole_seconds_back(mut spec: TestSpec) -> TestSpec {
    if let (Direction::Reverse, Stop::After(time)) = (spec.direction, &mut spec.stop) {
        *time = whole_seconds(*time);
    }
    spec
}

/// How a server assigns a data stream to a test.
#[derive(Debug, Clone, Copy)]
pub enum Demux {
    /// By the port: the server opens ports for each test.
    OwnPorts,
    /// All come to one port, and each stream is a test of its own.
    EachATest {
        /// Bytes of a TCP stream that begins like this which [`Input::Stream`](super::Input::Stream) needs to identify
        /// it; at most 256.
        opening_len: fn(&[u8]) -> usize,
    },
    /// All come to one port; each TCP stream begins with what the test's control connection began with.
    Cookie {
        /// Its length in bytes.
        length: usize,
        /// The answer to a datagram that opens a stream; `None` if it is none. Datagrams tell nothing of their
        /// test: those of one address belong to the test of that address that waits.
        answer: fn(&[u8]) -> Option<Vec<u8>>,
    },
}

/// What the two ends agree on a test over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Nothing: data streams say themselves what they are. A session then gets no [`Input::Bytes`](super::Input::Bytes) and asks
    /// for no [`Action::Send`](super::Action::Send); what it has to say outside the traffic goes over the data streams, by
    /// [`StreamOrder::Datagram`](super::StreamOrder::Datagram).
    Absent,
    /// A TCP connection of its own.
    Connection,
    /// What is typed into the shell of a device, on a serial line or behind a telnet server. There is no server to
    /// start: the client tells the shell what to do. Data streams go elsewhere, and what happens on them is told as
    /// without a control connection.
    Shell,
}

/// How many tests a control connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    /// Any number, one after the other, that differ in nothing but the size of messages and how long they take.
    Alike,
    /// Any number, one after the other.
    Many,
    /// One; then both ends close it.
    One,
}
