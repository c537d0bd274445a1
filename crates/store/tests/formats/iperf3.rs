//! iperf3's JSON and text.

use super::{both, bps, bytes, packets, read, whole};
use linerate_model::ByteCount;
use linerate_model::spec::Direction;
use linerate_store::import::import;

#[test]
fn iperf3_json_totals_are_those_of_its_sums() {
    let old = both("iperf3-3.1.3-tcp", "json");
    assert_eq!(bytes(&old), (Some(3_158_835_200), Some(3_158_573_056)));
    assert_eq!(bps(old.offered_load), 12_592_710_000);
    // The old library printed six decimals.
    let rounding = old.rounding(linerate_model::Quantity::OfferedRate).unwrap();
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

/// linerate's first versions told a client that they used no CPU at all.
#[test]
fn a_peer_that_used_no_cpu_did_not_look() {
    let (name, bytes) = read("formats/iperf3-3.1.3-tcp.client.txt");
    let text = String::from_utf8(bytes).unwrap();
    let zero = text.replace("23.3% (1.2%u/22.2%s)", "0.0% (0.0%u/0.0%s)");
    let loads = |text: &str| {
        let imported = import(&[(name.clone(), text.as_bytes().to_vec())]).unwrap();
        let cpu = imported.runs[0].trials[0].cpu.clone().unwrap();
        [cpu.sender, cpu.receiver].map(|side| side.and_then(|side| side.thread_ratio))
    };
    assert!(loads(&text)[1].is_some());
    let told = loads(&zero);
    assert!(told[0].is_some());
    assert_eq!(told[1], None);
}

#[test]
fn the_state_of_tcp_lands_in_the_run() {
    let trial = both("iperf3-3.22-stream", "json");
    let tcp = trial.tcp().unwrap();
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
    assert_eq!(
        reverse
            .rounding(linerate_model::Quantity::LostPackets)
            .unwrap()
            .low,
        279.0
    );
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
    let said = "datagrams are between two counts: the summary has 3966, the intervals 3967";
    assert!(
        imported.warnings[0].ends_with(said),
        "{:?}",
        imported.warnings
    );
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
    assert_eq!(trials[0].rtp_jitter_ns(), None, "nan is no jitter");
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
    assert_eq!(tcp.tcp().unwrap().smss_bytes, Some(32_768));
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
    assert_eq!(bidir[1].tcp().unwrap().retransmitted_segments, Some(77));
    // Several streams have a line of dashes after each interval.
    assert_eq!(bidir[0].intervals.len(), 2);
    let title = whole(&["formats/iperf3-3.12-title.client.txt"])[0].trials[0].clone();
    assert_eq!(bps(title.received_rate), 6_750_000_000);
    let letters = whole(&["formats/iperf3-3.22-formK.client.txt"])[0].trials[0].clone();
    assert!(
        letters
            .rounding(linerate_model::Quantity::OfferedRate)
            .unwrap()
            .high
            - letters
                .rounding(linerate_model::Quantity::OfferedRate)
                .unwrap()
                .low
            <= 8192.0
    );
    let omitted = both("iperf3-3.22-udpomit", "txt");
    assert!(
        omitted
            .reasons
            .iter()
            .any(|reason| reason.contains("omitted"))
    );
}

/// What `--json-stream --json-stream-full-output` prints after the lines of a test: the whole document.
fn full_output(stream: &str) -> String {
    let of = |name: &str| {
        let begin = format!("{{\"event\":\"{name}\",\"data\":");
        let data = |line: &str| Some(line.strip_prefix(&begin)?.strip_suffix('}')?.to_owned());
        stream
            .lines()
            .filter_map(data)
            .collect::<Vec<_>>()
            .join(",")
    };
    format!(
        "{{\n\t\"start\":\t{},\n\t\"intervals\":\t[{}],\n\t\"end\":\t{}\n}}\n",
        of("start"),
        of("interval"),
        of("end")
    )
}

#[test]
fn a_stream_with_its_full_output_is_one_test() {
    for end in ["client", "server"] {
        let name = format!("formats/iperf3-3.22-stream.{end}.json");
        let (_, stream) = read(&name);
        let stream = String::from_utf8(stream).unwrap();
        let whole = full_output(&stream);
        let file = |name: &str, text: String| (name.to_owned(), text.into_bytes());
        let alone = import(&[file("a", stream.clone())]).unwrap();
        let both = import(&[file("a", format!("{stream}{whole}"))]).unwrap();
        assert_eq!(both.warnings, Vec::<String>::new());
        assert_eq!(both.runs.len(), 1, "{end}");
        assert_eq!(both.runs[0].trials, alone.runs[0].trials);
        assert_eq!(both.runs[0].id, alone.runs[0].id, "one test, one id");
        // In a file of its own it is the same test, said twice.
        let apart = import(&[file("a", stream.clone()), file("b", whole.clone())]).unwrap();
        assert_eq!(apart.runs.len(), 1);
        assert!(
            apart.warnings[0].contains("given twice"),
            "{:?}",
            apart.warnings
        );
        // Cut in its second half, the first half still has it all.
        let cut = format!("{stream}{}", &whole[..whole.len() / 2]);
        let cut = import(&[file("a", cut)]).unwrap();
        assert_eq!(cut.runs[0].trials, alone.runs[0].trials);
        assert!(cut.refused[0].to_string().contains("cut off"));
    }
}

/// The heading of a client's intervals is lost: their own columns tell that it sent.
#[test]
fn parallel_streams_without_the_heading_of_their_intervals_are_read_as_they_went() {
    const HEADING: &str = "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n";
    let log = |heading: &str| {
        let text = format!(
            "Connecting to host 10.0.0.2, port 5201\n\
             [  5] local 10.0.0.1 port 60738 connected to 10.0.0.2 port 5201\n\
             [  7] local 10.0.0.1 port 60742 connected to 10.0.0.2 port 5201\n{heading}\
             [  5]   0.00-1.00   sec  5.00 MBytes  41.9 Mbits/sec    3   59.4 KBytes\n\
             [  7]   0.00-1.00   sec  6.00 MBytes  50.3 Mbits/sec    2   48.1 KBytes\n\
             [SUM]   0.00-1.00   sec  11.0 MBytes  92.3 Mbits/sec    5\n\
             - - - - - - - - - - - - - - - - - - - - - - - - -\n\
             [ ID] Interval           Transfer     Bitrate         Retr\n\
             [  5]   0.00-1.00   sec  5.00 MBytes  41.9 Mbits/sec    3             sender\n\
             [  5]   0.00-1.00   sec  4.90 MBytes  41.1 Mbits/sec                  receiver\n\
             [  7]   0.00-1.00   sec  6.00 MBytes  50.3 Mbits/sec    2             sender\n\
             [  7]   0.00-1.00   sec  5.90 MBytes  49.5 Mbits/sec                  receiver\n\
             [SUM]   0.00-1.00   sec  11.0 MBytes  92.3 Mbits/sec    5             sender\n\
             [SUM]   0.00-1.00   sec  10.8 MBytes  90.6 Mbits/sec                  receiver\n\niperf Done.\n"
        );
        let imported = import(&[("a.log".to_owned(), text.into_bytes())]).unwrap();
        assert_eq!(imported.warnings, Vec::<String>::new(), "{heading}");
        imported.runs[0].trials.clone()
    };
    assert_eq!(log(""), log(HEADING));
}
