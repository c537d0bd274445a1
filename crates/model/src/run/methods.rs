//! What methods beside the search for the throughput found of a device between two ports.

use super::LedgerEntry;
use crate::estimate::Estimate;
use crate::time::{as_optional_seconds, as_seconds};
use crate::units::{LossRatio, PacketCount, PacketRate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What one method found of frames of one size in one direction.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum MethodResult {
    /// Addresses that a switch holds (RFC 2889 §5.7).
    AddressTable(AddressTable),
    /// Longest bursts without loss (RFC 9004).
    BackToBack(Box<BackToBack>),
    /// Load with a given loss ratio on average (PLRsearch).
    CriticalLoad(Box<CriticalLoad>),
    /// What a frame costs by the number of flows.
    FlowCost(FlowCost),
    /// Addresses that a switch learns per second (RFC 2889 §5.8).
    LearningRate(LearningRate),
    /// Loss at loads from the highest downwards (RFC 2544 §26.3).
    LossCurve(LossCurve),
    /// Time without frames when the device is reset (RFC 6201).
    Reset(Reset),
    /// One long trial below the throughput.
    Soak(Box<Soak>),
}

/// How many addresses a switch learned of those that were taught.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AddressTable {
    /// Addresses that were taught, one frame from each.
    pub taught: u32,
    /// Those that it knew afterwards: frames to them were not flooded.
    pub learned: u32,
    /// Place, from 0, of the first that it did not know, in the order in which they were taught: so many were learned without a
    /// gap. Absent where it knew all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_unlearned: Option<u32>,
    /// Rate at which they were taught, per second.
    #[serde(rename = "taught_pps")]
    pub taught_rate: PacketRate,
}

/// How fast a switch learns addresses.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LearningRate {
    /// Addresses of each trial.
    pub addresses: u32,
    /// Highest rate at which it learned all of them, per second; absent where there was none.
    #[serde(
        rename = "learned_all_pps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub learned_all: Option<PacketRate>,
    /// Lowest rate above it at which it did not; absent where it learned all at the sender's highest rate.
    #[serde(
        rename = "missed_some_pps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub missed_some: Option<PacketRate>,
    /// Trials that were made.
    pub trials: u32,
}

/// The longest burst that a device forwards without loss, and the buffer that this implies (RFC 9004).
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BackToBack {
    /// Longest burst without loss of each test, frames.
    pub bursts: Vec<PacketCount>,
    /// Their mean.
    pub mean_frames: Estimate,
    /// Longest burst that was tried.
    pub longest_tried: PacketCount,
    /// Rate of the frames of a burst.
    #[serde(rename = "burst_pps")]
    pub burst_rate: PacketRate,
    /// Throughput without loss, which the buffer drains at; absent where none was found.
    #[serde(
        rename = "throughput_pps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub throughput: Option<PacketRate>,
    /// Mean burst over its rate.
    #[serde(rename = "implied_buffer_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub implied_buffer: Duration,
    /// Implied × (1 − throughput / rate): what the device held while it forwarded.
    #[serde(
        rename = "corrected_buffer_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub corrected_buffer: Option<Duration>,
    /// Mean burst × (1 − throughput / rate): frames that the device held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_frames: Option<f64>,
}

impl BackToBack {
    /// Whether a burst of the greatest length passed: the device forwards at the rate of the bursts, and no buffer shows.
    pub fn is_unbounded(&self) -> bool {
        self.bursts.contains(&self.longest_tried)
    }
}

/// The load at which the average loss ratio is a target (draft-vpolak-bmwg-plrsearch).
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CriticalLoad {
    /// The target.
    #[serde(rename = "target_loss_ratio")]
    pub target: LossRatio,
    /// Mean of the estimate.
    #[serde(rename = "mean_pps")]
    pub mean: PacketRate,
    /// Standard deviation of the estimate.
    #[serde(rename = "stdev_pps")]
    pub deviation: PacketRate,
    /// Mean by the fitting function `stretch` alone.
    #[serde(rename = "stretch_pps")]
    pub stretch: PacketRate,
    /// Mean by the fitting function `erf` alone.
    #[serde(rename = "erf_pps")]
    pub erf: PacketRate,
    /// Whether it is within the loads that were searched.
    pub place: LoadPlace,
    /// In their order.
    pub trials: Vec<CriticalLoadTrial>,
}

crate::named_enum! {
    /// Where a load is that was searched for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum LoadPlace {
        /// Above the highest load that was searched, or there.
        Above = "at least",
        /// Below the lowest load that was searched, or there.
        Below = "at most",
        /// Between them.
        Within = "about",
    }
}

/// A trial of a search for a critical load.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CriticalLoadTrial {
    /// What the sender really sent.
    #[serde(rename = "offered_pps")]
    pub offered: PacketRate,
    /// Frames that were sent.
    pub sent: PacketCount,
    /// Frames that were lost.
    pub lost: PacketCount,
    /// Mean of the estimate after it.
    #[serde(rename = "mean_pps")]
    pub mean: PacketRate,
    /// Standard deviation of the estimate after it.
    #[serde(rename = "stdev_pps")]
    pub deviation: PacketRate,
}

impl CriticalLoad {
    /// Frames of all trials: sent, and lost of them.
    pub fn frames(&self) -> [PacketCount; 2] {
        let sum = |of: fn(&CriticalLoadTrial) -> PacketCount| {
            PacketCount::new(self.trials.iter().map(|trial| of(trial).get()).sum())
        };
        [sum(|trial| trial.sent), sum(|trial| trial.lost)]
    }
}

/// What a frame costs a device by the number of flows, each drawn anew for each frame.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowCost {
    /// From few flows to many.
    pub points: Vec<FlowPoint>,
    /// The cache that they show; absent where the cost does not depend on the flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<FlowCache>,
}

/// What frames of so many flows cost.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowPoint {
    /// Number of flows.
    pub flows: u32,
    /// Frames that came per second at the highest load, the median over the turns.
    #[serde(rename = "received_pps")]
    pub received: PacketRate,
    /// Number of turns.
    pub turns: u32,
}

impl FlowPoint {
    /// Time of a frame, nanoseconds.
    pub fn frame_ns(&self) -> f64 {
        1e9 / self.received.pps()
    }
}

/// A cache of flows, by what a frame costs whose flow is in it and what one costs whose is not.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowCache {
    /// Flows that it holds.
    pub entries: Estimate,
    /// Time of a frame whose flow is in it, nanoseconds, where all are.
    pub hit_ns: f64,
    /// Time of one whose flow is not, where none is.
    pub miss_ns: f64,
    /// Which flow makes room for another.
    pub replacement: CacheReplacement,
}

crate::named_enum! {
    /// Which flow of a cache makes room for another: the better of two fits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum CacheReplacement {
        /// The one at the place that both hash to.
        DirectMapped = "direct-mapped",
        /// The one whose last frame is longest ago, among all.
        LeastRecentlyUsed = "least recently used",
    }
}

/// Loss at several loads.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LossCurve {
    /// The load that the shares are of.
    #[serde(rename = "full_pps")]
    pub full: PacketRate,
    /// What `full` is.
    pub full_of: FullLoad,
    /// From the highest load downwards.
    pub points: Vec<LossPoint>,
}

crate::named_enum! {
    /// What the load is that other loads are shares of.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FullLoad {
        /// What linerate sends and counts at most over a wire in the device's place.
        Ceiling = "linerate's own ceiling on a wire",
        /// The slower port's speed, or the highest load that was asked for.
        LineRate = "the line rate",
        /// What the sender offered without a rate.
        Offered = "what the sender offers without a rate",
    }
}

/// Loss at one load.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LossPoint {
    /// Share of the full load.
    pub load_ratio: Ratio,
    /// The load.
    #[serde(rename = "intended_pps")]
    pub intended: PacketRate,
    /// What the sender really sent; frames that it did not send are no loss.
    #[serde(rename = "offered_pps")]
    pub offered: Option<PacketRate>,
    /// What arrived.
    #[serde(rename = "received_pps")]
    pub received: Option<PacketRate>,
    /// Frames that were lost.
    pub lost: PacketCount,
    /// Frames that were lost, of those that were sent.
    pub loss_ratio: LossRatio,
    /// Where they were lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerEntry>,
}

/// Resets of a device under load.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reset {
    /// The load.
    #[serde(rename = "load_pps")]
    pub load: PacketRate,
    /// One for each reset.
    pub tests: Vec<ResetTime>,
}

/// How long a device forwarded nothing.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ResetTime {
    /// Frames that were lost in the whole trial.
    pub lost: PacketCount,
    /// Lost frames over the offered rate (RFC 6201 §4.1, frame loss method).
    #[serde(rename = "by_loss_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub by_loss: Duration,
    /// From the last frame before the reset to the first after it (RFC 6201 §4.1, time-stamp method): the longest time
    /// without a frame. `None` where the receiver does not tell.
    #[serde(
        rename = "by_stamps_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub by_stamps: Option<Duration>,
    /// Frames that were lost in that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_in_gap: Option<PacketCount>,
}

/// A long trial at a share of the throughput.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Soak {
    /// Share of the throughput with the largest loss goal.
    pub load_ratio: Ratio,
    /// The load.
    #[serde(rename = "intended_pps")]
    pub intended: PacketRate,
    /// What the sender really sent.
    #[serde(rename = "offered_pps")]
    pub offered: Option<PacketRate>,
    /// How long it lasted, warm-up not counted.
    #[serde(rename = "time_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub time: Duration,
    /// Frames that were sent.
    pub sent: PacketCount,
    /// Frames that were lost.
    pub lost: PacketCount,
    /// Frames that were lost, of those that were sent.
    pub loss_ratio: LossRatio,
    /// Half of all frames had at most this delay.
    pub p50_ns: Option<u64>,
    /// 99 % quantile.
    pub p99_ns: Option<u64>,
    /// Longest.
    pub max_ns: Option<u64>,
    /// Loss over time.
    pub intervals: Vec<SoakInterval>,
}

/// A part of a soak.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SoakInterval {
    /// Start within the trial.
    #[serde(rename = "start_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub start: Duration,
    /// End within the trial.
    #[serde(rename = "end_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub end: Duration,
    /// Frames that the receiver expected, by their numbers.
    pub frames: PacketCount,
    /// Those that did not come.
    pub lost: PacketCount,
    /// `lost / frames`.
    pub loss_ratio: LossRatio,
}

impl Soak {
    /// Intervals with loss.
    pub fn lossy(&self) -> impl Iterator<Item = &SoakInterval> {
        self.intervals.iter().filter(|one| one.lost.get() > 0)
    }

    /// The interval that lost most of its frames; `None` if none was lost.
    pub fn worst(&self) -> Option<&SoakInterval> {
        self.lossy()
            .max_by(|a, b| a.loss_ratio.get().total_cmp(&b.loss_ratio.get()))
    }
}
