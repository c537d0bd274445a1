//! What every control protocol looks like to its driver: inputs, actions, and the two traits.
//!
//! A driver owns one control connection or shell, if its protocol has one ([`Control`]), and one session. Its whole loop is: read bytes and give them to
//! [`Session::handle`]; carry out every [`Action`] in order; wait for bytes, for its own traffic, or for
//! [`Session::deadline`]. The order of actions matters: "receivers run before the peer is told to
//! send" is expressed by `Start(Receiver)` standing before the `Send` that tells it.
//!
//! How protocols map onto it:
//!
//! | step | native | iperf3 | iperf2 | sfnt-pingpong |
//! |---|---|---|---|---|
//! | test agreed | `Prepare` / `Prepared` | parameter JSON after state 9 | header in the first data bytes | options |
//! | open data streams | `OpenStreams` | state 10 | at once | addresses; then the same streams |
//! | traffic | `Start` | states 1 and 2 | at once | a count and a size per `Grant` |
//! | sender done | `Finished` / `PeerFinished` | state 4, then result JSON | last datagram's negative id | every grant is used up |
//! | results | `Reports` / `PeerEvent::Report` | result JSON after state 13 | server report datagram | none |
//! | over | `TestOver` | state 14, 16 | `TestOver` | the count 0 |
//!
//! The drawings in the protocols' folders write an input or action of one kind in a word: `StartSenders` for
//! `Start(Sender)`, `PeerReport` for `Peer(Report)`, `ReuseStreams` for `OpenStreams` of the same streams, `FirstData` for
//! `Stream(FirstData)`, `Abort` and `Bye` for `End` of the test and of the session.

use crate::error::ProtocolError;
use crate::key::Credential;
use crate::login::{Gate, LoginAttempt};
use crate::settings::{Setting, SettingValues};
use crate::stream_format::StreamFormat;
pub use linerate_model::RefusalCode;
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{
    Direction, MAX_DURATION, MAX_STREAMS, Pace, Side, Stop, TestSpec, Transport,
};
use linerate_model::time::as_seconds;
use linerate_model::{BitRate, ByteCount, MonoInstant, PacketCount, Ratio};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Silence of the peer after which it counts as gone, unless a config says otherwise. Ten keep-alives:
/// a saturated link delays the control connection's segments, but TCP repeats a lost one within a few seconds.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// The same where an end is emulated: an emulator that gets little of busy cores stands still for seconds, and lets
/// the other end take it for gone. On two cores that compiled beside it, 10 s without a word were seen.
pub const EMULATED_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a peer may take to say anything at all, unless a config says otherwise. A server answers within a round
/// trip; that a segment is lost costs a second (RFC 6298 §2). Whoever says nothing in twice that time speaks no
/// protocol of ours.
pub const FIRST_ANSWER: Duration = Duration::from_secs(2);

/// Random bytes that each session is given.
pub const RANDOM_BYTES: usize = 32;

/// One control protocol: a client and a server state machine under a name.
pub trait PeerKind: Send + Sync {
    /// The kebab-case name in addresses (`iperf3://host`), in `--speak`, in the store and in reports.
    fn id(&self) -> &'static str;
    /// One sentence for help and the reference table.
    fn summary(&self) -> &'static str;
    /// The name in announcements to whoever runs a server.
    fn name(&self) -> &'static str {
        self.id()
    }
    /// Whether another tool than linerate is at the peer.
    fn is_foreign(&self) -> bool {
        true
    }
    /// The TCP port of the control connection, or of all its traffic, when an address names none.
    fn default_port(&self) -> u16;
    /// How the program that serves it is started, for messages: a command in back quotes.
    fn start_hint(&self) -> &'static str;
    /// How many tests one control connection carries.
    fn tests(&self) -> Tests;
    /// Whether there is a control connection at all.
    fn control(&self) -> Control {
        Control::Connection
    }
    /// The message sizes that its own client measures unless others are asked for.
    fn usual_sizes(&self, _transport: Transport) -> Vec<ByteCount> {
        vec![ByteCount::new(32)]
    }
    /// How a server tells which test a data stream belongs to.
    fn demux(&self) -> Demux {
        Demux::OwnPorts
    }
    /// What the protocol cannot tell about a test's peer, for the notes of a run and the reference
    /// table; each a part of a sentence. Empty if it tells everything.
    fn blind_spots(&self) -> &'static [&'static str];
    /// Whether its ends can show each other a key.
    fn has_keys(&self) -> bool {
        false
    }
    /// Whether its servers tell anything of their host. To read its facts takes some 10 ms, which are the first of
    /// the test where a client's traffic does not wait for an answer.
    fn tells_facts(&self) -> bool {
        false
    }
    /// Whether its servers may ask for a user and a password.
    fn has_users(&self) -> bool {
        false
    }
    /// Settings that no other protocol has: of its servers, or, where there are none, of its addresses.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }
    /// The same protocol with these of its settings made, each by its name; why a value cannot be, and what to do.
    fn with_settings(&self, _values: &SettingValues) -> Result<Arc<dyn PeerKind>, String> {
        Err(format!("{} has no settings of its own", self.id()))
    }
    /// Whether it carries this test; if not, why, and what to do.
    fn check(&self, _spec: &TestSpec) -> Result<(), String> {
        Ok(())
    }
    /// The same test with times that it takes, none of them shorter: some count in whole seconds.
    fn fitted(&self, spec: TestSpec) -> TestSpec {
        spec
    }
    /// The end that asks for tests, on a connection that has just been opened.
    fn client(&self, config: ClientConfig, now: MonoInstant) -> Box<dyn Session>;
    /// The end that is asked, on a connection that has just been accepted.
    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session>;
}

/// `time`, or the next whole second above it.
pub(crate) fn whole_seconds(time: Duration) -> Duration {
    let begun = u64::from(time.subsec_nanos() != 0);
    Duration::from_secs(time.as_secs().saturating_add(begun))
}

/// The same test, in whole seconds where the server sends, which cannot stop at another time.
pub(crate) fn with_whole_seconds_back(mut spec: TestSpec) -> TestSpec {
    if let (Direction::Reverse, Stop::After(time)) = (spec.direction, &mut spec.stop) {
        *time = whole_seconds(*time);
    }
    spec
}

/// How a server tells which test a data stream belongs to.
#[derive(Debug, Clone, Copy)]
pub enum Demux {
    /// By the port: the server opens ports for each test.
    OwnPorts,
    /// All come to one port, and each stream is a test of its own.
    EachATest {
        /// How many bytes of a TCP stream that begins like this must be there before
        /// [`Input::Stream`] can tell what it is; no more than 256.
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
    /// Nothing: data streams say themselves what they are. A session then gets no [`Input::Bytes`] and asks
    /// for no [`Action::Send`]; what it has to say outside the traffic goes over the data streams, by
    /// [`StreamOrder::Datagram`].
    Absent,
    /// A TCP connection of its own.
    Connection,
    /// What is typed into the shell of a device, on a serial line or behind a telnet server. There is no server to
    /// start: the client tells the shell what to do. Data streams go elsewhere, and what happens on them is told as
    /// without a control connection.
    Shell,
}

/// How the shell of a device is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// A line of characters.
    Serial,
    /// A telnet connection.
    Telnet,
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

/// One end of one control connection. Does no I/O and reads no clock.
pub trait Session: fmt::Debug + Send {
    /// Takes one input. After an error the session is over: poll the remaining actions (a farewell that
    /// tells the peer why, then [`Action::Closed`]), stop any traffic, close the connection.
    fn handle(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError>;
    /// The next thing to do, in order; `None` when it is time to wait.
    fn poll_action(&mut self) -> Option<Action>;
    /// When to say [`Input::Timeout`] if nothing else happens before; `None` when the session is over.
    fn deadline(&self) -> Option<MonoInstant>;
    /// The state by its kebab-case name, for messages and logs.
    fn state(&self) -> &'static str;
}

/// TCP or UDP ports that the server waits on, per side that the *server* plays on them: `Receiver` for
/// forward traffic, `Sender` for reverse, both for duplex. One port for all streams, or one per stream.
/// No entry at all: every stream goes to the port of the control connection.
pub type StreamPorts = Vec<(Side, Vec<u16>)>;

/// Messages that may be exchanged: both ends know how many, and of which length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// There and back each; the first is not timed, it wakes the peer.
    pub messages: u32,
    /// L4 payload of each.
    pub size: ByteCount,
}

/// What the driver tells its session.
#[derive(Debug, Clone, PartialEq)]
pub enum Input<'a> {
    /// Either end: bytes of the control connection, in any split.
    Bytes(&'a [u8]),
    /// Either end: the peer closed the control connection, or it broke.
    Eof,
    /// Either end: [`Session::deadline`] has passed. Read what has arrived before saying this, or a slow
    /// driver takes its own slowness for the peer's silence.
    Timeout,
    /// Client, when no test is under way: the next test.
    Begin(Box<TestSpec>),
    /// In answer to [`Action::Prepare`]: this end waits for data streams on these ports, or has bound its
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
    /// This end's user or driver wants something to end before its time.
    End(Ending),
    /// Either end, in answer to [`Action::Stop`]: the test's threads and data streams are gone.
    Stopped,
}

/// What happens on data streams beside their traffic.
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
    /// Either end, of a format that [`is_granted`](StreamFormat::is_granted): its messages have used up the oldest
    /// grant.
    GrantSpent,
    /// Either end, of a protocol without control connection: the first bytes, datagram or answer of this data stream
    /// reached this end. Once per stream.
    FirstData {
        /// Its index within its direction.
        stream: u16,
    },
    /// Server of a protocol without control connection, first of all, and in answer to [`Action::Listen`]: a data stream
    /// came.
    Opened {
        /// Of what kind it is.
        transport: Transport,
        /// What it begins with: the first datagram, or at least as many bytes as
        /// [`Demux::EachATest`] asks for, if that many came. They are still to be read.
        bytes: &'a [u8],
    },
}

/// What is to end before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Either end: close the session politely. A test under way is stopped.
    Session,
    /// Either end: end the test early (user, failed socket). Answered by [`Action::Stop`] at both ends.
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

    /// Whether it tells how far this end's traffic is.
    pub(crate) const fn is_of_traffic(&self) -> bool {
        matches!(
            self,
            Self::Prepared(_) | Self::Connected | Self::Finished { .. } | Self::Reports(_)
        )
    }
}

/// What the session tells its driver to do, or to know. Carry out in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Either end: write these bytes to the control connection, all of them, after those before. A driver
    /// that cannot get rid of them keeps a bounded number and takes the connection for broken beyond it.
    Send(Vec<u8>),
    /// Either end: an event of the peer for this end's owner.
    Peer(PeerEvent),
    /// Server, and a client whose protocol wants to know its datagram ports: make ready for this (valid) test
    /// and answer [`Input::Prepared`].
    Prepare {
        /// The test.
        spec: Box<TestSpec>,
        /// How its streams open and what they carry; where they arrive is the format's to say.
        format: Arc<dyn StreamFormat>,
    },
    /// Client whose peer opens the data stream: listen for it at this port, or at another if it is taken, and answer
    /// [`Input::Prepared`]; then say [`StreamEvent::Opened`] when it comes from the peer's address.
    Listen {
        /// Of what kind it will be.
        transport: Transport,
        /// The usual port, which firewalls know.
        port: u16,
    },
    /// Client: the server waits; open the data streams and answer [`Input::Connected`]. The server's
    /// driver expects them from its own [`Input::Prepared`] on. Either end that has bound datagram sockets:
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
    /// Either end: do this on the data streams, beside their traffic.
    Stream(StreamOrder),
    /// Either end that sends: its senders stop now and what they sent is told by [`Input::Finished`], as
    /// at the end of the test's time. Those that have stopped already need nothing.
    StopSenders,
    /// The end that receives: the peer's senders have stopped. Take what is still under way, then say
    /// [`Input::Reports`].
    PeerFinished {
        /// What they gave to their system.
        sent: Sent,
    },
    /// Either end: the test ends early. Stop its threads, drop its data streams, answer
    /// [`Input::Stopped`]; [`TestEnd::Aborted`] follows when the peer has done the same. No reports are exchanged.
    Stop {
        /// Whose wish it was.
        cause: StopCause,
        /// What kind of reason.
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

/// What a session does on data streams beside their traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamOrder {
    /// Either end: send this datagram on this data stream, from [`Input::Connected`] on until the test is
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
    /// port of its address. Make it as a client of the same protocol, at once and beside this session.
    CallBack {
        /// Where the client listens.
        port: u16,
        /// The test.
        spec: Box<TestSpec>,
    },
    /// Server: it makes less of the test than its client asked for, and this is what and why.
    Curtailed(String),
    /// Either end, once: the peer is what it should be. A client may now say [`Input::Begin`].
    Hello(Box<PeerHello>),
    /// Client: what the peer said of the test that no report has a place for.
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
    /// This test will not be made; nothing was opened.
    Refused(Refusal),
}

/// Whose wish an early end was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// This end's own driver or session.
    Local,
    /// The peer.
    Peer,
}

/// What an end has counted since the start of traffic, all its streams together. Receiver-side if this
/// end receives, else sender-side; L4 payload; this end's clock. What is absent is not told, as by ends of before.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Since the start of counted time.
    #[serde(rename = "elapsed_s", with = "as_seconds")]
    pub elapsed: Duration,
    /// L4 payload bytes.
    pub bytes: ByteCount,
    /// Datagrams or transactions; zero for a TCP byte stream.
    pub packets: PacketCount,
    /// Datagrams that a receiver has skipped so far: lost, or late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<PacketCount>,
    /// Congestion windows of a sender's streams together.
    #[serde(
        rename = "cwnd_bytes",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cwnd: Option<ByteCount>,
    /// Longest smoothed round-trip time of a sender's streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srtt_ns: Option<u64>,
    /// Segments that a sender's TCP has sent again, since its streams were opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<PacketCount>,
    /// Share of the last interval that the busiest core of this end's host was not idle.
    #[serde(
        rename = "busiest_core_ratio",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub busiest_core: Option<Ratio>,
    /// The same of each core, in core order.
    #[serde(rename = "core_ratios", default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<Ratio>,
}

/// Who is at the peer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PeerHello {
    /// The far tool's version, as it says.
    pub version: String,
    /// Id of this session at the server; both ends' logs name it.
    pub session: String,
    /// The facts of the peer's host; empty for protocols that have none, and at the server.
    pub facts: Facts,
    /// What the server allows; the server's own at the server.
    pub limits: Limits,
}

/// What a server allows any test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest test, warm-up included. A test without a time is stopped there.
    #[serde(rename = "max_duration_s", with = "as_seconds")]
    pub max_duration: Duration,
    /// Most streams per direction.
    pub max_streams: u16,
    /// Highest intended load over all streams, L4 payload; `None` allows also unpaced traffic.
    #[serde(rename = "max_bps", default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<BitRate>,
    /// Whether it imitates slow applications: of use to tests of linerate only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imitation: bool,
    /// Whether it makes tests that take more of its host than traffic does: see [`TestSpec::intrusion`].
    /// Not told: who asks for one hears why not.
    #[serde(skip)]
    pub intrusion: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_duration: MAX_DURATION,
            max_streams: MAX_STREAMS,
            max_rate: None,
            imitation: false,
            intrusion: true,
        }
    }
}

impl Limits {
    /// Says which limit `spec` exceeds and what to set, if any.
    pub fn exceeded_by(&self, spec: &TestSpec) -> Option<String> {
        if spec.streams > self.max_streams {
            return Some(format!(
                "{} streams are more than this server allows: use at most {}",
                spec.streams, self.max_streams
            ));
        }
        if let Stop::After(time) = spec.stop
            && time.saturating_add(spec.warm_up) > self.max_duration
        {
            return Some(format!(
                "a test of {:?} is longer than this server allows: use at most {:?}",
                time.saturating_add(spec.warm_up),
                self.max_duration
            ));
        }
        if spec.is_server_slow() && !self.imitation {
            let reason = "this server imitates no slow application: start it with `linerate serve --allow-imitation`";
            return Some(reason.to_owned());
        }
        if let Some(what) = spec.intrusion().filter(|_| !self.intrusion) {
            return Some(format!(
                "this server takes no {what} for a client without a key: start it with --key, or with --allow-intrusive and this client's address"
            ));
        }
        let most = self.max_rate?;
        match spec.pace() {
            Pace::At(rate) if rate <= most => None,
            Pace::At(rate) => Some(format!(
                "{rate} is more than this server allows: use at most {most}"
            )),
            Pace::Unpaced => Some(format!(
                "this server allows no unpaced traffic: set a rate of at most {most}"
            )),
        }
    }
}

/// How much UDP a server sends to an address of which no connection proves that it asked: the source of a
/// datagram may be forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnprovedSending {
    /// As much as the test asks for: the address cannot be forged, or whoever runs the server allowed it.
    AsAsked,
    /// Never more bytes of L4 payload than came from there.
    AtMostReceived,
}

/// What a client session is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConfig {
    /// This tool's version, told to the server.
    pub version: String,
    /// Silence of the peer after which it counts as gone, and the longest a step of setting up may take.
    pub timeout: Duration,
    /// The key to show, and to see that the server has it; `None` shows none.
    pub credential: Option<Credential>,
    /// Silence after which a peer that has never said anything counts as none, where only its traffic tells of it.
    pub first_answer: Duration,
    /// This end's address on the control connection, for protocols that tell it.
    pub local: IpAddr,
    /// Random bytes of this session, for protocols whose clients name themselves.
    pub random: [u8; RANDOM_BYTES],
    /// The user to show, for protocols that have users; `None` shows none.
    pub login: Option<LoginAttempt>,
    /// Whether to ask for what the peer prints, for protocols whose servers send it.
    pub far_output: bool,
    /// The peer's port that data streams go to, for protocols that tell it.
    pub remote_port: u16,
    /// How the peer's shell is reached, for protocols that are spoken with one.
    pub wire: Option<Wire>,
}

impl ClientConfig {
    /// A client at `local` that shows neither key nor user, waits as long as usual and says no version.
    pub const fn new(local: IpAddr, random: [u8; RANDOM_BYTES]) -> Self {
        Self {
            version: String::new(),
            timeout: TIMEOUT,
            first_answer: FIRST_ANSWER,
            credential: None,
            local,
            random,
            login: None,
            far_output: false,
            remote_port: 0,
            wire: None,
        }
    }
}

/// What a server session is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// This tool's version, told to the client.
    pub version: String,
    /// As in [`ClientConfig`].
    pub timeout: Duration,
    /// Id of this session, unique at this server, at most 64 characters.
    pub session: String,
    /// This host's facts, for protocols that tell them.
    pub facts: Facts,
    /// What any test may take.
    pub limits: Limits,
    /// For protocols without control connection: how much UDP goes to this client.
    pub unproved: UnprovedSending,
    /// Random bytes of this session, known to nobody else, for protocols whose streams show a token.
    pub random: [u8; RANDOM_BYTES],
    /// This end's address on the control connection, for protocols that tell it.
    pub local: IpAddr,
    /// Turns the client away as soon as it has said hello: too many clients, wrong address.
    pub turn_away: Option<(RefusalCode, String)>,
    /// The key that a client must hold; `None` asks for none.
    pub credential: Option<Credential>,
    /// The users that are let in, for protocols that have users; `None` asks for none.
    pub logins: Option<Gate>,
}

impl ServerConfig {
    /// A server at `local` that lets in everybody, waits for [`TIMEOUT`], and says neither version, session nor facts.
    pub fn new(local: IpAddr, random: [u8; RANDOM_BYTES]) -> Self {
        Self {
            version: String::new(),
            timeout: TIMEOUT,
            session: String::new(),
            facts: Facts::default(),
            limits: Limits::default(),
            unproved: UnprovedSending::AsAsked,
            random,
            local,
            turn_away: None,
            credential: None,
            logins: None,
        }
    }
}
