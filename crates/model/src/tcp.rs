//! What is derived of a TCP transfer: where its time went, what its windows allow, RFC 6349's metrics.
//!
//! All of it is of the sending side and of all streams together, over the counted time.
//!
//! # References
//! - Framework for TCP throughput testing: RFC 6349
//! - Chronographs: Linux commit 05b055e8; duplicate SACKs: RFC 2883; ECN: RFC 3168

use crate::time::as_seconds;
use crate::units::{BitRate, ByteCount, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

crate::named_enum! {
    /// What a TCP sender waits for at one moment; exactly one of these.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum TcpWait {
        /// The application: TCP has nothing to send.
        Application = "application",
        /// The window that the receiver advertises.
        ReceiverWindow = "receiver's window",
        /// Room in the send buffer: everything in it is in flight.
        SendBuffer = "send buffer",
        /// The congestion window, as it still opens.
        SlowStart = "slow start",
        /// The congestion window, as a loss has left it.
        Loss = "congestion window after loss",
        /// The congestion window, as an ECN mark has left it.
        Ecn = "congestion window after ECN marks",
        /// The congestion control's pacing rate.
        Pacing = "pacing",
        /// The congestion window that the congestion control chose without loss or mark.
        CongestionControl = "congestion-control limited",
        /// The sending system: every window has room, but CPU, queue or device take no more.
        System = "sending system",
    }
}

/// Whether a congestion control, by its name in the kernel, paces by a model of the path (BBR), so that a loss changes
/// little. What is not known to do so answers to loss and marks with its window (RFC 5681, RFC 9438).
pub fn models_the_path(congestion_control: Option<&str>) -> bool {
    congestion_control.is_some_and(|name| name.starts_with("bbr"))
}

/// Shares of a stretch of time; they add up to one.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpShares {
    /// Nothing to send: wall time minus the busy chronograph.
    pub application_ratio: Ratio,
    /// Waiting for the receiver's window: its chronograph, and the rest of the busy time while that
    /// window was smaller than the congestion window and at least half in flight.
    pub receiver_window_ratio: Ratio,
    /// Waiting for room in the send buffer: its chronograph, and the rest of the busy time while all
    /// of a full buffer was in flight and the congestion window had room.
    pub send_buffer_ratio: Ratio,
    /// Rest of the busy time, while the window was below the slow start threshold and grew.
    pub slow_start_ratio: Ratio,
    /// Rest of the busy time, during and after retransmissions.
    pub loss_ratio: Ratio,
    /// Rest of the busy time, after congestion marks.
    pub ecn_ratio: Ratio,
    /// Rest of the busy time, while the rate was the pacing rate and the window had room.
    pub pacing_ratio: Ratio,
    /// Rest of the busy time, with a full window that nothing above explains.
    pub congestion_control_ratio: Ratio,
    /// Rest of the busy time, with less than half of the congestion window in flight.
    pub system_ratio: Ratio,
}

impl TcpShares {
    /// The share of one wait.
    pub const fn of(&self, wait: TcpWait) -> Ratio {
        match wait {
            TcpWait::Application => self.application_ratio,
            TcpWait::ReceiverWindow => self.receiver_window_ratio,
            TcpWait::SendBuffer => self.send_buffer_ratio,
            TcpWait::SlowStart => self.slow_start_ratio,
            TcpWait::Loss => self.loss_ratio,
            TcpWait::Ecn => self.ecn_ratio,
            TcpWait::Pacing => self.pacing_ratio,
            TcpWait::CongestionControl => self.congestion_control_ratio,
            TcpWait::System => self.system_ratio,
        }
    }

    /// Sets the share of one wait.
    pub const fn set(&mut self, wait: TcpWait, share: Ratio) {
        *match wait {
            TcpWait::Application => &mut self.application_ratio,
            TcpWait::ReceiverWindow => &mut self.receiver_window_ratio,
            TcpWait::SendBuffer => &mut self.send_buffer_ratio,
            TcpWait::SlowStart => &mut self.slow_start_ratio,
            TcpWait::Loss => &mut self.loss_ratio,
            TcpWait::Ecn => &mut self.ecn_ratio,
            TcpWait::Pacing => &mut self.pacing_ratio,
            TcpWait::CongestionControl => &mut self.congestion_control_ratio,
            TcpWait::System => &mut self.system_ratio,
        } = share;
    }

    /// The wait with the largest share; of equal ones the first.
    pub fn largest(&self) -> TcpWait {
        let share = |wait: TcpWait| self.of(wait).get();
        TcpWait::ALL
            .into_iter()
            .rev()
            .max_by(|a, b| share(*a).total_cmp(&share(*b)))
            .unwrap_or(TcpWait::Application)
    }

    /// Share of the time that the congestion window held TCP back, whatever the cause.
    pub fn congestion_window(&self) -> f64 {
        [
            TcpWait::SlowStart,
            TcpWait::Loss,
            TcpWait::Ecn,
            TcpWait::CongestionControl,
        ]
        .into_iter()
        .map(|wait| self.of(wait).get())
        .sum()
    }
}

/// The shares of a part of a trial.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TcpStretch {
    /// Start, from the start of the stream on the sender's clock.
    #[serde(rename = "start_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub start: Duration,
    /// End, on the same scale.
    #[serde(rename = "end_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub end: Duration,
    /// Where the time went.
    #[serde(flatten)]
    pub shares: TcpShares,
}

/// What each window allows: window / smoothed RTT, streams added up. L4 payload, sender.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpWindows {
    /// Largest window that the receiver advertised, streams added up.
    #[serde(default)]
    pub receiver_window_bytes: Option<ByteCount>,
    /// Send buffers (`SO_SNDBUF` as the kernel counts, its own overhead included), added up.
    #[serde(default)]
    pub send_buffer_bytes: Option<ByteCount>,
    /// Mean congestion window / smoothed RTT.
    #[serde(rename = "congestion_window_bps", default)]
    pub congestion_window_rate: Option<BitRate>,
    /// Receiver's window / smoothed RTT.
    #[serde(rename = "receiver_window_bps", default)]
    pub receiver_window_rate: Option<BitRate>,
    /// Send buffer / smoothed RTT; an upper bound, since part of it is the kernel's overhead.
    #[serde(rename = "send_buffer_bps", default)]
    pub send_buffer_rate: Option<BitRate>,
}

crate::named_enum! {
    /// Where the bandwidth of the bottleneck is taken from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum BottleneckFrom {
        /// The speed of the slower of the two interfaces, less headers and gaps.
        LinkSpeed = "speed of the slower interface",
        /// The highest delivery rate that TCP estimated while its application did not limit it.
        DeliveryRate = "highest delivery rate seen",
    }
}

/// The metrics of RFC 6349.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Rfc6349 {
    /// TCP efficiency (§4.1): (bytes sent − bytes retransmitted) / bytes sent.
    #[serde(default)]
    pub efficiency_ratio: Option<Ratio>,
    /// Buffer delay (§4.2): (mean RTT during the transfer − smallest RTT) / smallest RTT; may exceed 1.
    #[serde(default)]
    pub buffer_delay_ratio: Option<f64>,
    /// TCP transfer time ratio (§4.1): actual transfer time / ideal transfer time at the bottleneck's bandwidth.
    #[serde(default)]
    pub transfer_time_ratio: Option<f64>,
    /// Bottleneck bandwidth as L4 payload.
    #[serde(rename = "bottleneck_bps", default)]
    pub bottleneck: Option<BitRate>,
    /// Where it is taken from.
    #[serde(default)]
    pub bottleneck_from: Option<BottleneckFrom>,
    /// Bandwidth-delay product: bottleneck bandwidth × smallest RTT.
    #[serde(default)]
    pub bdp_bytes: Option<ByteCount>,
}

/// Retransmissions, and how many of them were not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpRetransmissions {
    /// Segments sent with data, retransmissions included.
    #[serde(default)]
    pub sent: Option<u64>,
    /// Segments retransmitted.
    #[serde(default)]
    pub segments: Option<u64>,
    /// Segments that the peer got twice (DSACK, RFC 2883), so that one copy was not needed.
    #[serde(default)]
    pub needless: Option<u64>,
    /// Times that acknowledgements showed reordering.
    #[serde(default)]
    pub reordering_seen: Option<u64>,
    /// Retransmission timeouts (Linux 6.7).
    #[serde(default)]
    pub timeouts: Option<u64>,
    /// Timeouts that turned out to be needless (F-RTO); of the sender's whole host.
    #[serde(default)]
    pub needless_timeouts: Option<u64>,
    /// Time spent in timeouts, all streams added up (Linux 6.7).
    #[serde(default)]
    pub timeout_ns: Option<u64>,
    /// Segments marked by ECN.
    #[serde(default)]
    pub marked: Option<u64>,
}

impl TcpRetransmissions {
    /// Share of the retransmissions that were not needed; `None` without any.
    pub fn needless_share(&self) -> Option<Ratio> {
        let segments = self.segments.filter(|n| *n > 0)?;
        Some(Ratio::from_parts(self.needless?.min(segments), segments))
    }

    /// Share of all segments with data that were sent needlessly; `None` without any.
    pub fn needless_of_sent(&self) -> Option<Ratio> {
        let sent = self.sent.filter(|n| *n > 0)?;
        Some(Ratio::from_parts(self.needless?.min(self.segments?), sent))
    }
}

/// Delay that the transfer itself adds to the path.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TcpQueueing {
    /// Smallest RTT: the path without the queue.
    pub idle_ns: u64,
    /// Mean smoothed RTT under load.
    pub loaded_ns: u64,
    /// Loaded / idle.
    pub factor: f64,
    /// Whether that is bufferbloat: at least [`BLOAT_FACTOR`] times and [`BLOAT_RISE`] longer.
    pub bloated: bool,
}

/// A queue that at least doubles the RTT…
pub const BLOAT_FACTOR: f64 = 2.0;
/// …and adds this much. RFC 8289 takes a standing queue of 5 ms for tolerable; 30 ms is where a
/// video call's 150 ms one-way budget (ITU-T G.114) loses a fifth to one queue.
pub const BLOAT_RISE: Duration = Duration::from_millis(30);

impl TcpQueueing {
    /// From the two round-trip times; `None` if there is no idle one.
    pub fn from_idle_ns(idle_ns: u64, loaded_ns: u64) -> Option<Self> {
        let (idle, loaded) = (
            Duration::from_nanos(idle_ns),
            Duration::from_nanos(loaded_ns),
        );
        let factor = loaded.as_secs_f64() / Some(idle).filter(|t| !t.is_zero())?.as_secs_f64();
        Some(Self {
            idle_ns,
            loaded_ns,
            factor,
            bloated: factor >= BLOAT_FACTOR && loaded.saturating_sub(idle) >= BLOAT_RISE,
        })
    }

    /// How much longer the RTT is under load.
    pub const fn rise(&self) -> Duration {
        Duration::from_nanos(self.loaded_ns.saturating_sub(self.idle_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_has_its_own_share() {
        let mut shares = TcpShares::default();
        for (index, wait) in TcpWait::ALL.into_iter().enumerate() {
            shares.set(wait, Ratio::from_parts(index as u64, 36));
        }
        let sum: f64 = TcpWait::ALL.iter().map(|wait| shares.of(*wait).get()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        assert_eq!(shares.largest(), TcpWait::System);
        assert_eq!(TcpShares::default().largest(), TcpWait::Application);
    }

    #[test]
    fn bufferbloat_needs_both_a_factor_and_a_rise() {
        let bloated = |idle, loaded| TcpQueueing::from_idle_ns(idle, loaded).unwrap().bloated;
        assert!(bloated(1_000_000, 31_000_000));
        assert!(!bloated(1_000_000, 30_999_999));
        assert!(!bloated(100_000_000, 180_000_000));
        assert_eq!(TcpQueueing::from_idle_ns(0, 5), None);
    }

    #[test]
    fn more_duplicates_than_retransmissions_are_all_of_them() {
        let counts = TcpRetransmissions {
            segments: Some(4),
            needless: Some(9),
            ..TcpRetransmissions::default()
        };
        assert_eq!(counts.needless_share(), Some(Ratio::clamped(1.0)));
        assert_eq!(TcpRetransmissions::default().needless_share(), None);
    }
}
