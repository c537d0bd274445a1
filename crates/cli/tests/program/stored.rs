//! What can be done with runs once they are in the store.

use crate::harness::run::valid;
use crate::harness::{Place, fixture, good_log};
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
    // A heading, and for each its figures and its words.
    assert_eq!(text.lines().count(), 5, "{text}");
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
    assert!(csv.starts_with("run,kind,title,trial,"), "{csv}");
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
fn an_export_as_parquet_is_a_file_or_says_which_build_has_it() {
    let place = filled();
    let file = place.run(&["export", "last", "-o", "run.parquet"]);
    let screen = place.run(&["export", "last", "--format", "parquet"]);
    if cfg!(feature = "parquet") {
        file.done();
        let bytes = fs::read(place.file("run.parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
        screen.failed(2, &["-o FILE.parquet"]);
    } else {
        for ended in [file, screen] {
            ended.failed(4, &["--features parquet", "export csv"]);
        }
        assert!(!place.file("run.parquet").exists());
    }
}

#[test]
fn a_verdict_is_explained_rule_by_rule() {
    let place = filled();
    let text = place.run(&["explain", "last"]).done();
    assert!(text.contains("  limit "), "{text}");
    assert!(text.contains("not evaluated"), "{text}");
    let document = place.run(&["explain", "last", "--json"]).document();
    assert!(!document["findings"].as_array().unwrap().is_empty());
}

/// A run is found under a name, before the last, by its beginning, until it is removed.
#[test]
fn runs_have_names_and_notes_and_are_removed() {
    let place = filled();
    let ids: Vec<_> = place
        .listed()
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    let (first, last) = (&ids[0], &ids[ids.len() - 1]);
    let shown = |name: &str| {
        place.run(&["export", name]).document()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(shown("last~0"), shown("last"));
    assert_ne!(shown("last~1"), shown("last"));
    place
        .run(&["export", "last~99"])
        .failed(2, &["last~99", "only"]);
    assert_eq!(
        place.run(&["tag", first, "baseline"]).done(),
        format!("baseline is {first}\n")
    );
    assert_eq!(&shown("baseline"), first);
    assert_eq!(place.run(&["tag"]).done(), format!("baseline  {first}\n"));
    place.run(&["note", "baseline", "before the update"]).done();
    assert_eq!(place.run(&["note", first]).done(), "before the update\n");
    let listed = place.run(&["list", "--tag", "baseline"]).done();
    assert!(
        listed.contains(first) && listed.contains("tagged baseline · note: before the update"),
        "{listed}"
    );
    assert!(!listed.contains(last), "{listed}");
    place
        .run(&["rm", first])
        .failed(2, &["tagged baseline", "--delete"]);
    for wrong in ["last", "2026", "a/b", "", "x y"] {
        assert_eq!(place.run(&["tag", first, wrong]).code, Some(2), "{wrong}");
    }
    place.run(&["tag", "--delete", "baseline"]).done();
    place
        .run(&["tag", "--delete", "baseline"])
        .failed(2, &["no run", "baseline"]);
    place.run(&["note", first, ""]).done();
    place.run(&["note", first]).failed(2, &["no note"]);
    place.run(&["rm", first, "-q"]).done();
    place.run(&["show", first]).failed(2, &[first.as_str()]);
    assert_eq!(place.listed().len(), ids.len() - 1);
    assert_eq!(place.run(&["rm", "nothing"]).code, Some(2));
    assert_eq!(place.listed().len(), ids.len() - 1);
}

#[test]
fn a_list_has_the_newest_first_with_results_and_filters() {
    let place = filled();
    let json = place.listed();
    let text = place.run(&["list"]).done();
    let at = |run: &Value| text.find(run["id"].as_str().unwrap()).unwrap();
    for pair in json.windows(2) {
        assert!(at(&pair[1]) < at(&pair[0]), "{text}");
    }
    assert!(text.contains("bit/s"), "{text}");
    let count = |args: &[&str]| {
        let list = place.run(&[&["list", "--json"], args].concat()).done();
        serde_json::from_str::<Value>(&list)
            .unwrap()
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count(&["-n", "1"]), 1);
    assert_eq!(count(&["--tag"]), 0);
    assert_eq!(count(&["--status", "incomplete"]), 0);
    let kinds = json.iter().filter(|run| run["kind"] == "tcp").count();
    assert_eq!(count(&["--kind", "tcp"]), kinds);
    assert_eq!(count(&["--match", "no such words"]), 0);
    assert_eq!(count(&["--since", "2999"]), 0);
    let limited = json.iter().find_map(|run| run["limit"].as_str()).unwrap();
    assert!(count(&["--limit", limited]) > 0);
}

#[test]
fn a_folder_of_logs_is_imported_with_what_lies_beside_them_left_out() {
    let place = Place::new();
    let inner = place.file("logs/deep");
    fs::create_dir_all(&inner).unwrap();
    fs::copy(good_log(), place.file("logs/a.log")).unwrap();
    fs::copy(
        fixture("tcp/board-receives.client.log"),
        inner.join("b.log"),
    )
    .unwrap();
    fs::write(place.file("logs/README"), "what these logs are").unwrap();
    fs::write(inner.join(".hidden"), "x").unwrap();
    // What was left out is told whatever is asked for, what the store had already is not.
    for options in [&[][..], &["-q"], &["--json"]] {
        let ended = place.run(&[&["import", "logs"], options].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(
            ended.err,
            "note: left out 1 file of the folder, which linerate does not read as logs: logs/README\n"
        );
        assert_eq!(place.listed().len(), 2);
    }
    let ended = place.run(&["import", "logs"]);
    assert_eq!(ended.err.matches("in the store already").count(), 2);
    fs::create_dir(place.file("empty")).unwrap();
    place
        .run(&["import", "empty"])
        .failed(3, &["empty", "no file"]);
}
