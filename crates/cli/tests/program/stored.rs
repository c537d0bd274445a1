//! What can be done with runs once they are in the store.

use crate::harness::{Place, fixture, good_log, valid};
use serde_json::Value;
use std::fs;

/// A store with two imported runs.
fn filled() -> Place {
    let place = Place::new();
    let logs = [good_log(), fixture("tcp/board-receives.client.log")];
    for log in logs {
        place
            .run(&["import", log.to_str().unwrap(), "--json"])
            .document();
    }
    place
}

#[test]
fn runs_are_listed_and_found_by_the_beginning_of_their_ids() {
    let place = filled();
    let listed = place.listed();
    let id = listed[1]["id"].as_str().unwrap();
    assert_eq!(place.run(&["show", id, "--json"]).document()["id"], id);
    assert_eq!(place.run(&["show", "last", "--json"]).document()["id"], id);
    let text = place.run(&["list"]).done();
    assert_eq!(text.lines().count(), 2);
    assert!(text.contains(id), "{text}");
    place
        .run(&["show", "imported"])
        .failed(2, &["2 runs", "give more of the id"]);
}

#[test]
fn a_run_is_found_by_its_path() {
    let place = filled();
    let id = place.listed()[0]["id"].as_str().unwrap().to_owned();
    for path in [format!("store/{id}"), format!("store/{id}/run.json")] {
        assert_eq!(
            place.run(&["show", &path, "--json"]).document()["id"],
            id.as_str()
        );
    }
}

#[test]
fn reports_of_every_format() {
    let place = filled();
    let runs: Vec<_> = place
        .listed()
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    for format in ["html", "txt", "csv", "json"] {
        let file = format!("report.{format}");
        let ended = place.run(&["report", &runs[0], &runs[1], "-o", &file]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.err, format!("note: the report is in {file}\n"));
        let text = fs::read_to_string(place.file(&file)).unwrap();
        for run in &runs {
            assert!(
                text.contains(run) || format == "txt",
                "{format} without {run}"
            );
        }
        assert!(!place.file(&format!("{file}.tmp")).exists());
    }
    let html = fs::read_to_string(place.file("report.html")).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>"));
    assert!(html.trim_end().ends_with("</html>"));
}

#[test]
fn one_run_is_one_document_and_several_are_an_array() {
    let place = filled();
    place.run(&["report", "last", "--json"]).document();
    let first = place.listed()[0]["id"].as_str().unwrap().to_owned();
    let both = place.run(&["report", &first, "last", "--json"]).done();
    let both: Vec<Value> = serde_json::from_str(&both).unwrap();
    assert_eq!(both.len(), 2);
    for run in &both {
        valid(&run.to_string());
    }
}

#[test]
fn exports_of_every_format_to_the_screen_and_to_a_file() {
    let place = filled();
    place.run(&["export", "last"]).document();
    let csv = place.run(&["export", "last", "--format", "csv"]).done();
    assert!(csv.starts_with("run,trial,"), "{csv}");
    let intervals = place
        .run(&["export", "last", "--format", "csv-intervals"])
        .done();
    assert!(intervals.lines().count() > csv.lines().count());
    place.run(&["export", "last", "-o", "run.csv"]).done();
    assert_eq!(
        fs::read_to_string(place.file("run.csv"))
            .unwrap()
            .trim_end(),
        csv.trim_end()
    );
    place.run(&["export", "last", "-o", "run.json"]).done();
    valid(&fs::read_to_string(place.file("run.json")).unwrap());
}

#[test]
fn a_verdict_is_explained_rule_by_rule() {
    let place = filled();
    let text = place.run(&["explain", "last"]).done();
    assert!(text.contains("limit: "), "{text}");
    assert!(text.contains("not evaluated"), "{text}");
    let document = place.run(&["explain", "last", "--json"]).document();
    assert!(!document["findings"].as_array().unwrap().is_empty());
}
