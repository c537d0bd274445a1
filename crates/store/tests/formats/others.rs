//! zperf, lwiperf, netperf, neper and sockperf.

use super::{bps, bytes, delays, packets, read, text, whole};
use linerate_model::run::{DelayOf, Run, RunKind, TrialWork};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{ByteCount, PacketCount};
use linerate_store::import::{Hints, UnitStep, import, import_with};

#[test]
fn zperf_uploads_have_both_ends_and_the_units_of_their_era() {
    let imported = text("zperf-16byte-header");
    let left_out = imported.refused[0].to_string();
    assert!(left_out.contains("iperf2-text"), "{left_out}");
    let curve = &imported.runs[0];
    assert_eq!((curve.kind(), curve.trials.len()), (RunKind::Udp, 2));
    let fast = &curve.trials[1];
    assert_eq!(fast.label.as_deref(), Some("200M"));
    assert_eq!(bps(fast.intended_load), 200 << 20);
    assert_eq!(packets(fast), [Some(65_361), Some(65_361), Some(0)]);
    assert_eq!(bytes(fast).0, Some(65_361 * 1024));
    // 170.21 Mbps in steps of 1024, cut off.
    let rounding = fast
        .rounding(linerate_model::Quantity::OfferedRate)
        .unwrap();
    let step = f64::from(1 << 20);
    assert!(
        (rounding.low - 170.21 * step).abs() < 1.0 && (rounding.high - 170.22 * step).abs() < 1.0
    );
    let downloads = &imported.runs[2].trials;
    assert_eq!(packets(&downloads[1]), [None, Some(13_411), Some(2669)]);
    assert_eq!(downloads[1].offered_load, None);
}

#[test]
fn a_report_that_a_board_cannot_read_is_unknown() {
    let imported = text("zperf-12byte-header");
    assert!(
        imported
            .warnings
            .iter()
            .any(|warning| warning.contains("without its figures"))
    );
    let tcp = imported
        .runs
        .iter()
        .find(|run| run.kind() == RunKind::Tcp)
        .unwrap();
    assert_eq!(bytes(&tcp.trials[0]), (Some(27_272 * 1024), None));
    let udp = imported
        .runs
        .iter()
        .find(|run| run.kind() == RunKind::Udp)
        .unwrap();
    assert_eq!(packets(&udp.trials[0]), [Some(54_501), None, None]);
    assert!(
        udp.trials[0]
            .reasons
            .iter()
            .any(|reason| reason.contains("server's report"))
    );
}

#[test]
fn colours_of_a_shell_and_the_version_of_a_board_are_understood() {
    let log = "\u{1b}[0m*** Booting Zephyr OS build v3.7.0 ***\r\n\u{1b}[1;32muart:~$ \u{1b}[m\
        New session started.\n\u{1b}[8D\u{1b}[Juart:~$ End of session!\n duration:\t\t3.00 s\n \
        received packets:\t90\n nb packets lost:\t10\n nb packets outorder:\t0\n jitter:\t\t1.92 ms\n \
        rate:\t\t\t9.96 Mbps\n";
    let runs = import(&[("a".to_owned(), log.into())]).unwrap().runs;
    let trial = &runs[0].trials[0];
    assert_eq!(packets(trial), [None, Some(90), Some(10)]);
    assert_eq!(bps(trial.received_rate), 9_960_000);
    let unknown = log.replace("v3.7.0", "x");
    let runs = import(&[("a".to_owned(), unknown.into_bytes())])
        .unwrap()
        .runs;
    let interval = runs[0].trials[0]
        .rounding(linerate_model::Quantity::ReceivedRate)
        .unwrap();
    assert!(interval.contains(9.96e6) && interval.contains(9.96 * 1_048_576.0));
    let hints = Hints {
        zperf_units: Some(UnitStep::Binary),
        ..Hints::default()
    };
    let said = |log: &str| import_with(&[("a".to_owned(), log.into())], &hints).unwrap();
    let unknown = log.replace("v3.7.0", "x");
    let trial = said(&unknown).runs.remove(0).trials.remove(0);
    assert_eq!(
        bps(trial.received_rate),
        10_443_817,
        "9.96 in steps of 1024"
    );
    let trial = said(log).runs.remove(0).trials.remove(0);
    assert_eq!(bps(trial.received_rate), 9_960_000, "the log tells it");
}

#[test]
fn lwiperf_s_reports_and_iperf_s_log_of_the_other_end_are_one_trial() {
    let (name, log) = read("transcripts/lwiperf-server.txt");
    let text = String::from_utf8(log).unwrap();
    let (iperf, board) = text.split_once("--- lwiperf side:").unwrap();
    let alone = import(&[("board".to_owned(), board.as_bytes().to_vec())]).unwrap();
    assert_eq!(alone.runs.len(), 5);
    assert!(
        alone.warnings[0].contains("aborted"),
        "{:?}",
        alone.warnings
    );
    let files = [
        (name, iperf.as_bytes().to_vec()),
        ("board".to_owned(), board.as_bytes().to_vec()),
    ];
    let merged = import(&files).unwrap();
    let trial = &merged.runs[0].trials[0];
    assert_eq!(bps(trial.offered_load), 1_300_000_000);
    assert_eq!(trial.received_bytes, Some(ByteCount::new(487_718_936)));
    assert_eq!(bps(trial.received_rate), 1_297_984_000);
    let example = "IPERF report: type=0, remote: 10.0.0.1:49152, total bytes: 1000000, duration in ms: 1000, kbits/s: 8000\n";
    let run = &import(&[("a".to_owned(), example.into())]).unwrap().runs[0];
    assert_eq!(bytes(&run.trials[0]), (None, Some(1_000_000)));
}

#[test]
fn netperf_s_tables_and_keys_are_read() {
    let imported = text("netperf");
    // The keys of the omni test tell neither its protocol nor its time.
    let untold = |said: &String| said.contains("line 55") && said.contains("does not tell");
    assert_eq!(imported.warnings.len(), 2);
    assert!(
        imported.warnings.iter().all(untold),
        "{:?}",
        imported.warnings
    );
    let of = |command: &str| {
        let mut runs = imported.runs.iter();
        let run = runs.find(|run| {
            run.config
                .command
                .as_deref()
                .unwrap_or_default()
                .contains(command)
        });
        run.unwrap().trials[0].clone()
    };
    assert_eq!(bps(of("TCP_STREAM").received_rate), 21_062_230_000);
    assert_eq!(of("TCP_MAERTS").direction, Direction::Reverse);
    let udp = of("UDP_STREAM");
    assert_eq!(packets(&udp), [Some(399_901), Some(199_239), Some(200_662)]);
    assert_eq!(bytes(&udp), (Some(399_901 * 1400), Some(199_239 * 1400)));
    let rr = of("TCP_RR");
    let mean = rr.delay().unwrap().mean_ns.unwrap();
    assert!((mean - 1e9 / 69_305.77).abs() < 1e-6);
    assert_eq!(delays(&rr), [None; 4]);
    let omni = imported.runs.last().unwrap();
    assert_eq!(
        delays(&omni.trials[0]),
        [Some(10_000), Some(61_000), Some(89_000), Some(2_785_000)]
    );
    let demo = imported
        .runs
        .iter()
        .find(|run| run.trials[0].intervals.len() == 4)
        .unwrap();
    assert_eq!(
        bps(demo.trials[0].intervals[1].received_rate),
        37_725_030_000
    );
}

#[test]
fn neper_s_keys_are_read_from_the_client() {
    let imported = text("neper");
    assert_eq!(imported.runs.len(), 5);
    assert_eq!(
        bps(imported.runs[0].trials[0].received_rate),
        10_384_633_859
    );
    let rr = &imported.runs[2].trials[0];
    assert_eq!(delays(rr), [Some(16_825), None, None, Some(10_663_181)]);
    assert!((rr.received_packet_rate().unwrap().pps() - 43_221.02).abs() < 1e-6);
}

/// Transactions per second of a run that has one trial of short connections and no bit rate.
#[track_caller]
fn connections_per_second(run: &Run) -> f64 {
    let trial = &run.trials[0];
    assert!(
        matches!(trial.work, TrialWork::Connections(_)),
        "{:?}",
        trial.work
    );
    assert_eq!((trial.offered_load, trial.received_rate), (None, None));
    assert_eq!(trial.payload_bytes, Some(ByteCount::new(1)));
    trial.received_packet_rate().unwrap().pps()
}

#[test]
fn neper_s_connections_are_transactions_and_no_bits() {
    let both = text("neper").runs;
    let crr = both.last().unwrap();
    assert!((connections_per_second(crr) - 10_926.59).abs() < 1e-6);
    assert_eq!(crr.trials[0].delay(), None, "it holds the handshake");
    assert!(crr.notes[0].contains("0.000183037 s in the mean"));
    // The server's section alone, whose only figure is what the client told it.
    let (name, whole) = read("transcripts/neper.txt");
    let whole = String::from_utf8(whole).unwrap();
    let (_, server) = whole.rsplit_once("--- server:\n").unwrap();
    let alone = import(&[(name, server.into())]).unwrap();
    assert_eq!(alone.warnings, Vec::<String>::new());
    assert!((connections_per_second(&alone.runs[0]) - 10_926.0).abs() < 1e-6);
}

#[test]
fn sockperf_s_delays_and_rates_are_read() {
    let pp = &whole(&["formats/sockperf-3.7-pp.txt"])[0].trials[0];
    assert_eq!(
        delays(pp),
        [Some(7839), Some(9763), Some(869_079), Some(2_405_470)]
    );
    assert_eq!(pp.delay().unwrap().of, DelayOf::HalfRoundTrip);
    assert_eq!(packets(pp), [Some(8527), Some(8527), Some(0)]);
    assert_eq!(pp.payload_bytes, None, "no command line, no size");
    let rtt = &whole(&["formats/sockperf-3.7-rtt.txt"])[0];
    assert_eq!(rtt.trials[0].delay().unwrap().of, DelayOf::RoundTrip);
    assert_eq!(rtt.trials[0].transport, Transport::Tcp);
    assert_eq!(rtt.trials[0].payload_bytes, Some(ByteCount::new(100)));
    let loaded = &whole(&["formats/sockperf-3.7-ul.txt"])[0].trials[0];
    assert_eq!(
        loaded.packets(),
        None,
        "not every message asks for an answer"
    );
    assert!(loaded.reasons[0].contains("2000 messages per second"));
    let tp = &whole(&["formats/sockperf-3.7-tp.txt"])[0].trials[0];
    // 472.449 Mbps of 2^20 bits.
    assert_eq!(bps(tp.offered_load), 495_398_683);
    assert_eq!(tp.payload_bytes, Some(ByteCount::new(1400)));
    assert_eq!(tp.received_rate, None);
    let error = import(&[read("formats/sockperf-3.7-fail.txt")]).unwrap_err();
    assert!(error.to_string().contains("Is the server down?"), "{error}");
}

/// A thousand logs of two tools, every tenth cut in its middle: each good one is read, each bad one named.
#[test]
fn of_a_thousand_mixed_logs_every_good_one_is_read_and_every_bad_one_named() {
    let log = |place: usize| {
        let port = 40_000 + place;
        if place.is_multiple_of(2) {
            return format!(
                "Connecting to host 10.0.0.1, port 5201\n\
                 [  5] local 10.0.0.2 port {port} connected to 10.0.0.1 port 5201\n\
                 [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
                 [  5]   0.00-1.00   sec   125 MBytes  1.05 Gbits/sec    0    767 KBytes\n\
                 - - - - - - - - - - - - - - - - - - - - - - - - -\n\
                 [ ID] Interval           Transfer     Bitrate         Retr\n\
                 [  5]   0.00-1.00   sec   125 MBytes  1.05 Gbits/sec    0             sender\n\
                 [  5]   0.00-1.00   sec   125 MBytes  1.05 Gbits/sec                  receiver\n\
                 \n\
                 iperf Done.\n"
            );
        }
        format!(
            "Client connecting to 10.0.0.1, TCP port 5001\n\
             [  3] local 10.0.0.2 port {port} connected with 10.0.0.1 port 5001\n\
             [ ID] Interval       Transfer     Bandwidth\n\
             [  3]  0.0-10.0 sec  52.4 MBytes  43.9 Mbits/sec\n"
        )
    };
    let is_bad = |place: usize| place % 20 < 2;
    let files: Vec<_> = (0..1000)
        .map(|place| {
            let mut text = log(place);
            if is_bad(place) {
                text.truncate(text.len() / 2);
            }
            (format!("{place}.log"), text.into_bytes())
        })
        .collect();
    let super::Imported { runs, refused, .. } = import(&files).unwrap();
    assert_eq!(runs.iter().map(|run| run.trials.len()).sum::<usize>(), 900);
    assert_eq!(refused.len(), 100);
    for place in (0..1000).filter(|place| is_bad(*place)) {
        let name = format!("{place}.log: ");
        let is_named =
            |error: &linerate_store::import::ImportError| error.to_string().starts_with(&name);
        assert!(refused.iter().any(is_named), "{name}");
    }
}

#[test]
fn nuttcp_s_transfers_are_read_with_direction_loss_and_intervals() {
    let trials = |name| {
        let runs = import(&[read(name)]).unwrap().runs;
        let trials = runs.into_iter().flat_map(|run| run.trials);
        trials.collect::<Vec<_>>()
    };
    let tcp = &trials("formats/nuttcp-6.1.2-tcp.client.txt")[0];
    let [udp, back] = &trials("formats/nuttcp-6.1.2-udp.client.txt")[..] else {
        panic!("two tests")
    };
    assert_eq!(tcp.transport, Transport::Tcp);
    assert_eq!(bps(tcp.received_rate), 645_171_400);
    assert_eq!(tcp.intervals.len(), 2);
    assert_eq!(tcp.tcp().unwrap().retransmitted_segments, Some(3));
    let counts = udp.packets().unwrap();
    assert_eq!(
        (counts.received, counts.lost),
        (Some(PacketCount::new(1449)), Some(PacketCount::new(77)))
    );
    assert_eq!(bps(udp.received_rate), 47_321_900);
    assert_eq!(back.direction, Direction::Reverse);
    let lost = back.packets().unwrap().lost;
    assert_eq!(lost, Some(PacketCount::new(192)));
}

#[test]
fn ntttcp_counts_what_its_own_end_did() {
    let trial = |name| {
        let imported = import(&[read(name)]).unwrap();
        assert_eq!(imported.refused, []);
        imported.runs[0].trials[0].clone()
    };
    let sender = trial("formats/ntttcp-1.4.0.sender.txt");
    assert_eq!(
        (sender.transport, sender.streams),
        (Transport::Tcp, Some(4))
    );
    assert_eq!(bps(sender.offered_load), 940_000_000);
    assert_eq!(sender.received_rate, None);
    assert_eq!(sender.tcp().unwrap().retransmitted_segments, Some(42));
    let receiver = trial("formats/ntttcp-1.4.0.receiver-udp.txt");
    assert_eq!(receiver.transport, Transport::Udp);
    assert_eq!(bps(receiver.received_rate), 200_000_000);
}

#[test]
fn qperf_s_bandwidth_needs_its_time_and_latency_is_half_a_round_trip() {
    let name = "formats/qperf-0.4.11.client.txt";
    let runs = import(&[read(name)]).unwrap().runs;
    let trials: Vec<_> = runs.iter().flat_map(|run| &run.trials).collect();
    let [tcp, udp, first, second] = &trials[..] else {
        panic!("{}", trials.len())
    };
    assert_eq!(bps(tcp.received_rate), 936_000_000);
    assert_eq!(bps(udp.offered_load), 952_000_000);
    assert_eq!(bps(udp.received_rate), 896_000_000);
    for (trial, mean) in [(first, 26_100.0), (second, 24_400.0)] {
        let delay = trial.delay().unwrap();
        assert_eq!(delay.of, DelayOf::HalfRoundTrip);
        assert!((delay.mean_ns.unwrap() - mean).abs() < 1.0);
    }
    let (_, text) = read(name);
    let text = String::from_utf8(text).unwrap();
    let (_, without) = text.split_once('\n').unwrap();
    let log = ("q.log".to_owned(), without.as_bytes().to_vec());
    let imported = import(&[log]).unwrap();
    assert_eq!(imported.runs.len(), 2);
    let said = imported.warnings.join("; ");
    assert!(said.contains("does not say how long it took"), "{said}");
    // Without -t a test takes two seconds.
    let text = "$ qperf 10.0.0.2 tcp_bw\ntcp_bw:\n    bw  =  117 MB/sec\n";
    let runs = import(&[("q.log".to_owned(), text.into())]).unwrap().runs;
    let trial = &runs[0].trials[0];
    assert_eq!(bps(trial.received_rate), 936_000_000);
    assert_eq!(trial.duration.unwrap().as_secs(), 2);
}

/// A tool that is not read shares words with one that is.
#[test]
fn a_log_in_the_words_of_another_tool_is_called_by_its_name() {
    let text = "Copyright Version 5.33\n\nThread  Time(s) Throughput(KB/s) Avg B / Compl\n     0   60.001  286124.512  65536.000\n\n\
                #####  Totals:  #####\n";
    let error = import(&[("n.log".to_owned(), text.into())]).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("output of NTttcp for Windows"), "{said}");
}

#[test]
fn what_looks_like_another_tool_s_test_is_called_by_its_own_name() {
    let ethr = "Ethr: Comprehensive Network Performance Measurement Tool (Version: v1.0.0)\n\
        [  6] local 192.0.2.2 port 38170 connected to 192.0.2.1 port 8888\n\
        [ ID]   Protocol    Interval      Bits/s\n\
        [  6]     TCP      000-001 sec     9.31G\n";
    let xml = "<ntttcps computername=\"vm1\" version=\"NTTTCP for Linux 1.4.0\">\n\
        \t<throughput metric=\"mbps\">9395.2</throughput>\n</ntttcps>\n";
    let pktgen = "\\ Ports 0-1 of 2   <Main Page>  Copyright(c) <2010-2023>\n\
        \x20 Flags:Port        : -------Single      :0\nPktgen:/>\n";
    for (log, tool) in [(ethr, "Ethr"), (xml, "with `-x`"), (pktgen, "Pktgen")] {
        let error = import(&[("log".to_owned(), log.as_bytes().to_vec())]).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(tool) && error.contains("--csv") && !error.contains("HTML"),
            "{error}"
        );
    }
    // A test of a tool that is read is not hidden by what follows it.
    let (_, test) = read("formats/iperf3-3.12-nat-udp.client.txt");
    let log = [&test[..], ethr.as_bytes()].concat();
    let error = import(&[("log".to_owned(), log)]).unwrap_err();
    assert!(!error.to_string().contains("Ethr"), "{error}");
}

#[test]
fn netperf_without_banner_is_known_by_its_command_line() {
    let runs = import(&[read("formats/netperf-bare.txt")]).unwrap().runs;
    let trials: Vec<_> = runs.iter().flat_map(|run| &run.trials).collect();
    let rate = |transport| {
        let of_bytes = trials
            .iter()
            .find(|trial| trial.transport == transport && trial.delay().is_none());
        bps(of_bytes.unwrap().received_rate)
    };
    assert_eq!(rate(Transport::Tcp), 941_320_000);
    assert_eq!(rate(Transport::Udp), 943_110_000);
    let mean = trials.iter().find_map(|trial| trial.delay()?.mean_ns);
    assert!((mean.unwrap() - 48_989.5).abs() < 1.0, "{mean:?}");
}
