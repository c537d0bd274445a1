//! Writing: a batch of changes is made whole or not at all.
//!
//! What was already made when an update is refused is undone. As updates come between packets, no packet sees a part of
//! a batch.

use super::core::SetMember;
use super::entity::{
    Entity, Entry, Invocation, Match, Replica, Update, UpdateKind, WriteError, Written as Result,
};
use super::meter::Meter;
use super::switch::Switch;
use super::table::{Chosen, Entries, NewEntry};
use crate::bits;
use crate::num::{limbs, ones};
use crate::program::{KeyField, KeyMatch, MatchKind, Table};

/// The most replicas of a group or session.
const MAX_REPLICAS: usize = 1024;

fn invalid<T>(what: impl Into<String>) -> Result<T> {
    Err(WriteError::Invalid(what.into()))
}

impl Switch {
    /// Makes all of these changes, or, if one is refused, none. The error says which.
    pub fn write(
        &mut self,
        batch: &[Update],
        now: u64,
    ) -> std::result::Result<(), (usize, WriteError)> {
        let mut undo = Vec::with_capacity(batch.len());
        for (at, update) in batch.iter().enumerate() {
            match self.apply(update, now) {
                Ok(inverse) => undo.push(inverse),
                Err(error) => {
                    for update in undo.iter().rev() {
                        // An entry that was used stays as old as it was.
                        let then = match &update.entity {
                            Entity::Entry(entry) => entry.used,
                            _ => now,
                        };
                        // What was just made can be undone.
                        let undone = self.apply(update, then);
                        debug_assert!(undone.is_ok(), "{undone:?}");
                    }
                    return Err((at, error));
                }
            }
        }
        Ok(())
    }

    /// Makes a change; the answer undoes it.
    fn apply(&mut self, update: &Update, now: u64) -> Result<Update> {
        let kind = update.kind;
        match &update.entity {
            Entity::Entry(entry) => self.apply_entry(kind, entry, now),
            Entity::Member { profile, id, does } => {
                self.apply_member(kind, *profile, *id, does.as_ref())
            }
            Entity::Group {
                profile,
                id,
                members,
                room,
            } => self.apply_group(kind, *profile, *id, members, *room),
            Entity::Multicast {
                group,
                replicas,
                note,
            } => {
                check_replicas(replicas)?;
                let (kind, (replicas, note)) = put(
                    &mut self.groups,
                    kind,
                    *group,
                    (replicas.clone(), note.clone()),
                    "the multicast group",
                )?;
                Ok(Update::new(
                    kind,
                    Entity::Multicast {
                        group: *group,
                        replicas,
                        note,
                    },
                ))
            }
            Entity::Session { id, session } => {
                check_replicas(&session.replicas)?;
                let (kind, session) = put(
                    &mut self.sessions,
                    kind,
                    *id,
                    session.clone(),
                    "the clone session",
                )?;
                Ok(Update::new(kind, Entity::Session { id: *id, session }))
            }
            _ if kind != UpdateKind::Modify => invalid("this can only be modified"),
            Entity::Default { table, does, note } => {
                self.apply_default(*table, does.as_ref(), note)
            }
            Entity::ValueSet { set, members } => self.apply_value_set(*set, members),
            Entity::EntryCounter { .. } | Entity::EntryMeter { .. } => {
                self.apply_direct(&update.entity, now)
            }
            entity => self.apply_cell(entity, now),
        }
    }

    fn table_at(&self, table: usize) -> Result<&Table> {
        self.program
            .tables
            .get(table)
            .ok_or(WriteError::Missing("the table"))
    }

    fn apply_entry(&mut self, kind: UpdateKind, entry: &Entry, now: u64) -> Result<Update> {
        let table = self.table_at(entry.table)?;
        if table.constant {
            return Err(WriteError::Constant(format!("table {}", table.name)));
        }
        let key = key_matches(table, &entry.key)?;
        let chosen = match (&entry.does, kind) {
            (_, UpdateKind::Delete) | (None, UpdateKind::Modify) => None,
            (Some(does), _) => Some(self.chosen(entry.table, does)?),
            (None, UpdateKind::Insert) => return invalid("the entry does nothing: give an action"),
        };
        let program = std::sync::Arc::clone(&self.program);
        let table = &program.tables[entry.table];
        let entries = &mut self.core.tables[entry.table];
        let found = entries.find(&table.key, &key, entry.priority);
        match (kind, found) {
            (UpdateKind::Insert, Some(_)) => Err(WriteError::Exists("the entry")),
            (UpdateKind::Insert, None) => {
                let room = table.size;
                if entries.len() >= room {
                    return Err(WriteError::Full {
                        what: format!("table {}", table.name),
                        room,
                    });
                }
                self.check_room()?;
                let Some(chosen) = chosen else {
                    return invalid("the entry does nothing: give an action");
                };
                self.refer(entry.table, &chosen);
                let new = NewEntry {
                    key,
                    priority: entry.priority,
                    chosen,
                    counter: entry.counter,
                    meter: Meter::new(entry.meter, now),
                    timeout: entry.timeout,
                    note: entry.note.clone(),
                };
                self.core.tables[entry.table].insert(&table.key, new, now);
                Ok(Update::new(
                    UpdateKind::Delete,
                    Entity::Entry(entry.clone()),
                ))
            }
            (UpdateKind::Modify, Some(at)) => self.modify_entry(entry, at, chosen, now),
            (UpdateKind::Delete, Some(at)) => {
                let stored = entries
                    .remove(&table.key, at)
                    .ok_or(WriteError::Missing("the entry"))?;
                self.release(entry.table, &stored.chosen);
                Ok(Update::new(
                    UpdateKind::Insert,
                    Entity::Entry(self.entry_of(entry.table, &stored)),
                ))
            }
            _ => Err(WriteError::Missing("the entry")),
        }
    }

    /// Tables may be larger than this host's memory.
    fn check_room(&self) -> Result<()> {
        let room = self.limits.entries;
        let all: usize = self.core.tables.iter().map(Entries::len).sum();
        if all < room {
            return Ok(());
        }
        let what = "the switch, with all its tables,".to_owned();
        Err(WriteError::Full { what, room })
    }

    fn modify_entry(
        &mut self,
        entry: &Entry,
        at: u32,
        chosen: Option<Chosen>,
        now: u64,
    ) -> Result<Update> {
        let missing = || WriteError::Missing("the entry");
        let stored = self.core.tables[entry.table].get(at);
        let old = self.entry_of(entry.table, stored.ok_or_else(missing)?);
        if let Some(chosen) = &chosen {
            self.refer(entry.table, chosen);
        }
        let stored = self.core.tables[entry.table]
            .get_mut(at)
            .ok_or_else(missing)?;
        stored.timeout = entry.timeout;
        stored.used = now;
        stored.note.clone_from(&entry.note);
        if stored.meter.config() != entry.meter {
            stored.meter = Meter::new(entry.meter, now);
        }
        if let Some(chosen) = chosen {
            let before = std::mem::replace(&mut stored.chosen, chosen);
            self.release(entry.table, &before);
        }
        Ok(Update::new(UpdateKind::Modify, Entity::Entry(old)))
    }

    fn refer(&mut self, table: usize, to: &Chosen) {
        if let Some(profile) = self.program.tables[table].profile {
            self.core.profiles[profile as usize].refer(to);
        }
    }

    fn release(&mut self, table: usize, to: &Chosen) {
        if let Some(profile) = self.program.tables[table].profile {
            self.core.profiles[profile as usize].release(to);
        }
    }

    /// The direct counter or meter of an entry; those of constant entries too.
    fn apply_direct(&mut self, entity: &Entity, now: u64) -> Result<Update> {
        let (Entity::EntryCounter {
            table,
            key,
            priority,
            ..
        }
        | Entity::EntryMeter {
            table,
            key,
            priority,
            ..
        }) = entity
        else {
            return invalid("this cannot be written");
        };
        let of = self.table_at(*table)?;
        let matches = key_matches(of, key)?;
        let entries = &self.core.tables[*table];
        let at = entries.find(&of.key, &matches, *priority);
        let stored = at.and_then(|at| self.core.tables[*table].get_mut(at));
        let stored = stored.ok_or(WriteError::Missing("the entry"))?;
        let (table, key, priority) = (*table, key.clone(), *priority);
        let old = match entity {
            Entity::EntryMeter { config, .. } => Entity::EntryMeter {
                table,
                key,
                priority,
                config: std::mem::replace(&mut stored.meter, Meter::new(*config, now)).config(),
            },
            Entity::EntryCounter { value, .. } => Entity::EntryCounter {
                table,
                key,
                priority,
                value: std::mem::replace(&mut stored.counter, *value),
            },
            _ => return invalid("this cannot be written"),
        };
        Ok(Update::new(UpdateKind::Modify, old))
    }

    fn apply_default(
        &mut self,
        at: usize,
        does: Option<&Invocation>,
        note: &[u8],
    ) -> Result<Update> {
        let table = self.table_at(at)?;
        if table
            .default
            .as_ref()
            .is_some_and(|default| default.constant)
        {
            return Err(WriteError::Constant(format!(
                "the default action of table {}",
                table.name
            )));
        }
        let original = table.default.as_ref();
        let original = original.map(|default| Chosen::Action {
            action: default.action,
            data: default.data.clone(),
        });
        let chosen = does
            .map(|does| self.chosen(at, does))
            .transpose()?
            .or(original);
        if let Some(chosen) = &chosen {
            self.refer(at, chosen);
        }
        let old = std::mem::replace(&mut self.core.defaults[at], chosen);
        if let Some(old) = &old {
            self.release(at, old);
        }
        let note = if does.is_some() { note } else { &[] };
        let note = std::mem::replace(&mut self.core.default_notes[at], note.to_vec());
        let does = old.map(|old| self.invocation(at, &old));
        Ok(Update::new(
            UpdateKind::Modify,
            Entity::Default {
                table: at,
                does,
                note,
            },
        ))
    }

    fn apply_member(
        &mut self,
        kind: UpdateKind,
        profile: usize,
        id: u32,
        does: Option<&Invocation>,
    ) -> Result<Update> {
        let known = self
            .program
            .profiles
            .get(profile)
            .ok_or(WriteError::Missing("the action profile"))?;
        let chosen = match does {
            _ if kind == UpdateKind::Delete => Chosen::Member(id),
            Some(Invocation::Action { action, arguments }) => Chosen::Action {
                action: u32::try_from(*action).unwrap_or(u32::MAX),
                data: self.action_data(*action, arguments)?,
            },
            _ => return invalid("a member does an action"),
        };
        let room = known.size.min(self.limits.entries);
        self.check_member(kind, profile, id)?;
        let members = &mut self.core.profiles[profile];
        if kind == UpdateKind::Insert && members.by_id.len() >= room {
            return Err(WriteError::Full {
                what: format!("action profile {}", known.name),
                room,
            });
        }
        let (kind, old) = put(&mut members.by_id, kind, id, chosen, "the member")?;
        let does = match old {
            Chosen::Action { action, data } => Some(self.call(action as usize, &data)),
            _ => None,
        };
        Ok(Update::new(kind, Entity::Member { profile, id, does }))
    }

    fn apply_value_set(&mut self, set: usize, members: &[(Vec<u8>, Vec<u8>)]) -> Result<Update> {
        let known = self
            .program
            .value_sets
            .get(set)
            .ok_or(WriteError::Missing("the value set"))?;
        if members.len() > MAX_REPLICAS {
            return Err(WriteError::Full {
                what: format!("value set {}", known.name),
                room: MAX_REPLICAS,
            });
        }
        let mut new = Vec::new();
        let padded = |bytes: &[u8]| {
            fit(bytes, known.width, &known.name).map(|words| bits::to_bytes(&words, known.width))
        };
        for (value, mask) in members {
            new.push(SetMember {
                value: padded(value)?,
                mask: padded(mask)?,
            });
        }
        let old = std::mem::replace(&mut self.core.value_sets[set], new);
        let members = old
            .into_iter()
            .map(|member| (member.value, member.mask))
            .collect();
        Ok(Update::new(
            UpdateKind::Modify,
            Entity::ValueSet { set, members },
        ))
    }

    #[expect(clippy::too_many_lines, reason = "one arm per kind of entity")]
    fn apply_cell(&mut self, entity: &Entity, now: u64) -> Result<Update> {
        let missing = WriteError::Missing("the cell");
        let old = match entity {
            Entity::Counter {
                array,
                index,
                value,
            } => {
                let cell = self
                    .core
                    .counters
                    .get_mut(*array)
                    .and_then(|cells| cells.get_mut(*index))
                    .ok_or(missing)?;
                Entity::Counter {
                    array: *array,
                    index: *index,
                    value: std::mem::replace(cell, *value),
                }
            }
            Entity::Meter {
                array,
                index,
                config,
            } => {
                let cell = self
                    .core
                    .meters
                    .get_mut(*array)
                    .and_then(|cells| cells.get_mut(*index))
                    .ok_or(missing)?;
                let old = std::mem::replace(cell, Meter::new(*config, now));
                Entity::Meter {
                    array: *array,
                    index: *index,
                    config: old.config(),
                }
            }
            Entity::Register {
                array,
                index,
                value,
            } => {
                let register = self
                    .core
                    .registers
                    .get_mut(*array)
                    .ok_or(WriteError::Missing("the register array"))?;
                let width = register.width;
                let words = fit(value, width, "the register")?;
                let cell = register.cell_mut(*index as u64).ok_or(missing)?;
                let old = bits::to_bytes(cell, width);
                cell.copy_from_slice(&words);
                Entity::Register {
                    array: *array,
                    index: *index,
                    value: old,
                }
            }
            _ => return invalid("this cannot be written"),
        };
        Ok(Update::new(UpdateKind::Modify, old))
    }

    /// What is stored for an invocation, checked against table and program.
    fn chosen(&self, table: usize, does: &Invocation) -> Result<Chosen> {
        let of = self.table_at(table)?;
        match (does, of.profile) {
            (does, Some(profile)) => self.chosen_of_profile(table, profile as usize, does),
            (Invocation::Action { action, arguments }, None) => Ok(Chosen::Action {
                action: self.action_of_table(table, *action)?,
                data: self.action_data(*action, arguments)?,
            }),
            (_, None) => invalid(format!("table {} has no action profile", of.name)),
        }
    }

    /// The place of an action in a table's list.
    pub(super) fn action_of_table(&self, table: usize, action: usize) -> Result<u32> {
        let of = self.table_at(table)?;
        let mut known = of.actions.iter();
        let place = known.position(|known| *known as usize == action);
        match place.and_then(|place| u32::try_from(place).ok()) {
            Some(place) => Ok(place),
            None => invalid(format!("table {} does not have this action", of.name)),
        }
    }

    pub(super) fn action_data(&self, action: usize, arguments: &[Vec<u8>]) -> Result<Vec<u64>> {
        let of = self
            .program
            .actions
            .get(action)
            .ok_or(WriteError::Missing("the action"))?;
        if of.parameters.len() != arguments.len() {
            return invalid(format!(
                "action {} takes {} arguments, {} given",
                of.name,
                of.parameters.len(),
                arguments.len()
            ));
        }
        let mut data = Vec::with_capacity(of.words());
        for (parameter, argument) in of.parameters.iter().zip(arguments) {
            data.extend(fit(argument, parameter.width, &parameter.name)?);
        }
        Ok(data)
    }
}

/// Inserts, modifies or deletes in a map; the answer is how to undo it.
pub(super) fn put<T: Clone>(
    map: &mut std::collections::BTreeMap<u32, T>,
    kind: UpdateKind,
    id: u32,
    value: T,
    what: &'static str,
) -> Result<(UpdateKind, T)> {
    match (kind, map.contains_key(&id)) {
        (UpdateKind::Insert, true) => Err(WriteError::Exists(what)),
        (UpdateKind::Modify | UpdateKind::Delete, false) => Err(WriteError::Missing(what)),
        (UpdateKind::Insert, false) => {
            map.insert(id, value.clone());
            Ok((UpdateKind::Delete, value))
        }
        (UpdateKind::Modify, true) => Ok((
            UpdateKind::Modify,
            map.insert(id, value.clone()).unwrap_or(value),
        )),
        (UpdateKind::Delete, true) => Ok((UpdateKind::Insert, map.remove(&id).unwrap_or(value))),
    }
}

fn check_replicas(replicas: &[Replica]) -> Result<()> {
    if replicas.len() > MAX_REPLICAS {
        return Err(WriteError::Full {
            what: "a list of replicas".to_owned(),
            room: MAX_REPLICAS,
        });
    }
    Ok(())
}

fn fit(bytes: &[u8], width: u32, name: &str) -> Result<Vec<u64>> {
    bits::from_bytes(bytes, width).ok_or_else(|| {
        WriteError::Invalid(format!("the value of {name} does not fit in {width} bits"))
    })
}

pub(super) fn key_matches(table: &Table, key: &[Match]) -> Result<Vec<KeyMatch>> {
    if table.key.is_empty() {
        return invalid(format!(
            "table {} has no key: only its default action can be set",
            table.name
        ));
    }
    if table.key.len() != key.len() {
        return invalid(format!(
            "table {} has {} key fields, {} given",
            table.name,
            table.key.len(),
            key.len()
        ));
    }
    table
        .key
        .iter()
        .zip(key)
        .map(|(field, one)| key_match(field, one))
        .collect()
}

fn key_match(field: &KeyField, one: &Match) -> Result<KeyMatch> {
    let width = field.width;
    let value_of = |bytes: &[u8]| fit(bytes, width, &field.name);
    Ok(match (field.kind, one) {
        (MatchKind::Exact | MatchKind::Ternary | MatchKind::Valid, Match::Exact(value)) => {
            KeyMatch::exact(value_of(value)?, width)
        }
        (MatchKind::Valid, Match::Valid(valid)) => KeyMatch::exact(vec![u64::from(*valid)], width),
        (MatchKind::Lpm, Match::Lpm { value, prefix }) => {
            if *prefix > width {
                return invalid(format!(
                    "a prefix of {prefix} bits in {} of {width}",
                    field.name
                ));
            }
            KeyMatch::masked(value_of(value)?, crate::load::prefix_mask(width, *prefix))
        }
        (MatchKind::Lpm, Match::Exact(value)) => KeyMatch::exact(value_of(value)?, width),
        (MatchKind::Ternary, Match::Ternary { value, mask }) => {
            KeyMatch::masked(value_of(value)?, value_of(mask)?)
        }
        (MatchKind::Range, Match::Range { low, high }) => {
            let (low, high) = (value_of(low)?, value_of(high)?);
            if low[0] > high[0] {
                return invalid(format!("the range of {} ends before it begins", field.name));
            }
            KeyMatch::Range { low, high }
        }
        (MatchKind::Range, Match::Any) => KeyMatch::Range {
            low: vec![0],
            high: ones(width),
        },
        (MatchKind::Lpm | MatchKind::Ternary, Match::Any) => {
            KeyMatch::masked(vec![0; limbs(width)], vec![0; limbs(width)])
        }
        _ => return invalid(format!("{} is matched otherwise", field.name)),
    })
}
