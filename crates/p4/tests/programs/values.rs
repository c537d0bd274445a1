//! Values between program and control plane: digests of fields of many widths, value sets, registers.

use crate::program::{Run, frame, ipv4};
use linerate_p4::{Entity, Match, UpdateKind};

#[test]
fn a_digest_has_each_field_in_whole_bytes_and_headers_field_by_field() {
    let mut run = Run::new("digest");
    let report = run.call("ingress.report", &[]);
    let entry = run.entry("ingress.watched", vec![Match::Exact(vec![17])], report);
    run.write(UpdateKind::Insert, Entity::Entry(entry), 0);
    assert_eq!(
        run.send(300, &ipv4([10, 0, 0, 1], [255, 0, 0, 2], 20), 0)[0].0,
        1
    );
    let digests = run.digests();
    let expected: [&[u8]; 7] = [
        &[1, 0x2c],
        &[5],
        &[0, 0],
        &[0x0a, 0, 0, 0, 0, 1],
        &[0x12, 0x34],
        &[0x56, 0x78],
        &[1, 10, 0, 0, 1, 255, 0, 0, 2],
    ];
    assert_eq!(digests.len(), 1);
    assert_eq!(digests[0].values, expected);
}

#[test]
fn digests_that_nobody_takes_are_counted_not_kept_without_bound() {
    let mut run = Run::new("digest");
    let report = run.call("ingress.report", &[]);
    let entry = run.entry("ingress.watched", vec![Match::Exact(vec![17])], report);
    run.write(UpdateKind::Insert, Entity::Entry(entry), 0);
    for _ in 0..10_000 {
        run.send(0, &ipv4([10, 0, 0, 1], [10, 0, 0, 2], 20), 0);
    }
    let lost = run.switch.lost_digests();
    assert!(lost > 0);
    assert_eq!(run.digests().len() as u64 + lost, 10_000);
}

#[test]
fn a_value_set_that_changes_changes_what_the_parser_takes() {
    let mut run = Run::new("value_set");
    let mut tagged = frame(2, 1);
    tagged[12..14].copy_from_slice(&[0x81, 0]);
    assert_eq!(run.send(0, &tagged, 0)[0].0, 1, "the set is empty");
    let set = |members: &[[u8; 2]]| Entity::ValueSet {
        set: 0,
        members: members
            .iter()
            .map(|value| (value.to_vec(), vec![0xff, 0xff]))
            .collect(),
    };
    run.write(UpdateKind::Modify, set(&[[0x88, 0xa8], [0x81, 0]]), 0);
    let (port, bytes) = run.send(0, &tagged, 0).remove(0);
    assert_eq!((port, bytes.len()), (2, tagged.len() - 4));
    run.write(UpdateKind::Modify, set(&[[0x88, 0xa8]]), 0);
    assert_eq!(run.send(0, &tagged, 0)[0].0, 1);
}

#[test]
fn registers_are_read_and_written_by_the_control_plane_too() {
    let mut run = Run::new("registers");
    let register = |run: &Run, name| {
        run.program
            .registers
            .iter()
            .position(|register| register.name == name)
            .expect("a register array")
    };
    let (numbers, lengths) = (
        register(&run, "ingress.numbers"),
        register(&run, "ingress.lengths"),
    );
    run.send(5, &frame(2, 1), 0);
    run.send(5, &frame(2, 1), 0);
    assert_eq!(run.switch.register(numbers, 5), Some(vec![0, 2]));
    assert_eq!(
        run.switch.register(lengths, 5),
        Some(vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 120])
    );
    let value = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    run.write(
        UpdateKind::Modify,
        Entity::Register {
            array: lengths,
            index: 5,
            value,
        },
        0,
    );
    run.write(
        UpdateKind::Modify,
        Entity::Register {
            array: numbers,
            index: 5,
            value: vec![0xff, 0xff],
        },
        0,
    );
    // Both wrap around.
    assert_eq!(run.send(5, &frame(2, 1), 0)[0].1[12..14], [0, 0]);
    assert_eq!(
        run.switch.register(lengths, 5),
        Some(vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 59])
    );
    assert_eq!(run.switch.register(numbers, 512), None);
}
