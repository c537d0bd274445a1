//! Stacks as peers: what they count is what linerate counts, and nothing of them is left behind.

use crate::harness::{Ended, Place, linerate};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

/// Measures at a stack for a moment; the run.
pub(crate) fn measured(words: &[&str]) -> Value {
    let mut command = linerate();
    command
        .args(words)
        .args(["-t", "500ms", "--json", "--no-store"]);
    Ended::spawn(&mut command).document()
}

fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no count"))
}

/// Every transport, direction and IP version at `stack`: both ends count the same. What limits is probed by the single
/// tests beside this one.
fn counts_are_equal(stack: &str) {
    let far = format!("stack://{stack}");
    let far = [&far, "--diagnose", "0s"];
    for ip in ["-4", "-6"] {
        for way in [&[][..], &["--reverse"], &["--duplex"]] {
            let tcp = [&["tcp", ip], &far[..], way].concat();
            tcp_counts_are_equal(&measured(&tcp), &tcp);
            let udp = [&["udp", ip, "--rate", "20M"], &far[..], way].concat();
            udp_counts_are_equal(&measured(&udp), &udp);
        }
    }
}

fn tcp_counts_are_equal(run: &Value, words: &[&str]) {
    let theirs = &run["stack"]["tcp"];
    for trial in run["trials"].as_array().unwrap() {
        let (own, theirs) = if trial["direction"] == "forward" {
            (&trial["sent_bytes"], &theirs["received_bytes"])
        } else {
            (&trial["received_bytes"], &theirs["sent_bytes"])
        };
        assert!(count(own) > 100_000, "{words:?}: {own}");
        assert_eq!(
            count(own),
            count(theirs),
            "{words:?} {}",
            trial["direction"]
        );
    }
    no_difference_is_noted(run, words);
}

fn udp_counts_are_equal(run: &Value, words: &[&str]) {
    let theirs = &run["stack"]["udp"];
    for trial in run["trials"].as_array().unwrap() {
        let (own, theirs) = if trial["direction"] == "forward" {
            (&trial["packets"]["received"], &theirs["received_packets"])
        } else {
            (&trial["packets"]["sent"], &theirs["sent_packets"])
        };
        assert!(count(own) > 100, "{words:?}: {own}");
        assert_eq!(
            count(own),
            count(theirs),
            "{words:?} {}",
            trial["direction"]
        );
    }
    no_difference_is_noted(run, words);
}

fn no_difference_is_noted(run: &Value, words: &[&str]) {
    let notes = run["notes"].to_string();
    assert!(!notes.contains("should be equal"), "{words:?}: {notes}");
}

#[test]
#[ignore = "needs user namespaces"]
fn the_kernel_counts_what_linerate_counts() {
    counts_are_equal("kernel");
    // Also by the kernel's own counters: the datagrams of the test, the one that opens it, and its ends.
    let run = measured(&["udp", "stack://kernel", "-4", "--rate", "20M"]);
    let all = count(&run["stack"]["counters"]["udp"]["InDatagrams"]);
    let traffic = count(&run["stack"]["udp"]["received_packets"]);
    assert!(
        (traffic + 2..traffic + 26).contains(&all),
        "{traffic} {all}"
    );
}

/// The stack of the run is gone: the proof starts one of its own.
#[test]
#[ignore = "needs user namespaces"]
fn a_stored_run_at_a_stack_is_proved() {
    let place = Place::new();
    let test = "udp stack://kernel -4 --rate 1M -t 300ms --diagnose 0s -q";
    place.run_own(&test.split(' ').collect::<Vec<_>>()).done();
    let ended = place.run_own(&["explain", "last", "--prove"]);
    assert!(
        ended.err.contains("the run's peer starts: stack://kernel"),
        "{ended:?}"
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let proved = ended.out;
    let is_tried = proved.contains("  answer ") || proved.contains("could not be run: ");
    assert!(is_tried && !proved.contains("not prepared"), "{proved}");
}

#[test]
#[ignore = "needs user namespaces and the Debian archive"]
fn lwip_counts_what_linerate_counts() {
    const LARGE: &str = "stack://lwip?buffers=large-buffers&opt=Os";
    const SOCKETS: &str = "stack://lwip?api=socket";
    for far in ["stack://lwip", SOCKETS, LARGE] {
        // What is fetched and built is said once.
        let mut command = linerate();
        let first = Ended::spawn(command.args(["tcp", far, "-t", "100ms", "--no-store"]));
        assert_eq!(first.code, Some(0), "{}", first.err);
    }
    counts_are_equal("lwip");
    counts_are_equal("lwip?api=socket");
    // Threads hand packets on by notes, which are pools too.
    let run = measured(&["tcp", SOCKETS, "-4", "--duplex"]);
    let pools = run["stack"]["pools"].to_string();
    assert!(
        pools.contains("TCPIP_MSG_INPKT") && pools.contains("NETCONN"),
        "{pools}"
    );
    assert_eq!(run["stack"]["settings"]["LWIP_SOCKET"], 1);
    let run = measured(&["udp", LARGE, "-4", "--rate", "20M"]);
    let stack = &run["stack"];
    let all = count(&stack["counters"]["udp"]["recv"]);
    let traffic = count(&stack["udp"]["received_packets"]);
    assert!(
        (traffic + 2..traffic + 26).contains(&all),
        "{traffic} {all}"
    );
    // What was asked for is what was built, and its memory is told.
    assert_eq!(stack["settings"]["TCP_WND"], 16 * 1460);
    let pools = stack["pools"].as_array().unwrap();
    let pool = pools
        .iter()
        .find(|pool| pool["name"] == "PBUF_POOL")
        .unwrap();
    assert_eq!(pool["capacity"], 48);
    assert!((1..=48).contains(&count(&pool["peak"])), "{pool}");
}

#[test]
#[ignore = "needs user namespaces"]
fn smoltcp_counts_what_linerate_counts() {
    counts_are_equal("smoltcp");
    let run = measured(&["tcp", "stack://smoltcp?tcp_wnd=2920", "-4"]);
    let stack = &run["stack"];
    assert_eq!(stack["settings"]["tcp_wnd"], 2920);
    let pool = &stack["pools"][0];
    assert_eq!(pool["name"], "tcp-receive-buffer");
    assert!((1..=2920).contains(&count(&pool["peak"])), "{pool}");
    // A stack is started for each run.
    let again = measured(&["tcp", "stack://smoltcp?tcp_wnd=2920", "-4"]);
    assert_ne!(run["instance"]["start"], again["instance"]["start"]);
}

#[test]
#[ignore = "needs user namespaces and the Debian archive"]
fn a_setting_that_lwip_does_not_have_is_refused() {
    let mut command = linerate();
    command.args(["tcp", "stack://lwip?tcp_windo=1", "--no-store"]);
    Ended::spawn(&mut command).failed(2, &["TCP_WINDO"]);
}

#[test]
fn nonsense_about_a_stack_is_a_usage_error() {
    for (far, part) in [
        ("stack://bsd", "known are kernel, lwip"),
        ("stack://lwip?opt=O9", "must be one of"),
        ("stack://kernel?kernel.panic=1", "net.ipv4"),
    ] {
        let mut command = linerate();
        command.args(["tcp", far, "--no-store"]);
        Ended::spawn(&mut command).failed(2, &[part]);
    }
}

#[test]
#[ignore = "needs user namespaces"]
fn a_stack_ends_with_the_process_that_started_it_however_that_ends() {
    let mut command = linerate();
    command.args([
        "tcp",
        "stack://kernel",
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
    let stack = until(|| children(child.id()).into_iter().next());
    assert!(names(stack).contains("stack-server-kernel"));
    child.kill().unwrap();
    child.wait().unwrap();
    until(|| (!names(stack).contains("stack-server-kernel")).then_some(()));
}

/// Waits until there is something.
pub(crate) fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        std::thread::yield_now();
    }
}

/// The command line of a process; empty for one that is gone or has ended.
fn names(process: u32) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

/// Processes that this one started, once they run programs of their own.
fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let all = fs::read_to_string(path).unwrap_or_default();
    let all = all
        .split_whitespace()
        .filter_map(|number| number.parse().ok());
    all.filter(|child| names(*child).contains("stack-server"))
        .collect()
}

/// No interface of a stack is in the network that the tests run in.
#[test]
#[ignore = "needs user namespaces"]
fn the_network_of_the_caller_is_left_alone() {
    let interfaces = || {
        let output = Command::new("cat").arg("/proc/net/dev").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let names = text
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
        names.collect::<Vec<_>>()
    };
    let before = interfaces();
    measured(&["tcp", "stack://kernel"]);
    assert_eq!(interfaces(), before);
    assert!(
        !before.iter().any(|name| name.starts_with("stack")),
        "{before:?}"
    );
}
