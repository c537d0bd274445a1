//! What the switch tells its controllers: packets, digests, idle entries.

use super::digests::List;
use super::state::Shared;
use crate::convert::{EntryFilter, canonical, entry_message, packet_in};
use crate::info::Pipeline;
use crate::proto::p4::v1::{
    DigestList, IdleTimeoutNotification, P4Data, P4StructLike, p4_data,
    stream_message_response::Update,
};
use linerate_p4::{Digest, Entry, Plane};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How often the switch is asked for digests and idle entries.
const INTERVAL: Duration = Duration::from_millis(10);
/// Digests that are taken at a time.
const DIGESTS: usize = 1024;
/// Entries whose age is looked at between two packets.
const ENTRIES: usize = 4096;

/// Sends frames that left at the CPU port to the primary controllers.
pub(super) async fn packet_ins(shared: &Shared, mut packets: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = packets.recv().await {
        let state = shared.state();
        let Some(active) = &state.active else {
            continue;
        };
        // What is too short for the header that the program gives such packets is none.
        if let Some(packet) = packet_in(&active.pipeline.schema.packet_in, &frame) {
            state.send_to_primaries(&Update::Packet(packet));
        }
    }
    // The data thread has ended; requests are answered all the same.
    std::future::pending::<()>().await;
}

/// Where the search for idle entries goes on.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    /// Among the tables that age.
    table: usize,
    entry: u32,
}

/// Asks the switch for digests and idle entries again and again.
pub(super) async fn poll(shared: &Shared) {
    let mut timer = tokio::time::interval(INTERVAL);
    timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut cursor = Cursor::default();
    loop {
        timer.tick().await;
        let pipeline = shared
            .state()
            .active
            .as_ref()
            .map(|active| Arc::clone(&active.pipeline));
        let Some(pipeline) = pipeline else {
            continue;
        };
        let ages = pipeline.schema.tables.values().any(|table| table.ages);
        if pipeline.schema.digests.is_empty() && !ages {
            continue;
        }
        let of = Arc::clone(&pipeline);
        let ask = move |plane: &mut Plane, now| {
            let digests = take_digests(plane);
            let (idle, next) = take_idle(plane, &of, cursor, now);
            (digests, idle, next, now)
        };
        let Ok((digests, idle, next, now)) = shared.job(ask).await else {
            continue;
        };
        cursor = next;
        shared.tell_digests(&pipeline, digests, now);
        shared.tell_idle(&pipeline, idle, now);
    }
}

fn take_digests(plane: &mut Plane) -> Vec<Digest> {
    let Some(switch) = &mut plane.switch else {
        return Vec::new();
    };
    std::iter::from_fn(|| switch.take_digest())
        .take(DIGESTS)
        .collect()
}

fn take_idle(
    plane: &mut Plane,
    pipeline: &Pipeline,
    at: Cursor,
    now: u64,
) -> (Vec<(u32, Vec<Entry>)>, Cursor) {
    let tables: Vec<_> = pipeline
        .schema
        .tables
        .values()
        .filter(|table| table.ages)
        .collect();
    let Some(switch) = plane.switch.as_mut().filter(|switch| {
        // The pipeline may have changed meanwhile.
        std::ptr::eq(switch.program(), Arc::as_ptr(&pipeline.program))
    }) else {
        return (Vec::new(), Cursor::default());
    };
    let Some(table) = tables.get(at.table) else {
        return (Vec::new(), Cursor::default());
    };
    let of = pipeline.places.tables[&table.id];
    let (idle, next) = switch.take_idle(of, at.entry, ENTRIES, now);
    let next = match next {
        Some(entry) => Cursor { entry, ..at },
        None => Cursor {
            table: (at.table + 1) % tables.len(),
            entry: 0,
        },
    };
    (vec![(table.id, idle)], next)
}

impl Shared {
    fn timestamp(&self, now: u64) -> i64 {
        i64::try_from(self.options.epoch.saturating_add(now)).unwrap_or(i64::MAX)
    }

    fn tell_digests(&self, pipeline: &Pipeline, digests: Vec<Digest>, now: u64) {
        let mut state = self.state();
        let mut lists = Vec::new();
        for digest in digests {
            let mut known = pipeline.places.digests.iter();
            if let Some((id, _)) = known.find(|(_, name)| **name == digest.name) {
                lists.extend(state.digests.add(*id, digest.values, now));
            }
        }
        lists.extend(state.digests.due(now));
        for list in lists {
            let message = self.digest_message(pipeline, &list, now);
            state.send_to_primaries(&Update::Digest(message));
        }
    }

    fn digest_message(&self, pipeline: &Pipeline, list: &List, now: u64) -> DigestList {
        let single = pipeline
            .schema
            .digests
            .get(&list.digest)
            .and_then(|of| of.data.as_ref().ok())
            .is_some_and(|data| data.single);
        let bits = |value: &Vec<u8>| P4Data {
            data: Some(p4_data::Data::Bitstring(canonical(value))),
        };
        let data = |values: &Vec<Vec<u8>>| match values.as_slice() {
            [value] if single => bits(value),
            values => P4Data {
                data: Some(p4_data::Data::Struct(P4StructLike {
                    members: values.iter().map(bits).collect(),
                })),
            },
        };
        DigestList {
            digest_id: list.digest,
            list_id: list.number,
            data: list.values.iter().map(data).collect(),
            timestamp: self.timestamp(now),
        }
    }

    fn tell_idle(&self, pipeline: &Pipeline, idle: Vec<(u32, Vec<Entry>)>, now: u64) {
        for (table, entries) in idle.into_iter().filter(|(_, entries)| !entries.is_empty()) {
            let Some(table) = pipeline.schema.tables.get(&table) else {
                continue;
            };
            let wanted = EntryFilter::default();
            let message = |entry| entry_message(pipeline, table, entry, &wanted, now);
            let notification = IdleTimeoutNotification {
                table_entry: entries.iter().map(message).collect(),
                timestamp: self.timestamp(now),
            };
            self.state()
                .send_to_primaries(&Update::IdleTimeoutNotification(notification));
        }
    }
}
