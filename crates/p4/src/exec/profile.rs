//! Members and groups of an action profile.

use super::choices::{GroupMember, Weighted};
use super::table::Chosen;
use std::collections::{BTreeMap, BTreeSet};

/// A group of members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) members: Vec<GroupMember>,
    pub(crate) room: u32,
    live: Weighted,
}

impl Group {
    pub(super) fn new(members: Vec<GroupMember>, room: u32, down: &BTreeSet<u32>) -> Self {
        let mut group = Self {
            members,
            room,
            live: Weighted::default(),
        };
        group.refresh(down);
        group
    }

    pub(super) fn refresh(&mut self, down: &BTreeSet<u32>) {
        let members = self.members.iter();
        self.live = Weighted::new(
            members.map(|member| (member.id, member.weight, member.watch)),
            down,
        );
    }
}

/// The members of a profile, and the groups that a selector chooses from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    pub(crate) by_id: BTreeMap<u32, Chosen>,
    pub(crate) groups: BTreeMap<u32, Group>,
    /// How many entries and defaults refer to a member, or to a group.
    pub(super) member_uses: BTreeMap<u32, u32>,
    pub(super) group_uses: BTreeMap<u32, u32>,
    /// How many entries have choices of their own.
    pub(super) choices: u32,
}

impl Members {
    /// The member that a hash chooses from a group.
    pub(super) fn choose(&self, group: u32, hash: u64) -> Option<u32> {
        self.groups.get(&group)?.live.choose(hash)
    }

    /// Counts what an entry refers to.
    pub(super) fn refer(&mut self, to: &Chosen) {
        match to {
            Chosen::Member(id) => *self.member_uses.entry(*id).or_default() += 1,
            Chosen::Group(id) => *self.group_uses.entry(*id).or_default() += 1,
            Chosen::Choices(_) => self.choices += 1,
            Chosen::Action { .. } => {}
        }
    }

    /// Takes back what [`Self::refer`] counted.
    pub(super) fn release(&mut self, to: &Chosen) {
        let less = |uses: &mut BTreeMap<u32, u32>, id: u32| match uses.get_mut(&id) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(uses.remove(&id)),
        };
        match to {
            Chosen::Member(id) => less(&mut self.member_uses, *id),
            Chosen::Group(id) => less(&mut self.group_uses, *id),
            Chosen::Choices(_) => self.choices = self.choices.saturating_sub(1),
            Chosen::Action { .. } => {}
        }
    }
}
