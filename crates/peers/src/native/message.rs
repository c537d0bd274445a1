//! The messages of the native protocol: one kind byte and one JSON body each.

use crate::session::{
    DelegatedTest, Delegation, DescriptionRequest, Fence, InterfaceDescription, LeaseGrant,
    LeaseRequest, Limits, Progress, RefusalCode, StreamPorts,
};
use linerate_model::PacketCount;
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::TestSpec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use linerate_wire::frame::{Kind, Role};

macro_rules! messages {
    (
        session { $($name:ident($body:ty),)* }
        test { $($of_test:ident($test_body:ty),)* }
    ) => {
        /// One message with its body.
        #[derive(Debug, Clone, PartialEq)]
        #[expect(missing_docs, reason = "the kinds say what the messages mean")]
        pub enum Message {
            Bye,
            Ping,
            /// An end's part of the handshake, not JSON.
            Seal(Vec<u8>),
            $($name($body),)*
            $($of_test($test_body),)*
        }

        impl Message {
            /// Kind of the message.
            pub const fn kind(&self) -> Kind {
                match self {
                    Self::Bye => Kind::Bye,
                    Self::Ping => Kind::Ping,
                    Self::Seal(_) => Kind::Seal,
                    $(Self::$name(_) => Kind::$name,)*
                    $(Self::$of_test(_) => Kind::$of_test,)*
                }
            }

            /// The number of the test it is about, if it is about one.
            pub const fn test(&self) -> Option<u32> {
                match self {
                    $(Self::$of_test(body) => Some(body.test),)*
                    _ => None,
                }
            }

            fn append_body(&self, frame: &mut Vec<u8>) {
                match self {
                    Self::Bye | Self::Ping => {}
                    Self::Seal(part) => frame.extend(part),
                    $(Self::$name(body) => append(frame, body),)*
                    $(Self::$of_test(body) => append(frame, body),)*
                }
            }

            /// Parses the body of a message of this kind; the error says what is wrong and where in the body.
            pub fn decode(kind: Kind, body: &[u8]) -> Result<Self, serde_json::Error> {
                Ok(match kind {
                    Kind::Bye => Self::Bye,
                    Kind::Ping => Self::Ping,
                    Kind::Seal => Self::Seal(body.to_vec()),
                    $(Kind::$name => Self::$name(read(body)?),)*
                    $(Kind::$of_test => Self::$of_test(read(body)?),)*
                })
            }
        }
    };
}

messages! {
    session {
        Hello(Hello),
        Welcome(Box<Welcome>),
        Farewell(Farewell),
    }
    test {
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
        Delegate(Delegate),
        Delegated(Delegated),
        Describe(Describe),
        Described(Described),
        Lease(Lease),
        Leased(Leased),
    }
}

/// Body of `Hello`. With the preamble it is longer than the 37 bytes an iperf3 server waits for, so that
/// such a server answers at once and is recognised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The tool's name: `linerate`.
    pub tool: String,
    /// The tool's version.
    pub version: String,
    /// The lease that the client's tests are of; older servers have none, and do not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
}

/// Body of `Welcome`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// The tool's version.
    pub version: String,
    /// Id of the session at the server.
    pub session: String,
    /// Limits of every test.
    pub limits: Limits,
    /// Facts about the server's host.
    #[serde(default)]
    pub facts: Facts,
}

/// Body of `Farewell`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Farewell {
    /// The kind of reason.
    pub code: RefusalCode,
    /// Reason, for people.
    pub message: String,
}

/// Body of messages that carry only the number of their test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestNumber {
    /// Number of the test, counted by the client from 1 without gaps.
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
    /// Ports on which the server waits, by the side that it plays there.
    pub ports: StreamPorts,
    /// Token with which each data stream begins.
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
    /// Counts so far.
    pub progress: Progress,
}

/// Body of `Finished`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Number of the test.
    pub test: u32,
    /// Datagrams or transactions per stream, in stream order.
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

/// Body of `Delegate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegate {
    /// Number of the test.
    pub test: u32,
    /// What to make with whom.
    pub delegation: Box<Delegation>,
}

/// Body of `Delegated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegated {
    /// Number of the test.
    pub test: u32,
    /// What came of it.
    pub outcome: Box<DelegatedTest>,
}

/// Body of `Describe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Describe {
    /// Number of the question, counted as one of a test.
    pub test: u32,
    /// What is asked for.
    pub request: DescriptionRequest,
}

/// Body of `Described`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// Number of the question.
    pub test: u32,
    /// The interface.
    pub description: Box<InterfaceDescription>,
}

/// Body of `Lease`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    /// Number of the request, counted as one of a test.
    pub test: u32,
    /// What is asked for.
    pub request: LeaseRequest,
}

/// Body of `Leased`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leased {
    /// Number of the request.
    pub test: u32,
    /// The lease.
    pub grant: LeaseGrant,
}

/// A message longer than its kind allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes of the message (kind byte and body).
    pub length: usize,
    /// Maximum bytes.
    pub most: u32,
}

impl Message {
    /// The whole frame: length, kind byte, body.
    pub fn encode(&self) -> Result<Vec<u8>, TooLong> {
        let mut frame = vec![0, 0, 0, 0, self.kind() as u8];
        self.append_body(&mut frame);
        let (length, most) = (frame.len() - 4, self.kind().most());
        let announced = u32::try_from(length).ok().filter(|length| *length <= most);
        let announced = announced.ok_or(TooLong { length, most })?;
        frame[..4].copy_from_slice(&announced.to_be_bytes());
        Ok(frame)
    }
}

/// `serde_json` refuses nesting beyond 128 levels, so a hostile body cannot exhaust the stack.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(body)
}

fn append<T: Serialize>(frame: &mut Vec<u8>, body: &T) {
    serde_json::to_writer(frame, body).expect("invariant: bodies are plain data with string keys");
}
