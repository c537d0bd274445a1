//! Parts of a build by pattern: “IPv6”, “TCP”, “drivers”.

use crate::error::FootprintError;
use linerate_model::footprint::{
    FootprintGroup, FootprintNode, FootprintRegion, FootprintTotals, SectionClass, SectionPlace,
};
use regex_lite::Regex;

/// A name with its pattern.
#[derive(Debug, Clone)]
pub struct Group {
    name: String,
    pattern: Regex,
}

/// Built-in groups: common names of parts in network stacks.
pub const KNOWN: &[(&str, &str)] = &[
    (
        "IPv4",
        r"(^|[/_.])(ip4|ipv4|icmp|igmp|etharp|arp|autoip|dhcp)([_.]|$)",
    ),
    ("IPv6", r"ip6|ipv6|nd6|mld6|icmpv6|dhcp6|icmp6"),
    ("TCP", r"(^|[/_.])tcp(_|\.|$)"),
    ("UDP", r"(^|[/_.])udp(_|\.|$)"),
    (
        "buffers",
        r"(^|[/_.])(pbuf|memp?|net_buf|net_pkt|heap)(_|\.|$)",
    ),
    (
        "drivers",
        r"(^|/)drivers?(/|_|\.)|_driver|ethernetif|(^|[/_])eth_",
    ),
];

impl Group {
    /// Parses `NAME=PATTERN`, or a name in [`KNOWN`].
    pub fn parse(text: &str) -> Result<Self, FootprintError> {
        let given = text.split_once('=');
        let known = || {
            let named = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(text.trim());
            KNOWN.iter().find(named).copied()
        };
        let (name, pattern) = given.or_else(known).ok_or_else(|| FootprintError::Group {
            name: text.to_owned(),
            known: known_names(),
        })?;
        let name = name.trim();
        let pattern = Regex::new(pattern).map_err(|error| FootprintError::Pattern {
            name: name.to_owned(),
            pattern: pattern.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Self {
            name: name.to_owned(),
            pattern,
        })
    }
}

/// The names of [`KNOWN`].
fn known_names() -> String {
    let names: Vec<_> = KNOWN.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// Name of the group for everything without a match.
pub(crate) const OTHER: &str = "(other)";

/// Size of each group. A part counts for the first group whose pattern matches its path: archive, object or source, and
/// its own name, separated by slashes.
pub(crate) fn sum_up(regions: &[FootprintRegion], groups: &[Group]) -> Vec<FootprintGroup> {
    if groups.is_empty() {
        return Vec::new();
    }
    let empty = |name: &str, pattern: Option<&Regex>| FootprintGroup {
        name: name.to_owned(),
        pattern: pattern.map(ToString::to_string),
        parts: 0,
        totals: FootprintTotals::default(),
    };
    let mut sums: Vec<_> = groups
        .iter()
        .map(|group| empty(&group.name, Some(&group.pattern)))
        .collect();
    sums.push(empty(OTHER, None));
    let mut walk = Walk { groups, sums };
    let sections = regions.iter().flat_map(|region| &region.sections);
    for section in sections.filter(|section| section.place == SectionPlace::Run) {
        let mut path = String::new();
        for part in &section.parts {
            walk.part(part, &mut path, section.class);
        }
    }
    walk.sums
}

struct Walk<'a> {
    groups: &'a [Group],
    sums: Vec<FootprintGroup>,
}

impl Walk<'_> {
    fn part(&mut self, part: &FootprintNode, path: &mut String, class: SectionClass) {
        let before = path.len();
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(&part.name);
        if part.parts.is_empty() {
            let found = self
                .groups
                .iter()
                .position(|group| group.pattern.is_match(path));
            let sum = &mut self.sums[found.unwrap_or(self.groups.len())];
            sum.parts += 1;
            sum.totals.add(class, part.size);
        }
        for inner in &part.parts {
            self.part(inner, path, class);
        }
        path.truncate(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_groups_tell_the_parts_of_a_stack_apart() {
        let groups: Vec<_> = KNOWN
            .iter()
            .map(|(name, _)| Group::parse(name).unwrap())
            .collect();
        let cases = [
            ("liblwip.a/tcp_in.o/tcp_input", "TCP"),
            ("liblwip.a/ip6.o/ip6_input", "IPv6"),
            ("liblwip.a/nd6.o/nd6_tmr", "IPv6"),
            ("liblwip.a/ip4.o/ip4_input", "IPv4"),
            ("liblwip.a/udp.o/udp_send", "UDP"),
            ("liblwip.a/memp.o/memp_memory_PBUF_base", "buffers"),
            ("zephyr/drivers/ethernet/eth_nxp.c/eth_tx", "drivers"),
            ("libc.a/memcpy.o/memcpy", OTHER),
        ];
        for (path, want) in cases {
            let found = groups.iter().find(|group| group.pattern.is_match(path));
            assert_eq!(found.map_or(OTHER, |group| &group.name), want, "{path}");
        }
    }

    #[test]
    fn a_pattern_that_is_none_is_told() {
        let error = Group::parse("a=(").unwrap_err().to_string();
        assert!(
            error.contains("\"(\"") && error.contains("ip6|nd6"),
            "{error}"
        );
        let error = Group::parse("nothing").unwrap_err().to_string();
        assert!(error.contains("IPv6, TCP"), "{error}");
    }
}
