//! Tables of old results: imported, reported, compared; what is wrong in them is named.

use crate::harness::Place;
use serde_json::Value;
use std::fmt::Write as _;

/// Two stacks, two buffer sizes, both ways, three times each.
fn results() -> String {
    let mut text = String::from("stack,buffers,way,mbit_per_s\n");
    for (stack, factor) in [("old", 1.0), ("new", 0.5)] {
        for (buffers, base) in [("small", 20.0), ("large", 60.0)] {
            for way in ["upload", "download"] {
                for noise in [-0.1, 0.0, 0.1] {
                    let rate = factor * base + noise;
                    writeln!(text, "{stack},{buffers},{way},{rate:.2}").unwrap();
                }
            }
        }
    }
    text
}

const MAPPING: &str =
    "rate=mbit_per_s:Mbit/s,transport==tcp,direction=way,factors=buffers+way,run=stack";

#[test]
fn a_table_becomes_studies_that_are_reported_and_compared() {
    let place = Place::new();
    place.with("results.csv", results().as_bytes());
    let import = ["import", "--csv", "results.csv", "--columns", MAPPING];
    let printed = place.run(&[&import[..], &["--json"]].concat()).done();
    let runs: Vec<Value> = serde_json::from_str(&printed).unwrap();
    assert_eq!(runs.len(), 2);
    for run in &runs {
        crate::harness::run::valid(&run.to_string());
        assert_eq!(run["kind"], "study");
        assert_eq!(run["parts"].as_array().unwrap().len(), 12);
        let cells = run["estimates"].as_array().unwrap();
        assert_eq!(cells.len(), 4);
        assert!(
            cells
                .iter()
                .all(|cell| cell["n"] == 3 || cell["estimate"]["n"] == 3),
            "{run}"
        );
    }
    let ids: Vec<_> = place
        .listed()
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    let report = ["report", &ids[0], "-q", "-o", "report.html"];
    place.run(&report).done();
    let html = std::fs::read_to_string(place.file("report.html")).unwrap();
    assert!(html.contains("buffers"), "the report has no factor");
    let title = |id: &str| {
        let run = place.run(&["show", id, "--json"]).document();
        run["title"].as_str().unwrap().to_owned()
    };
    let (old, new) = if title(&ids[0]) == "old" {
        (&ids[0], &ids[1])
    } else {
        (&ids[1], &ids[0])
    };
    let compared = place.run(&["compare", old, new]);
    assert_eq!(compared.code, Some(7), "{compared:?}");
    // The same table a second time is there already.
    let again = place.run(&import);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(
        again.err.matches("in the store already").count(),
        2,
        "{}",
        again.err
    );
    assert_eq!(place.listed().len(), 2);
}

/// A line is some thirty bytes: what is stored of it must not be hundreds of times that.
#[test]
fn a_line_of_a_study_takes_less_than_two_kilobytes_of_the_store() {
    const LINES: usize = 200;
    let place = Place::new();
    let lines = (0..LINES).map(|line| format!("s{},9{}.5\n", line % 7, line % 5));
    let table = format!("stack,rate\n{}", lines.collect::<String>());
    place.with("results.csv", table.as_bytes());
    let mapping = "factors=stack,rate=rate:Mbit/s,transport==tcp";
    place
        .run(&["import", "--csv", "results.csv", "--columns", mapping])
        .done();
    let id = place.listed()[0]["id"].as_str().unwrap().to_owned();
    let stored = std::fs::metadata(place.store().join(&id).join("run.json")).unwrap();
    let each = usize::try_from(stored.len()).unwrap() / LINES;
    assert!(each < 2000, "{each} bytes for each line");
    // What rules say of a line is drawn when it is asked for.
    place.run(&["explain", &id]).done();
    place
        .run(&["report", &id, "-q", "-o", "report.html"])
        .done();
}

#[test]
fn what_a_table_lacks_is_said_with_line_and_column() {
    let place = Place::new();
    place.with("results.csv", b"rate,way\n94 Mbit/s,up\nfast,up\n");
    let mapping = "rate=rate,transport==tcp,direction=way";
    let import =
        |mapping: &str| place.run(&["import", "--csv", "results.csv", "--columns", mapping]);
    let ended = import(mapping);
    ended.failed(
        3,
        &[
            "left out: results.csv: line 3, column \"rate\": \"fast\"",
            "correct the cell",
        ],
    );
    assert_eq!(place.listed().len(), 1);
    import("rate=mbit,transport==tcp").failed(3, &["no column \"mbit\"", "it has rate, way"]);
    import("speed=rate").failed(2, &["no quantity \"speed\""]);
    place
        .run(&["import", "--csv", "results.csv"])
        .failed(2, &["required arguments were not provided"]);
    let missing = ["import", "--csv", "no.csv", "--columns", mapping];
    place.run(&missing).failed(3, &["cannot read no.csv"]);
}
