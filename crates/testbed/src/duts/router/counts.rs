//! What the kernel's forwarding counts of packets that it dropped, read from `/proc/net`.
//!
//! # References
//! - `Documentation/networking/snmp_counter.rst`; `net/netfilter/nf_conntrack_standalone.c`

use super::super::cables::dropped;
use linerate_model::dut::{DutDrop, DutPlace};
use std::fs;

const IPV4: &str = "/proc/thread-self/net/snmp";
const IPV6: &str = "/proc/thread-self/net/snmp6";
const CONNTRACK: &str = "/proc/thread-self/net/stat/nf_conntrack";
/// IPv6 multicast groups of each interface.
pub(super) const GROUPS: &str = "/proc/thread-self/net/igmp6";

/// Packets that the calling thread's network dropped as a router, by reason. Reasons that this kernel does not count are
/// not in the list.
pub(super) fn read() -> Vec<DutDrop> {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let mut drops = ipv4(&text(IPV4));
    drops.extend(ipv6(&text(IPV6)));
    drops.extend(conntrack(&text(CONNTRACK)));
    drops
}

/// Reasons of IPv4 for which a router drops a packet.
const REASONS: [&str; 5] = [
    "InHdrErrors",
    "InAddrErrors",
    "InDiscards",
    "OutDiscards",
    "OutNoRoutes",
];

/// A line of names, then one of numbers.
fn ipv4(snmp: &str) -> Vec<DutDrop> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else {
        return Vec::new();
    };
    let counted = names.split(' ').zip(numbers.split(' '));
    counted
        .filter(|(name, _)| REASONS.contains(name))
        .filter_map(|(name, count)| Some(routing(&format!("Ip{name}"), count.parse().ok()?)))
        .collect()
}

/// A line for each name and number.
fn ipv6(snmp: &str) -> Vec<DutDrop> {
    let reasons = REASONS.iter().chain(&["InNoRoutes", "InTooBigErrors"]);
    let wanted: Vec<_> = reasons.map(|reason| format!("Ip6{reason}")).collect();
    let pairs = snmp.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    pairs
        .filter(|(name, _)| wanted.iter().any(|wanted| wanted == name))
        .filter_map(|(name, count)| Some(routing(name, count.parse().ok()?)))
        .collect()
}

fn routing(name: &str, packets: u64) -> DutDrop {
    dropped(DutPlace::Routing, name, packets)
}

/// A line of names, then one of hexadecimal numbers for each core.
fn conntrack(stat: &str) -> Vec<DutDrop> {
    let mut lines = stat.lines();
    let names: Vec<_> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let rows: Vec<Vec<_>> = lines
        .map(|line| line.split_whitespace().collect())
        .collect();
    let column = |name: &str| {
        let at = names.iter().position(|found| *found == name)?;
        let numbers = rows
            .iter()
            .filter_map(|row| u64::from_str_radix(row.get(at)?, 16).ok());
        Some(numbers.sum())
    };
    ["drop", "insert_failed"]
        .into_iter()
        .filter_map(|name| Some(dropped(DutPlace::Conntrack, name, column(name)?)))
        .collect()
}

/// Whether an interface has a membership report to send: the timer of a group runs, or the group is not yet reported.
pub(super) fn reports_are_due(groups: &str) -> bool {
    const TIMER_RUNNING: u32 = 1;
    groups.lines().any(|line| {
        let flags = line.split_whitespace().nth(4);
        let flags = flags.and_then(|flags| u32::from_str_radix(flags, 16).ok());
        flags.is_some_and(|flags| flags & TIMER_RUNNING != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(drops: &[DutDrop]) -> Vec<(&str, u64)> {
        let pairs = drops.iter();
        pairs
            .map(|drop| (drop.at.as_str(), drop.packets.get()))
            .collect()
    }

    #[test]
    fn reasons_of_both_families_are_found_by_name() {
        let snmp = "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors OutNoRoutes\n\
                    Ip: 1 64 900 3 4 5\nIcmp: InMsgs\nIcmp: 7\n";
        let wanted = [
            ("IpInHdrErrors", 3),
            ("IpInAddrErrors", 4),
            ("IpOutNoRoutes", 5),
        ];
        assert_eq!(found(&ipv4(snmp)), wanted);
        let snmp6 = "Ip6InReceives                   \t10\nIp6InNoRoutes                   \t2\n";
        assert_eq!(found(&ipv6(snmp6)), [("Ip6InNoRoutes", 2)]);
        assert_eq!(ipv4(""), []);
        assert_eq!(ipv4("Ip: InDiscards\n"), []);
    }

    #[test]
    fn connection_tracking_is_summed_over_cores() {
        let stat = "entries  clashres found insert insert_failed drop early_drop\n\
                    00000001 00000000 00000002 00000000 0000000a 00000001 00000009\n\
                    00000001 00000000 00000002 00000000 00000001 0000000f 00000009\n";
        assert_eq!(
            found(&conntrack(stat)),
            [("drop", 16), ("insert_failed", 11)]
        );
        assert_eq!(conntrack(""), []);
    }

    #[test]
    fn a_group_whose_timer_runs_has_a_report_to_send() {
        let group =
            |flags| format!("2    dut-a  ff020000000000000000000000000002     1 {flags} 0\n");
        assert!(reports_are_due(&group("00000005")));
        assert!(!reports_are_due(&group("00000006")));
    }
}
