//! Network interfaces of the calling thread's network namespace, by name.

use rustix::net::{AddressFamily, SocketType, netdevice, socket};

/// Names of the interfaces that have an IPv6 link-local address, in the kernel's order; none if they cannot be read.
pub fn with_link_local() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    link_local(&table)
}

/// The names in the kernel's table: address, interface's number, prefix length, scope, flags and name.
fn link_local(table: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in table.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let [_, _, _, LINK_SCOPE, _, name] = words[..]
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether this host talks IP through the interface called `name`: it has an IPv4 route, or an IPv6 address that is not
/// link-local.
pub fn is_used_by_host(name: &str) -> bool {
    let read = |table| std::fs::read_to_string(format!("/proc/thread-self/net/{table}"));
    let routes = read("route").unwrap_or_default();
    let addresses = read("if_inet6").unwrap_or_default();
    has_route(&routes, name) || has_wide_address(&addresses, name)
}

/// Whether the kernel's table, whose lines begin with an interface's name, has a route through `name`.
fn has_route(table: &str, name: &str) -> bool {
    let mut names = table
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names.any(|known| known == name)
}

/// Whether `name` has an address in the kernel's table that is not of link-local scope.
fn has_wide_address(table: &str, name: &str) -> bool {
    table.lines().any(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        matches!(words[..], [_, _, _, scope, _, known] if known == name && scope != LINK_SCOPE)
    })
}

/// The kernel's number of link-local scope (RFC 4007 §4).
const LINK_SCOPE: &str = "20";

/// The index of the interface called `name`; `None` if there is none.
pub fn index_of(name: &str) -> Option<u32> {
    let probe = socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    netdevice::name_to_index(&probe, name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_and_nonsense_is_not() {
        assert!(index_of("lo").is_some());
        assert_eq!(index_of("no-such-if"), None);
    }

    #[test]
    fn an_interface_is_used_with_a_route_or_a_wide_address() {
        let routes = "Iface\tDestination\tGateway\neth0\t00000000\t0202000A\n";
        assert!(has_route(routes, "eth0"));
        assert!(!has_route(routes, "eth"));
        let addresses = "fe8000000000000040cb17fffe000001 05 40 20 80     eth0\n\
                         fd770000000000000000000000000001 06 40 00 80     eth1\n";
        assert!(!has_wide_address(addresses, "eth0"));
        assert!(has_wide_address(addresses, "eth1"));
    }

    #[test]
    fn interfaces_with_a_link_local_address_are_named_once() {
        let table = "fe8000000000000040cb17fffe000001 05 40 20 80     eth0\n\
                     00000000000000000000000000000001 01 80 10 80       lo\n\
                     fd770000000000000000000000000001 05 40 00 80     eth0\n\
                     fe80000000000000000000000000beef 05 40 20 80     eth0\n\
                     fe80000000000000000000000000cafe 07 40 20 80    wlan0\n\
                     cut off";
        assert_eq!(link_local(table), ["eth0", "wlan0"]);
    }
}
