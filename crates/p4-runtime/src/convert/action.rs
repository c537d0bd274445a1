//! Actions, members, groups and action sets.

use super::bytes::{canonical, number, small};
use crate::info::{Pipeline, ProfileSchema, Scope, TableSchema};
use crate::proto::p4::config::v1::action_profile::SelectorSizeSemantics;
use crate::proto::p4::v1::action_profile_action_set::{ActionSelectionMode, SizeSemantics};
use crate::proto::p4::v1::{
    Action, ActionProfileAction, ActionProfileActionSet, ActionProfileGroup, ActionProfileMember,
    TableAction, action, action_profile_action, action_profile_group, table_action,
};
use crate::refusal::{Refusal, Result, invalid, not_found, unimplemented};
use linerate_p4::{Choice, Entity, GroupMember, Invocation, UpdateKind};
use std::collections::BTreeMap;
use tonic::Code;

/// The most that weights of a group may add up to.
const MAX_WEIGHT: u32 = 1 << 24;

/// Where an action is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Entry,
    Default,
}

impl Pipeline {
    /// The arguments of an action, in the order of its parameters.
    fn arguments(&self, action: &Action) -> Result<Vec<Vec<u8>>> {
        let Some(known) = self.schema.actions.get(&action.action_id) else {
            return invalid(format!("there is no action {:#x}", action.action_id));
        };
        let mut given = BTreeMap::new();
        for one in &action.params {
            if given.insert(one.param_id, &one.value).is_some() {
                return invalid(format!(
                    "parameter {} of {} is given twice",
                    one.param_id, known.name
                ));
            }
        }
        let mut arguments = Vec::new();
        for parameter in &known.parameters {
            let Some(value) = given.remove(&parameter.id) else {
                return invalid(format!(
                    "action {} lacks its parameter {}",
                    known.name, parameter.name
                ));
            };
            arguments.push(number(value, parameter.width, &parameter.name)?);
        }
        match given.keys().next() {
            Some(extra) => invalid(format!("action {} has no parameter {extra}", known.name)),
            None => Ok(arguments),
        }
    }

    /// The place of a table's action in the program.
    fn action_place(&self, table: &TableSchema, id: u32, used: Use) -> Result<usize> {
        let scope = table.actions.iter().find(|(known, _)| *known == id);
        let place = self.places.actions.get(&(table.id, id));
        let (Some((_, scope)), Some(place)) = (scope, place) else {
            return invalid(format!("table {} has no action {id:#x}", table.name));
        };
        if matches!(
            (scope, used),
            (Scope::Entries, Use::Default) | (Scope::Default, Use::Entry)
        ) {
            let what = format!("table {} may not use action {id:#x} here", table.name);
            return Err(Refusal::new(Code::PermissionDenied, what));
        }
        Ok(*place)
    }

    /// What an entry or default of a table does.
    pub(super) fn invocation(
        &self,
        table: &TableSchema,
        does: &TableAction,
        used: Use,
    ) -> Result<Invocation> {
        let profile = table.profile.and_then(|id| self.schema.profiles.get(&id));
        match (&does.r#type, profile) {
            (None, _) => invalid("the action is empty"),
            (Some(table_action::Type::Action(action)), None) => Ok(Invocation::Action {
                action: self.action_place(table, action.action_id, used)?,
                arguments: self.arguments(action)?,
            }),
            (Some(table_action::Type::ActionProfileMemberId(id)), Some(_)) => {
                Ok(Invocation::Member(*id))
            }
            (Some(table_action::Type::ActionProfileGroupId(id)), Some(profile))
                if profile.message.with_selector =>
            {
                Ok(Invocation::Group(*id))
            }
            (Some(table_action::Type::ActionProfileActionSet(set)), Some(profile))
                if profile.message.with_selector =>
            {
                self.choices(table, profile, set)
            }
            (Some(_), Some(_)) => invalid(format!(
                "table {} takes members of its action profile, or groups and action sets where it has a selector",
                table.name
            )),
            (Some(_), None) => invalid(format!("table {} has no action profile", table.name)),
        }
    }

    fn choices(
        &self,
        table: &TableSchema,
        profile: &ProfileSchema,
        set: &ActionProfileActionSet,
    ) -> Result<Invocation> {
        check_settings(profile, set)?;
        let mut choices = Vec::new();
        for one in &set.action_profile_actions {
            let Some(action) = &one.action else {
                return invalid("an action of the set is empty");
            };
            let watch = match &one.watch_kind {
                None => None,
                Some(action_profile_action::WatchKind::WatchPort(port)) => watch(port)?,
                Some(action_profile_action::WatchKind::Watch(port)) => deprecated_watch(*port)?,
            };
            choices.push(Choice {
                action: self.action_place(table, action.action_id, Use::Entry)?,
                arguments: self.arguments(action)?,
                weight: weight(profile, one.weight)?,
                watch,
            });
        }
        let weights: Vec<_> = choices.iter().map(|choice| choice.weight).collect();
        check_size(profile, &weights, i64::from(profile.message.max_group_size))?;
        Ok(Invocation::Choices(choices))
    }

    /// The message of what an entry or default does.
    pub(super) fn action_message(&self, does: &Invocation) -> Option<TableAction> {
        let kind = match does {
            Invocation::Action { action, arguments } => {
                table_action::Type::Action(self.call_message(*action, arguments)?)
            }
            Invocation::Member(id) => table_action::Type::ActionProfileMemberId(*id),
            Invocation::Group(id) => table_action::Type::ActionProfileGroupId(*id),
            Invocation::Choices(choices) => {
                let one = |choice: &Choice| ActionProfileAction {
                    action: self.call_message(choice.action, &choice.arguments),
                    weight: i32::try_from(choice.weight).unwrap_or(i32::MAX),
                    watch_kind: choice.watch.map(|port| {
                        action_profile_action::WatchKind::WatchPort(canonical(&port.to_be_bytes()))
                    }),
                };
                table_action::Type::ActionProfileActionSet(ActionProfileActionSet {
                    action_profile_actions: choices.iter().map(one).collect(),
                    ..ActionProfileActionSet::default()
                })
            }
        };
        Some(TableAction { r#type: Some(kind) })
    }

    /// The message of a call; none for actions that the P4Info does not have.
    fn call_message(&self, action: usize, arguments: &[Vec<u8>]) -> Option<Action> {
        let id = *self.places.action_ids.get(&action)?;
        let parameters = &self.schema.actions.get(&id)?.parameters;
        let params = parameters
            .iter()
            .zip(arguments)
            .map(|(parameter, value)| action::Param {
                param_id: parameter.id,
                value: canonical(value),
            });
        Some(Action {
            action_id: id,
            params: params.collect(),
        })
    }

    pub(super) fn profile(&self, id: u32) -> Result<(&ProfileSchema, usize)> {
        match (self.schema.profiles.get(&id), self.places.profiles.get(&id)) {
            (Some(profile), Some(place)) => Ok((profile, *place)),
            _ => not_found(format!("there is no action profile {id:#x}")),
        }
    }

    pub(super) fn member(&self, kind: UpdateKind, member: &ActionProfileMember) -> Result<Entity> {
        let (profile, place) = self.profile(member.action_profile_id)?;
        if member.member_id == 0 {
            return invalid("a member has the number 0");
        }
        let does = match (&member.action, kind) {
            (_, UpdateKind::Delete) => None,
            (None, _) => return invalid("the member has no action"),
            (Some(action), _) => {
                let of = self
                    .places
                    .profile_actions
                    .get(&(profile.id, action.action_id));
                let Some(of) = of else {
                    let id = action.action_id;
                    return invalid(format!("no table of {} has action {id:#x}", profile.name));
                };
                Some(Invocation::Action {
                    action: *of,
                    arguments: self.arguments(action)?,
                })
            }
        };
        Ok(Entity::Member {
            profile: place,
            id: member.member_id,
            does,
        })
    }

    pub(super) fn member_message(
        &self,
        profile: u32,
        id: u32,
        does: &Invocation,
    ) -> ActionProfileMember {
        let action = match does {
            Invocation::Action { action, arguments } => self.call_message(*action, arguments),
            _ => None,
        };
        ActionProfileMember {
            action_profile_id: profile,
            member_id: id,
            action,
        }
    }

    pub(super) fn group(&self, kind: UpdateKind, group: &ActionProfileGroup) -> Result<Entity> {
        let (profile, place) = self.profile(group.action_profile_id)?;
        if group.group_id == 0 {
            return invalid("a group has the number 0");
        }
        if !profile.message.with_selector {
            return invalid(format!("action profile {} has no selector", profile.name));
        }
        let mut members = Vec::new();
        let mut room = 0;
        if kind != UpdateKind::Delete {
            room = group_room(profile, group.max_size)?;
            for member in &group.members {
                let watch = match &member.watch_kind {
                    None => None,
                    Some(action_profile_group::member::WatchKind::WatchPort(port)) => watch(port)?,
                    Some(action_profile_group::member::WatchKind::Watch(port)) => {
                        deprecated_watch(*port)?
                    }
                };
                members.push(GroupMember {
                    id: member.member_id,
                    weight: weight(profile, member.weight)?,
                    watch,
                });
            }
            let weights: Vec<_> = members.iter().map(|member| member.weight).collect();
            if room > 0 {
                let size = group_size(profile, &weights);
                if size > u64::from(room) {
                    let what =
                        format!("group {} has room for {room}, {size} given", group.group_id);
                    return Err(Refusal::new(Code::ResourceExhausted, what));
                }
            }
            check_size(profile, &weights, 0)?;
        }
        Ok(Entity::Group {
            profile: place,
            id: group.group_id,
            members,
            room,
        })
    }
}

/// The message of a group.
pub(super) fn group_message(
    profile: u32,
    id: u32,
    members: &[GroupMember],
    room: u32,
) -> ActionProfileGroup {
    let member = |member: &GroupMember| action_profile_group::Member {
        member_id: member.id,
        weight: i32::try_from(member.weight).unwrap_or(i32::MAX),
        watch_kind: member.watch.map(|port| {
            action_profile_group::member::WatchKind::WatchPort(canonical(&port.to_be_bytes()))
        }),
    };
    ActionProfileGroup {
        action_profile_id: profile,
        group_id: id,
        members: members.iter().map(member).collect(),
        max_size: i32::try_from(room).unwrap_or(i32::MAX),
    }
}

fn watch(port: &[u8]) -> Result<Option<u32>> {
    if port.is_empty() {
        return Ok(None);
    }
    small(port, "watch_port").map(Some)
}

/// The number of a port in the field that version 1.2 replaced; 0 is none.
fn deprecated_watch(port: i32) -> Result<Option<u32>> {
    match u32::try_from(port) {
        Ok(0) => Ok(None),
        Ok(port) => Ok(Some(port)),
        Err(_) => invalid(format!("watch is {port}")),
    }
}

fn weight(profile: &ProfileSchema, weight: i32) -> Result<u32> {
    if profile.message.weights_disallowed {
        return match weight {
            0 => Ok(1),
            _ => invalid(format!("action profile {} has no weights", profile.name)),
        };
    }
    let fits = u32::try_from(weight)
        .ok()
        .filter(|weight| (1..=MAX_WEIGHT).contains(weight));
    fits.map_or_else(
        || {
            invalid(format!(
                "a weight is {weight}: 1 to {MAX_WEIGHT} are possible"
            ))
        },
        Ok,
    )
}

/// An action set may say what holds anyway: hashed, and of the selector's size.
fn check_settings(profile: &ProfileSchema, set: &ActionProfileActionSet) -> Result<()> {
    let by_members = matches!(
        profile.message.selector_size_semantics,
        Some(SelectorSizeSemantics::SumOfMembers(_))
    );
    let own = if by_members {
        SizeSemantics::SumOfMembers
    } else {
        SizeSemantics::SumOfWeights
    };
    let is_hashed = set.action_selection_mode == ActionSelectionMode::Hash as i32;
    if !(is_hashed || set.action_selection_mode == 0) {
        return unimplemented("action sets of which one is chosen otherwise than by its hash");
    }
    if set.size_semantics != 0 && set.size_semantics != own as i32 {
        return unimplemented("action sets with another size than the selector's");
    }
    if set.group_action.is_some() {
        return unimplemented("action sets with a group action");
    }
    Ok(())
}

fn group_room(profile: &ProfileSchema, max_size: i32) -> Result<u32> {
    let most = profile.message.max_group_size;
    let fits = if most > 0 {
        (1..=most).contains(&max_size)
    } else {
        max_size >= 0
    };
    // Compilers write max_group_size for every selector, and controllers leave max_size out: 0 is taken as the most.
    if !fits && max_size != 0 {
        return invalid(format!("max_size is {max_size}: up to {most} are possible"));
    }
    Ok(u32::try_from(max_size).unwrap_or(0))
}

/// Members or their weights, as the profile says.
fn group_size(profile: &ProfileSchema, weights: &[u32]) -> u64 {
    match profile.message.selector_size_semantics {
        Some(SelectorSizeSemantics::SumOfMembers(_)) => weights.len() as u64,
        _ => weights.iter().map(|weight| u64::from(*weight)).sum(),
    }
}

fn check_size(profile: &ProfileSchema, weights: &[u32], most: i64) -> Result<()> {
    if let Some(SelectorSizeSemantics::SumOfMembers(semantics)) =
        &profile.message.selector_size_semantics
    {
        let each = u32::try_from(semantics.max_member_weight).unwrap_or(0);
        if each > 0 && weights.iter().any(|weight| *weight > each) {
            return invalid(format!(
                "action profile {} has weights up to {each}",
                profile.name
            ));
        }
    }
    let size = group_size(profile, weights);
    let most = u64::try_from(most).unwrap_or(0);
    if most > 0 && size > most {
        return invalid(format!(
            "action profile {} has groups up to {most}, {size} given",
            profile.name
        ));
    }
    Ok(())
}
