//! The frame that all frames of a stream are copies of.

use super::generator_code::{FramePlan, IPV4_CHECKSUM, IPV4_LENGTH, IPV6_LENGTH, PlacePlan};
use super::{Flows, is_ipv4};
use crate::datapaths::af_xdp::frame::{End as FlowEnd, Flow, Template};
use crate::datapaths::af_xdp::lengths::Lengths;
use crate::datapaths::af_xdp::probe::payload_at;
use linerate_wire::header::{HEADER_LEN, Header};
use std::net::{IpAddr, SocketAddr};

/// The longest frame with `header`, and where the sending program writes into it.
pub(super) fn frame(
    flow: &Flow,
    lengths: &Lengths,
    header: &Header,
    flows: Flows,
    is_reverse: bool,
) -> (Vec<u8>, FramePlan) {
    let flow = if flows.is_one() { *flow } else { base(flow) };
    let bytes = of_length(&flow, lengths.longest(), header);
    let is_ipv4 = is_ipv4(&flow);
    let payload_at = payload_at(is_ipv4);
    let at = usize::from(payload_at.unsigned_abs());
    let sum = |bytes: &[u8], place: usize| !u16::from_be_bytes([bytes[place], bytes[place + 1]]);
    let pair = |bytes: &[u8], place: usize| [bytes[place], bytes[place + 1]];
    let ip_length = if is_ipv4 { IPV4_LENGTH } else { IPV6_LENGTH };
    let place = |length: &usize| {
        let own = of_length(&flow, *length, header);
        PlacePlan {
            cut: u32::try_from(bytes.len() - own.len()).unwrap_or(u32::MAX),
            ip_length: pair(&own, ip_length),
            udp_length: pair(&own, at - 4),
            ip_checksum: pair(&own, IPV4_CHECKSUM),
            ip_sum: sum(&own, IPV4_CHECKSUM),
            udp_sum: sum(&own, at - 2),
        }
    };
    let plan = FramePlan {
        headers: bytes[..at + HEADER_LEN].to_vec(),
        is_ipv4,
        payload_at,
        udp_sum: sum(&bytes, at - 2),
        ip_sum: sum(&bytes, IPV4_CHECKSUM),
        flows,
        is_reverse,
        places: lengths.places().iter().map(place).collect(),
    };
    (bytes, plan)
}

/// The frame with a payload of this many bytes.
fn of_length(flow: &Flow, payload: usize, header: &Header) -> Vec<u8> {
    let mut payload = vec![0; payload];
    header.write(&mut payload);
    // Purpose and stream are added by the program.
    payload[4..6].fill(0);
    let template = Template::new(flow, payload.len());
    let mut bytes = vec![0; template.frame_bytes()];
    template.write(&payload, &mut bytes);
    bytes
}

/// A flow without what differs from flow to flow.
fn base(flow: &Flow) -> Flow {
    let blank = |end: &FlowEnd| FlowEnd {
        mac: end.mac,
        address: SocketAddr::new(with_low_half(end.address.ip(), 0), 0),
    };
    Flow {
        local: blank(&flow.local),
        remote: blank(&flow.remote),
        traffic_class: flow.traffic_class,
    }
}

/// The address with another lower half; of IPv6 with another last part.
pub(super) fn with_low_half(address: IpAddr, low: u16) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let [c, d] = low.to_be_bytes();
            [a, b, c, d].into()
        }
        IpAddr::V6(v6) => {
            let mut segments = v6.segments();
            segments[7] = low;
            segments.into()
        }
    }
}
