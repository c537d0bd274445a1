//! What a session wants its driver to do, or to know.

use super::{
    DelegatedTest, Delegation, DescriptionRequest, InterfaceDescription, LeaseGrant, LeaseRequest,
    PeerHello, Progress, Refusal, RefusalCode, StreamPorts,
};
use crate::stream_format::StreamFormat;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Side, TestSpec, Transport};
use linerate_model::{ByteCount, PacketCount};
use std::sync::Arc;

/// Messages that may be exchanged: both ends know how many, and of which length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// There and back each; the first is not timed, it wakes the peer.
    pub messages: u32,
    /// L4 payload of each.
    pub size: ByteCount,
}

/// What the session tells its driver to do, or to know. Carry out in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Either end: write these bytes to the control connection, all of them, after those before. A driver
    /// that cannot get rid of them keeps a bounded number and takes the connection for broken beyond it.
    Send(Vec<u8>),
    /// Either end: an event of the peer for this end's owner.
    Peer(PeerEvent),
    /// Server whose clients show who they are: this one has. Answer [`Input::Admitted`](super::Input::Admitted).
    Admit,
    /// Server: look at the interface that a test would use here, and answer [`Input::Described`](super::Input::Described).
    Describe(Box<DescriptionRequest>),
    /// Server, and a client whose protocol wants to know its datagram ports: make ready for this (valid) test
    /// and answer [`Input::Prepared`](super::Input::Prepared).
    Prepare {
        /// The test.
        spec: Box<TestSpec>,
        /// How its streams open and what they carry; where they arrive is the format's to say.
        format: Arc<dyn StreamFormat>,
    },
    /// Client whose peer opens the data stream: listen for it at this port, or at another if it is taken, and answer
    /// [`Input::Prepared`](super::Input::Prepared); then say [`StreamEvent::Opened`](super::StreamEvent::Opened) when it comes from the peer's address.
    Listen {
        /// Of what kind it will be.
        transport: Transport,
        /// The usual port, which firewalls know.
        port: u16,
    },
    /// Client: the server waits; open the data streams and answer [`Input::Connected`](super::Input::Connected). The server's
    /// driver expects them from its own [`Input::Prepared`](super::Input::Prepared) on. Either end that has bound datagram sockets:
    /// connect them to these ports of the other end, and answer the same.
    OpenStreams {
        /// Where they go.
        target: StreamTarget,
        /// How they open and what they carry.
        format: Arc<dyn StreamFormat>,
    },
    /// Either end that plays this side: start its traffic now, before the next action. Receivers start before
    /// senders where an end does both, and before the peer is told to send; once senders start, all receivers, here
    /// and there, run.
    Start(Side),
    /// Either end: do this on the data streams, outside their traffic.
    Stream(StreamOrder),
    /// Either end that sends: its senders stop now and what they sent is told by [`Input::Finished`](super::Input::Finished), as
    /// at the end of the test's time. Those that have stopped already need nothing.
    StopSenders,
    /// The end that receives: the peer's senders have stopped. Take what is still under way, then say
    /// [`Input::Reports`](super::Input::Reports).
    PeerFinished {
        /// What they gave to their system.
        sent: Sent,
    },
    /// Either end: the test ends early. Stop its threads, drop its data streams, answer
    /// [`Input::Stopped`](super::Input::Stopped); [`TestEnd::Aborted`] follows when the peer has done the same. No reports are exchanged.
    Stop {
        /// Whose wish it was.
        cause: StopCause,
        /// Kind of reason.
        code: RefusalCode,
        /// The reason.
        reason: String,
    },
    /// Either end: the test is over at both ends, and the next one may begin.
    TestOver(TestEnd),
    /// Either end: this end has nothing more to write; close its half of the control connection.
    HalfClose,
    /// Either end, last of all: nothing more will come. Stop what still runs, write what was to be sent, close.
    Closed,
}

/// What the peer's senders gave to their system, warm-up included: one entry per stream, in stream order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// The protocol does not tell in time: only silence, or the end of the stream, ends the receivers.
    Untold,
    /// Datagrams or transactions; zero for a TCP byte stream, whose end tells itself.
    Packets(Vec<PacketCount>),
    /// L4 payload of byte streams that stay open after their last byte.
    Bytes(Vec<ByteCount>),
}

/// Where the data streams of a test go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamTarget {
    /// To these ports of the other end, by the side that end plays on them.
    Ports(StreamPorts),
    /// The streams of the test before go on in this one.
    SameStreams,
}

/// Orders of a session on data streams outside their traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamOrder {
    /// Either end: send this datagram on this data stream, from [`Input::Connected`](super::Input::Connected) on until the test is
    /// over. It may get lost. The time in it, where the format has one, is filled in.
    Datagram {
        /// The stream's index within its direction.
        stream: u16,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// Either end, while traffic flows: this many more messages may be exchanged, after those granted before.
    Grant(Grant),
}

/// What the owner of an end should know of the peer.
#[derive(Debug, Clone, PartialEq)]
pub enum PeerEvent {
    /// Server of a protocol without control connection: its client wants this test made towards it, at this
    /// port of its address. Make it as a client of the same protocol, at once and in parallel to this session.
    CallBack {
        /// Where the client listens.
        port: u16,
        /// The test.
        spec: Box<TestSpec>,
    },
    /// Server: it makes less of the test than its client asked for, and this is what and why.
    Curtailed(String),
    /// Server: its client wants this test made with another server. Make it as a client of the same protocol, in parallel to
    /// this session, and answer [`Input::Delegated`](super::Input::Delegated).
    Delegate(Box<Delegation>),
    /// Client: what came of the test that it [delegated](super::Input::Delegate).
    Delegated(Box<DelegatedTest>),
    /// Client: the interface that it [asked for](super::Input::Describe).
    Described(Box<InterfaceDescription>),
    /// Either end, once: the peer is what it should be. A client may now say [`Input::Begin`](super::Input::Begin).
    Hello(Box<PeerHello>),
    /// Server: its client asks for a lease on this host. Answer [`Input::Leased`](super::Input::Leased).
    Lease(LeaseRequest),
    /// Client: the lease that it [asked for](super::Input::Lease).
    Leased(LeaseGrant),
    /// Client: a note of the peer on the test, outside the reports.
    Note(String),
    /// Client: what the server printed of the test, safe to show and of bounded length.
    Output(String),
    /// Client: what the server's end has counted so far.
    Progress(Progress),
    /// Client: what the server's endpoints saw.
    Report(Vec<EndpointReport>),
}

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestEnd {
    /// Either end: both ends have dropped the aborted test.
    Aborted,
    /// Either end: it is complete, and both ends know it.
    Complete,
    /// Client: this end cannot make it, because its protocol does not express it or its driver could not prepare it.
    /// The peer was asked for nothing.
    Impossible(Refusal),
    /// The server does not make it; nothing was opened.
    Refused(Refusal),
}

/// Who requested an early end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// This end's own driver or session.
    Local,
    /// The peer.
    Peer,
}
