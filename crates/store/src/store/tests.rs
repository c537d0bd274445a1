//! A run is readable at every moment of its life, and errors say what to do.

use super::*;
use linerate_model::BitRate;
use linerate_model::run::{DatagramsResult, RunStatus, Tool, Trial};
use linerate_model::spec::{Direction, Transport};
use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

fn run(id: &str) -> Run {
    Run {
        title: Some("a test".to_owned()),
        started: WallTime::from_unix(1_700_000_000),
        ..Run::new(id, RunKind::Udp, Tool::unversioned("linerate"))
    }
}

fn demo(id: &str) -> Run {
    Run {
        work: RunKind::Demo.into(),
        ..run(id)
    }
}

fn trial(index: u32) -> Trial {
    let mut trial = Trial::from_log(
        index,
        Transport::Udp,
        Direction::Forward,
        DatagramsResult::default(),
    );
    trial.intended_load = Some(BitRate::from_bps(1_000_000 * u64::from(index + 1)));
    trial
}

fn store() -> (TempDir, Store) {
    let dir = TempDir::new().unwrap();
    let store = Store::open(&dir.path().join("runs")).unwrap();
    (dir, store)
}

#[test]
fn a_finished_run_is_read_as_it_was_written() {
    let (_dir, store) = store();
    let mut whole = run("a");
    let mut writer = store.create(&whole).unwrap();
    whole.trials = vec![trial(0), trial(1)];
    for trial in &whole.trials {
        writer.trial(trial).unwrap();
    }
    let path = writer.path().to_owned();
    writer.finish(&whole).unwrap();
    for name in [
        "a",
        "last",
        path.to_str().unwrap(),
        path.join(RUN).to_str().unwrap(),
    ] {
        assert_eq!(store.load(name).unwrap(), whole, "{name}");
    }
    let mut left: Vec<_> = fs::read_dir(&path)
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, [HEADER, RUN]);
}

#[test]
fn a_killed_run_has_the_trials_made_so_far_and_says_so() {
    let (_dir, store) = store();
    let mut writer = store.create(&run("a")).unwrap();
    writer.trial(&trial(0)).unwrap();
    writer.trial(&trial(1)).unwrap();
    drop(writer);
    let back = store.load("a").unwrap();
    assert_eq!(back.status, RunStatus::Incomplete);
    assert_eq!(back.trials, [trial(0), trial(1)]);
    assert!(
        back.notes[0].contains("its first 2 trials"),
        "{:?}",
        back.notes
    );
    let listed = store.list().unwrap();
    let Entry::Run(summary) = &listed[0].entry else {
        panic!("{listed:?}");
    };
    assert_eq!((summary.status, summary.trials), (RunStatus::Incomplete, 2));
}

#[test]
fn a_killed_study_has_the_parts_made_so_far_and_a_finished_one_no_log_of_them() {
    let (_dir, store) = store();
    let mut writer = store.create(&demo("a")).unwrap();
    writer.part(&run("x")).unwrap();
    writer.part(&run("y")).unwrap();
    let log = writer.path().join(PARTS);
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 1]).unwrap();
    let back = store.load("a").unwrap();
    assert_eq!(back.parts(), [run("x")], "the last one is torn");
    assert!(
        back.notes[0].contains("its first 1 parts"),
        "{:?}",
        back.notes
    );
    assert!(back.notes[1].contains("being written"), "{:?}", back.notes);
    writer.finish(&demo("a")).unwrap();
    assert!(!log.exists());
    assert_eq!(store.load("a").unwrap(), demo("a"));
}

#[test]
fn a_torn_last_line_is_dropped_and_noted_wherever_it_is_torn() {
    let (_dir, store) = store();
    let mut writer = store.create(&run("a")).unwrap();
    writer.trial(&trial(0)).unwrap();
    let path = writer.path().join(TRIALS);
    drop(writer);
    let line = fs::read(&path).unwrap();
    for end in 1..line.len() {
        fs::write(&path, [&line[..], &line[..end]].concat()).unwrap();
        let back = store.load("a").unwrap();
        assert_eq!(back.trials, [trial(0)], "torn at {end}");
        assert!(
            back.notes.iter().any(|note| note.contains("being written")),
            "{:?}",
            back.notes
        );
    }
}

#[test]
fn a_run_killed_before_its_first_trial_is_readable() {
    let (_dir, store) = store();
    let writer = store.create(&run("a")).unwrap();
    fs::remove_file(writer.path().join(TRIALS)).unwrap();
    let back = store.load("a").unwrap();
    assert_eq!((back.status, back.trials.len()), (RunStatus::Incomplete, 0));
}

#[test]
fn a_damaged_line_in_the_middle_is_named() {
    let (_dir, store) = store();
    let mut writer = store.create(&run("a")).unwrap();
    for index in 0..3 {
        writer.trial(&trial(index)).unwrap();
    }
    let path = writer.path().join(TRIALS);
    let text = fs::read_to_string(&path)
        .unwrap()
        .replacen("\"index\":1", "\"index\":?", 1);
    fs::write(&path, text).unwrap();
    let error = store.load("a").unwrap_err().to_string();
    assert!(
        error.contains("trials.jsonl is damaged at line 2"),
        "{error}"
    );
}

#[test]
fn broken_entries_are_listed_with_the_reason() {
    let (_dir, store) = store();
    store
        .create(&run("good"))
        .unwrap()
        .finish(&run("good"))
        .unwrap();
    fs::create_dir(store.dir().join("no-header")).unwrap();
    for (name, text) in [
        ("garbage", "{"),
        ("newer", "{\"schema\":\"linerate/run/9\"}"),
    ] {
        fs::create_dir(store.dir().join(name)).unwrap();
        fs::write(store.dir().join(name).join(RUN), text).unwrap();
    }
    fs::write(store.dir().join("a-file"), "").unwrap();
    let listed = store.list().unwrap();
    let reason = |id: &str| {
        let found = listed.iter().find(|listed| listed.id == id).unwrap();
        match &found.entry {
            Entry::Broken { reason } => reason.clone(),
            Entry::Run(_) => String::new(),
        }
    };
    assert_eq!(listed.len(), 4);
    assert_eq!(reason("good"), "");
    assert!(reason("no-header").contains("holds no run"));
    assert!(reason("garbage").contains("damaged at line 1"));
    assert!(reason("newer").contains("\"linerate/run/9\""));
    assert!(reason("newer").contains("reads \"linerate/run/2\""));
    assert!(matches!(
        store.load("newer"),
        Err(StoreError::Version { .. })
    ));
}

#[test]
fn runs_are_found_by_a_unique_beginning() {
    let (_dir, store) = store();
    for id in ["20261121-a", "20261121-ab", "20261122-c"] {
        store.create(&run(id)).unwrap().finish(&run(id)).unwrap();
    }
    assert_eq!(store.load("20261122").unwrap().id, "20261122-c");
    assert_eq!(
        store.load("20261121-a").unwrap().id,
        "20261121-a",
        "a whole id is not ambiguous"
    );
    let error = store.load("2026").unwrap_err().to_string();
    assert!(
        error.contains("3 runs") && error.contains("20261121-ab"),
        "{error}"
    );
    let error = store.load("nix").unwrap_err().to_string();
    assert!(error.contains("begins with \"nix\""), "{error}");
    assert!(matches!(store.load(""), Err(StoreError::NotFound { .. })));
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let error = store.load(log).unwrap_err().to_string();
    assert!(
        error.contains(&format!("`linerate import {log}`")),
        "{error}"
    );
}

#[test]
fn a_store_that_does_not_exist_yet_is_empty() {
    let (_dir, store) = store();
    assert_eq!(store.list().unwrap(), []);
    assert!(matches!(store.load("last"), Err(StoreError::Empty { .. })));
    assert!(!store.dir().exists(), "reading creates nothing");
}

#[test]
fn the_last_run_is_none_that_was_killed_before_it_began() {
    let (_dir, store) = store();
    drop(store.create(&run("a")).unwrap());
    drop(store.create(&run("b")).unwrap());
    fs::create_dir(store.dir().join("c")).unwrap();
    assert_eq!(store.load("last").unwrap().id, "b");
    assert_eq!(store.load("last~1").unwrap().id, "a");
    let found = store.load("c").unwrap_err().to_string();
    assert!(found.contains("`linerate rm` removes"), "{found}");
}

#[test]
fn an_error_of_the_system_has_its_own_remedy() {
    let said = |error: std::io::Error| StoreError::io("read", Path::new("x"), error).to_string();
    assert!(said(std::io::Error::from_raw_os_error(24)).ends_with("(`ulimit -n`)"));
    assert!(
        said(std::io::ErrorKind::InvalidInput.into())
            .ends_with("give a run, or a file that holds one")
    );
    assert!(said(std::io::ErrorKind::Other.into()).contains("check the disk"));
}

#[test]
fn room_is_looked_for_without_leaving_anything() {
    let (_dir, store) = store();
    store.check_room().unwrap();
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 0);
}

#[test]
fn the_newest_run_is_last_also_without_a_start_time() {
    let (_dir, store) = store();
    for (id, age) in [("b", 1), ("c", 3), ("a", 2)] {
        let mut unknown = run(id);
        unknown.started = None;
        let path = store.create(&unknown).unwrap().path().join(HEADER);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time - std::time::Duration::from_secs(age * 60))
            .unwrap();
    }
    let ids: Vec<_> = store
        .list()
        .unwrap()
        .into_iter()
        .map(|listed| listed.id)
        .collect();
    assert_eq!(ids, ["c", "a", "b"]);
    assert_eq!(store.load("last").unwrap().id, "b");
}

#[test]
fn an_id_is_taken_once_and_stays_in_the_store() {
    let (dir, store) = store();
    drop(store.create(&run("a")).unwrap());
    assert!(matches!(
        store.create(&run("a")),
        Err(StoreError::Exists { .. })
    ));
    for id in ["../up", "", ".hidden", "a/b", "a b", &"x".repeat(256)] {
        assert!(
            matches!(store.create(&run(id)), Err(StoreError::Id { .. })),
            "{id}"
        );
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_run_whose_digits_another_has_gets_the_next() {
    let (_dir, store) = store();
    let ids = || (7..9).map(|salt| new_id(&WallTime::from_unix(0).unwrap(), RunKind::Udp, salt));
    let mut runs = [run(""), run(""), run("")];
    for begun in &mut runs[..2] {
        drop(store.create_new(begun, ids()).unwrap());
    }
    assert!(ids().eq(runs[..2].iter().map(|begun| begun.id.clone())));
    let full = store.create_new(&mut runs[2], ids());
    assert!(matches!(full, Err(StoreError::Exists { .. })));
}

#[test]
fn several_runs_are_stored_together_or_not_at_all() {
    let (_dir, store) = store();
    let mut whole = run("b");
    whole.trials = vec![trial(0)];
    let added = store.add_all(&[run("a"), whole.clone()]).unwrap();
    let paths = [store.dir().join("a"), store.dir().join("b")];
    assert_eq!((added.written, added.known), (paths.to_vec(), vec![]));
    assert_eq!(store.load("b").unwrap(), whole);
    // What is there stays as it is, and hinders no other.
    let mut other = run("b");
    other.title = Some("other".to_owned());
    let added = store.add_all(&[other, run("c")]).unwrap();
    assert_eq!(
        (added.written, added.known),
        (vec![store.dir().join("c")], vec![0])
    );
    assert_eq!(store.load("b").unwrap(), whole);
    // One that cannot be stored takes back those before it, and none that was there before.
    let error = store
        .add_all(&[run("d"), run("a"), run("../e")])
        .unwrap_err();
    assert!(matches!(error, StoreError::Id { .. }), "{error}");
    assert_eq!(store.list().unwrap().len(), 3, "d is not left behind");
    // A run that another process writes, or left unfinished, is not known to be the same.
    drop(store.create(&run("f")).unwrap());
    let error = store.add_all(&[run("f")]).unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
}

#[test]
fn runs_of_a_batch_are_stored_once_it_is_finished_in_the_order_they_came() {
    let (_dir, store) = store();
    let mut batch = store.batch().unwrap();
    let ids: Vec<String> = (0..20).map(|k| format!("r{}", (k * 7) % 20)).collect();
    for id in &ids {
        assert!(batch.add(&[run(id)]).unwrap().is_empty());
    }
    assert_eq!(batch.add(&[run("r7")]).unwrap(), [0], "it is in the batch");
    assert!(store.list().unwrap().is_empty());
    let done = batch.finish(&mut || true).unwrap();
    assert_eq!((done.stored, done.left), (20, 0));
    let listed: Vec<_> = store
        .list()
        .unwrap()
        .into_iter()
        .map(|run| run.id)
        .collect();
    assert_eq!(listed, ids);
    assert_eq!(store.load("last").unwrap().id, ids[19]);
    // One file each: what is stored at once needs no log.
    let files: Vec<_> = fs::read_dir(store.dir().join("r7")).unwrap().collect();
    assert_eq!(files.len(), 1);
}

#[test]
fn of_a_batch_that_is_not_finished_nothing_is_left() {
    let (_dir, store) = store();
    let hidden = || {
        let names = fs::read_dir(store.dir()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".import-")).count()
    };
    let mut batch = store.batch().unwrap();
    batch.add(&[run("a"), run("b")]).unwrap();
    assert_eq!(hidden(), 1);
    // Another import at the same time takes nothing of it away.
    let mut other = store.batch().unwrap();
    other.add(&[run("a")]).unwrap();
    assert_eq!(hidden(), 2);
    drop(batch);
    assert!(store.list().unwrap().is_empty());
    other.finish(&mut || true).unwrap();
    assert_eq!((store.list().unwrap().len(), hidden()), (1, 0));
    // However many they are.
    let ids = |numbers: std::ops::Range<u32>| numbers.map(|number| run(&format!("r{number}")));
    let mut many = store.batch().unwrap();
    many.add(&ids(0..300).collect::<Vec<_>>()).unwrap();
    drop(many);
    assert_eq!((store.list().unwrap().len(), hidden()), (1, 0));
    // What a crash has left is removed by the next one, and by who stores one run.
    fs::create_dir_all(store.dir().join(".import-0/z")).unwrap();
    drop(store.create(&run("c")).unwrap());
    assert_eq!(hidden(), 0);
    fs::remove_dir_all(store.dir().join("c")).unwrap();
    fs::create_dir_all(store.dir().join(".import-0/z")).unwrap();
    drop(store.batch().unwrap());
    assert_eq!((store.list().unwrap().len(), hidden()), (1, 0));
}

#[test]
fn a_batch_that_is_stopped_while_it_is_put_in_place_says_how_many_are_there() {
    let (_dir, store) = store();
    let mut batch = store.batch().unwrap();
    batch.add(&[run("a"), run("b"), run("c")]).unwrap();
    let mut steps = 0;
    let done = batch.finish(&mut || {
        steps += 1;
        steps <= 2
    });
    let done = done.unwrap();
    assert_eq!((done.stored, done.left), (2, 1));
    assert_eq!(store.list().unwrap().len(), 2);
    let added = store.add_all(&[run("a"), run("b"), run("c")]).unwrap();
    assert_eq!((added.written.len(), added.known.len()), (1, 2));
}

#[test]
fn unknown_keys_are_tolerated() {
    let (_dir, store) = store();
    let path = store.dir().join("a");
    fs::create_dir_all(&path).unwrap();
    let mut value = serde_json::to_value(run("a")).unwrap();
    value["tomorrow"] = serde_json::json!({"a": [1]});
    value["tool"]["colour"] = "red".into();
    fs::write(path.join(RUN), value.to_string()).unwrap();
    assert_eq!(store.load("a").unwrap(), run("a"));
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let (_dir, store) = store();
    let mut writer = store.create(&run("a")).unwrap();
    let mut broken = trial(0);
    let interval = linerate_model::Interval {
        low: f64::NAN,
        high: 1.0,
    };
    broken.set_rounding(linerate_model::Quantity::Duration, Some(interval));
    assert!(matches!(
        writer.trial(&broken),
        Err(StoreError::Unreadable { .. })
    ));
    writer.trial(&trial(1)).unwrap();
    assert_eq!(store.load("a").unwrap().trials, [trial(1)]);
}

#[test]
fn a_place_that_cannot_be_a_store_is_named() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(
        Store::open(&file),
        Err(StoreError::NotADirectory { .. })
    ));
    let error = Store::open(&file.join("below")).unwrap_err().to_string();
    assert!(
        error.contains("file/below") && error.contains("a part of the path is a file"),
        "{error}"
    );
    // Root may write anywhere, but nobody can create a directory in /proc.
    let store = Store::open(Path::new("/proc/linerate")).unwrap();
    let error = store.create(&run("a")).unwrap_err().to_string();
    assert!(error.contains("/proc/linerate"), "{error}");
}

#[test]
fn ids_sort_by_time_and_differ_by_salt() {
    let at = |seconds| WallTime::from_unix(seconds).unwrap();
    let id = new_id(&at(1_795_251_600), RunKind::Udp, 1);
    assert!(id.starts_with("20261121-"), "{id}");
    assert!(id.contains("-udp-"), "{id}");
    let early = new_id(&at(1_700_000_000), RunKind::Udp, 9);
    assert!(early < id);
    let salted: std::collections::BTreeSet<_> = (0..100)
        .map(|salt| new_id(&at(0), RunKind::Tcp, salt))
        .collect();
    assert_eq!(salted.len(), 100);
}

/// A store of so many finished runs that its lists keep an index.
fn large() -> (TempDir, Store) {
    let (dir, store) = store();
    for number in 0..40 {
        let whole = run(&format!("run-{number:02}"));
        store.create(&whole).unwrap().finish(&whole).unwrap();
    }
    (dir, store)
}

fn titles(store: &Store) -> BTreeMap<String, Option<String>> {
    let title = |listed: StoreEntry| match listed.entry {
        Entry::Run(summary) => (listed.id, summary.title),
        Entry::Broken { .. } => (listed.id, None),
    };
    store.list().unwrap().into_iter().map(title).collect()
}

#[test]
fn a_long_list_reads_again_only_what_has_changed() {
    let (_dir, store) = large();
    let first = store.list().unwrap();
    assert_eq!(first.len(), 40);
    assert_eq!(store.list().unwrap(), first);
    // What an unchanged document says is taken from the index.
    let index = store.dir().join(index::INDEX);
    let said = fs::read_to_string(&index).unwrap();
    fs::write(&index, said.replace("a test", "kept")).unwrap();
    // A document in another's place, one that is changed where it is, and one that is gone.
    let replaced = Run {
        title: Some("new".to_owned()),
        ..run("run-07")
    };
    store.replace("run-07", &replaced).unwrap();
    fs::write(store.dir().join("run-08").join(RUN), "{").unwrap();
    fs::remove_dir_all(store.dir().join("run-09")).unwrap();
    let titles = titles(&store);
    assert_eq!(titles.len(), 39);
    for (id, title) in titles {
        let want = match id.as_str() {
            "run-07" => Some("new"),
            "run-08" => None,
            _ => Some("kept"),
        };
        assert_eq!(title.as_deref(), want, "{id}");
    }
}

#[test]
fn an_index_that_cannot_be_used_is_not_missed() {
    let (_dir, store) = large();
    let index = store.dir().join(index::INDEX);
    let first = store.list().unwrap();
    let good = fs::read_to_string(&index).unwrap();
    for bad in [
        "",
        "{",
        "[]",
        &good.replace("linerate/index", "another"),
        &good[..good.len() / 2],
    ] {
        fs::write(&index, bad).unwrap();
        assert_eq!(store.list().unwrap(), first);
        assert_eq!(fs::read_to_string(&index).unwrap(), good, "it is made anew");
    }
    // Where it cannot be written nothing is left behind either.
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    fs::write(index.join("x"), "").unwrap();
    assert_eq!(store.list().unwrap(), first);
    let hidden = fs::read_dir(store.dir()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with('.')
    });
    assert_eq!(hidden.count(), 1);
}

#[test]
fn lists_at_once_leave_a_whole_index() {
    let (_dir, store) = large();
    std::thread::scope(|scope| {
        let lists: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| store.list().unwrap()))
            .collect();
        let lists: Vec<_> = lists.into_iter().map(|list| list.join().unwrap()).collect();
        assert!(
            lists
                .iter()
                .all(|list| list.len() == 40 && *list == lists[0])
        );
    });
    let kept = fs::read(store.dir().join(index::INDEX)).unwrap();
    let kept: serde_json::Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept["runs"].as_object().unwrap().len(), 40);
}

#[test]
fn a_study_is_followed_by_the_median_of_its_valid_tests() {
    let (_dir, store) = store();
    let part = |rate: u64, valid: bool| {
        let mut part = run("part");
        let mut trial = trial(0);
        trial.received_rate = Some(BitRate::from_bps(rate));
        trial.valid = valid;
        part.trials.push(trial);
        part
    };
    let mut study = Run {
        work: RunKind::Study.into(),
        ..run("a")
    };
    let parts = [(9, true), (1, true), (5, true), (99, false)];
    *study.parts_mut().unwrap() = parts.map(|(rate, valid)| part(rate, valid)).to_vec();
    store.add_all(&[study]).unwrap();
    let listed = store.list().unwrap();
    let Entry::Run(summary) = &listed[0].entry else {
        panic!("{listed:?}")
    };
    let median = Figure::MedianReceived(BitRate::from_bps(5));
    assert_eq!((summary.parts, summary.result), (4, Some(median)));
}
