//! `linerate compare`: verdicts and exit codes, what is paired, and what cannot be read.

use crate::harness::{Ended, Place, Server, good_log, published};
use serde_json::{Value, json};
use std::path::Path;

/// Runs `compare` and gives its document, which its schema allows.
#[track_caller]
fn compared(place: &Place, args: &[&str], code: i32) -> Value {
    let ended = place.run(&[&["compare", "--json"], args].concat());
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(code), ""),
        "{}",
        ended.out
    );
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        linerate_schema_check::validate_comparison(&document),
        Ok(())
    );
    document
}

/// A run document whose trials received at these rates.
fn rates(place: &Place, name: &str, all: &[u64]) -> String {
    place.run(&["import", good_log().to_str().unwrap()]);
    let mut run: Value =
        serde_json::from_str(&place.run(&["show", "last", "--json"]).done()).unwrap();
    let trial = run["trials"][0].clone();
    let trials = all.iter().map(|bps| {
        let mut trial = trial.clone();
        trial["received_bps"] = json!(bps);
        trial["rounding"] = json!({});
        trial
    });
    run["trials"] = trials.collect();
    place.with(name, run.to_string().as_bytes());
    format!("./{name}")
}

fn metric<'a>(document: &'a Value, id: &str) -> &'a Value {
    let metrics = document["pairs"][0]["metrics"].as_array().unwrap();
    metrics
        .iter()
        .find(|metric| metric["metric"] == id)
        .unwrap()
}

/// As an accelerated stack is measured: the same command, and the same under what preloads it.
#[test]
fn what_was_preloaded_stands_side_by_side() {
    let (place, server) = (Place::new(), Server::on("127.0.0.1"));
    let args = [
        "tcp",
        server.address(),
        "-t",
        "200ms",
        "--diagnose",
        "0s",
        "--json",
    ];
    let plain = place.run(&args).document();
    let mut command = place.command(&args);
    command.env("LD_PRELOAD", "libm.so.6");
    let under = Ended::spawn(command.env("EF_POLL_USEC", "100000")).document();
    let runs = [&plain, &under].map(|run| run["id"].as_str().unwrap().to_owned());
    let ended = place.run(&["compare", "--json", &runs[0], &runs[1]]);
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    let all = document["machines"]["differences"].as_array().unwrap();
    let found: Vec<_> = all
        .iter()
        .filter(|difference| difference["what"] == "preloaded")
        .collect();
    // The server was started as before.
    assert_eq!(found.len(), 1, "{document}");
    assert_eq!(
        (&found[0]["role"], &found[0]["a"]),
        (&json!("client"), &json!("nothing"))
    );
    assert_eq!(found[0]["b"], "libm.so.6, EF_POLL_USEC=100000");
    assert_eq!(document["machines"]["same"], "same");
}

#[test]
fn a_regression_has_an_exit_code_and_a_gain_has_none() {
    let place = Place::new();
    let fast = rates(&place, "fast.json", &[100_000_000, 101_000_000, 99_000_000]);
    let slow = rates(&place, "slow.json", &[90_000_000, 91_000_000, 89_000_000]);
    let worse = compared(&place, &[&fast, &slow], 7);
    assert_eq!(worse["regression"], true);
    assert_eq!(metric(&worse, "received_bps")["verdict"], "slower");
    let better = compared(&place, &[&slow, &fast], 0);
    assert_eq!(metric(&better, "received_bps")["verdict"], "faster");
    // Three repetitions of 1 % scatter show 5 % in four of five cases, and 3 % in fewer.
    compared(&place, &[&fast, &fast], 0);
    let same = compared(&place, &[&fast, &fast, "--sensitivity", "3%"], 8);
    let rate = metric(&same, "received_bps");
    assert_eq!(
        (&rate["verdict"], &rate["decides"]),
        (&json!("no-difference-shown"), &json!(true))
    );
    assert!(rate["power"]["repetitions"].as_u64() > Some(3), "{rate}");
    // Nothing below a fifth matters here.
    let patient = compared(&place, &[&fast, &slow, "--threshold", "20%"], 0);
    let rate = metric(&patient, "received_bps");
    assert_eq!(rate["verdict"], "no-difference-shown");
    assert_eq!(rate["within_threshold"], true);
    let text = place.run(&["compare", &fast, &slow]);
    assert_eq!(text.code, Some(7));
    assert!(
        text.out.starts_with("Regression: received, L4 payload"),
        "{}",
        text.out
    );
    assert!(text.out.contains("slower"), "{}", text.out);
}

#[test]
fn a_pull_request_gets_markdown() {
    let place = Place::new();
    let fast = rates(&place, "fast.json", &[100_000_000, 101_000_000, 99_000_000]);
    let slow = rates(&place, "slow.json", &[90_000_000, 91_000_000, 89_000_000]);
    let ended = place.run(&["compare", &fast, &slow, "-o", "diff.md", "-q"]);
    assert_eq!(ended.code, Some(7), "{ended:?}");
    let text = std::fs::read_to_string(place.file("diff.md")).unwrap();
    assert!(text.starts_with("### ❌ Regression: "), "{text}");
    assert!(text.contains("| A | B |"), "{text}");
}

/// What one trial on each side cannot show is not called the same.
#[test]
fn a_third_less_at_n_1_cannot_be_told() {
    let place = Place::new();
    let base = rates(&place, "base.json", &[100_000_000]);
    let third = rates(&place, "third.json", &[67_000_000]);
    let document = compared(&place, &[&base, &third, "--metric", "received_bps"], 8);
    assert_eq!(document["answer"], "cannot-tell");
    let rate = metric(&document, "received_bps");
    let why = rate["why"].as_str().unwrap();
    assert!(
        why.contains("n = 1 on both sides cannot show less than "),
        "{why}"
    );
    assert!(why.contains(" repetitions would show 5 %"), "{why}");
    let ended = place.run(&["compare", &base, &third, "--metric", "received_bps"]);
    assert_eq!(ended.code, Some(8));
    assert!(
        ended
            .out
            .starts_with("Cannot tell whether B is worse: received"),
        "{}",
        ended.out
    );
}

#[test]
fn both_sides_are_measured_in_turns_with_a_control() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let side = |rate: &str| {
        format!(
            "udp {} --rate {rate} -t 100ms --diagnose 0s",
            server.address()
        )
    };
    let (a, b) = (side("2M"), side("2M"));
    let args = [
        "compare",
        "--interleave",
        &a,
        &b,
        "--repetitions",
        "3",
        "--json",
        "--metric",
        "loss",
    ];
    let ended = place.run(&args);
    // A busy machine may lose datagrams, which has a code of its own.
    assert!(matches!(ended.code, Some(0 | 7 | 8)), "{ended:?}");
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        linerate_schema_check::validate_comparison(&document),
        Ok(())
    );
    assert_eq!(document["control"]["repetitions"], 3);
    assert_eq!(document["pairs"][0]["metrics"][0]["a"]["n"], 3);
    assert_eq!(document["a"]["name"], a.as_str());
    let study = place.run(&["export", "last"]).document();
    assert_eq!(study["kind"], "study");
    let cells: Vec<_> = study["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| &part["config"]["place"]["cell"])
        .collect();
    for cell in ["A", "A again", "B"] {
        assert_eq!(
            cells.iter().filter(|one| **one == cell).count(),
            3,
            "{cells:?}"
        );
    }
    place
        .run(&["compare", "--interleave", "list", &b])
        .failed(2, &["not a command line of linerate that measures"]);
    let gone = "udp 127.0.0.1:1 --rate 1M -t 100ms";
    place
        .run(&["compare", "--interleave", gone, gone])
        .failed(5, &["failed", "127.0.0.1:1"]);
}

#[test]
fn one_trial_on_a_side_is_never_a_regression() {
    // Which is not the same as none.
    let place = Place::new();
    let one = rates(&place, "one.json", &[100_000_000]);
    let tenth = rates(&place, "tenth.json", &[10_000_000]);
    let document = compared(&place, &[&one, &tenth], 8);
    let rate = metric(&document, "received_bps");
    assert_eq!(rate["verdict"], "no-difference-shown");
    assert!(rate["why"].as_str().unwrap().contains("n = 1"));
    assert_eq!(document["tested"], 0);
}

/// The published table with every time taken four fifths.
fn faster_table(place: &Place) -> String {
    let text = std::fs::read_to_string(published("udp.txt")).unwrap();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some([size, times @ .., count]) if times.len() == 6 => {
                let times = times.iter().map(|ns| (ns * 4 / 5).to_string());
                let times: Vec<_> = times.collect();
                format!("\t{size}\t{}\t{count}", times.join("\t"))
            }
            _ => line.to_owned(),
        }
    });
    let lines: Vec<String> = lines.collect();
    place.with("faster.txt", (lines.join("\n") + "\n").as_bytes());
    "faster.txt".to_owned()
}

#[test]
fn two_published_tables_side_by_side() {
    let place = Place::new();
    let faster = faster_table(&place);
    std::fs::copy(published("udp.txt"), place.file("udp.txt")).unwrap();
    let ended = place.run(&["compare", "udp.txt", &faster]);
    // A table has one value of each: what it is faster by is seen, and no regression is excluded.
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(8), ""),
        "{}",
        ended.out
    );
    insta::assert_snapshot!("compare-tables", ended.out);
    assert!(place.listed().is_empty(), "nothing is stored");
}

#[test]
fn a_live_run_against_a_published_table() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let sizes = ["--sizes", "32,64,128", "-t", "100ms", "--wait", "block"];
    place
        .run(&[&["latency", server.address(), "-q"], &sizes[..]].concat())
        .done();
    let table = published("udp.txt");
    let table = table.to_str().unwrap();
    let document = compared(&place, &[table, "last"], 8);
    let pairs = document["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3);
    for pair in pairs {
        assert_eq!(pair["metrics"][0]["metric"], "half_round_trip_p50_ns");
        assert!(pair["metrics"][0]["ratio"]["point"].as_f64() > Some(0.0));
        assert_eq!(pair["metrics"][0]["verdict"], "no-difference-shown");
        assert!(pair["assumed"][0].as_str().unwrap().contains("block, idle"));
    }
    assert_eq!(document["unpaired"].as_array().unwrap().len(), 16);
    assert_ne!(document["machines"]["same"], "same");
    let note = document["notes"][0].as_str().unwrap();
    assert!(note.contains("not comparable in absolute terms"), "{note}");
    for file in ["c.html", "c.csv", "c.txt", "c.json", "c.xml"] {
        let ended = place.run(&["compare", table, "last", "-o", file]);
        assert_eq!(ended.err, format!("note: the comparison is in {file}\n"));
    }
    let read = |name: &str| std::fs::read_to_string(place.file(name)).unwrap();
    let html = read("c.html");
    assert!(
        html.starts_with("<!DOCTYPE html>") && html.contains("not comparable in absolute terms")
    );
    assert!(html.contains("By message size: half round trip, p50"));
    assert_eq!(
        read("c.csv").lines().count(),
        1 + 3 * 2,
        "p50 and p99 of three sizes"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&read("c.json")).unwrap(),
        document
    );
}

#[test]
fn what_cannot_be_compared_says_why() {
    let place = Place::new();
    place.run(&["import", good_log().to_str().unwrap()]).done();
    place.with("binary.log", b"\x7fELF\x02\x01\x01\0\0\0");
    place.with("torn.json", br#"{"schema": "linerate/run/2", "id": "#);
    place.with("later.json", br#"{"schema": "linerate/run/9"}"#);
    let table = published("udp.txt");
    let table = table.to_str().unwrap();
    let both = [
        std::fs::read(published("udp.txt")).unwrap(),
        std::fs::read(published("tcp.txt")).unwrap(),
    ];
    place.with("both.txt", &both.concat());
    let cases: [(&[&str], i32, &[&str]); 10] = [
        (&["last", "nothing"], 2, &["nothing"]),
        (&["missing.log", "last"], 2, &["missing.log"]),
        (
            &["last", "binary.log"],
            3,
            &["binary.log", "not a text log"],
        ),
        (&["last", "./torn.json"], 2, &["torn.json", "damaged"]),
        (
            &["last", "./later.json"],
            2,
            &["later.json", "linerate/run/9"],
        ),
        (&["last", "both.txt"], 2, &["both.txt", "2 runs", "import"]),
        (&["last", table], 2, &["nothing in common", "kind latency"]),
        (
            &["last", "last", "--metric", "speed"],
            2,
            &["speed", "received_bps"],
        ),
        (&["last", "last", "-o", "x.pdf"], 2, &["x.pdf", ".html"]),
        (
            &["last", "last", "-o", "no/x.html"],
            2,
            &["no/x.html", "no directory"],
        ),
    ];
    for (arguments, code, words) in cases {
        let ended = place.run(&[&["compare"], arguments].concat());
        ended.failed(code, words);
        assert_eq!(ended.out, "");
    }
    for wrong in ["x", "-1", "200%"] {
        let option = format!("--threshold={wrong}");
        let ended = place.run(&["compare", "last", "last", &option]);
        assert_eq!(ended.code, Some(2), "{wrong}: {ended:?}");
    }
    assert_eq!(place.run(&["compare", "last"]).code, Some(2));
}

#[test]
fn files_are_compared_without_a_store() {
    let place = Place::new();
    let table = published("tcp.txt");
    let table = table.to_str().unwrap();
    let mut command = crate::harness::linerate();
    command
        .args(["compare", table, table, "--no-store"])
        .current_dir(place.file("."));
    let ended = Ended::spawn(&mut command);
    assert_eq!((ended.code, ended.err.as_str()), (Some(8), ""));
    assert!(ended.out.contains("65536 B"), "{}", ended.out);
}

#[test]
fn whole_distributions_go_out_and_come_back() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    place
        .run(&[
            "latency",
            server.address(),
            "-q",
            "--sizes",
            "32,64",
            "-t",
            "50ms",
        ])
        .done();
    let run: Value = serde_json::from_str(&place.run(&["show", "last", "--json"]).done()).unwrap();
    place
        .run(&[
            "export", "last", "--format", "hgrm", "--trial", "1", "-o", "one.hgrm",
        ])
        .done();
    place
        .run(&["report", "last", "-q", "-o", "all.hgrm"])
        .done();
    let each: Vec<_> = ["all-0-32-b-block-idle.hgrm", "all-1-64-b-block-idle.hgrm"]
        .iter()
        .map(|name| std::fs::read_to_string(place.file(name)).unwrap())
        .collect();
    assert_eq!(
        each[1],
        std::fs::read_to_string(place.file("one.hgrm")).unwrap()
    );
    let back = place.run(&["import", "one.hgrm", "--json", "--no-store"]);
    let mut command = crate::harness::linerate();
    command
        .args(["import", "one.hgrm", "--json", "--no-store"])
        .current_dir(place.file("."));
    assert_eq!(back.code, Some(2), "--store and --no-store");
    let back = Ended::spawn(&mut command).document();
    let (sent, got) = (&run["trials"][1]["delay"], &back["trials"][0]["delay"]);
    for key in ["of", "histogram", "count"] {
        assert_eq!(sent[key], got[key], "{key}");
    }
    // Of few messages a quantile may be the longest one, which the text knows by its bucket only.
    for key in ["p50_ns", "p99_ns"] {
        let (sent, got) = (sent[key].as_f64().unwrap(), got[key].as_f64().unwrap());
        assert!((got / sent - 1.0).abs() < 0.001, "{key}: {sent} {got}");
    }
    assert_eq!(back["trials"][0]["payload_bytes"], 64);
    assert_eq!(back["trials"][0]["transport"], "udp");
    let none = place.run(&["export", "last", "--format", "hgrm", "--trial", "9"]);
    none.failed(2, &["no trial 9"]);
    let foreign = each[0].replace("# unit: ns\n", "");
    place.with("foreign.hgrm", foreign.as_bytes());
    place
        .run(&["import", "foreign.hgrm"])
        .failed(3, &["foreign.hgrm", "--hgrm tcp:ms"]);
    place
        .run(&["import", "foreign.hgrm", "--hgrm", "udp:us"])
        .done();
    assert!(Path::new(&place.store()).exists());
}

#[test]
fn a_closed_loop_ends_by_number_and_lists_the_quantiles_asked_for() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let measured = |args: &[&str]| {
        let all = [&["latency", server.address(), "--json"], args].concat();
        place.run(&all).document()
    };
    let most = [
        "--iterations",
        "..50",
        "--warm-up-iterations",
        "20",
        "--percentile",
        "90,99.99",
    ];
    let run = measured(&most);
    let delay = &run["trials"][0]["delay"];
    assert_eq!(delay["count"], 50);
    assert_eq!(run["status"], "complete", "{}", run["trials"][0]["reasons"]);
    let listed: Vec<_> = delay["quantiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|q| &q["quantile_ratio"])
        .collect();
    assert_eq!(listed, [&json!(0.9), &json!(0.9999)]);
    let moments = &run["trials"][0]["raw"][0]["streams"][0]["rtt_moments"];
    assert_eq!(moments["mean_ns"], delay["mean_ns"]);
    assert_eq!(moments["max_ns"], delay["max_ns"]);
    let run = measured(&["-t", "1ms", "--warm-up", "0s", "--iterations", "400.."]);
    assert!(run["trials"][0]["delay"]["count"].as_u64() >= Some(400));
    let text = place.run(&[
        "latency",
        server.address(),
        "-q",
        "--sizes",
        "sfnt",
        "-t",
        "20ms",
        "--warm-up",
        "0s",
    ]);
    for row in [
        "  0 B, block, idle",
        "  1473 B, block, idle",
        "  32768 B, block, idle",
        "stddev",
        "RTT p50",
    ] {
        assert!(text.out.contains(row), "{row} is not in {}", text.out);
    }
    for wrong in [
        ["--iterations", "9..1"],
        ["--percentile", "100"],
        ["--sizes", "sfntx"],
    ] {
        let ended = place.run(&[&["latency", server.address()], &wrong[..]].concat());
        assert_eq!(ended.code, Some(2), "{wrong:?}");
    }
}
