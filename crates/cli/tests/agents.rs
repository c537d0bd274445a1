//! The agents that `make dist` builds, each run by an emulator of its processor against this host's own program.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_testkit::child::KilledChild;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Architectures as `ci/dist` names them, and as QEMU does.
const AGENTS: [(&str, &str); 4] = [
    ("riscv64", "riscv64"),
    ("armv7", "arm"),
    ("aarch64", "aarch64"),
    ("x86-64", "x86_64"),
];

/// An agent under its emulator.
fn agent(arch: &str, emulator: &str) -> Command {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/dist");
    let program: PathBuf = dist.join(format!("linerate-{arch}"));
    assert!(
        program.is_file(),
        "`make dist` builds {}",
        program.display()
    );
    let mut command = Command::new(format!("qemu-{emulator}-static"));
    command.arg(program);
    command
}

/// A server under its emulator, and the address that it announces.
fn serve(arch: &str, emulator: &str) -> (KilledChild, String) {
    let mut command = agent(arch, emulator);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut server = KilledChild::from(command.spawn().unwrap());
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let (mut all, mut address) = (String::new(), None);
    while address.is_none() {
        let mut line = String::new();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "{arch}: {all}");
        all.push_str(&line);
        let announced = line.trim().rsplit_once("serving the native protocol on ");
        address = announced.map(|(_, address)| address.to_owned());
    }
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    (server, address.unwrap())
}

/// The run of a test by this host's own program.
fn measure(words: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_linerate"))
        .args(words)
        .args(["--json", "--no-store"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "needs what `make dist` builds, and qemu-user-static"]
fn every_agent_starts_and_says_its_version() {
    for (arch, emulator) in AGENTS {
        let output = agent(arch, emulator).arg("--version").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arch}: {said}");
        let version = concat!("linerate ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), version, "{arch}");
    }
}

#[test]
#[ignore = "needs what `make dist` builds, and qemu-user-static"]
fn every_agent_is_measured_over_loopback() {
    for (arch, emulator) in AGENTS {
        let (_server, address) = serve(arch, emulator);
        let run = measure(&["udp", &address, "--rate", "1M", "-t", "1"]);
        let packets = &run["trials"][0]["packets"];
        assert!(
            packets["received"].as_u64().unwrap() > 0,
            "{arch}: {packets}"
        );
        let run = measure(&["tcp", &address, "-t", "1", "--reverse"]);
        let received = run["trials"][0]["received_bps"].as_f64();
        assert!(received.unwrap() > 0.0, "{arch}");
        let run = measure(&["latency", &address, "-t", "1", "--sizes", "64"]);
        assert!(!run["trials"].as_array().unwrap().is_empty(), "{arch}");
    }
}
