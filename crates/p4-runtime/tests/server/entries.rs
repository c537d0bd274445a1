//! Entries of every match kind, defaults, constant entries, filters of reads, ages.

use crate::bench::{
    Bench, changed, delete, entries, exact, field, frame, insert, ipv4, lpm, modify, of, station,
    write,
};
use linerate_p4_runtime::Code;
use linerate_p4_runtime::proto::p4::v1::{
    CounterData, FieldMatch, MeterConfig, TableEntry,
    entity::Entity as Kind,
    field_match::{self, FieldMatchType},
    table_entry, update,
    write_request::Atomicity,
};
use std::time::Duration;

fn ternary(value: &[u8], mask: &[u8]) -> FieldMatch {
    let (value, mask) = (value.to_vec(), mask.to_vec());
    field(
        1,
        FieldMatchType::Ternary(field_match::Ternary { value, mask }),
    )
}

fn range(low: u8, high: u8) -> FieldMatch {
    let (low, high) = (vec![low], vec![high]);
    field(2, FieldMatchType::Range(field_match::Range { low, high }))
}

fn optional(value: u8) -> FieldMatch {
    let value = vec![value];
    field(3, FieldMatchType::Optional(field_match::Optional { value }))
}

/// Entries of every match kind, as they are read back.
fn every_kind(bench: &Bench) -> Vec<TableEntry> {
    let send = |port: u8| Some(bench.action("send", &[&[port]]));
    let rule = |matches: Vec<FieldMatch>, priority| TableEntry {
        priority,
        ..bench.entry("rules", matches, Some(bench.action("drop", &[])))
    };
    vec![
        TableEntry {
            metadata: b"mine".to_vec(),
            controller_metadata: 7,
            ..bench.entry("stations", vec![exact(1, &station(2))], send(2))
        },
        bench.entry(
            "routes",
            vec![lpm(&[10, 0, 0, 0], 8)],
            Some(bench.action("counted", &[&[3]])),
        ),
        bench.entry("routes", vec![], Some(bench.action("counted", &[&[4]]))),
        rule(
            vec![
                ternary(&[1, 0, 0, 0], &[0xff, 0, 0, 0]),
                range(3, 5),
                optional(17),
            ],
            9,
        ),
        rule(vec![range(3, 5)], 8),
        rule(vec![], 7),
    ]
}

#[test]
fn entries_of_every_match_kind_are_read_as_they_were_written() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let written = every_kind(&bench);
    for entry in &written {
        assert_eq!(
            write(&mut client, insert(Kind::TableEntry(entry.clone()))),
            Code::Ok
        );
        assert_eq!(
            write(&mut client, insert(Kind::TableEntry(entry.clone()))),
            Code::AlreadyExists
        );
    }
    let all = entries(&client, TableEntry::default());
    let mut own: Vec<_> = all
        .iter()
        .filter(|entry| !entry.is_const)
        .cloned()
        .collect();
    let mut expected = written.clone();
    own.sort_by_key(|entry| (entry.table_id, entry.priority, entry.r#match.len()));
    expected.sort_by_key(|entry| (entry.table_id, entry.priority, entry.r#match.len()));
    assert_eq!(own, expected);
    assert_eq!(all.len(), written.len() + 2, "constant entries too");
    // They steer packets; the larger priority wins.
    let sent = bench.send(1, &frame(2, 1, 0x1234, &[]));
    assert_eq!(sent[0].0, 2);
    assert_eq!(
        bench
            .send(1, &ipv4(9, [2, 0, 0, 1], [10, 1, 1, 1], 9, 6))
            .len(),
        0
    );
    for entry in written {
        let bare = TableEntry {
            action: None,
            metadata: vec![],
            ..entry
        };
        assert_eq!(
            write(&mut client, delete(Kind::TableEntry(bare.clone()))),
            Code::Ok
        );
        assert_eq!(
            write(&mut client, delete(Kind::TableEntry(bare))),
            Code::NotFound
        );
    }
    assert_eq!(entries(&client, TableEntry::default()).len(), 2);
}

#[expect(clippy::too_many_lines, reason = "a list of cases")]
#[test]
fn entries_that_do_not_fit_are_refused_with_the_code_of_the_specification() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let send = || Some(bench.action("send", &[&[2]]));
    let station_entry = |matches| bench.entry("stations", matches, send());
    let key = || vec![exact(1, &station(2))];
    let rule = |matches, priority| TableEntry {
        priority,
        ..bench.entry("rules", matches, Some(bench.action("drop", &[])))
    };
    let route = |matches| bench.entry("routes", matches, Some(bench.action("counted", &[&[2]])));
    let mut twice = bench.action("send", &[&[2]]);
    twice.params.push(twice.params[0].clone());
    let no_parameter = bench.action("send", &[]);
    let cases = [
        (
            TableEntry {
                table_id: 1,
                ..station_entry(key())
            },
            Code::NotFound,
        ),
        (station_entry(vec![]), Code::InvalidArgument),
        (station_entry(vec![exact(9, &[1])]), Code::InvalidArgument),
        (
            station_entry(vec![exact(1, &[1]), exact(1, &[1])]),
            Code::InvalidArgument,
        ),
        (station_entry(vec![exact(1, &[])]), Code::OutOfRange),
        (station_entry(vec![exact(1, &[1; 7])]), Code::OutOfRange),
        (station_entry(vec![lpm(&[1], 48)]), Code::InvalidArgument),
        (
            TableEntry {
                priority: 5,
                ..station_entry(key())
            },
            Code::InvalidArgument,
        ),
        (
            TableEntry {
                is_const: true,
                ..station_entry(key())
            },
            Code::InvalidArgument,
        ),
        (
            TableEntry {
                time_since_last_hit: Some(table_entry::IdleTimeout::default()),
                ..station_entry(key())
            },
            Code::InvalidArgument,
        ),
        (bench.entry("stations", key(), None), Code::InvalidArgument),
        (
            bench.entry("stations", key(), Some(twice)),
            Code::InvalidArgument,
        ),
        (
            bench.entry("stations", key(), Some(no_parameter)),
            Code::InvalidArgument,
        ),
        (
            bench.entry("stations", key(), Some(bench.action("send", &[&[2, 0]]))),
            Code::OutOfRange,
        ),
        (
            bench.entry("stations", key(), Some(bench.action("drop", &[]))),
            Code::InvalidArgument,
        ),
        (
            bench.entry("stations", key(), Some(bench.action("NoAction", &[]))),
            Code::PermissionDenied,
        ),
        (rule(vec![range(1, 2)], 0), Code::InvalidArgument),
        (rule(vec![range(2, 1)], 1), Code::InvalidArgument),
        (rule(vec![range(0, 255)], 1), Code::InvalidArgument),
        (rule(vec![ternary(&[1], &[0])], 1), Code::InvalidArgument),
        (rule(vec![ternary(&[3], &[1])], 1), Code::InvalidArgument),
        (route(vec![lpm(&[10, 0, 0, 1], 8)]), Code::InvalidArgument),
        (route(vec![lpm(&[0], 0)]), Code::InvalidArgument),
        (route(vec![lpm(&[10, 0, 0, 0], 33)]), Code::InvalidArgument),
        (
            TableEntry {
                idle_timeout_ns: 5,
                ..route(vec![])
            },
            Code::InvalidArgument,
        ),
        (
            TableEntry {
                idle_timeout_ns: -5,
                ..station_entry(key())
            },
            Code::InvalidArgument,
        ),
        (
            TableEntry {
                meter_config: Some(MeterConfig::default()),
                ..route(vec![])
            },
            Code::InvalidArgument,
        ),
        (
            TableEntry {
                counter_data: Some(CounterData {
                    byte_count: -1,
                    packet_count: 0,
                }),
                ..route(vec![])
            },
            Code::InvalidArgument,
        ),
        (
            bench.entry(
                "constants",
                vec![exact(1, &[0x12, 0x34])],
                Some(bench.action("drop", &[])),
            ),
            Code::PermissionDenied,
        ),
    ];
    for (entry, code) in cases {
        let shown = format!("{entry:?}");
        assert_eq!(
            write(&mut client, insert(Kind::TableEntry(entry))),
            code,
            "{shown}"
        );
    }
    let missing = modify(Kind::TableEntry(station_entry(key())));
    assert_eq!(write(&mut client, missing), Code::NotFound);
    let unset = changed(
        update::Type::Unspecified,
        Kind::TableEntry(station_entry(key())),
    );
    assert_eq!(write(&mut client, unset), Code::InvalidArgument);
    assert_eq!(
        entries(&client, TableEntry::default()).len(),
        2,
        "only the constant ones"
    );
}

#[test]
fn a_table_has_room_for_its_size() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let update = |ttl: u8| {
        insert(Kind::TableEntry(TableEntry {
            priority: 1,
            ..bench.entry(
                "rules",
                vec![range(ttl, ttl)],
                Some(bench.action("drop", &[])),
            )
        }))
    };
    client
        .write((1..=64).map(update).collect(), Atomicity::DataplaneAtomic)
        .expect("64 entries");
    assert_eq!(write(&mut client, update(65)), Code::ResourceExhausted);
}

#[test]
fn defaults_are_modified_reset_and_read() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let default = |does| TableEntry {
        is_default_action: true,
        ..bench.entry("stations", vec![], does)
    };
    let to = Some(bench.action("send", &[&[6]]));
    let set = TableEntry {
        metadata: b"mine".to_vec(),
        controller_metadata: 7,
        ..default(to)
    };
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(set.clone()))),
        Code::InvalidArgument
    );
    assert_eq!(
        write(&mut client, modify(Kind::TableEntry(set.clone()))),
        Code::Ok
    );
    assert_eq!(entries(&client, default(None)), [set]);
    assert_eq!(bench.send(1, &frame(9, 1, 0x1234, &[]))[0].0, 6);
    assert_eq!(
        write(&mut client, modify(Kind::TableEntry(default(None)))),
        Code::Ok
    );
    assert_eq!(bench.send(1, &frame(9, 1, 0x1234, &[])).len(), 0);
    // Reset with what was kept.
    assert_eq!(entries(&client, default(None))[0].metadata, b"");
    let drop = bench.action("drop", &[]);
    let constant = TableEntry {
        is_default_action: true,
        ..bench.entry("constants", vec![], Some(drop.clone()))
    };
    assert_eq!(
        write(&mut client, modify(Kind::TableEntry(constant))),
        Code::PermissionDenied
    );
    let scoped = TableEntry {
        is_default_action: true,
        ..bench.entry("routes", vec![], Some(drop))
    };
    assert_eq!(
        write(&mut client, modify(Kind::TableEntry(scoped))),
        Code::PermissionDenied
    );
    let all = TableEntry {
        is_default_action: true,
        ..TableEntry::default()
    };
    assert_eq!(entries(&client, all).len(), bench.schema.tables.len());
}

#[test]
fn reads_are_filtered() {
    let bench = Bench::new();
    let mut client = bench.primary();
    for entry in every_kind(&bench) {
        assert_eq!(
            write(&mut client, insert(Kind::TableEntry(entry))),
            Code::Ok
        );
    }
    let count = |wanted| entries(&client, wanted).len();
    assert_eq!(count(bench.entry("rules", vec![], None)), 3);
    assert_eq!(
        count(TableEntry {
            priority: 8,
            ..bench.entry("rules", vec![], None)
        }),
        1
    );
    assert_eq!(
        count(bench.entry("routes", vec![lpm(&[10, 0, 0, 0], 8)], None)),
        1
    );
    assert_eq!(
        count(bench.entry("routes", vec![lpm(&[11, 0, 0, 0], 8)], None)),
        0
    );
    assert_eq!(
        count(bench.entry("rules", vec![], Some(bench.action("drop", &[])))),
        3
    );
    assert_eq!(
        count(bench.entry("rules", vec![], Some(bench.action("metered", &[])))),
        0
    );
    assert_eq!(
        count(TableEntry {
            metadata: b"mine".to_vec(),
            ..bench.entry("stations", vec![], None)
        }),
        1
    );
    assert_eq!(
        count(TableEntry {
            controller_metadata: 8,
            ..bench.entry("stations", vec![], None)
        }),
        0
    );
    let unknown = client.read(vec![of(Kind::TableEntry(TableEntry {
        table_id: 5,
        ..TableEntry::default()
    }))]);
    assert_eq!(unknown.unwrap_err().refused()[0].code, Code::NotFound);
}

#[test]
fn entries_tell_how_long_no_packet_used_them() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let entry = TableEntry {
        idle_timeout_ns: 5_000_000_000,
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
    bench.advance(Duration::from_secs(2));
    let wanted = TableEntry {
        time_since_last_hit: Some(table_entry::IdleTimeout::default()),
        ..bench.entry("stations", vec![], None)
    };
    let elapsed = Some(table_entry::IdleTimeout {
        elapsed_ns: 2_000_000_000,
    });
    let expected = TableEntry {
        time_since_last_hit: elapsed,
        ..entry
    };
    assert_eq!(entries(&client, wanted), [expected]);
}
