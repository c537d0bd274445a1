//! What sessions are made of, and what a server allows.

use super::{Fence, RefusalCode};
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

/// Silence of the peer after which it counts as gone where an end is emulated: an emulator short of CPU time stands
/// still for seconds. On two cores that compiled at the same time, 10 s of silence were seen.
pub const EMULATED_TIMEOUT: Duration = Duration::from_mins(1);

/// Timeout for the first bytes of a peer, unless a config says otherwise. A server answers within a round trip, a
/// lost segment costs a second (RFC 6298 §2), and a host with four busy programs per core starts the server's threads
/// late by as much again; silence for longer means that no server of this protocol is there.
pub const FIRST_ANSWER: Duration = Duration::from_secs(4);

/// Number of random bytes given to each session.
pub const RANDOM_BYTES: usize = 32;

/// How the shell of a device is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// A line of characters.
    Serial,
    /// A telnet connection.
    Telnet,
}

/// Limits of a server for every test.
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
    /// Whether it makes tests that load its host beyond the traffic: see [`TestSpec::intrusion`]. Not sent to clients:
    /// a refused client is told why.
    #[serde(skip)]
    pub intrusion: bool,
    /// Whether it grants leases on its host; older ends do not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leases: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_duration: MAX_DURATION,
            max_streams: MAX_STREAMS,
            max_rate: None,
            imitation: false,
            intrusion: true,
            leases: false,
        }
    }
}

impl Limits {
    /// Which limit `spec` exceeds, and what to set; `None` if none.
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
                "this server allows {what} only to clients with a key: start it with `linerate serve --allow-intrusive ADDRESS`, the address of this client, or with --key FILE"
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

/// How much UDP a server sends to an address that no connection has validated: a datagram's source may be forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnprovedSending {
    /// No limit: the address cannot be forged, or the server's operator allowed it.
    AsAsked,
    /// At most as many L4 payload bytes as arrived from there.
    AtMostReceived,
}

/// Configuration of a client session.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConfig {
    /// This tool's version, told to the server.
    pub version: String,
    /// Silence of the peer after which it counts as gone, and the longest a step of setting up may take.
    pub timeout: Duration,
    /// Key to prove to the server and to require from it; `None`: no authentication.
    pub credential: Option<Credential>,
    /// Lease on the server's host that the tests are of, for protocols with leases.
    pub fence: Option<Fence>,
    /// Timeout for the first answer of a peer where only its traffic shows that it is there.
    pub first_answer: Duration,
    /// This end's address on the control connection, for protocols that send it.
    pub local: IpAddr,
    /// Random bytes of this session, for protocols whose clients identify themselves by them.
    pub random: [u8; RANDOM_BYTES],
    /// User to authenticate, for protocols with users; `None`: no login.
    pub login: Option<LoginAttempt>,
    /// Whether to request the peer's own output, for protocols whose servers send it.
    pub far_output: bool,
    /// Port of the peer for data streams, for protocols that send it.
    pub remote_port: u16,
    /// How the peer's shell is reached, for protocols controlled through a shell.
    pub wire: Option<Wire>,
}

impl ClientConfig {
    /// Client at `local` without key, user and version, with the default timeouts.
    pub const fn new(local: IpAddr, random: [u8; RANDOM_BYTES]) -> Self {
        Self {
            version: String::new(),
            timeout: TIMEOUT,
            first_answer: FIRST_ANSWER,
            credential: None,
            fence: None,
            local,
            random,
            login: None,
            far_output: false,
            remote_port: 0,
            wire: None,
        }
    }
}

/// Configuration of a server session.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// This tool's version, told to the client.
    pub version: String,
    /// Silence of the peer after which it counts as gone, and the maximum time of a set-up step.
    pub timeout: Duration,
    /// Id of this session, unique at this server, at most 64 characters.
    pub session: String,
    /// Facts about this host, for protocols that send them.
    pub facts: Facts,
    /// Limits of every test.
    pub limits: Limits,
    /// For protocols without control connection: limit of UDP towards this client.
    pub unproved: UnprovedSending,
    /// Random bytes of this session, secret, for protocols whose streams carry a token.
    pub random: [u8; RANDOM_BYTES],
    /// This end's address on the control connection, for protocols that send it.
    pub local: IpAddr,
    /// Reason to refuse the client after its hello, such as too many clients or a wrong address.
    pub turn_away: Option<(RefusalCode, String)>,
    /// Key that a client must hold; `None`: none required.
    pub credential: Option<Credential>,
    /// Users that are accepted, for protocols with users; `None`: no login required.
    pub logins: Option<Gate>,
}

impl ServerConfig {
    /// Server at `local` that accepts every client, with the timeout [`TIMEOUT`] and without version, session and
    /// facts.
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
