//! What sessions are made of, and what a server allows.

use super::RefusalCode;
use crate::key::Credential;
use crate::login::{Gate, LoginAttempt};
use linerate_model::BitRate;
use linerate_model::facts::Facts;
use linerate_model::spec::{MAX_DURATION, MAX_STREAMS, Pace, Stop, TestSpec};
use linerate_model::time::as_seconds;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
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

/// How the shell of a device is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// A line of characters.
    Serial,
    /// A telnet connection.
    Telnet,
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
