//! Transcripts of other versions of the tools, and bad input.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_model::run::{DelayOf, Run, RunKind, RunStatus, Trial};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount, Quantity};
use linerate_store::import::{ImportError, Imported, import};
use proptest::prelude::*;

const IPERF3: &str = include_str!("fixtures/transcripts/iperf3-versions.txt");
const IPERF2: &str = include_str!("fixtures/transcripts/iperf2-versions.txt");
const SFNT: &str = include_str!("fixtures/transcripts/sfnettest.txt");
const BOARD_SENDS: &str =
    include_str!("fixtures/published/hifive-unleashed/tcp/board-sends.client.log");
const BOARD_RECEIVES_UDP: &str =
    include_str!("fixtures/published/hifive-unleashed/udp/board-receives/512M.client.log");
const SERVER_UDP: &str =
    include_str!("fixtures/published/hifive-unleashed/udp/board-receives/512M.server.log");

fn file(name: &str, text: &str) -> (String, Vec<u8>) {
    (name.to_owned(), text.as_bytes().to_vec())
}

#[track_caller]
fn whole(name: &str, text: &str) -> Vec<Run> {
    let Imported {
        runs,
        warnings,
        refused,
    } = import(&[file(name, text)]).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(refused, []);
    runs
}

#[track_caller]
fn refused(text: &[u8]) -> String {
    let error = import(&[("a.log".to_owned(), text.to_vec())]).unwrap_err();
    assert!(error.to_string().starts_with("a.log"), "{error}");
    error.to_string()
}

#[test]
fn each_iperf3_test_of_a_long_log_is_told_apart() {
    let runs = whole("iperf3.txt", IPERF3);
    let kinds: Vec<_> = runs
        .iter()
        .map(|run| (run.kind(), run.trials.len()))
        .collect();
    let (tcp, bidir) = ((RunKind::Tcp, 1), (RunKind::Tcp, 2));
    let udp = (RunKind::Udp, 3);
    assert_eq!(
        kinds,
        [tcp, udp, tcp, bidir, tcp, tcp, bidir, tcp, tcp, bidir]
    );
    assert!(runs.iter().all(|run| run.status == RunStatus::Complete));
    // The log shows neither host name nor command line.
    assert!(runs.iter().all(|run| run.config.command.is_none()));
}

#[test]
fn reverse_and_bidirectional_tests_keep_their_directions_apart() {
    let runs = whole("iperf3.txt", IPERF3);
    let reverse = &runs[2].trials[0];
    assert_eq!(reverse.direction, Direction::Reverse);
    assert_eq!(reverse.tcp().unwrap().retransmitted_segments, Some(35));
    assert!(
        reverse
            .intervals
            .iter()
            .all(|i| i.offered_load.is_none() && i.received_rate.is_some())
    );
    let [forward, back] = &runs[3].trials[..] else {
        panic!("two trials");
    };
    assert_eq!(
        (forward.direction, back.direction),
        (Direction::Forward, Direction::Reverse)
    );
    assert_eq!(
        forward.received_rate,
        Some(BitRate::from_bps(4_040_000_000))
    );
    assert_eq!(back.received_rate, Some(BitRate::from_bps(12_100_000_000)));
    assert_eq!(back.tcp().unwrap().retransmitted_segments, Some(3));
    assert_eq!(
        forward.intervals[1].cwnd_bytes,
        Some(ByteCount::new(2 << 20))
    );
}

#[test]
fn client_and_server_of_an_iperf2_test_become_one_trial() {
    let runs = whole("iperf2.txt", IPERF2);
    let udp: Vec<_> = runs
        .iter()
        .filter(|run| run.kind() == RunKind::Udp)
        .collect();
    assert_eq!(udp.len(), 1);
    let trial = &udp[0].trials[0];
    let packets = trial.packets().unwrap();
    // "Sent 17012 datagrams" counts the end packet; the server's total is what was sent.
    assert_eq!(packets.sent, Some(PacketCount::new(17_011)));
    assert_eq!(packets.lost, Some(PacketCount::new(692)));
    assert_eq!(trial.payload_bytes, Some(ByteCount::new(1470)));
    assert_eq!(trial.intended_load, Some(BitRate::from_bps(100_000_000)));
    let tcp = runs.iter().find(|run| run.kind() == RunKind::Tcp).unwrap();
    assert_eq!(
        tcp.trials[0].offered_load,
        Some(BitRate::from_bps(23_100_000_000))
    );
    assert_eq!(
        tcp.trials[0].received_rate,
        Some(BitRate::from_bps(23_200_000_000))
    );
    assert_eq!(tcp.trials[0].intervals[0].srtt_ns, Some(100_000));
    assert_eq!(
        tcp.started.as_ref().unwrap().to_string(),
        "2026-11-21T05:59:37Z"
    );
}

#[test]
fn bounce_back_is_a_delay_and_no_throughput() {
    let runs = whole("iperf2.txt", IPERF2);
    let delays: Vec<_> = runs
        .iter()
        .filter(|run| run.kind() == RunKind::Latency)
        .collect();
    assert_eq!(delays.len(), 3);
    let trial = &delays[0].trials[0];
    assert_eq!(trial.payload_bytes, Some(ByteCount::new(100)));
    assert_eq!((trial.offered_load, trial.received_rate), (None, None));
    let delay = trial.delay().unwrap();
    assert_eq!(delay.of, DelayOf::RoundTrip);
    assert_eq!(
        (delay.min_ns, delay.max_ns, delay.count),
        (Some(17_000), Some(12_883_000), Some(20))
    );
}

#[test]
fn sfnt_pingpong_is_found_between_other_output() {
    let runs = whole("sfnt.txt", SFNT);
    let sizes: Vec<_> = runs.iter().map(|run| run.trials.len()).collect();
    assert_eq!(sizes, [11, 12, 3]);
    assert_eq!(runs[2].trials[0].transport, Transport::Udp);
    assert_eq!(runs[2].trials[2].delay().unwrap().p99_ns, Some(44_787));
}

/// A client's log of iperf3 3.1: one line for a UDP summary, and `Bandwidth`.
const OLD_UDP: &str = "\
$ iperf3 -c 10.0.0.2 -u -b 10M -t 2
Connecting to host 10.0.0.2, port 5201
[  4] local 10.0.0.1 port 40001 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bandwidth       Total Datagrams
[  4]   0.00-1.00   sec  1.08 MBytes  9.04 Mbits/sec  138
[  4]   1.00-2.00   sec  1.19 MBytes  9.96 Mbits/sec  152
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-2.00   sec  2.27 MBytes  9.50 Mbits/sec  0.013 ms  29/290 (10%)
[  4] Sent 290 datagrams

iperf Done.
";

#[test]
fn the_one_summary_line_of_old_iperf3_is_the_sender_s_rate_and_the_receiver_s_loss() {
    let runs = whole("old.log", OLD_UDP);
    let trial = &runs[0].trials[0];
    assert_eq!(trial.packets().unwrap().sent, Some(PacketCount::new(290)));
    assert_eq!(trial.packets().unwrap().lost, Some(PacketCount::new(29)));
    assert_eq!(trial.offered_load, Some(BitRate::from_bps(9_500_000)));
    assert_eq!(trial.received_rate, Some(BitRate::from_bps(8_550_000)));
    assert_eq!(
        trial.payload_bytes, None,
        "8192 bytes is one of several sizes that fit"
    );
    assert_eq!(trial.sent_bytes, Some(ByteCount::new(2_380_268)));
}

/// A client's log with two streams, an omitted second and time stamps before each line.
const PARALLEL: &str = "\
10:00:00 iperf 3.16
10:00:00 Connecting to host fd00::2, port 5201
10:00:00 [  5] local fd00::1 port 50000 connected to fd00::2 port 5201
10:00:00 [  7] local fd00::1 port 50001 connected to fd00::2 port 5201
10:00:01 [ ID] Interval           Transfer     Bitrate         Retr  Cwnd
10:00:01 [  5]   0.00-1.00   sec  99.0 MBytes   830 Mbits/sec    9    300 KBytes       (omitted)
10:00:01 [  7]   0.00-1.00   sec  99.0 MBytes   830 Mbits/sec    9    300 KBytes       (omitted)
10:00:01 [SUM]   0.00-1.00   sec   198 MBytes  1.66 Gbits/sec   18             (omitted)
10:00:02 [  5]   0.00-1.00   sec  50.0 MBytes   419 Mbits/sec    1    300 KBytes
10:00:02 [  7]   0.00-1.00   sec  60.0 MBytes   503 Mbits/sec    2    310 KBytes
10:00:02 [SUM]   0.00-1.00   sec   110 MBytes   923 Mbits/sec    3
10:00:02 - - - - - - - - - - - - - - - - - - - - - - - - -
10:00:02 [ ID] Interval           Transfer     Bitrate         Retr
10:00:02 [  5]   0.00-1.00   sec  50.0 MBytes   419 Mbits/sec    1            sender
10:00:02 [  5]   0.00-1.00   sec  49.0 MBytes   411 Mbits/sec                  receiver
10:00:02 [  7]   0.00-1.00   sec  60.0 MBytes   503 Mbits/sec    2            sender
10:00:02 [  7]   0.00-1.00   sec  60.0 MBytes   503 Mbits/sec                  receiver
10:00:02 [SUM]   0.00-1.00   sec   110 MBytes   923 Mbits/sec    3             sender
10:00:02 [SUM]   0.00-1.00   sec   109 MBytes   914 Mbits/sec                  receiver
10:00:02
10:00:02 iperf Done.
";

#[test]
fn parallel_streams_are_summed_by_the_tool_s_own_sum() {
    let runs = whole("parallel.log", PARALLEL);
    let trial = &runs[0].trials[0];
    assert_eq!(trial.streams, Some(2));
    assert_eq!(trial.received_rate, Some(BitRate::from_bps(914_000_000)));
    assert_eq!(trial.tcp().unwrap().retransmitted_segments, Some(3));
    assert_eq!(trial.intervals.len(), 1);
    assert_eq!(trial.intervals[0].cwnd_bytes, None, "windows have no sum");
    assert!(trial.reasons[0].contains("omitted"), "{:?}", trial.reasons);
}

#[test]
fn two_views_that_contradict_each_other_give_a_warning() {
    let server = SERVER_UDP.replace("290265/441703", "290265/441600");
    let files = [file("client", BOARD_RECEIVES_UDP), file("server", &server)];
    let imported = import(&files).unwrap();
    assert_eq!(imported.runs.len(), 1);
    assert_eq!(imported.runs[0].trials.len(), 1);
    // The server's own intervals, and the client's report of its summary.
    for said in [imported.warnings, imported.runs[0].doubts.clone()] {
        assert_eq!(said.len(), 2, "{said:#?}");
        let both = said.join(" ");
        assert!(both.contains("441703 datagrams against 441600"), "{both}");
    }
    let lost = imported.runs[0].trials[0].rounding(Quantity::LostPackets);
    assert!(lost.unwrap().contains(290_265.0), "{lost:?}");
}

#[test]
fn intervals_that_contradict_the_summary_give_a_warning() {
    let plain = BOARD_SENDS.replace('\u{a0}', " ");
    let wrong = plain.replace(
        "152 MBytes   127 Mbits/sec    0   ",
        "172 MBytes   144 Mbits/sec    0   ",
    );
    let imported = import(&[file("a.log", &wrong)]).unwrap();
    assert_eq!(imported.warnings.len(), 1, "{:?}", imported.warnings);
    let unknown = "a.log: test at line 1, sender: bytes and rate are unknown: the summary has";
    assert!(
        imported.warnings[0].starts_with(unknown),
        "{:?}",
        imported.warnings
    );
    assert_eq!(imported.runs[0].doubts, imported.warnings);
    let rate = plain.replace("15.1 MBytes   124 Mbits/sec", "15.1 MBytes   154 Mbits/sec");
    let imported = import(&[file("a.log", &rate)]).unwrap();
    assert!(
        imported.warnings[0].contains("line 5"),
        "{:?}",
        imported.warnings
    );
}

#[test]
fn a_test_given_twice_is_one_run() {
    let imported = import(&[file("a", BOARD_SENDS), file("b", BOARD_SENDS)]).unwrap();
    assert_eq!(imported.runs.len(), 1);
    assert!(
        imported.warnings[0].contains("given twice"),
        "{:?}",
        imported.warnings
    );
}

#[test]
fn a_test_that_failed_is_left_out_with_a_warning() {
    let text = format!(
        "$ iperf3 -c 10.0.0.9\niperf3: error - unable to connect to server: Connection refused\n{BOARD_SENDS}"
    );
    let imported = import(&[file("a.log", &text)]).unwrap();
    assert_eq!(imported.runs.len(), 1);
    assert!(
        imported.warnings[0].contains("Connection refused"),
        "{:?}",
        imported.warnings
    );
    let alone = refused(b"iperf3: error - unable to connect to server: Connection refused\n");
    assert!(
        alone.contains("Connection refused") && alone.contains("no figures"),
        "{alone}"
    );
}

#[test]
fn an_interrupted_test_is_incomplete_and_says_so() {
    let text = BOARD_SENDS.replace(
        "iperf Done.",
        "iperf3: interrupt - the client has terminated",
    );
    let runs = whole("a.log", &text);
    assert_eq!(runs[0].status, RunStatus::Incomplete);
    assert!(
        runs[0]
            .notes
            .iter()
            .any(|note| note.contains("the client has terminated"))
    );
}

#[test]
fn a_log_cut_in_the_middle_is_refused_at_every_line() {
    let lines: Vec<_> = BOARD_SENDS.lines().collect();
    // The last but one is empty, the last says that iperf is done.
    for end in 2..lines.len() - 2 {
        let text = lines[..end].join("\n");
        let error = refused(text.as_bytes());
        assert!(error.contains("line 1 is cut off"), "{end}: {error}");
    }
    let error = refused(&BOARD_SENDS.as_bytes()[..BOARD_SENDS.len() / 2]);
    assert!(error.contains("cut off"), "{error}");
    let error = refused(lines[4..].join("\n").as_bytes());
    assert!(error.contains("its first line"), "{error}");
}

#[test]
fn an_empty_a_binary_and_an_unknown_file_are_each_refused() {
    assert!(refused(b"").contains("is empty"));
    assert!(refused(b" \n\n").contains("is empty"));
    let error = refused(b"\x7fELF\x02\x01\x01\0\0\0");
    assert!(error.contains("not a text log: byte 0"), "{error}");
    let error = refused(b"iperf Done.\xff");
    assert!(error.contains("byte 11"), "{error}");
    let error = refused(b"dear diary,\n");
    assert!(
        error.contains("begins with \"dear diary,\"") && error.contains("iperf3-text"),
        "{error}"
    );
    assert!(refused(b"iperf Done.\n").contains("has no test in it"));
}

#[test]
fn a_damaged_line_is_named() {
    let text = BOARD_SENDS.replace("15.1 MBytes", "15.1 MByt??");
    let error = refused(text.as_bytes());
    assert!(
        error.contains("line 5 is damaged") && error.contains("MByt??"),
        "{error}"
    );
}

#[test]
fn a_bad_file_among_good_ones_is_named() {
    let imported = import(&[file("good", BOARD_SENDS), file("bad", "?")]).unwrap();
    assert_eq!(imported.runs, whole("good", BOARD_SENDS));
    let [ImportError::Unknown { file, .. }] = &imported.refused[..] else {
        panic!("{:?}", imported.refused);
    };
    assert_eq!(file, "bad");
}

/// Logs of one test each, all of one tool, of which every one can stand before or after another.
const WHOLE_TESTS: &[&[&str]] = &[
    &[BOARD_SENDS, OLD_UDP, BOARD_RECEIVES_UDP],
    &[
        include_str!("fixtures/formats/iperf2-2.1.8-rev.client.txt"),
        IPERF2_PARALLEL,
        include_str!("fixtures/formats/iperf2-2.1.8-fd.client.txt"),
    ],
    &[
        include_str!("fixtures/formats/iperf3-3.1.3-tcp.client.json"),
        include_str!("fixtures/formats/iperf3-3.22-gso.client.json"),
        include_str!("fixtures/formats/iperf3-3.22-stream.client.json"),
    ],
    &[
        include_str!("fixtures/formats/iperf2-2.1.8-csv.client.txt"),
        include_str!("fixtures/formats/iperf2-2.1.8-csvu.client.txt"),
    ],
    &[
        include_str!("fixtures/formats/sockperf-3.7-pp.txt"),
        include_str!("fixtures/formats/sockperf-3.7-ul.txt"),
        include_str!("fixtures/formats/sockperf-3.7-tp.txt"),
    ],
];

/// The trials of a text, without what its place in the text decides.
fn trials(text: &str) -> Vec<Trial> {
    let runs = import(&[file("a", text)]).map_or(Vec::new(), |imported| imported.runs);
    runs.into_iter().flat_map(|run| run.trials).collect()
}

/// A line in the middle of a test's figures, with something in it that no tool prints.
fn damaged(test: &str) -> String {
    let is_figure = |line: &&str| line.contains(|c: char| c.is_ascii_digit()) && line.len() > 30;
    let figure = test.lines().rfind(is_figure).unwrap();
    let half = figure.len() / 2;
    // A key of another name would be no damage to JSON, half a line is none to text.
    let wrong = if test.starts_with('{') { "\n" } else { "?? \"" };
    let spoilt = format!("{}{wrong}{}", &figure[..half], &figure[half + 3..]);
    test.replacen(figure, &spoilt, 1)
}

#[test]
fn a_bad_test_among_good_ones_is_named_and_the_rest_is_imported() {
    for tests in WHOLE_TESTS {
        for bad in 0..tests.len() {
            let good: Vec<_> = (0..tests.len()).filter(|at| *at != bad).collect();
            let wanted: Vec<_> = good.iter().flat_map(|at| trials(tests[*at])).collect();
            // Before its first figure: iperf 2's first interval alone looks like a whole test.
            let end = tests[bad].find(" sec ").unwrap_or(tests[bad].len() / 2);
            for spoilt in [damaged(tests[bad]), tests[bad][..end].to_owned()] {
                let text = |at: usize| if at == bad { &spoilt } else { tests[at] };
                let all: Vec<_> = (0..tests.len()).map(text).collect();
                let imported = import(&[file("a", &all.join("\n"))]).unwrap();
                let context = format!("{:#?}\n{spoilt}", imported.refused);
                assert_eq!(imported.refused.len(), 1, "{context}");
                let rates = |trial: &Trial| {
                    let delay = trial.delay().and_then(|delay| delay.min_ns);
                    (trial.offered_load, trial.received_rate, delay)
                };
                let trials = imported.runs.iter().flat_map(|run| &run.trials);
                let mut found: Vec<_> = trials.map(rates).collect();
                let mut expected: Vec<_> = wanted.iter().map(rates).collect();
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "{context}");
            }
        }
    }
}

/// A client's log with two streams against a small stack that does not see the end packet.
const IPERF2_PARALLEL: &str = "\
# iperf -c 10.77.0.2 -u -t 3 -P 2 -b 5m
[  1] local 10.77.0.1 port 58006 connected with 10.77.0.2 port 5001
------------------------------------------------------------
Client connecting to 10.77.0.2, UDP port 5001
Sending 1470 byte datagrams, IPG target: 2352.00 us (kalman adjust)
------------------------------------------------------------
[  2] local 10.77.0.1 port 58020 connected with 10.77.0.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-3.0015 sec  1.79 MBytes  5.00 Mbits/sec
[  1] Sent 1277 datagrams
[  2] 0.0000-3.0015 sec  1.79 MBytes  5.00 Mbits/sec
[  2] Sent 1277 datagrams
[SUM] 0.0000-3.0015 sec  3.58 MBytes  10.0 Mbits/sec
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-3.0008 sec  1.75 MBytes  4.90 Mbits/sec   0.047 ms 20/1270 (1.6%)
[  1] 0.0000-3.0008 sec  1 datagrams received out-of-order
[  2] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  2] 0.0000-3.0008 sec  1.77 MBytes  4.95 Mbits/sec   0.047 ms 10/1276 (0.8%)
";

#[test]
fn parallel_streams_of_iperf2_are_summed_and_the_tail_is_not_forgotten() {
    let runs = whole("p.log", IPERF2_PARALLEL);
    let trial = &runs[0].trials[0];
    assert_eq!(trial.streams, Some(2));
    assert_eq!(trial.intended_load, Some(BitRate::from_bps(10_000_000)));
    let packets = trial.packets().unwrap();
    assert_eq!(packets.sent, Some(PacketCount::new(2 * 1276)));
    assert_eq!(packets.received, Some(PacketCount::new(1250 + 1266)));
    assert_eq!(packets.lost, Some(PacketCount::new(36)));
    assert_eq!(
        (
            trial.rounding(Quantity::LostPackets).unwrap().low,
            trial.rounding(Quantity::LostPackets).unwrap().high
        ),
        (30.0, 36.0)
    );
    assert!(
        trial
            .reasons
            .iter()
            .any(|reason| reason.contains("1 datagram arrived out of order"))
    );
}

/// Every text of the fixtures, which prefixes and changes are made of.
fn real_log() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        IPERF3,
        IPERF2,
        SFNT,
        BOARD_SENDS,
        BOARD_RECEIVES_UDP,
        SERVER_UDP,
        OLD_UDP,
        PARALLEL,
    ])
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        drop(import(&[("a".to_owned(), bytes)]));
    }

    #[test]
    fn a_changed_log_never_panics(log in real_log(), at in any::<prop::sample::Index>(), new in "\\PC{0,12}") {
        let mut at = at.index(log.len());
        while !log.is_char_boundary(at) {
            at -= 1;
        }
        let end = (at + new.len()..log.len()).find(|end| log.is_char_boundary(*end)).unwrap_or(log.len());
        let text = format!("{}{new}{}", &log[..at], &log[end..]);
        drop(import(&[file("a", &text)]));
    }
}

#[test]
fn no_prefix_of_a_real_log_panics() {
    // A prime step: the cuts fall into each column in turn.
    for (log, step) in [
        (BOARD_SENDS, 1),
        (BOARD_RECEIVES_UDP, 1),
        (SERVER_UDP, 1),
        (OLD_UDP, 1),
        (PARALLEL, 1),
        (SFNT, 13),
        (IPERF2, 61),
    ] {
        let ends = (0..log.len()).step_by(step);
        for end in ends.filter(|end| log.is_char_boundary(*end)) {
            drop(import(&[file("a", &log[..end])]));
        }
    }
}

#[test]
fn no_prefix_of_a_single_test_is_silently_complete() {
    for log in [BOARD_SENDS, BOARD_RECEIVES_UDP, SERVER_UDP, OLD_UDP] {
        let whole = import(&[file("a", log)]).unwrap().runs.remove(0).trials;
        for end in (0..log.len()).filter(|end| log.is_char_boundary(*end)) {
            if let Ok(imported) = import(&[file("a", &log[..end])]) {
                assert_eq!(imported.runs[0].trials, whole, "cut at byte {end}");
            }
        }
    }
}
