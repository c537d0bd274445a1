//! Goodput above what the link can carry.

use super::{Check, Contradiction, Examined};
use crate::published::figure::number;
use crate::published::table::{PublishedCell, PublishedTable};
use linerate_model::quantity::QuantityUnit;
use linerate_model::{BitRate, FrameOverhead, Layer};

pub(super) const CHECK: Check = Check {
    id: "ceiling",
    asks: "Is no goodput above what the link can carry?",
    source: "IEEE 802.3 frame overheads: preamble, delimiter, MAC header, FCS and gap take 38 B a frame; RFC 791, 8200, \
             768, 9293 headers",
    expected_false: 0.0,
    run,
};

/// Header of TCP without options, and of UDP.
const TCP_HEADER: u32 = 20;
const UDP_HEADER: u32 = 8;

fn run(table: &PublishedTable) -> Examined {
    let missing = "no rate, or no link in the head (`# link: 100M`)";
    Examined::each(table, missing, |cell| {
        let ceiling = ceiling(table, cell)?;
        let half = cell.value.step / 2.0 * cell.unit.base;
        let over = cell.base_value() - half > ceiling.rate.as_f64() * (1.0 + f64::EPSILON);
        let found = over.then(|| {
            let (value, unit) = (cell.value.shown(), &cell.unit.name);
            let most = number(ceiling.rate.as_f64() / cell.unit.base);
            Contradiction::new(
                cell,
                "goodput is at most the link's rate without headers, frames and gaps",
                format!("{value} {unit} > {most} {unit} = {}", ceiling.words),
            )
        });
        Some(found.into_iter().collect())
    })
}

/// The most payload that a link carries.
pub(super) struct Ceiling {
    pub(super) rate: BitRate,
    words: String,
}

/// Of full packets; by its levels `ip`, `transport` and `payload` if it has them, else of whatever carries more.
pub(super) fn ceiling(table: &PublishedTable, cell: &PublishedCell) -> Option<Ceiling> {
    let link = table
        .link
        .filter(|_| cell.unit.of == QuantityUnit::BitRate)?;
    let is = |factor: &str, level: &str| {
        let known = cell.levels.get(factor);
        known.is_some_and(|known| known.eq_ignore_ascii_case(level))
    };
    let base = if is("ip", "ipv6") {
        FrameOverhead::UDP_IPV6
    } else {
        FrameOverhead::UDP_IPV4
    };
    let l4_header_bytes = if is("transport", "tcp") {
        TCP_HEADER
    } else {
        UDP_HEADER
    };
    let overhead = FrameOverhead {
        l4_header_bytes,
        ..base
    };
    let headers = overhead.l4_header_bytes + overhead.l3_header_bytes;
    let full = u64::from(table.mtu.checked_sub(headers)?);
    // A datagram larger than a packet is fragmented, and TCP's writes are cut: both fill packets.
    let stated = cell
        .levels
        .get("payload")
        .filter(|_| is("transport", "udp"));
    let stated = stated.and_then(|text| text.parse::<u64>().ok());
    let payload = stated
        .filter(|bytes| *bytes > 0)
        .map_or(full, |bytes| bytes.min(full));
    let rate = overhead.payload_rate(Layer::L1, link, payload);
    Some(Ceiling {
        rate,
        words: format!(
            "{link} × {payload} / {} (payload and frame with gap, in bytes)",
            overhead.bytes_at(Layer::L1, payload)
        ),
    })
}
