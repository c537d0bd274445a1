//! Network interfaces of the calling thread's network namespace, by name.

use rustix::net::{AddressFamily, SocketType, netdevice, socket};

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
}
