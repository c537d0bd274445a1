//! The page that explains logs says what the command says: the same words, figures, report and errors.

use crate::harness::{Place, fixture};
use linerate_model::WallTime;
use linerate_site::{Answer, ExplainOptions, Explanation, explain};
use serde_json::Value;
use std::path::PathBuf;

/// A place with these logs, and them as the page gets them.
fn with_logs(logs: &[&str]) -> (Place, Vec<(String, Vec<u8>)>) {
    let place = Place::new();
    let given = logs.iter().map(|log| {
        let path: PathBuf = fixture(log);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read(path).unwrap())
    });
    let given: Vec<_> = given.collect();
    for (name, bytes) in &given {
        place.with(name, bytes);
    }
    (place, given)
}

fn import<'a>(given: &'a [(String, Vec<u8>)], options: &[&'a str]) -> Vec<&'a str> {
    let names = given.iter().map(|(name, _)| name.as_str());
    ["import"]
        .into_iter()
        .chain(options.iter().copied())
        .chain(names)
        .collect()
}

fn explained(given: Vec<(String, Vec<u8>)>, link_speed: &str) -> Explanation {
    let asked = ExplainOptions {
        link_speed: link_speed.to_owned(),
        ..ExplainOptions::default()
    };
    match explain(given, &asked, &WallTime::from_unix(0).unwrap()) {
        Answer::Explained(explained) => *explained,
        Answer::Refused { error } => panic!("{error}"),
    }
}

/// Without when it was made.
fn undated(report: &str) -> String {
    let (before, rest) = report.split_once("<time>").unwrap();
    let (_, after) = rest.split_once("</time>").unwrap();
    format!("{before}{after}")
}

#[track_caller]
fn says_the_same(logs: &[&str], link_speed: &str) {
    let (place, given) = with_logs(logs);
    let option = ["--link-speed", link_speed];
    let option = if link_speed.is_empty() {
        &[][..]
    } else {
        &option
    };
    let printed = place.run(&import(&given, option));
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let json = [option, &["--json", "-o", "report.html"]].concat();
    // A store that has the logs already takes them no second time.
    let (other, _) = with_logs(logs);
    let document = other.run(&import(&given, &json));
    let report = std::fs::read_to_string(other.file("report.html")).unwrap();

    let page = explained(given, link_speed);
    let document: Value = serde_json::from_str(&document.out).unwrap();
    let shown: Value = serde_json::from_str(&page.document).unwrap();
    assert_eq!(shown, document);
    assert!(
        undated(&page.report) == undated(&report),
        "the reports differ"
    );
    assert_eq!(page.left_out, [""; 0]);
    for note in &page.notes {
        assert!(
            printed.err.contains(note),
            "{note} is not in {}",
            printed.err
        );
    }
    // One run is followed by where it is.
    let more = if page.runs == 1 { 3 } else { 0 };
    let lines: Vec<_> = printed.out.trim_end().lines().collect();
    let words = unwrapped(&page.words);
    for line in &lines[..lines.len() - more] {
        assert!(words.contains(&unwrapped(line)), "{line} is not in {words}");
    }
}

/// A pipe gets whole lines, the page those of 80 columns.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_load_curve_of_both_ends() {
    let logs = [
        "udp/board-receives/128M.client.log",
        "udp/board-receives/256M.client.log",
        "udp/board-receives/256M.server.log",
        "udp/board-receives/1000M.client.log",
        "udp/board-receives/1000M.server.log",
    ];
    says_the_same(&logs, "");
    says_the_same(&logs, "1G");
}

#[test]
fn several_runs_of_several_formats() {
    says_the_same(
        &[
            "tcp/board-receives.client.log",
            "tcp/board-sends.client.log",
            "tcp/iperf2-board-sends-link100.client.log",
        ],
        "",
    );
}

#[test]
fn what_is_refused_is_refused_in_the_same_words() {
    let (place, given) = with_logs(&["tcp/board-receives.client.log"]);
    let whole = &given[0].1;
    for (name, bytes) in [
        ("cut.log", &whole[..whole.len() / 2]),
        ("empty.log", &b""[..]),
        ("letter.txt", &b"Dear reader,\n"[..]),
        ("program", &b"\x7fELF\x02\x01\x01\0\0\0"[..]),
    ] {
        place.with(name, bytes);
        let ended = place.run(&["import", name]);
        let page = explain(
            vec![(name.to_owned(), bytes.to_vec())],
            &ExplainOptions::default(),
            &WallTime::from_unix(0).unwrap(),
        );
        let Answer::Refused { error } = page else {
            panic!("{name} is explained");
        };
        assert!(
            ended.err.contains(&error),
            "{error} is not in {}",
            ended.err
        );
    }
}
