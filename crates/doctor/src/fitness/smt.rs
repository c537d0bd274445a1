//! SMT: logical cores that share a physical one.

use super::{FitnessCheck, fine, found, words};
use linerate_model::doctor::{Finding, Severity};

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "smt",
    summary: "Logical cores that share one physical core.",
    examine: |condition| {
        let groups = condition.siblings.as_ref().map_err(Clone::clone)?;
        let concerned = match condition.core {
            Some(core) => groups.iter().find(|group| group.has(core)),
            None => groups.first(),
        };
        let Some(group) = concerned else {
            return Ok(fine(match condition.core {
                Some(core) => format!("core {core} has no sibling"),
                None => "no core has a sibling".to_owned(),
            }));
        };
        Ok(found(Finding {
            severity: if condition.core.is_some() {
                Severity::Medium
            } else {
                Severity::Low
            },
            now: match condition.core {
                Some(core) => format!("core {core} shares its physical core: {}", words::cores(group)),
                None => format!(
                    "{} physical cores are shared, the first by {}",
                    groups.len(),
                    words::cores(group)
                ),
            },
            cost: "whatever runs on the sibling takes execution units and cache from the measuring thread; nothing counts it"
                .to_owned(),
            source: None,
            set: "leave the sibling idle: isolate both, or echo off > /sys/devices/system/cpu/smt/control; of two pinned ends, give each a physical core"
                .to_owned(),
            settings: Vec::new(),
        }))
    },
};
