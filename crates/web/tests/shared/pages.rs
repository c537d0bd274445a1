//! Stores with runs of every kind, and the pages that show them.

use crate::harness::{HOSTILE, run};
use linerate_archive::Store;
use linerate_model::BitRate;
use linerate_model::run::{ByteStreamResult, Run, RunKind, StudyPlace, Tool, Trial};
use linerate_model::spec::{Direction, Transport};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A transfer that received so much.
fn received(bits_per_second: u64) -> Trial {
    let work = ByteStreamResult::default();
    let mut trial = Trial::new(0, Transport::Tcp, Direction::Forward, work);
    trial.received_rate = Some(BitRate::from_bps(bits_per_second));
    trial
}

/// The id of a round of the mesh "lab".
pub(crate) fn round(n: u64) -> String {
    format!("20260101-0000{n:02}-study-00000001")
}

/// Adds 24 rounds of the mesh "lab", the first test of which is slower since the eleventh.
pub(crate) fn add_rounds(store: &Store) {
    for n in 0_u64..24 {
        let mut round = Run::new(round(n), RunKind::Study, Tool::unversioned("linerate"));
        round.title = Some("lab".to_owned());
        let slow = if n < 10 { 100_000_000 } else { 70_000_000 };
        let cells = [("a → b", slow), ("b → a", 100_000_000)];
        let tests = cells.iter().flat_map(|(cell, level)| {
            (1..=3).map(move |repetition| {
                let mut test = run("part", "part");
                test.config.place = Some(StudyPlace {
                    cell: (*cell).to_owned(),
                    repetition,
                });
                test.trials.push(received(level + n % 3 * 100_000));
                test
            })
        });
        *round.parts_mut().unwrap() = tests.collect();
        store.add_all(&[round]).unwrap();
    }
}

/// Adds 20 runs of the test "nightly", tagged so, the last ten of which are slower.
pub(crate) fn add_nightly(store: &Store) {
    for n in 0_u64..20 {
        let id = format!("20260101-0000{n:02}-tcp-00000001");
        let mut run = run(&id, "nightly");
        let level = if n < 10 { 100_000_000 } else { 90_000_000 };
        run.trials.push(received(level + n % 3 * 100_000));
        store.add_all(&[run]).unwrap();
        store.tag(&id, &format!("nightly-{n}")).unwrap();
    }
}

/// What measured the runs of `crates/store/tests/v1`: one of each kind.
const MEASURED: [&str; 6] = [
    "20261122-212356-udp-ae82",
    "20261122-212358-tcp-4199",
    "20261122-212414-latency-a417",
    "20261122-212524-demo-3833",
    "20261122-212711-study-0a76",
    "20261122-213313-saturate-e93c",
];

/// A store with what was measured, what has a history, what is hostile and what is broken.
pub(crate) fn every_kind() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let measured = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/v1");
    for from in fs::read_dir(measured).unwrap() {
        let from = from.unwrap();
        let to = folder.path().join(from.file_name());
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(from.path()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let store = Store::open(folder.path()).unwrap();
    add_rounds(&store);
    add_nightly(&store);
    let hostile = run("20260102-000000-tcp-00000002", HOSTILE);
    store.add_all(&[hostile]).unwrap();
    fs::create_dir(folder.path().join("torn")).unwrap();
    fs::write(folder.path().join("torn/run.json"), "{").unwrap();
    folder
}

/// Every kind of page of a site over [`every_kind`] that may start tests, without the first `/`.
pub(crate) fn every_page() -> Vec<String> {
    let runs = MEASURED.iter().flat_map(|id| {
        let page = format!("runs/{id}");
        [format!("{page}/report"), page]
    });
    let pair = format!("a={}&b={}", round(3), round(12));
    let history = format!("runs/{}/history", round(3));
    let others = [
        String::new(),
        "?match=nothing".to_owned(),
        format!("compare?{pair}"),
        format!("compare/document?{pair}"),
        format!("{history}/document"),
        history,
        "trends".to_owned(),
        "trends?tag=nightly*".to_owned(),
        "trends/document?tag=nightly*".to_owned(),
        "tests".to_owned(),
        "live".to_owned(),
    ];
    let forms = ["tcp", "udp", "latency", "saturate"];
    let forms = forms.map(|kind| format!("tests/{kind}"));
    runs.chain(others).chain(forms).collect()
}

/// What the site answers where it shows nothing, and logs as an error in a browser.
pub(crate) const REFUSED: [&str; 3] = ["runs/none", "compare", "nothing"];
