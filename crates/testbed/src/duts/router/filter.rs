//! Rule sets of a router: their text, and what their counters say.
//!
//! Every rule before the last names a source address that the tester does not have (of 10.0.0.0/8 and `fd00::/8`), as
//! in a list of blocked addresses; the last lets pass what came in by a port of the device.

use super::super::programs::Program;
use super::{RuleCounts, Rules};
use crate::Result;
use std::collections::BTreeMap;
use std::fmt::Write as _;

linerate_model::named_enum! {
    /// The program that makes the rules.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Firewall {
        /// `nft`: a rule counts only what matches it.
        Nft = "nft",
        /// `iptables` on nftables: every rule counts.
        IptablesNft = "iptables-nft",
    }
}

/// A rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) firewall: Firewall,
    pub(super) rules: u32,
    pub(super) is_tracking: bool,
    pub(super) is_masquerading: bool,
}

pub(in super::super) const NFT: Program = Program::new("nft", "nftables");

const SAVE: [Program; 2] = [
    Program::new("iptables-nft-save", "iptables"),
    Program::new("ip6tables-nft-save", "iptables"),
];

const RESTORE: [Program; 2] = [
    Program::new("iptables-nft-restore", "iptables"),
    Program::new("ip6tables-nft-restore", "iptables"),
];

linerate_model::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Family {
        V4 = "ip",
        V6 = "ip6",
    }
}

impl Family {
    /// A source address that the tester does not have.
    fn blocked(self, number: u32) -> String {
        let [_, high, middle, low] = number.to_be_bytes();
        match self {
            Self::V4 => format!("10.{high}.{middle}.{low}"),
            Self::V6 => format!("fd00::{:x}:{:x}", number >> 16, number & 0xffff),
        }
    }
}

impl Filter {
    /// The programs that it needs.
    pub(super) fn programs(self) -> &'static [Program] {
        match self.firewall {
            _ if self.is_empty() => &[],
            Firewall::IptablesNft => &RESTORE,
            Firewall::Nft => &[NFT],
        }
    }

    pub(super) fn description(self) -> String {
        let firewall = self.firewall;
        let word = |is_on| if is_on { "on" } else { "off" };
        let rules = match self.rules {
            0 => "no rules".to_owned(),
            1 => format!("1 {firewall} rule"),
            rules => format!("{rules} {firewall} rules"),
        };
        format!(
            "{rules}, conntrack {}, NAT {}",
            word(self.is_tracking || self.is_masquerading),
            word(self.is_masquerading)
        )
    }

    /// Commands for `nft -f -`.
    fn nft(self, family: Family) -> String {
        let table = family.as_str();
        let mut text = format!(
            "{}table {table} linerate {{\ncounter matched {{ }}\ncounter unmatched {{ }}\ncounter invalid {{ }}\n\
             counter blocked {{ }}\n\
             chain forward {{\ntype filter hook forward priority filter; policy accept;\n",
            without_table(table)
        );
        if self.is_tracking {
            text.push_str("ct state invalid counter name invalid drop\n");
        }
        for number in 1..self.rules {
            let _ = writeln!(
                text,
                "{table} saddr {} counter name blocked drop",
                family.blocked(number)
            );
        }
        if self.rules > 0 {
            text.push_str(
                "iifname { \"dut-a\", \"dut-b\" } counter name matched accept\ncounter name unmatched drop\n",
            );
        }
        text.push_str("}\n");
        if self.is_masquerading && family == Family::V4 {
            text.push_str(
                "chain postrouting {\ntype nat hook postrouting priority srcnat;\n\
                 iifname \"dut-a\" oifname \"dut-b\" masquerade\n}\n",
            );
        }
        text.push_str("}\n");
        text
    }

    /// Input for `iptables-nft-restore`.
    fn iptables(self, family: Family) -> String {
        let mut text = "*filter\n:FORWARD ACCEPT [0:0]\n".to_owned();
        if self.is_tracking {
            text.push_str("-A FORWARD -m conntrack --ctstate INVALID -j DROP\n");
        }
        for number in 1..self.rules {
            let _ = writeln!(text, "-A FORWARD -s {} -j DROP", family.blocked(number));
        }
        if self.rules > 0 {
            text.push_str("-A FORWARD -i dut-+ -j ACCEPT\n-A FORWARD -j DROP\n");
        }
        text.push_str("COMMIT\n");
        if self.is_masquerading && family == Family::V4 {
            text.push_str(
                "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -o dut-b -j MASQUERADE\nCOMMIT\n",
            );
        }
        text
    }
}

impl Rules for Filter {
    fn make(&self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        for (family, restore) in Family::ALL.into_iter().zip(RESTORE) {
            match self.firewall {
                Firewall::IptablesNft => restore.run(&[], &self.iptables(family))?,
                Firewall::Nft => NFT.run(&["-f", "-"], &self.nft(family))?,
            };
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.rules == 0 && !self.is_tracking && !self.is_masquerading
    }

    fn remove(&self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        match self.firewall {
            Firewall::IptablesNft => {
                for restore in RESTORE {
                    restore.run(&[], "*filter\nCOMMIT\n*nat\nCOMMIT\n")?;
                }
                Ok(())
            }
            Firewall::Nft => without_tables(),
        }
    }

    fn read(&self) -> Result<RuleCounts> {
        let mut counts = RuleCounts::default();
        if self.is_empty() {
            return Ok(counts);
        }
        match self.firewall {
            Firewall::IptablesNft => {
                for (family, save) in Family::ALL.into_iter().zip(SAVE) {
                    let text = save.run(&["-c", "-t", "filter"], "")?;
                    counts.add(family.as_str(), iptables_counters(&text));
                }
            }
            Firewall::Nft => counts = nft_counters(&["ip", "ip6"])?,
        }
        Ok(counts)
    }
}

impl RuleCounts {
    /// Adds counters of a family: `matched` is what passed, all others what was dropped.
    fn add<'a>(&mut self, family: &str, counters: impl IntoIterator<Item = (&'a str, u64)>) {
        for (name, packets) in counters {
            let list = match name {
                "matched" => &mut self.accepted,
                _ => &mut self.dropped,
            };
            list.push((format!("{family} {name}"), packets));
        }
    }
}

/// Commands that delete the table `linerate` of a family, whether there is one or not.
pub(in super::super) fn without_table(family: &str) -> String {
    format!("table {family} linerate\ndelete table {family} linerate\n")
}

/// Deletes the tables `linerate` of both families.
pub(in super::super) fn without_tables() -> Result<()> {
    let text = Family::ALL.map(|family| without_table(family.as_str()));
    NFT.run(&["-f", "-"], &text.concat()).map(drop)
}

/// Counters of the table `linerate` of each family.
pub(in super::super) fn nft_counters(families: &[&str]) -> Result<RuleCounts> {
    let mut counts = RuleCounts::default();
    for family in families {
        let text = NFT.run(&["list", "counters", "table", family, "linerate"], "")?;
        counts.add(family, named_counters(&text));
    }
    Ok(counts)
}

/// Names and packets of the counters that `nft list counters` writes.
fn named_counters(text: &str) -> Vec<(&str, u64)> {
    let mut words = text.split_whitespace().peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if word != "counter" {
            continue;
        }
        let name = words.next();
        let packets = words
            .by_ref()
            .take_while(|word| *word != "}")
            .skip_while(|word| *word != "packets")
            .nth(1);
        if let (Some(name), Some(Ok(packets))) = (name, packets.map(str::parse)) {
            found.push((name, packets));
        }
    }
    found
}

/// Packets of the rules of chain `FORWARD` that `iptables-save -c` writes, by what the rule is for:
/// `[5000:500000] -A FORWARD -i dut-+ -j ACCEPT`.
fn iptables_counters(text: &str) -> BTreeMap<&'static str, u64> {
    let mut counted = BTreeMap::new();
    let rules = text.lines().filter_map(|line| {
        let (counts, rule) = line.strip_prefix('[')?.split_once("] -A FORWARD ")?;
        let packets: u64 = counts.split_once(':')?.0.parse().ok()?;
        Some((rule, packets))
    });
    for (rule, packets) in rules {
        let name = if rule.contains("INVALID") {
            "invalid"
        } else if rule.ends_with("ACCEPT") {
            "matched"
        } else if rule.contains("-s ") {
            "blocked"
        } else {
            "unmatched"
        };
        *counted.entry(name).or_default() += packets;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(rules: u32) -> Filter {
        Filter {
            firewall: Firewall::Nft,
            rules,
            is_tracking: false,
            is_masquerading: false,
        }
    }

    #[test]
    fn the_last_of_as_many_rules_as_asked_for_lets_the_testers_frames_pass() {
        for rules in [1, 2, 1000] {
            let text = filter(rules).nft(Family::V4);
            let blocked = text.lines().filter(|line| line.starts_with("ip saddr"));
            assert_eq!(blocked.count(), rules as usize - 1);
            let lines: Vec<_> = text.lines().collect();
            let last = lines.iter().rposition(|line| line.contains(" drop"));
            assert!(lines[last.unwrap() - 1].contains("matched accept"));
            let text = filter(rules).iptables(Family::V6);
            let all = text.lines().filter(|line| line.starts_with("-A FORWARD"));
            assert_eq!(all.count(), rules as usize + 1);
        }
        assert!(filter(0).programs().is_empty());
    }

    #[test]
    fn blocked_addresses_differ() {
        assert_eq!(Family::V4.blocked(70_000), "10.1.17.112");
        assert_eq!(Family::V6.blocked(70_000), "fd00::1:1170");
    }

    #[test]
    fn counters_are_read_by_name() {
        let text = "table ip linerate {\n\tcounter matched {\n\t\tpackets 5000 bytes 500000\n\t}\n\
                    \tcounter invalid {\n\t\tpackets 0 bytes 0\n\t}\n\tcounter cut {\n\t}\n}\n";
        assert_eq!(named_counters(text), [("matched", 5000), ("invalid", 0)]);
        let saved = "# by iptables-nft\n*filter\n:FORWARD ACCEPT [9:99]\n\
                     [1:40] -A FORWARD -m conntrack --ctstate INVALID -j DROP\n\
                     [2:80] -A FORWARD -s 10.0.0.1/32 -j DROP\n[3:120] -A FORWARD -s 10.0.0.2/32 -j DROP\n\
                     [5000:500000] -A FORWARD -i dut-+ -j ACCEPT\n[4:160] -A FORWARD -j DROP\nCOMMIT\n";
        let wanted = [
            ("blocked", 5),
            ("invalid", 1),
            ("matched", 5000),
            ("unmatched", 4),
        ];
        assert_eq!(iptables_counters(saved), BTreeMap::from(wanted));
    }
}
