//! Controllers and pipelines: who may write, what a batch does, how pipelines change.

use crate::bench::{
    Bench, P4INFO, PATIENCE, PROGRAM, delete, exact, frame, insert, read, station, write,
};
use linerate_p4_runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use linerate_p4_runtime::proto::p4::v1::stream_message_response::Update as Response;
use linerate_p4_runtime::proto::p4::v1::write_request::Atomicity;
use linerate_p4_runtime::proto::p4::v1::{TableEntry, Update, entity::Entity as Kind};
use linerate_p4_runtime::{Client, ClientError, Code, Options, parse_p4info};

fn to(bench: &Bench, dst: u8, port: u8) -> TableEntry {
    let send = bench.action("send", &[&[port]]);
    bench.entry("stations", vec![exact(1, &station(dst))], Some(send))
}

fn count(client: &Client) -> usize {
    read(client, Kind::TableEntry(TableEntry::default())).len()
}

/// The code of the next word on who is primary.
fn told(client: &mut Client) -> Code {
    match client.next(PATIENCE).expect("a message") {
        Some(Response::Arbitration(update)) => Code::from(update.status.unwrap_or_default().code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_the_primary_writes_and_mastership_moves_by_election_id() {
    let bench = Bench::new();
    let update = || vec![insert(Kind::TableEntry(to(&bench, 2, 2)))];
    let mut nobody = bench.client();
    let refused = nobody
        .write(update(), Atomicity::ContinueOnError)
        .unwrap_err();
    assert_eq!(refused.code(), Some(Code::PermissionDenied));
    let mut first = bench.primary();
    assert_eq!(first.version().expect("a version"), "1.5.0");
    let mut second = bench.client();
    let beaten = second.become_primary("", 0).unwrap_err();
    assert!(
        matches!(
            beaten,
            ClientError::NotPrimary {
                is_taken: true,
                highest: Some(1)
            }
        ),
        "{beaten}"
    );
    second.become_primary("", 2).expect("primary");
    assert_eq!(told(&mut first), Code::AlreadyExists);
    let refused = first
        .write(update(), Atomicity::ContinueOnError)
        .unwrap_err();
    assert_eq!(refused.code(), Some(Code::PermissionDenied));
    second
        .write(update(), Atomicity::ContinueOnError)
        .expect("a write");
    // A controller that vanishes leaves nobody in its place, and its entries.
    drop(second);
    assert_eq!(told(&mut first), Code::NotFound);
    first
        .become_primary("", 2)
        .expect("the same election id as the one that is gone");
    assert_eq!(count(&first), 3);
    let mut wrong = bench.client();
    let refused = wrong.arbitrate("", Some(2)).unwrap_err();
    assert_eq!(
        refused.code(),
        Some(Code::InvalidArgument),
        "the election id is taken"
    );
}

#[test]
fn roles_have_primaries_of_their_own() {
    let bench = Bench::new();
    let (mut one, mut other) = (bench.client(), bench.client());
    one.become_primary("routes", 1).expect("primary");
    other.become_primary("acl", 1).expect("primary");
    assert_eq!(
        write(&mut one, insert(Kind::TableEntry(to(&bench, 2, 2)))),
        Code::Ok
    );
    assert_eq!(
        write(&mut other, insert(Kind::TableEntry(to(&bench, 3, 2)))),
        Code::Ok
    );
}

#[test]
fn clients_are_limited() {
    let options = Options {
        max_controllers: 1,
        ..Options::default()
    };
    let bench = Bench::with(options, true);
    let _first = bench.primary();
    let refused = bench.client().arbitrate("", Some(9)).unwrap_err();
    assert_eq!(refused.code(), Some(Code::ResourceExhausted));
}

#[test]
fn batches_are_made_as_their_atomicity_says() {
    let bench = Bench::new();
    let mut client = bench.primary();
    let batch = || -> Vec<Update> {
        vec![
            insert(Kind::TableEntry(to(&bench, 2, 2))),
            delete(Kind::TableEntry(to(&bench, 9, 2))),
            insert(Kind::TableEntry(TableEntry {
                priority: 5,
                ..to(&bench, 4, 2)
            })),
            insert(Kind::TableEntry(to(&bench, 3, 2))),
        ]
    };
    let refused = client
        .write(batch(), Atomicity::ContinueOnError)
        .unwrap_err();
    assert_eq!(refused.code(), Some(Code::Unknown));
    let codes = |error: &ClientError| {
        error
            .refused()
            .iter()
            .map(|one| (one.place, one.code))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        codes(&refused),
        [(1, Code::NotFound), (2, Code::InvalidArgument)]
    );
    assert_eq!(count(&client), 4);
    for dst in [2, 3] {
        assert_eq!(
            write(&mut client, delete(Kind::TableEntry(to(&bench, dst, 2)))),
            Code::Ok
        );
    }
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let refused = client.write(batch(), atomicity).unwrap_err();
        assert_eq!(refused.refused().len(), 4);
        assert!(codes(&refused).contains(&(0, Code::Aborted)));
        assert_eq!(count(&client), 2, "nothing was made");
        let fine = vec![batch()[0].clone(), batch()[3].clone()];
        client.write(fine, atomicity).expect("a batch");
        assert_eq!(count(&client), 4);
        client
            .write(
                [2, 3]
                    .map(|dst| delete(Kind::TableEntry(to(&bench, dst, 2))))
                    .to_vec(),
                atomicity,
            )
            .expect("a batch");
    }
}

#[test]
fn pipelines_are_verified_saved_committed_and_reconciled() {
    let bench = Bench::with(Options::default(), false);
    let mut client = bench.primary();
    let config = || Some((parse_p4info(P4INFO).expect("P4Info"), PROGRAM.to_vec()));
    let entry = || insert(Kind::TableEntry(to(&bench, 2, 2)));
    let early = client
        .write(vec![entry()], Atomicity::ContinueOnError)
        .unwrap_err();
    assert_eq!(early.code(), Some(Code::FailedPrecondition));
    assert_eq!(client.pipeline().expect("an answer"), None);
    let refused = |result: Result<(), ClientError>| result.unwrap_err().code();
    assert_eq!(
        refused(client.set_pipeline(Action::Commit, None, None)),
        Some(Code::NotFound)
    );
    assert_eq!(
        refused(client.set_pipeline(Action::Verify, None, None)),
        Some(Code::InvalidArgument)
    );
    assert_eq!(
        refused(client.set_pipeline(Action::Unspecified, config(), None)),
        Some(Code::InvalidArgument)
    );
    client
        .set_pipeline(Action::Verify, config(), None)
        .expect("a good config");
    assert_eq!(client.pipeline().expect("an answer"), None);
    client
        .set_pipeline(Action::VerifyAndSave, config(), Some(7))
        .expect("a good config");
    assert_eq!(write(&mut client, entry()), Code::Ok);
    assert!(bench.with_plane(|plane| plane.switch.is_none()), "not yet");
    assert_eq!(
        refused(client.set_pipeline(Action::Commit, config(), None)),
        Some(Code::InvalidArgument)
    );
    client
        .set_pipeline(Action::Commit, None, None)
        .expect("the saved one");
    assert_eq!(bench.send(1, &frame(2, 1, 0x1234, &[]))[0].0, 2);
    let known = client.pipeline().expect("an answer").expect("a pipeline");
    assert_eq!(known.cookie.map(|cookie| cookie.cookie), Some(7));
    assert_eq!(known.p4_device_config, PROGRAM);
    assert_eq!(known.p4info, Some(parse_p4info(P4INFO).expect("P4Info")));
    client
        .set_pipeline(Action::ReconcileAndCommit, config(), Some(8))
        .expect("the same program");
    assert_eq!(count(&client), 3, "entries stay");
    assert_eq!(bench.send(1, &frame(2, 1, 0x1234, &[]))[0].0, 2);
    client
        .set_pipeline(Action::VerifyAndCommit, config(), None)
        .expect("a good config");
    assert_eq!(count(&client), 2, "entries are gone");
}

#[expect(clippy::too_many_lines, reason = "a list of cases")]
#[test]
fn a_config_that_does_not_fit_changes_nothing() {
    let bench = Bench::new();
    let mut client = bench.primary();
    assert_eq!(
        write(&mut client, insert(Kind::TableEntry(to(&bench, 2, 2)))),
        Code::Ok
    );
    let text = std::str::from_utf8(P4INFO).expect("text");
    let changes: &[(&str, &str, &str)] = &[
        (
            "name: \"ingress.stations\"",
            "name: \"ingress.other\"",
            "table ingress.other is not in the program",
        ),
        (
            "bitwidth: 48\n    match_type: EXACT",
            "bitwidth: 47\n    match_type: EXACT",
            "47 bits",
        ),
        ("match_type: LPM", "match_type: TERNARY", "matches"),
        (
            "name: \"ingress.last\"",
            "name: \"ingress.first\"",
            "register ingress.first",
        ),
        (
            "name: \"packet_in\"",
            "name: \"packet_up\"",
            "neither packet_in nor packet_out",
        ),
        ("size: 512", "size: 513", "513 cells"),
        ("with_selector: true", "with_selector: false", "selector"),
        (
            "name: \"port\"\n    bitwidth: 9",
            "name: \"gate\"\n    bitwidth: 9",
            "gate",
        ),
    ];
    let mut cases = Vec::new();
    for (from, to, words) in changes {
        assert!(text.contains(from), "{from}");
        let info = parse_p4info(text.replacen(from, to, 1).as_bytes()).expect("P4Info");
        cases.push((info, PROGRAM.to_vec(), *words));
    }
    let info = parse_p4info(P4INFO).expect("P4Info");
    cases.push((info.clone(), PROGRAM[..PROGRAM.len() / 2].to_vec(), "JSON"));
    cases.push((info, b"{}".to_vec(), "p4_device_config"));
    for (info, program, words) in cases {
        for action in [
            Action::Verify,
            Action::VerifyAndSave,
            Action::VerifyAndCommit,
            Action::ReconcileAndCommit,
        ] {
            let refused = client
                .set_pipeline(action, Some((info.clone(), program.clone())), None)
                .unwrap_err();
            assert_eq!(refused.code(), Some(Code::InvalidArgument), "{words}");
            assert!(refused.to_string().contains(words), "{refused}");
        }
    }
    assert_eq!(count(&client), 3);
    assert_eq!(bench.send(1, &frame(2, 1, 0x1234, &[]))[0].0, 2);
}
