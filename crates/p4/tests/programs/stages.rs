//! Time stamps and depths by stage, copies that are cut, and queues that fill while egress waits.

use crate::program::{Run, frame};
use linerate_p4::{CloneSession, Entity, Replica, UpdateKind};

const MICROSECOND: u64 = 1_000;

/// A number from the header of time stamps.
fn stamp(packet: &[u8], at: usize, bytes: usize) -> u64 {
    packet[at..at + bytes]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[test]
fn packets_tell_when_they_came_how_long_they_waited_and_behind_how_many() {
    let mut run = Run::new("timestamps");
    for at in [10, 12, 17] {
        run.switch
            .receive(0, &frame(2, 1), at * MICROSECOND, &mut ());
    }
    let mut sent = Vec::new();
    for now in [20, 40, 70] {
        assert!(run.switch.work(
            now * MICROSECOND,
            &mut |_, bytes| sent.push(bytes.to_vec()),
            &mut ()
        ));
    }
    assert!(!run.switch.work(71 * MICROSECOND, &mut |_, _| {}, &mut ()));
    let told: Vec<_> = sent
        .iter()
        .map(|packet| {
            [(14, 6), (20, 4), (24, 4), (28, 3), (31, 3), (34, 6)]
                .map(|(at, bytes)| stamp(packet, at, bytes))
        })
        .collect();
    assert_eq!(
        told,
        [
            [10, 10, 10, 0, 2, 20],
            [12, 12, 28, 1, 1, 40],
            [17, 17, 53, 2, 0, 70]
        ]
    );
}

#[test]
fn a_session_cuts_its_clones_and_sends_each_of_its_replicas() {
    let mut run = Run::new("mirror");
    run.control("add watched ethernet.type:0x88b5 as_it_came()");
    let replica = |port| Replica { port, instance: 0 };
    let session = CloneSession {
        replicas: vec![replica(8), replica(9)],
        truncate: Some(20),
    };
    run.write(UpdateKind::Insert, Entity::Session { id: 1, session }, 0);
    let mut sent = run.send(4, &frame(2, 1), 0);
    sent.sort();
    let lengths: Vec<_> = sent
        .iter()
        .map(|(port, bytes)| (*port, bytes.len()))
        .collect();
    assert_eq!(lengths, [(1, 60), (8, 20), (9, 20)]);
    // The port that the packet came in at, kept through the clone.
    assert_eq!(stamp(&sent[1].1, 10, 2) & 0x1ff, 4);
}
