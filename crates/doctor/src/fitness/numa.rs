//! NUMA nodes of the interface and of the measuring core.

use super::{FitnessCheck, fine, found, setting, words};
use linerate_model::condition::Node;
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{Consent, Knob};

const BALANCING: &str = "kernel.numa_balancing";

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "numa",
    summary: "Memory node of the interface against that of the measuring core.",
    examine: |condition| {
        let nodes = condition.nodes.as_ref().map_err(Clone::clone)?;
        if nodes.len() < 2 {
            return Ok(fine("one memory node"));
        }
        let of_nic = condition.nic_node.clone()?;
        let at_nic = of_nic.and_then(|number| nodes.iter().find(|node| node.number == number));
        let mut now = Vec::new();
        let mut set = Vec::new();
        let mut settings = Vec::new();
        let mut severity = Severity::Low;
        if let Some(near) = at_nic
            && let Some(text) = far_away(condition.core, near, nodes)
        {
            severity = severity.min(if condition.core.is_some() {
                Severity::Medium
            } else {
                Severity::Low
            });
            now.push(text);
            set.push(format!("measure on {} (--cpu)", words::cores(&near.cores)));
        }
        if condition.sysctl(BALANCING).is_ok_and(|value| value != "0") {
            now.push("the kernel moves memory between nodes while programs run".to_owned());
            set.push(format!("sysctl -w {BALANCING}=0"));
            let knob = Knob::Sysctl {
                name: BALANCING.to_owned(),
            };
            settings.push(setting(Consent::Safe, knob, "0"));
        }
        if now.is_empty() {
            return Ok(fine(format!(
                "{} nodes; core and interface are near each other, or the interface belongs to none",
                nodes.len()
            )));
        }
        Ok(found(Finding {
            severity,
            now: now.join("; "),
            cost: "packets and their descriptors cross the link between sockets; moved pages are faults in the middle of a run"
                .to_owned(),
            source: Some("ACPI SLIT distances in sysfs node/nodeN/distance; Documentation/admin-guide/sysctl/kernel.rst".to_owned()),
            set: set.join("; "),
            settings,
        }))
    },
};

/// How far the core is from the interface; without a core, that it may be far.
fn far_away(core: Option<u32>, near: &Node, nodes: &[Node]) -> Option<String> {
    let Some(core) = core else {
        return Some(format!(
            "{} nodes, and no core was named: the interface is on node {}",
            nodes.len(),
            near.number
        ));
    };
    let (at, own) = nodes
        .iter()
        .enumerate()
        .find(|(_, node)| node.cores.has(core))?;
    if own.number == near.number {
        return None;
    }
    let distance = near.distances.get(at).map_or_else(String::new, |distance| {
        format!(", at distance {distance} where local is 10")
    });
    Some(format!(
        "core {core} is on node {}, the interface on node {}{distance}",
        own.number, near.number
    ))
}
