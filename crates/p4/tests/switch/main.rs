//! What packet tests do not touch: meters, digests, profiles and selectors, value sets, clones, replicas, queues,
//! batches, and input that is cut or random. One program has it all; its JSON is written here.

mod passes;
mod stacks;

use linerate_p4::{
    Bucket, Choice, CloneSession, Counter, DropPlace, Entity, Entry, GroupMember, Invocation,
    Limits, Match, MeterConfig, Program, Replica, Switch, Update, UpdateKind, WriteError,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

fn field(header: &str, name: &str) -> Value {
    json!({"type": "field", "value": [header, name]})
}

fn hex(value: &str) -> Value {
    json!({"type": "hexstr", "value": value})
}

fn data(at: u32) -> Value {
    json!({"type": "runtime_data", "value": at})
}

fn call(op: &str, parameters: &[Value]) -> Value {
    json!({"op": op, "parameters": parameters, "source_info": {"filename": "all.p4", "line": 7, "source_fragment": op}})
}

fn table(id: u32, name: &str, kind: &str, next: &str, action_ids: &[u32], names: &[&str]) -> Value {
    let next = if next.is_empty() {
        Value::Null
    } else {
        json!(next)
    };
    let next_tables: serde_json::Map<_, _> = names
        .iter()
        .map(|name| ((*name).to_owned(), next.clone()))
        .collect();
    json!({
        "name": name, "id": id, "match_type": kind, "type": "simple", "max_size": 16, "support_timeout": true,
        "key": [{"match_type": kind, "name": "h.a", "target": ["h", "a"], "mask": null}],
        "action_ids": action_ids, "actions": names, "next_tables": next_tables, "base_default_next": next,
    })
}

/// A header of two bytes `a` and `b`; table `act` by `a` does one thing each, `choose` by `a` takes members or groups,
/// `range` by `a` drops.
#[expect(clippy::too_many_lines, reason = "one packet, step by step")]
fn document() -> Value {
    let standard = [
        ("ingress_port", 9),
        ("egress_spec", 9),
        ("egress_port", 9),
        ("instance_type", 32),
        ("packet_length", 32),
        ("mcast_grp", 16),
        ("egress_rid", 16),
        ("parser_error", 32),
        ("priority", 3),
        ("enq_qdepth", 19),
    ];
    let spec = || field("standard_metadata", "egress_spec");
    let action = |id: u32, name: &str, data: &[(&str, u32)], primitives: &[Value]| {
        let data: Vec<_> = data
            .iter()
            .map(|(name, width)| json!({"name": name, "bitwidth": width}))
            .collect();
        json!({"id": id, "name": name, "runtime_data": data, "primitives": primitives})
    };
    let mut choose = table(1, "choose", "exact", "limit", &[1], &["send"]);
    choose["type"] = json!("indirect_ws");
    choose["action_profile"] = json!("members");
    json!({
        "__meta__": {"version": [2, 23]},
        "header_types": [
            {"name": "h_t", "id": 0, "fields": [["a", 8, false], ["b", 8, false]]},
            {"name": "standard_metadata", "id": 1, "fields": standard.map(|(name, width)| json!([name, width, false]))},
        ],
        "headers": [
            {"name": "h", "id": 0, "header_type": "h_t", "metadata": false},
            {"name": "standard_metadata", "id": 1, "header_type": "standard_metadata", "metadata": true},
        ],
        "field_aliases": [
            ["intrinsic_metadata.mcast_grp", ["standard_metadata", "mcast_grp"]],
            ["intrinsic_metadata.egress_rid", ["standard_metadata", "egress_rid"]],
            ["queueing_metadata.enq_qdepth", ["standard_metadata", "enq_qdepth"]],
        ],
        "parse_vsets": [{"name": "known", "id": 0, "compressed_bitwidth": 8}],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [
            {"name": "start", "id": 0, "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
             "transition_key": [field("h", "b")],
             "transitions": [
                {"type": "parse_vset", "value": "known", "mask": null, "next_state": "marked"},
                {"type": "default", "value": null, "mask": null, "next_state": null}]},
            {"name": "marked", "id": 1, "parser_ops": [
                {"op": "set", "parameters": [field("h", "b"), hex("0xee")]}],
             "transition_key": [], "transitions": [{"type": "default", "value": null, "mask": null, "next_state": null}]},
        ]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"]}],
        "learn_lists": [{"name": "seen", "id": 1, "elements": [field("h", "a"), field("standard_metadata", "ingress_port")]}],
        "field_lists": [{"name": "keep", "id": 1, "elements": [field("standard_metadata", "ingress_port")]}],
        "counter_arrays": [{"name": "packets", "id": 0, "size": 4, "is_direct": false}],
        "meter_arrays": [{"name": "rate", "id": 0, "type": "packets", "rate_count": 2, "size": 2, "is_direct": false}],
        "register_arrays": [{"name": "last", "id": 0, "size": 2, "bitwidth": 80}],
        "calculations": [],
        "actions": [
            action(0, "nothing", &[], &[]),
            action(1, "send", &[("port", 9)], &[call("assign", &[spec(), data(0)])]),
            action(2, "learn", &[], &[call("generate_digest", &[hex("0x1"), hex("0x1")])]),
            action(3, "meter", &[], &[call("execute_meter", &[json!({"type": "meter_array", "value": "rate"}), hex("0x0"), field("h", "b")])]),
            action(4, "cut", &[("length", 32)], &[call("truncate", &[data(0)])]),
            action(5, "copy", &[], &[call("clone_ingress_pkt_to_egress", &[hex("0x5"), hex("0x1")])]),
            action(6, "spread", &[("group", 16)], &[call("assign", &[field("standard_metadata", "mcast_grp"), data(0)])]),
            action(7, "again", &[], &[call("resubmit", &[hex("0x1")])]),
            action(8, "drop", &[], &[call("mark_to_drop", &[json!({"type": "header", "value": "standard_metadata"})])]),
            action(9, "count", &[], &[
                call("count", &[json!({"type": "counter_array", "value": "packets"}), field("h", "b")]),
                call("register_write", &[json!({"type": "register_array", "value": "last"}), hex("0x1"), field("h", "b")]),
                call("modify_field_rng_uniform", &[field("h", "b"), hex("0x3"), hex("0x5")])]),
        ],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "act",
             "action_profiles": [{"name": "members", "id": 0, "max_size": 2, "selector": {"algo": "identity", "input": [field("h", "b")]}}],
             "tables": [
                table(0, "act", "ternary", "choose", &[0, 1, 2, 3, 4, 5, 6, 7, 9], &["nothing", "send", "learn", "meter", "cut", "copy", "spread", "again", "count"]),
                choose,
                table(2, "limit", "range", "", &[0, 8], &["nothing", "drop"]),
             ], "conditionals": []},
            {"name": "egress", "id": 1, "init_table": null, "tables": [], "conditionals": []},
        ],
        "checksums": [],
    })
}

fn program() -> Arc<Program> {
    Arc::new(Program::from_json(document().to_string().as_bytes()).expect("a valid program"))
}

fn switch() -> Switch {
    Switch::new(program(), Limits::default(), 1)
}

fn invoke(program: &Program, name: &str, arguments: &[u8]) -> Invocation {
    let action = program
        .actions
        .iter()
        .position(|action| action.name == name)
        .expect("an action");
    Invocation::Action {
        action,
        arguments: arguments.iter().map(|byte| vec![*byte]).collect(),
    }
}

fn entry(table: usize, key: Match, priority: i64, does: Invocation) -> Entry {
    Entry {
        table,
        key: vec![key],
        priority,
        does: Some(does),
        ..Entry::default()
    }
}

fn insert(entity: Entity) -> Update {
    Update::new(UpdateKind::Insert, entity)
}

fn modify(entity: Entity) -> Update {
    Update::new(UpdateKind::Modify, entity)
}

/// In table `act`, packets that begin with this byte do this.
fn act(switch: &mut Switch, a: u8, action: &str, arguments: &[u8]) {
    let does = invoke(switch.program(), action, arguments);
    let key = Match::Ternary {
        value: vec![a],
        mask: vec![0xff],
    };
    switch
        .write(&[insert(Entity::Entry(entry(0, key, 1, does)))], 0)
        .expect("an update that fits");
}

fn send(switch: &mut Switch, packet: &[u8], now: u64) -> Vec<(u32, Vec<u8>)> {
    let mut sent = Vec::new();
    switch.process(9, packet, now, &mut |port, bytes| {
        sent.push((port, bytes.to_vec()));
    });
    sent
}

fn drops(switch: &Switch, place: DropPlace) -> u64 {
    switch
        .drops()
        .find(|(found, _)| *found == place)
        .map_or(0, |(_, count)| count)
}

#[test]
fn meters_colour_by_the_time_that_is_given() {
    let mut switch = switch();
    act(&mut switch, 1, "meter", &[]);
    let config = MeterConfig {
        committed: Bucket { rate: 1, burst: 1 },
        peak: Bucket { rate: 1, burst: 2 },
        excess: 0,
    };
    switch
        .write(
            &[modify(Entity::Meter {
                array: 0,
                index: 0,
                config: Some(config),
            })],
            0,
        )
        .unwrap();
    let mut colour = |now| send(&mut switch, &[1, 9], now)[0].1[1];
    assert_eq!(
        [colour(0), colour(0), colour(0), colour(1_000_000_000)],
        [0, 1, 2, 0]
    );
}

#[test]
fn digests_wait_for_the_control_plane() {
    let mut switch = switch();
    act(&mut switch, 1, "learn", &[]);
    send(&mut switch, &[1, 2], 0);
    let digest = switch.take_digest().unwrap();
    assert_eq!(
        (digest.name.as_str(), digest.values),
        ("seen", vec![vec![1], vec![0, 9]])
    );
    assert_eq!(switch.take_digest(), None);
}

/// A switch whose table `choose` takes the group of two members that send to ports 4 and 6; the second watches port 6.
fn switch_with_group() -> Switch {
    let mut switch = switch();
    let member = |(id, port)| {
        let does = Some(invoke(switch.program(), "send", &[port]));
        insert(Entity::Member {
            profile: 0,
            id,
            does,
        })
    };
    let members = [(1, 4), (2, 6)].map(member);
    switch.write(&members, 0).expect("members");
    let two = [(1, None), (2, Some(6))].map(|(id, watch)| GroupMember {
        id,
        weight: 1,
        watch,
    });
    let group = Entity::Group {
        profile: 0,
        id: 7,
        members: two.to_vec(),
        room: 0,
    };
    let entry = entry(1, Match::Exact(vec![1]), 0, Invocation::Group(7));
    switch
        .write(&[insert(group), insert(Entity::Entry(entry))], 0)
        .expect("a group");
    switch
}

#[test]
fn a_group_chooses_its_member_by_the_hash() {
    let mut switch = switch_with_group();
    assert_eq!(send(&mut switch, &[1, 10], 0)[0].0, 4);
    assert_eq!(send(&mut switch, &[1, 11], 0)[0].0, 6);
    switch.set_port_up(6, false);
    assert_eq!(send(&mut switch, &[1, 11], 0)[0].0, 4);
    switch.set_port_up(6, true);
    assert_eq!(send(&mut switch, &[1, 11], 0)[0].0, 6);
}

#[test]
fn what_is_referred_to_stays_and_profiles_have_room_for_so_many() {
    let mut switch = switch_with_group();
    let member = Entity::Member {
        profile: 0,
        id: 2,
        does: None,
    };
    let group = Entity::Group {
        profile: 0,
        id: 7,
        members: Vec::new(),
        room: 0,
    };
    for entity in [member, group] {
        let refused = switch.write(&[Update::new(UpdateKind::Delete, entity)], 0);
        assert!(
            matches!(refused, Err((0, WriteError::InUse(_)))),
            "{refused:?}"
        );
    }
    let third = insert(Entity::Member {
        profile: 0,
        id: 3,
        does: Some(invoke(switch.program(), "send", &[1])),
    });
    let refused = switch.write(&[third], 0);
    assert!(
        matches!(refused, Err((0, WriteError::Full { .. }))),
        "{refused:?}"
    );
}

#[test]
fn an_entry_may_have_choices_of_its_own() {
    let mut switch = switch();
    let choice = |action: &str, port: u8, weight| {
        let Invocation::Action { action, .. } = invoke(switch.program(), action, &[port]) else {
            unreachable!("an action")
        };
        Choice {
            action,
            arguments: vec![vec![0, port]],
            weight,
            watch: Some(port.into()),
        }
    };
    let does = Invocation::Choices(vec![choice("send", 4, 1), choice("send", 6, 2)]);
    let one = entry(1, Match::Exact(vec![1]), 0, does.clone());
    switch
        .write(&[insert(Entity::Entry(one.clone()))], 0)
        .unwrap();
    let ports = |switch: &mut Switch| [9, 10, 11].map(|hash| send(switch, &[1, hash], 0)[0].0);
    assert_eq!(ports(&mut switch), [4, 6, 6]);
    switch.set_port_up(6, false);
    assert_eq!(ports(&mut switch), [4, 4, 4]);
    assert_eq!(switch.entry(&one).unwrap().does, Some(does));
    let member = insert(Entity::Member {
        profile: 0,
        id: 1,
        does: Some(invoke(switch.program(), "send", &[4])),
    });
    let mixed = switch.write(std::slice::from_ref(&member), 0);
    assert!(
        matches!(mixed, Err((0, WriteError::Invalid(_)))),
        "{mixed:?}"
    );
    let gone = Update::new(UpdateKind::Delete, Entity::Entry(one));
    switch.write(&[gone, member], 0).unwrap();
}

#[test]
fn value_sets_steer_the_parser() {
    let mut switch = switch();
    assert_eq!(send(&mut switch, &[1, 2], 0)[0].1, [1, 2]);
    let members = vec![(vec![2], vec![0xff])];
    switch
        .write(&[modify(Entity::ValueSet { set: 0, members })], 0)
        .unwrap();
    assert_eq!(send(&mut switch, &[1, 2], 0)[0].1, [1, 0xee]);
    assert_eq!(send(&mut switch, &[1, 3], 0)[0].1, [1, 3]);
}

#[test]
fn packets_are_cut_and_copied() {
    let mut switch = switch();
    act(&mut switch, 1, "cut", &[3]);
    assert_eq!(send(&mut switch, &[1, 2, 3, 4, 5], 0)[0].1, [1, 2, 3]);
    act(&mut switch, 2, "copy", &[]);
    assert_eq!(
        send(&mut switch, &[2, 2], 0).len(),
        1,
        "without a session there is no clone"
    );
    assert_eq!(drops(&switch, DropPlace::NoSession), 1);
    let session = CloneSession {
        replicas: vec![Replica {
            port: 8,
            instance: 1,
        }],
        truncate: Some(1),
    };
    switch
        .write(&[insert(Entity::Session { id: 5, session })], 0)
        .unwrap();
    let mut sent = send(&mut switch, &[2, 2], 0);
    sent.sort();
    assert_eq!(sent, [(0, vec![2, 2]), (8, vec![2])]);
}

#[test]
fn a_full_queue_drops_and_says_where() {
    let mut switch = Switch::new(
        program(),
        Limits {
            queue: 2,
            ..Limits::default()
        },
        0,
    );
    act(&mut switch, 1, "spread", &[3]);
    assert!(send(&mut switch, &[1, 1], 0).is_empty());
    assert_eq!(drops(&switch, DropPlace::NoGroup), 1);
    let replicas = [7, 7, 7, 8]
        .map(|port| Replica { port, instance: 0 })
        .to_vec();
    switch
        .write(
            &[insert(Entity::Multicast {
                group: 3,
                replicas,
                note: Vec::new(),
            })],
            0,
        )
        .unwrap();
    let ports: Vec<u32> = send(&mut switch, &[1, 1], 0)
        .iter()
        .map(|(port, _)| *port)
        .collect();
    assert_eq!(ports, [7, 8, 7]);
    assert_eq!(drops(&switch, DropPlace::EgressQueue), 1);
    assert_eq!(switch.port_counters(7).queue_drops, 1);
}

#[test]
fn counters_registers_and_random_numbers() {
    let mut switch = switch();
    act(&mut switch, 1, "count", &[]);
    let random: Vec<u8> = (0..100)
        .map(|_| send(&mut switch, &[1, 2, 0], 0)[0].1[1])
        .collect();
    assert_eq!(
        switch.counter(0, 2),
        Some(Counter {
            packets: 100,
            bytes: 300
        })
    );
    assert_eq!(
        switch.register(0, 1),
        Some(vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 2])
    );
    assert!(random.iter().all(|value| (3..=5).contains(value)));
    assert!((3..=5).all(|value| random.contains(&value)));
    assert_eq!(switch.entries(0)[0].counter.packets, 100);
    // Out of bounds: nothing is counted.
    send(&mut switch, &[1, 200], 0);
    assert_eq!(switch.counter(0, 3), Some(Counter::default()));
}

#[test]
fn ranges_and_priorities_decide() {
    let mut switch = switch();
    let program = switch.shared_program();
    let range = |low, high| Match::Range {
        low: vec![low],
        high: vec![high],
    };
    let batch = [
        insert(Entity::Entry(entry(
            2,
            range(10, 20),
            1,
            invoke(&program, "drop", &[]),
        ))),
        insert(Entity::Entry(entry(
            2,
            range(15, 16),
            2,
            invoke(&program, "nothing", &[]),
        ))),
    ];
    switch.write(&batch, 0).unwrap();
    let mut passes = |a| !send(&mut switch, &[a, 0], 0).is_empty();
    assert_eq!(
        [9, 10, 14, 15, 16, 17, 20, 21].map(&mut passes),
        [true, false, false, true, true, false, false, true]
    );
}

#[test]
fn a_batch_with_an_error_changes_nothing() {
    let mut switch = switch();
    let program = switch.shared_program();
    let one = entry(0, Match::Any, 1, invoke(&program, "send", &[4]));
    let other = Entry {
        does: Some(invoke(&program, "send", &[5])),
        ..one.clone()
    };
    switch
        .write(&[insert(Entity::Entry(one.clone()))], 0)
        .unwrap();
    let batch = [
        modify(Entity::Entry(other.clone())),
        Update::new(UpdateKind::Delete, Entity::Entry(other.clone())),
        insert(Entity::Entry(Entry {
            priority: 2,
            ..other.clone()
        })),
        insert(Entity::Entry(Entry { table: 99, ..other })),
    ];
    assert_eq!(switch.write(&batch, 0).unwrap_err().0, 3);
    assert_eq!(switch.entries(0).len(), 1);
    assert_eq!(send(&mut switch, &[1, 1], 0)[0].0, 4);
    let full: Vec<_> = (0..20)
        .map(|at| {
            insert(Entity::Entry(Entry {
                priority: 10 + at,
                ..one.clone()
            }))
        })
        .collect();
    assert!(
        switch
            .write(&full, 0)
            .unwrap_err()
            .1
            .to_string()
            .contains("room for 16")
    );
    assert_eq!(switch.entries(0).len(), 1);
}

/// Ten million entries are refused long before they take this host's memory; a batch that goes beyond the limit leaves nothing.
#[test]
fn tables_together_have_room_for_the_switch_s_entries() {
    let program = program();
    let limits = Limits {
        entries: 5,
        ..Limits::default()
    };
    let mut switch = Switch::new(Arc::clone(&program), limits, 0);
    let one = entry(0, Match::Any, 1, invoke(&program, "send", &[4]));
    let at_priority = |priority| {
        insert(Entity::Entry(Entry {
            priority,
            ..one.clone()
        }))
    };
    let entries = |range: std::ops::Range<i64>| range.map(at_priority).collect::<Vec<_>>();
    let (at, error) = switch.write(&entries(1..7), 0).unwrap_err();
    assert_eq!(at, 5);
    assert_eq!(
        error.to_string(),
        "the switch, with all its tables, is full: it has room for 5"
    );
    assert_eq!(switch.entries(0).len(), 0);
    switch.write(&entries(1..6), 0).unwrap();
    // What is there can still be changed, and another one come in its place.
    let batch = [
        Update::new(UpdateKind::Delete, entries(1..2).remove(0).entity),
        entries(9..10).remove(0),
    ];
    switch.write(&batch, 0).unwrap();
    assert_eq!(switch.entries(0).len(), 5);
}

#[test]
fn entries_age() {
    let mut switch = switch();
    let program = switch.shared_program();
    let aging = Entry {
        timeout: 100,
        ..entry(0, Match::Any, 1, invoke(&program, "nothing", &[]))
    };
    switch.write(&[insert(Entity::Entry(aging))], 0).unwrap();
    send(&mut switch, &[1, 1], 50);
    assert_eq!(switch.idle_entries(0, 149).len(), 0);
    assert_eq!(switch.idle_entries(0, 150).len(), 1);
    // Taken away and put back by a batch that is refused, or changed and changed back: as old as before.
    let there = switch.entries(0);
    let bad = insert(Entity::Entry(Entry {
        table: 99,
        ..there[0].clone()
    }));
    for kind in [UpdateKind::Delete, UpdateKind::Modify] {
        let batch = [
            Update::new(kind, Entity::Entry(there[0].clone())),
            bad.clone(),
        ];
        assert_eq!(switch.write(&batch, 140).unwrap_err().0, 1);
        assert_eq!(switch.entries(0), there);
        assert_eq!(switch.idle_entries(0, 150).len(), 1);
    }
}

#[test]
fn a_program_that_is_cut_or_newer_or_uses_more_is_refused_by_name() {
    let text = document().to_string();
    for end in 0..text.len() {
        assert!(
            Program::from_json(&text.as_bytes()[..end]).is_err(),
            "cut at byte {end}"
        );
    }
    let refused = |pointer: &str, value: Value| {
        let mut changed = document();
        *changed.pointer_mut(pointer).unwrap() = value;
        Program::from_json(changed.to_string().as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert!(refused("/__meta__/version", json!([3, 0])).contains("version 3.0"));
    assert!(refused("/parsers/0/name", json!("ingress_parser")).contains("PSA"));
    let unknown = refused("/actions/1/primitives/0/op", json!("extern_func"));
    assert!(
        unknown.contains("\"send\"")
            && unknown.contains("\"extern_func\"")
            && unknown.contains("all.p4:7"),
        "{unknown}"
    );
    assert!(refused("/register_arrays/0/size", json!(4_000_000_000_u64)).contains("\"last\""));
    assert!(refused("/pipelines/0/tables/0/key/0/target", json!(["h", "z"])).contains("\"z\""));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_packets_and_changed_programs_do_no_harm(
        packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..20),
        at in any::<proptest::sample::Index>(), byte in b' '..b'~',
    ) {
        let mut text = document().to_string().into_bytes();
        let place = at.index(text.len());
        text[place] = byte;
        for program in [Program::from_json(&text), Program::from_json(document().to_string().as_bytes())].into_iter().flatten() {
            let mut switch = Switch::new(Arc::new(program), Limits::default(), 0);
            for packet in &packets {
                send(&mut switch, packet, 0);
            }
        }
    }
}
