//! The same test once more: in a file, in a log that grew, and told something else.

use super::{changes, read};
use linerate_model::BitRate;
use linerate_model::run::Run;
use linerate_store::import::{Hints, ImportError, Imported, import, import_with};

fn ids(runs: &[Run]) -> Vec<&str> {
    runs.iter().map(|run| run.id.as_str()).collect()
}

fn text(name: &str, text: &str) -> Imported {
    import(&[(name.to_owned(), text.as_bytes().to_vec())]).unwrap()
}

/// CSV without intervals: the line that comes again is what iperf 2 prints of a test of a single interval.
const UNNAMED: &[&str] = &["csv.server", "csvP."];

#[test]
fn a_log_that_stands_twice_in_a_file_is_one_log() {
    let mut wrong = Vec::new();
    for (name, bytes) in changes::logs() {
        let Ok(whole) = String::from_utf8(bytes) else {
            continue;
        };
        // Some fixtures are of two tests that are mixed.
        let Ok(once) = import(&[(name.clone(), whole.clone().into_bytes())]) else {
            continue;
        };
        let both = format!("{}\n{whole}", whole.trim_end_matches('\n'));
        let twice = match import(&[(name.clone(), both.into_bytes())]) {
            // What stands between two screens is of no pane, or of all.
            Err(ImportError::Panes { .. }) => continue,
            twice => twice.unwrap(),
        };
        let is_named = twice
            .warnings
            .iter()
            .any(|said| said.contains("given twice"));
        let is_exempt = UNNAMED.iter().any(|exempt| name.contains(exempt));
        if ids(&once.runs) != ids(&twice.runs) || !(is_named || is_exempt) {
            wrong.push(format!(
                "{name}: {:?} are {:?}, named: {is_named}",
                ids(&once.runs),
                ids(&twice.runs)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} are: {wrong:#?}", wrong.len());
}

/// A server's log that grew has the test under the name that it had before.
#[test]
fn a_test_has_one_name_whatever_follows_it() {
    for name in [
        "formats/iperf3-3.1.3-tcp.server.txt",
        "formats/iperf2-2.1.8-rev.server.txt",
        "formats/iperf2-2.1.8-rev.client.txt",
    ] {
        let whole = String::from_utf8(read(name).1).unwrap();
        let before = text(name, &whole);
        let grown =
            format!("{whole}-----------------------------------------------------------\n\n");
        assert_eq!(ids(&before.runs), ids(&text(name, &grown).runs), "{name}");
    }
}

fn with_speed(name: &str, bps: u64) -> Run {
    let hints = Hints {
        link_speed: Some(BitRate::from_bps(bps)),
        ..Hints::default()
    };
    let mut imported = import_with(&[read(name)], &hints).unwrap();
    imported.runs.remove(0)
}

#[test]
fn another_link_speed_is_another_run_since_its_verdict_is_another() {
    const NAME: &str = "formats/iperf3-3.1.3-tcp.client.txt";
    let [fast, again, faster] =
        [100_000_000_000, 100_000_000_000, 400_000_000_000].map(|speed| with_speed(NAME, speed));
    assert_eq!(fast.id, again.id);
    assert_ne!(fast.id, faster.id);
    let plain = import(&[read(NAME)]).unwrap();
    assert_ne!(fast.id, plain.runs[0].id);
    assert_eq!(
        fast.config.link_speed.map(BitRate::bps),
        Some(100_000_000_000)
    );
}

#[test]
fn a_link_speed_below_what_arrived_is_not_used_and_said() {
    let name = "formats/iperf3-3.1.3-tcp.client.txt";
    let run = with_speed(name, 1_000_000);
    assert_eq!(run.config.link_speed, None);
    let said = run.doubts.iter().find(|note| note.contains("is not used"));
    assert!(
        said.is_some_and(|said| said.contains("1 Mbit/s")),
        "{:?}",
        run.doubts
    );
    assert_eq!(run.id, import(&[read(name)]).unwrap().runs[0].id);
}
