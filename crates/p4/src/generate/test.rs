//! A generated program's rules and packet as a packet test.

use super::Generated;
use super::rules::{Rule, RuleAction, Traffic};
use crate::exec::Match;
use linerate_model::hex;
use std::fmt::Write as _;

/// Packets of a test, each of another key where there are keys.
const PACKETS: u32 = 3;

impl Generated {
    /// Rules, packets, and on which ports how many packets are expected, in STF form. What STF has no form for, such as
    /// members of action profiles and rates of meters, is a comment: without it the packets pass too.
    pub fn stf(&self) -> String {
        let mut text = format!("# {}\n", self.name);
        let mut nodes = 0;
        for rule in &self.rules {
            statement(&mut text, rule, &mut nodes);
        }
        let clones = self.rules.iter().find_map(|rule| match rule {
            Rule::Session { copies, .. } => Some(*copies),
            _ => None,
        });
        let clones = clones.unwrap_or(0);
        let packets = self.traffic.keys.map_or(1, |(_, count)| count.min(PACKETS));
        for number in 0..packets {
            let mut packet = self.traffic.packet.clone();
            Traffic::choose(&mut packet, self.traffic.keys, number);
            let _ = writeln!(text, "packet 0 {}", hex(&packet));
            text.push_str(&"expect 2\n".repeat(clones as usize));
            text.push_str(&"expect 1\n".repeat((self.traffic.outputs - clones) as usize));
        }
        text
    }
}

fn statement(text: &mut String, rule: &Rule, nodes: &mut u32) {
    let _ = match rule {
        Rule::Entry {
            table,
            key,
            priority,
            does: RuleAction::Action(action, _),
            ..
        } => {
            let priority = match key.as_slice() {
                [Match::Ternary { .. } | Match::Range { .. }] => format!("{priority} "),
                _ => String::new(),
            };
            let key: Vec<_> = key.iter().map(value).collect();
            let key = key.join(" key.value:");
            writeln!(text, "add {table} {priority}key.value:{key} {action}()")
        }
        Rule::Multicast { group, copies } => {
            let _ = writeln!(text, "mc_mgrp_create {group}");
            replicas(text, *group, 1, *copies, nodes);
            Ok(())
        }
        Rule::Session { id, copies } => {
            let _ = writeln!(text, "mc_mgrp_create {id}");
            replicas(text, *id, 2, *copies, nodes);
            writeln!(text, "mirroring_add_mc {id} {id}")
        }
        Rule::Entry { table, .. } => {
            writeln!(text, "# table {table}: an entry of a member or group")
        }
        Rule::Members { count, .. } => writeln!(text, "# {count} members of an action profile"),
        Rule::Meter { .. } => writeln!(text, "# rates of a meter"),
    };
}

/// Nodes of a group: one per copy, since a node has a port once.
fn replicas(text: &mut String, group: u32, port: u32, copies: u32, nodes: &mut u32) {
    for instance in 0..copies {
        let _ = writeln!(
            text,
            "mc_node_create {instance} {port}\nmc_node_associate {group} {nodes}"
        );
        *nodes += 1;
    }
}

fn value(key: &Match) -> String {
    match key {
        Match::Exact(value) => format!("0x{}", hex(value)),
        Match::Lpm { value, prefix } => format!("0x{}/{prefix}", hex(value)),
        Match::Ternary { value, mask } => format!("0x{}&&&0x{}", hex(value), hex(mask)),
        Match::Range { low, high } => format!("0x{}..0x{}", hex(low), hex(high)),
        Match::Valid(valid) => u8::from(*valid).to_string(),
        Match::Any => "0x00000000&&&0x00000000".to_owned(),
    }
}
