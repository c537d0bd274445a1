//! Action profiles: members, groups with weights and watch ports, action sets.

use crate::bench::{
    Bench, delete, does_action, exact, frame, insert, modify, of, read, station, write,
};
use linerate_p4_runtime::Code;
use linerate_p4_runtime::proto::p4::v1::{
    ActionProfileAction, ActionProfileActionSet, ActionProfileGroup, ActionProfileMember,
    TableEntry, action_profile_action, action_profile_group, entity::Entity as Kind,
    table_action::Type,
};

fn profile(bench: &Bench, name: &str) -> u32 {
    let mut profiles = bench.schema.profiles.values();
    profiles
        .find(|profile| profile.name.ends_with(name))
        .expect("a profile")
        .id
}

fn member(bench: &Bench, of: &str, member_id: u32, port: u8) -> ActionProfileMember {
    ActionProfileMember {
        action_profile_id: profile(bench, of),
        member_id,
        action: Some(bench.action("send", &[&[port]])),
    }
}

/// A member with its weight and the port that it watches.
type Weighted<'a> = (u32, i32, &'a [u8]);

fn port_down(bench: &Bench, port: u32) {
    bench.with_plane(|plane| {
        let switch = plane.switch.as_mut().expect("a switch");
        switch.set_port_up(port, false);
    });
}

fn group(bench: &Bench, members: &[Weighted<'_>]) -> ActionProfileGroup {
    let member = |(member_id, weight, port): &Weighted<'_>| action_profile_group::Member {
        member_id: *member_id,
        weight: *weight,
        watch_kind: (!port.is_empty())
            .then(|| action_profile_group::member::WatchKind::WatchPort(port.to_vec())),
    };
    ActionProfileGroup {
        action_profile_id: profile(bench, "ingress.hops"),
        group_id: 4,
        members: members.iter().map(member).collect(),
        max_size: 8,
    }
}

fn to(bench: &Bench, table: &str, kind: Type) -> TableEntry {
    TableEntry {
        action: Some(does_action(kind)),
        ..bench.entry(table, vec![exact(1, &station(2))], None)
    }
}

/// The ports that 64 flows leave at, by how many.
fn ports(bench: &Bench) -> [usize; 10] {
    let mut ports = [0; 10];
    for source in 0..64 {
        for (port, _) in bench.send(1, &frame(2, source, 0x1234, &[])) {
            ports[port as usize] += 1;
        }
    }
    ports
}

#[expect(clippy::too_many_lines, reason = "one story, step by step")]
#[test]
fn members_are_shared_and_stay_while_they_are_used() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let one = member(&bench, "shared_hops", 1, 3);
    assert_eq!(
        write(&mut client, insert(Kind::ActionProfileMember(one.clone()))),
        Code::Ok
    );
    assert_eq!(
        write(&mut client, insert(Kind::ActionProfileMember(one.clone()))),
        Code::AlreadyExists
    );
    let all = read(
        &client,
        Kind::ActionProfileMember(ActionProfileMember::default()),
    );
    assert_eq!(all, [Kind::ActionProfileMember(one.clone())]);
    let entry = TableEntry {
        action: Some(does_action(Type::ActionProfileMemberId(1))),
        ..bench.entry("shared", vec![exact(1, &station(7))], None)
    };
    let missing = TableEntry {
        action: Some(does_action(Type::ActionProfileMemberId(9))),
        ..entry.clone()
    };
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(missing))),
        Code::NotFound
    );
    let direct = TableEntry {
        action: Some(does_action(Type::Action(bench.action("send", &[&[1]])))),
        ..entry.clone()
    };
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(direct))),
        Code::InvalidArgument
    );
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(entry.clone()))),
        Code::Ok
    );
    assert_eq!(bench.send(1, &frame(9, 7, 0x1234, &[]))[0].0, 3);
    let moved = member(&bench, "shared_hops", 1, 4);
    assert_eq!(
        write(&mut client, modify(Kind::ActionProfileMember(moved))),
        Code::Ok
    );
    assert_eq!(bench.send(1, &frame(9, 7, 0x1234, &[]))[0].0, 4);
    assert_eq!(
        write(&mut client, delete(Kind::ActionProfileMember(one.clone()))),
        Code::FailedPrecondition
    );
    assert_eq!(
        write(&mut client, delete(Kind::TableEntry(entry))),
        Code::Ok
    );
    assert_eq!(
        write(&mut client, delete(Kind::ActionProfileMember(one))),
        Code::Ok
    );
    let zero = member(&bench, "shared_hops", 0, 4);
    assert_eq!(
        write(&mut client, insert(Kind::ActionProfileMember(zero))),
        Code::InvalidArgument
    );
}

#[test]
fn groups_weigh_their_members_and_watch_ports() {
    let bench = Bench::new();
    let mut client = bench.primary();
    for (id, port) in [(1, 3), (2, 4)] {
        let member = member(&bench, "ingress.hops", id, port);
        assert_eq!(
            write(&mut client, insert(Kind::ActionProfileMember(member))),
            Code::Ok
        );
    }
    let cases: &[(&[Weighted<'_>], Code)] = &[
        (&[(1, 1, &[]), (7, 1, &[])], Code::NotFound),
        (&[(1, 0, &[])], Code::InvalidArgument),
        (&[(1, 1, &[]), (1, 1, &[])], Code::InvalidArgument),
        (&[(1, 9, &[])], Code::ResourceExhausted),
        (&[(1, 1, &[]), (2, 2, &[4])], Code::Ok),
    ];
    for (members, code) in cases {
        let group = group(&bench, members);
        assert_eq!(
            write(&mut client, insert(Kind::ActionProfileGroup(group))),
            *code,
            "{members:?}"
        );
    }
    let written = group(&bench, cases[4].0);
    let all = read(
        &client,
        Kind::ActionProfileGroup(ActionProfileGroup::default()),
    );
    assert_eq!(all, [Kind::ActionProfileGroup(written.clone())]);
    let entry = to(&bench, "groups", Type::ActionProfileGroupId(4));
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(entry))),
        Code::Ok
    );
    let spread = ports(&bench);
    assert!(spread[3] > 0 && spread[4] > spread[3], "{spread:?}");
    port_down(&bench, 4);
    assert_eq!(ports(&bench)[3], 64);
    assert_eq!(
        write(&mut client, delete(Kind::ActionProfileGroup(written))),
        Code::FailedPrecondition
    );
}

#[expect(clippy::too_many_lines, reason = "one story, step by step")]
#[test]
fn action_sets_are_read_as_they_were_written() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let action = |port: u8, weight, watched: bool| ActionProfileAction {
        action: Some(bench.action("send", &[&[port]])),
        weight,
        watch_kind: watched.then(|| action_profile_action::WatchKind::WatchPort(vec![port])),
    };
    let set = |actions: Vec<ActionProfileAction>| {
        let set = ActionProfileActionSet {
            action_profile_actions: actions,
            ..ActionProfileActionSet::default()
        };
        to(&bench, "groups", Type::ActionProfileActionSet(set))
    };
    let entry = set(vec![
        action(3, 1, false),
        action(4, 2, true),
        action(3, 1, false),
    ]);
    assert_eq!(
        write(
            &mut client,
            insert(Kind::TableEntry(set(vec![action(3, 0, false)])))
        ),
        Code::InvalidArgument
    );
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(entry.clone()))),
        Code::Ok
    );
    let found = client.read(vec![of(Kind::TableEntry(bench.entry(
        "groups",
        vec![],
        None,
    )))]);
    assert_eq!(
        found.expect("entries"),
        [of(Kind::TableEntry(entry.clone()))]
    );
    // What holds anyway may be said; what does not, the switch has not.
    let said = |action_selection_mode, size_semantics| {
        let set = ActionProfileActionSet {
            action_profile_actions: vec![action(3, 1, false)],
            action_selection_mode,
            size_semantics,
            ..ActionProfileActionSet::default()
        };
        let entry = to(&bench, "groups", Type::ActionProfileActionSet(set));
        modify(Kind::TableEntry(entry))
    };
    for (mode, size, code) in [
        (1, 1, Code::Ok),
        (2, 0, Code::Unimplemented),
        (0, 2, Code::Unimplemented),
    ] {
        assert_eq!(write(&mut client, said(mode, size)), code, "{mode} {size}");
    }
    let again = modify(Kind::TableEntry(entry.clone()));
    assert_eq!(write(&mut client, again), Code::Ok);
    let spread = ports(&bench);
    assert!(
        spread[3] > 10 && spread[4] > 10 && spread[3] + spread[4] == 64,
        "{spread:?}"
    );
    port_down(&bench, 4);
    assert_eq!(ports(&bench)[3], 64);
    let mixed = member(&bench, "ingress.hops", 1, 3);
    assert_eq!(
        write(
            &mut client,
            insert(Kind::ActionProfileMember(mixed.clone()))
        ),
        Code::InvalidArgument
    );
    assert_eq!(
        write(&mut client, delete(Kind::TableEntry(entry))),
        Code::Ok
    );
    assert_eq!(
        write(&mut client, insert(Kind::ActionProfileMember(mixed))),
        Code::Ok
    );
}
