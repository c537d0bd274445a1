//! What linerate itself can do on a host: found once by `linerate calibrate`, kept, and held against every result.

use crate::estimate::Estimate;
use crate::facts::Facts;
use crate::spec::{DatapathChoice, TestSpec, Transport};
use crate::time::WallTime;
use crate::units::{BitRate, ByteCount, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema id of this version.
pub const SCHEMA: &str = "linerate/calibration/1";

/// Ceilings of one host.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Calibration {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// When it was begun.
    pub made: WallTime,
    /// Build of linerate that it holds for.
    pub version: String,
    /// What it was measured on.
    pub platform: Platform,
    /// One for each transport, datapath and payload.
    pub ceilings: Vec<Ceiling>,
}

/// What a ceiling depends on: on another kernel or CPU it is another.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Platform {
    /// Release of the kernel: `6.12.9`.
    pub kernel_release: Option<String>,
    /// Model of the CPU.
    pub cpu_model: Option<String>,
    /// Cores that are online.
    pub cores_online: Option<u32>,
}

impl Platform {
    /// The platform of a host with these facts.
    pub fn from_facts(facts: &Facts) -> Self {
        Self {
            kernel_release: facts.kernel_release.clone(),
            cpu_model: facts.cpu_model.clone(),
            cores_online: facts.cores_online,
        }
    }
}

/// What one stream carried at most between two ends on the host itself, over loopback and unpaced.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Ceiling {
    /// Transport.
    pub transport: Transport,
    /// Datapath of both ends.
    pub datapath: DatapathChoice,
    /// Datagram payload or write size.
    pub payload_bytes: ByteCount,
    /// What the sender offered, L4 payload, bit/s, sender's clock.
    #[serde(rename = "offered_bps")]
    pub offered: Estimate,
    /// What the receiver's application got, L4 payload, bit/s.
    #[serde(rename = "received_bps")]
    pub received: Estimate,
}

/// The ceiling that holds for one test.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HostCeiling {
    /// What linerate sends at most on this host, L4 payload.
    #[serde(rename = "offered_bps")]
    pub offered: BitRate,
    /// What it receives at most.
    #[serde(rename = "received_bps")]
    pub received: BitRate,
    /// Share of the sending thread's time in which it ran: the rest of a core went to other programs. `None` where it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_ratio: Option<Ratio>,
    /// When that was measured.
    pub made: WallTime,
}

impl Calibration {
    /// The ceiling of one stream of `test`; `None` where its datapath, transport or size was not measured, and for a test of
    /// several streams. Between two sizes the time per packet is interpolated: it is a part per packet and a
    /// part per byte.
    pub fn ceiling(&self, test: &TestSpec) -> Option<HostCeiling> {
        if test.streams != 1 {
            return None;
        }
        let alike = self.ceilings.iter().filter(|ceiling| {
            ceiling.transport == test.transport() && ceiling.datapath == test.datapath
        });
        let payload = test.payload();
        let below = alike.clone().filter(|c| c.payload_bytes <= payload);
        let above = alike.filter(|c| c.payload_bytes >= payload);
        let below = below.max_by_key(|ceiling| ceiling.payload_bytes)?;
        let above = above.min_by_key(|ceiling| ceiling.payload_bytes)?;
        Some(HostCeiling {
            offered: between(below, above, payload, |ceiling| ceiling.offered.point)?,
            received: between(below, above, payload, |ceiling| ceiling.received.point)?,
            running_ratio: None,
            made: self.made.clone(),
        })
    }
}

fn between(
    below: &Ceiling,
    above: &Ceiling,
    payload: ByteCount,
    rate: impl Fn(&Ceiling) -> f64,
) -> Option<BitRate> {
    let bits = |size: ByteCount| size.as_f64() * 8.0;
    let (low, high) = (bits(below.payload_bytes), bits(above.payload_bytes));
    let time = |ceiling: &Ceiling, bits: f64| {
        let rate = rate(ceiling);
        (rate > 0.0).then(|| bits / rate)
    };
    let (first, last) = (time(below, low)?, time(above, high)?);
    let share = if high > low {
        (bits(payload) - low) / (high - low)
    } else {
        0.0
    };
    let time = share.mul_add(last - first, first);
    Some(BitRate::from_f64(bits(payload) / time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Pace;

    fn estimate(point: f64) -> Estimate {
        Estimate {
            point,
            interval: None,
            confidence_ratio: 0.95,
            n: 3,
        }
    }

    fn ceiling(payload: u64, offered: f64) -> Ceiling {
        Ceiling {
            transport: Transport::Udp,
            datapath: TestSpec::tcp_bulk().datapath,
            payload_bytes: ByteCount::new(payload),
            offered: estimate(offered),
            received: estimate(offered / 2.0),
        }
    }

    fn calibration() -> Calibration {
        Calibration {
            schema: SCHEMA.to_owned(),
            made: WallTime::from_unix(1_700_000_000).unwrap(),
            version: "0".to_owned(),
            platform: Platform::default(),
            // 1 µs per packet and 1 ns per byte: 100 B take 1.1 µs, 1000 B take 2 µs.
            ceilings: vec![ceiling(100, 800.0 / 1.1e-6), ceiling(1000, 8000.0 / 2e-6)],
        }
    }

    fn test(payload: u64) -> TestSpec {
        TestSpec::udp_datagrams(Pace::Unpaced).with_payload(ByteCount::new(payload))
    }

    #[test]
    fn time_per_packet_is_interpolated_between_sizes() {
        let found = calibration().ceiling(&test(500)).unwrap();
        let want = 4000.0 / 1.5e-6;
        assert!(
            (found.offered.as_f64() / want - 1.0).abs() < 1e-6,
            "{found:?}"
        );
        assert!((found.received.as_f64() / want - 0.5).abs() < 1e-6);
        let exact = calibration().ceiling(&test(1000)).unwrap();
        assert!((exact.offered.as_f64() / 4e9 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn nothing_is_said_outside_of_what_was_measured() {
        assert_eq!(calibration().ceiling(&test(64)), None);
        assert_eq!(calibration().ceiling(&test(1400)), None);
        assert_eq!(calibration().ceiling(&TestSpec::tcp_bulk()), None);
        let mut other = test(500);
        other.datapath.id = "io-uring".to_owned();
        assert_eq!(calibration().ceiling(&other), None);
    }
}
