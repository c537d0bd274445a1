//! Inputs of a session from its driver.

use super::{
    DelegatedTest, Delegation, DescriptionRequest, InterfaceDescription, LeaseGrant, LeaseRequest,
    Progress, RefusalCode,
};
use linerate_model::PacketCount;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Side, TestSpec, Transport};

/// TCP or UDP ports that the server waits on, per side that the *server* plays on them: `Receiver` for
/// forward traffic, `Sender` for reverse, both for duplex. One port for all streams, or one per stream.
/// No entry at all: every stream goes to the port of the control connection.
pub type StreamPorts = Vec<(Side, Vec<u16>)>;

/// Input of a session from its driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Input<'a> {
    /// Either end: bytes of the control connection, in any split.
    Bytes(&'a [u8]),
    /// Either end: the peer closed the control connection, or it broke.
    Eof,
    /// Either end: [`Session::deadline`](super::Session::deadline) has passed. Read what has arrived before saying this, or a slow
    /// driver takes its own slowness for the peer's silence.
    Timeout,
    /// Client, when no test is under way: the next test.
    Begin(Box<TestSpec>),
    /// Client of a protocol with third parties, when no test is under way: the server is to make this test with another
    /// server. Answered by [`PeerEvent::Delegated`](super::PeerEvent::Delegated), or as a refused test.
    Delegate(Box<Delegation>),
    /// Server, in answer to [`PeerEvent::Delegate`](super::PeerEvent::Delegate).
    Delegated(Result<Box<DelegatedTest>, Refusal>),
    /// Client of a protocol that tells facts, when no test is under way: which interface a test would use at the server.
    /// Answered by [`PeerEvent::Described`](super::PeerEvent::Described), or as a refused test.
    Describe(Box<DescriptionRequest>),
    /// Server, in answer to [`Action::Describe`](super::Action::Describe).
    Described(Result<Box<InterfaceDescription>, Refusal>),
    /// Client of a protocol with leases, when no test is under way. Answered by
    /// [`PeerEvent::Leased`](super::PeerEvent::Leased), or as a refused test.
    Lease(LeaseRequest),
    /// Server, in answer to [`PeerEvent::Lease`](super::PeerEvent::Lease).
    Leased(Result<LeaseGrant, Refusal>),
    /// Server, in answer to [`Action::Admit`](super::Action::Admit): whether the client has a place. An error is told to it,
    /// and ends the session.
    Admitted(Result<(), Refusal>),
    /// In answer to [`Action::Prepare`](super::Action::Prepare): this end waits for data streams on these ports, or has bound its
    /// datagram sockets to them; none where they come to a shared port. An error, at the server: this test cannot be
    /// made here; the session goes on.
    Prepared(Result<StreamPorts, Refusal>),
    /// Either end: all data streams of the test are connected at this end.
    Connected,
    /// Either end: something happened on the data streams that the session, not the traffic, has to know.
    Stream(StreamEvent<'a>),
    /// Either end, while traffic flows: what its end has counted so far. About once per interval.
    Progress(Progress),
    /// The end that sends: its senders have stopped; datagrams or transactions sent per stream, in stream
    /// order (zero each for a TCP byte stream). One entry per stream of the specification.
    Finished {
        /// Given to the system by each stream's application, warm-up included.
        sent: Vec<PacketCount>,
    },
    /// Either end, once per test: every endpoint of this end is done, this is what they saw.
    Reports(Vec<EndpointReport>),
    /// The user or driver of this end ends something early.
    End(Ending),
    /// Either end, in answer to [`Action::Stop`](super::Action::Stop): the test's threads and data streams are gone.
    Stopped,
}

/// Events on data streams outside their traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEvent<'a> {
    /// Either end, of a protocol without control connection: a datagram came on this data stream while no traffic
    /// of it ran at this end.
    Datagram {
        /// The stream's index within its direction.
        stream: u16,
        /// Its payload, cut off after 2048 bytes.
        bytes: &'a [u8],
    },
    /// Either end, of a format that [`is_granted`](crate::StreamFormat::is_granted): its messages have used up the oldest
    /// grant.
    GrantSpent,
    /// Either end, of a protocol without control connection: the first bytes, datagram or answer of this data stream
    /// reached this end. Once per stream.
    FirstData {
        /// Its index within its direction.
        stream: u16,
    },
    /// Server of a protocol without control connection, first of all, and in answer to [`Action::Listen`](super::Action::Listen): a data stream
    /// came.
    Opened {
        /// Of what kind it is.
        transport: Transport,
        /// What it begins with: the first datagram, or at least as many bytes as
        /// [`Demux::EachATest`](super::Demux::EachATest) asks for, if that many came. They are still to be read.
        bytes: &'a [u8],
    },
}

/// What ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Either end: close the session politely. A test under way is stopped.
    Session,
    /// Either end: end the test early (user, failed socket). Answered by [`Action::Stop`](super::Action::Stop) at both ends.
    Test {
        /// What kind of reason.
        code: RefusalCode,
        /// The reason, for the user at the other end.
        reason: String,
    },
    /// Client: end the traffic now, but keep what was counted: senders at both ends stop, and the test
    /// goes on to its reports as if its time were over. Before traffic flows it is an abort.
    Traffic,
}

/// Why a test is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of reason.
    pub code: RefusalCode,
    /// The reason and what to do, for the user at the client.
    pub message: String,
}

impl Input<'_> {
    /// The input's name, for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "Bytes",
            Self::Eof => "Eof",
            Self::Timeout => "Timeout",
            Self::Begin(_) => "Begin",
            Self::Delegate(_) => "Delegate",
            Self::Delegated(_) => "Delegated",
            Self::Describe(_) => "Describe",
            Self::Described(_) => "Described",
            Self::Lease(_) => "Lease",
            Self::Leased(_) => "Leased",
            Self::Admitted(_) => "Admitted",
            Self::Prepared(Ok(_)) => "Prepared",
            Self::Prepared(Err(_)) => "Refused",
            Self::Connected => "Connected",
            Self::Stream(_) => "Stream",
            Self::Progress(_) => "Progress",
            Self::Finished { .. } => "Finished",
            Self::Reports(_) => "Reports",
            Self::End(_) => "End",
            Self::Stopped => "Stopped",
        }
    }

    /// Whether it reports on this end's traffic.
    pub(crate) const fn is_of_traffic(&self) -> bool {
        matches!(
            self,
            Self::Delegated(_)
                | Self::Described(_)
                | Self::Leased(_)
                | Self::Prepared(_)
                | Self::Connected
                | Self::Finished { .. }
                | Self::Reports(_)
        )
    }
}
