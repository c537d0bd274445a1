//! Offloads to the device or the lower stack.

use super::{FitnessCheck, fine, found};
use linerate_model::doctor::{Finding, Severity};

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "offloads",
    summary: "Segmentation, aggregation and checksums that the device or the lower stack does.",
    examine: |condition| {
        let now = condition.offloads.clone()?;
        let interface = condition.interface.clone()?;
        let wanted = [
            ("tso", now.tcp_segmentation),
            ("gso", now.generic_segmentation),
            ("gro", now.generic_receive),
            ("rx", now.receive_checksum),
            ("tx", now.transmit_checksum),
        ];
        let off: Vec<_> = wanted
            .iter()
            .filter(|(_, on)| !on)
            .map(|(name, _)| *name)
            .collect();
        let mut cost = Vec::new();
        let mut set = Vec::new();
        if !off.is_empty() {
            cost.push("every segment passes the whole stack by itself, where one of 64 KiB could: 45 passes of 1448 bytes instead of one".to_owned());
            let words: Vec<_> = off.iter().map(|name| format!("{name} on")).collect();
            set.push(format!("ethtool -K {interface} {}", words.join(" ")));
        }
        if now.large_receive {
            cost.push("with lro the device joins segments before anybody sees them: packets are counted too low, and forwarding breaks".to_owned());
            set.push(format!("ethtool -K {interface} lro off"));
        }
        if cost.is_empty() {
            return Ok(fine("tso, gso, gro and checksums on, lro off"));
        }
        let lro = if now.large_receive { "; lro on" } else { "" };
        Ok(found(Finding {
            severity: Severity::Low,
            now: if off.is_empty() {
                "lro on".to_owned()
            } else {
                format!("off: {}{lro}", off.join(", "))
            },
            cost: cost.join("; "),
            source: Some("Documentation/networking/segmentation-offloads.rst".to_owned()),
            set: format!(
                "{}, unless frames as on a wire are what is to be measured",
                set.join("; ")
            ),
            settings: Vec::new(),
        }))
    },
};
