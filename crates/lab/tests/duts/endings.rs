//! Devices that end otherwise than by being closed.

use crate::conformance::{for_every_device, need, started, traces};
use linerate_model::Clock as _;
use linerate_model::dut::DutWork;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testbed::duts::Dut;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// First argument of this program as the one that is killed.
pub(crate) const HOLD: &str = "--hold-device";

/// Processes that work for a device.
fn processes(dut: &dyn Dut) -> Vec<u32> {
    match dut.work() {
        DutWork::Elsewhere | DutWork::Softirq => Vec::new(),
        DutWork::Threads(threads) => {
            let mut all: Vec<_> = threads.iter().map(|thread| thread.pid).collect();
            all.dedup();
            all
        }
    }
}

/// Starts a device, writes the processes that work for it, and waits for its end.
pub(crate) fn hold(kind: &str) -> ExitCode {
    let dut = started(kind);
    let mut out = std::io::stdout();
    writeln!(out, "{:?}", processes(&*dut)).unwrap();
    out.flush().unwrap();
    // Nobody closes the pipe before this process is killed.
    let _ = std::io::stdin().read(&mut [0]);
    ExitCode::FAILURE
}

pub(crate) fn a_killed_process_leaves_nothing() {
    for_every_device(|kind, _| {
        let before = traces();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([HOLD, kind.id()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let list = line.trim().trim_matches(['[', ']']);
        let pids: Vec<u32> = list
            .split(", ")
            .filter(|pid| !pid.is_empty())
            .map(|pid| pid.parse().unwrap())
            .collect();
        assert!(
            pids.iter().all(|pid| is_there(*pid)),
            "{}: {line}",
            kind.id()
        );
        child.kill().unwrap();
        child.wait().unwrap();
        let deadline = MonoClock.now().after(Duration::from_secs(10));
        while pids.iter().any(|pid| is_there(*pid)) {
            assert!(MonoClock.now() < deadline, "{} leaves {line}", kind.id());
            sleep_until(MonoClock.now().after(Duration::from_millis(10)));
        }
        assert_eq!(traces(), before, "{}", kind.id());
    });
}

fn is_there(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // One that has ended waits for its parent, which may be slow to hear of it.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state != Some('Z')
}

pub(crate) fn a_program_that_dies_is_told_with_its_last_words() {
    for (text, program) in [("testpmd", "dpdk-testpmd"), ("ovs", "ovs-vswitchd")] {
        need(text);
        let mut dut = started(text);
        dut.counters().unwrap();
        for pid in processes(&*dut) {
            linerate_sys::process::kill(pid).unwrap();
        }
        let deadline = MonoClock.now().after(Duration::from_secs(10));
        let error = loop {
            assert!(MonoClock.now() < deadline, "{text} goes on");
            if let Err(error) = dut.counters() {
                break error.to_string();
            }
        };
        assert!(
            error.contains("has ended") && error.contains(program),
            "{error}"
        );
        assert!(error.contains("signal: 9"), "{error}");
        dut.close().unwrap();
    }
}

/// Of a program that is here nothing is missing; of one that is not, its package is named.
pub(crate) fn what_is_missing_is_said_with_its_package() {
    for (text, package, file) in [
        ("ovs", "openvswitch-switch", "ovs-vswitchd"),
        ("testpmd", "dpdk-dev", "dpdk-testpmd"),
        ("router,control=bird", "bird2", "bird"),
        (
            "router,rules=1,firewall=iptables-nft",
            "iptables",
            "iptables-nft-restore",
        ),
    ] {
        // Found without PATH: where a package that is installed has programs of root.
        if Path::new("/usr/sbin").join(file).exists() {
            continue;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args([HOLD, text])
            .env("PATH", "/nowhere")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let wanted = format!("apt-get install {package}");
        assert!(said.contains(&wanted), "{said}");
    }
}
