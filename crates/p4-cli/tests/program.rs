//! The program `linerate-p4` as a user meets it: what it prints, and its exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A program that swaps two bytes and sends every packet back.
const SWAP: &str = include_str!("data/swap.json");

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate-p4"));
    command
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("swap.json"), SWAP).expect("a file");
    fs::write(
        folder.path().join("good.stf"),
        "packet 3 0102 ff\nexpect 3 0201ff$\n",
    )
    .expect("a file");
    fs::write(
        folder.path().join("bad.stf"),
        "packet 3 0102\nexpect 3 0102\n",
    )
    .expect("a file");
    folder
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn tests_pass_or_fail_with_the_way_of_the_packet() {
    let folder = folder();
    let good = run(folder.path(), &["test", "swap.json", "--stf", "good.stf"]);
    assert_eq!(
        (
            good.status.code(),
            text(&good.stdout).contains("1 passed, 0 failed")
        ),
        (Some(0), true)
    );
    let bad = run(
        folder.path(),
        &[
            "test",
            "swap.json",
            "--stf",
            "good.stf",
            "bad.stf",
            "--junit",
            "results.xml",
        ],
    );
    let printed = text(&bad.stdout);
    assert_eq!(bad.status.code(), Some(7));
    assert!(
        printed.contains("line 2, port 3: byte 0 differs"),
        "{printed}"
    );
    assert!(printed.contains("extracts pair (2 B)"), "{printed}");
    let xml = fs::read_to_string(folder.path().join("results.xml")).expect("results");
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    let json = run(
        folder.path(),
        &["test", "swap.json", "--stf", "bad.stf", "--json"],
    );
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["tests"][0]["passed"], false);
}

#[test]
fn programs_are_shown_and_packets_traced() {
    let folder = folder();
    let shown = text(&run(folder.path(), &["show", "swap.json"]).stdout);
    assert!(shown.contains("pair: first:8 second:8"), "{shown}");
    let traced = text(
        &run(
            folder.path(),
            &["trace", "swap.json", "--packet", "01:02", "--port", "3"],
        )
        .stdout,
    );
    assert!(
        traced.contains("swap.p4:9") && traced.contains("sent to port 3, 2 B: 0201"),
        "{traced}"
    );
}

#[test]
fn what_is_wrong_with_the_input_is_said_with_its_exit_code() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("cut.json"), &SWAP[..SWAP.len() / 2]).expect("a file");
    fs::write(path.join("newer.json"), SWAP.replace("[2, 23]", "[2, 99]")).expect("a file");
    fs::write(
        path.join("other.p4info.txt"),
        "tables { preamble { id: 33554433 name: \"other\" } }",
    )
    .expect("a file");
    fs::write(path.join("odd.stf"), "packet 0 01\nfrobnicate 1\n").expect("a file");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["test", "cut.json", "--stf", "good.stf"], 3, "not JSON"),
        (
            &["test", "newer.json", "--stf", "good.stf"],
            3,
            "version 2.99",
        ),
        (
            &["test", "none.json", "--stf", "good.stf"],
            3,
            "cannot read none.json",
        ),
        (
            &["test", "swap.json", "--stf", "odd.stf"],
            3,
            "odd.stf: line 2",
        ),
        (
            &[
                "test",
                "swap.json",
                "--stf",
                "good.stf",
                "--p4info",
                "other.p4info.txt",
            ],
            3,
            "table other is not in the program",
        ),
        (&["trace", "swap.json", "--packet", "012"], 2, "whole bytes"),
        (&["test", "swap.json"], 2, "--stf"),
        (&["frobnicate"], 2, "frobnicate"),
    ];
    refused(path, cases);
}

/// Each command ends with its code and these words.
fn refused(path: &Path, cases: &[(&[&str], i32, &str)]) {
    for (arguments, code, words) in cases {
        let output = run(path, arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn what_is_too_long_or_of_another_architecture_is_refused() {
    let folder = folder();
    let path = folder.path();
    // As large as ten million entries are.
    for name in ["long.json", "long.stf"] {
        let file = fs::File::create(path.join(name)).expect("a file");
        file.set_len(500_000_000).expect("a sparse file");
    }
    let other = SWAP.replace("\"parser\"", "\"ingress_parser\"");
    fs::write(path.join("psa.json"), other).expect("a file");
    refused(
        path,
        &[
            (&["test", "psa.json", "--stf", "good.stf"], 3, "PSA"),
            (
                &["test", "long.json", "--stf", "good.stf"],
                3,
                "cannot read long.json: ",
            ),
            (
                &["test", "swap.json", "--stf", "long.stf"],
                3,
                "cannot read long.stf: ",
            ),
            (
                &[
                    "run",
                    "swap.json",
                    "--entries",
                    "long.stf",
                    "--port",
                    "eth0",
                ],
                3,
                "cannot read long.stf: ",
            ),
            (
                &["run", "swap.json", "--max-entries", "0", "--port", "eth0"],
                2,
                "--max-entries",
            ),
        ],
    );
}

#[test]
fn ports_that_exclude_each_other_are_refused() {
    let folder = folder();
    for (ports, reason) in [
        (["eth0", "7=eth0"], "eth0 is named twice"),
        (
            ["eth0,vlan=10", "2=eth0,vlan=10"],
            "VLAN 10 of eth0 is named twice",
        ),
        (
            ["eth0,vlan=10", "eth0,af-packet"],
            "give all its ports a VLAN, or none",
        ),
        (["eth0,vlan=4095", "eth1"], "a VLAN is 1 to 4094"),
        (["eth0,vlan", "eth1"], "af-xdp, af-packet, tap, vlan=ID"),
        (["3=eth0", "3=eth1"], "two ports have number 3"),
    ] {
        let words = ["run", "swap.json", "--port", ports[0], "--port", ports[1]];
        let refused = run(folder.path(), &words);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{reason:?} is not in {said}");
    }
}

#[test]
fn a_trace_tells_the_checksum_that_leaves() {
    let router = concat!(env!("CARGO_MANIFEST_DIR"), "/../../p4/l3_router/l3_router");
    let (program, entries) = (format!("{router}.json"), format!("{router}.stf"));
    let test = fs::read_to_string(&entries).expect("the packet test");
    let packet = test.lines().find_map(|line| line.strip_prefix("packet 0 "));
    let packet = packet.expect("a packet").replace(' ', "");
    let folder = folder();
    let arguments = [
        "trace",
        &program,
        "--entries",
        &entries,
        "--port",
        "0",
        "--packet",
        &packet,
    ];
    let traced = run(folder.path(), &arguments);
    let said = text(&traced.stdout);
    let set = said.find("checksum of ipv4 = 0xae22").expect("a checksum");
    assert!(set < said.find("sent to port 1").expect("sent"), "{said}");
}

#[test]
fn a_trace_is_drawn_beside_its_words() {
    let folder = folder();
    let arguments = [
        "trace",
        "swap.json",
        "--packet",
        "0102",
        "--draw",
        "way.svg",
    ];
    let traced = run(folder.path(), &arguments);
    assert_eq!(traced.status.code(), Some(0), "{}", text(&traced.stderr));
    let drawn = fs::read_to_string(folder.path().join("way.svg")).expect("the drawing");
    assert!(
        drawn.starts_with("<svg ") && drawn.contains("ingress from port 0"),
        "{drawn}"
    );
    let refused = run(
        folder.path(),
        &[
            "trace",
            "swap.json",
            "--packet",
            "0102",
            "--draw",
            "no/way.svg",
        ],
    );
    assert!(text(&refused.stderr).contains("cannot write no/way.svg"));
}

/// A pcap capture of these frames, one each microsecond.
fn capture(frames: &[&[u8]]) -> Vec<u8> {
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
    let mut file = words(&[0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 65_535, 1]);
    for (at, frame) in (0..).zip(frames) {
        let length = u32::try_from(frame.len()).expect("a short frame");
        file.extend(words(&[1_700_000_000, at, length, length]));
        file.extend(*frame);
    }
    file
}

#[test]
fn captured_frames_go_through_a_program_into_captures() {
    let folder = folder();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).expect("a file");
    };
    write("three.pcap", &capture(&[&[1, 2, 3], &[4, 5]]));
    // Its last packet is cut, as of a program that was killed.
    let cut = capture(&[&[6, 7], &[8, 9]]);
    write("four.pcap", &cut[..cut.len() - 1]);
    let arguments = [
        "replay",
        "swap.json",
        "--in",
        "3=three.pcap",
        "4=four.pcap",
        "--out",
        "out",
    ];
    let done = run(folder.path(), &arguments);
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(said.starts_with("received 3, sent 3\n"), "{said}");
    assert!(text(&done.stderr).contains("four.pcap: it ends within packet 2"));
    let three = fs::read(folder.path().join("out/3.pcap")).expect("a capture");
    assert!(three.ends_with(&[5, 4]));
    assert_eq!(three.len(), 24 + 16 + 3 + 16 + 2);
    let four = fs::read(folder.path().join("out/4.pcap")).expect("a capture");
    assert!(four.ends_with(&[7, 6]));
    // What is there is kept.
    let again = run(folder.path(), &arguments);
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("out/3.pcap"));
    let none = run(
        folder.path(),
        &["replay", "swap.json", "--in", "0=swap.json", "--out", "o"],
    );
    assert_eq!(none.status.code(), Some(3));
    assert!(text(&none.stderr).contains("not a pcap capture"));
}
