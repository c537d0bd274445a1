//! Emulated boards, from `board up` to `board down`: needs user namespaces, QEMU, Debian's archive and the agents that
//! `make dist` builds, so run with `--ignored`.
//!
//! The link element stands between this host and the board's network, which host B routes to:
//!
//! ```text
//!   host A ──veth── [ link element ] ──veth── host B ──TAP── board
//! ```
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

mod bench;
#[expect(dead_code, reason = "shared with other tests of the program")]
#[path = "../shared/run.rs"]
mod run;

use bench::{Bench, fetch};
use linerate_model::run::Place;
use linerate_model::spec::{Direction, Pace, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount};
use linerate_testbed::{LinkConfig, PacketList, enter_user_namespace};
use linerate_testkit::namespaces::{Case, namespace_main};
use run::Ended;
use serde_json::Value;
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case {
        name: "a_board_is_measured_as_host",
        run: a_board_is_measured_as_host,
    },
    Case {
        name: "a_second_start_needs_no_network",
        run: a_second_start_needs_no_network,
    },
    Case {
        name: "virt_of_riscv64_is_measured_over_network_and_console",
        run: virt_of_riscv64_is_measured_over_network_and_console,
    },
    Case {
        name: "virt_of_aarch64_is_measured_over_network_and_console",
        run: virt_of_aarch64_is_measured_over_network_and_console,
    },
    Case {
        name: "virt_of_armv7_is_measured_over_network_and_console",
        run: virt_of_armv7_is_measured_over_network_and_console,
    },
    Case {
        name: "the_published_study_of_the_board_is_measured_in_its_short_form",
        run: the_published_study_of_the_board_is_measured_in_its_short_form,
    },
    Case {
        name: "the_boards_cpu_is_proved_to_limit_its_saturation",
        run: the_boards_cpu_is_proved_to_limit_its_saturation,
    },
    Case {
        name: "the_ledger_has_what_the_link_dropped_whichever_end_the_board_is",
        run: the_ledger_has_what_the_link_dropped_whichever_end_the_board_is,
    },
    Case {
        name: "a_board_that_dies_in_mid_test_is_a_failed_peer",
        run: a_board_that_dies_in_mid_test_is_a_failed_peer,
    },
    Case {
        name: "two_boards_have_addresses_of_their_own",
        run: two_boards_have_addresses_of_their_own,
    },
];

fn main() -> ExitCode {
    let prepare = || {
        // In the namespace there is no way to the archive.
        fetch();
        enter_user_namespace()
    };
    namespace_main(prepare, CASES)
}

/// The run that was printed: also one that does not count, as a host that gives an emulator too little has them.
#[track_caller]
fn measured(ended: &Ended) -> Value {
    assert!(matches!(ended.code, Some(0 | 6)), "{}", ended.err);
    serde_json::from_str(&ended.out).unwrap()
}

/// A board is ready, measured and gone.
fn a_board_is_measured_as_host() {
    let bench = Bench::with(LinkConfig::default());
    let said = bench.up("lab-host", &["--machine", "sifive_u"]);
    assert!(said.contains("emulated sifive_u on QEMU"), "{said}");
    assert!(!said.contains("fetching"), "{said}");
    bench
        .linerate(&["board", "up", "lab-host"])
        .failed(2, &["is up already"]);
    let shell = [
        "board",
        "shell",
        "lab-host",
        "grep",
        "-q",
        "SiFive",
        "/proc/device-tree/model",
    ];
    assert_eq!(bench.linerate(&shell).code, Some(0));

    let run = bench.linerate(&[
        "udp",
        "board://lab-host",
        "--rate",
        "2M",
        "-t",
        "3",
        "--json",
        "--no-store",
    ]);
    let run = measured(&run);
    let server = &run["hosts"][1];
    assert_eq!(server["facts"]["board"], "SiFive HiFive Unleashed A00");
    assert!(
        server["facts"]["emulated"]
            .as_str()
            .unwrap()
            .starts_with("sifive_u on QEMU ")
    );
    assert!(server["facts"]["isa"].as_str().unwrap().starts_with("rv64"));
    assert!(run["trials"][0]["received_bps"].as_f64().unwrap() > 0.0);
    let text = bench.linerate(&[
        "udp",
        "board://lab-host",
        "--rate",
        "2M",
        "-t",
        "1",
        "--no-store",
    ]);
    assert!(text.out.contains("emulated"), "{}", text.out);

    bench.down("lab-host", "is stopped");
    bench.down("lab-host", "is not up");
    let gone = bench.linerate(&["udp", "board://lab-host", "--rate", "2M"]);
    gone.failed(5, &["linerate board up lab-host"]);
    bench.close();
}

/// What was fetched once is kept: the start says that its kernel and packages are from the cache, and how long it took.
fn a_second_start_needs_no_network() {
    let bench = Bench::with(LinkConfig::default());
    let document = bench.up_as_document("lab-again", &["--machine", "sifive_u"]);
    linerate_schema_check::validate_against(linerate_schema_check::BOARD_1, &document).unwrap();
    let board = &document["boards"][0];
    assert_eq!(board["state"], "ready");
    assert_eq!(board["start"]["base"], "cache", "{document}");
    let took = board["start"]["took_s"].as_f64().unwrap();
    println!("the second start took {took:.1} s");
    let listed = bench.linerate(&["board", "list", "--json"]).json();
    linerate_schema_check::validate_against(linerate_schema_check::BOARD_1, &listed).unwrap();
    let all = listed["boards"].as_array().unwrap();
    let same = all.iter().find(|board| board["name"] == "lab-again");
    assert_eq!(same.unwrap()["link"], board["link"]);
    bench.down("lab-again", "is stopped");
    bench.close();
}

fn virt_of_riscv64_is_measured_over_network_and_console() {
    virt_is_measured_over_network_and_console("riscv64");
}

fn virt_of_aarch64_is_measured_over_network_and_console() {
    virt_is_measured_over_network_and_console("aarch64");
}

fn virt_of_armv7_is_measured_over_network_and_console() {
    virt_is_measured_over_network_and_console("armv7");
}

/// TCP, UDP and latency against this host; then with the control connection over the emulated serial port, slow and beside
/// the kernel's messages.
fn virt_is_measured_over_network_and_console(arch: &str) {
    let bench = Bench::with(LinkConfig::default());
    let name = format!("lab-{arch}");
    bench.up(&name, &["--machine", "virt", "--arch", arch]);
    let measure = |command: &str, host: &str, words: &[&str]| {
        let words = [&[command, host, "--json", "--no-store"], words].concat();
        measured(&bench.linerate(&words))
    };
    let host = format!("board://{name}");
    let run = measure("tcp", &host, &["-t", "1", "--diagnose", "0s"]);
    assert!(
        run["trials"][0]["received_bps"].as_f64().unwrap() > 0.0,
        "{run}"
    );
    let facts = &run["hosts"][1]["facts"];
    let emulated = facts["emulated"].as_str().unwrap();
    assert!(emulated.starts_with("virt on QEMU "), "{emulated}");
    let kernel = match arch {
        "armv7" => "armv7l",
        other => other,
    };
    assert_eq!(facts["architecture"], kernel);
    let datagrams = ["--rate", "1M", "-t", "1", "--diagnose", "0s"];
    let run = measure("udp", &host, &[&datagrams[..], &["--reverse"]].concat());
    let packets = &run["trials"][0]["packets"];
    assert!(packets["received"].as_u64().unwrap() > 0, "{packets}");
    let run = measure("latency", &host, &["-t", "1", "--sizes", "64"]);
    assert!(!run["trials"].as_array().unwrap().is_empty(), "{run}");

    let (device, cable) = bench.serial_line(&name);
    let address = bench.address(&name);
    let host = format!("serial://{}?baud=9600&host={address}", device.display());
    let run = measure("udp", &host, &datagrams);
    let packets = &run["trials"][0]["packets"];
    assert!(packets["received"].as_u64().unwrap() > 0, "{packets}");
    assert_eq!(run["hosts"][1]["facts"]["architecture"], kernel);
    drop(cable);
    bench.down(&name, "is stopped");
    bench.close();
}

/// Every cell of the short form is measured, those with a link element at its rate and by it alone; both ends are sampled
/// at a load that is too much for the board: the report has the board's functions.
fn the_published_study_of_the_board_is_measured_in_its_short_form() {
    let bench = Bench::with(LinkConfig::default());
    bench.up("lab-study", &["--machine", "sifive_u"]);
    let plan = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../plans/hifive-unleashed.toml"
    );
    let host = ["--host", "board://lab-study"];
    let words = [&["run", plan, "--quick", "--json", "--no-store"], &host[..]].concat();
    let run = measured(&bench.linerate(&words));
    let parts = run["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 10, "{run}");
    let mut behind_element = 0;
    for part in parts {
        let received = part["trials"][0]["received_bps"].as_f64().unwrap();
        assert!(received > 0.0, "{part}");
        let cell = part["config"]["place"]["cell"].as_str().unwrap();
        let link = &part["config"]["target"]["link"];
        if cell.contains("link = 10M") {
            behind_element += 1;
            assert_eq!(link["rate_bps"], 10_000_000, "{cell}");
            assert!(received < 10e6, "{cell}: {received}");
        } else {
            assert!(link.is_null(), "{cell}");
        }
    }
    assert_eq!(behind_element, 2);
    let words = [
        "udp",
        "board://lab-study",
        "--rate",
        "1000M",
        "-t",
        "2",
        "--profile",
        "--diagnose",
        "0s",
        "--json",
        "--no-store",
    ];
    let run = measured(&bench.linerate(&words));
    let cost = &run["trials"][0]["profile"]["receiver"];
    assert_eq!(cost["outcome"], "sampled", "{cost}");
    assert_eq!(cost["kernel"], true, "{cost}");
    assert!(!cost["layers"].as_array().unwrap().is_empty(), "{cost}");
    bench.down("lab-study", "is stopped");
    bench.close();
}

/// What the board takes at most is its CPU's doing: relieved of most of its work for each datagram, it loses next to none
/// of half as much again.
fn the_boards_cpu_is_proved_to_limit_its_saturation() {
    let bench = Bench::with(LinkConfig::default());
    bench.up("lab-saturated", &["--machine", "sifive_u"]);
    let words = [
        "saturate",
        "board://lab-saturated",
        "--prove",
        "--json",
        "--no-store",
    ];
    let ended = bench.linerate(&words);
    // What the emulator takes can differ too much from second to second for a goal to be reached.
    assert!(matches!(ended.code, Some(0 | 6 | 7)), "{}", ended.err);
    let run: Value = serde_json::from_str(&ended.out).unwrap();
    let verdict = &run["verdict"];
    assert_eq!(verdict["limit"], "receiver-cpu", "{verdict}");
    assert_eq!(verdict["confidence"], "confirmed", "{verdict}");
    bench.down("lab-saturated", "is stopped");
    bench.close();
}

/// 137 of 100 000, the board receiving and the board sending.
fn the_ledger_has_what_the_link_dropped_whichever_end_the_board_is() {
    let mut drops: Vec<u64> = (0..100).map(|k| 17 + k * 977).collect();
    drops.extend(50_000..50_037);
    let config = LinkConfig {
        queue_bytes: ByteCount::new(1 << 20),
        drop: PacketList::from_numbers(drops),
        ..LinkConfig::default()
    };
    let bench = Bench::with(config);
    bench.up("lab-ledger", &["--machine", "sifive_u"]);
    for (way, direction) in [Direction::Forward, Direction::Reverse]
        .into_iter()
        .enumerate()
    {
        // A rate that the emulator carries on a busy host: 1250 datagrams per second.
        let pace = Pace::At(BitRate::from_bps(2_000_000));
        let spec = TestSpec {
            direction,
            stop: Stop::Transactions(100_000),
            ..TestSpec::udp_datagrams(pace).with_payload(ByteCount::new(200))
        };
        let run = bench.measure("lab-ledger", spec);
        let trial = &run.trials[0];
        let packets = trial.packets().unwrap();
        let [sent, received, lost] = [packets.sent, packets.received, packets.lost];
        assert_eq!(sent.unwrap().get(), 100_000);
        assert_eq!(received.unwrap().get() + lost.unwrap().get(), 100_000);
        assert_eq!(bench.dropped_by_list()[way], 137);
        let in_network = trial
            .ledger()
            .iter()
            .filter(|entry| entry.place == Place::Network);
        let in_network: u64 = in_network.map(|entry| entry.packets.get()).sum();
        assert_eq!(in_network, 137, "{direction:?}: {:?}", trial.ledger());
    }
    bench.down("lab-ledger", "is stopped");
    bench.close();
}

/// QEMU is killed while traffic flows through a link element: the test ends with the code of a failed peer, device and
/// element are gone with QEMU, and `down` removes what is left.
fn a_board_that_dies_in_mid_test_is_a_failed_peer() {
    let bench = Bench::with(LinkConfig::default());
    bench.up("lab-killed", &["--machine", "virt"]);
    let linked = bench.linerate(&["board", "link", "lab-killed", "--rate", "100M"]);
    assert!(linked.out.contains("100 Mbit/s (L1)"), "{linked:?}");
    let mut test = bench.start(&[
        "udp",
        "board://lab-killed",
        "--rate",
        "1M",
        "-t",
        "10m",
        "--stream",
        "--no-store",
    ]);
    test.await_line("\"event\":\"interval\"");
    bench.kill_emulator_of("lab-killed");
    let ended = test.end();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let listed = bench.linerate(&["board", "list"]).out;
    assert!(
        listed.contains("lab-killed  gone (QEMU ended: signal: 9 (SIGKILL))"),
        "{listed}"
    );
    assert!(!bench.has_interface("board1"));
    bench.down("lab-killed", "was gone; what it left is removed");
    assert!(
        !bench
            .linerate(&["board", "list"])
            .out
            .contains("lab-killed")
    );
    bench.close();
}

/// Two boards at once: each has its own address and MAC address, and they reach each other.
fn two_boards_have_addresses_of_their_own() {
    let bench = Bench::with(LinkConfig::default());
    bench.up("lab-one", &["--machine", "virt"]);
    bench.up("lab-two", &["--machine", "virt"]);
    let all = bench.linerate(&["board", "list", "--json"]).json();
    let find = |name: &str, key: &str| {
        let boards = all["boards"].as_array().unwrap();
        let board = boards.iter().find(|board| board["name"] == name).unwrap();
        board["link"][key].as_str().unwrap().to_owned()
    };
    for key in ["address", "mac"] {
        assert_ne!(find("lab-one", key), find("lab-two", key), "{all}");
    }
    let to = find("lab-two", "address");
    let shell = [
        "board",
        "shell",
        "lab-one",
        "linerate",
        "udp",
        &to,
        "--rate",
        "1M",
        "-t",
        "2",
        "--json",
        "--no-store",
    ];
    let run = bench.linerate(&shell).json();
    let facts = [&run["hosts"][0]["facts"], &run["hosts"][1]["facts"]];
    assert!(
        facts.iter().all(|facts| facts["emulated"].is_string()),
        "{run}"
    );
    assert!(run["trials"][0]["packets"]["received"].as_u64().unwrap() > 0);
    bench.down("lab-one", "is stopped");
    bench.down("lab-two", "is stopped");
    bench.close();
}
