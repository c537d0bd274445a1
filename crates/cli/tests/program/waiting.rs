//! Latency in several wait modes at once, and under a wrapper.

use crate::harness::{Place, Server};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A short latency run of these further arguments.
fn args<'a>(address: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let short = ["-t", "200ms", "--warm-up", "5ms", "--rounds", "2", "--json"];
    [&["latency", address], &short[..], more].concat()
}

fn labels(run: &Value) -> Vec<&str> {
    let trials = run["trials"].as_array().unwrap();
    trials
        .iter()
        .map(|t| t["label"].as_str().unwrap())
        .collect()
}

/// A script of this place that can be run.
fn script(place: &Place, text: &str) -> PathBuf {
    let path = place.with("wrapper", text.as_bytes());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn every_mode_that_needs_no_privileges_in_one_run() {
    let server = Server::on("127.0.0.1");
    for transport in ["udp", "tcp"] {
        let modes = "block,spin,epoll-busy-poll,io-uring,io-uring-sqpoll";
        let more = ["--wait", modes, "--transport", transport, "--seed", "9"];
        let run = Place::new().run(&args(server.address(), &more)).document();
        assert_eq!(run["status"], "complete", "{}", run["trials"]);
        let wanted: Vec<_> = modes
            .split(',')
            .map(|mode| format!("32 B, {mode}, idle"))
            .collect();
        assert_eq!(labels(&run), wanted);
        let values = &run["config"]["asked"];
        assert_eq!(
            (&values["test"]["seed"], &values["rounds"]),
            (&json!(9), &json!(2))
        );
        let mut positions = Vec::new();
        for trial in run["trials"].as_array().unwrap() {
            let each = trial["turns"]["each"].as_array().unwrap();
            assert_eq!(each.len(), 2);
            positions.extend(each.iter().map(|turn| turn["position"].as_u64().unwrap()));
            // Spinning ends that share a core, as on a busy machine, may not get to answer in time.
            if trial["delay"]["count"].is_null() {
                continue;
            }
            for side in ["sender", "receiver"] {
                let cpu = &trial["cpu"][side];
                assert!(
                    cpu["thread_ns_per_transaction"].as_f64() > Some(0.0),
                    "{cpu}"
                );
                assert!(cpu["thread_cores"].as_f64() > Some(0.0), "{cpu}");
            }
        }
        positions.sort_unstable();
        assert!(positions.into_iter().eq(0..10));
        assert!(run["trials"][0]["delay"]["count"].as_u64() > Some(0));
        let said = |mode: usize| run["trials"][mode]["reasons"].to_string();
        assert!(said(2).contains("nothing to poll"), "{}", said(2));
        let helped = &run["trials"][4]["raw"][0]["streams"][0]["helper_cpu_s"];
        assert!(helped.as_f64() > Some(0.0), "{helped}");
    }
}

#[test]
fn a_wrapper_is_measured_beside_its_absence() {
    let (server, place) = (Server::on("127.0.0.1"), Place::new());
    let wrapper = script(
        &place,
        "#!/bin/sh\necho 'a banner'\nLD_PRELOAD=libm.so.6 EF_POLL_USEC=100000 exec \"$@\"\n",
    );
    let more = ["--wait", "block,spin", "--wrap", text(&wrapper)];
    let run = place.run(&args(server.address(), &more)).document();
    let wanted = ["block", "block, wrapped", "spin", "spin, wrapped"];
    let wanted = wanted.map(|way| format!("32 B, {way}, idle"));
    assert_eq!(labels(&run), wanted);
    let facts = &run["hosts"][0]["facts"]["wrapped_process"];
    assert_eq!(facts["ld_preload"], "libm.so.6");
    assert_eq!(facts["ld_preload_loaded"], true, "{facts}");
    assert_eq!(facts["stack_settings"], json!({"EF_POLL_USEC": "100000"}));
    assert!(facts["stack_version_missing"].is_string());
    assert_eq!(run["config"]["asked"]["wrap"], text(&wrapper));
    for trial in run["trials"].as_array().unwrap() {
        assert_eq!(trial["turns"]["each"].as_array().unwrap().len(), 2);
    }
    let second = &run["trials"][1];
    assert!(second["delay"]["count"].as_u64() > Some(0), "{second}");
}

/// Spinning calls the kernel past the C library, but never past what was loaded before it.
#[test]
fn a_stack_that_is_loaded_before_the_c_library_sees_every_message() {
    let (server, place) = (Server::on("127.0.0.1"), Place::new());
    let library = place.with("stack.so", b"");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/stack.c");
    let built = Command::new("cc")
        .args([
            "-O1",
            "-shared",
            "-fPIC",
            source,
            "-ldl",
            "-o",
            text(&library),
        ])
        .status();
    assert!(built.expect("cc, of package gcc").success());
    let counted = place.with("counted", b"");
    let wrapper = format!(
        "#!/bin/sh\nCOUNTED={} LD_PRELOAD={} exec \"$@\"\n",
        text(&counted),
        text(&library)
    );
    let wrapper = script(&place, &wrapper);
    let more = ["--wait", "spin", "--wrap", text(&wrapper)];
    let run = place.run(&args(server.address(), &more)).document();
    let trial = &run["trials"][1];
    assert_eq!(trial["label"], "32 B, spin, wrapped, idle");
    let messages = trial["delay"]["count"].as_u64().unwrap();
    let calls = std::fs::read(&counted).unwrap();
    let [sent, received] = [0, 8].map(|at| {
        let number = calls[at..at + 8].try_into().unwrap();
        u64::from_ne_bytes(number)
    });
    assert!(messages > 0 && sent >= messages, "{sent} of {messages}");
    assert!(received >= messages, "{received} of {messages}");
}

#[test]
fn wrappers_that_fail_end_the_run_before_it_begins() {
    let (server, place) = (Server::on("127.0.0.1"), Place::new());
    let broken = script(&place, "#!/bin/sh\necho no such driver >&2\nexit 3\n");
    for (wrapper, words) in [
        (text(&broken), &["no such driver", "exit status: 3"][..]),
        (
            "/nowhere/onload --fast",
            &["/nowhere/onload", "cannot be started"],
        ),
    ] {
        let ended = place.run(&args(server.address(), &["--wrap", wrapper]));
        ended.failed(4, words);
    }
    place.is_sound_with(0);
}

#[test]
fn an_unknown_mode_names_the_known_ones() {
    let ended = Place::new().run(&["latency", "127.0.0.1", "--wait", "doze"]);
    assert_eq!(ended.code, Some(2));
    for known in ["block", "spin", "busy-poll", "io-uring-sqpoll"] {
        assert!(ended.err.contains(known), "{}", ended.err);
    }
}
