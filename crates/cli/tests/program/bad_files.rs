//! Logs that are not what they should be: they are named, and nothing of them is stored.

use crate::harness::{Place, fixture, good_log};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Imports `log` alone and beside a good one: it is refused with code 3, and only the good one is stored.
#[track_caller]
fn is_refused(log: &[u8], words: &[&str]) {
    let place = Place::new();
    place.with("a.log", log);
    let ended = place.run(&["import", "a.log"]);
    ended.failed(3, &[&["cannot import", "a.log"], words].concat());
    assert_eq!(ended.out, "");
    place.is_sound_with(0);
    let place = Place::new();
    place.with("a.log", log);
    let good = good_log();
    let ended = place.run(&["import", good.to_str().unwrap(), "a.log"]);
    ended.failed(3, &[&["left out: a.log"], words].concat());
    assert!(ended.out.contains("Mbit/s"), "{}", ended.out);
    assert_eq!(place.listed().len(), 1);
}

#[test]
fn a_log_cut_in_the_middle() {
    let whole = std::fs::read(good_log()).unwrap();
    is_refused(
        &whole[..whole.len() / 2],
        &["cut off", "line", "give the whole log"],
    );
}

#[test]
fn an_empty_log() {
    is_refused(b"", &["empty", "give a log"]);
}

#[test]
fn a_binary_file() {
    is_refused(
        b"\x7fELF\x02\x01\x01\0\0\0",
        &["not a text log", "give the tool's own text output"],
    );
}

#[test]
fn a_text_that_is_no_log() {
    is_refused(
        b"Dear reader,\n",
        &["Dear reader", "it imports: ", "iperf3"],
    );
}

#[test]
fn a_log_that_is_not_there_and_a_folder_without_one() {
    let place = Place::new();
    let ended = place.run(&["import", "missing.log"]);
    ended.failed(3, &["cannot read", "missing.log", "check the path"]);
    std::fs::create_dir(place.file("empty")).unwrap();
    place
        .run(&["import", "empty"])
        .failed(3, &["empty", "no file"]);
    place
        .run(&["import", "missing.log", "empty"])
        .failed(3, &["missing.log", "empty has no file"]);
    place.is_sound_with(0);
    for (bad, said) in [
        ("missing.log", "left out: cannot read missing.log"),
        ("empty", "left out: empty has no file"),
    ] {
        let place = Place::new();
        std::fs::create_dir(place.file("empty")).unwrap();
        let ended = place.run(&["import", bad, good_log().to_str().unwrap()]);
        ended.failed(3, &[said]);
        assert!(ended.out.contains("Mbit/s"), "{}", ended.out);
        assert_eq!(place.listed().len(), 1);
    }
}

#[test]
fn a_line_longer_than_any_tool_prints() {
    is_refused(
        &b"word ".repeat(300_000),
        &["line 1", "1 MiB", "give the tool's own text output"],
    );
}

#[test]
fn a_folder_that_was_imported_before_and_grew() {
    let place = Place::new();
    std::fs::create_dir(place.file("logs")).unwrap();
    let copy = |from: PathBuf, name: &str| {
        std::fs::copy(from, place.file("logs").join(name)).unwrap();
    };
    copy(good_log(), "first.log");
    place.run(&["import", "logs"]).done();
    copy(fixture("tcp/board-receives.client.log"), "second.log");
    let ended = place.run(&["import", "logs"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let known: Vec<_> = ended
        .err
        .lines()
        .filter(|line| line.contains("in the store already"))
        .collect();
    assert!(
        matches!(&known[..], [line] if line.contains("logs/first.log")),
        "{}",
        ended.err
    );
    assert_eq!(place.listed().len(), 2);
    // A third time there is nothing new, and the results are shown as before.
    let again = place.run(&["import", "logs"]);
    assert_eq!((again.code, again.out), (Some(0), ended.out));
    assert_eq!(again.err.matches("in the store already").count(), 2);
    assert_eq!(place.listed().len(), 2);
}

/// A folder of many logs of several tools, a tenth of them damaged in different ways: every good one is stored, every
/// bad one named.
#[test]
fn a_folder_of_a_thousand_logs() {
    const COUNT: usize = 1000;
    let place = Place::new();
    std::fs::create_dir(place.file("logs")).unwrap();
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures/formats");
    let names = [
        "sockperf-3.7-pp.txt",
        "iperf3-3.1.3-tcp.client.txt",
        "iperf2-2.1.8-rev.client.txt",
    ];
    let texts = names.map(|name| std::fs::read_to_string(formats.join(name)).unwrap());
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for number in 0..COUNT {
        // Another address is another test.
        let text = &texts[number % texts.len()];
        let address = format!("127.1.{}.{}", number / 250, number % 250 + 1);
        let text = text.replace("127.0.0.1", &address);
        let text = text.replace(
            "SentMessages=15819;",
            &format!("SentMessages={};", 15_819 + number),
        );
        let name = format!("{number:04}.log");
        let bytes = match number % 30 {
            7 => text.as_bytes()[..text.len() / 2].to_vec(),
            17 => Vec::new(),
            27 => [text.as_bytes(), b"\0\x01\x02"].concat(),
            _ => text.into_bytes(),
        };
        std::fs::write(place.file("logs").join(&name), bytes).unwrap();
        if number % 10 == 7 {
            &mut bad
        } else {
            &mut good
        }
        .push(name);
    }
    let ended = place.run(&["import", "logs"]);
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    for name in &bad {
        assert!(ended.err.contains(name), "{name} is not named");
    }
    let stored = place.run(&["list", "--json", "-n", "10000"]).done();
    for name in &good {
        let refused = ended.err.contains(&format!("left out: logs/{name}"));
        assert!(!refused, "{name}: {}", ended.err);
    }
    let stored: Vec<Value> = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored.len(), good.len());
}

#[test]
fn a_document_of_another_version_and_a_damaged_one() {
    let place = Place::new();
    place.with("later.json", br#"{"schema": "linerate/run/3"}"#);
    place.with("torn.json", br#"{"schema": "linerate/run/2", "id": "#);
    let later = place.run(&["show", "./later.json"]);
    later.failed(2, &["later.json", "linerate/run/3", "use the version"]);
    let torn = place.run(&["report", "./torn.json"]);
    torn.failed(2, &["torn.json", "damaged", "line 1"]);
}

#[test]
fn a_damaged_run_does_not_hide_the_others() {
    let place = Place::new();
    place.run(&["import", good_log().to_str().unwrap()]).done();
    std::fs::create_dir(place.store().join("broken-run")).unwrap();
    std::fs::write(place.store().join("broken-run/run.json"), "{").unwrap();
    let listed = place.listed();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().any(|run| run["broken"].is_string()));
    assert!(listed.iter().any(|run| run["status"] == "complete"));
}

#[test]
fn what_a_document_holds_commands_no_terminal() {
    let place = Place::new();
    place.run(&["import", good_log().to_str().unwrap()]).done();
    let id = place.listed()[0]["id"].as_str().unwrap().to_owned();
    let path = place.store().join(&id).join("run.json");
    let whole = std::fs::read_to_string(&path).unwrap();
    // The reader's own message repeats a word that it does not know.
    let spoilt = whole.replacen("\"kind\":\"tcp\"", "\"kind\":\"\\u001b[2J\\u009b31m\"", 1);
    assert_ne!(whole, spoilt);
    std::fs::write(&path, spoilt).unwrap();
    let listed = place.run(&["list"]).done();
    let shown = place.run(&["show", &id]);
    shown.failed(2, &["unknown variant", "\u{fffd}[2J\u{fffd}31m"]);
    for text in [&listed, &shown.err] {
        assert!(text.contains("unknown variant"), "{text}");
        let commands = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(commands), "{text:?}");
    }
}
