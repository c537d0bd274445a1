//! The interface that a test would use at the server, asked for before the test.

use linerate_model::facts::Facts;
use linerate_model::spec::TestSpec;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A question for the interface that a test would use at the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DescriptionRequest {
    /// The test, whose datapath names the interface.
    pub spec: Box<TestSpec>,
    /// Whether the port of that interface is a host on its link: from then on, until the session's end, it answers for its
    /// own address, and asks for its next hop's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolve: bool,
    /// IP address of its next hop; `None`: the other port's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
}

/// An interface of the server's host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InterfaceDescription {
    /// Facts of its host, with those of the interface; never the host's name.
    pub facts: Facts,
    /// Its MAC address, as `52:54:00:12:34:56`.
    pub mac: String,
    /// MAC address of its next hop, where that is asked for and known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<String>,
}
