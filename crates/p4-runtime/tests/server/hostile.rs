//! What no controller should send: the server answers with a status, and the switch stays as it was.

use crate::bench::{Bench, exact, insert, modify, of, station};
use linerate_p4_runtime::proto::p4::v1::stream_message_request::Update as Request;
use linerate_p4_runtime::proto::p4::v1::write_request::Atomicity;
use linerate_p4_runtime::proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CounterEntry, Entity, MeterEntry,
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
