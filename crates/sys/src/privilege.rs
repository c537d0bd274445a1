//! Privileges of this process, for error messages when the kernel refuses something.

use rustix::thread::{CapabilitySet, capabilities};

/// Capabilities that AF_XDP with an own program needs and the calling thread lacks.
pub fn lacking_for_xdp() -> Vec<&'static str> {
    let Ok(sets) = capabilities(None) else {
        return Vec::new();
    };
    // Before Linux 5.8 `CAP_SYS_ADMIN` covered loading programs, and it still does.
    let may_load = CapabilitySet::BPF | CapabilitySet::SYS_ADMIN;
    let needed = [
        ("CAP_NET_RAW", CapabilitySet::NET_RAW),
        ("CAP_NET_ADMIN", CapabilitySet::NET_ADMIN),
        ("CAP_BPF", may_load),
    ];
    let lacks = |any: CapabilitySet| !sets.effective.intersects(any);
    needed
        .into_iter()
        .filter_map(|(name, any)| lacks(any).then_some(name))
        .collect()
}

/// Whether the process is in its own user namespace, whose capabilities hold only there.
pub fn is_in_user_namespace() -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| is_partial(&map))
}

/// Whether an id map differs from the initial namespace's: all 2³² − 1 of them, unchanged.
fn is_partial(map: &str) -> bool {
    map.split_ascii_whitespace().collect::<Vec<_>>() != ["0", "0", "4294967295"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_namespace_is_told_by_its_map() {
        assert!(!is_partial("         0          0 4294967295\n"));
        assert!(is_partial("         0       1000          1\n"));
        assert!(is_partial("0 100000 65536\n"));
    }
}
