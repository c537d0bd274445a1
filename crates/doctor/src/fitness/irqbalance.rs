//! irqbalance, the daemon that moves interrupts.

use super::{FitnessCheck, fine, found};
use linerate_model::doctor::{Finding, Severity};

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "irqbalance",
    summary: "Whether irqbalance runs and moves interrupts.",
    examine: |condition| {
        if !condition.irqbalance.clone()? {
            return Ok(fine("no process of that name is seen"));
        }
        Ok(found(Finding {
            severity: Severity::Medium,
            now: "irqbalance runs".to_owned(),
            cost: "it looks every 10 s by default and moves interrupts to other cores, also those that were placed by hand: a run has parts that are not alike"
                .to_owned(),
            source: Some("irqbalance(1), --interval".to_owned()),
            set: "systemctl stop irqbalance while measuring (linerate stops no service)".to_owned(),
            settings: Vec::new(),
        }))
    },
};
