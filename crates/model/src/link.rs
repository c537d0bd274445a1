//! The link of an emulated board.

use crate::time::as_seconds;
use crate::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What the link element between an emulated board and its host does to frames, alike in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EmulatedLink {
    /// L1 bit/s in one direction; absent: no frame waits for another.
    #[serde(rename = "rate_bps", default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// From the last bit on the line to the other end.
    #[serde(rename = "delay_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub delay: Duration,
    /// Longest queue before the line, in bytes of frames without FCS; what does not fit is dropped.
    #[serde(rename = "queue_bytes")]
    pub queue: ByteCount,
}

impl EmulatedLink {
    /// About what a small switch gives a port: 86 full frames, 10 ms at 100 Mbit/s.
    pub const USUAL_QUEUE: ByteCount = ByteCount::new(128 * 1024);
}

impl Default for EmulatedLink {
    /// A wire of unlimited rate.
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            queue: Self::USUAL_QUEUE,
        }
    }
}

impl fmt::Display for EmulatedLink {
    /// `10 Mbit/s (L1), 20ms one way, queue of 128 KiB`; what it does not change is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.rate.map(|rate| format!("{rate} (L1)"));
        let delay = (!self.delay.is_zero()).then(|| format!("{:?} one way", self.delay));
        let queue = self.rate.map(|_| format!("queue of {}", self.queue));
        let parts: Vec<_> = [rate, delay, queue].into_iter().flatten().collect();
        if parts.is_empty() {
            return f.write_str("no rate and no delay");
        }
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_what_it_changes() {
        let line = EmulatedLink {
            rate: Some(BitRate::from_bps(10_000_000)),
            ..EmulatedLink::default()
        };
        assert_eq!(line.to_string(), "10 Mbit/s (L1), queue of 128 KiB");
        let path = EmulatedLink {
            delay: Duration::from_millis(20),
            ..line
        };
        assert_eq!(
            path.to_string(),
            "10 Mbit/s (L1), 20ms one way, queue of 128 KiB"
        );
        let wire = EmulatedLink::default();
        assert_eq!(wire.to_string(), "no rate and no delay");
    }
}
