//! iperf3: its receivers see gaps in the numbers only, so what is lost at the end is known to a linerate that knows
//! what was sent.

use crate::bench::{Bench, DROPPED, Drops, PAYLOAD, RATE, SENT, assert_lost, datagrams};
use crate::search;
use linerate_model::spec::{Direction, Stop, TestSpec};
use linerate_testbed::{HostId, LinkConfig};
use serde_json::Value;
use std::time::Duration;

const IPERF3: &str = "iperf3";

pub(crate) fn server() {
    let bench = Bench::lossy(Drops::AndAllAfter);
    let theirs = bench.program(HostId::B, IPERF3, &["-s", "-1", "--forceflush"]);
    theirs.wait_for("listening");
    let url = format!("iperf3://{}", bench.far());
    let ours = bench.packets(&url, datagrams(Direction::Forward));
    let truth = bench.truth(Direction::Forward);
    assert_eq!((truth.sent, truth.dropped), (SENT, DROPPED));
    assert_lost(ours, truth.sent, truth.dropped);
    let said = receivers_line(&theirs.output());
    assert_eq!(said, (truth.shown, SENT - 10));
    bench.close();
}

pub(crate) fn server_that_sends() {
    let bench = Bench::lossy(Drops::AndAllAfter);
    let theirs = bench.program(HostId::B, IPERF3, &["-s", "-1", "--forceflush"]);
    theirs.wait_for("listening");
    let url = format!("iperf3://{}", bench.far());
    let ours = bench.packets(&url, datagrams(Direction::Reverse));
    let truth = bench.truth(Direction::Reverse);
    assert!(truth.dropped > truth.shown, "{truth:?}");
    assert_lost(ours, truth.sent, truth.dropped);
    bench.close();
}

pub(crate) fn client() {
    let bench = Bench::lossy(Drops::AndAllAfter);
    let count = SENT.to_string();
    let end = their_test(&bench, &["-k", &count]);
    let truth = bench.truth(Direction::Forward);
    let of = |key: &str| end["sum_received"][key].as_u64();
    assert_eq!((truth.sent, truth.dropped), (SENT, DROPPED));
    assert_eq!(of("lost_packets"), Some(truth.dropped), "{end}");
    assert_eq!(of("packets"), Some(truth.sent), "{end}");
    bench.close();
}

pub(crate) fn client_that_receives() {
    let bench = Bench::lossy(Drops::AndAllAfter);
    let end = their_test(&bench, &["-R", "-t", "3"]);
    let truth = bench.truth(Direction::Reverse);
    let of = |sum: &str, key: &str| end[sum][key].as_u64();
    assert!(truth.dropped > truth.shown, "{truth:?}");
    assert_eq!(
        of("sum_received", "lost_packets"),
        Some(truth.shown),
        "{end}"
    );
    assert_eq!(of("sum_sent", "packets"), Some(truth.sent), "{end}");
    bench.close();
}

/// iperf3 does not tell how long its receiver took, so what the queue holds at the end of a trial passes for
/// carried: the bounds hold the link's rate and at most a queue per trial more.
pub(crate) fn search() {
    let bench = search::narrow();
    let theirs = bench.program(HostId::B, IPERF3, &["-s", "--forceflush"]);
    theirs.wait_for("listening");
    let run = search::capacity(&bench, "iperf3");
    assert!(run.notes.iter().any(|note| note.contains("does not tell")));
    drop(theirs);
    bench.close();
}

/// Its receiver's intervals are in its own output, the other way's are linerate's.
pub(crate) fn outage() {
    let bench = Bench::over(LinkConfig::default());
    let theirs = bench.program(HostId::B, IPERF3, &["-s", "-1", "--forceflush"]);
    theirs.wait_for("listening");
    let url = format!("iperf3://{}", bench.far());
    let spec = TestSpec {
        stop: Stop::After(Duration::from_secs(8)),
        ..datagrams(Direction::Duplex)
    };
    let run = bench.with_outage(&url, spec);
    for trial in &run.trials {
        let notes: Vec<&String> = trial
            .reasons
            .iter()
            .filter(|reason| reason.starts_with("nothing arrived from "))
            .collect();
        assert_eq!(notes.len(), 1, "{:?}", trial.reasons);
        let numbers = notes[0]
            .split_whitespace()
            .filter_map(|word| word.parse().ok());
        let numbers: Vec<f64> = numbers.collect();
        let [from, to, lost] = numbers[..] else {
            panic!("{notes:?}");
        };
        // On a busy host its rate may not be steady enough to tell more than which intervals were empty.
        let least = if notes[0].contains("at least") {
            0.3
        } else {
            0.95
        };
        let length = (to - from) / 3.0;
        assert!(from > 0.5 && to < 7.0, "{notes:?}");
        assert!((least..1.15).contains(&length), "{notes:?}");
        // The link loses nothing else.
        let all = trial.packets().unwrap().lost.unwrap().as_f64();
        let share = lost / all;
        assert!(
            all > 600.0 && (least..=1.0).contains(&share),
            "{notes:?}, {all}"
        );
    }
    assert_eq!(run.trials.len(), 2);
    let verdict = run.verdict.as_ref().unwrap();
    assert_eq!(verdict.limit.id(), "outage", "{verdict:?}");
    bench.close();
}

/// What a stock client's JSON says at the end of a UDP test with our server.
fn their_test(bench: &Bench, options: &[&str]) -> Value {
    let server = bench.serve("iperf3");
    let (host, port) = (bench.far().to_string(), server.port().to_string());
    let (rate, payload) = (RATE.to_string(), PAYLOAD.to_string());
    let usual = [
        "-J", "-u", "-c", &host, "-p", &port, "-b", &rate, "-l", &payload,
    ];
    let theirs = bench.program(HostId::A, IPERF3, &[&usual, options].concat());
    let document: Value = serde_json::from_str(&theirs.output().join("\n")).unwrap();
    server.stop().unwrap();
    assert!(document["error"].is_null(), "{}", document["error"]);
    document["end"].clone()
}

/// Lost, and the highest number, of `… 0.010 ms  127/490 (26%)  receiver`.
fn receivers_line(said: &[String]) -> (u64, u64) {
    let line = said.iter().find(|line| line.ends_with("receiver")).unwrap();
    let share = line.split_whitespace().find_map(|word| {
        let (lost, of) = word.split_once('/')?;
        Some((lost.parse().ok()?, of.parse().ok()?))
    });
    share.unwrap()
}
