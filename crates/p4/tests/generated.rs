//! Every generated program, at every level: it loads, its P4Info is its own, its packets go where they should, and it
//! does what it is about.

use linerate_p4::generate::{ALL, Family, Generated, Traffic};
use linerate_p4::{DropPlace, Event, Program, Switch, stf};
use std::collections::BTreeSet;

/// Levels that are made here: those with 100 000 entries take long in a program without optimisation.
fn levels(family: &Family) -> impl Iterator<Item = u32> {
    family
        .levels
        .iter()
        .copied()
        .filter(|level| *level <= 10_000)
}

fn find(id: &str) -> &'static Family {
    Family::find(id).unwrap_or_else(|| panic!("a family {id}"))
}

/// What happened to one packet of each key that was tried: events by kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    states: usize,
    headers: usize,
    tables: usize,
    hits: usize,
    primitives: usize,
    conditions: usize,
    passes: usize,
    sent: usize,
    length: usize,
}

fn run(generated: &Generated, switch: &mut Switch, number: u32) -> Seen {
    let mut packet = generated.traffic.packet.clone();
    Traffic::choose(&mut packet, generated.traffic.keys, number);
    let mut seen = Seen::default();
    let mut watch = |event: Event<'_>| match event {
        Event::State(_) => seen.states += 1,
        Event::Extracted { .. } => seen.headers += 1,
        Event::Table { table, entry, .. } if !table.key.is_empty() => {
            seen.tables += 1;
            seen.hits += usize::from(entry.is_some());
        }
        Event::Primitive { .. } => seen.primitives += 1,
        Event::Condition { .. } => seen.conditions += 1,
        Event::Ingress { .. } => seen.passes += 1,
        Event::Sent { bytes, .. } => {
            seen.sent += 1;
            seen.length = bytes.len();
        }
        Event::ParserError(error) => panic!("{}: {error}", generated.name),
        _ => {}
    };
    switch.process_observed(0, &packet, 0, &mut |_, _| {}, &mut watch);
    seen
}

fn made(id: &str, level: u32) -> (Generated, Switch) {
    let generated = find(id).generate(level);
    let switch = generated.switch().unwrap_or_else(|error| panic!("{error}"));
    (generated, switch)
}

fn seen(id: &str, level: u32) -> Seen {
    let (generated, mut switch) = made(id, level);
    run(&generated, &mut switch, 0)
}

#[test]
fn names_are_kebab_case_and_each_once_and_levels_rise() {
    let names: BTreeSet<_> = ALL.iter().map(|family| family.id).collect();
    assert_eq!(names.len(), ALL.len());
    for family in ALL {
        assert!(
            family
                .id
                .chars()
                .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-'),
            "{}",
            family.id
        );
        assert!(
            family.levels.len() >= 2 && family.levels.is_sorted_by(|one, next| one < next),
            "{}",
            family.id
        );
    }
}

#[test]
fn every_program_loads_and_sends_what_it_should() {
    for family in ALL {
        for level in levels(family) {
            let generated = family.generate(level);
            let mut switch = generated.switch().unwrap_or_else(|error| panic!("{error}"));
            for number in [0, 1, 77] {
                let seen = run(&generated, &mut switch, number);
                assert_eq!(
                    seen.sent, generated.traffic.outputs as usize,
                    "{}",
                    generated.name
                );
            }
            let dropped: Vec<(DropPlace, u64)> =
                switch.drops().filter(|(_, count)| *count > 0).collect();
            assert_eq!(dropped, [], "{}", generated.name);
        }
    }
}

#[test]
fn every_program_passes_the_packet_test_that_is_written_with_it() {
    for family in ALL {
        for level in levels(family).filter(|level| *level <= 1000) {
            let generated = family.generate(level);
            let name = &generated.name;
            let program =
                Program::from_json(generated.json.as_bytes()).expect("a program that loads");
            let test =
                stf::parse(&generated.stf()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let report =
                stf::run(&program.into(), &test).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(report.mismatches, [], "{name}");
            assert!(report.packets > 0);
        }
    }
}

#[test]
fn packets_are_as_long_at_every_level_unless_the_length_is_the_factor() {
    for family in ALL.iter().filter(|family| family.id != "frame-length") {
        let lengths: BTreeSet<_> = levels(family)
            .map(|level| family.generate(level).traffic.packet.len())
            .collect();
        assert_eq!(lengths.len(), 1, "{}: {lengths:?}", family.id);
    }
    assert_eq!(find("frame-length").generate(508).traffic.packet.len(), 508);
}

#[test]
fn a_level_is_how_many_of_it_a_packet_meets() {
    for level in [1, 4, 16] {
        let more = |id, what: fn(&Seen) -> usize| what(&seen(id, level)) - what(&seen(id, 0));
        let at = level as usize;
        assert_eq!(more("parse-header", |seen| seen.headers), at);
        assert_eq!(more("set-field", |seen| seen.primitives), at);
        assert_eq!(more("add-to-field", |seen| seen.primitives), at);
        assert_eq!(more("add-header", |seen| seen.length), 4 * at);
        assert_eq!(
            seen("remove-header", 0).length - seen("remove-header", level).length,
            4 * at
        );
        for kind in ["exact", "lpm", "ternary", "range"] {
            let seen = seen(&format!("pipeline-{kind}"), level);
            assert_eq!((seen.tables, seen.hits), (at, at), "{kind}");
        }
        assert_eq!(more("conditions", |seen| seen.conditions), at);
        for id in [
            "read-state",
            "write-state",
            "counter",
            "meter",
            "hash-crc16",
            "hash-identity",
        ] {
            assert_eq!(more(id, |seen| seen.primitives), at, "{id}");
        }
    }
    for level in [0, 1, 8] {
        assert_eq!(seen("recirculate", level).passes, 1 + level as usize);
        assert_eq!(seen("resubmit", level).passes, 1 + level as usize);
    }
    assert_eq!(
        seen("parse-complex", 32).states,
        5,
        "start and four states, whatever their branches"
    );
}

#[test]
fn entries_are_hit_each_alike_and_masks_where_they_should_be() {
    for id in [
        "entries-exact",
        "entries-lpm",
        "entries-ternary",
        "entries-range",
    ] {
        let level = if id == "entries-range" { 64 } else { 100 };
        let (generated, mut switch) = made(id, level);
        for number in 0..4096 {
            assert_eq!(run(&generated, &mut switch, number).hits, 1, "{id}");
        }
        let counted: Vec<_> = switch
            .entries(switch_table(&switch))
            .iter()
            .map(|entry| entry.counter.packets)
            .collect();
        assert_eq!(counted.len(), level as usize);
        assert!(
            counted.iter().all(|packets| *packets > 0),
            "{id}: {counted:?}"
        );
    }
    for (id, hits) in [
        ("masks-first", 1),
        ("masks-last", 1),
        ("masks-none", 0),
        ("prefix-lengths", 1),
    ] {
        for level in [1, 8, 32] {
            assert_eq!(seen(id, level).hits, hits, "{id} {level}");
        }
    }
}

/// The place of the table with a key.
fn switch_table(switch: &Switch) -> usize {
    let mut tables = switch.program().tables.iter();
    tables
        .position(|table| !table.key.is_empty())
        .expect("a table with a key")
}

#[test]
fn externs_have_their_effect() {
    let (generated, mut switch) = made("counter", 4);
    run(&generated, &mut switch, 0);
    assert_eq!(switch.counter(0, 3).map(|counter| counter.packets), Some(1));
    assert_eq!(switch.counter(0, 4).map(|counter| counter.packets), Some(0));
    let (generated, mut switch) = made("write-state", 2);
    run(&generated, &mut switch, 0);
    assert_eq!(switch.register(0, 1), Some(vec![0, 0, 0, 7]));
    let (generated, mut switch) = made("digest", 1);
    run(&generated, &mut switch, 0);
    assert!(switch.take_digest().is_some());
    let (generated, mut switch) = made("direct-counter", 3);
    run(&generated, &mut switch, 0);
    assert_eq!(
        switch
            .program()
            .counters
            .iter()
            .filter(|array| array.table.is_some())
            .count(),
        3
    );
    for id in ["direct-meter", "action-profile", "action-selector"] {
        assert_eq!(seen(id, 3).hits, 16, "{id}");
    }
}
