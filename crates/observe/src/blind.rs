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

/// Random bytes of one session, by which the identities hidden in it differ from those of every other.
pub type Salt = [u8; 8];

/// Leaves out of `facts` what tells this host from others of its kind. Of its boot remains what another program of the same
/// boot [recognises](recognise), and who is told it twice, with different salts, cannot connect.
pub fn hide(facts: &mut Facts, salt: Salt) {
    facts.hostname = None;
    facts.pci_network_devices = None;
    facts.boot_id = facts.boot_id.as_deref().map(|boot| salted(boot, salt));
}

/// Writes the boot in a peer's `facts`, if it is this host's own, as it is written of this host.
pub fn recognise(facts: &mut Facts) {
    let own = || boot(&HostView::new(&Scope::live(None)));
    if let Some(own) = facts
        .boot_id
        .as_deref()
        .and_then(|boot| unsalted(boot, own))
    {
        facts.boot_id = Some(own);
    }
}

pub(crate) fn salted(identity: &str, salt: Salt) -> String {
    let salt = hex(&salt);
    format!("{salt}{SALT_END}{}", blind(&salt, identity))
}

/// The identity `own` if it is the `salted` one.
pub(crate) fn unsalted(salted: &str, own: impl FnOnce() -> Option<String>) -> Option<String> {
    let (salt, theirs) = salted.split_once(SALT_END)?;
    own().filter(|own| blind(salt, own) == theirs)
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
        let told = |boot: &str, salt: Salt| {
            let mut facts = Facts::default();
            facts.hostname = Some("lab-3".to_owned());
            facts.pci_network_devices = Some(vec!["0000:03:00.0 8086:1572".to_owned()]);
            facts.boot_id = Some(boot.to_owned());
            hide(&mut facts, salt);
            facts
        };
        let own = boot(&HostView::new(&Scope::live(None))).unwrap();
        let mut here = told(&own, [1; 8]);
        assert_eq!((&here.hostname, &here.pci_network_devices), (&None, &None));
        assert!(!here.boot_id.as_ref().unwrap().contains(&own));
        assert_ne!(here, told(&own, [2; 8]));
        recognise(&mut here);
        assert_eq!(here.boot_id, Some(own));
        let mut there = told(&blind("boot", "another"), [1; 8]);
        let before = there.clone();
        recognise(&mut there);
        assert_eq!(there, before);
        // An older server tells it as it is.
        let mut old: Facts = [("boot_id", "ab")].into_iter().collect();
        recognise(&mut old);
        assert_eq!(old.boot_id.as_deref(), Some("ab"));
    }
}
