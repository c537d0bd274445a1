//! Action profiles as a control plane writes them: members, groups, and actions of one entry.

use super::choices::{Choices, GroupMember, StoredChoice};
use super::control::put;
use super::entity::{
    Choice, Entity, Invocation, Update, UpdateKind, WriteError, Written as Result,
};
use super::profile::Group;
use super::switch::Switch;
use super::table::Chosen;
use std::collections::BTreeSet;

/// The most members of a group, and choices of an entry.
const MAX_CHOICES: usize = 1024;

fn in_use<T>(what: String) -> Result<T> {
    Err(WriteError::InUse(what))
}

impl Switch {
    /// A port went up or down: members that watch it are chosen from now on, or no longer.
    pub fn set_port_up(&mut self, port: u32, up: bool) {
        let changed = if up {
            self.down.remove(&port)
        } else {
            self.down.insert(port)
        };
        if !changed {
            return;
        }
        for profile in &mut self.core.profiles {
            profile
                .groups
                .values_mut()
                .for_each(|group| group.refresh(&self.down));
        }
        for table in &mut self.core.tables {
            for stored in table.iter_mut() {
                if let Chosen::Choices(choices) = &mut stored.chosen {
                    choices.refresh(&self.down);
                }
            }
        }
    }

    /// What is stored for an entry that does this, of a table with an action profile.
    pub(super) fn chosen_of_profile(
        &self,
        table: usize,
        profile: usize,
        does: &Invocation,
    ) -> Result<Chosen> {
        let members = &self.core.profiles[profile];
        let name = &self.program.tables[table].name;
        match does {
            Invocation::Member(id) if members.by_id.contains_key(id) => Ok(Chosen::Member(*id)),
            Invocation::Group(id) if members.groups.contains_key(id) => Ok(Chosen::Group(*id)),
            Invocation::Member(_) => Err(WriteError::Missing("the member")),
            Invocation::Group(_) => Err(WriteError::Missing("the group")),
            Invocation::Action { .. } => Err(WriteError::Invalid(format!(
                "table {name} takes members of its action profile"
            ))),
            Invocation::Choices(choices) => self.choices(table, profile, choices),
        }
    }

    fn choices(&self, table: usize, profile: usize, choices: &[Choice]) -> Result<Chosen> {
        let known = &self.program.profiles[profile];
        if known.selector.is_none() {
            let what = format!("action profile {} has no selector", known.name);
            return Err(WriteError::Invalid(what));
        }
        let members = &self.core.profiles[profile];
        if !members.by_id.is_empty() || !members.groups.is_empty() {
            return Err(WriteError::Invalid(format!(
                "action profile {} has members or groups: action sets cannot be mixed with them",
                known.name
            )));
        }
        if choices.len() > MAX_CHOICES {
            return Err(WriteError::Full {
                what: "an action set".to_owned(),
                room: MAX_CHOICES,
            });
        }
        let stored = |choice: &Choice| {
            Ok(StoredChoice {
                action: self.action_of_table(table, choice.action)?,
                data: self.action_data(choice.action, &choice.arguments)?,
                weight: choice.weight,
                watch: choice.watch,
            })
        };
        let all = choices.iter().map(stored).collect::<Result<_>>()?;
        Ok(Chosen::Choices(Box::new(Choices::new(all, &self.down))))
    }

    pub(super) fn apply_group(
        &mut self,
        kind: UpdateKind,
        profile: usize,
        id: u32,
        members: &[GroupMember],
        room: u32,
    ) -> Result<Update> {
        let missing = WriteError::Missing("the action profile");
        let of = self.program.profiles.get(profile).ok_or(missing)?;
        let known = &self.core.profiles[profile];
        if kind == UpdateKind::Delete && known.group_uses.contains_key(&id) {
            return in_use(format!("group {id}"));
        }
        if kind != UpdateKind::Delete {
            if of.selector.is_none() {
                let what = format!("action profile {} has no selector", of.name);
                return Err(WriteError::Invalid(what));
            }
            if members.len() > MAX_CHOICES {
                return Err(WriteError::Full {
                    what: format!("group {id}"),
                    room: MAX_CHOICES,
                });
            }
            let mut seen = BTreeSet::new();
            for member in members {
                if !known.by_id.contains_key(&member.id) {
                    return Err(WriteError::Missing("a member of the group"));
                }
                if !seen.insert(member.id) {
                    let what = format!("group {id} has member {} twice", member.id);
                    return Err(WriteError::Invalid(what));
                }
            }
        }
        let group = Group::new(members.to_vec(), room, &self.down);
        let groups = &mut self.core.profiles[profile].groups;
        let (kind, group) = put(groups, kind, id, group, "the group")?;
        Ok(Update::new(
            kind,
            Entity::Group {
                profile,
                id,
                members: group.members,
                room: group.room,
            },
        ))
    }

    /// Whether a member may be made, or taken away.
    pub(super) fn check_member(&self, kind: UpdateKind, profile: usize, id: u32) -> Result<()> {
        let known = &self.core.profiles[profile];
        let name = &self.program.profiles[profile].name;
        match kind {
            UpdateKind::Insert if known.choices > 0 => Err(WriteError::Invalid(format!(
                "entries of action profile {name} have action sets: members cannot be mixed with them"
            ))),
            UpdateKind::Delete if known.member_uses.contains_key(&id) => {
                in_use(format!("member {id}"))
            }
            UpdateKind::Delete => {
                let holds = |group: &Group| group.members.iter().any(|member| member.id == id);
                match known.groups.iter().find(|(_, group)| holds(group)) {
                    Some((group, _)) => in_use(format!("member {id} of group {group}")),
                    None => Ok(()),
                }
            }
            UpdateKind::Insert | UpdateKind::Modify => Ok(()),
        }
    }
}
