//! Logs whose summary, intervals, streams and counters contradict each other: no figure that one of them denies comes
//! out, and the run says so.

use super::{bps, bytes, packets, read, rounding};
use linerate_model::run::{Run, RunStatus, Trial};
use linerate_model::{PacketRate, Quantity};
use linerate_store::import::import;

#[track_caller]
fn run(name: &str) -> Run {
    let imported = import(&[read(&format!("contradictions/{name}"))]).unwrap();
    assert_eq!(imported.refused, []);
    let [run] = <[Run; 1]>::try_from(imported.runs).unwrap();
    run
}

/// The one run, which has doubts with each of these words.
#[track_caller]
fn doubted(name: &str, words: &[&str]) -> Run {
    let run = run(name);
    let said = run.doubts.join("\n");
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
    run
}

fn refused(name: &str, text: &str) -> String {
    let file = (name.to_owned(), text.as_bytes().to_vec());
    import(&[file]).unwrap_err().to_string()
}

#[track_caller]
fn near(trial: &Trial, quantity: Quantity, bps: f64) {
    let found = trial.received_rate.unwrap().as_f64();
    assert!((found / bps - 1.0).abs() < 0.002, "{found}");
    assert!(rounding(trial, quantity).contains(found));
}

#[test]
fn a_summary_that_counts_the_omitted_start_is_not_the_rate() {
    let text = doubted(
        "iperf3-summary-of-the-omitted-start.log",
        &["omitted start too"],
    );
    near(&text.trials[0], Quantity::ReceivedRate, 924e6);
    // The other end's sum counts it too, and has no intervals here.
    assert_eq!(text.trials[0].offered_load, None);
    let json = doubted(
        "iperf3-summary-of-the-omitted-start.json",
        &["omitted start too"],
    );
    assert_eq!(bps(json.trials[0].received_rate), 200_000_000);
    assert_eq!(json.trials[0].offered_load, None);
}

#[test]
fn losses_that_the_summary_alone_tells_are_told() {
    let run = run("iperf3-losses-in-the-summary-alone.json");
    assert_eq!(packets(&run.trials[0])[1..], [Some(259), Some(0)]);
    assert_eq!(bytes(&run.trials[0]).1, Some(375_032));
    assert_eq!(run.doubts, Vec::<String>::new());
}

#[test]
fn counters_that_went_beyond_their_bits_are_unknown() {
    let day = doubted(
        "iperf3-counter-at-its-end.log",
        &["2147483647", "46500 lost"],
    );
    let trial = &day.trials[0];
    assert_eq!(bps(trial.received_rate), 1_000_000_000);
    assert!(trial.packets().is_none(), "{:?}", trial.packets());
    let wrapped = doubted("iperf3-negative-counters.log", &["is negative"]);
    let [forward, back] = &wrapped.trials[..] else {
        panic!("two directions");
    };
    assert_eq!(
        (bps(forward.received_rate), bps(back.offered_load)),
        (1_610_000_000, 1_600_000_000)
    );
    assert!(wrapped.trials[0].packets().is_none());
}

#[test]
fn messages_about_single_datagrams_end_no_test() {
    let run = run("iperf3-out-of-order-messages.log");
    assert_eq!(run.status, RunStatus::Complete);
    assert_eq!(packets(&run.trials[0]), [None, Some(272), Some(3)]);
}

#[test]
fn zeros_of_a_test_that_was_stopped_are_no_facts() {
    let client = doubted(
        "iperf3-stopped-client.log",
        &["datagrams are those of the intervals"],
    );
    assert_eq!(client.status, RunStatus::Incomplete);
    assert_eq!(packets(&client.trials[0]), [Some(5260), None, None]);
    assert_eq!(client.trials[0].received_rate, None);
    assert_eq!(client.trials[0].rtp_jitter_ns(), None);
    let server = doubted(
        "iperf3-stopped-server.log",
        &[
            "datagrams are those of the intervals",
            "same as the line before",
        ],
    );
    assert_eq!(server.status, RunStatus::Incomplete);
    near(&server.trials[0], Quantity::ReceivedRate, 77.26e6);
    assert_eq!(server.trials[0].intervals.len(), 5);
}

#[test]
fn intervals_that_lack_the_beginning_are_no_rate() {
    let run = doubted(
        "iperf3-first-interval-missing.log",
        &["are unknown", "0.00 to 1.00 s"],
    );
    assert_eq!(run.trials[0].received_rate, None);
    assert_eq!(packets(&run.trials[0])[1..], [Some(71_812), Some(278_435)]);
}

#[test]
fn two_tests_that_are_mixed_are_named_with_their_line() {
    let (_, mixed) = read("contradictions/iperf3-two-clients.log");
    let mixed = String::from_utf8(mixed).unwrap();
    let error = refused("a", &mixed);
    assert!(
        error.contains("line 4") && error.contains("two tests are mixed"),
        "{error}"
    );
    // The second client begins when the first has figures.
    let lines: Vec<_> = mixed.lines().collect();
    let order = [0, 2, 4, 6, 1, 3, 5, 7, 8, 9];
    let begin = order.iter().map(|at| lines[*at]);
    let late: Vec<_> = begin.chain(lines[10..].iter().copied()).collect();
    let error = refused(
        "a",
        &late.join(
            "
",
        ),
    );
    assert!(error.contains("line"), "{error}");
}

#[test]
fn a_log_whose_every_line_comes_twice_is_one_test() {
    for name in [
        "formats/iperf3-3.12-title.client.txt",
        "formats/iperf3-3.12-bidir.client.txt",
        "formats/sockperf-3.7-pp.txt",
        "formats/iperf2-2.1.8-rev.client.txt",
    ] {
        let (name, bytes) = read(name);
        let text = String::from_utf8(bytes).unwrap();
        let twice: Vec<_> = text.lines().flat_map(|line| [line; 2]).collect();
        let doubled = twice.join(
            "
",
        ) + "
";
        let once = import(&[(name.clone(), text.into_bytes())]).unwrap().runs;
        let twice = import(&[(name.clone(), doubled.into_bytes())]).unwrap();
        assert_eq!(twice.refused, [], "{name}");
        let rates = |run: &Run| {
            let of = |trial: &Trial| (trial.received_rate, trial.intervals.len());
            run.trials.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(rates(&twice.runs[0]), rates(&once[0]), "{name}");
        assert!(twice.runs[0].doubts[0].contains("counted once"), "{name}");
    }
}

#[test]
fn nothing_that_arrived_is_a_count_of_none() {
    let run = run("netperf-nothing-arrived.log");
    assert_eq!(
        packets(&run.trials[0]),
        [Some(815_205), Some(0), Some(815_205)]
    );
    assert_eq!(bps(run.trials[0].received_rate), 0);
}

#[test]
fn a_confidence_that_netperf_did_not_reach_is_said_and_widens_the_rate() {
    let run = doubted(
        "netperf-confidence-not-reached.log",
        &["confidence", "6.800 %"],
    );
    let interval = rounding(&run.trials[0], Quantity::ReceivedRate);
    assert!(interval.contains(9415.65e6 * 0.967) && interval.contains(9415.65e6 * 1.033));
}

#[test]
fn sockperf_under_load_is_no_ping_pong_and_counts_what_is_not_answered() {
    let run = run("sockperf-under-load.log");
    assert!(
        run.title.as_deref().unwrap().contains("under load"),
        "{:?}",
        run.title
    );
    let requests = *run.trials[0].requests().unwrap();
    assert_eq!(requests.intended_rate, Some(PacketRate::from_pps(10_000.0)));
    assert_eq!(
        (requests.sent.get(), requests.unanswered.get()),
        (295_501, 100)
    );
    let reasons = run.trials[0].reasons.join("; ");
    assert!(
        reasons.contains("100 of 295501 messages were not answered"),
        "{reasons}"
    );
}
