//! The messages of the native protocol: one kind byte and one JSON body each.

use crate::key::SIZE;
use crate::session::{Limits, Progress, RefusalCode, StreamPorts};
use linerate_model::PacketCount;
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::TestSpec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Which end of the control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Opened the connection and asks for tests.
    Client,
    /// Accepted the connection.
    Server,
}

/// Longest body of a message whose size does not depend on the test.
const MAX_FIXED_BODY: u32 = 16 * 1024;
/// Longest message before both ends have said hello, and longest specification.
const MAX_SPEC_BODY: u32 = 64 * 1024;
/// Longest report: [`MAX_INTERVALS`](linerate_model::spec::MAX_INTERVALS), histograms, and readings of TCP.
pub(super) const MAX_REPORT_BODY: u32 = 20 * 1024 * 1024;

/// The kind of a message, as its byte on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Client: its tool's version.
    Hello = 1,
    /// Server: its tool's version, session id, facts and limits.
    Welcome = 2,
    /// Either: the session is over, and why.
    Farewell = 3,
    /// Either: still here.
    Ping = 4,
    /// Client: done, closing.
    Bye = 5,
    /// Server: prove that you hold the key.
    Challenge = 6,
    /// Client: the proof.
    Proof = 7,
    /// Client: make ready for a test.
    Prepare = 16,
    /// Server: open the data streams.
    Ready = 17,
    /// Server: this test cannot be made.
    Refused = 18,
    /// Server: all data streams have arrived.
    Connected = 19,
    /// Client: its receivers run; start.
    Start = 20,
    /// Server: its receivers run, its senders start now.
    Started = 21,
    /// Server: what it has counted so far.
    Progress = 22,
    /// Either: its senders have stopped.
    Finished = 23,
    /// Server: what its endpoints saw.
    Report = 24,
    /// Client: has the report and is done itself.
    Acknowledge = 25,
    /// Either: end the test early.
    Abort = 26,
    /// Either: has dropped the aborted test.
    Aborted = 27,
    /// Client: stop sending now; the test ends as if its time were over.
    EndTraffic = 28,
}

impl Kind {
    /// Every kind with its name, who sends it, and the most bytes it may have (kind byte and body).
    pub const ALL: &'static [(Self, &'static str, Option<Role>, u32)] = &[
        (Self::Hello, "Hello", Some(Role::Client), MAX_SPEC_BODY),
        (Self::Welcome, "Welcome", Some(Role::Server), MAX_SPEC_BODY),
        (Self::Farewell, "Farewell", None, MAX_FIXED_BODY),
        (Self::Ping, "Ping", None, 1),
        (Self::Bye, "Bye", Some(Role::Client), 1),
        (
            Self::Challenge,
            "Challenge",
            Some(Role::Server),
            MAX_FIXED_BODY,
        ),
        (Self::Proof, "Proof", Some(Role::Client), MAX_FIXED_BODY),
        (Self::Prepare, "Prepare", Some(Role::Client), MAX_SPEC_BODY),
        (Self::Ready, "Ready", Some(Role::Server), MAX_FIXED_BODY),
        (Self::Refused, "Refused", Some(Role::Server), MAX_FIXED_BODY),
        (
            Self::Connected,
            "Connected",
            Some(Role::Server),
            MAX_FIXED_BODY,
        ),
        (Self::Start, "Start", Some(Role::Client), MAX_FIXED_BODY),
        (Self::Started, "Started", Some(Role::Server), MAX_FIXED_BODY),
        (
            Self::Progress,
            "Progress",
            Some(Role::Server),
            MAX_FIXED_BODY,
        ),
        (Self::Finished, "Finished", None, MAX_FIXED_BODY),
        (Self::Report, "Report", Some(Role::Server), MAX_REPORT_BODY),
        (
            Self::Acknowledge,
            "Acknowledge",
            Some(Role::Client),
            MAX_FIXED_BODY,
        ),
        (Self::Abort, "Abort", None, MAX_FIXED_BODY),
        (Self::Aborted, "Aborted", None, MAX_FIXED_BODY),
        (
            Self::EndTraffic,
            "EndTraffic",
            Some(Role::Client),
            MAX_FIXED_BODY,
        ),
    ];

    /// The row of [`Kind::ALL`] with this byte.
    pub fn from_byte(byte: u8) -> Option<&'static (Self, &'static str, Option<Role>, u32)> {
        Self::ALL.iter().find(|(kind, ..)| *kind as u8 == byte)
    }

    /// The kind's name, for messages.
    pub fn name(self) -> &'static str {
        Self::from_byte(self as u8).map_or("?", |row| row.1)
    }

    fn most(self) -> u32 {
        Self::from_byte(self as u8).map_or(1, |row| row.3)
    }
}

/// One message with its body.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the kinds say what the messages mean")]
pub enum Message {
    Hello(Hello),
    Welcome(Box<Welcome>),
    Farewell(Farewell),
    Ping,
    Bye,
    Challenge(Challenge),
    Proof(Proof),
    Prepare(Prepare),
    Ready(Ready),
    Refused(Refused),
    Connected(TestNumber),
    Start(TestNumber),
    Started(TestNumber),
    Progress(TestProgress),
    Finished(Finished),
    Report(Report),
    Acknowledge(TestNumber),
    Abort(Refused),
    Aborted(TestNumber),
    EndTraffic(TestNumber),
}

/// Body of `Hello`. With the preamble it is longer than the 37 bytes an iperf3 server waits for, so that
/// such a server answers at once and is recognised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The tool's name: `linerate`.
    pub tool: String,
    /// The tool's version.
    pub version: String,
}

/// Body of `Welcome`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// The tool's version.
    pub version: String,
    /// Id of the session at the server.
    pub session: String,
    /// What any test may take.
    pub limits: Limits,
    /// The server's host.
    #[serde(default)]
    pub facts: Facts,
    /// That the server holds the key too, if it asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<[u8; SIZE]>,
}

/// Body of `Challenge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// The server's nonce.
    pub nonce: [u8; SIZE],
}

/// Body of `Proof`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The client's nonce.
    pub nonce: [u8; SIZE],
    /// That the client holds the key.
    pub proof: [u8; SIZE],
}

/// Body of `Farewell`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Farewell {
    /// The kind of reason.
    pub code: RefusalCode,
    /// The reason, for people.
    pub message: String,
}

/// Body of the messages that say nothing but which test they are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestNumber {
    /// Counted by the client from 1, dense.
    pub test: u32,
}

/// Body of `Prepare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Number of the test.
    pub test: u32,
    /// What to run.
    pub spec: Box<TestSpec>,
}

/// Body of `Ready`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Number of the test.
    pub test: u32,
    /// Where the server waits, by the side it plays there.
    pub ports: StreamPorts,
    /// What each data stream begins with.
    pub token: u32,
}

/// Body of `Refused` and `Abort`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// Number of the test.
    pub test: u32,
    /// The kind of reason.
    pub code: RefusalCode,
    /// The reason, for people.
    pub message: String,
}

/// Body of `Progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestProgress {
    /// Number of the test.
    pub test: u32,
    /// What was counted so far.
    pub progress: Progress,
}

/// Body of `Finished`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Number of the test.
    pub test: u32,
    /// Datagrams or transactions per stream.
    pub sent: Vec<PacketCount>,
}

/// Body of `Report`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Number of the test.
    pub test: u32,
    /// One per endpoint of the server.
    pub reports: Vec<EndpointReport>,
}

/// A message that would be longer than its kind may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes it would have (kind byte and body).
    pub length: usize,
    /// Bytes it may have.
    pub most: u32,
}

impl Message {
    /// The kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Hello(_) => Kind::Hello,
            Self::Welcome(_) => Kind::Welcome,
            Self::Farewell(_) => Kind::Farewell,
            Self::Ping => Kind::Ping,
            Self::Bye => Kind::Bye,
            Self::Challenge(_) => Kind::Challenge,
            Self::Proof(_) => Kind::Proof,
            Self::Prepare(_) => Kind::Prepare,
            Self::Ready(_) => Kind::Ready,
            Self::Refused(_) => Kind::Refused,
            Self::Connected(_) => Kind::Connected,
            Self::Start(_) => Kind::Start,
            Self::Started(_) => Kind::Started,
            Self::Progress(_) => Kind::Progress,
            Self::Finished(_) => Kind::Finished,
            Self::Report(_) => Kind::Report,
            Self::Acknowledge(_) => Kind::Acknowledge,
            Self::Abort(_) => Kind::Abort,
            Self::Aborted(_) => Kind::Aborted,
            Self::EndTraffic(_) => Kind::EndTraffic,
        }
    }

    /// The number of the test it is about, if it is about one.
    pub const fn test(&self) -> Option<u32> {
        match self {
            Self::Hello(_)
            | Self::Welcome(_)
            | Self::Farewell(_)
            | Self::Ping
            | Self::Bye
            | Self::Challenge(_)
            | Self::Proof(_) => None,
            Self::Prepare(body) => Some(body.test),
            Self::Ready(body) => Some(body.test),
            Self::Refused(body) | Self::Abort(body) => Some(body.test),
            Self::Progress(body) => Some(body.test),
            Self::Finished(body) => Some(body.test),
            Self::Report(body) => Some(body.test),
            Self::Connected(body)
            | Self::Start(body)
            | Self::Started(body)
            | Self::Acknowledge(body)
            | Self::Aborted(body)
            | Self::EndTraffic(body) => Some(body.test),
        }
    }

    /// The whole frame: length, kind byte, body.
    pub fn encode(&self) -> Result<Vec<u8>, TooLong> {
        let mut frame = vec![0, 0, 0, 0, self.kind() as u8];
        match self {
            Self::Ping | Self::Bye => {}
            Self::Hello(body) => append(&mut frame, body),
            Self::Welcome(body) => append(&mut frame, body),
            Self::Farewell(body) => append(&mut frame, body),
            Self::Challenge(body) => append(&mut frame, body),
            Self::Proof(body) => append(&mut frame, body),
            Self::Prepare(body) => append(&mut frame, body),
            Self::Ready(body) => append(&mut frame, body),
            Self::Refused(body) | Self::Abort(body) => append(&mut frame, body),
            Self::Progress(body) => append(&mut frame, body),
            Self::Finished(body) => append(&mut frame, body),
            Self::Report(body) => append(&mut frame, body),
            Self::Connected(body)
            | Self::Start(body)
            | Self::Started(body)
            | Self::Acknowledge(body)
            | Self::Aborted(body)
            | Self::EndTraffic(body) => append(&mut frame, body),
        }
        let (length, most) = (frame.len() - 4, self.kind().most());
        let announced = u32::try_from(length).ok().filter(|length| *length <= most);
        let announced = announced.ok_or(TooLong { length, most })?;
        frame[..4].copy_from_slice(&announced.to_be_bytes());
        Ok(frame)
    }

    /// Reads the body of a message of this kind; the error says what is wrong and where in the body.
    pub fn decode(kind: Kind, body: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            Kind::Ping => Self::Ping,
            Kind::Bye => Self::Bye,
            Kind::Hello => Self::Hello(read(body)?),
            Kind::Welcome => Self::Welcome(read(body)?),
            Kind::Farewell => Self::Farewell(read(body)?),
            Kind::Challenge => Self::Challenge(read(body)?),
            Kind::Proof => Self::Proof(read(body)?),
            Kind::Prepare => Self::Prepare(read(body)?),
            Kind::Ready => Self::Ready(read(body)?),
            Kind::Refused => Self::Refused(read(body)?),
            Kind::Connected => Self::Connected(read(body)?),
            Kind::Start => Self::Start(read(body)?),
            Kind::Started => Self::Started(read(body)?),
            Kind::Progress => Self::Progress(read(body)?),
            Kind::Finished => Self::Finished(read(body)?),
            Kind::Report => Self::Report(read(body)?),
            Kind::Acknowledge => Self::Acknowledge(read(body)?),
            Kind::Abort => Self::Abort(read(body)?),
            Kind::Aborted => Self::Aborted(read(body)?),
            Kind::EndTraffic => Self::EndTraffic(read(body)?),
        })
    }
}

/// `serde_json` refuses nesting beyond 128 levels, so a hostile body cannot exhaust the stack.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(body)
}

fn append<T: Serialize>(frame: &mut Vec<u8>, body: &T) {
    serde_json::to_writer(frame, body).expect("invariant: bodies are plain data with string keys");
}
