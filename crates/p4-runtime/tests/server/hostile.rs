//! What no controller should send: the server answers with a status, and the switch stays as it was.

use crate::bench::{Bench, exact, insert, modify, of, station};
use linerate_p4_runtime::proto::p4::v1::stream_message_request::Update as Request;
use linerate_p4_runtime::proto::p4::v1::write_request::Atomicity;
use linerate_p4_runtime::proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CounterData, CounterEntry, Entity, MeterEntry,
    PacketReplicationEngineEntry, RegisterEntry, TableEntry, Update, ValueSetEntry,
    entity::Entity as Kind,
};
use linerate_p4_runtime::{Client, Code, Options};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use prost::Message as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// The whole state, as it is read.
fn state(client: &Client) -> Vec<Entity> {
    let everything = [
        Kind::TableEntry(TableEntry::default()),
        Kind::TableEntry(TableEntry {
            is_default_action: true,
            ..TableEntry::default()
        }),
        Kind::ActionProfileMember(ActionProfileMember::default()),
        Kind::ActionProfileGroup(ActionProfileGroup::default()),
        Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry::default()),
        Kind::ValueSetEntry(ValueSetEntry::default()),
        Kind::CounterEntry(CounterEntry::default()),
        Kind::MeterEntry(MeterEntry::default()),
        Kind::RegisterEntry(RegisterEntry::default()),
    ];
    client.read(everything.map(of).to_vec()).expect("the state")
}

/// Updates that are good, to break.
fn seeds(bench: &Bench) -> Vec<Vec<u8>> {
    let send = || Some(bench.action("send", &[&[2]]));
    let mut updates = vec![
        insert(Kind::TableEntry(bench.entry(
            "stations",
            vec![exact(1, &station(2))],
            send(),
        ))),
        modify(Kind::ValueSetEntry(ValueSetEntry {
            value_set_id: *bench.schema.value_sets.keys().next().expect("a value set"),
            members: vec![],
        })),
    ];
    for profile in bench.schema.profiles.keys() {
        updates.push(insert(Kind::ActionProfileMember(ActionProfileMember {
            action_profile_id: *profile,
            member_id: 1,
            action: send(),
        })));
    }
    updates.iter().map(Update::encode_to_vec).collect()
}

#[test]
fn broken_updates_have_codes_and_rolled_back_batches_leave_no_trace() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let before = state(&client);
    let seeds = seeds(&bench);
    let change = (
        0..seeds.len(),
        proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6),
    );
    let batches = proptest::collection::vec(change, 1..8);
    let config = Config {
        cases: 400,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let client = std::cell::RefCell::new(&mut client);
    runner
        .run(&batches, |batch| {
            let mut updates = Vec::new();
            for (seed, changes) in batch {
                let mut bytes = seeds[seed].clone();
                for (at, value) in changes {
                    let at = usize::from(at) % bytes.len();
                    bytes[at] = value;
                }
                updates.extend(Update::decode(bytes.as_slice()));
            }
            // An update that is always refused takes the others back.
            updates.push(Update::default());
            let count = updates.len();
            let mut client = client.borrow_mut();
            let refused = client
                .write(updates, Atomicity::RollbackOnError)
                .unwrap_err();
            prop_assert_eq!(refused.code(), Some(Code::Unknown));
            prop_assert_eq!(refused.refused().len(), count);
            for one in refused.refused() {
                prop_assert!(
                    !matches!(one.code, Code::Internal | Code::Unknown | Code::Ok),
                    "{:?}",
                    one
                );
            }
            Ok(())
        })
        .expect("codes");
    assert_eq!(state(client.into_inner()), before);
}

#[test]
fn large_batches_and_messages_are_refused() {
    let options = Options {
        max_updates: 10,
        max_message: 10_000,
        ..Options::default()
    };
    let bench = Bench::with(options, true);
    let mut client = bench.primary();
    let many = client
        .write(vec![Update::default(); 11], Atomicity::ContinueOnError)
        .unwrap_err();
    assert_eq!(many.code(), Some(Code::ResourceExhausted));
    let entry = TableEntry {
        metadata: vec![0; 20_000],
        ..bench.entry("stations", vec![], None)
    };
    let large = client
        .write(
            vec![insert(Kind::TableEntry(entry))],
            Atomicity::ContinueOnError,
        )
        .unwrap_err();
    assert_eq!(large.code(), Some(Code::OutOfRange));
    let error = client.read(vec![Entity::default()]).unwrap_err();
    assert_eq!(error.refused()[0].code, Code::InvalidArgument);
}

/// An update without an index is one for each cell: some thousands of them would be memory for millions of changes.
#[test]
fn a_request_that_changes_cells_without_bound_is_refused() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let before = state(&client);
    let cells = read_cells(&bench, &client);
    let all = modify(Kind::CounterEntry(CounterEntry {
        counter_id: cells.0,
        data: Some(CounterData {
            packet_count: 7,
            byte_count: 7,
        }),
        ..CounterEntry::default()
    }));
    let fit = (1 << 20) / cells.1;
    let beyond = format!("number {}: the request changes more than", fit + 1);
    let mut refused = |atomicity| {
        let written = client.write(vec![all.clone(); fit + 1], atomicity);
        let error = written.unwrap_err();
        assert_eq!(error.code(), Some(Code::Unknown), "{error}");
        error.to_string()
    };
    let said = refused(Atomicity::RollbackOnError);
    assert!(said.contains(&beyond), "{said}");
    let said = refused(Atomicity::ContinueOnError);
    assert!(said.contains(&beyond) && said.contains(": 1 of "), "{said}");
    let undo = modify(Kind::CounterEntry(CounterEntry {
        counter_id: cells.0,
        data: Some(CounterData::default()),
        ..CounterEntry::default()
    }));
    assert_ne!(state(&client), before, "those that fit were made");
    assert_eq!(crate::bench::write(&mut client, undo), Code::Ok);
    assert_eq!(state(&client), before);
}

/// The largest array of counters, and its cells.
fn read_cells(bench: &Bench, client: &Client) -> (u32, usize) {
    let all = bench.schema.counters.values();
    let arrays = all.filter(|counter| counter.table.is_none());
    let arrays = arrays.map(|counter| {
        let all = CounterEntry {
            counter_id: counter.id,
            ..CounterEntry::default()
        };
        let cells = client.read(vec![of(Kind::CounterEntry(all))]);
        (counter.id, cells.expect("its cells").len())
    });
    arrays
        .max_by_key(|(_, cells)| *cells)
        .expect("a counter array")
}

#[test]
fn what_is_not_grpc_disturbs_nobody() {
    let bench = Bench::new();
    let mut client = bench.primary();
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 4096],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\xff",
    ] {
        let mut stream = TcpStream::connect(bench.server.address()).expect("a connection");
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    // Messages before arbitration, empty ones, and of other architectures.
    let mut odd = bench.client();
    assert!(
        odd.send(Request::Other(prost_types::Any::default()))
            .is_err(),
        "no stream yet"
    );
    odd.arbitrate("", None).expect("an answer");
    odd.send(Request::Other(prost_types::Any::default()))
        .expect("a stream");
    assert!(
        odd.next(crate::bench::PATIENCE)
            .expect("a stream")
            .is_some()
    );
    let entry = bench.entry(
        "stations",
        vec![exact(1, &station(2))],
        Some(bench.action("send", &[&[2]])),
    );
    client
        .write(
            vec![insert(Kind::TableEntry(entry))],
            Atomicity::ContinueOnError,
        )
        .expect("a write");
}

/// Two bytes on the wire are some hundred in memory.
#[test]
fn empty_elements_without_end_are_refused_before_they_take_memory() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let refused = client
        .write(
            vec![Update::default(); 2_000_000],
            Atomicity::ContinueOnError,
        )
        .unwrap_err();
    assert_eq!(refused.code(), Some(Code::ResourceExhausted));
    assert!(refused.to_string().contains("MiB of memory"), "{refused}");
    let asked = vec![Entity::default(); 300_000];
    let refused = client.read(asked).unwrap_err();
    assert_eq!(refused.code(), Some(Code::ResourceExhausted));
    assert!(refused.to_string().contains("at most 262144"), "{refused}");
    assert!(!state(&client).is_empty());
}
