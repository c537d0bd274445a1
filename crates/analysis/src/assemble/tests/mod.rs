mod broken;
mod cpu;

use super::*;
use linerate_model::PacketCount;
use linerate_model::Ratio;
use linerate_model::cost::{InterruptKind, PacketKind, PacketsPerInterrupt};
use linerate_model::run::{DelayOf, Packets};
use linerate_model::sample::{
    ByteStreamSender, DatagramReceiver, DatagramSender, ReceiveSocket, Requester, SequenceCount,
    StreamWork, TcpSample, TcpSocketReport,
};
use linerate_model::spec::{Pace, Transport};
use proptest::prelude::*;

pub(crate) fn report(side: Side, packets: u64, payload: u64) -> EndpointReport {
    let work = match side {
        Side::Sender => StreamWork::from(DatagramSender::default()),
        Side::Receiver => StreamWork::from(DatagramReceiver {
            sequence: SequenceCount {
                received: PacketCount::new(packets),
                next_expected: packets,
                ..SequenceCount::default()
            },
            ..DatagramReceiver::default()
        }),
    };
    let (bytes, packets) = (ByteCount::new(packets * payload), PacketCount::new(packets));
    EndpointReport {
        side,
        streams: vec![StreamReport {
            duration: Duration::from_secs(1),
            ..StreamReport::new(0, work).with_counts(bytes, packets)
        }],
        before: Snapshot::default(),
        after: Snapshot {
            at_ns: 1_100_000_000,
            ..Snapshot::default()
        },
        profile: None,
        clock: None,
    }
}

/// What the only stream of a receiver of datagrams saw.
pub(crate) fn received(report: &mut EndpointReport) -> &mut DatagramReceiver {
    report.streams[0].work.get_mut().unwrap()
}

/// Makes the first stream one of bytes, whose socket was read so often.
pub(crate) fn byte_stream(report: &mut EndpointReport, samples: Vec<TcpSample>) {
    let tcp = TcpSocketReport {
        samples,
        congestion_control: Some("cubic".to_owned()),
    };
    let sender = ByteStreamSender {
        tcp,
        ..ByteStreamSender::default()
    };
    report.streams[0].work = sender.into();
}

pub(crate) fn set(report: &mut EndpointReport, signal: &str, gained: u64) {
    report.before.values.insert(signal.to_owned(), 7);
    report.after.values.insert(signal.to_owned(), 7 + gained);
}

fn udp(sender: Option<EndpointReport>, receiver: Option<EndpointReport>) -> Trial {
    let mut spec = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(11_584_000)));
    spec.stop = Stop::After(Duration::from_secs(1));
    trial(3, &spec, Direction::Forward, sender, receiver)
}

fn counts(trial: &Trial) -> (u64, u64, u64) {
    let Packets {
        sent,
        received,
        lost,
        ..
    } = *trial.packets().unwrap();
    (
        sent.unwrap().get(),
        received.unwrap().get(),
        lost.unwrap().get(),
    )
}

#[test]
fn a_clean_trial_has_three_equal_rates() {
    let trial = udp(
        Some(report(Side::Sender, 1000, 1448)),
        Some(report(Side::Receiver, 1000, 1448)),
    );
    let rate = Some(BitRate::from_bps(11_584_000));
    assert_eq!(trial.intended_load, rate);
    assert_eq!(trial.offered_load, rate);
    assert_eq!(trial.received_rate, rate);
    assert_eq!(counts(&trial), (1000, 1000, 0));
    assert!(trial.valid, "{:?}", trial.reasons);
    assert!(trial.ledger().is_empty());
    assert_eq!(trial.raw().len(), 2);
}

#[test]
fn tail_loss_is_seen_and_duplicates_cancel_nothing() {
    let mut receiver = report(Side::Receiver, 950, 1448);
    let sequence = &mut received(&mut receiver).sequence;
    sequence.duplicated = PacketCount::new(50);
    sequence.next_expected = 950;
    let trial = udp(Some(report(Side::Sender, 1000, 1448)), Some(receiver));
    assert_eq!(counts(&trial), (1000, 950, 50));
    let packets = trial.packets().unwrap();
    assert_eq!(packets.duplicated, Some(PacketCount::new(50)));
    assert_eq!(packets.loss_ratio, Some(Ratio::clamped(0.05)));
}

#[test]
fn a_surplus_in_one_stream_does_not_hide_loss_in_another() {
    let mut sender = report(Side::Sender, 1000, 1448);
    let mut receiver = report(Side::Receiver, 900, 1448);
    let mut more = sender.streams[0].clone();
    more.index = 1;
    sender.streams.push(more);
    let mut more = report(Side::Receiver, 1100, 1448).streams.remove(0);
    more.index = 1;
    receiver.streams.push(more);
    let trial = udp(Some(sender), Some(receiver));
    assert_eq!(counts(&trial), (2000, 1900, 100));
    assert!(!trial.valid);
    assert!(trial.reasons[0].contains("stream 1: the receiver counted 1100"));
}

#[test]
fn a_queue_that_drains_late_adds_no_rate() {
    let mut receiver = report(Side::Receiver, 1000, 1448);
    receiver.streams[0].duration = Duration::from_secs(2);
    let trial = udp(Some(report(Side::Sender, 1000, 1448)), Some(receiver));
    assert_eq!(trial.received_rate, Some(BitRate::from_bps(5_792_000)));
    assert_eq!(trial.duration, Some(Duration::from_secs(1)));
}

#[test]
fn without_a_receiver_nothing_is_said_of_loss() {
    let trial = udp(Some(report(Side::Sender, 1000, 1448)), None);
    let packets = trial.packets().unwrap();
    assert_eq!((packets.lost, packets.received), (None, None));
    assert_eq!(trial.received_rate, None);
    assert!(!trial.valid);
}

#[test]
fn a_trial_whose_sender_was_not_heard_at_its_end_says_so() {
    let trial = |sent_there: Option<u64>| {
        let mut receiver = report(Side::Receiver, 900, 1448);
        let seen = received(&mut receiver);
        seen.sequence.next_expected = 1000;
        seen.sent_in = Some(Duration::from_secs(1));
        seen.sent_there = sent_there.map(PacketCount::new);
        udp(Some(report(Side::Sender, 1000, 1448)), Some(receiver))
    };
    let unheard = trial(None);
    assert!(unheard.valid);
    assert!(
        unheard.reasons[0].contains("stream 0: its last datagram"),
        "{:?}",
        unheard.reasons
    );
    assert_eq!(trial(Some(1000)).reasons, Vec::<String>::new());
}

#[test]
fn what_the_system_refused_is_not_offered_and_not_lost() {
    let mut sender = report(Side::Sender, 900, 1448);
    let refused = PacketCount::new(100);
    let work = DatagramSender {
        refused,
        ..DatagramSender::default()
    };
    sender.streams[0].work = work.into();
    let trial = udp(Some(sender), Some(report(Side::Receiver, 900, 1448)));
    assert_eq!(counts(&trial), (900, 900, 0));
    assert!(trial.offered_load < trial.intended_load);
    assert!(trial.valid && trial.reasons[0].contains("refused 100"));
}

#[test]
fn a_sender_beyond_its_rate_spoils_the_trial() {
    let at = |rate: u64, packets: u64| {
        let mut spec = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(rate)));
        spec.stop = Stop::After(Duration::from_secs(1));
        let [sender, receiver] =
            [Side::Sender, Side::Receiver].map(|side| Some(report(side, packets, 1448)));
        trial(0, &spec, Direction::Forward, sender, receiver)
    };
    let offered = at(1_000_000, 100).offered_load.unwrap().bps();
    let beyond = at(offered / 2, 100);
    assert!(!beyond.valid);
    assert_eq!(
        beyond.reasons,
        [
            "the sender sent 1.158 Mbit/s where 579.2 kbit/s was intended: it does not keep to this rate; intend more than it sends, or another size"
        ]
    );
    assert!(at(offered * 9 / 10, 100).valid);
    // So few packets have no rate.
    assert!(at(offered / 20, 10).valid);
}

#[test]
fn a_clock_that_went_back_spoils_the_trial() {
    let mut sender = report(Side::Sender, 1000, 1448);
    sender.before.at_ns = 2_000_000_000;
    let trial = udp(Some(sender), Some(report(Side::Receiver, 1000, 1448)));
    assert!(!trial.valid);
    assert!(
        trial.reasons[0].contains("clock went back"),
        "{:?}",
        trial.reasons
    );
}

#[test]
fn a_paced_senders_last_slot_may_end_after_the_trial() {
    let judged = |counted_ms: u64, is_paced: bool| {
        let mut sender = report(Side::Sender, 10, 100);
        sender.after.at_ns = sender.before.at_ns + 1_000_000_000;
        sender.streams[0].duration = Duration::from_millis(counted_ms);
        sender.streams[0].work = DatagramSender {
            pacing: is_paced.then(Histogram::new).into(),
            ..DatagramSender::default()
        }
        .into();
        udp(Some(sender), Some(report(Side::Receiver, 10, 100))).valid
    };
    // Ten datagrams of 110 ms each: the last begins at 990 ms.
    assert!(judged(1100, true));
    assert!(!judged(1100, false), "no schedule");
    assert!(!judged(1200, true), "the last began after the trial");
}

#[test]
fn chronograph_shares_are_of_the_time_between_readings() {
    let sample = |at_s: u64, busy: u64, rwnd: u64| TcpSample {
        at_ns: at_s * 1_000_000_000,
        busy_ns: Some(busy * 1_000_000),
        rwnd_limited_ns: Some(rwnd * 1_000_000),
        retrans_segments: Some(at_s),
        cwnd_bytes: Some(1000 * at_s),
        srtt_ns: Some(1_000_000),
        ..Default::default()
    };
    let mut sender = report(Side::Sender, 0, 0);
    sender.streams[0].bytes = ByteCount::new(1_250_000);
    sender.streams[0].intervals = vec![linerate_model::sample::IntervalCount {
        end: Duration::from_secs(1),
        bytes: ByteCount::new(1_250_000),
        ..Default::default()
    }];
    let samples = vec![
        sample(1, 500, 100),
        sample(2, 1400, 600),
        sample(3, 2300, 1100),
    ];
    byte_stream(&mut sender, samples);
    let mut spec = TestSpec::tcp_bulk();
    spec.stop = Stop::After(Duration::from_secs(1));
    let trial = trial(0, &spec, Direction::Reverse, Some(sender), None);
    let tcp = trial.tcp().unwrap();
    assert_eq!(tcp.busy_ratio, Some(Ratio::clamped(0.9)));
    assert_eq!(tcp.rwnd_limited_ratio, Some(Ratio::clamped(0.5)));
    assert_eq!(tcp.sndbuf_limited_ratio, None);
    assert_eq!(tcp.retransmitted_segments, Some(2));
    assert_eq!(tcp.cwnd_mean_bytes, Some(ByteCount::new(2000)));
    assert_eq!(trial.intervals[0].cwnd_bytes, Some(ByteCount::new(1000)));
    assert!(trial.packets().is_none());
}

/// Two streams of 50 ms RTT: their windows add up, and RFC 6349's figures are of both together.
#[test]
fn windows_of_streams_add_up_and_rfc_6349_is_of_all_of_them() {
    let sample = |at_s: u64| TcpSample {
        at_ns: at_s * 1_000_000_000,
        bytes_sent: Some(at_s * 2_000_000),
        bytes_retrans: Some(at_s * 100_000),
        retrans_segments: Some(at_s * 70),
        dsack_dups: Some(at_s * 35),
        cwnd_bytes: Some(if at_s == 0 { 14_480 } else { 100_000 }),
        snd_wnd_bytes: Some(62_500),
        srtt_ns: Some(if at_s == 0 { 1 } else { 50_000_000 }),
        min_rtt_ns: Some(10_000_000),
        smss_bytes: Some(1448),
        delivery_rate_bps: Some(20_000_000),
        delivery_rate_app_limited: Some(false),
        ..Default::default()
    };
    let mut sender = report(Side::Sender, 0, 0);
    sender.streams[0].bytes = ByteCount::new(2_000_000);
    byte_stream(&mut sender, vec![sample(0), sample(1)]);
    sender.streams[0].path.send_buffer_bytes = Some(ByteCount::new(125_000));
    sender.streams.push(sender.streams[0].clone());
    let mut receiver = sender.clone();
    receiver.side = Side::Receiver;
    let spec = TestSpec::tcp_bulk();
    let trial = trial(0, &spec, Direction::Forward, Some(sender), Some(receiver));
    let tcp = trial.tcp().unwrap();
    assert_eq!(tcp.congestion_control.as_deref(), Some("cubic"));
    assert_eq!(tcp.cwnd_mean_bytes, Some(ByteCount::new(100_000)));
    let windows = tcp.windows.unwrap();
    let mbit = |n: u64| Some(BitRate::from_bps(n * 1_000_000));
    assert_eq!(windows.congestion_window_rate, mbit(32));
    assert_eq!(windows.receiver_window_rate, mbit(20));
    assert_eq!(windows.send_buffer_rate, mbit(40));
    let metrics = tcp.rfc6349.unwrap();
    assert_eq!(metrics.efficiency_ratio, Some(Ratio::clamped(0.95)));
    assert_eq!(metrics.buffer_delay_ratio, Some(4.0));
    assert_eq!(metrics.bottleneck, mbit(40));
    assert_eq!(metrics.bdp_bytes, Some(ByteCount::new(50_000)));
    // 4 MB in 1 s, at 40 Mbit/s 0.8 s.
    assert_eq!(metrics.transfer_time_ratio, Some(1.25));
    let counts = tcp.retransmissions.unwrap();
    assert_eq!((counts.segments, counts.needless), (Some(140), Some(70)));
    assert_eq!(counts.needless_share(), Some(Ratio::clamped(0.5)));
    let queueing = tcp.queueing.unwrap();
    assert!(queueing.bloated && (queueing.factor - 5.0).abs() < 1e-9);
}

/// Where the interface's speed is known, it is the bottleneck, less headers and gaps.
#[test]
fn a_known_link_speed_is_the_bottleneck() {
    let mut sender = report(Side::Sender, 0, 0);
    let sample = TcpSample {
        smss_bytes: Some(1448),
        ..TcpSample::default()
    };
    byte_stream(&mut sender, vec![sample]);
    sender
        .after
        .values
        .insert(signals::LINK_SPEED_BPS.to_owned(), 1_000_000_000);
    let tcp = trial(
        0,
        &TestSpec::tcp_bulk(),
        Direction::Forward,
        Some(sender),
        None,
    )
    .tcp()
    .cloned();
    let metrics = tcp.unwrap().rfc6349.unwrap();
    // 1448 of 1538 bytes on the wire.
    assert_eq!(metrics.bottleneck.unwrap().bps() / 100_000, 9414);
    assert_eq!(metrics.efficiency_ratio, None);
}

#[test]
fn a_ping_pong_counts_unanswered_requests_and_round_trips() {
    let mut sender = report(Side::Sender, 98, 32);
    let mut rtt = Histogram::new();
    rtt.record(20_000);
    let work = Requester {
        rtt,
        timeouts: PacketCount::new(2),
        ..Requester::default()
    };
    sender.streams[0].work = work.into();
    let spec = TestSpec::ping_pong(Transport::Udp);
    let trial = trial(0, &spec, Direction::Forward, Some(sender), None);
    assert_eq!(counts(&trial), (100, 98, 2));
    assert_eq!(trial.delay().unwrap().of, DelayOf::RoundTrip);
    assert!(trial.valid, "{:?}", trial.reasons);
}

#[test]
fn intervals_of_streams_add_up() {
    let interval = |start: u64, bytes: u64| linerate_model::sample::IntervalCount {
        start: Duration::from_millis(start),
        end: Duration::from_millis(start + 1000),
        bytes: ByteCount::new(bytes),
        packets: PacketCount::new(1),
        next_expected: None,
    };
    let mut sender = report(Side::Sender, 2, 1000);
    sender.streams[0].intervals = vec![interval(0, 1000), interval(1000, 2000)];
    let mut other = sender.streams[0].clone();
    other.index = 1;
    other.intervals = vec![interval(3, 500)];
    sender.streams.push(other);
    let trial = udp(Some(sender), None);
    let rates: Vec<_> = trial
        .intervals
        .iter()
        .map(|i| i.offered_load.unwrap().bps())
        .collect();
    assert_eq!(rates, [12_000, 16_000]);
    assert_eq!(trial.intervals[0].received_rate, None);
}

#[test]
fn a_stub_at_the_end_belongs_to_the_interval_before() {
    let mut sender = report(Side::Sender, 3, 1000);
    let interval = |start_us: u64, end_us: u64| linerate_model::sample::IntervalCount {
        start: Duration::from_micros(start_us),
        end: Duration::from_micros(end_us),
        bytes: ByteCount::new(1000),
        packets: PacketCount::new(1),
        next_expected: None,
    };
    sender.streams[0].intervals = vec![interval(0, 1_000_000), interval(1_000_000, 1_000_040)];
    let trial = udp(Some(sender), None);
    assert_eq!(trial.intervals.len(), 1);
    assert_eq!(trial.intervals[0].end, Duration::from_micros(1_000_040));
    assert_eq!(
        trial.intervals[0].offered_load,
        Some(BitRate::from_bps(15_999))
    );
}

fn counted(second: u64, packets: u64, next: Option<u64>) -> linerate_model::sample::IntervalCount {
    linerate_model::sample::IntervalCount {
        start: Duration::from_secs(second),
        end: Duration::from_secs(second + 1),
        bytes: ByteCount::new(packets.saturating_mul(1000)),
        packets: PacketCount::new(packets),
        next_expected: next,
    }
}

/// Sent, received and next expected number of each second; what was lost in each.
fn losses(seconds: &[(u64, u64, Option<u64>)]) -> Vec<u64> {
    let sent = seconds.iter().map(|second| second.0).sum();
    let taken = seconds.iter().map(|second| second.1).sum();
    let mut sender = report(Side::Sender, sent, 1000);
    let mut receiver = report(Side::Receiver, taken, 1000);
    for (at, (sent, taken, next)) in (0..).zip(seconds) {
        sender.streams[0].intervals.push(counted(at, *sent, None));
        if next.is_some() {
            receiver.streams[0]
                .intervals
                .push(counted(at, *taken, *next));
        }
    }
    let trial = udp(Some(sender), Some(receiver));
    let lost: Vec<u64> = trial
        .intervals
        .iter()
        .map(|i| i.lost_packets.unwrap().get())
        .collect();
    assert_eq!(lost.iter().sum::<u64>(), counts(&trial).2);
    lost
}

#[test]
fn each_interval_has_its_loss() {
    let seconds = [
        (100, 90, Some(100)),
        (100, 100, Some(200)),
        (100, 95, Some(298)),
    ];
    assert_eq!(
        losses(&seconds),
        [10, 0, 5],
        "three of the tail, two in gaps"
    );
}

#[test]
fn a_late_datagram_undoes_the_loss_of_an_earlier_interval() {
    // Ten are missing after the first second; eight of them come in the second one.
    let seconds = [
        (100, 90, Some(100)),
        (100, 108, Some(200)),
        (100, 100, Some(300)),
    ];
    assert_eq!(losses(&seconds), [2, 0, 0]);
}

#[test]
fn what_never_came_at_the_end_was_lost_when_it_was_sent() {
    let seconds = [(100, 100, Some(100)), (100, 40, Some(140)), (100, 0, None)];
    assert_eq!(losses(&seconds), [0, 60, 100]);
    assert_eq!(losses(&[(100, 0, None), (100, 0, None)]), [100, 100]);
}

fn any_tcp() -> impl Strategy<Value = TcpSample> {
    let field = || proptest::option::of(prop_oneof![0..5000_u64, any::<u64>()]);
    (any::<u64>(), field(), field(), field(), field(), field()).prop_map(
        |(at_ns, cwnd, srtt, busy, rwnd, buffer)| TcpSample {
            at_ns,
            cwnd_bytes: cwnd,
            srtt_ns: srtt,
            min_rtt_ns: srtt.map(|rtt| rtt / 3),
            busy_ns: busy,
            rwnd_limited_ns: rwnd,
            sndbuf_limited_ns: buffer,
            retrans_segments: busy,
            smss_bytes: rwnd,
            unacked_segments: cwnd,
            bytes_sent: busy,
            bytes_retrans: rwnd,
            delivery_rate_bps: busy,
            delivery_rate_app_limited: Some(false),
            pacing_rate_bps: srtt,
            snd_wnd_bytes: buffer,
            dsack_dups: buffer,
            ..Default::default()
        },
    )
}

fn any_signal() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = signals::ALL.iter().map(|signal| signal.name).collect();
    proptest::sample::select(names).prop_map(str::to_owned)
}

/// Work of an end of datagrams that dropped or refused `own`, or else of a sender of bytes.
fn any_work(
    side: Side,
    own: Option<PacketCount>,
    sequence: SequenceCount,
    samples: Vec<TcpSample>,
) -> StreamWork {
    match (side, own) {
        (Side::Receiver, socket_overflows) => StreamWork::from(DatagramReceiver {
            socket: ReceiveSocket {
                socket_overflows,
                ..ReceiveSocket::default()
            },
            sequence,
            ..DatagramReceiver::default()
        }),
        (Side::Sender, Some(refused)) => StreamWork::from(DatagramSender {
            refused,
            ..DatagramSender::default()
        }),
        (Side::Sender, None) => StreamWork::from(ByteStreamSender {
            tcp: TcpSocketReport {
                samples,
                congestion_control: None,
            },
            ..ByteStreamSender::default()
        }),
    }
}

/// Reports that no honest engine would make.
pub(crate) fn any_report(side: Side) -> impl Strategy<Value = EndpointReport> {
    let number = || prop_oneof![0..2000_u64, any::<u64>()];
    let stream = (
        (0..3_u16, number(), number(), number(), number()),
        (number(), number(), number(), proptest::option::of(number())),
        proptest::collection::vec(any_tcp(), 0..4),
    )
        .prop_map(
            move |((index, bytes, packets, nanos, got), (dup, old, seen, own), tcp)| {
                let sequence = SequenceCount {
                    received: PacketCount::new(got),
                    duplicated: PacketCount::new(dup),
                    next_expected: seen,
                    too_old: PacketCount::new(old),
                    ..SequenceCount::default()
                };
                let work = any_work(side, own.map(PacketCount::new), sequence, tcp);
                let (bytes, packets) = (ByteCount::new(bytes), PacketCount::new(packets));
                StreamReport {
                    duration: Duration::from_nanos(nanos),
                    thread_cpu: Duration::from_nanos(got),
                    run_delay: Some(Duration::from_nanos(old)),
                    intervals: vec![linerate_model::sample::IntervalCount {
                        start: Duration::from_nanos(dup),
                        end: Duration::from_nanos(seen),
                        next_expected: own,
                        ..counted(0, packets.get(), None)
                    }],
                    ..StreamReport::new(index, work).with_counts(bytes, packets)
                }
            },
        );
    let values = || proptest::collection::btree_map(any_signal(), number(), 0..35);
    let snapshot = |(at_ns, values)| Snapshot {
        at_ns,
        values,
        ..Snapshot::default()
    };
    (
        proptest::collection::vec(stream, 0..4),
        (number(), values()).prop_map(snapshot),
        (number(), values()).prop_map(snapshot),
    )
        .prop_map(move |(streams, before, after)| EndpointReport {
            side,
            streams,
            before,
            after,
            profile: None,
            clock: None,
        })
}

proptest! {
    #[test]
    fn whatever_is_reported_the_accounting_holds(
        sender in proptest::option::of(any_report(Side::Sender)),
        receiver in proptest::option::of(any_report(Side::Receiver)),
    ) {
        let trial = udp(sender, receiver);
        let Some(packets) = trial.packets() else { return Ok(()) };
        if let (Some(sent), Some(received), Some(lost)) = (packets.sent, packets.received, packets.lost) {
            prop_assert_eq!(sent.get(), received.get() + lost.get());
            let placed: u64 = trial.ledger().iter().map(|entry| entry.packets.get()).sum();
            prop_assert_eq!(placed, lost.get());
            let timed: u64 = trial.intervals.iter().filter_map(|i| i.lost_packets).map(PacketCount::get).sum();
            let is_timed = trial.intervals.iter().any(|i| i.lost_packets.is_some());
            prop_assert!(!is_timed || timed == lost.get());
        }
        if let Some(ratio) = packets.loss_ratio {
            prop_assert!((0.0..=1.0).contains(&ratio.get()));
        }
    }
}
