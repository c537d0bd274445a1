//! What a link does to the frames of one direction.

use super::{PacketFilter, PacketList};
use linerate_model::link::EmulatedLink;
use linerate_model::{BitRate, ByteCount, MonoInstant, Ratio};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Impairments of one direction of a link. The default is a perfect wire of unlimited rate.
///
/// A frame passes, in this order: MTU cut, outage, drop list, loss ratio, reordering, queue, rate, delay. Frames
/// dropped by a list or the loss ratio take no space in the queue and no time on the line. Multicast membership
/// reports, which the hosts' kernels send by themselves, are discarded and not counted: at 1 Mbit/s each would take a
/// millisecond of the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// L1 bits per second: `overhead_bytes` and the frame without FCS. `None` is unlimited.
    #[serde(rename = "rate_bps")]
    pub rate: Option<BitRate>,
    /// Queue limit before the line, in bytes of frames without FCS, the frame in transmission included; a frame that
    /// does not fit is dropped (tail drop). Without a rate no queue forms.
    pub queue_bytes: ByteCount,
    /// Whether the rate polices instead of shaping: a frame that would have to wait passes at once, and
    /// one for which the queue has no room is dropped. The queue is then the depth of a token bucket.
    pub police: bool,
    /// Propagation delay: from the last bit on the line to the peer.
    #[serde(rename = "delay_s", with = "linerate_model::time::as_seconds")]
    pub delay: Duration,
    /// Each frame's delay is uniform in `delay - jitter ..= delay + jitter`. No reordering: a frame that would overtake
    /// another leaves just behind it. At most `delay`.
    #[serde(rename = "jitter_s", with = "linerate_model::time::as_seconds")]
    pub jitter: Duration,
    /// Maximum IP packet that passes; longer ones are dropped silently (path-MTU black hole). `None` carries what the
    /// interfaces do.
    pub mtu_cut_bytes: Option<u32>,
    /// Periodic outages in which every frame is lost; `None`: none.
    pub outage: Option<Outage>,
    /// Random loss, as a share of all frames.
    pub loss: Ratio,
    /// Data packets dropped, by number.
    pub drop: PacketList,
    /// Share of data packets duplicated. The copy needs rate and queue like any frame; without room for it, it is not
    /// made.
    pub duplicate: Ratio,
    /// Data packets duplicated, by number.
    pub duplicate_list: PacketList,
    /// Share of data packets delayed by `displacement`.
    pub reorder: Ratio,
    /// Data packets delayed by `displacement`, by number.
    pub reorder_list: PacketList,
    /// How many later data packets overtake a reordered one: RFC 4737's extent.
    pub displacement: u32,
    /// Maximum wait for packets to overtake; then the packet goes on, reordered or not.
    #[serde(rename = "reorder_wait_s", with = "linerate_model::time::as_seconds")]
    pub reorder_wait: Duration,
    /// L1 overhead per frame beyond its length without FCS, bytes: FCS 4, preamble 8, gap 12.
    pub overhead_bytes: u32,
    /// Which packets count as data.
    pub filter: PacketFilter,
}

/// Periodic outage of a link, by the host's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Period: from the beginning of one outage to that of the next.
    #[serde(rename = "every_s", with = "linerate_model::time::as_seconds")]
    pub every: Duration,
    /// Duration of each outage; shorter than `every`.
    #[serde(rename = "length_s", with = "linerate_model::time::as_seconds")]
    pub length: Duration,
}

impl Outage {
    /// Whether there is an outage at `now`.
    pub(super) fn is_at(self, now: MonoInstant) -> bool {
        let into = u128::from(now.as_nanos()).checked_rem(self.every.as_nanos());
        into.is_some_and(|into| into < self.length.as_nanos())
    }
}

impl LinkConfig {
    /// A line of `rate` (L1) with a queue of `queue_bytes` and no impairment.
    pub fn with_rate(rate: BitRate, queue_bytes: ByteCount) -> Self {
        Self {
            rate: Some(rate),
            queue_bytes,
            ..Self::default()
        }
    }

    /// Checks that a link of this `mtu` supports the configuration.
    pub fn check(&self, mtu: u32) -> Result<(), ConfigError> {
        let frame = u64::from(mtu) + ETHERNET_HEADER;
        if self.rate.is_some_and(|rate| !RATES.contains(&rate.bps())) {
            return Err(ConfigError::new("rate", "must be from 1 bit/s to 1 Tbit/s"));
        }
        if self.overhead_bytes > 1024 {
            return Err(ConfigError::new("overhead_bytes", "must not exceed 1024 B"));
        }
        if self.rate.is_some() && self.queue_bytes.get() < frame {
            return Err(ConfigError {
                key: "queue_bytes",
                want: format!("must hold a frame of {frame} B, so be at least that"),
            });
        }
        if self.jitter > self.delay {
            return Err(ConfigError::new("jitter", "must not exceed delay"));
        }
        if self.delay > MAX_DELAY || self.reorder_wait > MAX_DELAY {
            return Err(ConfigError::new(
                "delay and reorder_wait",
                "must not exceed 60 s",
            ));
        }
        if self
            .outage
            .is_some_and(|outage| outage.length >= outage.every)
        {
            return Err(ConfigError::new(
                "outage",
                "must be shorter than the time from one to the next",
            ));
        }
        if self.displacement == 0 {
            return Err(ConfigError::new("displacement", "must be at least 1"));
        }
        Ok(())
    }
}

impl From<EmulatedLink> for LinkConfig {
    fn from(link: EmulatedLink) -> Self {
        Self {
            rate: link.rate,
            queue_bytes: link.queue,
            delay: link.delay,
            ..Self::default()
        }
    }
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            queue_bytes: EmulatedLink::USUAL_QUEUE,
            police: false,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            mtu_cut_bytes: None,
            outage: None,
            loss: Ratio::ZERO,
            drop: PacketList::none(),
            duplicate: Ratio::ZERO,
            duplicate_list: PacketList::none(),
            reorder: Ratio::ZERO,
            reorder_list: PacketList::none(),
            displacement: 1,
            reorder_wait: Duration::from_millis(100),
            overhead_bytes: 24,
            filter: PacketFilter::UDP_DATA,
        }
    }
}

/// An invalid link configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("link {key} {want}")]
pub struct ConfigError {
    key: &'static str,
    want: String,
}

impl ConfigError {
    pub(crate) fn new(key: &'static str, want: &str) -> Self {
        Self {
            key,
            want: want.to_owned(),
        }
    }
}

/// Destination, source and type.
pub(crate) const ETHERNET_HEADER: u64 = 14;

/// Valid rates, bit/s: with frames of at most 2^20 bits, sums of bits times nanoseconds and a rate fit into 64 bits.
const RATES: RangeInclusive<u64> = 1..=1_000_000_000_000;

/// Maximum delay: longer than any path on Earth; keeps the element's schedule far from the clock's end.
const MAX_DELAY: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_link() {
        LinkConfig::default().check(1500).unwrap();
    }

    #[test]
    fn a_queue_that_no_frame_fits_is_refused() {
        let rate = BitRate::from_bps(1_000_000);
        let config = LinkConfig::with_rate(rate, ByteCount::new(1513));
        let error = config.check(1500).unwrap_err();
        assert_eq!(
            error.to_string(),
            "link queue_bytes must hold a frame of 1514 B, so be at least that"
        );
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        let zero_rate = LinkConfig {
            rate: Some(BitRate::from_bps(0)),
            ..LinkConfig::default()
        };
        let wild = LinkConfig {
            jitter: Duration::from_millis(1),
            ..LinkConfig::default()
        };
        let still = LinkConfig {
            displacement: 0,
            ..LinkConfig::default()
        };
        let down = LinkConfig {
            outage: Some(Outage {
                every: Duration::from_secs(1),
                length: Duration::from_secs(1),
            }),
            ..LinkConfig::default()
        };
        for (config, key) in [
            (down, "outage"),
            (zero_rate, "rate"),
            (wild, "jitter"),
            (still, "displacement"),
        ] {
            let error = config.check(1500).unwrap_err().to_string();
            assert!(error.contains(key), "{error}");
        }
    }
}
