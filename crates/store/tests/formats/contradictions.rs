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

/// A UDP test of iperf3 by its client: the receiver's part of the summary is `received`, after `first` among the intervals.
fn iperf3_udp(first: &str, received: &str) -> String {
    format!(
        "Connecting to host 10.77.2.2, port 5201\n\
         [  5] local 10.77.1.2 port 38092 connected to 10.77.2.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Total Datagrams\n{first}\
         [  5]   0.00-1.00   sec  16.7 MBytes   140 Mbits/sec  12075  \n\
         [  5]   1.00-2.00   sec  16.7 MBytes   140 Mbits/sec  12087  \n\
         [  5]   2.00-3.00   sec  16.7 MBytes   140 Mbits/sec  12087  \n\
         [  5]   3.00-4.00   sec  16.7 MBytes   140 Mbits/sec  12084  \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
         [  5]   0.00-4.00   sec  66.7 MBytes   140 Mbits/sec  0.000 ms  0/48333 (0%)  sender\n\
         [  5]   0.00-4.02   sec  {received}  receiver\n\niperf Done.\n"
    )
}

/// What a log without a file is read as.
#[track_caller]
fn pasted(text: &str) -> Run {
    let imported = import(&[("pasted.log".to_owned(), text.as_bytes().to_vec())]).unwrap();
    let [run] = <[Run; 1]>::try_from(imported.runs).unwrap();
    run
}

#[test]
fn losses_that_the_bytes_deny_are_unknown() {
    let omitted = "[  5]   0.00-1.00   sec  16.7 MBytes   140 Mbits/sec  12078  (omitted)\n";
    for (first, received) in [
        // iperf3 3.12 counts what was lost in the omitted start.
        (
            omitted,
            "44.7 MBytes  93.4 Mbits/sec  0.134 ms  21183/48337 (44%)",
        ),
        (
            "",
            "43.7 MBytes  91.3 Mbits/sec  0.211 ms  10/48324 (0.02%)",
        ),
        (
            "",
            "43.7 MBytes  91.3 Mbits/sec  0.211 ms  16639/144972 (11%)",
        ),
    ] {
        let run = pasted(&iperf3_udp(first, received));
        let said = run.doubts.join("\n");
        assert!(said.contains("lost is unknown"), "{received}: {said}");
        assert!(said.contains("cannot have carried"), "{received}: {said}");
        let trial = &run.trials[0];
        let found = trial.received_rate.unwrap().as_f64();
        assert!((91e6..94e6).contains(&found), "{received}: {found}");
        assert_eq!(packets(trial)[1..], [None, None], "{received}");
    }
    let right = "43.7 MBytes  91.3 Mbits/sec  0.211 ms  16684/48324 (35%)";
    let run = pasted(&iperf3_udp("", right));
    assert_eq!(run.doubts, Vec::<String>::new());
    // Those that the receiver never heard of too.
    assert_eq!(packets(&run.trials[0])[2], Some(16_693));
}

#[test]
fn a_report_of_one_stream_is_not_that_of_all() {
    let text = "[  2] local 10.77.1.2 port 45675 connected with 10.77.2.2 port 5001\n\
        ------------------------------------------------------------\n\
        Client connecting to 10.77.2.2, UDP port 5001\n\
        Sending 1470 byte datagrams, IPG target: 160.22 us (kalman adjust)\n\
        UDP buffer size:  208 KByte (default)\n\
        ------------------------------------------------------------\n\
        [  1] local 10.77.1.2 port 58615 connected with 10.77.2.2 port 5001\n\
        [ ID] Interval       Transfer     Bandwidth\n\
        [  1] 0.0000-3.0003 sec  26.3 MBytes  73.4 Mbits/sec\n\
        [  1] Sent 18729 datagrams\n\
        [  2] 0.0000-3.0003 sec  26.3 MBytes  73.4 Mbits/sec\n\
        [  2] Sent 18730 datagrams\n\
        [SUM] 0.0000-3.0007 sec  52.5 MBytes   147 Mbits/sec\n\
        [SUM-2] Sent 37459 datagrams\n\
        [  1] Server Report:\n\
        [ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n\
        [  1] 0.0000-3.0206 sec  19.0 MBytes  52.7 Mbits/sec   0.086 ms 5198/18728 (28%)\n\
        [  2] Server Report:\n";
    let run = pasted(text);
    let said = run.doubts.join("\n");
    assert!(said.contains("report of stream 2 is not there"), "{said}");
    assert_eq!(run.trials[0].received_rate, None);
    assert_eq!(packets(&run.trials[0])[1..], [None, None]);
}

#[test]
fn figures_of_a_stream_that_was_not_announced_are_not_added_to_others() {
    let head = "------------------------------------------------------------\n\
        Server listening on TCP port 5001\n\
        TCP window size:  128 KByte (default)\n\
        ------------------------------------------------------------\n\
        ------------------------------------------------------------\n\
        Client connecting to 10.77.2.2, TCP port 5001\n\
        TCP window size:  148 KByte (default)\n\
        ------------------------------------------------------------\n\
        [  1] local 10.77.1.2 port 46382 connected with 10.77.2.2 port 5001 (icwnd/mss/irtt=14/1448/35)\n\
        [ ID] Interval       Transfer     Bandwidth\n";
    for figures in [
        // The way back follows (-r), or goes on meanwhile (-d).
        "[  1] 0.0000-3.1038 sec  34.6 MBytes  93.6 Mbits/sec\n\
         [ ID] Interval       Transfer     Bandwidth\n\
         [  2] 0.0000-3.2736 sec  18.6 MBytes  47.7 Mbits/sec\n",
        "[  2] 0.0000-1.0000 sec  5.47 MBytes  45.9 Mbits/sec\n\
         [  1] 0.0000-1.0000 sec  11.5 MBytes  96.5 Mbits/sec\n\
         [  1] 0.0000-4.1384 sec  44.3 MBytes  89.7 Mbits/sec\n\
         [  2] 0.0000-4.2020 sec  22.8 MBytes  45.4 Mbits/sec\n",
    ] {
        let error = refused("pasted.log", &format!("{head}{figures}"));
        assert!(error.contains("announces stream 2"), "{error}");
    }
}
