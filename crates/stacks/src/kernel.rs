//! The Linux kernel of this host, in its own network namespace with given settings.

use crate::KERNEL_SERVER;
use crate::kind::{Buffers, StackKind};
use crate::link::Attachment;
use crate::options::Options;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::stack::{StackCounts, StackTraffic};
use std::collections::BTreeMap;
use std::fs;

/// Prefixes of settings that are per network namespace.
const OWN: [&str; 2] = ["net.ipv4.", "net.ipv6."];

/// The registry entry.
pub(crate) static KIND: StackKind = StackKind {
    id: "kernel",
    summary: "This host's Linux kernel in a network namespace of its own; options: buffers, and sysctls of net.ipv4 and net.ipv6.",
    check,
    attachment: |_| Attachment::Veth,
    arguments: |_, _| vec![KERNEL_SERVER.to_owned()],
    configure,
    ..StackKind::OWN
};

/// Checks the names of the options.
fn check(options: &Options) -> Result<(), String> {
    Buffers::of(options)?;
    let mut names = options.keys().filter(|name| *name != "buffers");
    let is_known = |name: &String| OWN.iter().any(|own| name.starts_with(own));
    let is_path = |name: &String| name.contains("..") || name.contains('/');
    match names.find(|name| !is_known(name) || is_path(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "\"{name}\" is not an option; there are buffers, and sysctls of a namespace such as net.ipv4.tcp_rmem or net.ipv6.conf.all.mtu"
        )),
    }
}

fn configure(options: &Options) -> Result<(), Failure> {
    settings(options).into_iter().try_for_each(|(name, value)| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        fs::write(&path, &value).map_err(|error| {
            let message = format!("setting {name} = {value} for the stack kernel: {error}");
            Failure::new(ExitCode::HostLacks, message)
        })
    })
}

/// Sysctls that the options set, with their values.
fn settings(options: &Options) -> Vec<(String, String)> {
    // Half of a kernel buffer is window; the other half is overhead.
    let buffers = Buffers::of(options).ok().flatten();
    let window = buffers.map(|buffers| buffers.window() * 2);
    let sizes = window.into_iter().flat_map(|bytes| {
        ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]
            .map(|name| (name.to_owned(), format!("4096 {bytes} {bytes}")))
    });
    let given = options.iter().filter(|(name, _)| *name != "buffers");
    // Lists are written with commas, since addresses hold no spaces.
    let given = given.map(|(name, value)| (name.clone(), value.replace(',', " ")));
    sizes.chain(given).collect()
}

/// Counters of the calling thread's network namespace, with the payload of a program on it.
pub fn kernel_counts(tcp: StackTraffic, udp: StackTraffic) -> StackCounts {
    StackCounts {
        version: linerate_sys::netns::sysctl("kernel.osrelease"),
        tcp: Some(tcp),
        udp: Some(udp),
        counters: kernel_counters(),
        ..StackCounts::default()
    }
}

/// The kernel's counters in the calling thread's network namespace.
pub(crate) fn kernel_counters() -> Counters {
    let read = |name: &str| {
        // A missing file has no counters.
        fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default()
    };
    let mut counters = paired(&read("snmp"));
    counters.extend(paired(&read("netstat")));
    counters.extend(single(&read("snmp6")));
    counters
}

type Counters = BTreeMap<String, BTreeMap<String, u64>>;

/// Parses pairs of lines, names and values: `Udp: InDatagrams …` and `Udp: 5 …`.
fn paired(text: &str) -> Counters {
    let mut lines = text.lines();
    let mut all = Counters::new();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let mut names = names.split_whitespace();
        let Some(layer) = names.next().and_then(|name| name.strip_suffix(':')) else {
            continue;
        };
        let values = values.split_whitespace().skip(1);
        let pairs = names.zip(values);
        let read = |(name, value): (&str, &str)| Some((name.to_owned(), value.parse().ok()?));
        all.insert(layer.to_lowercase(), pairs.filter_map(read).collect());
    }
    all
}

/// Parses one counter per line: `Udp6InDatagrams 5`.
fn single(text: &str) -> Counters {
    let mut all = Counters::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(Ok(value))) = (words.next(), words.next().map(str::parse)) else {
            continue;
        };
        let layer = ["Ip6", "Icmp6", "Udp6"]
            .into_iter()
            .find(|layer| name.starts_with(layer));
        if let Some(layer) = layer {
            let name = name[layer.len()..].to_owned();
            all.entry(layer.to_lowercase())
                .or_default()
                .insert(name, value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> Options {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        given.iter().map(owned).collect()
    }

    #[test]
    fn buffers_are_windows_and_sysctls_are_written_as_they_are() {
        let wanted = options(&[("buffers", "base"), ("net.ipv4.tcp_mem", "1,2,3")]);
        let found = settings(&wanted);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found,
            [
                pair("net.ipv4.tcp_rmem", "4096 11680 11680"),
                pair("net.ipv4.tcp_wmem", "4096 11680 11680"),
                pair("net.ipv4.tcp_mem", "1 2 3"),
            ]
        );
        assert!(settings(&Options::new()).is_empty());
    }

    #[test]
    fn only_settings_of_a_namespace_are_options() {
        for name in ["net.core.rmem_max", "kernel.panic", "net.ipv4./../x", "opt"] {
            assert!(check(&options(&[(name, "1")])).is_err(), "{name}");
        }
        assert_eq!(check(&options(&[("net.ipv4.tcp_sack", "0")])), Ok(()));
    }

    #[test]
    fn counters_are_read_in_both_forms() {
        let two = paired("Udp: InDatagrams NoPorts\nUdp: 5 -1\nTcp: InSegs\nTcp: 7\n");
        assert_eq!(two["udp"]["InDatagrams"], 5);
        assert!(!two["udp"].contains_key("NoPorts"));
        assert_eq!(two["tcp"]["InSegs"], 7);
        let one = single("Ip6InOctets 12\nUdp6InDatagrams 3\nUdpLite6InDatagrams 9\nx\n");
        assert_eq!(
            (one["ip6"]["InOctets"], one["udp6"]["InDatagrams"]),
            (12, 3)
        );
        assert_eq!(one.len(), 2);
    }
}
