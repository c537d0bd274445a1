//! Controllers that others wrote, from the Python index, against the server: each in a Python environment of its own in `target/`.

#[expect(dead_code, reason = "shared with the tests of the server")]
#[path = "../server/bench.rs"]
mod bench;

use bench::{Bench, P4INFO, PROGRAM};
use linerate_p4_runtime::Options;
use linerate_testkit::python::environment;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign");

/// The value of a hexadecimal text.
fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Runs a script against a server without a pipeline; what it found to work.
fn run(package: &str, script: &str) -> Vec<String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python = environment(target, package).join("python");
    let bench = Bench::with(Options::default(), false);
    let folder = tempfile::tempdir().expect("a folder");
    let (p4info, program) = (
        folder.path().join("p4info.txt"),
        folder.path().join("program.json"),
    );
    fs::write(&p4info, P4INFO).expect("a file");
    fs::write(&program, PROGRAM).expect("a file");
    let mut child = Command::new(python)
        .arg(Path::new(FOLDER).join(script))
        .arg(bench.server.address().to_string())
        .args([&p4info, &program])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the script starts");
    let mut input = child.stdin.take().expect("its input");
    let (mut works, mut printed) = (Vec::new(), Vec::new());
    for line in BufReader::new(child.stdout.take().expect("its output")).lines() {
        let line = line.expect("text");
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "packet" => {
                let (port, frame) = rest.split_once(' ').expect("a port and a frame");
                let sent = bench.send(port.parse().expect("a port"), &bytes(frame));
                let sent = sent
                    .iter()
                    .map(|(port, bytes)| format!(" {port}:{}", linerate_p4::hex(bytes)));
                writeln!(input, "sent{}", sent.collect::<String>()).expect("its input");
            }
            "advance" => {
                bench.advance(Duration::from_millis(rest.parse().expect("milliseconds")));
                writeln!(input, "advanced").expect("its input");
            }
            "works" => works.push(rest.to_owned()),
            // What the client itself prints.
            _ => printed.push(line),
        }
    }
    let status = child.wait().expect("its end");
    assert!(
        status.success(),
        "{script} failed after: {works:?}; it printed: {printed:?}"
    );
    works
}

#[test]
#[ignore = "needs Python and PyPI"]
fn finsy() {
    let works = run("finsy==0.30.0", "finsy_client.py");
    assert_eq!(works.len(), 17, "{works:?}");
}

#[test]
#[ignore = "needs Python and PyPI"]
fn p4runtime_shell() {
    let works = run("p4runtime-shell==0.0.6", "shell_client.py");
    assert_eq!(works.len(), 7, "{works:?}");
}

#[test]
#[ignore = "needs Python and PyPI"]
fn aiop4() {
    let works = run("aiop4==0.4.1", "aiop4_client.py");
    assert_eq!(works.len(), 6, "{works:?}");
}
