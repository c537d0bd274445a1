//! `linerate reproduce`: audits of tables, exit codes, every format.

use crate::harness::{Place, Server};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file beside the plans of the published studies.
fn plans(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../plans")
        .join(name)
}

const WRONG: &str = "# unit: B\n# rule: [part=all] = [part=a] + [part=b] -- all is both\npart,value\na,3\nb,4\nall,8\n";

/// The findings of an audit document that its schema allows.
#[track_caller]
fn findings(document: &Value) -> Vec<&str> {
    let schema = linerate_schema_check::AUDIT_1;
    assert_eq!(
        linerate_schema_check::validate_against(schema, document),
        Ok(())
    );
    let findings = document["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|one| one["check"].as_str().unwrap())
        .collect()
}

#[test]
fn an_audit_says_what_it_finds_with_the_calculation_and_exits_with_7() {
    let place = Place::new();
    place.with("t.csv", WRONG.as_bytes());
    let text = place.run(&["reproduce", "--audit", "t.csv"]);
    assert_eq!(text.code, Some(7), "{text:?}");
    assert!(text.out.starts_with("1 contradiction found"), "{text:?}");
    assert!(text.out.contains("8 = (3 + 4): 8 against 7"), "{text:?}");
    let json = place.run(&["reproduce", "--audit", "t.csv", "--json"]);
    assert_eq!(
        findings(&serde_json::from_str(&json.out).unwrap()),
        ["parts"]
    );
    for name in ["a.html", "a.txt", "a.json"] {
        let written = place.run(&["reproduce", "--audit", "t.csv", "-q", "-o", name]);
        assert_eq!(written.code, Some(7), "{written:?}");
        assert!(
            std::fs::read_to_string(place.file(name))
                .unwrap()
                .contains("part = all")
        );
    }
}

#[test]
fn a_table_without_contradiction_exits_with_0_and_one_that_tells_nothing_with_8() {
    let place = Place::new();
    place.with("right.csv", WRONG.replace("all,8", "all,7").as_bytes());
    place.with("bare.csv", b"part,value\na,3\n");
    place.with("bad.csv", b"part,value\na,x\n");
    for (arguments, code) in [
        (&["--audit", "right.csv"][..], 0),
        (&["--audit", "bare.csv"], 8),
        (&["--audit", "bad.csv"], 3),
        (&["--audit", "none.csv"], 3),
        (&["--audit", "right.csv", "-o", "x.png"], 2),
        (&[], 2),
    ] {
        let ended = place.run(&[&["reproduce"], arguments].concat());
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
    }
    let bad = place.run(&["reproduce", "--audit", "bad.csv"]);
    assert!(bad.err.contains("bad.csv: line 2: value = x"), "{bad:?}");
}

#[test]
fn the_published_tables_are_audited_as_the_guide_says() {
    let place = Place::new();
    for (name, wanted) in [
        ("hifive-unleashed.csv", &[][..]),
        ("lwip-zephyr-footprint.csv", &[]),
        ("onload-sfnt-pingpong.csv", &[]),
        ("lwip-zephyr-rt1170.csv", &["identical"]),
    ] {
        let ended = place.run(&[
            "reproduce",
            "--audit",
            plans(name).to_str().unwrap(),
            "--json",
        ]);
        let document: Value = serde_json::from_str(&ended.out).unwrap();
        let mut found = findings(&document);
        found.dedup();
        assert_eq!(found, wanted, "{name}: {document:#}");
    }
}

/// UDP both ways, twice; and a published table of it with one cell that the plan has not.
fn study(place: &Place, server: &Server, setup: &str) {
    let plan = format!(
        "[study]\nhost = \"{}\"\nrepetitions = 2\n[defaults]\nkind = \"udp\"\nrate = \"2M\"\ntime = \"200ms\"\n\
         [factors]\ndirection = [\"forward\", \"reverse\"]\n[published.factors]\n\
         way = {{ setting = \"direction\", levels = {{ up = \"forward\", down = \"reverse\" }} }}\n",
        server.address()
    );
    place.with("plan.toml", plan.as_bytes());
    let table = format!(
        "# unit: Mbit/s\n# n: 10\n{setup}# claim: [way=up] < 1.9 * [way=down] -- both are alike\nway,value\nup,2.00\ndown,2.00\n\
         both,1.00\n"
    );
    place.with("table.csv", table.as_bytes());
}

/// The verdicts of a reproduction document that its schema allows.
#[track_caller]
fn verdicts(document: &Value) -> Vec<String> {
    let schema = linerate_schema_check::REPRODUCE_1;
    assert_eq!(
        linerate_schema_check::validate_against(schema, document),
        Ok(())
    );
    let cells = document["cells"].as_array().unwrap();
    cells
        .iter()
        .map(|one| one["verdict"]["verdict"].as_str().unwrap().to_owned())
        .collect()
}

const JUDGE: [&str; 4] = ["reproduce", "plan.toml", "--published", "table.csv"];

#[test]
fn a_plan_is_measured_and_judged_and_its_stored_study_is_judged_alike() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    study(&place, &server, "");
    let measured = place.run(&[&JUDGE[..], &["--json"]].concat());
    let document: Value = serde_json::from_str(&measured.out).unwrap();
    let judged = verdicts(&document);
    assert!(
        !["not-comparable", "not-measured"].contains(&judged[0].as_str()),
        "{document:#}"
    );
    assert_eq!(judged[2], "not-measured");
    let n = document["cells"][0]["measured"]["n"].as_u64();
    assert!(n.is_some_and(|n| (1..=2).contains(&n)), "{document:#}");
    assert_eq!(document["claims"][0]["measured"]["asked"], 1);
    let id = document["runs"][0].as_str().unwrap();
    let again = place.run(&[&JUDGE[..], &["--runs", id, "--json"]].concat());
    let stored: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((verdicts(&stored), again.code), (judged, measured.code));
    for name in ["a.html", "a.txt", "a.json"] {
        place.run(&[&JUDGE[..], &["--runs", id, "-q", "-o", name]].concat());
        let text = std::fs::read_to_string(place.file(name)).unwrap();
        assert!(text.contains("both are alike"), "{name}");
        let has_study = text.contains("Mean of the runs with its 95 % interval");
        assert_eq!(has_study, name == "a.html", "{name}");
    }
    let text = place.run(&[&JUDGE[..], &["--runs", id]].concat());
    assert!(text.out.starts_with("Of 3 cells "), "{text:?}");
    assert!(
        text.out.contains("no cell of the plan has these levels"),
        "{text:?}"
    );
}

#[test]
fn another_set_up_is_not_comparable_until_it_is_accepted() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    study(&place, &server, "# setup cpu: none that this is\n");
    place.run(&["run", "plan.toml", "-q"]).done();
    let judge = |more: &[&str]| {
        let ended = place.run(&[&JUDGE[..], &["--runs", "last", "--json"], more].concat());
        let document: Value = serde_json::from_str(&ended.out).unwrap();
        (verdicts(&document), document)
    };
    let (judged, document) = judge(&[]);
    assert_eq!(judged[..2], ["not-comparable", "not-comparable"]);
    assert!(
        document["cells"][0]["why"]
            .as_str()
            .unwrap()
            .contains("published none that this is")
    );
    assert_eq!(document["claims"][0]["measured"]["asked"], 1);
    let (judged, document) = judge(&["--accept", "cpu"]);
    assert!(!judged.contains(&"not-comparable".to_owned()), "{judged:?}");
    assert_eq!(document["setup"][0]["bearing"], "accepted");
}

#[test]
fn what_cannot_be_judged_says_why_before_anything_is_measured() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    study(&place, &server, "");
    place.with("bad.csv", b"way,value\nup,x\n");
    let bad = place.run(&["reproduce", "plan.toml", "--published", "bad.csv"]);
    bad.failed(3, &["bad.csv", "line 2"]);
    place
        .run(&["reproduce", "none.toml", "--published", "table.csv"])
        .failed(3, &["none.toml"]);
    place
        .run(&[&JUDGE[..], &["--runs", "none"]].concat())
        .failed(2, &["none"]);
    assert_eq!(place.run(&["reproduce", "plan.toml"]).code, Some(2));
    assert!(place.listed().is_empty());
}

#[test]
fn a_package_is_repeated_at_a_host_that_is_named_and_compared_with() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    study(&place, &server, "");
    place.run(&[&JUDGE[..], &["--package", "answer.tar", "-q"]].concat());
    let host = server.address();
    let again = place.run(&["reproduce", "answer.tar", "--host", host, "--json"]);
    let document: Value = serde_json::from_str(&again.out).unwrap();
    let judged = verdicts(&document);
    assert_eq!(judged.len(), 2, "only what was measured: {document:#}");
    assert!(
        !judged.contains(&"not-comparable".to_owned()),
        "the same machine: {document:#}"
    );
    let facts = document["setup"].as_array().unwrap();
    assert!(
        facts
            .iter()
            .any(|fact| fact["fact"] == "kernel" && fact["bearing"] == "same")
    );
    let unnamed = place.run(&["reproduce", "answer.tar"]);
    unnamed.failed(2, &["answer.tar", "--host HOST"]);
    let listed = place.listed().len();
    for (name, bytes) in [
        (
            "cut.tar",
            &std::fs::read(place.file("answer.tar")).unwrap()[..700],
        ),
        ("none.tar", &[]),
    ] {
        place.with(name, bytes);
        place
            .run(&["reproduce", name, "--host", host])
            .failed(3, &[name, "--package"]);
    }
    assert_eq!(place.listed().len(), listed);
    place
        .run(&[&JUDGE[..], &["--package", "answer.zip"]].concat())
        .failed(2, &[".tar"]);
}
