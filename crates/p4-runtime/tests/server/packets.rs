//! What comes and goes on the stream: packets, digests, idle entries, errors.

use crate::bench::{Bench, PATIENCE, changed, exact, frame, insert, modify, read, station, write};
use linerate_p4_runtime::proto::p4::v1::stream_message_request::Update as Request;
use linerate_p4_runtime::proto::p4::v1::stream_message_response::Update as Response;
use linerate_p4_runtime::proto::p4::v1::{
    DigestEntry, DigestList, DigestListAck, PacketMetadata, PacketOut, TableEntry, ValueSetEntry,
    ValueSetMember, digest_entry::Config, entity::Entity as Kind, p4_data, update,
};
use linerate_p4_runtime::{Client, Code};
use std::time::Duration;

fn metadata(metadata_id: u32, value: &[u8]) -> PacketMetadata {
    PacketMetadata {
        metadata_id,
        value: value.to_vec(),
    }
}

/// The next message of the stream.
fn next(client: &mut Client) -> Response {
    client.next(PATIENCE).expect("a stream").expect("a message")
}

#[test]
fn packets_go_to_and_come_from_the_primary_with_their_metadata() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let to = bench.entry(
        "stations",
        vec![exact(1, &station(9))],
        Some(bench.action("to_controller", &[])),
    );
    assert_eq!(write(&mut client, insert(Kind::TableEntry(to))), Code::Ok);
    let packet = frame(9, 1, 0x1234, &[5; 50]);
    bench.send(300, &packet);
    let Response::Packet(arrived) = next(&mut client) else {
        panic!()
    };
    assert_eq!(arrived.payload, packet);
    assert_eq!(arrived.metadata, [metadata(1, &[1, 44]), metadata(2, &[0])]);
    let out = PacketOut {
        payload: packet.clone(),
        metadata: vec![metadata(1, &[7]), metadata(2, &[0])],
    };
    client.send(Request::Packet(out.clone())).expect("a stream");
    // What was refused is said; it also tells that the packet before it was taken.
    let odd = PacketOut {
        metadata: vec![metadata(9, &[7])],
        ..out.clone()
    };
    client.send(Request::Packet(odd)).expect("a stream");
    let Response::Error(error) = next(&mut client) else {
        panic!()
    };
    assert_eq!(error.canonical_code, Code::InvalidArgument as i32);
    assert_eq!(bench.sent(), [(7, packet)]);
    let mut backup = bench.client();
    backup.arbitrate("", None).expect("an answer");
    backup.send(Request::Packet(out)).expect("a stream");
    let Response::Error(error) = next(&mut backup) else {
        panic!()
    };
    assert_eq!(error.canonical_code, Code::PermissionDenied as i32);
    assert_eq!(bench.sent(), []);
}

/// The next list of digests; the switch's time goes on while it is waited for.
fn digest(bench: &Bench, client: &mut Client) -> DigestList {
    for _ in 0..6000 {
        bench.advance(Duration::from_millis(1));
        match client.next(Duration::from_millis(10)).expect("a stream") {
            None => {}
            Some(Response::Digest(list)) => return list,
            Some(other) => panic!("{other:?}"),
        }
    }
    panic!("no list of digests");
}

#[expect(clippy::too_many_lines, reason = "one story, step by step")]
#[test]
fn digests_are_listed_once_until_they_are_acknowledged() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let id = *bench.schema.digests.keys().next().expect("a digest");
    let set = *bench.schema.value_sets.keys().next().expect("a value set");
    let member = ValueSetMember {
        r#match: vec![exact(1, &[0x88, 0xb5])],
    };
    let probes = ValueSetEntry {
        value_set_id: set,
        members: vec![member],
    };
    assert_eq!(
        write(&mut client, modify(Kind::ValueSetEntry(probes))),
        Code::Ok
    );
    let config = Config {
        max_timeout_ns: 1000,
        max_list_size: 2,
        ack_timeout_ns: 3_600_000_000_000,
    };
    let entry = DigestEntry {
        digest_id: id,
        config: Some(config),
    };
    assert_eq!(
        write(&mut client, modify(Kind::DigestEntry(entry))),
        Code::NotFound
    );
    assert_eq!(
        write(&mut client, insert(Kind::DigestEntry(entry))),
        Code::Ok
    );
    assert_eq!(
        write(&mut client, insert(Kind::DigestEntry(entry))),
        Code::AlreadyExists
    );
    assert_eq!(
        read(&client, Kind::DigestEntry(DigestEntry::default())),
        [Kind::DigestEntry(entry)]
    );
    let probe = |source| bench.send(5, &frame(9, source, 0x88b5, &[]));
    for source in [1, 1, 2, 1] {
        probe(source);
    }
    let list = digest(&bench, &mut client);
    assert_eq!((list.digest_id, list.data.len()), (id, 2));
    let Some(p4_data::Data::Struct(first)) = &list.data[0].data else {
        panic!()
    };
    let bits = |bits: &[u8]| Some(p4_data::Data::Bitstring(bits.to_vec()));
    assert_eq!(first.members[0].data, bits(&station(1)));
    assert_eq!(first.members[1].data, bits(&[5]));
    // Not told again before the acknowledgement: the next list has the third station alone.
    probe(1);
    probe(3);
    assert_eq!(digest(&bench, &mut client).data.len(), 1);
    let ack = DigestListAck {
        digest_id: id,
        list_id: list.list_id,
    };
    client.send(Request::DigestAck(ack)).expect("a stream");
    client
        .send(Request::DigestAck(DigestListAck {
            digest_id: 5,
            list_id: 0,
        }))
        .expect("a stream");
    let Response::Error(error) = next(&mut client) else {
        panic!()
    };
    assert_eq!(error.canonical_code, Code::InvalidArgument as i32);
    probe(1);
    assert_eq!(digest(&bench, &mut client).data.len(), 1);
    let off = changed(
        update::Type::Delete,
        Kind::DigestEntry(DigestEntry {
            config: None,
            ..entry
        }),
    );
    assert_eq!(write(&mut client, off), Code::Ok);
    assert_eq!(read(&client, Kind::DigestEntry(DigestEntry::default())), []);
}

#[test]
fn idle_entries_are_told_again_and_again() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let entry = TableEntry {
        idle_timeout_ns: 5_000_000_000,
        metadata: b"mine".to_vec(),
        ..bench.entry(
            "stations",
            vec![exact(1, &station(2))],
            Some(bench.action("send", &[&[2]])),
        )
    };
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(entry.clone()))),
        Code::Ok
    );
    for _ in 0..2 {
        bench.advance(Duration::from_secs(5));
        let Response::IdleTimeoutNotification(idle) = next(&mut client) else {
            panic!()
        };
        assert_eq!(idle.table_entry, std::slice::from_ref(&entry));
        assert!(idle.timestamp > 0);
    }
}
