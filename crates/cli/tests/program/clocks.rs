//! A peer whose clock is another: in a time namespace, moved by as much as is known.

use crate::harness::{Place, Server};
use serde_json::Value;
use std::process::Command;

/// By how much the far clock is ahead.
const AHEAD_S: i64 = 1000;

fn far_clock() -> Server {
    let ahead = AHEAD_S.to_string();
    let space = ["--user", "--map-root-user", "--time", "--monotonic", &ahead];
    let mut command = Command::new("unshare");
    command
        .args(space)
        .args(["--fork", "--kill-child"])
        .arg(env!("CARGO_BIN_EXE_linerate"))
        .args(["serve", "--listen", "127.0.0.1:0"]);
    Server::by(&mut command)
}

/// The offset lies within its own error of the truth, and the delays with it.
#[track_caller]
fn is_found(trial: &Value, ahead: i64) {
    let one_way = &trial["one_way"];
    let clock = &one_way["clock"];
    assert_eq!(clock["method"], "convex-bounds", "{one_way}");
    let off = clock["offset_ns"].as_i64().unwrap() - ahead * 1_000_000_000;
    let error = clock["uncertainty_ns"].as_u64().unwrap();
    assert!(off.unsigned_abs() <= error, "off by {off}, says {error}");
    assert!(clock["asymmetry_ns"].as_u64().unwrap() <= error);
    assert!(one_way["forward"]["p50_ns"].as_u64().unwrap() < 1_000_000_000);
}

#[test]
#[ignore = "needs a time namespace: user namespaces or CAP_SYS_ADMIN"]
fn a_clock_in_another_time_namespace_is_found() {
    let (server, place) = (far_clock(), Place::new());
    let run = |args: &[&str]| {
        let all = [args, &[server.address(), "--json"]].concat();
        place.run(&all).document()
    };
    for transport in ["udp", "tcp"] {
        let run = run(&["latency", "--transport", transport, "-t", "500ms"]);
        is_found(&run["trials"][0], AHEAD_S);
        assert!(run["trials"][0]["one_way"]["backward"]["p50_ns"].is_u64());
    }
    let there = run(&["udp", "--rate", "1M", "-t", "500ms"]);
    is_found(&there["trials"][0], AHEAD_S);
    // Seen from the sender, the clock of who receives is behind.
    let back = run(&["udp", "--rate", "1M", "-t", "500ms", "--reverse"]);
    is_found(&back["trials"][0], -AHEAD_S);
    server.kill();
}
