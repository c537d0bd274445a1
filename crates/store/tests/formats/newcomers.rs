//! Logs that newcomers gave: lists of documents, cut ones beside whole ones, and figures that cannot be of one test.

use super::{bps, read};
use linerate_model::run::Run;
use linerate_model::spec::Direction;
use linerate_store::import::{Imported, import};

#[track_caller]
fn imported(text: &str) -> Imported {
    import(&[("a.log".to_owned(), text.as_bytes().to_vec())]).unwrap()
}

/// A document of iperf3 in one line, as of another test for each digit.
fn document(digit: &str) -> String {
    let (_, bytes) = read("formats/iperf3-3.12-tcp-P2R.client.json");
    let mut value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    value["start"]["cookie"] = serde_json::Value::String(format!("cookie-{digit}"));
    value.to_string()
}

fn rates(runs: &[Run]) -> Vec<u64> {
    runs.iter()
        .map(|run| bps(run.trials[0].received_rate))
        .collect()
}

#[test]
fn every_document_of_a_list_in_one_line_is_a_test() {
    let documents = ["1", "2", "3"].map(document);
    let Imported {
        runs,
        warnings,
        refused,
    } = imported(&format!("[{}]", documents.join(", ")));
    assert_eq!((warnings, refused), (vec![], vec![]));
    assert_eq!(rates(&runs), [8_598_558_847; 3]);
}

#[test]
fn a_document_that_follows_a_cut_one_is_read() {
    let (_, bytes) = read("formats/iperf3-3.12-tcp-P2R.client.json");
    let whole = String::from_utf8(bytes).unwrap();
    let (cut, _) = whole.rsplit_once("\"start\"").unwrap();
    let Imported { runs, refused, .. } = imported(&format!("{cut}\"start\":\t0,{whole}"));
    assert_eq!(rates(&runs), [8_598_558_847]);
    assert!(refused[0].to_string().contains("is damaged"), "{refused:?}");
}

#[test]
fn a_document_inside_another_object_is_named_with_what_takes_it_out() {
    let document: serde_json::Value = serde_json::from_str(&document("1")).unwrap();
    for (path, value) in [
        (
            ".results.host1",
            serde_json::json!({"results": {"host1": document}}),
        ),
        (
            ".runs[1][\"a b\"]",
            serde_json::json!({"runs": [{}, {"a b": document}]}),
        ),
    ] {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let error = import(&[("a.log".to_owned(), text.into_bytes())]).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(&format!("`jq '{path}' a.log`")), "{said}");
        assert!(!said.contains("cut off"), "{said}");
    }
}

#[test]
fn lines_of_another_format_that_are_left_out_are_refused() {
    let text = include_str!("../fixtures/formats/iperf3-3.12-title.client.txt");
    let Imported { runs, refused, .. } = imported(&format!("{}\n{text}", document("1")));
    assert_eq!(runs.len(), 1);
    let said = refused[0].to_string();
    assert!(said.contains("it also has lines of iperf3-text"), "{said}");
}

/// A client that sent 45.7 MB over TCP, of which the other end tells this.
fn tcp(receiver: &str) -> Run {
    let text = format!(
        "Connecting to host 10.0.0.2, port 5201\n\
         [  5] local 10.0.0.1 port 55326 connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
         [  5]   0.00-1.00   sec  12.4 MBytes   104 Mbits/sec  341    246 KBytes       \n\
         [  5]   1.00-2.00   sec  11.8 MBytes  99.1 Mbits/sec   17    130 KBytes       \n\
         [  5]   2.00-3.00   sec  9.88 MBytes  82.9 Mbits/sec    0    136 KBytes       \n\
         [  5]   3.00-4.00   sec  11.6 MBytes  97.5 Mbits/sec  145    229 KBytes       \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-4.00   sec  45.7 MBytes  95.8 Mbits/sec  503             sender\n\
         [  5]   0.00-4.03   sec  {receiver}                  receiver\n\niperf Done.\n"
    );
    imported(&text).runs.remove(0)
}

#[test]
fn tcp_delivers_what_was_sent() {
    for (receiver, words) in [
        ("64.7 MBytes   135 Mbits/sec", "67.8 MB arrived of 47.9 MB"),
        ("14.7 MBytes  30.6 Mbits/sec", "can have been on their way"),
    ] {
        let run = tcp(receiver);
        let said = run.doubts.join("; ");
        assert!(said.contains(words), "{said}");
        assert_eq!(run.trials[0].received_rate, None, "{receiver}");
        assert_eq!(bps(run.trials[0].offered_load), 95_800_000, "{receiver}");
    }
    // What a window and buffers hold is no contradiction.
    let right = tcp("44.7 MBytes  93.0 Mbits/sec");
    assert_eq!(right.doubts, Vec::<String>::new());
    assert_eq!(bps(right.trials[0].received_rate), 93_000_000);
}

#[test]
fn the_sum_of_a_document_is_that_of_its_streams() {
    let mut value: serde_json::Value = serde_json::from_str(&document("1")).unwrap();
    value["end"]["sum_received"]["bytes"] = 0.into();
    value["end"]["sum_received"]["bits_per_second"] = 0.into();
    let run = imported(&value.to_string()).runs.remove(0);
    let said = run.doubts.join("; ");
    assert!(said.contains("the sum over streams has 0 B"), "{said}");
    assert_eq!(run.trials[0].received_rate, None);
}

#[test]
fn a_share_of_losses_that_is_not_that_of_the_counts_is_doubted() {
    let log = |share: &str| {
        format!(
            "Connecting to host 10.0.0.2, port 5201\n\
             [  5] local 10.0.0.1 port 42774 connected to 10.0.0.2 port 5201\n\
             [ ID] Interval           Transfer     Bitrate         Total Datagrams\n\
             [  5]   0.00-1.00   sec  16.7 MBytes   140 Mbits/sec  12077  \n\
             [  5]   1.00-2.00   sec  16.7 MBytes   140 Mbits/sec  12059  \n\
             [  5]   2.00-3.00   sec  16.7 MBytes   140 Mbits/sec  12110  \n\
             - - - - - - - - - - - - - - - - - - - - - - - - -\n\
             [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
             [  5]   0.00-3.00   sec  50.1 MBytes   140 Mbits/sec  0.000 ms  0/36246 (0%)  sender\n\
             [  5]   0.00-3.02   sec  33.7 MBytes  93.4 Mbits/sec  0.237 ms  11780/36174 ({share})  receiver\n\
             \niperf Done.\n"
        )
    };
    let odd = imported(&log("3.3%")).runs.remove(0);
    let said = odd.doubts.join("; ");
    assert!(said.contains("another share beside them"), "{said}");
    for share in ["33%", "32%", "3.3e+01%"] {
        let doubts = imported(&log(share)).runs.remove(0).doubts;
        assert_eq!(doubts, Vec::<String>::new(), "{share}");
    }
}

#[test]
fn intervals_without_times_may_be_the_same_and_are_no_more_than_the_whole() {
    let log = |rows: &[&str]| {
        let row = |row: &&str| format!("   {row} MB /   1.00 sec =   94.3718 Mbps     0 retrans");
        let rows = rows.iter().map(row).collect::<Vec<_>>().join("\n");
        imported(&format!(
            "$ nuttcp -i1 -T4 10.0.0.2\n{rows}\n\n   44.9375 MB /   4.01 sec =   94.0041 Mbps 3 %TX 12 %RX 0 retrans 0.52 msRTT\n"
        ))
    };
    let full = log(&["11.2500", "11.2500", "11.2500", "11.1875"]);
    assert_eq!(full.warnings, Vec::<String>::new());
    assert_eq!(full.runs[0].trials[0].intervals.len(), 4);
    assert_eq!(rates(&full.runs), [94_004_100]);
    let odd = log(&["11.2500", "11.2500", "99.2500", "11.1875"]);
    let said = odd.warnings.join("; ");
    assert!(said.contains("bytes and rate are unknown"), "{said}");
    assert_eq!(odd.runs[0].trials[0].received_rate, None);
}

#[test]
fn a_summary_below_zero_is_said() {
    let mut value: serde_json::Value = serde_json::from_str(&document("1")).unwrap();
    for sum in ["sum_received", "sum_sent"] {
        value["end"][sum]["bytes"] = (-5_i64).into();
        value["end"][sum]["bits_per_second"] = (-40.0).into();
    }
    for stream in value["end"]["streams"].as_array_mut().unwrap() {
        for end in ["sender", "receiver"] {
            stream[end]["bytes"] = (-5_i64).into();
            stream[end]["bits_per_second"] = (-40.0).into();
        }
    }
    let run = imported(&value.to_string()).runs.remove(0);
    let said = run.doubts.join("; ");
    assert!(said.contains("sum_received are negative"), "{said}");
    assert_eq!(run.trials[0].received_rate, None);
}

#[test]
fn a_message_rate_is_that_of_the_messages() {
    let log = |rate: &str| {
        let text = include_str!("../fixtures/formats/sockperf-3.7-tp.txt");
        assert!(text.contains("Rate is 44232"));
        let mut imported = imported(&text.replace("Rate is 44232", &format!("Rate is {rate}")));
        imported.runs.remove(0).doubts.join("; ")
    };
    assert_eq!(log("44232"), "");
    assert!(log("84232").contains("are not 84232 per second"));
}

#[test]
fn ntttcps_that_wrote_to_one_file_at_once_are_named() {
    let text = include_str!("../fixtures/formats/ntttcp-1.4.0.sender.txt");
    let both = |line: &str| {
        let other = line
            .replace(":1175000000", ":587500000")
            .replace("940.00M", "470.00M");
        format!("{line}\n{}\n", other.replace("11:02", "11:03"))
    };
    let mixed: String = text.lines().map(both).collect();
    let error = import(&[("a.log".to_owned(), mixed.into_bytes())]).unwrap_err();
    assert!(error.to_string().contains("two tests are mixed"), "{error}");
}

/// A mail wraps between words, a terminal inside of them.
#[test]
fn a_stream_whose_announcement_was_wrapped_goes_the_same_way() {
    let log = |reverse: &str| {
        let text = include_str!("../fixtures/formats/iperf2-2.1.8-udprev.client.txt");
        assert!(text.contains(" (reverse)"));
        let imported = imported(&text.replace(" (reverse)", reverse));
        let trial = imported.runs[0].trials[0].clone();
        (trial.direction, trial.received_rate)
    };
    let whole = log(" (reverse)");
    assert_eq!(whole.0, Direction::Reverse);
    for wrapped in ["\n(reverse)", " (rev\nerse)", "\n  (reverse)"] {
        assert_eq!(log(wrapped), whole, "{wrapped:?}");
    }
}

/// What is said of a log that cannot be imported.
#[track_caller]
fn refusal(text: &str) -> String {
    import(&[("a.log".to_owned(), text.as_bytes().to_vec())])
        .unwrap_err()
        .to_string()
}

/// A client's log in which this stands before the first stream.
fn client(before: &str) -> String {
    format!(
        "{before}Connecting to host 10.0.0.2, port 5201\n\
         [  5] local 10.0.0.1 port 42774 connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate\n\
         [  5]   0.00-1.00   sec  88.0 MBytes   738 Mbits/sec                  \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate\n\
         [  5]   0.00-1.00   sec  88.0 MBytes   738 Mbits/sec                  sender\n\
         [  5]   0.00-1.01   sec  88.0 MBytes   731 Mbits/sec                  receiver\n\niperf Done.\n"
    )
}

#[test]
fn a_test_over_sctp_is_none_over_tcp() {
    let heading = "Starting Test: protocol: SCTP, 1 streams, 65536 byte blocks, omitting 0 seconds, 1 second test, tos 0\n";
    let mut value: serde_json::Value = serde_json::from_str(&document("1")).unwrap();
    value["start"]["test_start"]["protocol"] = "SCTP".into();
    let mut announced = client("");
    announced.insert_str(announced.find("[ ID]").unwrap(), heading);
    let asked = client("$ iperf3 -c 10.0.0.2 --sctp\n");
    for text in [announced, asked.clone(), value.to_string()] {
        let said = refusal(&text);
        assert!(said.contains("went over SCTP"), "{said}");
    }
    let Imported { runs, warnings, .. } = imported(&format!("{asked}{}", client("$ \n")));
    assert_eq!(rates(&runs), [731_000_000]);
    assert!(warnings.join("; ").contains("SCTP"), "{warnings:?}");
}

#[test]
fn a_test_over_several_paths_says_so() {
    let notes = |options: &str| {
        let log = client(&format!("$ iperf3 -c 10.0.0.2{options}\n"));
        imported(&log).runs.remove(0).trials[0].reasons.join("; ")
    };
    assert!(notes(" -m").contains("Multipath TCP"));
    assert!(!notes(" -M 1400").contains("Multipath TCP"));
}

#[test]
fn a_prompt_of_windows_is_no_markdown() {
    let said = refusal(
        "C:\\> ntttcp.exe -s -m 8,*,10.0.0.4\nCopyright Version 5.39\nThread  Time(s) Throughput(KB/s) Avg B / Compl\n",
    );
    assert!(said.contains("is output of NTttcp for Windows"), "{said}");
    assert!(!said.contains("Markdown"), "{said}");
}

#[test]
fn a_tool_that_failed_says_why_and_what_to_do() {
    let said =
        refusal("$ iperf3 -c b\niperf3: error - unable to connect to server: Connection refused\n");
    assert!(
        said.contains("(unable to connect to server: Connection refused); repeat it"),
        "{said}"
    );
}

#[test]
fn an_early_end_is_said_once_with_its_reason() {
    let (start, _) = client("")
        .split_once("- - -")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let run = imported(&format!(
        "{start}iperf3: error - control socket has closed unexpectedly\n"
    ))
    .runs
    .remove(0);
    let said = [run.notes, run.trials[0].reasons.clone()].concat();
    let of_end = said.iter().filter(|note| note.contains("ended early"));
    let of_end: Vec<_> = of_end.collect();
    assert_eq!(
        of_end,
        ["a test was ended early: control socket has closed unexpectedly"]
    );
}

#[test]
fn a_title_has_the_files_name_without_its_endings_alone() {
    for (file, name) in [
        ("logs/iperf3-3.16-wifi.client.log", "iperf3-3.16-wifi"),
        ("10.0.0.2.txt", "10.0.0.2"),
        (".log", ".log"),
    ] {
        let logs = [(file.to_owned(), client("").into_bytes())];
        let title = import(&logs).unwrap().runs.remove(0).title.unwrap();
        assert!(title.ends_with(&format!(", {name}")), "{title}");
    }
}

#[test]
fn the_host_of_a_command_line_is_the_peer() {
    for (text, title) in [
        (
            "$ nuttcp -u -R200m -T10 10.0.0.2 | tee log\n  216.2891 MB /  10.00 sec =  181.4365 Mbps 99 %TX 3 %RX 22784 / 244264 drop/pkt 9.33 %loss\n",
            "UDP ? → 10.0.0.2, a",
        ),
        (
            "$ qperf 2001:db8::1 tcp_lat\ntcp_lat:\n    latency  =  13.5 us\n",
            "TCP ping-pong ? ↔ 2001:db8::1, a",
        ),
    ] {
        let run = imported(text).runs.remove(0);
        assert_eq!(run.title.as_deref(), Some(title));
    }
}

#[test]
fn connections_of_a_request_each_are_no_ping_pong() {
    let run = imported(
        "$ netperf -H 10.0.0.2 -t TCP_CRR\n\
         MIGRATED TCP Connect/Request/Response TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n\
         Local /Remote\n\
         Socket Size   Request  Resp.   Elapsed  Trans.\n\
         Send   Recv   Size     Size    Time     Rate         \n\
         bytes  Bytes  bytes    bytes   secs.    per sec   \n\n\
         16384  131072 1        1       10.00    4810.82   \n16384  131072\n",
    )
    .runs
    .remove(0);
    assert_eq!(
        run.title.as_deref(),
        Some("TCP connections ? ↔ 10.0.0.2, a")
    );
    let rate = run.trials[0].received_packet_rate().unwrap().pps();
    assert!((rate - 4810.82).abs() < 1e-9, "{rate}");
}

#[test]
fn a_file_that_no_descriptor_is_left_for_names_the_limit() {
    let error = std::io::Error::from_raw_os_error(24);
    let said = linerate_store::import::ImportError::unreadable("a.log", &error).to_string();
    assert!(
        said.starts_with("cannot read a.log: ") && said.ends_with("(`ulimit -n`)"),
        "{said}"
    );
}

#[test]
fn a_jitter_of_any_digits_is_kept() {
    for (text, nanos) in [("0.090", 90_000), ("0.238", 238_000), ("1.501", 1_501_000)] {
        let run = imported(&format!(
            "Client connecting to 10.0.0.2, UDP port 5001\n\
             [  3] local 10.0.0.1 port 53423 connected with 10.0.0.2 port 5001\n\
             [ ID] Interval       Transfer     Bandwidth\n\
             [  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec\n\
             [  3] Sent 893 datagrams\n\
             [  3] Server Report:\n\
             [  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec   {text} ms    0/  893 (0%)\n"
        ))
        .runs
        .remove(0);
        assert_eq!(run.trials[0].rtp_jitter_ns(), Some(nanos), "{text}");
    }
    let document = imported(include_str!(
        "../fixtures/formats/iperf3-3.12-udp.client.json"
    ));
    assert_eq!(document.runs[0].trials[0].rtp_jitter_ns(), Some(13_460));
}

#[test]
fn what_netperf_sent_again_is_the_senders() {
    let log = |direction: &str, again: &str| {
        let run = imported(&format!(
            "$ netperf -H 10.0.0.2 -t omni -l 10 -- -d {direction} -o protocol,direction,elapsed_time,throughput\n\
             OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo\n\
             Protocol,Direction,Elapsed Time (sec),Throughput,Throughput Units,Local Transport Retransmissions\n\
             TCP,{direction},10.00,941.35,10^6bits/s,{again}\n"
        ))
        .runs
        .remove(0);
        assert_eq!(bps(run.trials[0].received_rate), 941_350_000);
        let tcp = run.trials[0].tcp();
        tcp.and_then(|tcp| tcp.retransmitted_segments)
    };
    assert_eq!(log("Send", "15"), Some(15));
    assert_eq!(log("Send", "-1"), None);
    assert_eq!(log("Receive", "15"), None);
}

#[test]
fn what_never_arrived_is_lost_and_not_on_its_way() {
    let run = imported(
        "Connecting to host 10.0.0.2, port 5201\n\
         Reverse mode, remote host 10.0.0.2 is sending\n\
         [  5] local 192.168.1.5 port 42774 connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
         [  5]   0.00-1.00   sec  0.00 Bytes  0.00 bits/sec  0.000 ms  0/0 (0%)  \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
         [  5]   0.00-1.04   sec   130 KBytes  1.02 Mbits/sec  0.000 ms  0/92 (0%)  sender\n\
         [  5]   0.00-1.00   sec  0.00 Bytes  0.00 bits/sec  0.000 ms  0/0 (0%)  receiver\n\niperf Done.\n",
    )
    .runs
    .remove(0);
    let trial = &run.trials[0];
    assert_eq!(trial.packets().unwrap().lost.unwrap().get(), 92);
    assert_eq!(trial.rounding(linerate_model::Quantity::LossRatio), None);
    let said = trial.reasons.join("; ");
    assert!(said.contains("none of the 92 datagrams"), "{said}");
}
