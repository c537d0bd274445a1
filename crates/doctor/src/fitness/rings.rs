//! Ring sizes of the interface.

use super::{FitnessCheck, fine, found, setting, words};
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{Consent, Knob, RingPart};

/// Maximum descriptors proposed: more would thrash the cache.
const MAX_DESCRIPTORS: u32 = 1024;
/// Bits of a maximum-length Ethernet frame at L1.
const FRAME_BITS: f64 = 1538.0 * 8.0;

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "rings",
    summary: "Descriptors of the interface's rings against the most that its driver takes.",
    examine: |condition| {
        let rings = condition.rings.clone()?;
        let interface = condition.interface.clone()?;
        let all = [
            (RingPart::Rx, rings.rx, rings.rx_max.min(MAX_DESCRIPTORS)),
            (RingPart::Tx, rings.tx, rings.tx_max.min(MAX_DESCRIPTORS)),
        ];
        let now = format!(
            "rx {} of {}, tx {} of {}",
            rings.rx, rings.rx_max, rings.tx, rings.tx_max
        );
        let small: Vec<_> = all
            .into_iter()
            .filter(|(_, now, wanted)| now < wanted)
            .collect();
        if small.is_empty() {
            return Ok(fine(now));
        }
        let (speed, at) = words::speed(condition);
        let fills = f64::from(rings.rx) * FRAME_BITS / speed.as_f64().max(1.0);
        Ok(found(Finding {
            severity: Severity::Low,
            now,
            cost: format!(
                "{at} full frames fill the receive ring in {}: a core that comes later loses packets in the NIC",
                words::time(fills)
            ),
            source: Some(
                "ethtool(8), -g; the time follows from 1538 bytes a frame at L1".to_owned(),
            ),
            set: format!(
                "ethtool -G {interface} rx {} tx {} (most drivers take the link down for it: --apply --only rings)",
                all[0].1.max(all[0].2),
                all[1].1.max(all[1].2)
            ),
            settings: small
                .into_iter()
                .map(|(part, _, wanted)| {
                    let knob = Knob::Ring {
                        interface: interface.clone(),
                        part,
                    };
                    setting(Consent::Named, knob, wanted.to_string())
                })
                .collect(),
        }))
    },
};
