//! What can limit a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can limit a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Nothing saturated: what was asked for was carried.
    IntendedLoad,
    /// The link's or shaper's rate.
    Link,
    /// A policer that drops above a rate.
    Policer,
    /// Loss on the path that does not come from load.
    PathLoss,
    /// Packets larger than the path carries.
    PathMtu,
    /// Other traffic or congestion control.
    Congestion,
    /// The sender's CPU.
    SenderCpu,
    /// The sender's application.
    SenderApp,
    /// The sender's socket buffer.
    SenderBuffer,
    /// The receiver's advertised window.
    ReceiverWindow,
    /// The receiver's CPU.
    ReceiverCpu,
    /// The receiver's softnet backlog.
    ReceiverBacklog,
    /// The receiver's socket buffer.
    ReceiverSocket,
    /// The receiver's application.
    ReceiverApp,
    /// The measuring tool itself.
    Tool,
    /// Not known.
    Unknown,
}

impl Limit {
    /// The kebab-case name, as in the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IntendedLoad => "intended-load",
            Self::Link => "link",
            Self::Policer => "policer",
            Self::PathLoss => "path-loss",
            Self::PathMtu => "path-mtu",
            Self::Congestion => "congestion",
            Self::SenderCpu => "sender-cpu",
            Self::SenderApp => "sender-app",
            Self::SenderBuffer => "sender-buffer",
            Self::ReceiverWindow => "receiver-window",
            Self::ReceiverCpu => "receiver-cpu",
            Self::ReceiverBacklog => "receiver-backlog",
            Self::ReceiverSocket => "receiver-socket",
            Self::ReceiverApp => "receiver-app",
            Self::Tool => "tool",
            Self::Unknown => "unknown",
        }
    }
}
