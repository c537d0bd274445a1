//! Trials of tests that broke off, or whose times cannot be told.

use super::*;
use linerate_model::sample::{ConnectionOpener, ErrorCount, FlowCounts, Responder};
use linerate_model::spec::{FlowLoad, SizeDistribution};

#[test]
fn a_time_of_day_that_was_set_is_said_with_what_it_spoils() {
    let mut receiver = report(Side::Receiver, 100, 1000);
    received(&mut receiver).is_sender_clock_set = true;
    let trial = udp(Some(report(Side::Sender, 100, 1000)), Some(receiver));
    let said = trial.reasons.join("; ");
    assert!(
        trial.valid && said.contains("time of day of the sender's host"),
        "{said}"
    );
}

#[test]
fn a_test_that_broke_off_keeps_what_an_end_counted() {
    let spec = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(11_584_000)));
    let made = broken_off(&spec, Duration::from_secs(4));
    assert_eq!(made.stop, Stop::After(Duration::from_secs(4)));
    let sender = Some(report(Side::Sender, 500, 1000));
    let trial = trial(2, &made, Direction::Forward, sender, None);
    assert_eq!(trial.sent_bytes, Some(ByteCount::new(500_000)));
    assert_eq!(trial.index, 2);
}

#[test]
fn connections_that_broke_are_said_with_their_errors() {
    let said = |streams: u16, errors: &[&[(&str, u64)]], flows: Option<FlowCounts>| {
        let mut sender = report(Side::Sender, 0, 0);
        byte_stream(&mut sender, Vec::new());
        let alone = sender.streams.remove(0);
        for (index, errors) in (0..).zip(errors) {
            let mut stream = alone.clone();
            let failed = errors.iter().map(|(errno, count)| ErrorCount {
                operation: "send".to_owned(),
                errno: (*errno).to_owned(),
                count: *count,
            });
            stream.errors = failed.collect();
            (stream.index, stream.flows) = (index, flows.clone());
            sender.streams.push(stream);
        }
        let spec = TestSpec {
            streams,
            ..TestSpec::tcp_bulk()
        };
        let receiver = Some(report(Side::Receiver, 0, 0));
        trial(0, &spec, Direction::Forward, Some(sender), receiver)
            .reasons
            .join("; ")
    };
    // One that is tried again has two errors, and is one connection.
    let alone: [&[(&str, u64)]; 3] = [&[], &[("ECONNABORTED", 1), ("EPIPE", 1)], &[("EAGAIN", 9)]];
    let words = said(3, &alone, None);
    assert!(
        words.contains("1 of 3 connections broke before the test was over (ECONNABORTED, EPIPE)"),
        "{words}"
    );
    // A thread that carries several leaves each after its first error.
    let shared: [&[(&str, u64)]; 2] = [&[("ECONNRESET", 3)], &[("ETIMEDOUT", 1)]];
    let words = said(200, &shared, Some(FlowCounts::default()));
    assert!(words.contains("4 of 200 connections broke"), "{words}");
    let words = said(3, &[&[("EAGAIN", 9)]], None);
    assert!(!words.contains("broke"), "{words}");
}

#[test]
fn flows_that_drain_after_their_time_add_no_rate_that_no_link_carried() {
    let flows = |side, work: StreamWork, seconds| {
        let mut report = report(side, 900, 100_000);
        report.streams[0].work = work;
        report.streams[0].duration = Duration::from_secs(seconds);
        Some(report)
    };
    let sender = flows(Side::Sender, ConnectionOpener::default().into(), 5);
    let receiver = flows(Side::Receiver, Responder::default().into(), 8);
    let spec = TestSpec::short_flows(FlowLoad {
        sizes: SizeDistribution::fixed(ByteCount::new(100_000)),
        load: BitRate::from_bps(144_000_000),
        ideal: BitRate::from_bps(90_000_000),
    });
    let trial = trial(0, &spec, Direction::Forward, sender, receiver);
    let rates = (trial.offered_load, trial.received_rate);
    let of = |bps| Some(BitRate::from_bps(bps));
    assert_eq!(rates, (of(144_000_000), of(90_000_000)));
}
