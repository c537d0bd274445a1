//! ESP-IDF's iperf.

use super::{bps, read, whole};
use linerate_model::run::RunKind;
use linerate_store::import::import;
use std::time::Duration;

#[test]
fn a_server_counts_what_it_received() {
    let runs = whole(&["transcripts/esp-iperf-server.txt"]);
    let [run] = &runs[..] else { panic!() };
    let [trial] = &run.trials[..] else { panic!() };
    assert_eq!(run.kind(), RunKind::Tcp);
    assert_eq!(bps(trial.received_rate), 80_000);
    assert_eq!(trial.offered_load, None);
    assert_eq!(trial.duration, Some(Duration::from_secs(30)));
    assert_eq!(trial.intervals.len(), 10);
}

#[test]
fn a_client_counts_what_it_sent_and_a_server_of_datagrams_no_loss() {
    let text = "iperf> iperf -u -c 192.168.1.5 -t 6\n\
        mode=udp-client sip=192.168.1.71:5001, dip=192.168.1.5:5001, interval=3, time=6\n\
        Interval Bandwidth\n 0- 3 sec 12.50 Mbits/sec\n 3- 6 sec 13.50 Mbits/sec\n 0- 6 sec 13.00 Mbits/sec\n\
        I (99) iperf: iperf exit\n";
    let runs = import(&[("a".to_owned(), text.as_bytes().to_vec())])
        .unwrap()
        .runs;
    let trial = &runs[0].trials[0];
    assert_eq!(
        (bps(trial.offered_load), trial.received_rate),
        (13_000_000, None)
    );
    assert_eq!(runs[0].kind(), RunKind::Udp);
    let server = text
        .replace("udp-client", "udp-server")
        .replace("iperf -u -c 192.168.1.5 ", "iperf -u -s ");
    let runs = import(&[("a".to_owned(), server.into_bytes())])
        .unwrap()
        .runs;
    assert_eq!(bps(runs[0].trials[0].received_rate), 13_000_000);
    let notes = &runs[0].trials[0].reasons;
    assert!(
        notes.iter().any(|note| note.contains("no losses")),
        "{notes:?}"
    );
}

/// No line may be lost: each gives an error, an early end or the same figures.
#[test]
fn a_missing_line_is_noticed() {
    let (name, bytes) = read("transcripts/esp-iperf-server.txt");
    let text = String::from_utf8(bytes).unwrap();
    let whole = import(&[(name.clone(), text.clone().into_bytes())])
        .unwrap()
        .runs;
    let rate = |run: &linerate_model::run::Run| bps(run.trials[0].received_rate);
    for left_out in 0..text.lines().count() {
        let lines = text.lines().enumerate().filter(|(at, _)| *at != left_out);
        let part: Vec<_> = lines.map(|(_, line)| line).collect();
        let part = part.join("\n") + "\n";
        if let Ok(read) = import(&[(name.clone(), part.into_bytes())]) {
            let run = &read.runs[0];
            let has_notes = !run.notes.is_empty() || !run.trials[0].reasons.is_empty();
            let noticed = has_notes || !read.warnings.is_empty();
            assert!(
                noticed || rate(&read.runs[0]) == rate(&whole[0]),
                "line {}",
                left_out + 1
            );
        }
    }
}

/// The component counts bytes in steps of 1000 beside bits, and of 1024 beside bytes.
#[test]
fn the_component_s_streams_are_one_test() {
    let runs = whole(&["formats/esp-iperf-component.txt"]);
    let [client, server] = &runs[..] else {
        panic!("{} runs", runs.len());
    };
    let trial = &client.trials[0];
    assert_eq!(trial.streams, Some(2));
    assert_eq!(trial.intervals.len(), 3);
    assert_eq!(bps(trial.offered_load), 32_500_000);
    assert_eq!(trial.sent_bytes.unwrap().get(), 12_190_000);
    let trial = &server.trials[0];
    assert_eq!(server.kind(), RunKind::Udp);
    assert_eq!(bps(trial.received_rate), 10_317_988);
    assert_eq!(trial.received_bytes.unwrap().get(), 3_858_760);
}
