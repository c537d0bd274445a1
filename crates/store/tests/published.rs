//! Every published log is imported without a warning, and gives the figures its study drew.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]
#![expect(clippy::float_cmp, reason = "figures as printed are exact")]

use linerate_model::run::{DelayOf, Run, RunKind, RunStatus, Trial, Verdict};
use linerate_model::spec::Side;
use linerate_model::{BitRate, ByteCount, PacketCount, Quantity};
use linerate_store::import::{Imported, import};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Every file below `dir`, by name.
fn files(dir: &str) -> Vec<(String, Vec<u8>)> {
    let mut pending = vec![fixtures().join(dir)];
    let mut files = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(fixtures()).unwrap().display().to_string();
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
    files.sort();
    assert!(!files.is_empty(), "{dir} has no files");
    files
}

#[track_caller]
fn imported(dir: &str) -> Vec<Run> {
    let Imported {
        runs,
        warnings,
        refused,
    } = import(&files(dir)).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(refused, []);
    for run in &runs {
        assert_eq!(run.status, RunStatus::Complete, "{:?}", run.title);
    }
    runs
}

fn mbps(rate: Option<BitRate>) -> f64 {
    rate.unwrap().as_f64() / 1e6
}

fn at<'a>(run: &'a Run, label: &str) -> &'a Trial {
    let mut found = run
        .trials
        .iter()
        .filter(|trial| trial.label.as_deref() == Some(label));
    let trial = found.next().unwrap_or_else(|| panic!("no trial {label}"));
    assert!(found.next().is_none(), "two trials {label}");
    trial
}

/// The run of the load curve whose sender is `client`.
fn curve<'a>(runs: &'a [Run], client: &str) -> &'a Run {
    let mut found = runs
        .iter()
        .filter(|run| run.kind() == RunKind::Udp && run.hosts[0].name.as_deref() == Some(client));
    let run = found.next().unwrap();
    assert!(found.next().is_none(), "two curves of {client}");
    run
}

fn transfer<'a>(runs: &'a [Run], file: &str) -> &'a Trial {
    let run = runs.iter().find(|run| {
        run.source
            .as_ref()
            .unwrap()
            .files
            .iter()
            .any(|f| f.ends_with(file))
    });
    let run = run.unwrap_or_else(|| panic!("no run of {file}"));
    assert_eq!(run.kind(), RunKind::Tcp);
    assert_eq!(run.trials.len(), 1);
    &run.trials[0]
}

#[test]
fn every_file_is_in_exactly_one_run() {
    for dir in [
        "published/hifive-unleashed",
        "published/onload-sfnt-pingpong",
    ] {
        let runs = imported(dir);
        let mut sources: Vec<String> = runs
            .iter()
            .flat_map(|run| run.source.clone().unwrap().files)
            .collect();
        sources.sort();
        let names: Vec<String> = files(dir).into_iter().map(|(name, _)| name).collect();
        assert_eq!(sources, names);
    }
}

#[test]
fn each_file_is_imported_alone_too() {
    for file in files("published") {
        let name = file.0.clone();
        let imported = import(&[file]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(imported.warnings, Vec::<String>::new(), "{name}");
        assert_eq!(imported.runs.len(), 1, "{name}");
    }
}

#[test]
fn the_board_sends_up_to_89_mbit_and_less_when_more_is_asked() {
    let runs = imported("published/hifive-unleashed/udp");
    assert_eq!(runs.len(), 2);
    let run = curve(&runs, "freedom-u540");
    assert_eq!(run.hosts[1].name.as_deref(), Some("Lhotze"));
    assert_eq!(run.trials.len(), 12);
    assert!(run.trials.is_sorted_by_key(|trial| trial.intended_load));
    assert_eq!(mbps(at(run, "64M").received_rate), 64.0);
    assert_eq!(mbps(at(run, "70M").received_rate), 70.0);
    assert_eq!(mbps(at(run, "256M").received_rate), 89.1);
    assert_eq!(mbps(at(run, "512M").received_rate), 66.5);
    assert_eq!(mbps(at(run, "1000M").received_rate), 64.3);
    for trial in &run.trials {
        assert_eq!(trial.loss_ratio().unwrap().get(), 0.0, "{:?}", trial.label);
        assert_eq!(trial.offered_load, trial.received_rate);
        assert_eq!(trial.payload_bytes, Some(ByteCount::new(1448)));
    }
}

#[test]
fn the_board_receives_less_than_is_sent_from_256_mbit_on() {
    let runs = imported("published/hifive-unleashed/udp");
    let run = curve(&runs, "Lhotze");
    assert_eq!(run.trials.len(), 11);
    assert_eq!(at(run, "128M").loss_ratio().unwrap().get(), 0.0);
    for (label, received, percent) in [
        ("256M", 183.0, 28.0),
        ("512M", 175.0, 66.0),
        ("1000M", 175.0, 82.0),
    ] {
        let trial = at(run, label);
        assert_eq!(mbps(trial.received_rate), received);
        let loss = trial.loss_ratio().unwrap().get() * 100.0;
        assert!((loss - percent).abs() < 0.6, "{label}: {loss}");
    }
    assert_eq!(mbps(at(run, "1000M").offered_load), 956.0);
}

#[test]
fn datagrams_are_exact_and_the_uncounted_tail_is_an_interval() {
    let runs = imported("published/hifive-unleashed/udp/board-receives");
    let trial = at(&runs[0], "512M");
    let packets = trial.packets().unwrap();
    assert_eq!(packets.sent, Some(PacketCount::new(441_959)));
    assert_eq!(packets.received, Some(PacketCount::new(441_703 - 290_265)));
    assert_eq!(
        packets.lost,
        Some(PacketCount::new(441_959 - 441_703 + 290_265))
    );
    let lost = trial.rounding(Quantity::LostPackets).unwrap();
    assert_eq!((lost.low, lost.high), (290_265.0, 290_521.0));
    assert!(
        trial.reasons[0].contains("the last 256"),
        "{:?}",
        trial.reasons
    );
    // 441 959 datagrams of 1448 bytes print as "610 MBytes".
    assert_eq!(trial.sent_bytes, Some(ByteCount::new(441_959 * 1448)));
}

#[test]
fn what_no_line_tells_is_unknown_and_not_zero() {
    for run in imported("published") {
        for trial in &run.trials {
            let packets = trial.packets().copied().unwrap_or_default();
            assert_eq!((packets.duplicated, packets.reordered), (None, None));
            assert!(trial.cpu.is_none() && trial.ledger().is_empty());
        }
    }
    let files = files("published/hifive-unleashed/udp/board-receives");
    let server = files
        .iter()
        .find(|(name, _)| name.ends_with("512M.server.log"));
    let alone = import(&[server.unwrap().clone()]).unwrap();
    let trial = &alone.runs[0].trials[0];
    assert_eq!((trial.offered_load, trial.sent_bytes), (None, None));
    assert_eq!(trial.packets().unwrap().sent, None);
    assert_eq!(
        trial.packets().unwrap().lost,
        Some(PacketCount::new(290_265))
    );
}

#[test]
fn tcp_follows_its_window() {
    let runs = imported("published/hifive-unleashed/tcp");
    for (file, rate, kib) in [
        ("board-sends.client.log", 127.0, 148..=230),
        ("board-receives.client.log", 223.0, 471..=645),
    ] {
        let trial = transfer(&runs, file);
        assert_eq!(mbps(trial.received_rate), rate);
        let windows: Vec<u64> = trial
            .intervals
            .iter()
            .filter_map(|interval| Some(interval.cwnd_bytes?.get() / 1024))
            .collect();
        assert_eq!(windows.iter().min(), Some(kib.start()), "{file}");
        assert_eq!(windows.iter().max(), Some(kib.end()), "{file}");
        assert!(
            trial
                .intervals
                .iter()
                .any(|interval| interval.received_rate.is_some())
        );
    }
    let tcp = transfer(&runs, "board-receives.client.log").tcp().unwrap();
    assert_eq!(tcp.retransmitted_segments, Some(29));
    assert_eq!(tcp.cwnd_max_bytes, Some(ByteCount::new(645 * 1024)));
    let paced = transfer(&runs, "board-sends-pace100M.client.log");
    assert_eq!(mbps(paced.intended_load), 100.0);
    let old = transfer(&runs, "iperf2-board-sends-link1000.client.log");
    assert_eq!(mbps(old.offered_load), 186.0);
    assert_eq!((old.received_rate, old.tcp()), (None, None));
}

/// What the rules say of an import with `--link-speed 1G`.
fn explained(run: &Run) -> Verdict {
    let mut run = run.clone();
    run.config.link_speed = Some(BitRate::from_bps(1_000_000_000));
    linerate_analysis::diagnose(&run).0
}

#[test]
fn neither_the_window_nor_the_link_limits_the_boards_tcp() {
    let runs = imported("published/hifive-unleashed/tcp");
    for (file, windows, share) in [
        ("board-sends.client.log", "148 and 230 KiB", "12.7 %"),
        ("board-receives.client.log", "471 and 645 KiB", "22.3 %"),
    ] {
        let of = |run: &&Run| {
            let files = &run.source.as_ref().unwrap().files;
            files.iter().any(|name| name.ends_with(file))
        };
        let verdict = explained(runs.iter().find(of).unwrap());
        assert_eq!(verdict.limit.id(), "unknown", "{verdict:?}");
        let link = format!("{share} of the link's 1 Gbit/s");
        for said in ["Not the congestion window", windows, &link, "a busy host"] {
            assert!(verdict.claim.contains(said), "{said}: {}", verdict.claim);
        }
        let evidence = verdict.evidence.join("\n");
        for missing in [
            "RTT at rest and under load",
            "receiver-window and send-buffer",
            "CPU use",
        ] {
            assert!(evidence.contains(missing), "{missing}: {evidence}");
        }
    }
}

#[test]
fn the_board_is_the_limit_of_udp_as_sender_without_loss_and_as_receiver_with_it() {
    let runs = imported("published/hifive-unleashed/udp");
    let sends = explained(curve(&runs, "freedom-u540"));
    assert_eq!(sends.side, Some(Side::Sender), "{sends:?}");
    assert!(sends.claim.contains("with no loss"), "{}", sends.claim);
    let receives = explained(curve(&runs, "Lhotze"));
    assert_eq!(receives.side, Some(Side::Receiver), "{receives:?}");
}

#[test]
fn rounded_figures_carry_their_rounding() {
    let runs = imported("published/hifive-unleashed/tcp");
    let trial = transfer(&runs, "board-sends.client.log");
    let bounds = |quantity: Quantity| {
        let rounding = trial.rounding(quantity).unwrap();
        (rounding.low, rounding.high)
    };
    assert_eq!(bounds(Quantity::ReceivedRate), (126.5e6, 127.5e6));
    assert_eq!(
        bounds(Quantity::SentBytes),
        (151.5 * 1_048_576.0, 152.5 * 1_048_576.0)
    );
    let (low, high) = bounds(Quantity::Duration);
    assert!(
        (low - 10.02).abs() < 1e-9 && (high - 10.035).abs() < 1e-9,
        "{low} {high}"
    );
    for run in imported("published") {
        for trial in &run.trials {
            for quantity in [Quantity::OfferedRate, Quantity::ReceivedRate] {
                let figure = quantity.of(trial);
                let inside =
                    figure.is_none_or(|value| trial.rounding(quantity).unwrap().contains(value));
                assert!(inside, "{quantity} {figure:?}");
            }
        }
    }
}

#[test]
fn ping_pong_is_half_of_a_round_trip_in_nanoseconds() {
    let runs = imported("published/onload-sfnt-pingpong");
    assert_eq!(runs.len(), 2);
    for (run, first, sizes, median_32) in [(&runs[0], 1, 17, 6827), (&runs[1], 0, 19, 5735)] {
        assert_eq!(run.kind(), RunKind::Latency);
        assert_eq!(run.tool.version.as_deref(), Some("1.5.0"));
        assert_eq!(run.trials.len(), sizes);
        assert_eq!(run.trials[0].payload_bytes, Some(ByteCount::new(first)));
        let delay = at(run, "32 B").delay().unwrap();
        assert_eq!(delay.of, DelayOf::HalfRoundTrip);
        assert_eq!(delay.p50_ns, Some(median_32));
        assert_eq!((delay.p90_ns, delay.p999_ns), (None, None));
        let facts = run.hosts[0].facts.entries();
        assert_eq!(facts["cpu"], "Intel(R) Core(TM) i5-8500 CPU @ 3.00GHz");
        assert_eq!(facts["lspci"].as_array().unwrap().len(), 3);
        assert_eq!(facts["onload-version"], "201811");
        assert_eq!(run.hosts[1].facts.rest()["ld-preload"], "libonload.so");
    }
    let tcp = at(&runs[0], "1 B").delay().unwrap();
    assert_eq!(
        (
            tcp.mean_ns,
            tcp.min_ns,
            tcp.p50_ns,
            tcp.max_ns,
            tcp.p99_ns,
            tcp.stdev_ns,
            tcp.count
        ),
        (
            Some(7668.0),
            Some(6472),
            Some(7556),
            Some(35_283),
            Some(8855),
            Some(522.0),
            Some(650_000)
        )
    );
    // Wed Dec 11 02:19:49 EST 2019
    assert_eq!(
        runs[0].started.as_ref().unwrap().to_string(),
        "2019-12-11T07:19:49Z"
    );
}

#[test]
fn imported_runs_satisfy_the_schema() {
    for run in imported("published") {
        let document = serde_json::to_value(&run).unwrap();
        linerate_schema_check::validate(&document).unwrap();
        let back: Run = serde_json::from_value(document).unwrap();
        assert_eq!(back, run);
    }
}

#[test]
fn ids_are_unique_and_the_same_every_time() {
    let ids = |runs: Vec<Run>| runs.into_iter().map(|run| run.id).collect::<Vec<_>>();
    let first = ids(imported("published"));
    assert_eq!(first, ids(imported("published")));
    let distinct: std::collections::BTreeSet<_> = first.iter().collect();
    assert_eq!(distinct.len(), first.len());
}

/// What is said of each published log, to be read beside it.
#[test]
fn every_published_transfer_is_explained_in_a_sentence() {
    let folders = ["tcp", "udp"].map(|kind| format!("published/hifive-unleashed/{kind}"));
    let runs = folders.iter().flat_map(|folder| imported(folder));
    let said = runs.map(|run| {
        let verdict = linerate_analysis::diagnose(&run).0;
        let files = &run.source.as_ref().unwrap().files;
        format!(
            "{}\n    {}: {}\n",
            files.join(", "),
            verdict.limit.id(),
            verdict.claim
        )
    });
    let text: String = said.collect();
    insta::assert_snapshot!(text);
}
