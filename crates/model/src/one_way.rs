//! One-way delay: what both ends noted of single messages, and what follows about their clocks.

use crate::delay::Delay;
use crate::histogram::Histogram;
use crate::units::float;
use crate::varint::{put, take};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which clock an end's times are of.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ClockIdentity {
    /// Equal at two ends only if both read the same clock: boot id of the kernel and time namespace of the
    /// process, since `CLOCK_MONOTONIC` is one for both.
    pub domain: String,
    /// Step of the clock, as the system gives it (`clock_getres`).
    pub resolution_ns: u64,
}

/// Times of one stream's messages on their way, at the end that received them. All differences are between
/// the clocks of two hosts and so hold the clocks' offset.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Transits {
    /// When the first message left, on the peer's clock modulo 2^48 nanoseconds.
    pub first_sent_ns: u64,
    /// Of the first message: this end's clock at its arrival less the peer's at its departure, modulo 2^48.
    pub first_ns: u64,
    /// Smallest such difference, less that of the first message.
    pub least_ns: i64,
    /// The message with the smallest difference of each stretch of time, at most 256.
    pub floor: Passages,
    /// Every n-th message, at most 2048 of them.
    pub sample: Passages,
}

/// Numbers in pairs: what a message is known by (when it was sent, on the far clock, or its number), and how
/// long it took, less what the first took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Passages(Vec<Passage>);

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passage {
    /// Nanoseconds since the first message was sent, or the message's number.
    pub key: i64,
    /// Nanoseconds.
    pub took_ns: i64,
}

impl Passages {
    /// Most that are read.
    pub const MAX_PASSAGES: usize = 4096;

    /// Each, in the order in which it was noted.
    pub fn iter(&self) -> impl Iterator<Item = Passage> + '_ {
        self.0.iter().copied()
    }

    /// How many.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Differences from pair to pair, zigzag and seven bits to a byte, in base64.
    fn to_base64(&self) -> String {
        let mut bytes = Vec::with_capacity(self.0.len() * 6);
        let mut last = Passage::default();
        for passage in &self.0 {
            put(&mut bytes, passage.key.wrapping_sub(last.key));
            put(&mut bytes, passage.took_ns.wrapping_sub(last.took_ns));
            last = *passage;
        }
        STANDARD.encode(bytes)
    }

    fn from_base64(text: &str) -> Result<Self, BadPassages> {
        let bytes = STANDARD.decode(text).map_err(|_| BadPassages)?;
        let mut rest = bytes.as_slice();
        let mut passages = Vec::new();
        let mut last = Passage::default();
        while !rest.is_empty() {
            if passages.len() == Self::MAX_PASSAGES {
                return Err(BadPassages);
            }
            last.key = last.key.wrapping_add(take(&mut rest).ok_or(BadPassages)?);
            let took = take(&mut rest).ok_or(BadPassages)?;
            last.took_ns = last.took_ns.wrapping_add(took);
            passages.push(last);
        }
        Ok(Self(passages))
    }
}

impl FromIterator<Passage> for Passages {
    fn from_iter<I: IntoIterator<Item = Passage>>(passages: I) -> Self {
        Self(passages.into_iter().collect())
    }
}

/// Not numbers in pairs, or too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a list of at most {} pairs of numbers in base64",
    Passages::MAX_PASSAGES
)]
struct BadPassages;

crate::in_base64::in_base64!(
    Passages,
    "Pairs of (time or number, nanoseconds): differences from pair to pair, zigzag, LEB128, base64."
);

/// A distribution of nanoseconds of either sign.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct SignedHistogram {
    /// Values from zero on.
    pub above: Histogram,
    /// Values below zero, their distance from it.
    pub below: Histogram,
}

impl SignedHistogram {
    /// Counts one value.
    pub fn record(&mut self, nanos: i64) {
        if nanos < 0 {
            self.below.record(nanos.unsigned_abs());
        } else {
            self.above.record(nanos.unsigned_abs());
        }
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.above.merge(&other.above);
        self.below.merge(&other.below);
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.above.len().saturating_add(self.below.len())
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at quantile `q` (0 to 1), in nanoseconds to the histogram's precision.
    pub fn quantile_nanos(&self, q: f64) -> i64 {
        let (below, all) = (float(self.below.len()), float(self.len()));
        let rank = q.clamp(0.0, 1.0) * all;
        let signed = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
        if rank < below || self.above.is_empty() {
            let from_top = ((below - rank) / below.max(1.0)).clamp(0.0, 1.0);
            return -signed(self.below.quantile_nanos(from_top));
        }
        let share = (rank - below) / float(self.above.len()).max(1.0);
        signed(self.above.quantile_nanos(share.clamp(0.0, 1.0)))
    }
}

crate::named_enum! {
    /// How the clocks of the two ends of a trial are known to stand to each other.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ClockMethod {
        /// Both ends read one clock.
        CommonClock = "both ends read one clock",
        /// Bounds from messages in both directions: every line of offset over time that leaves no message a negative
        /// delay.
        ConvexBounds = "two clocks, compared by messages in both directions",
    }
}

/// The receiver's clock against the sender's.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ClockRelation {
    /// How it is known.
    pub method: ClockMethod,
    /// Receiver's clock less the sender's, at `at_ns` of the sender's.
    pub offset_ns: i64,
    /// The sender's clock, in the middle of the messages.
    pub at_ns: u64,
    /// By how much faster the receiver's clock goes, in parts of a million.
    pub skew_ppm: f64,
    /// The skew lies so far on either side at most.
    pub skew_uncertainty_ppm: f64,
    /// The offset lies so far on either side at most, at any time of the messages; so do one-way delays, in one
    /// direction shorter by what they are longer in the other.
    pub uncertainty_ns: u64,
    /// The part of it that more messages would not remove: half of the smallest round trip, since nothing tells
    /// how it divides into two ways. Absent with a common clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asymmetry_ns: Option<u64>,
    /// Messages that bounded it, both directions.
    pub messages: u64,
}

/// One-way delays of a trial.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct OneWay {
    /// From the trial's sender (request/response: who asks) to its receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<Delay>,
    /// From the trial's receiver to its sender (request/response only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward: Option<Delay>,
    /// The clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRelation>,
    /// Why something is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl OneWay {
    /// How far its delays lie on either side at most, where two clocks were compared, in nanoseconds; `None` where both ends
    /// read one, or where nothing was compared.
    pub fn clock_error_ns(&self) -> Option<u64> {
        let clock = self.clock.as_ref()?;
        match clock.method {
            ClockMethod::CommonClock => None,
            ClockMethod::ConvexBounds => Some(clock.uncertainty_ns),
        }
    }
}

/// Inter-packet delay variation (RFC 3393): one-way delay of a datagram less that of the one sent just before it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Ipdv {
    /// Pairs of datagrams with neighbouring numbers that arrived one after the other.
    pub count: u64,
    /// Smallest.
    pub min_ns: i64,
    /// 1 % quantile.
    pub p01_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// 99 % quantile.
    pub p99_ns: i64,
    /// Largest.
    pub max_ns: i64,
    /// The whole distribution.
    pub histogram: SignedHistogram,
}

impl Ipdv {
    /// Summarises a histogram; `None` when it is empty.
    pub fn from_histogram(histogram: SignedHistogram) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self {
            count: histogram.len(),
            min_ns: histogram.quantile_nanos(0.0),
            p01_ns: histogram.quantile_nanos(0.01),
            p50_ns: histogram.quantile_nanos(0.5),
            p99_ns: histogram.quantile_nanos(0.99),
            max_ns: histogram.quantile_nanos(1.0),
            histogram,
        })
    }
}

crate::named_enum! {
    /// A part of a message's way there and back, in the order in which it is passed.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Stage {
        /// The asking program, from the time the round trip counts from to its sending call.
        NearApplication = "near-application",
        /// From the sending call to the queueing discipline: socket, transport, IP.
        NearSendStack = "near-send-stack",
        /// From the queueing discipline to the driver.
        NearQueue = "near-queue",
        /// Both ways between the drivers: devices, interrupts, wire.
        Wire = "wire",
        /// From the far driver's stamp of the arrival to the far program: stack, wake-up, reading call.
        FarReceiveStack = "far-receive-stack",
        /// The far program, from the arrival to its sending call.
        FarApplication = "far-application",
        /// As at the near end.
        FarSendStack = "far-send-stack",
        /// As at the near end.
        FarQueue = "far-queue",
        /// From the stamp of the answer's arrival to the program that asked: stack, wake-up, reading call.
        NearReceiveStack = "near-receive-stack",
    }
}

/// What one end noted of its own parts of messages' ways, by the kernel's stamps.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct StageReport {
    /// Messages with all stamps.
    pub complete: u64,
    /// Messages that lacked a stamp, by which one; `step` where wall time was set meanwhile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub incomplete: BTreeMap<String, u64>,
    /// This end's parts of every n-th message, by its number; at most 2048 messages.
    pub parts: BTreeMap<Stage, Passages>,
    /// Of the same messages. Asking end: from the driver's stamp of its departure to the stamp of the answer's
    /// arrival. Answering end: from the stamp of its arrival to the driver's stamp of the answer.
    pub between: Passages,
    /// The kernel's stamps, which are in wall time, were set against the monotonic clock with this error at most.
    pub conversion_ns: u64,
}

/// Where the time of round trips went.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Decomposition {
    /// Each part, in order; of one message they sum up to its round trip.
    pub parts: Vec<StagePart>,
    /// Messages that the parts are of: in both ends' samples, with all stamps of both.
    pub messages: u64,
    /// Share of the mean round trip that the means of the parts sum up to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_ratio: Option<f64>,
    /// Messages of either end that lacked a stamp, by end and stamp.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub incomplete: BTreeMap<String, u64>,
    /// The larger end's error in setting the kernel's stamps against its program's times.
    pub conversion_ns: u64,
    /// Median round trip with the stamps less without them, measured just before: what taking stamps costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_ns: Option<i64>,
    /// What is not known, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// One part.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StagePart {
    /// Which.
    pub stage: Stage,
    /// How long it took.
    pub delay: Delay,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_survive_the_document_at_the_ends_of_their_range() {
        let pairs = [(0, 0), (1, -1), (i64::MAX, i64::MIN), (i64::MIN, i64::MAX)];
        let passages: Passages = pairs
            .iter()
            .map(|&(key, took_ns)| Passage { key, took_ns })
            .collect();
        let text = serde_json::to_string(&passages).unwrap();
        assert_eq!(serde_json::from_str::<Passages>(&text).unwrap(), passages);
    }

    #[test]
    fn cut_overlong_and_too_many_passages_are_refused() {
        for bytes in [
            vec![0],
            vec![0x80; 12],
            vec![0; 2 * Passages::MAX_PASSAGES + 2],
        ] {
            let text = format!("\"{}\"", STANDARD.encode(bytes));
            assert!(serde_json::from_str::<Passages>(&text).is_err());
        }
        assert!(serde_json::from_str::<Passages>("\"§\"").is_err());
    }

    #[test]
    fn quantiles_of_both_signs_are_in_order() {
        let mut histogram = SignedHistogram::default();
        for nanos in [-400, -300, -200, -100, 0, 100, 200, 300, 400, 500] {
            histogram.record(nanos);
        }
        let at = |q| histogram.quantile_nanos(q);
        assert_eq!(at(0.0), -400);
        assert_eq!(at(1.0), 500);
        assert_eq!(at(0.5), 0);
        let all: Vec<_> = (0..=20).map(|n| at(f64::from(n) / 20.0)).collect();
        assert!(all.is_sorted(), "{all:?}");
    }
}
