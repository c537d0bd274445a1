//! Identities of this host that others may compare but not read.

use linerate_model::hex;
use sha2::{Digest as _, Sha256};

/// Bytes of the hash that are kept: enough that no two hosts share one.
const KEPT: usize = 16;

/// The hash of an identity as hexadecimal digits. `purpose` keeps those of one identity for several uses apart. The kernel's
/// boot id is random, so whoever does not know it finds nothing by trying.
pub(crate) fn blind(purpose: &str, identity: &str) -> String {
    let hash = Sha256::new_with_prefix(format!("linerate {purpose} {identity}")).finalize();
    hex(&hash[..KEPT])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_identities_are_equal_and_tell_nothing() {
        let id = "2c4e8f0a-0000-4000-8000-0123456789ab";
        assert_eq!(blind("boot", id), blind("boot", id));
        assert_ne!(blind("boot", id), blind("clock", id));
        assert_eq!(blind("boot", id).len(), 2 * KEPT);
        assert!(!blind("boot", id).contains("2c4e8f0a"));
    }
}
