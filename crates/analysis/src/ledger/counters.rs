//! What the host-wide counters of one end say about lost datagrams.

use super::reasons::{BEFORE_QUEUE, Bounds, IN_BACKLOG, IN_QUEUE, Reasons};
use crate::readings::is_veth_pair;
use linerate_model::PacketCount;
use linerate_model::run::{Packets, Place};
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::signals as signal;
use linerate_model::spec::Side;

/// A counter of a whole host that may explain lost packets: an upper bound, unless nothing else can be in it.
#[derive(Clone)]
pub(super) struct Claim {
    pub(super) place: Place,
    pub(super) signal: &'static str,
    pub(super) at_most: u64,
    /// How many of them are the test's own for certain.
    pub(super) at_least: u64,
    side: Side,
}

impl Claim {
    pub(super) fn figure(&self) -> String {
        format!(
            "{} of the {} {}",
            self.signal,
            self.side.as_str(),
            self.at_most
        )
    }

    pub(super) fn source(&self) -> String {
        let note = match self.signal {
            signal::UDP_CSUM_ERRORS => "corrupted on the way; ",
            signal::UDP_NO_PORTS => "nobody had the port open; ",
            _ => "",
        };
        let scope = if self.at_least == self.at_most {
            "the test's own: exact"
        } else {
            "host-wide: an upper bound"
        };
        format!("{} ({note}{scope})", self.figure())
    }
}

/// Packets of the test that can at most have passed an interface.
pub(super) struct Passed {
    pub(super) at_most: u64,
    /// Several came as one.
    aggregated: bool,
    pub(super) text: String,
}

/// One end's host-wide counters over the trial.
pub(super) struct Host {
    pub(super) claims: Vec<Claim>,
    /// What passed the test's interface, or why that is not known.
    pub(super) passed: Result<Passed, String>,
    /// Packets that came in at the interface and that neither UDP nor another protocol was given.
    pub(super) filtered: u64,
    /// Counters that could not be read and that might hide a drop.
    missing: Vec<&'static str>,
}

impl Host {
    pub(super) fn sender(report: &EndpointReport, packets: &Packets) -> Self {
        let mut host = Self::empty();
        let sent = packets.sent.map_or(0, PacketCount::get);
        if is_xdp(report) {
            // Frames go to the driver itself: neither UDP nor a queueing discipline has seen them.
            host.claim(report, Place::SenderNic, signal::NIC_TX_DROPPED, 0);
            host.passed = passed(&Interface::of_sender(report), payload(report), sent);
            return host;
        }
        let queue = host.gain(report, signal::QDISC_DROPPED);
        let device = host.gain(report, signal::NIC_TX_DROPPED);
        let counted = host.gain(report, signal::UDP_SNDBUF_ERRORS);
        // UDP counts what the queue or a software device refuses as its own error too, so the three
        // are one event each. What a queue drops later (AQM) or a device in hardware is not in it.
        let errors = counted.unwrap_or(0).saturating_sub(refusals(report));
        let others = counted
            .zip(gained(report, signal::UDP_OUT_DATAGRAMS))
            .map(|(failed, went)| failed.saturating_add(went).saturating_sub(sent));
        let parts = split(errors, queue.unwrap_or(0), device.unwrap_or(0));
        let reasons = Reasons::from_report(report);
        let bounds = |part: u64| match others {
            Some(others) if parts.synchronous => Bounds {
                at_least: part.saturating_sub(others),
                at_most: part,
            },
            _ => Bounds::up_to(part),
        };
        host.put(
            report,
            Place::SenderQdisc,
            signal::QDISC_DROPPED,
            reasons.refine(bounds(parts.queue), IN_QUEUE),
        );
        host.put(
            report,
            Place::SenderSocket,
            signal::UDP_SNDBUF_ERRORS,
            reasons.refine(bounds(parts.socket), BEFORE_QUEUE),
        );
        host.put(
            report,
            Place::SenderNic,
            signal::NIC_TX_DROPPED,
            bounds(parts.device),
        );
        host.passed = passed(&Interface::of_sender(report), payload(report), sent);
        host
    }

    pub(super) fn receiver(
        report: &EndpointReport,
        packets: &Packets,
        own_overflows: Option<u64>,
    ) -> Self {
        let mut host = Self::empty();
        let device = host
            .gain(report, signal::NIC_RX_DROPPED)
            .map(|device| device.saturating_sub(counted_twice(report)));
        let backlog = host.gain(report, signal::SOFTNET_DROPPED);
        // A backlog drop counts at its interface too, and the backlog's counter is that of the whole
        // machine: what the test's interface has not counted was another's.
        let shared = match (device, backlog) {
            (Some(device), Some(backlog)) => device.min(backlog),
            (None, backlog) => backlog.unwrap_or(0),
            (Some(_), None) => 0,
        };
        let alone = device.unwrap_or(0).saturating_sub(shared);
        host.put(
            report,
            Place::ReceiverNic,
            signal::NIC_RX_DROPPED,
            Bounds::up_to(alone),
        );
        host.claim(report, Place::ReceiverNic, signal::NIC_RX_ERRORS, 0);
        let reasons = Reasons::from_report(report);
        host.put(
            report,
            Place::ReceiverBacklog,
            signal::SOFTNET_DROPPED,
            reasons.refine(Bounds::up_to(shared), IN_BACKLOG),
        );
        // Where the test's own sockets count for themselves, the host's count holds only others' beside.
        if own_overflows.is_none() {
            host.claim(report, Place::ReceiverSocket, signal::UDP_RCVBUF_ERRORS, 0);
        }
        host.claim(report, Place::Network, signal::UDP_CSUM_ERRORS, 0);
        host.claim(report, Place::Unknown, signal::UDP_NO_PORTS, 0);
        // With the reasons, what was filtered of the test's own is known datagram by datagram.
        // What AF_XDP takes is given to no protocol, and that is no filter.
        host.filtered = if reasons.are_known() || is_xdp(report) {
            0
        } else {
            filtered(report)
        };
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
            },
            payload(report),
            got,
        );
        host
    }

    /// Takes from what the interface dropped while sending what its peer `receiver` dropped on
    /// arrival: a veth pair has both events in both counters.
    pub(super) fn without_peer(&mut self, sender: &EndpointReport, receiver: &EndpointReport) {
        if !is_veth_pair(sender, receiver) {
            return;
        }
        let peers = gained(receiver, signal::NIC_RX_DROPPED)
            .unwrap_or(0)
            .saturating_sub(counted_twice(receiver));
        for claim in &mut self.claims {
            if claim.place == Place::SenderNic {
                claim.at_most = claim.at_most.saturating_sub(peers);
                claim.at_least = claim.at_least.min(claim.at_most);
            }
        }
        self.claims.retain(|claim| claim.at_most > 0);
    }

    fn empty() -> Self {
        Self {
            claims: Vec::new(),
            passed: Err(String::new()),
            filtered: 0,
            missing: Vec::new(),
        }
    }

    /// What `signal` gained; noted as missing if it cannot be said.
    fn gain(&mut self, report: &EndpointReport, signal: &'static str) -> Option<u64> {
        let gain = gained(report, signal);
        if gain.is_none() {
            self.missing.push(signal);
        }
        gain
    }

    /// Notes what `signal` gained beyond what `counted` already explains.
    fn claim(&mut self, report: &EndpointReport, place: Place, signal: &'static str, counted: u64) {
        let gain = self.gain(report, signal).unwrap_or(0);
        let unexplained = gain.saturating_sub(counted);
        self.put(report, place, signal, Bounds::up_to(unexplained));
    }

    fn put(&mut self, report: &EndpointReport, place: Place, signal: &'static str, bounds: Bounds) {
        if bounds.at_most > 0 {
            self.claims.push(Claim {
                place,
                signal,
                at_most: bounds.at_most,
                at_least: bounds.at_least,
                side: report.side,
            });
        }
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
        if !blind.is_empty() {
            return Some(format!(
                "the receiver's {} could not be read, so these may have been lost there or in the network",
                blind.join(", ")
            ));
        }
        let figures: Vec<String> = self.drops_of_runs().map(Claim::figure).collect();
        (!figures.is_empty()).then(|| {
            format!(
                "several datagrams came as one (offload), and each is one drop of {}: these may have been in them, or lost in the network",
                figures.join(", ")
            )
        })
    }

    /// Drops here, each of which may be one of several datagrams.
    pub(super) fn drops_of_runs(&self) -> impl Iterator<Item = &Claim> {
        const HERE: [Place; 3] = [
            Place::ReceiverNic,
            Place::ReceiverBacklog,
            Place::ReceiverSocket,
        ];
        let joined = self.passed.as_ref().is_ok_and(|passed| passed.aggregated);
        let claims = self.claims.iter();
        claims.filter(move |claim| joined && HERE.contains(&claim.place))
    }
}

/// One direction of the test's interface.
struct Interface<'a> {
    report: &'a EndpointReport,
    packets: &'static str,
    bytes: &'static str,
}

impl<'a> Interface<'a> {
    const fn of_sender(report: &'a EndpointReport) -> Self {
        Self {
            report,
            packets: signal::NIC_TX_PACKETS,
            bytes: signal::NIC_TX_BYTES,
        }
    }
}

/// Whether the test's datagrams passed this end's stack by.
pub(super) fn is_xdp(report: &EndpointReport) -> bool {
    report
        .streams
        .iter()
        .any(|stream| stream.path.xdp.is_some())
}

/// Drops of the test's own AF_XDP sockets that the interface counts as its own too: a veth does so.
fn counted_twice(report: &EndpointReport) -> u64 {
    if !report.after.values.contains_key(signal::NIC_PEER_INDEX) {
        return 0;
    }
    let reports = report
        .streams
        .iter()
        .filter_map(|stream| stream.path.xdp.as_ref());
    reports
        .map(|xdp| {
            let full = xdp.ring_full.map_or(0, PacketCount::get);
            xdp.dropped.get().saturating_add(full)
        })
        .fold(0, u64::saturating_add)
}

/// Headers that a datagram has at most on an interface: Ethernet with VLAN 18, IPv6 40 with options 24, UDP 8, rounded up.
const MOST_HEADER_BYTES: u64 = 100;

/// Bounds the test's packets that passed, knowing that at least `certain` of them did.
///
/// An interface may count several datagrams as one packet (segmentation offload); then the bytes
/// bound them, since each needs at least its payload.
fn passed(interface: &Interface<'_>, payload: u64, certain: u64) -> Result<Passed, String> {
    let gained = |name| gained(interface.report, name);
    let side = interface.report.side;
    let Some(packets) = gained(interface.packets) else {
        return Err(format!(
            "{} of the {}'s interface could not be read, so nothing shows what passed it",
            interface.packets,
            side.as_str()
        ));
    };
    let by_bytes = gained(interface.bytes).and_then(|bytes| bytes.checked_div(payload));
    let full = packets.saturating_mul(payload.saturating_add(MOST_HEADER_BYTES));
    let aggregated = packets < certain && side == Side::Receiver
        || gained(interface.bytes).is_some_and(|bytes| payload > 0 && bytes > full);
    let (at_most, text) = match by_bytes {
        Some(by_bytes) if aggregated => (
            by_bytes,
            format!("at most {by_bytes} by its bytes ({packets} aggregated)"),
        ),
        _ => (packets, packets.to_string()),
    };
    if side == Side::Receiver && at_most < certain {
        return Err(format!(
            "the receiver's interface counted {at_most} packets, fewer than the {certain} that arrived, so it shows nothing"
        ));
    }
    Ok(Passed {
        at_most,
        aggregated,
        text,
    })
}

fn gained(report: &EndpointReport, signal: &str) -> Option<u64> {
    report.after.gained(&report.before, signal)
}

/// What UDP counted as send errors, by who refused the datagram.
struct Split {
    queue: u64,
    device: u64,
    socket: u64,
    /// Whether queue and device told UDP of what they dropped.
    synchronous: bool,
}

/// Divides UDP's send errors among the queue, the device and the rest. A queue that dropped more
/// than twice as many as UDP was told of drops later than the sending call; then its count stands alone.
fn split(errors: u64, queue: u64, device: u64) -> Split {
    let synchronous = queue.saturating_add(device) <= errors.saturating_mul(2);
    if !synchronous {
        let socket = errors.saturating_sub(queue).saturating_sub(device);
        return Split {
            queue,
            device,
            socket,
            synchronous,
        };
    }
    let queue = queue.min(errors);
    let device = device.min(errors - queue);
    Split {
        queue,
        device,
        socket: errors - queue - device,
        synchronous,
    }
}

/// Packets that the interface received and that no protocol was given: dropped by a packet filter,
/// addressed to others, or no IP at all.
fn filtered(report: &EndpointReport) -> u64 {
    // The counters are read one after the other while packets of the control connection come in.
    const SKEW: u64 = 2;
    let gained = |name| gained(report, name);
    let not_ip = gained(signal::NIC_RX_PACKETS)
        .zip(gained(signal::IP_IN_RECEIVES))
        .map_or(0, |(came, ip)| came.saturating_sub(ip));
    let not_given = gained(signal::IP_IN_RECEIVES)
        .zip(gained(signal::IP_IN_DELIVERS))
        .map_or(0, |(ip, given)| ip.saturating_sub(given));
    not_ip.saturating_add(not_given).saturating_sub(SKEW)
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
        errors.max(stream.work.refused().map_or(0, PacketCount::get))
    };
    report
        .streams
        .iter()
        .map(stream)
        .fold(0, u64::saturating_add)
}
