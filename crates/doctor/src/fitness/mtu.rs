//! MTU of the interface.

use super::{FitnessCheck, fine, found};
use linerate_model::doctor::{Finding, Severity};

/// MTU of Ethernet.
const ETHERNET: u32 = 1500;
/// IPv4 and TCP headers without options.
const HEADERS: f64 = 40.0;
/// Ethernet header, FCS, preamble and gap.
const FRAME: f64 = 38.0;

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "mtu",
    summary: "The longest IP packet that the interface takes.",
    examine: |condition| {
        let mtu = condition.mtu_bytes.clone()?;
        let share = |mtu: u32| (f64::from(mtu) - HEADERS) / (f64::from(mtu) + FRAME) * 100.0;
        let now = format!(
            "{mtu} bytes: TCP payload is {:.1} % of what an Ethernet carries",
            share(mtu).max(0.0)
        );
        if mtu >= ETHERNET {
            return Ok(fine(now));
        }
        Ok(found(Finding {
            severity: Severity::Low,
            now,
            cost: format!(
                "{:.1} % with {ETHERNET} bytes, and fewer packets for the same bytes; datagrams above {} bytes of payload are fragmented",
                share(ETHERNET),
                mtu.saturating_sub(28)
            ),
            source: Some("RFC 791, RFC 9293 and IEEE 802.3 header lengths".to_owned()),
            set: "if no tunnel needs the room: ip link set dev … mtu 1500 at both ends".to_owned(),
            settings: Vec::new(),
        }))
    },
};
