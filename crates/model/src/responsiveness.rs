//! Responsiveness under load: how many round trips a minute has while a link works.

use crate::spec::Direction;
use crate::units::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Responsiveness of one direction under working conditions (draft-ietf-ippm-responsiveness, without TLS
/// and HTTP). Times are trimmed means: the longest twentieth of the values is left out.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Responsiveness {
    /// Which way the load went, seen from the client.
    pub direction: Direction,
    /// Round trips per minute: the mean of those of probes on connections of their own and of those on
    /// connections that carry the load; null where one of the two is not known.
    pub responsiveness_rpm: Option<f64>,
    /// Time to open a connection under load.
    pub handshake_ns: Option<f64>,
    /// Time of a request and its answer on that new connection.
    pub request_ns: Option<f64>,
    /// Time of a mark through a connection that carries the load, and back.
    pub in_band_ns: Option<f64>,
    /// Connections opened under load.
    pub connections: u64,
    /// Attempts to open one, or to get an answer on it, that failed.
    pub failed_connections: u64,
    /// Marks that came back.
    pub marks: u64,
    /// TCP streams that made the load.
    pub streams: u16,
    /// What they carried while it was measured, L4 payload, receiver's side.
    #[serde(rename = "goodput_bps")]
    pub goodput: Option<BitRate>,
    /// Whether more streams carried no more (less than 5 %); if not, there was room for more load.
    pub saturated: bool,
}
