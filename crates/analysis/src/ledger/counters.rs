//! What the host-wide counters of one end say about lost datagrams.

use linerate_model::PacketCount;
use linerate_model::run::{Packets, Place};
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::signals as signal;
use linerate_model::spec::Side;

/// A counter of a whole host that may explain lost packets: an upper bound.
#[derive(Clone)]
pub(super) struct Claim {
    pub(super) place: Place,
    pub(super) signal: &'static str,
    pub(super) at_most: u64,
    side: &'static str,
}

impl Claim {
    pub(super) fn figure(&self) -> String {
        format!("{} of the {} {}", self.signal, self.side, self.at_most)
    }

    pub(super) fn source(&self) -> String {
        let note = if self.place == Place::Network {
            "corrupted on the way; "
        } else {
            ""
        };
        format!("{} ({note}host-wide: an upper bound)", self.figure())
    }
}

/// Packets of the test that can at most have passed an interface.
pub(super) struct Passed {
    pub(super) at_most: u64,
    pub(super) text: String,
}

/// One end's host-wide counters over the trial.
pub(super) struct Host {
    pub(super) claims: Vec<Claim>,
    /// What passed the test's interface, or why that is not known.
    pub(super) passed: Result<Passed, String>,
    /// Counters that could not be read and that might hide a drop.
    missing: Vec<&'static str>,
}

impl Host {
    pub(super) fn sender(report: &EndpointReport, packets: &Packets) -> Self {
        let mut host = Self::empty();
        let qdisc = host.claim(report, Place::SenderQdisc, signal::QDISC_DROPPED, 0);
        // A qdisc's drop and a refused call count as send buffer errors as well.
        let told_elsewhere = qdisc.saturating_add(refusals(report));
        host.claim(
            report,
            Place::SenderSocket,
            signal::UDP_SNDBUF_ERRORS,
            told_elsewhere,
        );
        host.claim(report, Place::SenderNic, signal::NIC_TX_DROPPED, 0);
        let sent = packets.sent.map_or(0, PacketCount::get);
        host.passed = passed(
            &Interface {
                report,
                packets: signal::NIC_TX_PACKETS,
                bytes: signal::NIC_TX_BYTES,
                side: "sender",
            },
            payload(report),
            sent,
        );
        host
    }

    pub(super) fn receiver(
        report: &EndpointReport,
        packets: &Packets,
        own_overflows: Option<u64>,
    ) -> Self {
        let mut host = Self::empty();
        host.claim(report, Place::ReceiverNic, signal::NIC_RX_DROPPED, 0);
        host.claim(report, Place::ReceiverNic, signal::NIC_RX_ERRORS, 0);
        host.claim(report, Place::ReceiverBacklog, signal::SOFTNET_DROPPED, 0);
        let own = own_overflows.unwrap_or(0);
        host.claim(
            report,
            Place::ReceiverSocket,
            signal::UDP_RCVBUF_ERRORS,
            own,
        );
        if own_overflows.is_some() {
            host.missing
                .retain(|name| *name != signal::UDP_RCVBUF_ERRORS);
        }
        host.claim(report, Place::Network, signal::UDP_CSUM_ERRORS, 0);
        let got = [packets.received, packets.duplicated]
            .into_iter()
            .flatten()
            .map(PacketCount::get)
            .fold(0, u64::saturating_add);
        host.passed = passed(
            &Interface {
                report,
                packets: signal::NIC_RX_PACKETS,
                bytes: signal::NIC_RX_BYTES,
                side: "receiver",
            },
            payload(report),
            got,
        );
        host
    }

    fn empty() -> Self {
        Self {
            claims: Vec::new(),
            passed: Err(String::new()),
            missing: Vec::new(),
        }
    }

    /// Notes what `signal` gained beyond what `told` already explains; returns the whole gain.
    fn claim(
        &mut self,
        report: &EndpointReport,
        place: Place,
        signal: &'static str,
        told: u64,
    ) -> u64 {
        let Some(gained) = report.after.gained(&report.before, signal) else {
            self.missing.push(signal);
            return 0;
        };
        let at_most = gained.saturating_sub(told);
        if at_most > 0 {
            self.claims.push(Claim {
                place,
                signal,
                at_most,
                side: match report.side {
                    Side::Sender => "sender",
                    Side::Receiver => "receiver",
                },
            });
        }
        gained
    }

    pub(super) fn claimed(&self, place: Place) -> u64 {
        self.claims
            .iter()
            .filter(|claim| claim.place == place)
            .fold(0, |sum, claim| sum.saturating_add(claim.at_most))
    }

    pub(super) fn claims_total(&self) -> u64 {
        self.claims
            .iter()
            .fold(0, |sum, claim| sum.saturating_add(claim.at_most))
    }

    /// Why a drop behind this interface could have gone uncounted; `None` if it could not.
    pub(super) fn doubt(&self) -> Option<String> {
        // Checksum and error counters only refine; without these three a drop has nowhere to show.
        let needed = [
            signal::NIC_RX_DROPPED,
            signal::SOFTNET_DROPPED,
            signal::UDP_RCVBUF_ERRORS,
        ];
        let blind: Vec<&str> = needed
            .into_iter()
            .filter(|name| self.missing.contains(name))
            .collect();
        (!blind.is_empty()).then(|| {
            format!(
                "the receiver's {} could not be read, so these may have been lost there or in the network",
                blind.join(", ")
            )
        })
    }
}

/// One direction of the test's interface.
struct Interface<'a> {
    report: &'a EndpointReport,
    packets: &'static str,
    bytes: &'static str,
    side: &'static str,
}

/// Headers that a datagram has at most on an interface: Ethernet with VLAN 18, IPv6 40 with options 24, UDP 8, rounded up.
const MOST_HEADER_BYTES: u64 = 100;

/// Bounds the test's packets that passed, knowing that at least `certain` of them did.
///
/// An interface may count several datagrams as one packet (segmentation offload); then the bytes
/// bound them, since each needs at least its payload.
fn passed(interface: &Interface<'_>, payload: u64, certain: u64) -> Result<Passed, String> {
    let gained = |name| {
        let report = interface.report;
        report.after.gained(&report.before, name)
    };
    let side = interface.side;
    let Some(packets) = gained(interface.packets) else {
        return Err(format!(
            "{} of the {side}'s interface could not be read, so nothing shows what passed it",
            interface.packets
        ));
    };
    let by_bytes = gained(interface.bytes).and_then(|bytes| bytes.checked_div(payload));
    let full = packets.saturating_mul(payload.saturating_add(MOST_HEADER_BYTES));
    let aggregated = packets < certain && side == "receiver"
        || gained(interface.bytes).is_some_and(|bytes| payload > 0 && bytes > full);
    let (at_most, text) = match by_bytes {
        Some(by_bytes) if aggregated => (
            by_bytes,
            format!("at most {by_bytes} by its bytes ({packets} aggregated)"),
        ),
        _ => (packets, packets.to_string()),
    };
    if side == "receiver" && at_most < certain {
        return Err(format!(
            "the receiver's interface counted {at_most} packets, fewer than the {certain} that arrived, so it shows nothing"
        ));
    }
    Ok(Passed { at_most, text })
}

/// Payload of each datagram of this end; zero if it cannot be said.
fn payload(report: &EndpointReport) -> u64 {
    let sum = |part: fn(&StreamReport) -> u64| {
        report.streams.iter().map(part).fold(0, u64::saturating_add)
    };
    let packets = sum(|stream| stream.packets.get());
    sum(|stream| stream.bytes.get())
        .checked_div(packets)
        .unwrap_or(0)
}

/// Calls that the sender's system refused for want of buffer, tried again or not.
fn refusals(report: &EndpointReport) -> u64 {
    let stream = |stream: &StreamReport| {
        let errors = stream
            .errors
            .iter()
            .filter(|error| matches!(error.errno.as_str(), "EAGAIN" | "ENOBUFS"))
            .map(|error| error.count)
            .fold(0, u64::saturating_add);
        errors.max(stream.refused.map_or(0, PacketCount::get))
    };
    report
        .streams
        .iter()
        .map(stream)
        .fold(0, u64::saturating_add)
}
