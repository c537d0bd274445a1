//! Any other program as a stack: measured, seen when it is ready, and gone after the run, however that ends.

use crate::harness::{Ended, Place, linerate};
use crate::stacks::{measured, until};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// A script in `place`, as the words that start it.
fn script(place: &Place, text: &str) -> String {
    let path = place.with("program", text.as_bytes());
    format!("sh {}", path.display())
}

/// The numbers of processes that a script wrote down.
fn written(place: &Place) -> Vec<u32> {
    let text = fs::read_to_string(place.file("pids")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn is_gone(process: u32) -> bool {
    !Path::new(&format!("/proc/{process}")).exists()
}

fn received(run: &Value) -> u64 {
    let trial = &run["trials"][0];
    let bytes = trial["received_bytes"]
        .as_u64()
        .or_else(|| trial["sent_bytes"].as_u64());
    bytes.unwrap_or_else(|| panic!("{trial}"))
}

#[test]
#[ignore = "needs user namespaces and the package iperf"]
fn a_server_of_debian_is_measured_in_a_namespace_of_its_own() {
    let run = measured(&["tcp", "stack://command?run=iperf -s"]);
    assert!(received(&run) > 100_000, "{run}");
    let stack = &run["stack"];
    assert_eq!(stack["stack"], "command");
    assert!(
        stack["source"]
            .as_str()
            .unwrap()
            .contains("/iperf, SHA-256 ")
    );
    assert!(stack["counters"]["tcp"]["InSegs"].as_u64().unwrap() > 10);
    // It does not tell what its program took, and nobody says that this were nothing.
    assert_eq!(stack["tcp"], Value::Null);
    assert!(!run["notes"].to_string().contains("should be equal"));
    let run = measured(&[
        "udp",
        "stack://command?run=iperf -s -u",
        "--rate",
        "10M",
        "--reverse",
    ]);
    assert!(received(&run) > 100_000, "{run}");
}

#[test]
#[ignore = "needs user namespaces and the package iperf3"]
fn another_protocol_is_spoken_once_a_line_says_that_the_program_is_ready() {
    let far = "stack://command?run=iperf3 -s --forceflush -p 7000&peer=iperf3://{address}:7000&ready=line:Server listening";
    for ip in ["-4", "-6"] {
        let run = measured(&["tcp", far, ip, "--reverse"]);
        assert!(received(&run) > 100_000, "{run}");
    }
}

#[test]
#[ignore = "needs user namespaces"]
fn a_program_that_makes_a_tap_device_is_measured_on_it() {
    let place = Place::new();
    // A stack that is given a descriptor, behind a program that makes the device by its name.
    let program = place.with(
        "program",
        b"use Socket; $^F = 255;
          my ($server, $device, @words) = @ARGV;
          sysopen(my $tap, '/dev/net/tun', 02 | 04000) or die \"tun: $!\";
          ioctl($tap, 0x400454ca, pack('a16 s x22', $device, 0x1002)) or die \"TUNSETIFF: $!\";
          socketpair(my $own, my $theirs, AF_UNIX, SOCK_STREAM, 0) or die;
          open(STDIN, '<&', $tap) or die; open(STDOUT, '>&', $theirs) or die;
          exec($server, 'stack-server-smoltcp', @words);",
    );
    let far = format!(
        "stack://command?run=perl {} {} {{device}} {{ipv4}} {{ipv6}} 5840 5840 16&link=tap",
        program.display(),
        env!("CARGO_BIN_EXE_linerate")
    );
    for ip in ["-4", "-6"] {
        let run = measured(&["tcp", &far, ip]);
        assert!(received(&run) > 100_000, "{run}");
    }
}

#[test]
#[ignore = "needs user namespaces"]
fn a_program_that_never_gets_ready_is_ended_and_said_to_be_late() {
    let place = Place::new();
    let run = script(
        &place,
        &format!(
            "echo $$ > {}\necho still thinking\nexec sleep 1000\n",
            place.file("pids").display()
        ),
    );
    let late = |options: &str| {
        let mut command = linerate();
        command.args([
            "tcp",
            &format!("stack://command?run={run}&start-time=300ms{options}"),
            "--no-store",
        ]);
        Ended::spawn(&mut command)
    };
    late("").failed(
        5,
        &["not ready within 300ms", "port 5001", "still thinking"],
    );
    late("&ready=line:go ahead").failed(5, &["no line with \"go ahead\""]);
    late("&link=tap").failed(5, &["no TAP device stack1"]);
    assert!(written(&place).into_iter().all(is_gone));
}

#[test]
#[ignore = "needs user namespaces"]
fn a_program_that_ends_early_is_quoted() {
    let place = Place::new();
    let run = script(&place, "echo out of licences >&2\nexit 3\n");
    let mut command = linerate();
    command.args(["tcp", &format!("stack://command?run={run}"), "--no-store"]);
    Ended::spawn(&mut command).failed(5, &["ended before it was ready", "out of licences"]);
    let mut command = linerate();
    command.args(["tcp", "stack://command?run=no-such-program", "--no-store"]);
    Ended::spawn(&mut command).failed(5, &["no-such-program does not start"]);
}

#[test]
#[ignore = "needs user namespaces"]
fn a_program_that_ends_in_the_middle_of_a_test_is_why_the_test_failed() {
    let place = Place::new();
    // It takes one connection, reads some of it, and is gone.
    let program = place.with(
        "program",
        b"use Socket; socket(my $s, AF_INET, SOCK_STREAM, 0); setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1);
          bind($s, pack_sockaddr_in(5001, INADDR_ANY)) or die; listen($s, 5);
          accept(my $c, $s); sysread($c, my $bytes, 100000); print \"enough\\n\"; exit 1;",
    );
    let mut command = linerate();
    let far = format!("stack://command?run=perl {}", program.display());
    command.args(["tcp", &far, "-t", "20s", "--no-store"]);
    Ended::spawn(&mut command).failed(5, &["ended before the tests were over", "enough"]);
}

#[test]
#[ignore = "needs user namespaces and the package iperf"]
fn a_program_that_ignores_sigterm_is_killed_with_all_that_it_left_behind() {
    let place = Place::new();
    let pids = place.file("pids").display().to_string();
    let run = script(
        &place,
        &format!(
            "trap '' TERM\necho $$ > {pids}\nsetsid sleep 1000 &\necho $! >> {pids}\niperf -s &\necho $! >> {pids}\nwhile :; do sleep 1000; done\n"
        ),
    );
    let far = format!("stack://command?run={run}&stop-time=100ms");
    assert!(received(&measured(&["tcp", &far])) > 100_000);
    let all = written(&place);
    assert_eq!(all.len(), 3);
    assert!(all.into_iter().all(is_gone));
}

#[test]
#[ignore = "needs user namespaces and the package iperf"]
fn a_program_ends_also_when_linerate_is_killed() {
    let place = Place::new();
    let pids = place.file("pids").display().to_string();
    let run = script(
        &place,
        &format!(
            "echo $$ > {pids}.part\nsetsid sleep 1000 &\necho $! >> {pids}.part\nmv {pids}.part {pids}\nexec iperf -s\n"
        ),
    );
    let mut command = linerate();
    command.args([
        "tcp",
        &format!("stack://command?run={run}"),
        "-t",
        "10m",
        "--no-store",
        "--quiet",
    ]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let all = until(|| Some(written(&place)).filter(|all| all.len() == 2));
    child.kill().unwrap();
    child.wait().unwrap();
    until(|| all.iter().all(|process| is_gone(*process)).then_some(()));
}

#[test]
fn nonsense_about_a_program_is_a_usage_error() {
    for (options, part) in [
        ("", "run= is needed"),
        ("?run=x&link=bridge", "namespace or tap"),
        ("?run=x&peer=ftp://{address}", "unknown protocol"),
        ("?run=x&peer=zperf+telnet://{address}", "host="),
        ("?run=x&ready=5s", "must be port"),
    ] {
        let mut command = linerate();
        command.args(["tcp", &format!("stack://command{options}"), "--no-store"]);
        Ended::spawn(&mut command).failed(2, &[part]);
    }
}
