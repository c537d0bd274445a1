//! One real log per format and generation: its totals are those that the log itself prints.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]
#![expect(clippy::float_cmp, reason = "figures as printed are exact")]

use linerate_model::run::{DelayOf, Run, RunKind, RunStatus, Trial};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount};
use linerate_store::import::{ALL, Imported, import};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(name: &str) -> (String, Vec<u8>) {
    let path = fixtures().join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    (name.to_owned(), bytes)
}

/// The runs of several files, which must agree with each other.
#[track_caller]
fn whole(names: &[&str]) -> Vec<Run> {
    let files: Vec<_> = names.iter().map(|name| read(name)).collect();
    let Imported { runs, warnings } = import(&files).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    runs
}

/// The one trial of a client's and a server's log.
#[track_caller]
fn both(stem: &str, ending: &str) -> Trial {
    let names = ["client", "server"].map(|end| format!("formats/{stem}.{end}.{ending}"));
    let runs = whole(&[&names[0], &names[1]]);
    let [run] = &runs[..] else {
        panic!("{} runs", runs.len());
    };
    assert_eq!(run.trials.len(), 1);
    run.trials[0].clone()
}

fn bytes(trial: &Trial) -> (Option<u64>, Option<u64>) {
    let of = |count: Option<ByteCount>| count.map(ByteCount::get);
    (of(trial.sent_bytes), of(trial.received_bytes))
}

fn packets(trial: &Trial) -> [Option<u64>; 3] {
    let packets = trial.packets.unwrap();
    [packets.sent, packets.received, packets.lost].map(|count| count.map(PacketCount::get))
}

fn bps(rate: Option<BitRate>) -> u64 {
    rate.unwrap().bps()
}

fn delays(trial: &Trial) -> [Option<u64>; 4] {
    let delay = trial.delay.clone().unwrap();
    [delay.min_ns, delay.p50_ns, delay.p99_ns, delay.max_ns]
}

#[test]
fn iperf3_json_totals_are_those_of_its_sums() {
    let old = both("iperf3-3.1.3-tcp", "json");
    assert_eq!(bytes(&old), (Some(3_158_835_200), Some(3_158_573_056)));
    assert_eq!(bps(old.offered_load), 12_592_710_000);
    // The old library printed six decimals.
    let rounding = old.rounding["offered_bps"];
    assert_eq!(
        (rounding.low, rounding.high),
        (12_592_705_000.0, 12_592_715_000.0)
    );
    let omitted = both("iperf3-3.1.3-omit", "json");
    assert_eq!(bytes(&omitted), (Some(2_309_488_640), Some(2_362_834_944)));
    assert!(omitted.reasons[0].contains("omitted"));
    let reverse = both("iperf3-3.12-tcp-P2R", "json");
    assert_eq!(reverse.direction, Direction::Reverse);
    assert_eq!(reverse.streams, Some(2));
    assert_eq!(bytes(&reverse), (Some(2_160_066_560), Some(2_155_085_824)));
    assert_eq!(bps(reverse.received_rate), 8_598_558_847);
    let lines = both("iperf3-3.22-stream", "json");
    assert_eq!(bytes(&lines), (Some(1_557_790_720), Some(1_555_431_424)));
}

#[test]
fn the_state_of_tcp_lands_in_the_run() {
    let trial = both("iperf3-3.22-stream", "json");
    let tcp = trial.tcp.unwrap();
    assert_eq!(tcp.retransmitted_segments, Some(21));
    assert_eq!(tcp.cwnd_max_bytes, Some(ByteCount::new(1_178_694)));
    assert_eq!(tcp.srtt_mean_ns, Some(93_000));
    assert_eq!(tcp.congestion_control.as_deref(), Some("bbr"));
    assert_eq!(tcp.min_rtt_ns, None, "the smallest smoothed RTT is not it");
    assert_eq!(trial.intervals[0].srtt_ns, Some(55_000));
    assert_eq!(trial.intervals[0].retransmitted_segments, Some(17));
    // Before 3.16 the process is the traffic's thread.
    let old = both("iperf3-3.1.3-tcp", "json");
    let cpu = old.cpu.unwrap();
    let load = cpu.sender.unwrap().thread_ratio.unwrap().get();
    assert!((load - 0.411).abs() < 0.001, "{load}");
    assert!(trial.cpu.is_none());
    assert!(trial.reasons[0].contains("all threads of iperf3"));
}

#[test]
fn iperf3_json_counts_datagrams_in_every_generation() {
    let reverse = both("iperf3-3.1.3-udp-R", "json");
    assert_eq!(packets(&reverse), [Some(1222), Some(912), Some(310)]);
    assert_eq!(reverse.rounding["lost"].low, 279.0);
    // The received bytes are those of the intervals: the summary has the sent ones.
    assert_eq!(bytes(&reverse), (Some(10_010_624), Some(7_471_104)));
    for (stem, count) in [("iperf3-3.7-udp", 4165), ("iperf3-3.12-udp", 4165)] {
        let trial = both(stem, "json");
        assert_eq!(packets(&trial), [Some(count), Some(count), Some(0)]);
        assert_eq!(bytes(&trial), (Some(4_998_000), Some(4_998_000)));
        assert_eq!(trial.payload_bytes, Some(ByteCount::new(1200)));
    }
    let paced = both("iperf3-3.12-udp", "json");
    assert_eq!(bps(paced.intended_load), 20_000_000);
    // Both ends' intervals are a little apart and still the same ones.
    assert!(
        paced.intervals[0].offered_load.is_some() && paced.intervals[0].received_rate.is_some()
    );
}

#[test]
fn a_receiver_that_only_tells_its_losses_received_the_rest() {
    // 3.1 counts one datagram more in its intervals than in its summary.
    let file = read("formats/iperf3-3.1.3-udp.client.json");
    let imported = import(&[file]).unwrap();
    assert!(imported.warnings[0].contains("3967 datagrams"));
    let trial = &imported.runs[0].trials[0];
    assert_eq!(packets(trial), [Some(3966), Some(3336), Some(630)]);
    let share = (3966.0 - 630.0) / 3966.0;
    assert!((trial.received_rate.unwrap().as_f64() - 19_004_065.8 * share).abs() < 1.0);
}

#[test]
fn a_bidirectional_json_keeps_its_directions_apart_also_where_names_come_twice() {
    for (stem, version, forward, reverse) in [
        (
            "iperf3-3.7-bidir",
            "3.7",
            (990_901_248, 989_590_528),
            (564_920_320, 561_119_232),
        ),
        (
            "iperf3-3.12-bidir",
            "3.12",
            (806_092_800, 804_913_152),
            (744_488_960, 735_051_776),
        ),
    ] {
        let names = ["client", "server"].map(|end| format!("formats/{stem}.{end}.json"));
        for names in [&[&*names[0]][..], &[&*names[0], &*names[1]]] {
            let runs = whole(names);
            assert_eq!(runs[0].tool.version.as_deref(), Some(version));
            let [there, back] = &runs[0].trials[..] else {
                panic!("two trials of {stem}");
            };
            assert_eq!(bytes(there), (Some(forward.0), Some(forward.1)), "{stem}");
            assert_eq!(bytes(back), (Some(reverse.0), Some(reverse.1)), "{stem}");
        }
    }
    for stem in ["iperf3-3.7-udp-bidir", "iperf3-3.22-udp-bidir"] {
        let trials = whole(&[&format!("formats/{stem}.client.json")])[0]
            .trials
            .clone();
        assert_eq!(packets(&trials[0])[0], Some(77), "{stem}");
        assert_eq!(trials[1].direction, Direction::Reverse);
    }
}

#[test]
fn a_server_s_output_inside_the_client_s_is_the_other_view() {
    for name in [
        "formats/iperf3-3.22-gso.client.json",
        "formats/iperf3-3.12-gsotext.client.json",
        "formats/iperf3-3.12-gso.client.txt",
    ] {
        let runs = whole(&[name]);
        assert_eq!(runs.len(), 1, "{name}");
        let trial = &runs[0].trials[0];
        let first = &trial.intervals[0];
        assert!(
            first.offered_load.is_some() && first.received_rate.is_some(),
            "{name}"
        );
        assert!(trial.sent_bytes >= trial.received_bytes, "{name}");
    }
}

#[test]
fn a_server_alone_tells_only_its_own_side() {
    let trial = &whole(&["formats/iperf3-3.12-udp.server.json"])[0].trials[0];
    assert_eq!((trial.offered_load, trial.sent_bytes), (None, None));
    assert_eq!(packets(trial), [None, Some(4165), Some(0)]);
    let sends = &whole(&["formats/iperf3-3.12-tcp-P2R.server.json"])[0].trials[0];
    assert_eq!(bytes(sends), (Some(2_160_066_560), None));
}

#[test]
fn a_json_document_of_a_failed_test_says_why() {
    for name in ["iperf3-3.12-refused", "iperf3-3.22-refused"] {
        let error = import(&[read(&format!("formats/{name}.json"))]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("Connection refused"), "{error}");
    }
}

/// A client's document as iperf3 3.1.1 prints one when nothing arrived.
const NOT_A_NUMBER: &str = r#"warning: this is no JSON
{"start": {"connected": [], "version": "iperf 3.1.1", "connecting_to": {"host": "b", "port": 1},
 "test_start": {"protocol": "UDP", "num_streams": 1, "blksize": 100, "reverse": 0}},
 "intervals": [{"streams": [{"socket": 4, "start": 0, "end": 1.000000, "seconds": 1.000000,
   "bytes": 1000, "bits_per_second": 8000.000000, "packets": 10, "omitted": false}],
  "sum": {}}],
 "end": {"streams": [{"udp": {"socket": 4, "start": 0, "end": 1.000000, "seconds": 1.000000, "bytes": 1000,
   "bits_per_second": 8000.000000, "jitter_ms": -nan, "lost_packets": 0, "packets": 10,
   "lost_percent": nan, "out_of_order": 2}}]}
}
iperf3: done
"#;

#[test]
fn a_document_with_text_around_it_and_nan_in_it_is_read() {
    let twice = format!(
        "{NOT_A_NUMBER}{}",
        NOT_A_NUMBER.replace("\"b\"", "\"c\"").replace("10,", "11,")
    );
    let imported = import(&[("a.json".to_owned(), twice.into_bytes())]).unwrap();
    let trials = &imported.runs[0].trials;
    assert_eq!(trials.len(), 2, "{:?}", imported.warnings);
    assert_eq!(packets(&trials[0]), [Some(10), Some(10), Some(0)]);
    assert!(
        trials[0]
            .reasons
            .iter()
            .any(|reason| reason.starts_with("2 datagrams arrived"))
    );
    assert!(
        imported.runs[0].config.values.is_empty(),
        "nan is no jitter"
    );
}

#[test]
fn json_that_is_cut_or_damaged_names_its_place() {
    let (name, whole) = read("formats/iperf3-3.12-udp.client.json");
    let text = String::from_utf8(whole).unwrap();
    for end in (1..text.trim_end().len()).step_by(7) {
        let error = import(&[(name.clone(), text.as_bytes()[..end].to_vec())]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("cut off") || end < 20, "{end}: {error}");
    }
    let damaged = text.replacen("\"end\":\t1.00009", "\"end\":\t1.0x009", 1);
    assert_ne!(damaged, text);
    let error = import(&[(name, damaged.into_bytes())])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("damaged") && error.contains("1.0x009"),
        "{error}"
    );
    let (name, lines) = read("formats/iperf3-3.22-stream.client.json");
    let text = String::from_utf8(lines).unwrap();
    let (before, _) = text.split_once("{\"event\":\"end\"").unwrap();
    let error = import(&[(name, before.as_bytes().to_vec())])
        .unwrap_err()
        .to_string();
    assert!(error.contains("its summary"), "{error}");
}

#[test]
fn old_iperf3_text_is_read_on_both_ends_and_with_several_streams() {
    let files =
        ["client", "server"].map(|end| read(&format!("formats/iperf3-3.1.3-udp.{end}.txt")));
    let imported = import(&files).unwrap();
    // 3.1 counts more datagrams in its intervals than in its summary.
    assert_eq!(imported.warnings.len(), 1, "{:?}", imported.warnings);
    let trial = &imported.runs[0].trials[0];
    assert_eq!(trial.streams, Some(2));
    assert_eq!(packets(trial), [Some(1153), Some(857), Some(296)]);
    assert_eq!(bps(trial.offered_load), 38_100_000);
    // The server's summary prints zero bytes; its intervals do not.
    assert_eq!(trial.received_bytes.unwrap().get(), 7_025_459);
    let back = both("iperf3-3.1.3-udpR", "txt");
    assert_eq!(packets(&back), [Some(306), Some(240), Some(66)]);
    let tcp = both("iperf3-3.1.3-tcp", "txt");
    assert_eq!(tcp.tcp.unwrap().smss_bytes, Some(32_768));
}

#[test]
fn iperf3_text_is_read_with_titles_times_roles_and_letters() {
    let bidir = whole(&["formats/iperf3-3.12-bidir.client.txt"])[0]
        .trials
        .clone();
    assert_eq!(bidir.len(), 2);
    assert_eq!(
        (bps(bidir[0].offered_load), bps(bidir[1].received_rate)),
        (5_350_000_000, 2_520_000_000)
    );
    assert_eq!(
        bidir[1].tcp.as_ref().unwrap().retransmitted_segments,
        Some(77)
    );
    // Several streams have a line of dashes after each interval.
    assert_eq!(bidir[0].intervals.len(), 2);
    let title = whole(&["formats/iperf3-3.12-title.client.txt"])[0].trials[0].clone();
    assert_eq!(bps(title.received_rate), 6_750_000_000);
    let letters = whole(&["formats/iperf3-3.22-formK.client.txt"])[0].trials[0].clone();
    assert!(letters.rounding["offered_bps"].high - letters.rounding["offered_bps"].low <= 8192.0);
    let omitted = both("iperf3-3.22-udpomit", "txt");
    assert!(
        omitted
            .reasons
            .iter()
            .any(|reason| reason.contains("omitted"))
    );
}

#[test]
fn iperf2_s_directions_are_told_apart() {
    let reverse = both("iperf2-2.1.8-rev", "txt");
    assert_eq!(reverse.direction, Direction::Reverse);
    assert_eq!(
        (bps(reverse.offered_load), bps(reverse.received_rate)),
        (1_870_000_000, 1_900_000_000)
    );
    assert_eq!(reverse.tcp.unwrap().retransmitted_segments, Some(31));
    let udp = both("iperf2-2.1.8-udprev", "txt");
    assert_eq!(packets(&udp), [Some(92), Some(92), Some(0)]);
    let names = ["client", "server"].map(|end| format!("formats/iperf2-2.1.8-fd.{end}.txt"));
    let runs = whole(&[&names[0], &names[1]]);
    let [there, back] = &runs[0].trials[..] else {
        panic!("two directions");
    };
    assert_eq!(
        (bps(there.offered_load), bps(there.received_rate)),
        (2_860_000_000, 2_850_000_000)
    );
    assert_eq!(
        (bps(back.offered_load), bps(back.received_rate)),
        (3_990_000_000, 3_660_000_000)
    );
}

#[test]
fn iperf2_s_csv_gives_the_totals_of_its_last_lines() {
    let tcp = &whole(&["formats/iperf2-2.1.8-csv.client.txt"])[0].trials[0];
    assert_eq!(bytes(tcp), (Some(413_139_004), None));
    assert_eq!(bps(tcp.offered_load), 3_166_974_919);
    assert_eq!(tcp.intervals.len(), 2);
    assert!(tcp.reasons[0].contains("does not name the end"));
    let parallel = &whole(&["formats/iperf2-2.1.8-csvP.client.txt"])[0].trials[0];
    assert_eq!(parallel.streams, Some(2));
    assert_eq!(bytes(parallel).0, Some(930_873_404 + 256_770_108));
    let udp = both("iperf2-2.1.8-csvu", "txt");
    assert_eq!(udp.transport, Transport::Udp);
    assert_eq!(bytes(&udp), (Some(1_255_380), Some(1_255_380)));
    assert_eq!(
        (bps(udp.offered_load), bps(udp.received_rate)),
        (10_022_273, 10_019_574)
    );
    assert_eq!(packets(&udp)[1..], [Some(854), Some(0)]);
}

/// Lines of 2.0 with the server's report, and of 2.2 with headings.
const CSV: &str = "\
20261121060000,10.0.0.1,40000,10.0.0.2,5001,3,0.0-1.0,131040,1048320
20261121060001,10.0.0.1,40000,10.0.0.2,5001,3,0.0-2.0,262080,1048320
20261121060001,10.0.0.2,5001,10.0.0.1,40000,3,0.0-2.0,257670,1030680,0.051,3,178,1.685,0
time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,writecnt,writeerr,tcpretry,tcpcwnd,tcppcwnd,tcprtt,tcprttvar
20261121060010.123,10.0.0.1,40001,10.0.0.2,5001,1,0.0,1.0,1000000,8000000,10,0,2,14,10,250,10
20261121060010.123,10.0.0.1,40001,10.0.0.2,5001,-1,0.0,1.0,1000000,8000000,10,0,2,14,10,250,10
";

#[test]
fn csv_of_2_0_has_the_server_s_report_and_headings_name_the_columns() {
    let runs = import(&[("a.csv".to_owned(), CSV.into())]).unwrap();
    assert_eq!(runs.warnings, Vec::<String>::new());
    let udp = &runs.runs[0].trials[0];
    assert_eq!(bytes(udp), (Some(262_080), Some(257_670)));
    assert_eq!(packets(udp)[2], Some(3));
    let tcp = &runs.runs[1].trials[0];
    assert_eq!(tcp.tcp.as_ref().unwrap().retransmitted_segments, Some(2));
    assert_eq!(
        tcp.tcp.as_ref().unwrap().srtt_mean_ns,
        None,
        "a total is no reading"
    );
    for end in [40, 54, 66, 98] {
        let error = import(&[("a.csv".to_owned(), CSV.as_bytes()[..end].to_vec())]);
        assert!(error.is_err(), "{end}: {error:?}");
    }
}

fn text(name: &str) -> Imported {
    import(&[read(&format!("transcripts/{name}.txt"))]).unwrap()
}

#[test]
fn zperf_uploads_have_both_ends_and_the_units_of_their_era() {
    let imported = text("zperf-16byte-header");
    assert!(
        imported.warnings[0].contains("iperf2-text"),
        "{:?}",
        imported.warnings
    );
    let curve = &imported.runs[0];
    assert_eq!((curve.kind, curve.trials.len()), (RunKind::Udp, 2));
    let fast = &curve.trials[1];
    assert_eq!(fast.label.as_deref(), Some("200M"));
    assert_eq!(bps(fast.intended_load), 200 << 20);
    assert_eq!(packets(fast), [Some(65_361), Some(65_361), Some(0)]);
    assert_eq!(bytes(fast).0, Some(65_361 * 1024));
    // 170.21 Mbps in steps of 1024, cut off.
    let rounding = fast.rounding["offered_bps"];
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
        .find(|run| run.kind == RunKind::Tcp)
        .unwrap();
    assert_eq!(bytes(&tcp.trials[0]), (Some(27_272 * 1024), None));
    let udp = imported
        .runs
        .iter()
        .find(|run| run.kind == RunKind::Udp)
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
    let interval = runs[0].trials[0].rounding["received_bps"];
    assert!(interval.contains(9.96e6) && interval.contains(9.96 * 1_048_576.0));
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
fn tests_of_iperf2_that_come_back_are_told_from_those_that_go() {
    let dual = text("lwiperf-client").runs;
    let dual: Vec<_> = dual.iter().filter(|run| run.trials.len() == 2).collect();
    assert_eq!(dual.len(), 2);
    let [there, back] = &dual[0].trials[..] else {
        panic!("two directions");
    };
    assert_eq!(
        (bps(there.received_rate), there.offered_load),
        (590_000_000, None)
    );
    assert_eq!(
        (bps(back.offered_load), back.received_rate),
        (620_000_000, None)
    );
    let trade = text("lwiperf-server").runs;
    let back = trade
        .iter()
        .find(|run| run.trials[0].direction == Direction::Reverse)
        .unwrap();
    assert_eq!(bps(back.trials[0].received_rate), 1_410_000_000);
}

#[test]
fn netperf_s_tables_and_keys_are_read() {
    let imported = text("netperf");
    assert!(imported.warnings[0].contains("connection for each request"));
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
    let mean = rr.delay.as_ref().unwrap().mean_ns.unwrap();
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
    assert_eq!(imported.runs.len(), 4);
    assert_eq!(
        bps(imported.runs[0].trials[0].received_rate),
        10_384_633_859
    );
    let rr = &imported.runs[2].trials[0];
    assert_eq!(delays(rr), [Some(16_825), None, None, Some(10_663_181)]);
    assert!((rr.received_packet_rate.unwrap().pps() - 43_221.02).abs() < 1e-6);
}

#[test]
fn sockperf_s_delays_and_rates_are_read() {
    let pp = &whole(&["formats/sockperf-3.7-pp.txt"])[0].trials[0];
    assert_eq!(
        delays(pp),
        [Some(7839), Some(9763), Some(869_079), Some(2_405_470)]
    );
    assert_eq!(pp.delay.as_ref().unwrap().of, DelayOf::HalfRoundTrip);
    assert_eq!(packets(pp), [Some(8527), Some(8527), Some(0)]);
    assert_eq!(pp.payload_bytes, None, "no command line, no size");
    let rtt = &whole(&["formats/sockperf-3.7-rtt.txt"])[0];
    assert_eq!(rtt.trials[0].delay.as_ref().unwrap().of, DelayOf::RoundTrip);
    assert_eq!(rtt.trials[0].transport, Transport::Tcp);
    assert_eq!(rtt.trials[0].payload_bytes, Some(ByteCount::new(100)));
    let loaded = &whole(&["formats/sockperf-3.7-ul.txt"])[0].trials[0];
    assert_eq!(loaded.packets, None, "not every message asks for an answer");
    assert!(loaded.reasons[0].contains("2000 messages per second"));
    let tp = &whole(&["formats/sockperf-3.7-tp.txt"])[0].trials[0];
    // 472.449 Mbps of 2^20 bits.
    assert_eq!(bps(tp.offered_load), 495_398_683);
    assert_eq!(tp.payload_bytes, Some(ByteCount::new(1400)));
    assert_eq!(tp.received_rate, None);
    let error = import(&[read("formats/sockperf-3.7-fail.txt")]).unwrap_err();
    assert!(error.to_string().contains("Is the server down?"), "{error}");
}

/// Every fixture of a format, by name.
fn all() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for dir in ["formats", "transcripts"] {
        for entry in std::fs::read_dir(fixtures().join(dir)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            files.push(read(&format!("{dir}/{name}")));
        }
    }
    files.sort();
    files
}

#[test]
fn every_format_has_a_fixture_and_every_run_satisfies_the_schema() {
    let mut formats: Vec<String> = vec!["sfnt-pingpong".to_owned()];
    for file in all() {
        let Ok(imported) = import(&[file]) else {
            continue;
        };
        for run in imported.runs {
            assert_eq!(run.status, RunStatus::Complete);
            let document = serde_json::to_value(&run).unwrap();
            linerate_schema_check::validate(&document).unwrap();
            formats.push(run.source.unwrap().format);
        }
    }
    // Found inside a file of another tool.
    formats.push("lwiperf".to_owned());
    for format in ALL {
        assert!(
            formats.iter().any(|known| known == format.id()),
            "{}",
            format.id()
        );
    }
}

#[test]
fn no_prefix_of_any_fixture_panics() {
    for (name, text) in all() {
        // A prime step: the cuts fall into each column in turn.
        let step = (text.len() / 41).max(1) | 1;
        for end in (0..text.len()).step_by(step) {
            drop(import(&[(name.clone(), text[..end].to_vec())]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_changed_fixture_never_panics(
        file in prop::sample::select(all()),
        at in any::<prop::sample::Index>(),
        new in "\\PC{0,12}",
    ) {
        let (name, mut bytes) = file;
        let at = at.index(bytes.len());
        let end = (at + new.len()).min(bytes.len());
        bytes.splice(at..end, new.bytes());
        drop(import(&[(name, bytes)]));
    }
}
