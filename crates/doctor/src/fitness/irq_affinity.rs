//! Affinity of the interface's interrupts.

use super::{FitnessCheck, fine, found, setting, words};
use linerate_model::condition::{Condition, CoreSet, Interrupt};
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{Consent, Knob};

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "irq-affinity",
    summary: "Cores that the interface's interrupts come to.",
    examine: |condition| {
        let interrupts = condition.interrupts.as_ref().map_err(Clone::clone)?;
        if interrupts.is_empty() {
            return Err(
                "no line of /proc/interrupts names the interface, which may have no hardware"
                    .to_owned(),
            );
        }
        let loose: Vec<_> = interrupts
            .iter()
            .filter(|i| i.allowed.0.len() > 1)
            .collect();
        let hits: Vec<_> = interrupts
            .iter()
            .filter(|i| hits(i, condition.core))
            .collect();
        if loose.is_empty() && hits.is_empty() {
            return Ok(fine(format!(
                "{} interrupts, each on one core",
                interrupts.len()
            )));
        }
        let settings: Vec<_> = interrupts
            .iter()
            .filter(|i| i.allowed.0.len() > 1 || self::hits(i, condition.core))
            .filter_map(|interrupt| {
                let core = place(interrupt, condition)?;
                let knob = Knob::InterruptAffinity {
                    interrupt: interrupt.number,
                };
                Some(setting(Consent::Safe, knob, core.to_string()))
            })
            .collect();
        let mut now = Vec::new();
        if let (Some(core), false) = (condition.core, hits.is_empty()) {
            now.push(format!(
                "core {core} is to measure and serves {}",
                names(&hits)
            ));
        }
        if !loose.is_empty() {
            now.push(format!(
                "{} of {} interrupts may move: {}",
                loose.len(),
                interrupts.len(),
                names(&loose)
            ));
        }
        Ok(found(Finding {
            severity: if hits.is_empty() { Severity::Low } else { Severity::Medium },
            now: now.join("; "),
            cost: "an interrupt takes its core from the thread there, and the packet is in that core's cache; where it moves during a run, one half of the run is not like the other"
                .to_owned(),
            source: Some("Documentation/core-api/irq/irq-affinity.rst".to_owned()),
            set: "write one core each to /proc/irq/N/smp_affinity_list: that where it comes to now, or another than the measuring one"
                .to_owned(),
            settings,
        }))
    },
};

fn names(interrupts: &[&Interrupt]) -> String {
    let each: Vec<_> = interrupts
        .iter()
        .map(|i| format!("{} ({})", i.number, i.name))
        .collect();
    words::some(&each, 3)
}

/// Whether it is routed to the measuring core.
fn hits(interrupt: &Interrupt, core: Option<u32>) -> bool {
    let comes_to = interrupt.effective.as_ref().unwrap_or(&interrupt.allowed);
    core.is_some_and(|core| comes_to.has(core))
}

/// Core to pin it to: the present one, else another of the interface's NUMA node that is neither the measuring core nor
/// isolated.
fn place(interrupt: &Interrupt, condition: &Condition) -> Option<u32> {
    if !hits(interrupt, condition.core)
        && let Some(now) = &interrupt.effective
        && let Some(core) = now.0.first()
    {
        return Some(*core);
    }
    let online = condition.cores.as_ref().ok()?;
    let isolated = condition.isolated.as_ref().ok();
    let is_free = |core: &&u32| {
        condition.core != Some(**core) && !isolated.is_some_and(|set| set.has(**core))
    };
    let near = near_cores(condition);
    let of_node = near
        .iter()
        .flat_map(|set| set.0.iter())
        .filter(|core| online.has(**core));
    of_node.chain(&online.0).find(is_free).copied()
}

fn near_cores(condition: &Condition) -> Option<&CoreSet> {
    let number = (*condition.nic_node.as_ref().ok()?)?;
    let nodes = condition.nodes.as_ref().ok()?;
    nodes
        .iter()
        .find(|node| node.number == number)
        .map(|node| &node.cores)
}
