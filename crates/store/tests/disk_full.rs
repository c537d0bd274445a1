//! A store on a file system that becomes full in the middle of a run.
use linerate_model::run::{DatagramsResult, Run, RunKind, RunStatus, Tool, Trial};
use linerate_model::spec::{Direction, Transport};
use linerate_store::{Entry, Store};
use linerate_testkit::disk::TinyDisk;

fn run(id: &str) -> Run {
    Run::new(id, RunKind::Udp, Tool::unversioned("linerate"))
}

#[test]
#[ignore = "needs user and mount namespaces"]
fn a_full_disk_gives_one_clear_error_and_a_readable_run() {
    let disk = TinyDisk::mount(256);
    let store = Store::open(disk.dir()).unwrap();
    let mut writer = store.create(&run("first")).unwrap();
    let mut trial = Trial::new(
        0,
        Transport::Udp,
        Direction::Forward,
        DatagramsResult::default(),
    );
    trial.reasons = vec!["x".repeat(20_000)];
    let mut kept = Vec::new();
    let error = loop {
        match writer.trial(&trial) {
            Ok(()) => kept.push(trial.clone()),
            Err(error) => break error.to_string(),
        }
        assert!(kept.len() < 100, "256 KiB hold no 100 trials of 20 kB");
    };
    assert!(
        error.contains("trials.jsonl") && error.contains("free space"),
        "{error}"
    );
    let mut whole = run("first");
    whole.trials.clone_from(&kept);
    let error = writer.finish(&whole).unwrap_err().to_string();
    assert!(
        error.contains("run.json") && error.contains("free space"),
        "{error}"
    );

    let back = store.load("first").unwrap();
    assert_eq!((back.status, &back.trials), (RunStatus::Incomplete, &kept));
    std::fs::write(disk.dir().join("filler"), vec![0; 300_000]).unwrap_err();
    assert!(store.create(&run("second")).is_err());
    assert!(store.add_all(&[run("third"), whole]).is_err());
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(matches!(listed[0].entry, Entry::Run(_)));
}
