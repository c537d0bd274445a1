//! How the streams of a trial shared its rate.

use crate::units::{BitRate, PacketCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the streams of a trial shared what was received.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StreamShares {
    /// Traffic threads of each side that carried the streams.
    pub threads: u16,
    /// Streams of which nothing was received.
    pub silent: u16,
    /// Streams that lost datagrams; absent for byte streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_loss: Option<u16>,
    /// Jain's fairness index of the streams' rates: 1 if all are equal, 1/n if one of n has all; absent if nothing was
    /// received.
    #[serde(
        rename = "jain_index",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub fairness: Option<f64>,
    /// Quantiles of the streams' received rates.
    pub rates: RateQuantiles,
    /// The streams with the lowest rates, the lowest first: at most ten.
    pub slowest: Vec<StreamShare>,
}

/// Quantiles over streams of their received rates (L4 payload).
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RateQuantiles {
    /// The lowest.
    #[serde(rename = "min_bps")]
    pub min: BitRate,
    /// 1 % of the streams have at most this.
    #[serde(rename = "p1_bps")]
    pub p1: BitRate,
    /// 10 % of the streams have at most this.
    #[serde(rename = "p10_bps")]
    pub p10: BitRate,
    /// The median.
    #[serde(rename = "p50_bps")]
    pub p50: BitRate,
    /// 90 % of the streams have at most this.
    #[serde(rename = "p90_bps")]
    pub p90: BitRate,
    /// 99 % of the streams have at most this.
    #[serde(rename = "p99_bps")]
    pub p99: BitRate,
    /// The highest.
    #[serde(rename = "max_bps")]
    pub max: BitRate,
}

/// What one stream had of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StreamShare {
    /// Index of the stream, from 0.
    pub stream: u16,
    /// Received rate (L4 payload).
    #[serde(rename = "received_bps")]
    pub received_rate: BitRate,
    /// Datagrams sent and not received; absent for byte streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<PacketCount>,
}
