//! A control plane that learns addresses from digests, and forgets those that are idle.

use crate::program::{Run, frame};
use linerate_p4::{Entity, Entry, Match, UpdateKind};

const SECOND: u64 = 1_000_000_000;
const AGE: u64 = 300 * SECOND;

/// What a control plane does with every digest: an entry in each table.
fn learn(run: &mut Run, now: u64) -> usize {
    let digests = run.digests();
    for digest in &digests {
        let [address, port] = digest.values.as_slice() else {
            panic!("an address and a port expected: {digest:?}");
        };
        let exact = |bytes: &Vec<u8>| Match::Exact(bytes.clone());
        let known = run.call("ingress.known", &[]);
        let source = Entry {
            timeout: AGE,
            ..run.entry("ingress.sources", vec![exact(address), exact(port)], known)
        };
        run.write(UpdateKind::Insert, Entity::Entry(source), now);
        let send = run.call("ingress.send", &[port]);
        let forward = run.entry("ingress.forward", vec![exact(address)], send);
        run.write(UpdateKind::Insert, Entity::Entry(forward), now);
    }
    digests.len()
}

fn ports(sent: &[(u32, Vec<u8>)]) -> Vec<u32> {
    sent.iter().map(|(port, _)| *port).collect()
}

#[test]
fn an_address_is_learned_once_and_frames_to_it_are_no_longer_flooded() {
    let mut run = Run::new("l2_learning");
    run.control("mc_mgrp_create 1\nmc_node_create 0 1 2 3\nmc_node_associate 1 0");
    assert_eq!(ports(&run.send(1, &frame(2, 1), 0)), [2, 3]);
    assert_eq!(learn(&mut run, 0), 1);
    assert_eq!(ports(&run.send(2, &frame(1, 2), 0)), [1]);
    assert_eq!(learn(&mut run, 0), 1);
    assert_eq!(ports(&run.send(1, &frame(2, 1), 0)), [2]);
    assert_eq!(learn(&mut run, 0), 0, "both addresses are known");
}

#[test]
fn an_address_ages_from_its_last_frame() {
    let mut run = Run::new("l2_learning");
    run.send(1, &frame(2, 1), 0);
    learn(&mut run, 0);
    let sources = run.table("ingress.sources");
    run.send(1, &frame(2, 1), 100 * SECOND);
    assert_eq!(
        run.switch
            .idle_entries(sources, 100 * SECOND + AGE - 1)
            .len(),
        0
    );
    assert_eq!(
        run.switch.idle_entries(sources, 100 * SECOND + AGE).len(),
        1
    );
    // From another port the address is unknown: the station has moved.
    run.send(3, &frame(2, 1), 100 * SECOND);
    assert_eq!(run.digests().len(), 1);
}
