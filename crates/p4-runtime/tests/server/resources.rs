//! Counters, meters, registers, value sets, multicast groups and clone sessions.

use crate::bench::{
    Bench, does_action, entries, exact, frame, insert, ipv4, lpm, modify, read, station, write,
};
use linerate_p4_runtime::Code;
use linerate_p4_runtime::proto::p4::v1::{
    CloneSessionEntry, CounterData, CounterEntry, DirectCounterEntry, DirectMeterEntry, Index,
    MeterConfig, MeterEntry, MulticastGroupEntry, P4Data, PacketReplicationEngineEntry,
    RegisterEntry, Replica, TableEntry, ValueSetEntry, ValueSetMember, entity::Entity as Kind,
    p4_data, packet_replication_engine_entry::Type as Replication, replica, table_action,
    write_request::Atomicity,
};

#[expect(clippy::too_many_lines, reason = "one story, step by step")]
#[test]
fn direct_counters_and_meters_belong_to_entries() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let data = Some(CounterData {
        byte_count: 100,
        packet_count: 10,
    });
    let route = TableEntry {
        counter_data: data,
        ..bench.entry(
            "routes",
            vec![lpm(&[10, 0, 0, 0], 8)],
            Some(bench.action("counted", &[&[3]])),
        )
    };
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(route.clone()))),
        Code::Ok
    );
    assert_eq!(
        bench.send(1, &ipv4(9, [1, 1, 1, 1], [10, 0, 0, 1], 5, 6))[0].0,
        3
    );
    let wanted = TableEntry {
        counter_data: Some(CounterData::default()),
        ..bench.entry("routes", vec![], None)
    };
    let counted = Some(CounterData {
        byte_count: 134,
        packet_count: 11,
    });
    assert_eq!(entries(&client, wanted.clone())[0].counter_data, counted);
    // Changing the entry leaves its count.
    let moved = TableEntry {
        counter_data: None,
        action: Some(does_action(table_action::Type::Action(
            bench.action("counted", &[&[4]]),
        ))),
        ..route.clone()
    };
    assert_eq!(
        write(&mut client, modify(Kind::TableEntry(moved))),
        Code::Ok
    );
    assert_eq!(entries(&client, wanted)[0].counter_data, counted);
    // All direct counters of all tables, in one read.
    let direct = read(
        &client,
        Kind::DirectCounterEntry(DirectCounterEntry::default()),
    );
    let [Kind::DirectCounterEntry(direct)] = direct.as_slice() else {
        panic!("{direct:?}")
    };
    assert_eq!(direct.data, counted);
    let key = TableEntry {
        counter_data: None,
        action: None,
        ..route
    };
    let reset = DirectCounterEntry {
        table_entry: Some(key),
        data: Some(CounterData::default()),
    };
    assert_eq!(
        write(&mut client, insert(Kind::DirectCounterEntry(reset.clone()))),
        Code::InvalidArgument
    );
    assert_eq!(
        write(&mut client, modify(Kind::DirectCounterEntry(reset.clone()))),
        Code::Ok
    );
    let read_back = read(
        &client,
        Kind::DirectCounterEntry(DirectCounterEntry {
            data: None,
            ..reset.clone()
        }),
    );
    let [Kind::DirectCounterEntry(read_back)] = read_back.as_slice() else {
        panic!("{read_back:?}")
    };
    assert_eq!(read_back.data, reset.data);
    let config = Some(MeterConfig {
        cir: 10,
        cburst: 40,
        pir: 20,
        pburst: 80,
        eburst: 0,
    });
    let rule = TableEntry {
        priority: 3,
        meter_config: config,
        ..bench.entry("rules", vec![], Some(bench.action("metered", &[&[5]])))
    };
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(rule.clone()))),
        Code::Ok
    );
    let meters = || read(&client, Kind::DirectMeterEntry(DirectMeterEntry::default()));
    let [Kind::DirectMeterEntry(meter)] = &meters()[..] else {
        panic!()
    };
    assert_eq!(meter.config, config);
    let key = TableEntry {
        meter_config: None,
        action: None,
        ..rule
    };
    let none = DirectMeterEntry {
        table_entry: Some(key),
        config: None,
        counter_data: None,
    };
    let update = modify(Kind::DirectMeterEntry(none));
    client
        .write(vec![update], Atomicity::ContinueOnError)
        .expect("a meter");
    let [Kind::DirectMeterEntry(meter)] =
        &read(&client, Kind::DirectMeterEntry(DirectMeterEntry::default()))[..]
    else {
        panic!()
    };
    assert_eq!(meter.config, None);
}

#[expect(clippy::too_many_lines, reason = "one story, step by step")]
#[test]
fn cells_of_counters_meters_and_registers_are_read_and_written() {
    let bench = Bench::new();
    let mut client = bench.primary();
    bench.send(5, &frame(9, 7, 0x1234, &[0; 46]));
    let index = |index| Some(Index { index });
    let counter = |at| CounterEntry {
        counter_id: 0,
        index: at,
        data: None,
    };
    let all = read(&client, Kind::CounterEntry(counter(None)));
    assert_eq!(all.len(), 512);
    let Kind::CounterEntry(fifth) = &all[5] else {
        panic!()
    };
    assert_eq!(
        fifth.data,
        Some(CounterData {
            byte_count: 60,
            packet_count: 1
        })
    );
    let mut reset = CounterEntry {
        data: Some(CounterData::default()),
        ..*fifth
    };
    assert_eq!(
        write(&mut client, modify(Kind::CounterEntry(reset))),
        Code::Ok
    );
    assert_eq!(
        write(&mut client, insert(Kind::CounterEntry(reset))),
        Code::InvalidArgument
    );
    reset.index = index(512);
    assert_eq!(
        write(&mut client, modify(Kind::CounterEntry(reset))),
        Code::OutOfRange
    );
    reset.index = index(-1);
    assert_eq!(
        write(&mut client, modify(Kind::CounterEntry(reset))),
        Code::InvalidArgument
    );

    let Kind::MeterEntry(meter) = &read(&client, Kind::MeterEntry(MeterEntry::default()))[3] else {
        panic!()
    };
    assert_eq!(meter.config, None);
    let config = Some(MeterConfig {
        cir: 1,
        cburst: 2,
        pir: 3,
        pburst: 4,
        eburst: 0,
    });
    let all_cells = MeterEntry {
        index: None,
        config,
        ..*meter
    };
    assert_eq!(
        write(&mut client, modify(Kind::MeterEntry(all_cells))),
        Code::Ok
    );
    let read_back = read(
        &client,
        Kind::MeterEntry(MeterEntry {
            config: None,
            ..*meter
        }),
    );
    assert_eq!(
        read_back,
        [Kind::MeterEntry(MeterEntry { config, ..*meter })]
    );
    let wrong = Some(MeterConfig {
        cir: 5,
        pir: 3,
        ..MeterConfig::default()
    });
    assert_eq!(
        write(
            &mut client,
            modify(Kind::MeterEntry(MeterEntry {
                config: wrong,
                ..*meter
            }))
        ),
        Code::InvalidArgument
    );

    let cells = read(&client, Kind::RegisterEntry(RegisterEntry::default()));
    let Kind::RegisterEntry(first) = &cells[0] else {
        panic!()
    };
    let bits = |bits: &[u8]| {
        Some(P4Data {
            data: Some(p4_data::Data::Bitstring(bits.to_vec())),
        })
    };
    assert_eq!((cells.len(), &first.data), (8, &bits(&station(7))));
    let set = |data| {
        modify(Kind::RegisterEntry(RegisterEntry {
            data,
            ..first.clone()
        }))
    };
    assert_eq!(write(&mut client, set(bits(&[1; 7]))), Code::OutOfRange);
    assert_eq!(write(&mut client, set(None)), Code::InvalidArgument);
    assert_eq!(write(&mut client, set(bits(&[9]))), Code::Ok);
    let read_back = read(
        &client,
        Kind::RegisterEntry(RegisterEntry {
            data: None,
            ..first.clone()
        }),
    );
    assert_eq!(
        read_back,
        [Kind::RegisterEntry(RegisterEntry {
            data: bits(&[9]),
            ..first.clone()
        })]
    );
}

#[test]
fn value_sets_steer_the_parser() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let id = *bench.schema.value_sets.keys().next().expect("a value set");
    let member = |value: u16| ValueSetMember {
        r#match: vec![exact(1, &value.to_be_bytes())],
    };
    let set = |members| ValueSetEntry {
        value_set_id: id,
        members,
    };
    let one = set(vec![member(0x88b5), member(0x1234)]);
    assert_eq!(
        write(&mut client, modify(Kind::ValueSetEntry(one.clone()))),
        Code::Ok
    );
    assert_eq!(
        read(&client, Kind::ValueSetEntry(ValueSetEntry::default())),
        [Kind::ValueSetEntry(one)]
    );
    let cases = [
        (
            set(vec![member(0x1111), member(0x1111)]),
            Code::AlreadyExists,
        ),
        (set((1..=5).map(member).collect()), Code::ResourceExhausted),
        (
            set(vec![ValueSetMember { r#match: vec![] }]),
            Code::InvalidArgument,
        ),
        (
            ValueSetEntry {
                value_set_id: 5,
                members: vec![],
            },
            Code::NotFound,
        ),
    ];
    for (entry, code) in cases {
        assert_eq!(write(&mut client, modify(Kind::ValueSetEntry(entry))), code);
    }
}

#[expect(clippy::too_many_lines, reason = "one story, step by step")]
#[test]
fn packets_are_replicated_and_cloned() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let replica = |port: u8, instance| Replica {
        port_kind: Some(replica::PortKind::Port(vec![port])),
        instance,
        backup_replicas: vec![],
    };
    let entry = |kind| {
        Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
    };
    let group = |multicast_group_id, replicas| {
        entry(Replication::MulticastGroupEntry(MulticastGroupEntry {
            multicast_group_id,
            replicas,
            metadata: b"note".to_vec(),
        }))
    };
    let session = |session_id, packet_length_bytes| {
        entry(Replication::CloneSessionEntry(CloneSessionEntry {
            session_id,
            replicas: vec![replica(8, 1)],
            class_of_service: 0,
            packet_length_bytes,
        }))
    };
    let good = [group(3, vec![replica(1, 1), replica(2, 2)]), session(5, 20)];
    for kind in &good {
        assert_eq!(write(&mut client, insert(kind.clone())), Code::Ok);
    }
    let all = read(
        &client,
        Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry::default()),
    );
    assert_eq!(all, good);
    assert_eq!(
        write(&mut client, insert(group(0, vec![]))),
        Code::InvalidArgument
    );
    assert_eq!(
        write(
            &mut client,
            insert(group(4, vec![replica(1, 1), replica(1, 1)]))
        ),
        Code::InvalidArgument
    );
    assert_eq!(
        write(&mut client, insert(group(4, vec![replica(1, 70_000)]))),
        Code::InvalidArgument
    );
    assert_eq!(
        write(&mut client, insert(session(0, 0))),
        Code::InvalidArgument
    );
    for (dst, action) in [
        (3, bench.action("spread", &[&[3]])),
        (4, bench.action("copy", &[&[5], &[9]])),
    ] {
        let entry = bench.entry("stations", vec![exact(1, &station(dst))], Some(action));
        assert_eq!(
            write(&mut client, insert(Kind::TableEntry(entry))),
            Code::Ok
        );
    }
    let ports = |sent: Vec<(u32, Vec<u8>)>| {
        sent.iter()
            .map(|(port, bytes)| (*port, bytes.len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ports(bench.send(1, &frame(3, 1, 0x1234, &[0; 46]))),
        [(1, 60), (2, 60)]
    );
    let mut cloned = ports(bench.send(1, &frame(4, 1, 0x1234, &[0; 46])));
    cloned.sort_unstable();
    assert_eq!(cloned, [(8, 20), (9, 60)]);
}
