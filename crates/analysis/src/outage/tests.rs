use super::*;
use crate::assemble::{self, tests::report};
use linerate_model::BitRate;
use linerate_model::run::{LedgerEntry, Packets, Place, Run};
use linerate_model::sample::{EndpointReport, ErrorCount, IntervalCount, Silence, TcpSample};
use linerate_model::spec::{Direction, Pace, TestSpec};

/// Of 100 datagrams a second for eight seconds, those of `silent` do not arrive.
fn datagrams(silent: std::ops::Range<u64>) -> Trial {
    let ms = |second: u64| Duration::from_millis(second * 1000);
    let second = |at: u64, packets: u64, next| IntervalCount {
        start: ms(at),
        end: ms(at + 1),
        bytes: ByteCount::new(packets * 1000),
        packets: PacketCount::new(packets),
        next_expected: next,
    };
    let mut sender = report(Side::Sender, 800, 1000);
    sender.streams[0].duration = ms(8);
    sender.streams[0].intervals = (0..8).map(|at| second(at, 100, None)).collect();
    let is_silent = |at: u64| silent.contains(&at);
    let came = (0..8).filter(|at| !is_silent(*at)).count() as u64 * 100;
    let mut receiver = report(Side::Receiver, came, 1000);
    let stream = &mut receiver.streams[0];
    let mut reached = 0;
    for at in 0..8 {
        let packets = if is_silent(at) { 0 } else { 100 };
        if packets > 0 {
            reached = (at + 1) * 100;
        }
        stream.intervals.push(second(at, packets, Some(reached)));
    }
    stream.duration = if silent.end == 8 {
        ms(silent.start)
    } else {
        ms(8)
    };
    if silent.end < 8 && !silent.is_empty() {
        stream.silences.push(Silence {
            start: ms(silent.start),
            end: ms(silent.end),
        });
    }
    assemble::tests::received(&mut receiver)
        .sequence
        .next_expected = reached;
    let mut spec = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(800_000)));
    spec.interval = Duration::from_secs(1);
    assemble::trial(0, &spec, Direction::Forward, Some(sender), Some(receiver))
}

fn only(trial: &Trial) -> Outage {
    let found = find(trial);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn a_silence_in_which_all_was_lost_is_an_outage_with_its_times_and_losses() {
    let outage = only(&datagrams(2..5));
    assert_eq!(outage.to_string(), "from 2 s to 5 s");
    assert_eq!((outage.lost, outage.sender), (Some(300), Doing::Sending));
    assert_eq!(find(&datagrams(0..0)), []);
    let said = datagrams(2..5).reasons.join("; ");
    let note = "nothing arrived from 2 s to 5 s: 300 packets that were sent then are lost";
    assert!(said.ends_with(note), "{said}");
}

#[test]
fn an_outage_may_last_to_the_end() {
    let outage = only(&datagrams(6..8));
    assert_eq!(outage.to_string(), "from 6 s to 8 s");
    assert_eq!((outage.lost, outage.sender), (Some(200), Doing::Sending));
}

/// Its interface was taken away: what was due from then on was never sent.
#[test]
fn a_sender_that_can_send_no_more_is_silent_at_the_end() {
    let mut sender = report(Side::Sender, 500, 1000);
    sender.streams[0].duration = Duration::from_secs(8);
    let mut receiver = report(Side::Receiver, 500, 1000);
    let stream = &mut receiver.streams[0];
    stream.duration = Duration::from_secs(5);
    stream.intervals = vec![IntervalCount {
        start: Duration::ZERO,
        end: stream.duration,
        bytes: ByteCount::new(500_000),
        packets: PacketCount::new(500),
        next_expected: Some(500),
    }];
    assemble::tests::received(&mut receiver)
        .sequence
        .next_expected = 500;
    let spec = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(800_000)));
    let ends = (Some(sender), Some(receiver));
    let trial = assemble::trial(0, &spec, Direction::Forward, ends.0, ends.1);
    assert_eq!(only(&trial).to_string(), "from 5 s to 8 s");
}

/// Makes both ends say that they were silent in these seconds; their reports, the sender's first.
fn silence_both(trial: &mut Trial, seconds: std::ops::Range<u64>) -> &mut [EndpointReport] {
    let linerate_model::run::TrialOrigin::Measured(measured) = &mut trial.origin else {
        panic!("it was measured");
    };
    for report in &mut measured.raw {
        report.streams[0].silences.push(Silence {
            start: Duration::from_secs(seconds.start),
            end: Duration::from_secs(seconds.end),
        });
    }
    &mut measured.raw
}

#[test]
fn a_sender_that_pauses_makes_no_outage() {
    let mut trial = datagrams(0..0);
    silence_both(&mut trial, 3..4);
    let outage = only(&trial);
    assert_eq!(outage.sender, Doing::Pausing);
    assert!(!outage.is_of_path());
}

#[test]
fn a_sender_without_a_way_to_the_receiver_is_cut_off_and_does_not_pause() {
    let with_errors = |errno: &str, count| {
        let mut trial = datagrams(0..0);
        silence_both(&mut trial, 3..6)[0].streams[0]
            .errors
            .push(ErrorCount {
                operation: "sendmmsg".to_owned(),
                errno: errno.to_owned(),
                count,
            });
        trial
    };
    let trial = with_errors("ENETUNREACH", 2900);
    let outage = only(&trial);
    assert_eq!(outage.sender, Doing::CutOff);
    assert!(outage.is_of_path());
    assert_eq!(
        note(&outage),
        "nothing was sent from 3 s to 6 s: the sender's host had no way to the receiver"
    );
    let mut rest = trial;
    rest::take_out(&mut rest, &[outage]);
    // 800 datagrams of 1000 B in the five seconds that were left.
    assert_eq!(rest.offered_load, Some(BitRate::from_bps(1_280_000)));
    for (errno, count) in [("ENETUNREACH", 2), ("ENOBUFS", 2900)] {
        assert_eq!(only(&with_errors(errno, count)).sender, Doing::Pausing);
    }
}

/// The peer tells a sum only: what was lost may have been lost at any time.
#[test]
fn losses_without_a_time_make_no_outage_of_a_senders_pause() {
    let of = |pauses: bool| {
        let mut trial = log(Transport::Udp, &[(8, 0), (8, 0), (8, 0), (0, 0), (8, 0)]);
        for interval in &mut trial.intervals {
            interval.lost_packets = None;
        }
        trial.counts_mut().unwrap().packets = Some(Packets {
            sent: Some(PacketCount::new(8000)),
            received: Some(PacketCount::new(4000)),
            lost: Some(PacketCount::new(4000)),
            ..Packets::default()
        });
        if pauses {
            trial.intervals[3].offered_load = Some(BitRate::default());
        }
        let found = only(&trial);
        assert_eq!(found.to_string(), "from 3 s to 4 s");
        found.sender
    };
    assert_eq!(of(false), Doing::Sending);
    assert_eq!(of(true), Doing::Pausing);
}

/// A log's intervals of a second, each with what was received in Mbit/s and what was lost.
fn log(transport: Transport, each: &[(u64, u64)]) -> Trial {
    let work: TrialWork = match transport {
        Transport::Udp => linerate_model::run::DatagramsResult::default().into(),
        Transport::Tcp => linerate_model::run::ByteStreamResult::default().into(),
    };
    let mut trial = Trial::from_log(0, transport, Direction::Forward, work);
    let mut at = 0;
    for (mbits, lost) in each {
        trial.intervals.push(TrialInterval {
            start: Duration::from_secs(at),
            end: Duration::from_secs(at + 1),
            received_rate: Some(BitRate::from_bps(mbits * 1_000_000)),
            lost_packets: (transport == Transport::Udp).then(|| PacketCount::new(*lost)),
            ..TrialInterval::default()
        });
        at += 1;
    }
    let bytes: u64 = each.iter().map(|(mbits, _)| mbits * 125_000).sum();
    trial.received_bytes = Some(ByteCount::new(bytes));
    trial.duration = Some(Duration::from_secs(at));
    if let Some(counts) = trial.counts_mut() {
        let lost: u64 = each.iter().map(|(_, lost)| lost).sum();
        let received = bytes / 1000;
        counts.packets = Some(Packets {
            sent: Some(PacketCount::new(received + lost)),
            received: Some(PacketCount::new(received)),
            lost: Some(PacketCount::new(lost)),
            ..Packets::default()
        });
    }
    trial
}

#[test]
fn a_log_tells_when_where_its_rate_is_steady_and_else_at_least_when() {
    let trial = log(
        Transport::Udp,
        &[(8, 0), (8, 0), (4, 0), (0, 0), (0, 0), (4, 3000), (8, 0)],
    );
    let outage = only(&trial);
    assert_eq!(outage.to_string(), "from 2.5 s to 5.5 s");
    assert_eq!(outage.sender, Doing::Sending);
    assert_eq!(outage.lost, Some(3000));
    let uneven = log(
        Transport::Udp,
        &[(6, 0), (9, 0), (4, 0), (0, 0), (0, 0), (4, 3000), (8, 0)],
    );
    let outage = only(&uneven);
    assert_eq!(outage.to_string(), "from 3 s to 5 s at least");
    // As much as was due in the two that are whole.
    assert_eq!(outage.lost, Some(1965));
    let tcp = log(Transport::Tcp, &[(80, 0), (80, 0), (0, 0), (0, 0), (80, 0)]);
    assert_eq!(only(&tcp).sender, Doing::Unknown);
}

#[test]
fn a_stream_that_sends_seldom_is_not_silent() {
    let seldom = log(
        Transport::Tcp,
        &[(80, 0), (0, 0), (80, 0), (0, 0), (80, 0), (0, 0)],
    );
    assert_eq!(find(&seldom), []);
    let mut slow = log(Transport::Tcp, &[(1, 0), (0, 0), (0, 0), (1, 0)]);
    slow.payload_bytes = Some(ByteCount::new(131_072));
    assert_eq!(find(&slow), []);
}

#[test]
fn the_rest_of_a_trial_is_what_it_was_outside() {
    let mut run: Run = serde_json::from_value(serde_json::json!({
        "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "udp", "status": "complete",
        "tool": {"name": "linerate"}, "config": {}, "trials": []
    }))
    .unwrap();
    run.trials = vec![datagrams(2..5)];
    let rest = without(&run, Direction::Forward).unwrap();
    let trial = &rest.trials[0];
    assert_eq!(trial.duration, Some(Duration::from_secs(5)));
    assert_eq!(trial.received_rate, Some(BitRate::from_bps(800_000)));
    assert_eq!(trial.packets().unwrap().lost, Some(PacketCount::new(0)));
    assert_eq!(trial.intervals.len(), 5);
    run.trials = vec![datagrams(0..0)];
    assert!(without(&run, Direction::Forward).is_none());
}

/// A byte stream of eight seconds, silent for three of them, whose receiver waited for a core for `waited` of the time; its
/// segments were sent again.
fn beside_others(waited: f64) -> Doing {
    let mbits = [80, 80, 0, 0, 0, 80, 80, 80];
    let mut trial = log(Transport::Tcp, &mbits.map(|rate| (rate, 0)));
    trial.intervals[4].retransmitted_segments = Some(9);
    trial.cpu = serde_json::from_value(serde_json::json!({"receiver": {
        "host_ratio": 1.0, "softirq_ratio": 0.1, "cores": [1.0, 1.0], "thread_ratio": 0.1, "run_delay_ratio": waited
    }}))
    .unwrap();
    only(&trial).sender
}

#[test]
fn a_silence_in_which_a_thread_waited_for_a_core_is_none_of_the_path() {
    // Seven of eight seconds do not fit into the five in which something arrived.
    assert_eq!(beside_others(0.8), Doing::Starved);
    // Two may all have been in the silence, or none of them.
    assert_eq!(beside_others(0.25), Doing::Unknown);
    assert_eq!(beside_others(0.1), Doing::Sending);
}

/// A user's Ctrl-C: the ends stop one after the other, and nothing tells which of them was silent first.
#[test]
fn the_silence_that_a_user_ends_a_trial_with_is_an_outage_only_if_something_was_lost_in_it() {
    let ended_at = |second: u64| {
        let mut trial = datagrams(0..0);
        let measured = trial.measured_mut().unwrap();
        measured.end = TrialEnd::User;
        let receiver = &mut measured.raw[1].streams[0];
        receiver.duration = Duration::from_secs(second);
        receiver
            .intervals
            .retain(|interval| interval.end <= Duration::from_secs(second));
        trial
    };
    assert_eq!(find(&ended_at(6)), []);
    let mut lost = datagrams(6..8);
    lost.measured_mut().unwrap().end = TrialEnd::User;
    assert_eq!(only(&lost).sender, Doing::Sending);
}

/// A host so busy that neither end runs at the end of a trial: nothing is counted then, nothing is lost.
#[test]
fn a_silence_in_which_nothing_was_lost_is_no_outage() {
    let mut trial = datagrams(6..8);
    trial.counts_mut().unwrap().packets = Some(Packets {
        sent: Some(PacketCount::new(600)),
        received: Some(PacketCount::new(600)),
        lost: Some(PacketCount::new(0)),
        ..Packets::default()
    });
    let outage = only(&trial);
    assert_eq!(outage.sender, Doing::Late);
    assert!(!outage.is_of_path());
    // What could not be sent for want of a way comes to nothing too.
    let sender = &mut trial.measured_mut().unwrap().raw[0].streams[0];
    sender.errors.push(ErrorCount {
        operation: "sendmmsg".to_owned(),
        errno: "ENODEV".to_owned(),
        count: 900,
    });
    assert_eq!(only(&trial).sender, Doing::CutOff);
}

/// Three of eight seconds of datagrams are lost before a receiver that waited for a core for `waited` of the time.
fn datagrams_beside_others(waited: f64, place: Place) -> Doing {
    let mut trial = datagrams(2..5);
    trial.cpu = serde_json::from_value(serde_json::json!({"receiver": {
        "host_ratio": 1.0, "softirq_ratio": 0.1, "cores": [1.0, 1.0], "thread_ratio": 0.1, "run_delay_ratio": waited
    }}))
    .unwrap();
    let TrialWork::Datagrams(result) = &mut trial.work else {
        panic!("they are datagrams");
    };
    result.ledger = vec![LedgerEntry {
        place,
        packets: PacketCount::new(300),
        source: String::new(),
    }];
    only(&trial).sender
}

#[test]
fn datagrams_that_no_end_counted_while_a_thread_waited_show_no_outage() {
    assert_eq!(datagrams_beside_others(0.8, Place::Unknown), Doing::Starved);
    assert_eq!(
        datagrams_beside_others(0.25, Place::Unknown),
        Doing::Unknown
    );
    assert_eq!(datagrams_beside_others(0.1, Place::Unknown), Doing::Sending);
    // Between the interfaces no thread of the test has to run.
    assert_eq!(datagrams_beside_others(0.8, Place::Network), Doing::Sending);
    assert_eq!(
        datagrams_beside_others(0.8, Place::ReceiverSocket),
        Doing::Waiting
    );
}

/// What a TCP of four seconds did in two and a half without an arrival, its socket read each half second, `timeouts` of its
/// timer by then, and so many segments on their way.
fn silent_tcp(timeouts: fn(u64) -> Option<u64>, unacked: Option<u64>) -> Doing {
    let samples = (0..=8).map(|half: u64| {
        let at_ns = half * 500_000_000;
        TcpSample {
            at_ns,
            bytes_acked: Some(if (2..7).contains(&half) {
                2000
            } else {
                1000 * half
            }),
            busy_ns: Some(at_ns),
            retrans_segments: Some(1),
            unacked_segments: unacked,
            timeouts: timeouts(half),
            ..TcpSample::default()
        }
    });
    let mut sender = report(Side::Sender, 0, 0);
    sender.streams[0].duration = Duration::from_secs(4);
    assemble::tests::byte_stream(&mut sender, samples.collect());
    let spec = TestSpec::tcp_bulk();
    let mut trial = assemble::trial(0, &spec, Direction::Forward, Some(sender), None);
    trial.received_bytes = Some(ByteCount::new(8_000_000));
    trial.duration = Some(Duration::from_secs(4));
    only(&trial).sender
}

/// A repetition was lost before a timer that the loss of the first segment had made seconds long.
#[test]
fn a_tcp_that_waits_for_its_timer_sends_nothing_that_shows_an_outage() {
    for unacked in [None, Some(3)] {
        assert_eq!(silent_tcp(|_| Some(1), unacked), Doing::Pausing);
        // Segments that an interface does not take are no repetitions, but their timer expired.
        assert_eq!(silent_tcp(|half| Some(half / 3), unacked), Doing::Sending);
        // Kernels before 6.7 do not tell.
        assert_eq!(silent_tcp(|_| None, unacked), Doing::Sending);
    }
    // Nothing was on its way when the interface went down: no timer of a segment runs, and there is data to send.
    assert_eq!(silent_tcp(|_| Some(1), Some(0)), Doing::Sending);
}
