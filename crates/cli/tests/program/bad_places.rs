//! Stores, reports and peers in places where they cannot be, and values that are none.

use crate::harness::{Ended, Place, Server, good_log, linerate};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

#[test]
fn a_rate_that_is_none() {
    let place = Place::new();
    for rate in ["10X", "-1", "0", "", "1e999"] {
        let ended = place.run(&["udp", "127.0.0.1", &format!("--rate={rate}")]);
        ended.failed(2, &["--rate", "max"]);
    }
    place.is_sound_with(0);
}

#[test]
fn values_out_of_bounds_are_named() {
    let place = Place::new();
    let cases = [
        (&["tcp", "127.0.0.1", "--payload", "0"][..], "--payload 0"),
        (
            &["udp", "127.0.0.1", "--rate", "1M", "--payload", "1M"],
            "--payload 1048576",
        ),
        (&["tcp", "127.0.0.1", "-t", "0s"], "--time 0ns"),
        (&["tcp", "127.0.0.1", "-P", "10001"], "--streams"),
        (&["tcp", "127.0.0.1", "--cpu", "one"], "--cpu"),
        (
            &["latency", "127.0.0.1", "--transport", "tcp", "--sizes", "0"],
            "--sizes 0",
        ),
        (&["latency", "127.0.0.1", "--load", "quic"], "quic"),
        (&["saturate", "127.0.0.1", "--delay-goal", "fast"], "fast"),
        (&["saturate", "127.0.0.1", "--duplex"], "--duplex"),
        (&["serve", "--listen", "here"], "here"),
        (&["serve", "--allow", "x/8"], "x/8"),
        (&["serve", "--speak", "esperanto"], "esperanto"),
        (&["serve", "--speak", "native,native"], "native and native"),
        (
            &["serve", "--listen", "[::]:5201", "--speak", "native,iperf3"],
            "such as iperf3:5202",
        ),
        (
            &["tcp", "127.0.0.1", "-t", "-1"],
            "unexpected argument '-1'",
        ),
        (
            &["tcp", "224.0.0.1"],
            "224.0.0.1 is the address of many hosts",
        ),
        (&["udp", "255.255.255.255", "--rate", "1M"], "many hosts"),
        (&["tcp", "[ff02::1%lo]"], "many hosts"),
    ];
    for (args, word) in cases {
        place.run(args).failed(2, &[word]);
    }
    place.is_sound_with(0);
}

#[test]
fn a_search_between_bounds_that_cross() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let ended = place.run(&["saturate", server.address(), "--min", "20M", "--max", "10M"]);
    ended.failed(2, &["cannot search"]);
    place.is_sound_with(0);
}

#[test]
fn peers_that_cannot_be() {
    let place = Place::new();
    let cases = [
        ("http://board", 2, "http://"),
        ("quic://board", 2, "linerate serve"),
        ("a b", 2, "not a peer"),
        ("board:0", 2, "not a peer"),
        ("[::1", 2, "not a peer"),
        ("board.invalid", 5, "cannot resolve board.invalid"),
    ];
    for (far, code, word) in cases {
        place.run(&["tcp", far]).failed(code, &[word]);
    }
    place.is_sound_with(0);
}

#[test]
fn an_address_of_the_other_ip_version() {
    let place = Place::new();
    let v6 = place.run(&["tcp", "127.0.0.1", "-6"]);
    v6.failed(2, &["127.0.0.1", "no IPv6 address", "leave out"]);
    let v4 = place.run(&["tcp", "::1", "-4"]);
    v4.failed(2, &["::1", "no IPv4 address", "leave out"]);
    place.is_sound_with(0);
}

#[test]
fn a_store_that_is_a_file() {
    let place = Place::new();
    fs::write(place.store(), "").unwrap();
    let ended = place.run(&["list"]);
    ended.failed(2, &["store is not a directory", "choose another place"]);
}

#[test]
fn a_store_that_may_not_be_made() {
    // Nobody may make a directory there, not even root.
    let log = good_log();
    let ended = Ended::spawn(
        linerate()
            .arg("import")
            .arg(log)
            .args(["--store", "/sys/kernel/linerate"]),
    );
    ended.failed(
        1,
        &[
            "cannot create the store at /sys/kernel/linerate",
            "another directory",
        ],
    );
}

#[test]
fn no_place_for_a_store() {
    let mut command = linerate();
    command
        .arg("list")
        .env_remove("HOME")
        .env_remove("XDG_DATA_HOME");
    Ended::spawn(&mut command).failed(2, &["--store DIR", "--no-store"]);
}

#[test]
fn runs_that_are_not_there() {
    let place = Place::new();
    place
        .run(&["show", "last"])
        .failed(2, &["no run in", "yet"]);
    place.run(&["import", good_log().to_str().unwrap()]).done();
    let missing = place.run(&["report", "last", "2026"]);
    missing.failed(2, &["\"2026\"", "linerate list"]);
}

#[test]
fn a_report_of_no_known_format_or_in_no_directory_is_refused_before_anything_is_done() {
    let place = Place::new();
    let log = good_log();
    for (file, word) in [
        ("/dev/full", ".html"),
        ("report.pdf", ".html"),
        ("missing/report.html", "no directory missing"),
    ] {
        let ended = place.run(&["import", log.to_str().unwrap(), "-o", file]);
        ended.failed(2, &[file, word]);
        assert_eq!(ended.out, "");
    }
    place
        .run(&["list", "-o", "list.html"])
        .failed(2, &["leave out -o"]);
    place.is_sound_with(0);
}

#[test]
fn a_report_on_a_full_device_leaves_the_result_on_the_screen_and_in_the_store() {
    let place = Place::new();
    let log = good_log();
    std::os::unix::fs::symlink("/dev/full", place.file("report.html")).unwrap();
    let ended = place.run(&["import", log.to_str().unwrap(), "-o", "report.html"]);
    ended.failed(
        1,
        &[
            "cannot write report.html",
            "No space left",
            "choose a place",
        ],
    );
    assert!(ended.out.contains("result"), "{}", ended.out);
    assert_eq!(place.listed().len(), 1);
    let link = fs::symlink_metadata(place.file("report.html"));
    assert!(link.unwrap().is_symlink(), "something took its place");
    place
        .run(&["report", "last", "-o", "other.html", "--quiet"])
        .done();
    assert!(place.file("other.html").exists());
}

#[test]
fn words_that_are_no_text_name_files() {
    let place = Place::new();
    let name = std::ffi::OsStr::from_bytes(b"st\xffre");
    let run = |command: &mut Command| Ended::from(command.output().unwrap());
    run(place.command(&["import"]).arg(name)).failed(3, &["cannot read st\u{fffd}re"]);
    let log = good_log();
    run(linerate()
        .args(["import", "--store"])
        .arg(place.file("").join(name))
        .arg(log))
    .done();
    assert!(place.file("").join(name).is_dir());
}

#[test]
fn a_copy_of_a_host_that_is_none() {
    let place = Place::new();
    fs::write(place.file("file"), "").unwrap();
    fs::create_dir(place.file("empty")).unwrap();
    for root in ["file", "empty", "nowhere"] {
        place
            .run(&["doctor", "--root", root])
            .failed(2, &["--root", root, "copy of a host's files"]);
    }
}

#[test]
fn ceilings_that_cannot_be_kept_are_not_measured() {
    let ended =
        Ended::spawn(linerate().args(["calibrate", "--store", "/sys/kernel/linerate", "-t", "1d"]));
    ended.failed(1, &["cannot create the store at /sys/kernel/linerate"]);
}

#[test]
fn what_is_no_run_and_not_in_the_store_is_not_to_be_removed() {
    let place = Place::new();
    let ended = place.run(&["show", "/"]);
    ended.failed(2, &["/ holds no run"]);
    assert!(!ended.err.contains("can be removed"), "{}", ended.err);
}

#[test]
fn standard_output_that_is_full_or_closed() {
    let place = Place::new();
    for words in ["ports", "--help", "-h", "--version", "tcp -h", "help"] {
        let mut full = linerate();
        full.args(words.split(' '));
        full.stdout(File::create("/dev/full").unwrap())
            .stderr(Stdio::piped());
        let full = Ended::from(full.spawn().unwrap().wait_with_output().unwrap());
        full.failed(1, &["cannot write to standard output", "No space left"]);
    }

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut closed = place.command(&["list"]);
    closed.stdout(writer).stderr(Stdio::piped());
    let closed = Ended::from(closed.spawn().unwrap().wait_with_output().unwrap());
    assert_eq!((closed.code, closed.err.as_str()), (Some(0), ""));
}
