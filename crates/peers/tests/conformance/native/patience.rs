//! How long a client waits for a server that is alive and does not go on.

use super::{PREAMBLE, frame, never, pair, senders};
use crate::harness::{End, START, later, specs};
use linerate_model::ByteCount;
use linerate_model::spec::{Stop, TestSpec};
use linerate_peers::native::Native;
use linerate_peers::native::message::{Message, Report, TestProgress};
use linerate_peers::{Input, Progress, TIMEOUT};
use std::time::Duration;

fn progress(bytes: u64) -> Vec<u8> {
    let progress = Progress {
        bytes: ByteCount::new(bytes),
        ..Progress::default()
    };
    frame(&Message::Progress(TestProgress { test: 1, progress }))
}

/// Gives the frames in `bytes` to the client until it is in `state`; what it says.
fn one_by_one(client: &mut End, bytes: &[u8], state: &str) -> Vec<u8> {
    let mut rest = bytes.strip_prefix(PREAMBLE).unwrap_or(bytes);
    let preamble = &bytes[..bytes.len() - rest.len()];
    let mut said = client.give(Input::Bytes(preamble)).0;
    while let (Some(length), true) = (rest.first_chunk(), client.session.state() != state) {
        let end = 4 + u32::from_be_bytes(*length) as usize;
        said.extend(client.give(Input::Bytes(&rest[..end])).0);
        rest = &rest[end..];
    }
    said
}

/// A second passes, in which the server says this.
fn second(client: &mut End, message: &[u8]) {
    later(client, Duration::from_secs(1));
    drop(client.give(Input::Bytes(message)));
    drop(client.give(Input::Timeout));
}

/// For how long a server holds a client in a test of a second: it delays the step before traffic by `delay` seconds, answers
/// until the client is in `state`, and then only shows that it is alive, by pings or by counts that grow.
fn held(state: &str, delay: u64, counts: bool) -> Duration {
    let spec = TestSpec {
        stop: Stop::After(Duration::from_secs(1)),
        ..specs()[0].clone()
    };
    let (mut client, mut server) = (End::client(&Native, &[spec]), End::server(&Native));
    client.ignores = senders;
    let ping = frame(&Message::Ping);
    let mut said = client.give(Input::Bytes(&[])).0;
    while client.session.state() != state {
        if client.session.state() == "starting" {
            (0..delay).for_each(|_| second(&mut client, &ping));
        }
        let answer = server.give(Input::Bytes(&said)).0;
        assert!(!answer.is_empty(), "{state}");
        said = one_by_one(&mut client, &answer, state);
    }
    for seconds in 1..200 {
        if client.is_closed() {
            return client.now.saturating_since(START);
        }
        let is_counting = counts && client.session.state() == "running";
        let message = if is_counting {
            progress(seconds)
        } else {
            ping.clone()
        };
        second(&mut client, &message);
    }
    panic!("{state}, {delay} s: no end");
}

#[test]
fn a_hostile_server_holds_a_client_for_a_bounded_time() {
    // 15 s to set up, 2 s for an answer to the abort.
    for state in ["preparing", "connecting", "starting"] {
        assert_eq!(held(state, 0, false), Duration::from_secs(17), "{state}");
    }
    // The test's second, 10 s and an interval without a count, 2 s for an answer.
    assert_eq!(held("running", 0, false), Duration::from_secs(14));
    // The 12 s that a link with full buffers has, and twice 2 s.
    assert_eq!(held("running", 0, true), Duration::from_secs(16));
    // All at once, which is the most.
    assert_eq!(held("running", 14, true), Duration::from_secs(30));
}

/// What drains over a slow link is waited for as long as it is seen to arrive.
#[test]
fn a_link_that_drains_slowly_is_waited_for() {
    let (mut client, _) = pair(&specs()[..1], senders, never);
    client.ignores = never;
    for seconds in 1..=60 {
        second(&mut client, &progress(seconds * 125_000));
        assert_eq!(client.session.state(), "running", "after {seconds} s");
    }
    // Ten seconds of test, ten and an interval from the last count.
    for _ in 0..10 {
        second(&mut client, &progress(60 * 125_000));
        assert_eq!(client.session.state(), "running");
    }
    second(&mut client, &frame(&Message::Ping));
    assert_eq!(client.session.state(), "stopping");
    assert_eq!(TIMEOUT, Duration::from_secs(10));
}

/// A report over a slow console: a byte of it each second, for longer than the 21 s that the client waits for counts.
#[test]
fn a_report_that_arrives_slowly_is_waited_for() {
    let (mut client, _) = pair(&specs()[..1], senders, never);
    client.ignores = never;
    let report = frame(&Message::Report(Report {
        test: 1,
        reports: Vec::new(),
    }));
    assert!(report.len() > 25);
    for byte in &report[..report.len() - 1] {
        second(&mut client, &[*byte]);
        assert_eq!(client.session.state(), "running");
    }
}
