//! Runs that earlier versions wrote, `tests/v1/`, still read the same. These files are never edited;
//! a change of the format gets a directory of its own.

use linerate_model::run::{DelayOf, Place, RunKind, RunStatus};
use linerate_model::{BitRate, PacketCount};
use linerate_store::{Entry, Store};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

#[expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]
fn v1() -> Store {
    Store::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/v1")).unwrap()
}

#[test]
fn every_run_is_listed_and_loaded() {
    let listed = v1().list().unwrap();
    assert_eq!(listed.len(), 17);
    for one in listed {
        let Entry::Run(summary) = &one.entry else {
            panic!("{one:?}");
        };
        let run = v1().load(&one.id).unwrap();
        assert_eq!(run.id, one.id);
        assert_eq!((run.kind(), run.status), (summary.kind, summary.status));
        assert_eq!(run.trials.len(), summary.trials);
        let document = serde_json::to_value(&run).unwrap();
        linerate_schema_check::validate(&document).unwrap();
    }
}

#[test]
fn every_document_is_one_of_its_version_and_keeps_its_keys() {
    for one in v1().list().unwrap() {
        let Ok(text) = std::fs::read_to_string(one.path.join("run.json")) else {
            continue;
        };
        let old: Value = serde_json::from_str(&text).unwrap();
        linerate_schema_check::validate_against(linerate_schema_check::RUN_1, &old).unwrap();
        let new = serde_json::to_value(v1().load(&one.id).unwrap()).unwrap();
        keeps(&one.id, &old, &new);
    }
}

/// Every key of `old` is in `new` with the same value. The parts that have a shape of their own in each version
/// have tests of their own.
fn keeps(place: &str, old: &Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            // What became of the requests of an open loop, which stood in its stream a second time.
            let is_repeated = |key: &str| {
                let is_open_loop = old.contains_key("response") && old.contains_key("requests");
                is_open_loop && ["timeouts", "unsent"].contains(&key)
            };
            let is_same = |key: &str| !CHANGED.contains(&key) && !is_repeated(key);
            let same = old
                .iter()
                .filter(|(key, value)| !value.is_null() && is_same(key));
            for (key, value) in same {
                keeps(
                    &format!("{place}/{key}"),
                    value,
                    new.get(key).unwrap_or(&Value::Null),
                );
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                keeps(&format!("{place}/{index}"), old, new);
            }
        }
        _ => assert_eq!(old, new, "{place}"),
    }
}

/// Keys whose values changed their shape.
const CHANGED: [&str; 2] = ["schema", "config"];

#[test]
fn what_was_asked_for_is_kept() {
    let mut tests = 0;
    for one in v1().list().unwrap() {
        let Ok(text) = std::fs::read_to_string(one.path.join("run.json")) else {
            continue;
        };
        let old: Value = serde_json::from_str(&text).unwrap();
        let config = v1().load(&one.id).unwrap().config;
        let values = &old["config"]["values"];
        assert_eq!(config.command.as_deref(), old["config"]["command"].as_str());
        let peer = config.target.as_ref().map(|target| target.peer.as_str());
        assert_eq!(peer, values["far_end"].as_str(), "{}", one.id);
        let asked_for = config.test();
        assert_eq!(
            asked_for.map(|test| test.workload.as_str()),
            values["workload"].as_str(),
            "{}",
            one.id
        );
        assert_eq!(
            asked_for.map(|test| test.payload().get()),
            values["payload_bytes"].as_u64(),
            "{}",
            one.id
        );
        let is_of_parts = ["cells", "link_rate_bps"].map(|key| values[key].is_null());
        assert_eq!(
            config.asked.is_some(),
            asked_for.is_some() || is_of_parts != [true; 2],
            "{}",
            one.id
        );
        tests += u32::from(asked_for.is_some());
    }
    assert!(tests >= 8, "{tests}");
}

/// What both ends of every trial in `value` did, by the kinds of their streams.
fn kinds(value: &Value, all: &mut BTreeSet<(String, String)>) {
    let kind = |end: &Value| Some(end["streams"].get(0)?["kind"].as_str()?.to_owned());
    if let Some([sender, receiver]) = value["raw"].as_array().map(Vec::as_slice) {
        all.extend(kind(sender).zip(kind(receiver)));
    }
    match value {
        Value::Object(object) => object.values().for_each(|value| kinds(value, all)),
        Value::Array(array) => array.iter().for_each(|value| kinds(value, all)),
        _ => {}
    }
}

#[test]
fn both_ends_of_a_trial_are_named_by_what_they_did() {
    let mut all = BTreeSet::new();
    for one in v1().list().unwrap() {
        let run = v1().load(&one.id).unwrap();
        kinds(&serde_json::to_value(run).unwrap(), &mut all);
    }
    let pairs: Vec<_> = all.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let expected = [
        ("byte-stream-sender", "byte-stream-receiver"),
        ("connection-opener", "responder"),
        ("datagram-sender", "datagram-receiver"),
        ("datagram-sender", "peer"),
        ("marked-byte-stream-sender", "byte-stream-receiver"),
        ("open-loop-requester", "responder"),
        ("peer", "byte-stream-receiver"),
        ("requester", "responder"),
    ];
    assert_eq!(pairs, expected);
}

#[test]
fn every_value_of_a_finished_run_is_kept() {
    let run = v1().load("20261121-050000-saturate").unwrap();
    assert_eq!(
        (run.kind(), run.status),
        (RunKind::Saturate, RunStatus::Complete)
    );
    assert_eq!(
        run.started.as_ref().unwrap().to_string(),
        "2026-11-21T05:00:00Z"
    );
    let trial = &run.trials[0];
    assert_eq!(trial.duration.unwrap().as_nanos(), 1_000_018_113);
    assert_eq!(trial.received_rate, Some(BitRate::from_bps(95_640_000)));
    assert_eq!(trial.ledger()[0].place, Place::ReceiverSocket);
    let lost: u64 = trial.ledger().iter().map(|entry| entry.packets.get()).sum();
    assert_eq!(trial.packets().unwrap().lost, Some(PacketCount::new(lost)));
    let delay = trial.delay().unwrap();
    assert_eq!(delay.of, DelayOf::Pdv);
    assert_eq!(delay.histogram.as_ref().unwrap().len(), 999);
    assert_eq!(
        trial.raw()[0].streams[0]
            .work
            .sequence()
            .unwrap()
            .next_expected,
        8632
    );
    assert!(!run.trials[1].valid);
    assert_eq!(
        run.trials[1].tcp().unwrap().samples[0].cwnd_bytes,
        Some(14_480)
    );
    assert_eq!(run.verdict.as_ref().unwrap().limit.id(), "receiver-socket");
    assert_eq!((run.goals().len(), run.findings.len()), (1, 3));
}

#[test]
fn a_run_that_was_killed_is_kept_as_far_as_it_came() {
    let run = v1().load("20261121-050100-udp-77aa").unwrap();
    assert_eq!((run.status, run.trials.len()), (RunStatus::Incomplete, 1));
    assert_eq!(run.notes.len(), 2, "{:?}", run.notes);
    let whole = v1().load("20261121-050000-saturate").unwrap();
    assert_eq!(run.trials[0], whole.trials[0]);
}

#[test]
fn an_imported_curve_is_kept() {
    let store = v1();
    let listed = store.list().unwrap();
    let ids: Vec<_> = listed
        .iter()
        .filter(|one| one.id.starts_with("imported-udp"))
        .collect();
    let run = store.load(&ids[0].id).unwrap();
    let trial = &run.trials[1];
    assert_eq!(
        trial.packets().unwrap().sent,
        Some(PacketCount::new(441_959))
    );
    assert!(
        trial
            .rounding(linerate_model::Quantity::LostPackets)
            .unwrap()
            .contains(290_400.0)
    );
}
