//! The transport of the test's own packets.

use crate::error::HeaderError;
use crate::{PROTOCOL_TCP, PROTOCOL_UDP};
use std::fmt;
use std::str::FromStr;

/// Transport protocol of the test's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// Data segments in the middle of a connection that nobody opened.
    Tcp,
    /// Datagrams.
    #[default]
    Udp,
}

impl Transport {
    /// Its number in IP.
    pub const fn protocol(self) -> u8 {
        match self {
            Self::Tcp => PROTOCOL_TCP,
            Self::Udp => PROTOCOL_UDP,
        }
    }
}

impl FromStr for Transport {
    type Err = HeaderError;

    fn from_str(text: &str) -> Result<Self, HeaderError> {
        match text {
            "tcp" => Ok(Self::Tcp),
            "udp" => Ok(Self::Udp),
            _ => Err(HeaderError(format!("{text:?} is not udp or tcp"))),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}
