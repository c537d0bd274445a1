//! Packet filters in the path.

use super::{FitnessCheck, fine, found, words};
use linerate_model::doctor::{Finding, Severity};

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "firewall",
    summary: "Packet filters and connection tracking at the hooks of the stack.",
    examine: |condition| {
        let firewall = condition.firewall.as_ref().map_err(Clone::clone)?;
        let mut now = Vec::new();
        if !firewall.chains.is_empty() {
            let names = words::some(&firewall.chains, 3);
            now.push(format!("chains of nftables: {names}"));
        }
        if !firewall.legacy_tables.is_empty() {
            now.push(format!(
                "iptables tables {}",
                words::some(&firewall.legacy_tables, 4)
            ));
        }
        let tracked = firewall.tracked_connections.filter(|count| *count > 0);
        if let Some(count) = tracked {
            now.push(format!("{count} connections tracked"));
        }
        if now.is_empty() {
            return Ok(fine("no chain at any hook, no connection tracked"));
        }
        Ok(found(Finding {
            severity: if tracked.is_some() { Severity::Medium } else { Severity::Low },
            now: now.join("; "),
            cost: "each packet walks through the rules, and a tracked one is looked up in a table that all cores share; `linerate udp HOST --rate max --profile` shows the share of CPU time"
                .to_owned(),
            source: None,
            set: "measure in a network without rules, or let the test pass first: nft add rule … notrack in a raw chain for its ports; see `nft list ruleset`"
                .to_owned(),
            settings: Vec::new(),
        }))
    },
};
