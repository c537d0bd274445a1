//! Updates of a Write request.

use super::resource;
use crate::info::Pipeline;
use crate::proto::p4::v1::{
    DirectCounterEntry, DirectMeterEntry, PacketReplicationEngineEntry, TableEntry,
    Update as UpdateMessage, digest_entry, entity, packet_replication_engine_entry, update,
};
use crate::refusal::{Result, invalid, not_found, unimplemented};
use linerate_p4::{Entity, Update, UpdateKind};

/// What an update of a Write request asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// Updates of the switch, all or none.
    Switch(Vec<Update>),
    /// How the server tells a digest.
    Digest {
        kind: UpdateKind,
        id: u32,
        config: digest_entry::Config,
    },
}

/// Checks an update against the pipeline, as far as it can be checked without the switch's state.
pub(crate) fn change(pipeline: &Pipeline, message: &UpdateMessage) -> Result<Change> {
    let kind = match update::Type::try_from(message.r#type) {
        Ok(update::Type::Insert) => UpdateKind::Insert,
        Ok(update::Type::Modify) => UpdateKind::Modify,
        Ok(update::Type::Delete) => UpdateKind::Delete,
        _ => return invalid("the type of the update is not set"),
    };
    let entity = message
        .entity
        .as_ref()
        .and_then(|entity| entity.entity.as_ref());
    let Some(entity) = entity else {
        return invalid("the update has no entity");
    };
    let one = |entity: Result<Entity>| Ok(vec![Update::new(kind, entity?)]);
    let updates = match entity {
        entity::Entity::TableEntry(entry) => pipeline.table_entry(kind, entry),
        entity::Entity::ActionProfileMember(member) => one(pipeline.member(kind, member)),
        entity::Entity::ActionProfileGroup(group) => one(pipeline.group(kind, group)),
        entity::Entity::MeterEntry(entry) => pipeline.meter_entry(kind, entry),
        entity::Entity::CounterEntry(entry) => pipeline.counter_entry(kind, entry),
        entity::Entity::RegisterEntry(entry) => pipeline.register_entry(kind, entry),
        entity::Entity::ValueSetEntry(entry) => pipeline.value_set(kind, entry),
        entity::Entity::DirectMeterEntry(entry) => pipeline.direct_meter(kind, entry),
        entity::Entity::DirectCounterEntry(entry) => pipeline.direct_counter(kind, entry),
        entity::Entity::PacketReplicationEngineEntry(entry) => one(replication(kind, entry)),
        entity::Entity::DigestEntry(entry) => {
            let id = entry.digest_id;
            if !pipeline.schema.digests.contains_key(&id) {
                return not_found(format!("there is no digest {id:#x}"));
            }
            let config = entry.config.unwrap_or_default();
            if config.max_timeout_ns < 0 || config.max_list_size < 0 || config.ack_timeout_ns < 0 {
                return invalid("a timeout or list size of the digest is negative");
            }
            return Ok(Change::Digest { kind, id, config });
        }
        entity::Entity::ExternEntry(_) => unimplemented("extern entries: v1model has none"),
    };
    updates.map(Change::Switch)
}

fn replication(kind: UpdateKind, entry: &PacketReplicationEngineEntry) -> Result<Entity> {
    match &entry.r#type {
        Some(packet_replication_engine_entry::Type::MulticastGroupEntry(group)) => {
            resource::multicast(kind, group)
        }
        Some(packet_replication_engine_entry::Type::CloneSessionEntry(session)) => {
            resource::clone_session(kind, session)
        }
        None => invalid("the packet replication engine entry is empty"),
    }
}

impl Pipeline {
    /// The entry that a direct counter or meter belongs to.
    pub(super) fn direct_entry(&self, entry: Option<&TableEntry>) -> Result<linerate_p4::Entry> {
        let Some(entry) = entry else {
            return invalid("the table entry is missing");
        };
        if entry.is_default_action {
            return unimplemented("direct counters and meters of default entries");
        }
        self.entry_key(entry)
    }

    fn direct_counter(&self, kind: UpdateKind, entry: &DirectCounterEntry) -> Result<Vec<Update>> {
        if kind != UpdateKind::Modify {
            return invalid("a direct counter can only be modified");
        }
        let of = self.direct_entry(entry.table_entry.as_ref())?;
        self.require(entry.table_entry.as_ref(), true)?;
        let Some(data) = &entry.data else {
            return Ok(Vec::new());
        };
        let entity = Entity::EntryCounter {
            table: of.table,
            key: of.key,
            priority: of.priority,
            value: resource::counter(data)?,
        };
        Ok(vec![Update::new(kind, entity)])
    }

    fn direct_meter(&self, kind: UpdateKind, entry: &DirectMeterEntry) -> Result<Vec<Update>> {
        if kind != UpdateKind::Modify {
            return invalid("a direct meter can only be modified");
        }
        let of = self.direct_entry(entry.table_entry.as_ref())?;
        let meter = self.require(entry.table_entry.as_ref(), false)?;
        if entry.counter_data.is_some() {
            return unimplemented("counters by colour");
        }
        let config = entry.config.as_ref();
        let config = config.map(|config| self.meter_config(Some(meter), config));
        let entity = Entity::EntryMeter {
            table: of.table,
            key: of.key,
            priority: of.priority,
            config: config.transpose()?,
        };
        Ok(vec![Update::new(kind, entity)])
    }

    /// The direct counter, or the direct meter, of an entry's table.
    pub(super) fn require(&self, entry: Option<&TableEntry>, counter: bool) -> Result<u32> {
        let id = entry.map_or(0, |entry| entry.table_id);
        let (table, _) = self.known_table(id)?;
        let (found, what) = if counter {
            (table.counter, "counter")
        } else {
            (table.meter, "meter")
        };
        match found {
            Some(id) => Ok(id),
            None => invalid(format!("table {} has no direct {what}", table.name)),
        }
    }
}
