//! Read requests: what they ask for, and the entities that answer, some at a time.

use super::action::group_message;
use super::resource::{bits, clone_message, meter_message, multicast_message};
use super::table::{EntryFilter, entry_filter, entry_message};
use crate::info::Pipeline;
use crate::proto::p4::v1::{
    CounterData, CounterEntry, DirectCounterEntry, DirectMeterEntry, Entity, Index, MeterEntry,
    PacketReplicationEngineEntry, RegisterEntry, TableEntry, entity, entity::Entity as Kind,
    packet_replication_engine_entry::Type as Replication,
};
use crate::refusal::{Result, invalid, not_found, unimplemented};
use linerate_p4::{Entry, GroupMember, Invocation, Switch};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// How many entries or cells are read between two packets.
const STEP: usize = 1024;

/// What a table's entries are read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Entry,
    Counter,
    Meter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cells {
    Counter,
    Meter,
    Register,
}

/// One part of what is read.
#[derive(Debug)]
enum Part {
    Entries(EntriesPart),
    Default(u32),
    Members(u32, u32),
    Groups(u32, u32),
    Cells(Cells, u32, usize, Range<usize>),
    Multicast(u32),
    Sessions(u32),
    ValueSet(u32),
}

/// Entries of a table, from a place on.
#[derive(Debug)]
struct EntriesPart {
    table: u32,
    from: u32,
    wanted: Arc<EntryFilter>,
    shape: Shape,
}

impl EntriesPart {
    /// All entries of each table that are wanted.
    fn of_tables(tables: Vec<u32>, wanted: EntryFilter, shape: Shape) -> VecDeque<Part> {
        let wanted = Arc::new(wanted);
        let part = |table| {
            Part::Entries(Self {
                table,
                from: 0,
                wanted: Arc::clone(&wanted),
                shape,
            })
        };
        tables.into_iter().map(part).collect()
    }
}

/// A read request under way.
#[derive(Debug)]
pub(crate) struct Reader {
    pipeline: Arc<Pipeline>,
    parts: VecDeque<Part>,
}

/// A zero stands for all.
fn all_or(id: u32, all: impl Iterator<Item = u32>) -> Vec<u32> {
    if id == 0 { all.collect() } else { vec![id] }
}

#[expect(clippy::too_many_lines, reason = "one arm per kind of entity")]
/// Checks one entity of a read request. Digests are the server's own: `None`.
pub(crate) fn read_request(pipeline: &Arc<Pipeline>, wanted: &Entity) -> Result<Option<Reader>> {
    let Some(wanted) = &wanted.entity else {
        return invalid("an entity of the request is empty");
    };
    let parts = match wanted {
        Kind::TableEntry(entry) => pipeline.read_table(entry)?,
        Kind::DirectCounterEntry(direct) => {
            pipeline.read_direct(direct.table_entry.as_ref(), Shape::Counter)?
        }
        Kind::DirectMeterEntry(direct) if direct.counter_data.is_some() => {
            return unimplemented("counters by colour");
        }
        Kind::DirectMeterEntry(direct) => {
            pipeline.read_direct(direct.table_entry.as_ref(), Shape::Meter)?
        }
        Kind::ActionProfileMember(member) => {
            let known = pipeline.schema.profiles.keys().copied();
            let profiles = all_or(member.action_profile_id, known);
            let part = |id| {
                pipeline
                    .profile(id)
                    .map(|_| Part::Members(id, member.member_id))
            };
            profiles.into_iter().map(part).collect::<Result<_>>()?
        }
        Kind::ActionProfileGroup(group) => {
            let known = pipeline.schema.profiles.keys().copied();
            let profiles = all_or(group.action_profile_id, known);
            let part = |id| {
                pipeline
                    .profile(id)
                    .map(|_| Part::Groups(id, group.group_id))
            };
            profiles.into_iter().map(part).collect::<Result<_>>()?
        }
        Kind::CounterEntry(entry) => {
            let known = pipeline.places.counters.keys().copied();
            let part = |id| {
                let one = CounterEntry {
                    counter_id: id,
                    ..*entry
                };
                let (place, cells) = pipeline.counter_cells(&one)?;
                Ok(Part::Cells(Cells::Counter, id, place, cells))
            };
            all_or(entry.counter_id, known)
                .into_iter()
                .map(part)
                .collect::<Result<_>>()?
        }
        Kind::MeterEntry(entry) => {
            if entry.counter_data.is_some() {
                return unimplemented("counters by colour");
            }
            let known = pipeline.places.meters.keys().copied();
            let part = |id| {
                let one = MeterEntry {
                    meter_id: id,
                    ..*entry
                };
                let (place, cells) = pipeline.meter_cells(&one)?;
                Ok(Part::Cells(Cells::Meter, id, place, cells))
            };
            all_or(entry.meter_id, known)
                .into_iter()
                .map(part)
                .collect::<Result<_>>()?
        }
        Kind::RegisterEntry(entry) => {
            let known = pipeline.places.registers.keys().copied();
            let part = |id| {
                let one = RegisterEntry {
                    register_id: id,
                    ..entry.clone()
                };
                let (place, cells) = pipeline.register_cells(&one)?;
                Ok(Part::Cells(Cells::Register, id, place, cells))
            };
            all_or(entry.register_id, known)
                .into_iter()
                .map(part)
                .collect::<Result<_>>()?
        }
        Kind::ValueSetEntry(entry) => {
            let known = pipeline.places.value_sets.keys().copied();
            let part = |id| match pipeline.places.value_sets.get(&id) {
                Some(_) => Ok(Part::ValueSet(id)),
                None => not_found(format!("there is no value set {id:#x}")),
            };
            all_or(entry.value_set_id, known)
                .into_iter()
                .map(part)
                .collect::<Result<_>>()?
        }
        Kind::PacketReplicationEngineEntry(entry) => match &entry.r#type {
            Some(Replication::MulticastGroupEntry(group)) => {
                VecDeque::from([Part::Multicast(group.multicast_group_id)])
            }
            Some(Replication::CloneSessionEntry(session)) => {
                VecDeque::from([Part::Sessions(session.session_id)])
            }
            None => VecDeque::from([Part::Multicast(0), Part::Sessions(0)]),
        },
        Kind::DigestEntry(_) => return Ok(None),
        Kind::ExternEntry(_) => return unimplemented("extern entries: v1model has none"),
    };
    Ok(Some(Reader {
        pipeline: Arc::clone(pipeline),
        parts,
    }))
}

impl Pipeline {
    fn read_table(&self, entry: &TableEntry) -> Result<VecDeque<Part>> {
        if entry.is_default_action {
            let tables = all_or(entry.table_id, self.schema.tables.keys().copied());
            let part = |id| self.known_table(id).map(|_| Part::Default(id));
            return tables.into_iter().map(part).collect();
        }
        let wanted = entry_filter(self, entry)?;
        let tables = all_or(entry.table_id, self.schema.tables.keys().copied());
        Ok(EntriesPart::of_tables(tables, wanted, Shape::Entry))
    }

    fn read_direct(&self, entry: Option<&TableEntry>, shape: Shape) -> Result<VecDeque<Part>> {
        let none = TableEntry::default();
        let entry = entry.unwrap_or(&none);
        if entry.is_default_action {
            return unimplemented("direct counters and meters of default entries");
        }
        let tables = if entry.table_id == 0 {
            let has = |table: &&crate::info::TableSchema| match shape {
                Shape::Meter => table.meter.is_some(),
                _ => table.counter.is_some(),
            };
            self.schema
                .tables
                .values()
                .filter(has)
                .map(|table| table.id)
                .collect()
        } else {
            self.require(Some(entry), shape == Shape::Counter)?;
            vec![entry.table_id]
        };
        let bare = TableEntry {
            counter_data: None,
            meter_config: None,
            time_since_last_hit: None,
            ..entry.clone()
        };
        Ok(EntriesPart::of_tables(
            tables,
            entry_filter(self, &bare)?,
            shape,
        ))
    }
}

impl Reader {
    /// The next entities; `None` when there are no more.
    #[expect(clippy::too_many_lines, reason = "one arm per kind of part")]
    pub(crate) fn step(&mut self, switch: &Switch, now: u64) -> Result<Option<Vec<Entity>>> {
        let Some(part) = self.parts.pop_front() else {
            return Ok(None);
        };
        let pipeline = Arc::clone(&self.pipeline);
        let kinds = match part {
            Part::Entries(part) => self.entries(&pipeline, switch, part, now)?,
            Part::Default(table) => default_entry(&pipeline, switch, table),
            Part::Members(profile, wanted) => {
                let members = switch.members(pipeline.places.profiles[&profile]);
                let wanted = members
                    .iter()
                    .filter(|(id, _)| wanted == 0 || *id == wanted);
                let message = |(id, does): &(u32, Invocation)| {
                    Kind::ActionProfileMember(pipeline.member_message(profile, *id, does))
                };
                wanted.map(message).collect()
            }
            Part::Groups(profile, wanted) => {
                let groups = switch.groups(pipeline.places.profiles[&profile]);
                let wanted = groups
                    .iter()
                    .filter(|(id, ..)| wanted == 0 || *id == wanted);
                let message = |(id, members, room): &(u32, Vec<GroupMember>, u32)| {
                    Kind::ActionProfileGroup(group_message(profile, *id, members, *room))
                };
                wanted.map(message).collect()
            }
            Part::Cells(kind, id, place, cells) => {
                let end = cells.end.min(cells.start + STEP);
                if end < cells.end {
                    self.parts
                        .push_front(Part::Cells(kind, id, place, end..cells.end));
                }
                let cell = |index| cell(switch, kind, id, place, index);
                (cells.start..end).filter_map(cell).collect()
            }
            Part::Multicast(wanted) => {
                let groups = switch.multicast_groups();
                let wanted = groups.filter(|(id, _)| wanted == 0 || *id == wanted);
                let message = |(id, replicas)| {
                    let note = switch.multicast_note(id).unwrap_or_default();
                    replication(Replication::MulticastGroupEntry(multicast_message(
                        id, replicas, note,
                    )))
                };
                wanted.map(message).collect()
            }
            Part::Sessions(wanted) => {
                let sessions = switch.clone_sessions();
                let wanted = sessions.filter(|(id, _)| wanted == 0 || *id == wanted);
                let message = |(id, session)| {
                    replication(Replication::CloneSessionEntry(clone_message(id, session)))
                };
                wanted.map(message).collect()
            }
            Part::ValueSet(id) => {
                let members = switch.value_set(pipeline.places.value_sets[&id]);
                let members = members.unwrap_or_default();
                vec![Kind::ValueSetEntry(
                    pipeline.value_set_message(id, &members),
                )]
            }
        };
        let entity = |kind| Entity { entity: Some(kind) };
        Ok(Some(kinds.into_iter().map(entity).collect()))
    }

    fn entries(
        &mut self,
        pipeline: &Pipeline,
        switch: &Switch,
        part: EntriesPart,
        now: u64,
    ) -> Result<Vec<Kind>> {
        let EntriesPart { wanted, shape, .. } = part;
        let (schema, place) = pipeline.known_table(part.table)?;
        let message = |entry: &Entry| {
            let message = entry_message(pipeline, schema, entry, &wanted, now);
            shaped(shape, entry, message)
        };
        if let Some(key) = &wanted.key {
            return match switch.entry(key) {
                Some(entry) if wanted.takes(&entry) => Ok(vec![message(&entry)]),
                Some(_) => Ok(Vec::new()),
                None if shape == Shape::Entry => Ok(Vec::new()),
                None => not_found("the entry does not exist"),
            };
        }
        let (entries, next) = switch.entries_from(place, part.from, STEP);
        if let Some(from) = next {
            self.parts.push_front(Part::Entries(EntriesPart {
                from,
                wanted: Arc::clone(&wanted),
                ..part
            }));
        }
        Ok(entries
            .iter()
            .filter(|entry| wanted.takes(entry))
            .map(message)
            .collect())
    }
}

fn shaped(shape: Shape, entry: &Entry, message: TableEntry) -> Kind {
    match shape {
        Shape::Entry => Kind::TableEntry(message),
        Shape::Counter => Kind::DirectCounterEntry(DirectCounterEntry {
            table_entry: Some(message),
            data: Some(CounterData::from(entry.counter)),
        }),
        Shape::Meter => Kind::DirectMeterEntry(DirectMeterEntry {
            config: entry.meter.map(meter_message),
            table_entry: Some(message),
            counter_data: None,
        }),
    }
}

fn default_entry(pipeline: &Pipeline, switch: &Switch, id: u32) -> Vec<Kind> {
    let place = pipeline.places.tables[&id];
    let does = switch.default_action(place);
    let (number, metadata) = super::table::split(switch.default_note(place).unwrap_or_default());
    let entry = TableEntry {
        table_id: id,
        action: does.and_then(|does| pipeline.action_message(&does)),
        is_default_action: true,
        metadata: metadata.to_vec(),
        controller_metadata: number,
        is_const: pipeline.schema.tables[&id].constant_default,
        ..TableEntry::default()
    };
    vec![Kind::TableEntry(entry)]
}

fn cell(switch: &Switch, kind: Cells, id: u32, place: usize, index: usize) -> Option<Kind> {
    let at = i64::try_from(index).ok().map(|index| Index { index });
    Some(match kind {
        Cells::Counter => Kind::CounterEntry(CounterEntry {
            counter_id: id,
            index: at,
            data: Some(switch.counter(place, index)?.into()),
        }),
        Cells::Meter => Kind::MeterEntry(MeterEntry {
            meter_id: id,
            index: at,
            config: switch.meter(place, index)?.map(meter_message),
            counter_data: None,
        }),
        Cells::Register => Kind::RegisterEntry(RegisterEntry {
            register_id: id,
            index: at,
            data: Some(bits(&switch.register(place, index)?)),
        }),
    })
}

fn replication(kind: Replication) -> Kind {
    entity::Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(kind),
    })
}
