//! Runs that version 1 wrote: every command over the store still reads them.

use crate::harness::{Ended, linerate};
use std::path::Path;

/// The frozen runs of version 1.
const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/v1");

fn over_old_runs(args: &[&str]) -> Ended {
    Ended::spawn(linerate().args(args).args(["--store", STORE]))
}

fn ids() -> Vec<String> {
    let entries = std::fs::read_dir(STORE).unwrap();
    let mut ids: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    ids.sort();
    ids
}

#[test]
fn every_run_is_explained_shown_and_compared() {
    for id in &ids() {
        for command in ["show", "explain", "report", "export"] {
            assert!(
                !over_old_runs(&[command, id]).done().is_empty(),
                "{command} {id}"
            );
        }
        let run = over_old_runs(&["show", id, "--json"]).document();
        assert_eq!(run["schema"], "linerate/run/2");
        assert!(
            matches!(over_old_runs(&["compare", id, id]).code, Some(0 | 8)),
            "{id}"
        );
    }
}

#[test]
fn every_run_is_reported_in_every_format() {
    let place = tempfile::tempdir().unwrap();
    for id in &ids() {
        for ending in ["html", "txt", "csv", "json"] {
            let file = place.path().join(format!("{id}.{ending}"));
            let told = over_old_runs(&["report", id, "-o", file.to_str().unwrap()]);
            assert_eq!(told.code, Some(0), "{}", told.err);
            assert!(written(&file) > 0, "{id} {ending}");
        }
    }
}

fn written(file: &Path) -> u64 {
    std::fs::metadata(file).unwrap().len()
}
