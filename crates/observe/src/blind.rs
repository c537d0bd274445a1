//! Identities of this host that others may compare but not read.

use crate::host_view::{HostView, Scope};
use crate::text::tidy;
use linerate_model::facts::Facts;
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

/// The identity of this host's boot that all clients with a key are told.
pub(crate) fn boot(host: &HostView<'_>) -> Option<String> {
    let id = host.read("proc/sys/kernel/random/boot_id").ok();
    id.and_then(|id| tidy(&id)).map(|id| blind("boot", &id))
}

/// Leaves out of `facts` what tells this host from others of its kind. Of its boot remains what another program of the same
/// boot [recognises](recognise), and who is told it twice, with different salts, cannot connect.
pub fn hide(facts: &mut Facts, salt: &[u8]) {
    facts.hostname = None;
    facts.pci_network_devices = None;
    let salt = hex(salt);
    let salted = |boot: String| format!("{salt}{SALT_END}{}", blind(&salt, &boot));
    facts.boot_id = facts.boot_id.take().map(salted);
}

/// Writes the boot in a peer's `facts`, if it is this host's own, as it is written of this host.
pub fn recognise(facts: &mut Facts) {
    let salted = facts
        .boot_id
        .as_ref()
        .and_then(|boot| boot.split_once(SALT_END));
    if let Some((salt, theirs)) = salted
        && let Some(own) = boot(&HostView::new(&Scope::live(None)))
        && blind(salt, &own) == theirs
    {
        facts.boot_id = Some(own);
    }
}

/// What stands between the salt and the hash of a hidden identity.
const SALT_END: char = ':';

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

    #[test]
    fn who_shows_no_key_recognises_its_own_host_and_no_other() {
        let told = |boot: &str, salt: &[u8]| {
            let mut facts = Facts::default();
            facts.hostname = Some("lab-3".to_owned());
            facts.pci_network_devices = Some(vec!["0000:03:00.0 8086:1572".to_owned()]);
            facts.boot_id = Some(boot.to_owned());
            hide(&mut facts, salt);
            facts
        };
        let own = boot(&HostView::new(&Scope::live(None))).unwrap();
        let mut here = told(&own, &[1; 8]);
        assert_eq!((&here.hostname, &here.pci_network_devices), (&None, &None));
        assert!(!here.boot_id.as_ref().unwrap().contains(&own));
        assert_ne!(here, told(&own, &[2; 8]));
        recognise(&mut here);
        assert_eq!(here.boot_id, Some(own));
        let mut there = told(&blind("boot", "another"), &[1; 8]);
        let before = there.clone();
        recognise(&mut there);
        assert_eq!(there, before);
        // An older server tells it as it is.
        let mut old: Facts = [("boot_id", "ab")].into_iter().collect();
        recognise(&mut old);
        assert_eq!(old.boot_id.as_deref(), Some("ab"));
    }
}
