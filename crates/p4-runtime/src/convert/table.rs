//! Entries of tables, and their defaults.

use super::action::Use;
use super::{key, resource};
use crate::info::{Pipeline, TableSchema};
use crate::proto::p4::v1::{CounterData, TableEntry, table_action, table_entry};
use crate::refusal::{Refusal, Result, invalid, not_found, unimplemented};
use linerate_p4::{Entity, Entry, Invocation, Update, UpdateKind};
use tonic::Code;

impl Pipeline {
    pub(super) fn known_table(&self, id: u32) -> Result<(&TableSchema, usize)> {
        match self.table(id) {
            Some(table) => Ok(table),
            None => not_found(format!("there is no table {id:#x}")),
        }
    }

    /// Table, key and priority of an entry.
    pub(super) fn entry_key(&self, entry: &TableEntry) -> Result<Entry> {
        let (table, place) = self.known_table(entry.table_id)?;
        if table.has_priorities() && entry.priority <= 0 {
            return invalid(format!("table {} needs a priority above 0", table.name));
        }
        if !table.has_priorities() && entry.priority != 0 {
            return invalid(format!("table {} has no priorities", table.name));
        }
        if table.fields.is_empty() {
            return invalid(format!(
                "table {} has no key: only its default can be set",
                table.name
            ));
        }
        Ok(Entry {
            table: place,
            key: key::matches(&table.fields, &entry.r#match)?,
            priority: entry.priority.into(),
            ..Entry::default()
        })
    }

    /// The updates of the switch that an update of an entry or default stands for.
    pub(super) fn table_entry(&self, kind: UpdateKind, entry: &TableEntry) -> Result<Vec<Update>> {
        let (table, place) = self.known_table(entry.table_id)?;
        if entry.is_default_action {
            return self.default_entry(kind, table, place, entry);
        }
        let mut new = self.entry_key(entry)?;
        if kind == UpdateKind::Delete {
            return Ok(vec![Update::new(kind, Entity::Entry(new))]);
        }
        if entry.is_const {
            return invalid("is_const is for reading");
        }
        if entry.time_since_last_hit.is_some() {
            return invalid("time_since_last_hit is for reading");
        }
        check_resources(table, entry)?;
        let meter = entry.meter_config.as_ref();
        let meter = meter
            .map(|config| self.meter_config(table.meter, config))
            .transpose()?;
        let counter = entry.counter_data.as_ref();
        let counter = counter.map(resource::counter).transpose()?;
        if table.constant && kind == UpdateKind::Modify {
            return constant_entry(table, entry, new, meter, counter);
        }
        let does = entry.action.as_ref();
        let does = does.map(|does| self.invocation(table, does, Use::Entry));
        new.does = does.transpose()?;
        if new.does.is_none() && kind == UpdateKind::Insert {
            return invalid("the entry has no action");
        }
        new.timeout = u64::try_from(entry.idle_timeout_ns).unwrap_or(0);
        new.meter = meter;
        new.note = note(entry);
        let mut updates = Vec::new();
        if let Some(counter) = counter {
            match kind {
                UpdateKind::Insert => new.counter = counter,
                _ => updates.push(modify(Entity::EntryCounter {
                    table: place,
                    key: new.key.clone(),
                    priority: new.priority,
                    value: counter,
                })),
            }
        }
        updates.insert(0, Update::new(kind, Entity::Entry(new)));
        Ok(updates)
    }

    fn default_entry(
        &self,
        kind: UpdateKind,
        table: &TableSchema,
        place: usize,
        entry: &TableEntry,
    ) -> Result<Vec<Update>> {
        if kind != UpdateKind::Modify {
            return invalid("a default entry is always there: it can only be modified");
        }
        if !entry.r#match.is_empty() || entry.priority != 0 {
            return invalid("a default entry has neither key nor priority");
        }
        if entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some() {
            return invalid("a default entry has no idle timeout");
        }
        if table.constant_default {
            let what = format!("the default action of table {} is constant", table.name);
            return Err(Refusal::new(Code::PermissionDenied, what));
        }
        check_resources(table, entry)?;
        if entry.meter_config.is_some() || entry.counter_data.is_some() {
            return unimplemented("direct counters and meters of default entries");
        }
        let does = entry.action.as_ref();
        let does = does.map(|does| self.invocation(table, does, Use::Default));
        let does = does.transpose()?;
        Ok(vec![modify(Entity::Default {
            table: place,
            does,
            note: note(entry),
        })])
    }
}

fn modify(entity: Entity) -> Update {
    Update::new(UpdateKind::Modify, entity)
}

/// Of an entry that stays only counter and meter can be changed.
fn constant_entry(
    table: &TableSchema,
    entry: &TableEntry,
    new: Entry,
    meter: Option<linerate_p4::MeterConfig>,
    counter: Option<linerate_p4::Counter>,
) -> Result<Vec<Update>> {
    if entry.action.is_some() {
        let what = format!("the entries of table {} are constant", table.name);
        return Err(Refusal::new(Code::PermissionDenied, what));
    }
    let (table_at, key, priority) = (new.table, new.key, new.priority);
    let mut updates = Vec::new();
    if table.meter.is_some() {
        updates.push(modify(Entity::EntryMeter {
            table: table_at,
            key: key.clone(),
            priority,
            config: meter,
        }));
    }
    if let Some(value) = counter {
        updates.push(modify(Entity::EntryCounter {
            table: table_at,
            key,
            priority,
            value,
        }));
    }
    Ok(updates)
}

fn check_resources(table: &TableSchema, entry: &TableEntry) -> Result<()> {
    if entry.meter_config.is_some() && table.meter.is_none() {
        return invalid(format!("table {} has no direct meter", table.name));
    }
    if entry.counter_data.is_some() && table.counter.is_none() {
        return invalid(format!("table {} has no direct counter", table.name));
    }
    if entry.meter_counter_data.is_some() {
        return unimplemented("counters by colour");
    }
    if entry.idle_timeout_ns < 0 {
        return invalid(format!("the idle timeout is {} ns", entry.idle_timeout_ns));
    }
    if !table.ages && (entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some()) {
        return invalid(format!("table {} has no idle timeouts", table.name));
    }
    Ok(())
}

/// Both kinds of metadata, as the switch keeps them: the number's eight bytes, then the bytes; nothing for neither.
fn note(entry: &TableEntry) -> Vec<u8> {
    if entry.metadata.is_empty() && entry.controller_metadata == 0 {
        return Vec::new();
    }
    let mut note = entry.controller_metadata.to_be_bytes().to_vec();
    note.extend_from_slice(&entry.metadata);
    note
}

/// What a read of entries asks for, beside the table.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntryFilter {
    pub(crate) key: Option<Entry>,
    action: Option<usize>,
    priority: i64,
    note: Option<Vec<u8>>,
    pub(crate) counter: bool,
    pub(crate) meter: bool,
    time: bool,
}

/// What a read of a table's entries asks for.
pub(crate) fn entry_filter(pipeline: &Pipeline, entry: &TableEntry) -> Result<EntryFilter> {
    let mut wanted = EntryFilter {
        counter: entry.counter_data.is_some(),
        meter: entry.meter_config.is_some(),
        time: entry.time_since_last_hit.is_some(),
        ..EntryFilter::default()
    };
    if entry.meter_counter_data.is_some() {
        return unimplemented("counters by colour");
    }
    if entry.table_id == 0 {
        return Ok(wanted);
    }
    let (table, _) = pipeline.known_table(entry.table_id)?;
    check_resources(
        table,
        &TableEntry {
            idle_timeout_ns: 0,
            ..entry.clone()
        },
    )?;
    if !entry.r#match.is_empty() {
        wanted.key = Some(pipeline.entry_key(entry)?);
    }
    if let Some(table_action::Type::Action(action)) = entry
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref())
    {
        let place = pipeline.places.actions.get(&(table.id, action.action_id));
        let Some(place) = place else {
            return invalid(format!(
                "table {} has no action {:#x}",
                table.name, action.action_id
            ));
        };
        wanted.action = Some(*place);
    }
    wanted.priority = entry.priority.into();
    wanted.note = Some(note(entry)).filter(|note| !note.is_empty());
    Ok(wanted)
}

impl EntryFilter {
    /// Whether an entry is among those that were asked for.
    pub(crate) fn takes(&self, entry: &Entry) -> bool {
        let action = self.action.is_none_or(|wanted| {
            matches!(&entry.does, Some(Invocation::Action { action, .. }) if *action == wanted)
        });
        let priority = self.priority == 0 || self.priority == entry.priority;
        let note = self.note.as_ref().is_none_or(|wanted| {
            let (number, bytes) = split(&entry.note);
            let (wanted_number, wanted_bytes) = split(wanted);
            (wanted_number == 0 || wanted_number == number)
                && (wanted_bytes.is_empty() || wanted_bytes == bytes)
        });
        action && priority && note
    }
}

/// The two kinds of metadata of a note.
pub(super) fn split(note: &[u8]) -> (u64, &[u8]) {
    match note.split_first_chunk() {
        Some((number, bytes)) => (u64::from_be_bytes(*number), bytes),
        None => (0, &[]),
    }
}

/// The message of an entry.
pub(crate) fn entry_message(
    pipeline: &Pipeline,
    table: &TableSchema,
    entry: &Entry,
    wanted: &EntryFilter,
    now: u64,
) -> TableEntry {
    let (number, metadata) = split(&entry.note);
    let mut message = TableEntry {
        table_id: table.id,
        r#match: key::messages(&table.fields, &entry.key),
        action: entry
            .does
            .as_ref()
            .and_then(|does| pipeline.action_message(does)),
        priority: i32::try_from(entry.priority).unwrap_or(0),
        idle_timeout_ns: i64::try_from(entry.timeout).unwrap_or(i64::MAX),
        metadata: metadata.to_vec(),
        is_const: table.constant,
        controller_metadata: number,
        ..TableEntry::default()
    };
    if wanted.counter && table.counter.is_some() {
        message.counter_data = Some(CounterData::from(entry.counter));
    }
    if wanted.meter && table.meter.is_some() {
        message.meter_config = entry.meter.map(resource::meter_message);
    }
    if wanted.time && table.ages {
        let elapsed = now.saturating_sub(entry.used);
        message.time_since_last_hit = Some(table_entry::IdleTimeout {
            elapsed_ns: i64::try_from(elapsed).unwrap_or(i64::MAX),
        });
    }
    message
}
