//! Reading: what entries, groups and arrays hold.

use super::choices::{GroupMember, StoredChoice};
use super::control::key_matches;
use super::entity::{Choice, CloneSession, Entry, Invocation, Match, Replica};
use super::meter::MeterConfig;
use super::switch::{Digest, Switch};
use super::table::{Chosen, Counter, Stored};
use crate::bits;
use crate::program::{KeyField, KeyMatch, MatchKind};

impl Switch {
    pub(super) fn call(&self, action: usize, data: &[u64]) -> Invocation {
        Invocation::Action {
            action,
            arguments: self.arguments(action, data),
        }
    }

    fn arguments(&self, action: usize, data: &[u64]) -> Vec<Vec<u8>> {
        let parameters = &self.program.actions[action].parameters;
        let argument = |parameter: &crate::program::Parameter| {
            bits::to_bytes(&data[parameter.at as usize..], parameter.width)
        };
        parameters.iter().map(argument).collect()
    }

    pub(super) fn invocation(&self, table: usize, chosen: &Chosen) -> Invocation {
        match chosen {
            Chosen::Action { action, data } => self.call(
                self.program.tables[table].actions[*action as usize] as usize,
                data,
            ),
            Chosen::Member(member) => Invocation::Member(*member),
            Chosen::Group(group) => Invocation::Group(*group),
            Chosen::Choices(choices) => {
                let stored = choices.all.iter();
                Invocation::Choices(stored.map(|stored| self.choice(table, stored)).collect())
            }
        }
    }

    pub(super) fn entry_of(&self, table: usize, stored: &Stored) -> Entry {
        let key = self.program.tables[table]
            .key
            .iter()
            .zip(&stored.key)
            .map(|(field, one)| readable(field, one))
            .collect();
        Entry {
            table,
            key,
            priority: if self.program.tables[table].has_priorities() {
                stored.priority
            } else {
                0
            },
            does: Some(self.invocation(table, &stored.chosen)),
            timeout: stored.timeout,
            meter: stored.meter.config(),
            counter: stored.counter,
            used: stored.used,
            note: stored.note.clone(),
        }
    }

    fn choice(&self, table: usize, stored: &StoredChoice) -> Choice {
        let action = self.program.tables[table].actions[stored.action as usize] as usize;
        Choice {
            action,
            arguments: self.arguments(action, &stored.data),
            weight: stored.weight,
            watch: stored.watch,
        }
    }

    /// The entries of a table, those of the program too, with what their counters show.
    pub fn entries(&self, table: usize) -> Vec<Entry> {
        let entries = self.core.tables.get(table);
        entries.map_or_else(Vec::new, |entries| {
            entries
                .iter()
                .map(|(_, stored)| self.entry_of(table, stored))
                .collect()
        })
    }

    /// The entry with the key and priority of this one, as it stands; `None` where there is none.
    pub fn entry(&self, wanted: &Entry) -> Option<Entry> {
        let table = self.program.tables.get(wanted.table)?;
        let key = key_matches(table, &wanted.key).ok()?;
        let entries = &self.core.tables[wanted.table];
        let at = entries.find(&table.key, &key, wanted.priority)?;
        Some(self.entry_of(wanted.table, entries.get(at)?))
    }

    /// The entries of a table that no packet has used for as long as their timeout says.
    pub fn idle_entries(&self, table: usize, now: u64) -> Vec<Entry> {
        let entries = self
            .core
            .tables
            .get(table)
            .into_iter()
            .flat_map(super::table::Entries::iter);
        entries
            .filter(|(_, stored)| stored.is_idle(now))
            .map(|(_, stored)| self.entry_of(table, stored))
            .collect()
    }

    /// At most this many entries of a table from a place on, and where the next are.
    pub fn entries_from(&self, table: usize, from: u32, most: usize) -> (Vec<Entry>, Option<u32>) {
        let Some(entries) = self.core.tables.get(table) else {
            return (Vec::new(), None);
        };
        let mut found = Vec::new();
        for (at, stored) in entries.iter_from(from) {
            if found.len() == most {
                return (found, Some(at));
            }
            found.push(self.entry_of(table, stored));
        }
        (found, None)
    }

    /// The entries that no packet has used for as long as their timeout says, among at most this many of a table from a
    /// place on, and where the next are. Their time begins anew.
    pub fn take_idle(
        &mut self,
        table: usize,
        from: u32,
        most: usize,
        now: u64,
    ) -> (Vec<Entry>, Option<u32>) {
        let Some(entries) = self.core.tables.get(table) else {
            return (Vec::new(), None);
        };
        let mut seen = entries.iter_from(from);
        let idle: Vec<u32> = seen
            .by_ref()
            .take(most)
            .filter(|(_, stored)| stored.is_idle(now))
            .map(|(at, _)| at)
            .collect();
        let next = seen.next().map(|(at, _)| at);
        drop(seen);
        let mut found = Vec::new();
        for at in idle {
            if let Some(stored) = self.core.tables[table].get(at) {
                found.push(self.entry_of(table, stored));
            }
            if let Some(stored) = self.core.tables[table].get_mut(at) {
                stored.used = now;
            }
        }
        (found, next)
    }

    /// What a table does on a miss.
    pub fn default_action(&self, table: usize) -> Option<Invocation> {
        let chosen = self.core.defaults.get(table)?.as_ref()?;
        Some(self.invocation(table, chosen))
    }

    /// What the control plane keeps with a table's default.
    pub fn default_note(&self, table: usize) -> Option<&[u8]> {
        self.core.default_notes.get(table).map(Vec::as_slice)
    }

    /// Members of an action profile.
    pub fn members(&self, profile: usize) -> Vec<(u32, Invocation)> {
        let members = self
            .core
            .profiles
            .get(profile)
            .into_iter()
            .flat_map(|profile| &profile.by_id);
        let call = |(id, chosen): (&u32, &Chosen)| match chosen {
            Chosen::Action { action, data } => Some((*id, self.call(*action as usize, data))),
            _ => None,
        };
        members.filter_map(call).collect()
    }

    /// Groups of an action profile, with their members and the most members announced.
    pub fn groups(&self, profile: usize) -> Vec<(u32, Vec<GroupMember>, u32)> {
        let groups = self
            .core
            .profiles
            .get(profile)
            .into_iter()
            .flat_map(|profile| &profile.groups);
        groups
            .map(|(id, group)| (*id, group.members.clone(), group.room))
            .collect()
    }

    /// Multicast groups with their replicas.
    pub fn multicast_groups(&self) -> impl Iterator<Item = (u32, &[Replica])> {
        self.groups
            .iter()
            .map(|(group, (replicas, _))| (*group, replicas.as_slice()))
    }

    /// What the control plane keeps with a multicast group.
    pub fn multicast_note(&self, group: u32) -> Option<&[u8]> {
        Some(&self.groups.get(&group)?.1)
    }

    /// Members of a value set, with masks.
    pub fn value_set(&self, set: usize) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let members = self.core.value_sets.get(set)?.iter();
        Some(
            members
                .map(|member| (member.value.clone(), member.mask.clone()))
                .collect(),
        )
    }

    /// Clone sessions.
    pub fn clone_sessions(&self) -> impl Iterator<Item = (u32, &CloneSession)> {
        self.sessions.iter().map(|(id, session)| (*id, session))
    }

    /// A cell of a counter array.
    pub fn counter(&self, array: usize, index: usize) -> Option<Counter> {
        self.core.counters.get(array)?.get(index).copied()
    }

    /// What a cell of a meter array allows.
    pub fn meter(&self, array: usize, index: usize) -> Option<Option<MeterConfig>> {
        Some(self.core.meters.get(array)?.get(index)?.config())
    }

    /// A cell of a register array, big-endian.
    pub fn register(&self, array: usize, index: usize) -> Option<Vec<u8>> {
        let register = self.core.registers.get(array)?;
        Some(bits::to_bytes(register.cell(index as u64)?, register.width))
    }

    /// The oldest digest that nobody took.
    pub fn take_digest(&mut self) -> Option<Digest> {
        self.digests.pop_front()
    }

    /// Digests that were lost because nobody took them.
    pub fn lost_digests(&self) -> u64 {
        self.lost_digests
    }
}

fn readable(field: &KeyField, one: &KeyMatch) -> Match {
    let bytes = |words: &[u64]| bits::to_bytes(words, field.width);
    match one {
        KeyMatch::Range { low, high } => Match::Range {
            low: bytes(low),
            high: bytes(high),
        },
        KeyMatch::Mask { value, mask } => match field.kind {
            MatchKind::Exact | MatchKind::Range => Match::Exact(bytes(value)),
            MatchKind::Valid => Match::Valid(value[0] != 0),
            MatchKind::Lpm => {
                let prefix = mask.iter().map(|word| word.count_ones()).sum();
                Match::Lpm {
                    value: bytes(value),
                    prefix,
                }
            }
            MatchKind::Ternary => Match::Ternary {
                value: bytes(value),
                mask: bytes(mask),
            },
        },
    }
}
