//! Reasons for refusing or aborting a test, in words for the client's user.

use crate::tally::MAX_INTERVALS;
use core::fmt;
use core::time::Duration;
use linerate_wire::header::HEADER_LEN;

/// Why a test is refused or aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Asking,
    Congestion,
    ControlFlood,
    DataMissing,
    Datapath,
    Decompose,
    Duplex,
    Duration { most: Duration },
    Imitation,
    Intervals,
    Key,
    Length { length: u32, most: usize },
    Overdue,
    Payload { least: u64, most: u64 },
    Pinning,
    Specification,
    Streams,
    Unexpected { kind: u8 },
    Wait,
    Workload,
}

impl Refusal {
    /// The code of the reason, as in `peers`.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Duration { .. } | Self::Intervals | Self::Length { .. } | Self::Streams => {
                "limit"
            }
            Self::Key => "denied",
            Self::ControlFlood | Self::Unexpected { .. } => "protocol",
            Self::DataMissing | Self::Overdue => "timeout",
            Self::Payload { .. } | Self::Specification => "invalid",
            Self::Asking
            | Self::Congestion
            | Self::Datapath
            | Self::Decompose
            | Self::Duplex
            | Self::Imitation
            | Self::Pinning
            | Self::Wait
            | Self::Workload => "unsupported",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asking => f.write_str("this responder answers requests and asks for none"),
            Self::Congestion => f.write_str(
                "this responder sets no socket options: leave buffer sizes, congestion control and traffic class away",
            ),
            Self::ControlFlood => {
                f.write_str("more messages came than answers could be sent: read the answers")
            }
            Self::DataMissing => f.write_str(
                "the data stream did not come: check that nothing filters UDP and TCP to the ports after the control port",
            ),
            Self::Datapath => f.write_str("this responder has one datapath: use --datapath sockets"),
            Self::Decompose => {
                f.write_str("this responder's stack takes no timestamps: leave --decompose away")
            }
            Self::Duplex => f.write_str(
                "this responder carries one TCP stream: measure one direction after the other with --both",
            ),
            Self::Duration { most } => write!(
                f,
                "the test is longer than this responder allows: use at most {} s",
                most.as_secs()
            ),
            Self::Imitation => f.write_str("this responder imitates no slow application"),
            Self::Intervals => write!(
                f,
                "the test has more than the {MAX_INTERVALS} intervals that this responder keeps: use a shorter test or a longer --interval"
            ),
            Self::Key => f.write_str("this responder has no key: leave --key away at the client"),
            Self::Length { length, most } => write!(
                f,
                "a message of {length} bytes is longer than the {most} that this responder keeps"
            ),
            Self::Overdue => f.write_str("a step of the test took too long"),
            Self::Payload { least, most } => write!(
                f,
                "this responder takes payloads of {least} to {most} bytes: below are no {HEADER_LEN} bytes of header, above no single packet"
            ),
            Self::Pinning => f.write_str("this responder has one core: pin no remote thread"),
            Self::Specification => {
                f.write_str("the specification lacks a value that this responder needs")
            }
            Self::Streams => f.write_str("this responder carries one stream: use -P 1"),
            Self::Unexpected { kind } => write!(f, "message {kind} has no place there"),
            Self::Wait => f.write_str("this responder waits by block or spin"),
            Self::Workload => f.write_str(
                "this responder has the workloads datagrams, ping-pong, request-response and bulk",
            ),
        }
    }
}
