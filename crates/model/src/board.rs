//! The board document, `linerate/board/1`: emulated boards, how they are, and how they are reached.

use crate::link::EmulatedLink;
use crate::run::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::time::Duration;

/// The schema id of this version.
pub const SCHEMA: &str = "linerate/board/1";

/// What `linerate board list` prints as JSON: every board that was started and not taken down. `linerate board up` prints
/// the one that it started.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BoardDocument {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What made it.
    pub tool: Tool,
    /// The boards, by name.
    pub boards: Vec<Board>,
}

/// One emulated board.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Board {
    /// Its name: it is reached as `board://NAME`.
    pub name: String,
    /// How it is.
    #[serde(flatten)]
    pub condition: BoardCondition,
    /// What is emulated, and its link; absent where the start failed before that was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<BoardLink>,
    /// How it was started, where this command did that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<BoardStart>,
}

/// How a board is.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum BoardCondition {
    /// It is not up any more.
    Gone {
        /// Why.
        why: String,
    },
    /// Its agent answers.
    Ready,
    /// It is up, and its agent does not answer yet.
    Starting,
}

/// What is emulated, and the link between the board and its host.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BoardLink {
    /// What is emulated, and by what: `sifive_u on QEMU 7.2.22`.
    pub emulated: String,
    /// The board's address.
    pub address: Ipv4Addr,
    /// Its host's address on the same link.
    pub host_address: Ipv4Addr,
    /// The board's serial number, which the MAC address follows from.
    pub serial: u32,
    /// The board's MAC address.
    pub mac: String,
    /// What stands between the two; absent: nothing, the link has no rate and no delay of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<EmulatedLink>,
}

/// How a board was started.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BoardStart {
    /// Where its kernel and packages came from.
    pub base: BoardBase,
    /// Time from the command to the greeting of the board's agent, this host's clock.
    #[serde(rename = "took_s", with = "crate::time::as_seconds")]
    #[schemars(with = "f64")]
    pub took: Duration,
}

/// Where a board's kernel and packages came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoardBase {
    /// From the cache of an earlier start: without the network.
    Cache,
    /// From Debian's archive.
    Network,
}
