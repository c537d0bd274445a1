//! Write requests without a server, for fuzz targets.

use crate::convert::{Change, change};
use crate::info::{InfoError, Pipeline, parse_p4info};
use crate::proto::p4::v1::{
    Entity, TableEntry, Update as UpdateMessage, WriteRequest, entity, update,
};
use crate::words::parse_entries;
use linerate_p4::{Limits, Program, Switch, Update};
use prost::Message as _;
use std::sync::Arc;

/// Cells of each array that [`Target::write`] compares.
const CELLS: usize = 16;

/// A pipeline to write to.
#[derive(Debug)]
pub struct Target(Pipeline);

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// All of its updates were made.
    Made,
    /// One did not fit the pipeline, or was refused by the switch: none was made.
    Refused,
    /// It was no request.
    Malformed,
}

impl Target {
    /// A compiled program with its P4Info.
    ///
    /// # Errors
    /// The P4Info does not describe the program.
    pub fn new(p4info: &[u8], program: Program) -> Result<Self, InfoError> {
        Pipeline::new(parse_p4info(p4info)?, program).map(Self)
    }

    /// A switch that runs it.
    pub fn switch(&self) -> Switch {
        Switch::new(Arc::clone(&self.0.program), Limits::default(), 0)
    }

    /// Encoded requests that fit: one that inserts all entries which a packet test adds, then one for each of them that
    /// inserts, changes and deletes it.
    ///
    /// # Errors
    /// An entry that does not fit the program.
    pub fn requests(&self, test: &str) -> Result<Vec<Vec<u8>>, String> {
        let lines: Vec<_> = test
            .lines()
            .filter(|line| line.starts_with("add "))
            .collect();
        let entries = parse_entries(&self.0.schema, &lines.join("\n"))?;
        let one = |kind: update::Type, entry: &TableEntry| UpdateMessage {
            r#type: kind as i32,
            entity: Some(Entity {
                entity: Some(entity::Entity::TableEntry(entry.clone())),
            }),
        };
        let request = |updates: Vec<UpdateMessage>| {
            let request = WriteRequest {
                device_id: 1,
                updates,
                ..WriteRequest::default()
            };
            request.encode_to_vec()
        };
        let kinds = [
            update::Type::Insert,
            update::Type::Modify,
            update::Type::Delete,
        ];
        let all = entries.iter().map(|entry| one(kinds[0], entry)).collect();
        let each = entries.iter();
        let each = each.map(|entry| request(kinds.map(|kind| one(kind, entry)).to_vec()));
        Ok([request(all)].into_iter().chain(each).collect())
    }

    /// Makes the updates of an encoded request, all or none, and lets `packet` through after it.
    ///
    /// # Panics
    /// If a refusal has no words, or a refused request left a trace in the switch.
    pub fn write(&self, switch: &mut Switch, request: &[u8], packet: &[u8]) -> Written {
        let Ok(request) = WriteRequest::decode(request) else {
            return Written::Malformed;
        };
        let mut batch: Vec<Update> = Vec::new();
        let mut fits = true;
        for update in &request.updates {
            match change(&self.0, update) {
                Ok(Change::Switch(updates)) => batch.extend(updates),
                Ok(Change::Digest { .. }) => {}
                Err(refusal) => {
                    assert!(!refusal.message.is_empty());
                    fits = false;
                }
            }
        }
        let written = if fits {
            write_all(switch, &batch)
        } else {
            Written::Refused
        };
        switch.process(1, packet, 2, &mut |_, _| ());
        written
    }
}

fn write_all(switch: &mut Switch, batch: &[Update]) -> Written {
    let before = state(switch);
    let Err((at, error)) = switch.write(batch, 1) else {
        return Written::Made;
    };
    assert!(at < batch.len());
    assert!(!error.to_string().is_empty());
    assert_eq!(state(switch), before, "a refused batch left a trace");
    Written::Refused
}

/// All that a control plane can read, in an order that does not depend on that of the writes.
fn state(switch: &Switch) -> Vec<String> {
    let program = switch.program();
    let mut found = Vec::new();
    for table in 0..program.tables.len() {
        let entries = switch.entries(table);
        found.extend(entries.iter().map(|entry| format!("{entry:?}")));
        let note = switch.default_note(table);
        found.push(format!(
            "{table}: {:?} {note:?}",
            switch.default_action(table)
        ));
    }
    for profile in 0..program.profiles.len() {
        found.push(format!("{profile}: {:?}", switch.members(profile)));
        found.push(format!("{profile}: {:?}", switch.groups(profile)));
    }
    for set in 0..program.value_sets.len() {
        found.push(format!("{set}: {:?}", switch.value_set(set)));
    }
    for (group, replicas) in switch.multicast_groups() {
        found.push(format!(
            "{group}: {replicas:?} {:?}",
            switch.multicast_note(group)
        ));
    }
    found.extend(
        switch
            .clone_sessions()
            .map(|session| format!("{session:?}")),
    );
    for cell in 0..CELLS {
        for array in 0..program.counters.len() {
            found.push(format!("{array}: {:?}", switch.counter(array, cell)));
        }
        for array in 0..program.meters.len() {
            found.push(format!("{array}: {:?}", switch.meter(array, cell)));
        }
        for array in 0..program.registers.len() {
            found.push(format!("{array}: {:?}", switch.register(array, cell)));
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    const PROGRAM: &[u8] = include_bytes!("../../../p4/control_plane/control_plane.json");
    const P4INFO: &[u8] = include_bytes!("../../../p4/control_plane/control_plane.p4info.txt");
    const ENTRIES: &str = include_str!("../../../p4/control_plane/control_plane.stf");

    fn target() -> Target {
        Target::new(P4INFO, Program::from_json(PROGRAM).unwrap()).unwrap()
    }

    fn seeds(target: &Target) -> Vec<Vec<u8>> {
        target.requests(ENTRIES).unwrap()
    }

    #[test]
    fn seeds_are_made_and_what_is_no_message_is_none() {
        let target = target();
        let mut switch = target.switch();
        for seed in &seeds(&target)[1..] {
            assert_eq!(target.write(&mut switch, seed, &[2; 60]), Written::Made);
        }
        let cut = &seeds(&target)[0][..10];
        assert_eq!(target.write(&mut switch, cut, &[2; 60]), Written::Malformed);
    }

    /// Requests one after the other to one switch, with bytes changed and parts joined: each is made whole or leaves nothing.
    #[test]
    fn damaged_requests_are_made_whole_or_leave_no_trace() {
        let target = target();
        let seeds = seeds(&target);
        let change = (any::<Index>(), any::<u8>());
        let request = (
            proptest::collection::vec(any::<Index>(), 1..4),
            proptest::collection::vec(change, 0..4),
        );
        let requests = proptest::collection::vec(request, 1..10);
        let config = Config {
            cases: 600,
            failure_persistence: None,
            ..Config::default()
        };
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, random);
        let seen = std::cell::RefCell::new([0; 3]);
        let run = runner.run(&requests, |requests| {
            let mut switch = target.switch();
            for (parts, changes) in requests {
                let mut bytes: Vec<u8> = parts
                    .iter()
                    .flat_map(|part| part.get(&seeds).clone())
                    .collect();
                for (at, byte) in changes {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                let written = target.write(&mut switch, &bytes, &[2; 60]);
                seen.borrow_mut()[written as usize] += 1;
            }
            Ok(())
        });
        run.unwrap();
        let seen = seen.into_inner();
        // Each way is met often.
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
    }
}
