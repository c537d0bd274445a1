//! Meshes of many hosts: who tests whom when, what each pair carried, and which links the pairs share.

use crate::estimate::{Estimate, Interval};
use crate::time::as_seconds;
use crate::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Version of the document of a mesh.
pub const SCHEMA: &str = "linerate/mesh/1";

/// Two hosts that test each other, by their places in the list of hosts. The first opens the connections.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
pub struct MeshPair {
    /// The host that dials.
    pub dialer: usize,
    /// The host that accepts.
    pub listener: usize,
}

impl MeshPair {
    /// Its flows, sender and receiver each: from the host that dials, then to it.
    pub const fn flows(self) -> [(usize, usize); 2] {
        let Self { dialer, listener } = self;
        [(dialer, listener), (listener, dialer)]
    }

    /// Its hosts, the smaller place first.
    pub const fn ends(self) -> (usize, usize) {
        if self.dialer < self.listener {
            (self.dialer, self.listener)
        } else {
            (self.listener, self.dialer)
        }
    }
}

/// Which pairs are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeshCoverage {
    /// Every pair that can meet.
    Complete,
    /// Random partners for each host, and at least one pair between any two racks.
    Sampled,
}

/// What will be tested, before anything is.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MeshPlan {
    /// [`SCHEMA`].
    pub schema: String,
    /// What it is about.
    pub title: String,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Which pairs are tested.
    pub coverage: MeshCoverage,
    /// Seed of everything random.
    pub seed: u64,
    /// Pairs in rounds: those of one round share no network interface and no declared link.
    pub rounds: Vec<Vec<MeshPair>>,
    /// Rounds that no plan of these pairs can do without.
    pub rounds_bound: usize,
    /// Pairs that cannot meet, since neither host accepts connections.
    pub unreachable: Vec<MeshPair>,
    /// How often all rounds are made.
    pub repetitions: u32,
    /// Length of one test in one direction.
    #[serde(rename = "test_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub test: Duration,
    /// Length of all rounds, with what is between tests.
    #[serde(rename = "time_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub time: Duration,
    /// Most L4 payload of all tests together; absent where a host's rate is not declared.
    #[serde(
        rename = "most_bytes",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub bytes: Option<ByteCount>,
    /// The search for links that nobody declared, after the tests of the pairs; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchBounds>,
}

/// What a search for shared links takes at most: it ends when what was seen is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SearchBounds {
    /// Crowds: several pairs at once, both ways.
    #[serde(rename = "most_crowds")]
    pub crowds: usize,
    /// Their length, with what is between them, and that of tests of pairs that turn out to have filled a link together.
    #[serde(rename = "most_time_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub time: Duration,
    /// L4 payload of both; absent where a host's rate is not declared.
    #[serde(
        rename = "most_bytes",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub bytes: Option<ByteCount>,
}

impl MeshPlan {
    /// Pairs that are tested.
    pub fn pairs(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }
}

/// What one direction between two hosts carried.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MeshFlow {
    /// Place of the sending host.
    pub from: usize,
    /// Place of the receiving host.
    pub to: usize,
    /// Receiver-side L4 payload rate with no other test on its interfaces and declared links, bit/s; absent where no test
    /// of it ended.
    #[serde(
        rename = "received_bps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub received: Option<Estimate>,
    /// What limited its last test, as the verdict of its run says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Why it is slow beside the others, or was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How it stands among the flows of the mesh.
    pub standing: FlowStanding,
}

/// How a flow stands among the flows of a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowStanding {
    /// It was not measured.
    Failed,
    /// As the others.
    Normal,
    /// Slower than the others, also when it was tested again.
    Slow,
    /// Slower than the others at first, not when it was tested again.
    SlowOnce,
}

crate::named_enum! {
    /// How sure it is that flows share a link.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum LinkCertainty {
        /// With half of the group left out the others got more, and the interval excludes no gain.
        Proven = "proven",
        /// They got more, and the interval does not exclude no gain; or they are two flows.
        Suspected = "suspected",
    }
}

/// A link that nobody declared and that several pairs share.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SharedLink {
    /// The flows that share it.
    pub flows: Vec<LinkFlow>,
    /// Receiver-side L4 payload rate of the group while the link was saturated, bit/s.
    #[serde(rename = "capacity_bps")]
    pub capacity: Estimate,
    /// How sure it is.
    pub certainty: LinkCertainty,
    /// The intervention: rates of the flows with half of the group left out over those with it, with a 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_ratio: Option<GainRatio>,
    /// What shares: a link of the network, or the hosts' own resource where their verdicts name one.
    pub place: SharedPlace,
}

/// A flow of a shared link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LinkFlow {
    /// Place of the sending host.
    pub from: usize,
    /// Place of the receiving host.
    pub to: usize,
    /// Receiver-side L4 payload rate while few flows or none beside it were active.
    #[serde(rename = "alone_bps", default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<BitRate>,
}

/// How much more flows got while half of their group was left out.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct GainRatio {
    /// Geometric mean.
    pub point: f64,
    /// 95 % interval; absent below two readings of each kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Readings with the others.
    pub with_others: u64,
    /// Readings without.
    pub without_others: u64,
}

/// Where several flows are limited together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharedPlace {
    /// The hosts themselves: CPU or a hypervisor below them.
    Hosts,
    /// The network between them.
    Network,
}

/// Rates of one crowd round: several flows at once.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CrowdRound {
    /// What it was for.
    pub purpose: CrowdPurpose,
    /// Each active flow with its receiver-side L4 payload rate; a flow whose test failed is left out.
    pub rates: Vec<CrowdRate>,
}

/// What a crowd round was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrowdPurpose {
    /// All flows at once.
    All,
    /// Few pairs at a time, or one alone.
    Few,
    /// The flows of one group alone.
    Group,
    /// A group's smallest part that does not fill its link, with other flows: do they fill it?
    Members,
    /// Random parts of the flows that were held back.
    Subset,
    /// An intervention: one half of a group is left out.
    WithoutOthers,
}

/// What a flow carried in a crowd round.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CrowdRate {
    /// Place of the flow in the list of crowd flows.
    pub flow: usize,
    /// Receiver-side L4 payload rate.
    #[serde(rename = "received_bps")]
    pub received: BitRate,
}

/// What was found of a mesh.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MeshReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// The stored run whose parts are the tests of the pairs; absent where nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What was planned.
    pub plan: MeshPlan,
    /// Each direction of each pair.
    pub flows: Vec<MeshFlow>,
    /// The flows of the crowd rounds, sender and receiver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crowd_flows: Vec<(usize, usize)>,
    /// Raw rates of the crowd rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crowds: Vec<CrowdRound>,
    /// Links that were found; empty with crowd rounds: none seen at this load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<SharedLink>,
    /// What the reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
