//! Counters, meters, registers, value sets, and the packet replication engine.

use super::bytes::{canonical, number, small};
use super::key;
use crate::info::{ArraySchema, Pipeline};
use crate::proto::p4::config::v1::meter_spec::Type;
use crate::proto::p4::v1::{
    CloneSessionEntry, CounterData, CounterEntry, Index, MeterConfig as MeterMessage, MeterEntry,
    MulticastGroupEntry, P4Data, RegisterEntry, Replica as ReplicaMessage, ValueSetEntry,
    ValueSetMember, p4_data, replica,
};
use crate::refusal::{Refusal, Result, invalid, not_found, out_of_range, unimplemented};
use linerate_p4::{
    Bucket, CloneSession, Counter, Entity, MeterConfig, Replica, Update, UpdateKind,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tonic::Code;

/// A count as the switch has it.
pub(super) fn counter(data: &CounterData) -> Result<Counter> {
    match (
        u64::try_from(data.packet_count),
        u64::try_from(data.byte_count),
    ) {
        (Ok(packets), Ok(bytes)) => Ok(Counter { packets, bytes }),
        _ => invalid("a count is negative"),
    }
}

impl From<Counter> for CounterData {
    fn from(counter: Counter) -> Self {
        let count = |count| i64::try_from(count).unwrap_or(i64::MAX);
        Self {
            byte_count: count(counter.bytes),
            packet_count: count(counter.packets),
        }
    }
}

/// The cells of an array that an index, or no index, is about.
fn cells(size: usize, index: Option<&Index>) -> Result<Range<usize>> {
    let Some(Index { index }) = index else {
        return Ok(0..size);
    };
    match usize::try_from(*index) {
        Err(_) if *index < 0 => invalid(format!("the index is {index}")),
        Ok(index) if index < size => Ok(index..index + 1),
        _ => out_of_range(format!("the index is {index}, cells are {size}")),
    }
}

fn only_modified(kind: UpdateKind, what: &str) -> Result<()> {
    match kind {
        UpdateKind::Modify => Ok(()),
        _ => invalid(format!("{what} can only be modified")),
    }
}

/// Place of an array that stands by itself.
fn known(
    schemas: &BTreeMap<u32, ArraySchema>,
    places: &BTreeMap<u32, usize>,
    id: u32,
    what: &str,
) -> Result<usize> {
    match (schemas.get(&id), places.get(&id)) {
        (Some(_), Some(place)) => Ok(*place),
        (Some(schema), None) => {
            invalid(format!("{} belongs to the entries of a table", schema.name))
        }
        _ => not_found(format!("there is no {what} {id:#x}")),
    }
}

impl Pipeline {
    pub(super) fn counter_cells(&self, entry: &CounterEntry) -> Result<(usize, Range<usize>)> {
        let (schemas, places) = (&self.schema.counters, &self.places.counters);
        let place = known(schemas, places, entry.counter_id, "counter")?;
        let cells = cells(self.program.counters[place].size, entry.index.as_ref())?;
        Ok((place, cells))
    }

    pub(super) fn counter_entry(
        &self,
        kind: UpdateKind,
        entry: &CounterEntry,
    ) -> Result<Vec<Update>> {
        only_modified(kind, "a counter")?;
        let (array, cells) = self.counter_cells(entry)?;
        let Some(data) = &entry.data else {
            return Ok(Vec::new());
        };
        let value = counter(data)?;
        let one = |index| {
            Update::new(
                kind,
                Entity::Counter {
                    array,
                    index,
                    value,
                },
            )
        };
        Ok(cells.map(one).collect())
    }

    pub(super) fn meter_cells(&self, entry: &MeterEntry) -> Result<(usize, Range<usize>)> {
        let (schemas, places) = (&self.schema.meters, &self.places.meters);
        let place = known(schemas, places, entry.meter_id, "meter")?;
        let cells = cells(self.program.meters[place].size, entry.index.as_ref())?;
        Ok((place, cells))
    }

    pub(super) fn meter_entry(&self, kind: UpdateKind, entry: &MeterEntry) -> Result<Vec<Update>> {
        only_modified(kind, "a meter")?;
        let (array, cells) = self.meter_cells(entry)?;
        if entry.counter_data.is_some() {
            return unimplemented("counters by colour");
        }
        let config = entry.config.as_ref();
        let config = config
            .map(|config| self.meter_config(Some(entry.meter_id), config))
            .transpose()?;
        let one = |index| {
            Update::new(
                kind,
                Entity::Meter {
                    array,
                    index,
                    config,
                },
            )
        };
        Ok(cells.map(one).collect())
    }

    /// What a meter allows, if its type can have it.
    pub(super) fn meter_config(&self, id: Option<u32>, of: &MeterMessage) -> Result<MeterConfig> {
        let meter = id.and_then(|id| self.schema.meters.get(&id));
        let kind = meter.map_or(Type::TwoRateThreeColor, |meter| meter.meter_type);
        let unsigned = |value: i64, name: &str| match u64::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => invalid(format!("{name} is {value}")),
        };
        let bucket = |rate, burst| {
            Ok::<_, Refusal>(Bucket {
                rate: unsigned(rate, "a rate")?,
                burst: unsigned(burst, "a burst")?,
            })
        };
        let config = MeterConfig {
            committed: bucket(of.cir, of.cburst)?,
            peak: bucket(of.pir, of.pburst)?,
            excess: unsigned(of.eburst, "the excess burst")?,
        };
        let single = config.committed == config.peak;
        match kind {
            Type::TwoRateThreeColor if of.eburst != 0 => {
                invalid("eburst is for meters of a single rate and three colours")
            }
            Type::TwoRateThreeColor if config.peak.rate < config.committed.rate => {
                invalid("the peak rate is below the committed rate")
            }
            Type::SingleRateTwoColor if of.eburst != 0 || !single => invalid(
                "a meter of a single rate and two colours has pir = cir, pburst = cburst and no eburst",
            ),
            Type::SingleRateThreeColor if !single => {
                invalid("a meter of a single rate has pir = cir and pburst = cburst")
            }
            _ => Ok(config),
        }
    }

    pub(super) fn register_cells(&self, entry: &RegisterEntry) -> Result<(usize, Range<usize>)> {
        let (schemas, places) = (&self.schema.registers, &self.places.registers);
        let place = known(schemas, places, entry.register_id, "register")?;
        let cells = cells(self.program.registers[place].size, entry.index.as_ref())?;
        Ok((place, cells))
    }

    pub(super) fn register_entry(
        &self,
        kind: UpdateKind,
        entry: &RegisterEntry,
    ) -> Result<Vec<Update>> {
        only_modified(kind, "a register")?;
        let (array, cells) = self.register_cells(entry)?;
        let width = self.program.registers[array].width();
        let value = match entry.data.as_ref().and_then(|data| data.data.as_ref()) {
            Some(p4_data::Data::Bitstring(bits) | p4_data::Data::EnumValue(bits)) => {
                number(bits, width, "the register")?
            }
            Some(p4_data::Data::Bool(value)) if width == 1 => vec![u8::from(*value)],
            Some(_) => {
                return invalid(format!(
                    "a cell of the register is a number of {width} bits"
                ));
            }
            None => return invalid("the register has no data"),
        };
        let one = |index| {
            let value = value.clone();
            Update::new(
                kind,
                Entity::Register {
                    array,
                    index,
                    value,
                },
            )
        };
        Ok(cells.map(one).collect())
    }

    pub(super) fn value_set(&self, kind: UpdateKind, entry: &ValueSetEntry) -> Result<Vec<Update>> {
        only_modified(kind, "a value set")?;
        let id = entry.value_set_id;
        let known = self
            .schema
            .value_sets
            .get(&id)
            .zip(self.places.value_sets.get(&id));
        let Some((known, set)) = known else {
            return not_found(format!("there is no value set {id:#x}"));
        };
        if entry.members.len() > known.size {
            let what = format!("value set {} has room for {}", known.name, known.size);
            return Err(Refusal::new(Code::ResourceExhausted, what));
        }
        let (mut members, mut seen) = (Vec::new(), BTreeSet::new());
        for member in &entry.members {
            let member = key::set_member(&known.fields, &member.r#match)?;
            if !seen.insert(member.clone()) {
                let what = format!("value set {} has a member twice", known.name);
                return Err(Refusal::new(Code::AlreadyExists, what));
            }
            members.push(member);
        }
        Ok(vec![Update::new(
            kind,
            Entity::ValueSet { set: *set, members },
        )])
    }

    pub(super) fn value_set_message(
        &self,
        id: u32,
        members: &[(Vec<u8>, Vec<u8>)],
    ) -> ValueSetEntry {
        let fields = self
            .schema
            .value_sets
            .get(&id)
            .map(|set| set.fields.as_slice());
        let member = |(value, mask): &(Vec<u8>, Vec<u8>)| ValueSetMember {
            r#match: key::set_messages(fields.unwrap_or_default(), value, mask),
        };
        ValueSetEntry {
            value_set_id: id,
            members: members.iter().map(member).collect(),
        }
    }
}

/// A cell of a register as data.
pub(super) fn bits(value: &[u8]) -> P4Data {
    P4Data {
        data: Some(p4_data::Data::Bitstring(canonical(value))),
    }
}

/// The message of what a meter allows.
pub(super) fn meter_message(config: MeterConfig) -> MeterMessage {
    let signed = |value| i64::try_from(value).unwrap_or(i64::MAX);
    MeterMessage {
        cir: signed(config.committed.rate),
        cburst: signed(config.committed.burst),
        pir: signed(config.peak.rate),
        pburst: signed(config.peak.burst),
        eburst: signed(config.excess),
    }
}

fn replicas(of: &[ReplicaMessage]) -> Result<Vec<Replica>> {
    let (mut replicas, mut seen) = (Vec::new(), BTreeSet::new());
    for one in of {
        if !one.backup_replicas.is_empty() {
            return unimplemented("backup replicas");
        }
        let port = match &one.port_kind {
            Some(replica::PortKind::Port(port)) => small(port, "the port of a replica")?,
            Some(replica::PortKind::EgressPort(port)) => *port,
            None => return invalid("a replica has no port"),
        };
        let Ok(instance) = u16::try_from(one.instance) else {
            return invalid(format!(
                "the instance of a replica is {}: it has 16 bits",
                one.instance
            ));
        };
        if !seen.insert((port, instance)) {
            return invalid(format!(
                "port {port} with instance {instance} is there twice"
            ));
        }
        replicas.push(Replica { port, instance });
    }
    Ok(replicas)
}

fn replica_messages(replicas: &[Replica]) -> Vec<ReplicaMessage> {
    let one = |replica: &Replica| ReplicaMessage {
        port_kind: Some(replica::PortKind::Port(canonical(
            &replica.port.to_be_bytes(),
        ))),
        instance: replica.instance.into(),
        backup_replicas: Vec::new(),
    };
    replicas.iter().map(one).collect()
}

pub(super) fn multicast(kind: UpdateKind, entry: &MulticastGroupEntry) -> Result<Entity> {
    let group = entry.multicast_group_id;
    if group == 0 || group > u32::from(u16::MAX) {
        return invalid(format!(
            "the multicast group is {group}: 1 to 65535 are possible"
        ));
    }
    let (replicas, note) = match kind {
        UpdateKind::Delete => (Vec::new(), Vec::new()),
        _ => (replicas(&entry.replicas)?, entry.metadata.clone()),
    };
    Ok(Entity::Multicast {
        group,
        replicas,
        note,
    })
}

pub(super) fn multicast_message(
    group: u32,
    replicas: &[Replica],
    note: &[u8],
) -> MulticastGroupEntry {
    MulticastGroupEntry {
        multicast_group_id: group,
        replicas: replica_messages(replicas),
        metadata: note.to_vec(),
    }
}

pub(super) fn clone_session(kind: UpdateKind, entry: &CloneSessionEntry) -> Result<Entity> {
    let id = entry.session_id;
    // The primitive that clones has room for 15 bits.
    if id == 0 || id > 32767 {
        return invalid(format!(
            "the clone session is {id}: 1 to 32767 are possible"
        ));
    }
    if kind == UpdateKind::Delete {
        let session = CloneSession::default();
        return Ok(Entity::Session { id, session });
    }
    if entry.class_of_service != 0 {
        return unimplemented("clone sessions with a class of service");
    }
    let Ok(length) = usize::try_from(entry.packet_length_bytes) else {
        return invalid(format!(
            "the packet length is {}",
            entry.packet_length_bytes
        ));
    };
    let session = CloneSession {
        replicas: replicas(&entry.replicas)?,
        truncate: Some(length).filter(|length| *length > 0),
    };
    Ok(Entity::Session { id, session })
}

pub(super) fn clone_message(id: u32, session: &CloneSession) -> CloneSessionEntry {
    let length = session.truncate.unwrap_or(0);
    CloneSessionEntry {
        session_id: id,
        replicas: replica_messages(&session.replicas),
        class_of_service: 0,
        packet_length_bytes: i32::try_from(length).unwrap_or(i32::MAX),
    }
}
