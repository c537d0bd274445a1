//! Why an end refuses a test, or ends it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why an end will not, or no longer, take part. On the wire by its kebab-case name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalCode {
    /// Serves as many clients as it may.
    Busy,
    /// This client may not use it.
    Denied,
    /// Its own fault or its host's: a socket or thread could not be had.
    Internal,
    /// Its user interrupted it, or it is shutting down.
    Interrupted,
    /// The specification is out of bounds.
    Invalid,
    /// More than this server allows: time, rate, streams.
    Limit,
    /// The other end broke the protocol.
    Protocol,
    /// A step took too long.
    Timeout,
    /// Does not know the workload, datapath or option.
    Unsupported,
}

impl RefusalCode {
    /// Every code.
    pub const ALL: [Self; 9] = [
        Self::Busy,
        Self::Denied,
        Self::Internal,
        Self::Interrupted,
        Self::Invalid,
        Self::Limit,
        Self::Protocol,
        Self::Timeout,
        Self::Unsupported,
    ];
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "busy",
            Self::Denied => "denied",
            Self::Internal => "internal",
            Self::Interrupted => "interrupted",
            Self::Invalid => "invalid",
            Self::Limit => "limit",
            Self::Protocol => "protocol",
            Self::Timeout => "timeout",
            Self::Unsupported => "unsupported",
        })
    }
}
