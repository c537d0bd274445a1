//! Busy polling of the device by sockets.

use super::{FitnessCheck, fine, found, setting};
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{Consent, Knob};

/// Value recommended by the kernel's documentation for several sockets, in µs.
const RECOMMENDED: &str = "50";
const NAMES: &[&str] = &["net.core.busy_poll", "net.core.busy_read"];

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "busy-poll",
    summary: "Whether sockets poll the device by default while they wait.",
    examine: |condition| {
        let mut off = Vec::new();
        let mut now = Vec::new();
        for name in NAMES {
            let value = condition.sysctl(name)?;
            now.push(format!("{name} {value}"));
            if value == "0" {
                off.push((*name).to_owned());
            }
        }
        if off.is_empty() {
            return Ok(fine(now.join(", ")));
        }
        let commands: Vec<_> = off
            .iter()
            .map(|name| format!("{name}={RECOMMENDED}"))
            .collect();
        Ok(found(Finding {
            severity: Severity::Low,
            now: now.join(", "),
            cost: "only sockets that ask for it poll the device (`--wait busy-poll`, which takes CAP_NET_ADMIN); all others wait for the interrupt and the wake-up"
                .to_owned(),
            source: Some("Documentation/admin-guide/sysctl/net.rst, busy_poll and busy_read".to_owned()),
            set: format!(
                "for latency at the price of CPU in every program: sysctl -w {} (--apply --only busy-poll)",
                commands.join(" ")
            ),
            settings: off
                .into_iter()
                .map(|name| setting(Consent::Named, Knob::Sysctl { name }, RECOMMENDED))
                .collect(),
        }))
    },
};
