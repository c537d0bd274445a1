//! Requests of an open loop in the run document: what became of them, and where their delay leaves its
//! level at low load.

use crate::histogram::Histogram;
use crate::spec::Arrival;
use crate::time::as_seconds;
use crate::units::{PacketCount, PacketRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What became of the requests of an open loop. `intended = unsent + sent`, `sent = answered + unanswered`.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Requests {
    /// When they were meant to be sent.
    pub arrival: Arrival,
    /// Intended requests per second.
    #[serde(rename = "intended_pps")]
    pub intended_rate: Option<PacketRate>,
    /// Requests that the schedule had.
    pub intended: PacketCount,
    /// Those that could not be sent before the end.
    pub unsent: PacketCount,
    /// Those given to the system.
    pub sent: PacketCount,
    /// Those answered within the timeout.
    pub answered: PacketCount,
    /// Those not answered within the timeout, or not at all.
    pub unanswered: PacketCount,
    /// Answers that came after the timeout; their requests are among the unanswered.
    pub late_answers: PacketCount,
    /// Answers that had come before.
    pub duplicated: PacketCount,
    /// First answers to requests sent before another one that was answered already.
    pub reordered: PacketCount,
    /// How long an answer was waited for from the time its request was sent.
    #[serde(rename = "answer_timeout_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub answer_timeout: Duration,
}

/// Where the delay of requests leaves its level at low load. Loads are intended requests per second.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Knee {
    /// The highest load measured below the knee.
    #[serde(rename = "below_pps")]
    pub below: Option<PacketRate>,
    /// The lowest load measured from which on the p99 response time stays above the limit; null if it was
    /// never reached.
    #[serde(rename = "above_pps")]
    pub above: Option<PacketRate>,
    /// The p99 response time at the lowest load.
    pub idle_p99_ns: f64,
    /// Upper end of its 95 % interval.
    pub idle_p99_high_ns: f64,
    /// The limit: twice that upper end. A load is above it when the lower end of its interval is.
    pub limit_p99_ns: f64,
    /// The highest load that was answered in full.
    #[serde(rename = "answered_in_full_pps")]
    pub answered_in_full: Option<PacketRate>,
    /// The lowest load from which on none was answered in full; null if every load was.
    #[serde(rename = "saturated_pps")]
    pub saturated: Option<PacketRate>,
    /// Whether it was the sender that could not offer that load.
    pub sender_limited: bool,
}

/// The value at quantile `q` of those in `histogram` and `unanswered` others that are all longer.
pub(crate) fn quantile_of_all(histogram: &Histogram, unanswered: u64, q: f64) -> Option<u64> {
    let answered = PacketCount::new(histogram.len()).as_f64();
    let all = answered + PacketCount::new(unanswered).as_f64();
    let rank = (q * all).ceil().max(1.0);
    (rank <= answered).then(|| histogram.quantile_nanos(rank / answered))
}
