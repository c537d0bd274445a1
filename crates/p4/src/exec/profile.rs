//! Members and groups of an action profile.

use super::table::Chosen;
use std::collections::BTreeMap;

/// The members of a profile, and the groups that a selector chooses from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    pub(crate) members: BTreeMap<u32, Chosen>,
    /// Members as often as they weigh.
    pub(crate) groups: BTreeMap<u32, Vec<u32>>,
}

impl Members {
    /// The member that a hash chooses from a group.
    pub(super) fn choose(&self, group: u32, hash: u64) -> Option<u32> {
        let members = self.groups.get(&group)?;
        let at = hash.checked_rem(members.len() as u64)?;
        members.get(usize::try_from(at).ok()?).copied()
    }
}
