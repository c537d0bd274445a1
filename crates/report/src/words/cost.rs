//! What an end spent on a packet, in words.

use crate::figures::nanos;
use linerate_model::cost::{PacketKind, ProfileCost};

/// Layers that a line of cost names.
const MAX_LAYERS: usize = 4;

/// `1.9 µs per packet: copy 31 %, TCP/UDP 20 %, …`.
pub(crate) fn cost_line(cost: &ProfileCost) -> String {
    let what = match cost.packet_kind {
        Some(PacketKind::Segments) => "segment",
        Some(PacketKind::Transactions) => "transaction",
        Some(PacketKind::Datagrams) | None => "packet",
    };
    let each = match (cost.ns_per_packet, cost.busy_samples) {
        (_, 0) => return "no sample fell on its work.".to_owned(),
        (Some(ns), _) => format!("{} per {what}", nanos(ns)),
        (None, _) => "packets not counted".to_owned(),
    };
    let shares = cost.layers.iter().take(MAX_LAYERS).map(|layer| {
        let percent = (layer.share_ratio.get() * 100.0).round();
        format!("{} {percent} %", layer.layer.as_str())
    });
    let shares: Vec<_> = shares.collect();
    let partial = if cost.kernel { "" } else { " (user code only)" };
    format!("{each}{partial}: {}.", shares.join(", "))
}
