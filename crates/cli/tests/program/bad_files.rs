//! Logs that are not what they should be: they are named, and nothing of them is stored.

use crate::harness::{Place, fixture, good_log};

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
    ended.failed(3, &["cannot read", "missing.log", "give a log file"]);
    std::fs::create_dir(place.file("empty")).unwrap();
    place
        .run(&["import", "empty"])
        .failed(3, &["empty", "no file"]);
    place.is_sound_with(0);
}

#[test]
fn a_log_that_was_imported_before() {
    let place = Place::new();
    let (first, second) = (good_log(), fixture("tcp/board-receives.client.log"));
    let (first, second) = (first.to_str().unwrap(), second.to_str().unwrap());
    place.run(&["import", first]).done();
    let ended = place.run(&["import", second, first]);
    ended.failed(1, &["already in the store", "remove that directory"]);
    assert_eq!(place.listed().len(), 1, "none of two, or both");
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
