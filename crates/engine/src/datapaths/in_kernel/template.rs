//! The frame that all frames of a stream are copies of.

use super::Flows;
use super::generator_code::{ChecksumPlan, FlowPlaces, FramePlan, PlacePlan};
use crate::datapaths::af_xdp::frame::{Layout, Template};
use crate::datapaths::af_xdp::lengths::Lengths;
use crate::datapaths::af_xdp::probe::near;
use linerate_frames::Transport;
use linerate_wire::header::{HEADER_LEN, Header};
#[cfg(test)]
use std::net::IpAddr;

/// The longest frame with `header`, and where the sending program writes into it. `layout` has the headers of one flow;
/// frames go to each of `destinations` in turns, where those are several.
pub(super) fn frame(
    layout: &Layout,
    destinations: Vec<[u8; 6]>,
    lengths: &Lengths,
    header: &Header,
    flows: Flows,
    is_reverse: bool,
) -> (Vec<u8>, FramePlan) {
    let layout = if flows.is_one() {
        layout.clone()
    } else {
        layout.clone().without_flow()
    };
    let bytes = of_length(&layout, lengths.longest(), header);
    let at = layout.payload_at();
    let word = |bytes: &[u8], place: usize| u16::from_be_bytes([bytes[place], bytes[place + 1]]);
    // What a checksum covers sums up to its complement.
    let sum = |bytes: &[u8], place: Option<usize>| place.map_or(0, |place| !word(bytes, place));
    let checksum_at = layout.checksum_at();
    let known = layout.transport();
    let ip_checksum_at = known.and_then(|known| known.ip_checksum_at());
    let varying: Vec<usize> = layout.varying().collect();
    let place = |length: &usize| {
        let own = of_length(&layout, *length, header);
        PlacePlan {
            cut: u32::try_from(bytes.len() - own.len()).unwrap_or(u32::MAX),
            halves: varying.iter().map(|at| [own[*at], own[at + 1]]).collect(),
            ip_sum: sum(&own, ip_checksum_at),
            checksum_sum: sum(&own, checksum_at),
        }
    };
    let plan = FramePlan {
        headers: bytes[..at + HEADER_LEN].to_vec(),
        payload_at: near(at),
        checksum: checksum_at.map(|at| ChecksumPlan {
            at: near(at),
            is_never_zero: known.is_some_and(|known| known.kind == Transport::Udp),
            sum: sum(&bytes, Some(at)),
        }),
        flow_places: known.map(|known| FlowPlaces {
            addresses: known.low_halves().map(near),
            ports: [known.at, known.at + 2].map(near),
            ip_checksum: ip_checksum_at.map(near),
            ip_sum: sum(&bytes, ip_checksum_at),
        }),
        tunnel_ports: layout.tunnel_ports().iter().map(|at| near(*at)).collect(),
        flows,
        is_reverse,
        varying: varying.iter().map(|at| near(*at)).collect(),
        places: lengths.places().iter().map(place).collect(),
        gathers: false,
        destinations,
    };
    (bytes, plan)
}

/// The frame with a payload of this many bytes.
fn of_length(layout: &Layout, payload: usize, header: &Header) -> Vec<u8> {
    let mut payload = vec![0; payload];
    header.write(&mut payload);
    // Purpose and stream are added by the program.
    payload[4..6].fill(0);
    let template = Template::new(layout, payload.len());
    let mut bytes = vec![0; template.frame_bytes()];
    template.write(&payload, &mut bytes);
    bytes
}

/// The address with another lower half; of IPv6 with another last part.
#[cfg(test)]
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
