//! Every kind of measurement over loopback, short: what is printed, and what is kept.

use crate::harness::run::valid;
use crate::harness::{Place, Server};
use serde_json::Value;

/// Runs `args` against a server on `host` and gives the document that it printed, which is also the one kept.
#[track_caller]
fn measured(host: &str, args: &[&str]) -> Value {
    let place = Place::new();
    let server = Server::on(host);
    let args = [&args[..1], &[server.address(), "--json"], &args[1..]].concat();
    let printed = place.run(&args).document();
    let kept = place.run(&["export", "last"]).document();
    assert_eq!(printed, kept);
    assert_eq!(printed["status"], "complete", "{}", printed["trials"]);
    assert_eq!(printed["hosts"].as_array().unwrap().len(), 2);
    assert!(printed["verdict"]["claim"].is_string());
    printed
}

fn trials(run: &Value) -> &[Value] {
    run["trials"].as_array().unwrap()
}

/// Bytes arrived, and not more than were sent.
#[track_caller]
fn carried(trial: &Value) {
    let (sent, received) = (&trial["sent_bytes"], &trial["received_bytes"]);
    assert!(received.as_u64() > Some(0), "{received}");
    assert!(received.as_u64() <= sent.as_u64(), "{received} of {sent}");
    assert!(trial["received_bps"].as_f64() > Some(0.0));
}

/// One trial is all that the budget allows: it decides no goal. Goals that it decides differently are said in a line each.
#[test]
fn a_search_that_misses_its_goals_says_which_and_why() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = ["saturate", server.address(), "--budget", "250ms", "-q"];
    let ended = place.run(&args);
    assert_eq!(ended.code, Some(7), "{ended:?}");
    let lines = ended
        .err
        .lines()
        .filter(|line| line.starts_with("linerate: "));
    let said: Vec<_> = lines.collect();
    for line in &said {
        assert!(line.starts_with("linerate: not reached: loss ≤ "), "{line}");
        let why = "the trial time of 0.25 s is used up; allow more with --budget";
        assert!(line.contains(why), "{line}");
    }
    for goal in ["loss ≤ 0 %", "loss ≤ 0.1 %", "loss ≤ 0.5 %"] {
        let named = said.iter().filter(|line| line.contains(goal)).count();
        assert_eq!(named, 1, "{goal}: {said:?}");
    }
    let none = ["saturate", server.address(), "--budget", "50ms", "-q"];
    place
        .run(&none)
        .failed(2, &["a budget of 50ms", "the first trial of 200ms"]);
}

/// Every packet is accounted for, and every lost one has a place.
#[track_caller]
fn accounted(trial: &Value) {
    let count = |key: &str| trial["packets"][key].as_u64().unwrap();
    assert!(count("received") > 0);
    assert_eq!(count("sent"), count("received") + count("lost"));
    let ledger = trial["ledger"].as_array().into_iter().flatten();
    let placed: u64 = ledger.map(|entry| entry["packets"].as_u64().unwrap()).sum();
    assert_eq!(placed, count("lost"));
}

#[test]
fn connections_are_counted_alike_at_both_ends() {
    let how = ["tcp", "--connections", "--streams", "8", "-t", "300ms"];
    let run = measured("127.0.0.1", &how);
    let trial = &trials(&run)[0];
    let [client, server] = ["client", "server"].map(|end| &trial["connections"][end]);
    assert!(client["answered"].as_u64() > Some(0), "{client}");
    assert_eq!(client["attempted"], client["answered"], "{client}");
    assert_eq!(server["accepted"], client["attempted"], "{server}");
    assert_eq!(server["answered"], client["answered"], "{server}");
    assert_eq!(trial["handshake"]["count"], client["opened"]);
    assert_eq!(trial["transaction"]["count"], client["answered"]);
    assert_eq!(trial["connections"]["asked"]["close"], "server");
    assert!(trial["received_pps"].as_f64() > Some(0.0));

    let run = measured("127.0.0.1", &["tcp", "--open", "50", "-t", "300ms"]);
    let held = &trials(&run)[0]["connections"];
    for end in ["client", "server"] {
        assert_eq!(held[end]["most_open"], 50, "{held}");
    }
}

#[test]
fn tcp_in_each_direction() {
    for (option, directions) in [
        (&[][..], &["forward"][..]),
        (&["--reverse"], &["reverse"]),
        (&["--duplex"], &["forward", "reverse"]),
    ] {
        let run = measured("127.0.0.1", &[&["tcp", "-t", "300ms"], option].concat());
        let found: Vec<_> = trials(&run)
            .iter()
            .map(|trial| trial["direction"].as_str().unwrap())
            .collect();
        assert_eq!(found, directions);
        trials(&run).iter().for_each(carried);
        assert!(
            trials(&run)[0]["tcp"].is_object(),
            "TCP_INFO of the sender, whichever side that is"
        );
    }
}

#[test]
fn tcp_in_parallel_paced_and_over_ipv6() {
    let run = measured(
        "127.0.0.1",
        &["tcp", "-t", "300ms", "-P", "2", "--pace", "50M"],
    );
    assert_eq!(trials(&run)[0]["streams"], 2);
    assert_eq!(trials(&run)[0]["intended_bps"], 50_000_000);
    carried(&trials(&run)[0]);
    let v6 = measured("[::1]", &["tcp", "-t", "300ms", "--diagnose", "0s"]);
    carried(&trials(&v6)[0]);
}

#[test]
fn udp_in_each_direction() {
    for (option, count) in [(&[][..], 1), (&["--reverse"], 1), (&["--duplex"], 2)] {
        let args = [&["udp", "--rate", "5M", "-t", "300ms"], option].concat();
        let run = measured("127.0.0.1", &args);
        assert_eq!(trials(&run).len(), count);
        for trial in trials(&run) {
            assert_eq!(trial["intended_bps"], 5_000_000);
            carried(trial);
            accounted(trial);
        }
    }
}

#[test]
fn udp_in_parallel_and_over_ipv6() {
    for host in ["127.0.0.1", "[::1]"] {
        let run = measured(
            host,
            &[
                "udp",
                "--rate",
                "5M",
                "-t",
                "300ms",
                "-P",
                "2",
                "--payload",
                "500",
            ],
        );
        assert_eq!(trials(&run)[0]["streams"], 2);
        assert_eq!(trials(&run)[0]["payload_bytes"], 500);
        accounted(&trials(&run)[0]);
    }
}

#[test]
fn udp_with_segmentation_offload_at_either_end() {
    for datapath in [
        "sockets,gso=true",
        "sockets,gro=true",
        "sockets,gso=true,gro=true",
    ] {
        let run = measured(
            "127.0.0.1",
            &[
                "udp",
                "--rate",
                "50M",
                "-t",
                "300ms",
                "--datapath",
                datapath,
            ],
        );
        accounted(&trials(&run)[0]);
        carried(&trials(&run)[0]);
    }
}

#[test]
fn latency_by_size_and_transport() {
    for transport in ["udp", "tcp"] {
        let args = [
            "latency",
            "--transport",
            transport,
            "--sizes",
            "32,1K",
            "-t",
            "200ms",
            "--warm-up",
            "10ms",
        ];
        let run = measured("127.0.0.1", &args);
        assert_eq!(trials(&run).len(), 2);
        for trial in trials(&run) {
            let delay = &trial["delay"];
            assert_eq!(delay["of"], "round-trip");
            let at = |key: &str| delay[key].as_u64().unwrap();
            assert!(
                0 < at("min_ns") && at("min_ns") <= at("p50_ns") && at("p50_ns") <= at("max_ns")
            );
        }
    }
}

#[test]
fn latency_under_load() {
    let args = [
        "latency",
        "-t",
        "200ms",
        "--warm-up",
        "10ms",
        "--load",
        "udp:2M",
    ];
    let run = measured("127.0.0.1", &args);
    let labels: Vec<_> = trials(&run)
        .iter()
        .map(|trial| trial["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels.len(), 2);
    assert!(
        labels[0].ends_with("idle") && labels[1].contains("under UDP load"),
        "{labels:?}"
    );
}

#[test]
fn a_search() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = [
        "saturate",
        server.address(),
        "--max",
        "20M",
        "--budget",
        "5s",
        "--json",
    ];
    let ended = place.run(&args);
    // On a busy machine the goal may be missed, which has a code of its own.
    assert!(matches!(ended.code, Some(0 | 7)), "{ended:?}");
    let run = valid(&ended.out);
    assert_eq!(run, place.run(&["export", "last"]).document());
    assert_eq!(run["goals"].as_array().unwrap().len(), 3);
    assert!(!trials(&run).is_empty());
    trials(&run).iter().for_each(accounted);
}

#[test]
fn a_stream_of_events_ends_with_the_run() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let printed = place
        .run(&[
            "tcp",
            server.address(),
            "-t",
            "300ms",
            "-i",
            "100ms",
            "--stream",
        ])
        .done();
    let lines: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["event"], "began");
    for event in ["progress", "interval", "trial", "ended"] {
        assert!(lines.iter().any(|line| line["event"] == event), "{event}");
    }
    valid(printed.lines().last().unwrap());
}

#[test]
fn nothing_is_kept_if_so_asked() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let mut command = crate::harness::linerate();
    command.args([
        "udp",
        server.address(),
        "--rate=1M",
        "-t",
        "100ms",
        "--no-store",
    ]);
    command.env("LINERATE_STORE", place.store());
    let printed = crate::harness::Ended::spawn(&mut command).done();
    assert!(printed.contains("received"), "{printed}");
    assert!(!place.store().exists());
}

#[test]
fn the_stored_command_line_repeats_the_run() {
    let run = measured("127.0.0.1", &["udp", "--rate", "1M", "-t", "100ms"]);
    let command = run["config"]["command"].as_str().unwrap();
    assert!(command.starts_with("linerate udp 127.0.0.1:"), "{command}");
    assert!(command.contains("--rate 1M -t 100ms"), "{command}");
}

#[test]
fn both_directions_follow_each_other_as_two_runs() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = [
        "tcp",
        server.address(),
        "--both",
        "-t",
        "200ms",
        "--diagnose",
        "0s",
        "-o",
        "both.html",
    ];
    let shown = place.run(&[&args[..], &["-q"]].concat()).done();
    assert!(
        shown.contains("TCP to ") && shown.contains("TCP from "),
        "{shown}"
    );
    let page = std::fs::read_to_string(place.file("both.html")).unwrap();
    let runs = place.listed();
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert!(page.contains(run["id"].as_str().unwrap()), "{run}");
        assert!(run["received_bps"].as_u64() > Some(0), "{run}");
    }
    let json = place.run(&[
        "saturate",
        server.address(),
        "--both",
        "--max",
        "10M",
        "--budget",
        "1s",
        "--diagnose",
        "0s",
        "--json",
    ]);
    assert!(matches!(json.code, Some(0 | 7)), "{json:?}");
    let both: Value = serde_json::from_str(&json.out).unwrap();
    let ways: Vec<_> = both
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["trials"][0]["direction"])
        .collect();
    assert_eq!(ways, ["forward", "reverse"]);
    let refused = place.run(&["tcp", server.address(), "--both", "-R"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn what_is_measured_is_called_as_its_user_says() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let title = "before the fix";
    let tcp = [
        "tcp",
        server.address(),
        "-t",
        "200ms",
        "-T",
        title,
        "-q",
        "--diagnose",
        "0s",
    ];
    place.run(&tcp).done();
    let both = ["--both", "-o", "both.html"];
    place.run(&[&tcp[..], &both].concat()).done();
    let titles: Vec<_> = place
        .listed()
        .iter()
        .map(|run| run["title"].clone())
        .collect();
    assert_eq!(titles.len(), 3);
    for expected in [title, "before the fix, forward", "before the fix, reverse"] {
        assert!(titles.iter().any(|one| one == expected), "{titles:?}");
    }
    let heading = |file: &str, title: &str| {
        let html = std::fs::read_to_string(place.file(file)).unwrap();
        assert!(html.contains(&format!("<h1>{title}</h1>")), "{file}");
    };
    heading("both.html", title);
    let report = [
        "report",
        "last~2",
        "last",
        "-q",
        "-o",
        "report.html",
        "--title",
        "A & B",
    ];
    place.run(&report).done();
    heading("report.html", "A &amp; B");
}

#[test]
fn a_title_is_a_line_and_only_of_what_can_have_one() {
    let place = Place::new();
    for title in ["", " ", &"x".repeat(201)] {
        place
            .run(&["tcp", "127.0.0.1", "--title", title])
            .failed(2, &["a title"]);
    }
    place
        .run(&["list", "--title", "x"])
        .failed(2, &["--title is for what measures"]);
}
