//! Action profiles and selectors: members that many entries share, and flows spread over a group.

use crate::program::{Run, ipv4};
use linerate_p4::{Entity, GroupMember, Invocation, Match, UpdateKind};

/// Inserts members 1, 2, … that send to the port of the same number.
fn members(run: &mut Run, count: u8) {
    for id in 1..=count {
        let does = Some(run.call("ingress.via", &[&[0x0a, 0, 0, 0, 0, id], &[id]]));
        run.write(
            UpdateKind::Insert,
            Entity::Member {
                profile: 0,
                id: id.into(),
                does,
            },
            0,
        );
    }
}

fn route(run: &mut Run, prefix: (u8, u32), does: Invocation) {
    let value = vec![prefix.0, 0, 0, 0];
    let entry = run.entry(
        "ingress.routes",
        vec![Match::Lpm {
            value,
            prefix: prefix.1,
        }],
        does,
    );
    run.write(UpdateKind::Insert, Entity::Entry(entry), 0);
}

/// A group of members with their weights.
fn group(run: &mut Run, kind: UpdateKind, members: &[(u32, u32)]) {
    let member = |(id, weight): &(u32, u32)| GroupMember {
        id: *id,
        weight: *weight,
        watch: None,
    };
    run.write(
        kind,
        Entity::Group {
            profile: 0,
            id: 9,
            members: members.iter().map(member).collect(),
            room: 0,
        },
        0,
    );
}

/// The port of each of so many flows.
fn ports(run: &mut Run, flows: u32) -> Vec<u32> {
    let port = |flow: u32| {
        let [_, high, middle, low] = flow.to_be_bytes();
        let sent = run.send(0, &ipv4([172, high, middle, low], [10, 0, 0, 2], 20), 0);
        assert_eq!(sent.len(), 1);
        sent[0].0
    };
    (0..flows).map(port).collect()
}

fn share(ports: &[u32], port: u32) -> usize {
    ports.iter().filter(|found| **found == port).count()
}

#[test]
fn a_member_that_moves_takes_all_its_routes_with_it() {
    let mut run = Run::new("profile");
    members(&mut run, 2);
    route(&mut run, (10, 8), Invocation::Member(1));
    route(&mut run, (11, 8), Invocation::Member(1));
    let out =
        |run: &mut Run, net| run.send(0, &ipv4([1, 1, 1, 1], [net, 0, 0, 1], 20), 0)[0].clone();
    assert_eq!(out(&mut run, 10).0, 1);
    let does = Some(run.call("ingress.via", &[&[0x0a, 0, 0, 0, 0, 0x77], &[7]]));
    run.write(
        UpdateKind::Modify,
        Entity::Member {
            profile: 0,
            id: 1,
            does,
        },
        0,
    );
    for net in [10, 11] {
        let (port, bytes) = out(&mut run, net);
        assert_eq!((port, bytes[5]), (7, 0x77));
    }
    assert!(
        run.refused(
            UpdateKind::Delete,
            Entity::Member {
                profile: 0,
                id: 9,
                does: None
            }
        )
        .contains("does not exist")
    );
}

#[test]
fn flows_spread_evenly_and_each_keeps_its_path() {
    let mut run = Run::new("ecmp");
    members(&mut run, 4);
    group(
        &mut run,
        UpdateKind::Insert,
        &[1, 2, 3, 4].map(|id| (id, 1)),
    );
    route(&mut run, (10, 8), Invocation::Group(9));
    let first = ports(&mut run, 8000);
    // Binomial with a quarter of 8000: its standard deviation is 39; a hash that spreads stays within five of them.
    for port in 1..=4 {
        let share = share(&first, port);
        assert!(
            (1806..=2194).contains(&share),
            "port {port}: {share} of 8000 flows"
        );
    }
    assert_eq!(
        ports(&mut run, 8000),
        first,
        "the same flows, the same paths"
    );
}

#[test]
fn a_weight_is_a_share_and_a_member_that_leaves_gets_no_flow() {
    let mut run = Run::new("ecmp");
    members(&mut run, 2);
    group(&mut run, UpdateKind::Insert, &[(1, 2), (2, 1)]);
    route(&mut run, (10, 8), Invocation::Group(9));
    let weighted = ports(&mut run, 9000);
    // Two thirds of 9000; the standard deviation is 45.
    assert!((5776..=6224).contains(&share(&weighted, 1)));
    group(&mut run, UpdateKind::Modify, &[(2, 1)]);
    assert_eq!(share(&ports(&mut run, 100), 2), 100);
    assert!(
        run.refused(
            UpdateKind::Delete,
            Entity::Member {
                profile: 0,
                id: 2,
                does: None
            }
        )
        .contains("in use")
    );
}

#[test]
fn an_empty_group_drops_nothing_else() {
    let mut run = Run::new("ecmp");
    members(&mut run, 1);
    group(&mut run, UpdateKind::Insert, &[]);
    route(&mut run, (10, 8), Invocation::Group(9));
    // As BMv2 does, a group without members does nothing: the entry was hit, and the packet goes on unchanged.
    let packet = ipv4([1, 1, 1, 1], [10, 0, 0, 1], 20);
    assert_eq!(run.send(0, &packet, 0)[0].1[..14], packet[..14]);
}
