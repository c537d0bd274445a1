//! Interrupt coalescing, which delays frames.

use super::{FitnessCheck, fine, found, setting};
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{CoalescingPart, Consent, Knob};

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "coalescing",
    summary: "How long the interface holds back interrupts for received frames.",
    examine: |condition| {
        let now = condition.coalescing.clone()?;
        let interface = condition.interface.clone()?;
        let parts = [
            (CoalescingPart::AdaptiveRx, u32::from(now.is_adaptive), 0),
            (CoalescingPart::RxUsecs, now.rx_usecs, 0),
            // Zero for both would disable interrupts (linux/ethtool.h).
            (CoalescingPart::RxFrames, now.rx_frames, 1),
        ];
        let in_words = parts
            .map(|(part, value, _)| format!("{part} {value}"))
            .join(", ");
        let held: Vec<_> = parts
            .into_iter()
            .filter(|(_, value, most)| value > most)
            .collect();
        if held.is_empty() {
            return Ok(fine(in_words));
        }
        let mut cost = Vec::new();
        if now.rx_usecs > 0 {
            cost.push(format!(
                "a packet waits up to {} µs for its interrupt",
                now.rx_usecs
            ));
        }
        if now.rx_frames > 1 {
            cost.push(format!(
                "up to {} frames wait for each other",
                now.rx_frames
            ));
        }
        if now.is_adaptive {
            cost.push("the driver moves the time with the load, so latency at one load tells nothing about another".to_owned());
        }
        let commands = held
            .iter()
            .map(|(part, _, wanted)| format!("{part} {wanted}"));
        Ok(found(Finding {
            severity: Severity::Medium,
            now: in_words,
            cost: cost.join("; "),
            source: Some("linux/ethtool.h, struct ethtool_coalesce; ethtool(8), -C".to_owned()),
            set: format!(
                "for latency: ethtool -C {interface} {}; bulk transfers then take more interrupts and more CPU",
                commands.collect::<Vec<_>>().join(" ")
            ),
            settings: held
                .into_iter()
                .map(|(part, _, wanted)| {
                    let knob = Knob::Coalescing {
                        interface: interface.clone(),
                        part,
                    };
                    setting(Consent::Safe, knob, wanted.to_string())
                })
                .collect(),
        }))
    },
};
