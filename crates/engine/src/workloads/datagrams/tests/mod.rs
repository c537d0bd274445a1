//! Sender and receiver against a scripted path and a clock that tests move.

mod iperf3;

use super::*;
use crate::Role;
use crate::control::StreamControl;
use crate::datapaths::{Arrivals, Buffers, DatagramPath, Run, Span};
use crate::plan::EndpointPlan;
use crate::workloads::{Path, Step};
use linerate_model::sample::{DatagramReceiver, DatagramSender, StreamReport};
use linerate_model::spec::{CatchUp, Direction, Pace, Stop};
use linerate_model::{BitRate, ByteCount, Clock, MonoInstant, PacketCount};
use linerate_peers::Stamp;
use linerate_peers::native;
use linerate_peers::native::wire::{Header, Kind};
use linerate_sys::failure::Failure;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PAYLOAD: usize = 100;
const START: MonoInstant = MonoInstant::from_nanos(1_000_000_000);

fn at(millis: u64) -> MonoInstant {
    START.after(Duration::from_millis(millis))
}

/// What a path is to do, and what it saw.
#[derive(Default)]
struct Script {
    /// Outcomes of sends; when empty, all is accepted.
    sends: VecDeque<Result<usize, Failure>>,
    /// Failures of receiving calls, which come before the arrivals.
    failures: VecDeque<Failure>,
    /// Sockets beside the first.
    other_sockets: usize,
    /// Batches to receive, with the overflow count that came with each.
    arrivals: VecDeque<(Vec<Header>, Option<u32>)>,
    sent: Vec<Header>,
    overflows: u64,
    /// Datagrams that come as one run, where the socket counts runs.
    run: Option<usize>,
    /// Empty datagrams that were sent.
    empties: u64,
    /// When the next arrivals came, if that was before they are received.
    came: Option<MonoInstant>,
}

#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Script>>);

struct ScriptedPath {
    script: Scripted,
    slots: Vec<u8>,
    incoming: Vec<u8>,
    spans: Vec<Span>,
    runs: Vec<Run>,
}

impl Scripted {
    fn path(&self) -> Path {
        Path::Datagrams(Box::new(ScriptedPath {
            script: self.clone(),
            slots: vec![0; PAYLOAD * 8],
            incoming: Vec::new(),
            spans: Vec::new(),
            runs: Vec::new(),
        }))
    }

    fn kinds_and_numbers(&self) -> Vec<(Kind, u64)> {
        let script = self.0.lock().unwrap();
        script.sent.iter().map(|h| (h.kind, h.sequence)).collect()
    }
}

impl DatagramPath for ScriptedPath {
    fn batch(&self) -> usize {
        8
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.slots
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        let mut script = self.script.0.lock().unwrap();
        let accepted = script.sends.pop_front().unwrap_or(Ok(count))?.min(count);
        let slots = self.slots.chunks(PAYLOAD).take(accepted);
        script
            .sent
            .extend(slots.map(|slot| Header::read(slot).unwrap()));
        Ok(accepted)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        self.script.0.lock().unwrap().empties += 1;
        Ok(())
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        let mut script = self.script.0.lock().unwrap();
        if let Some(failure) = script.failures.pop_front() {
            return Err(failure);
        }
        let (headers, overflows) = script
            .arrivals
            .pop_front()
            .ok_or(Failure::would_block("recvmmsg"))?;
        self.incoming = vec![0; headers.len() * PAYLOAD];
        self.spans.clear();
        for (slot, header) in self.incoming.chunks_mut(PAYLOAD).zip(&headers) {
            header.write(slot);
            self.spans.push(Span {
                offset: u32::try_from(self.spans.len() * PAYLOAD).unwrap(),
                length: u32::try_from(PAYLOAD).unwrap(),
            });
        }
        self.runs.clear();
        if let Some(length) = script.run {
            self.runs.extend(headers.chunks(length).map(|run| Run {
                datagrams: run.len(),
                dropped_before: overflows.unwrap_or(0),
            }));
        }
        Ok(Arrivals {
            bytes: &self.incoming,
            spans: &self.spans,
            overflows: overflows.filter(|_| script.run.is_none()),
            runs: &self.runs,
            came: script.came.take(),
        })
    }

    fn overflows(&mut self) -> Option<u64> {
        let script = self.script.0.lock().unwrap();
        Some(script.overflows).filter(|_| script.run.is_none())
    }

    fn dropped_runs(&mut self) -> Option<u32> {
        let script = self.script.0.lock().unwrap();
        let count = u32::try_from(script.overflows).unwrap();
        script.run.map(|_| count)
    }

    fn buffers(&self) -> Buffers {
        Buffers::default()
    }

    fn sockets(&self) -> usize {
        1 + self.script.0.lock().unwrap().other_sockets
    }
}

/// A clock that stands until it is moved.
#[derive(Default)]
struct Standing(AtomicU64);

impl Clock for Standing {
    fn now(&self) -> MonoInstant {
        MonoInstant::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

struct Bench {
    script: Scripted,
    work: Box<dyn Work>,
    clock: &'static Standing,
    control: StreamControl,
}

impl Bench {
    fn new(side: Side, change: impl FnOnce(&mut TestSpec)) -> Self {
        let mut spec = TestSpec::udp_datagrams(Pace::Unpaced);
        spec.work.set_payload(ByteCount::new(PAYLOAD as u64));
        change(&mut spec);
        let plan = EndpointPlan {
            side,
            role: Role::Client,
            spec,
            format: Arc::new(native::Streams { token: 7 }),
        };
        let script = Scripted::default();
        let clock: &'static Standing = Box::leak(Box::default());
        let setup = StreamSetup {
            path: script.path(),
            plan: plan.stream(0),
            progress: Arc::default(),
            clock,
        };
        let mut work = Datagrams.work(side, setup).unwrap();
        work.begin(START);
        Self {
            script,
            work,
            clock,
            control: StreamControl::default(),
        }
    }

    fn turn(&mut self, now: MonoInstant) -> Step {
        self.clock.0.store(now.as_nanos(), Ordering::Relaxed);
        self.work.turn(now, &self.control)
    }

    /// Turns at `from`, and then whenever the work asks to, until it is done.
    fn run(mut self, from: MonoInstant) -> StreamReport {
        let mut now = from;
        loop {
            match self.turn(now) {
                Step::Again => {}
                Step::Until(later) | Step::Poll(later) => now = now.max(later),
                Step::Done => return self.work.finish(now),
            }
        }
    }

    fn arrive(&mut self, now: MonoInstant, headers: &[(u32, Kind, u64)], overflows: Option<u32>) {
        let header = |(token, kind, sequence): &(u32, Kind, u64)| Header {
            token: *token,
            stream: 0,
            kind: *kind,
            sequence: *sequence,
            sent: Stamp::from_instant(START),
        };
        let batch = (headers.iter().map(header).collect(), overflows);
        self.script.0.lock().unwrap().arrivals.push_back(batch);
        self.turn(now);
    }
}

/// 800 kbit/s of 100 bytes: one datagram per millisecond.
fn paced(spec: &mut TestSpec) {
    spec.work.set_pace(Pace::At(BitRate::from_bps(800_000)));
    spec.stop = Stop::After(Duration::from_millis(100));
}

#[test]
fn numbers_stay_dense_when_the_system_takes_a_batch_in_parts() {
    let bench = Bench::new(Side::Sender, |spec| spec.stop = Stop::Transactions(20));
    let script = bench.script.clone();
    script.0.lock().unwrap().sends = [Ok(3), Ok(1), Err(Failure::would_block("sendmmsg"))].into();
    let report = bench.run(START);
    let want: Vec<_> = (0..20).map(|number| (Kind::Counted, number)).collect();
    assert_eq!(script.kinds_and_numbers(), want);
    assert_eq!(report.packets, PacketCount::new(20));
    assert_eq!(report.errors[0].errno, "EAGAIN");
}

/// Nothing that comes in keeps a NAT's mapping of a client that only receives.
#[test]
fn a_client_that_only_receives_keeps_its_way_open() {
    let empties = |direction| {
        let mut bench = Bench::new(Side::Receiver, |spec| spec.direction = direction);
        for number in 0..70 {
            bench.arrive(at(100 * number), &[(7, Kind::Counted, number)], None);
        }
        let report = bench.work.finish(at(7_000));
        assert_eq!(report.packets, PacketCount::new(70));
        bench.script.0.lock().unwrap().empties
    };
    assert_eq!(empties(Direction::Reverse), 3);
    assert_eq!(empties(Direction::Duplex), 0);
}

#[test]
fn datagrams_that_waited_for_their_stream_count_from_when_they_came() {
    let duration = |came: Option<MonoInstant>| {
        let mut bench = Bench::new(Side::Receiver, |_| {});
        bench.script.0.lock().unwrap().came = came;
        bench.arrive(at(17), &[(7, Kind::Counted, 0)], None);
        for number in 1..10 {
            bench.arrive(at(17 + 10 * number), &[(7, Kind::Counted, number)], None);
        }
        let report = bench.work.finish(at(200));
        assert_eq!(report.packets, PacketCount::new(10));
        report.duration
    };
    assert_eq!(duration(None), Duration::from_millis(90));
    assert_eq!(duration(Some(at(2))), Duration::from_millis(105));
}

/// The stamps stay the same, so the second hour is one by which the sender's clock was set back.
#[test]
fn a_sender_whose_clock_is_set_has_no_delays() {
    let report = |gap: u64| {
        let mut bench = Bench::new(Side::Receiver, |_| {});
        for number in 0..3 {
            let when = 17 + number + if number == 2 { gap } else { 0 };
            bench.arrive(at(when), &[(7, Kind::Counted, number)], None);
        }
        bench.work.finish(at(20 + gap))
    };
    let set = report(3_600_000);
    let receiver = set.work.get::<DatagramReceiver>().unwrap();
    assert!(receiver.is_sender_clock_set && receiver.times.pdv.is_none());
    assert_eq!((receiver.rtp_jitter_ns, &receiver.ipdv), (None, &None));
    assert_eq!(receiver.sequence.received, PacketCount::new(3));
    let steady = report(10);
    let receiver = steady.work.get::<DatagramReceiver>().unwrap();
    assert!(!receiver.is_sender_clock_set && receiver.times.pdv.is_some());
}

/// The second of three streams that take turns is behind a packet filter.
#[test]
fn a_stream_whose_socket_fails_does_not_hold_up_the_others() {
    let filtered = || Err(Failure::filtered("send"));
    let bench = Bench::new(Side::Sender, |spec| {
        paced(spec);
        (spec.streams, spec.threads) = (3, Some(1));
    });
    let script = bench.script.clone();
    let turns = (0..100).map(|number| if number % 3 == 1 { filtered() } else { Ok(1) });
    script.0.lock().unwrap().sends = turns.collect();
    let report = bench.run(START);
    let of_each: Vec<_> = report.flows.unwrap().iter().collect();
    assert_eq!(of_each, [34, 0, 33]);
    assert_eq!(report.packets, PacketCount::new(67));
    assert_eq!(report.work.refused(), Some(PacketCount::new(33)));
    assert_eq!(report.errors[0].count, 33);
}

/// Answers that a port of the server's is closed end a receiver with one socket, and not one with many.
#[test]
fn a_stream_whose_way_is_kept_open_in_vain_does_not_end_the_others() {
    let is_over = |other_sockets| {
        let mut bench = Bench::new(Side::Receiver, |_| {});
        {
            let mut script = bench.script.0.lock().unwrap();
            script.failures = [Failure::peer_gone("recvmmsg"); 20].into();
            script.other_sockets = other_sockets;
        }
        (0..20).any(|number| matches!(bench.turn(at(number * 100)), Step::Done))
    };
    assert!(is_over(0));
    assert!(!is_over(1));
}

/// A router says twice that there is no way, and between that traffic arrives.
#[test]
fn outages_that_pass_end_no_receiver() {
    let mut bench = Bench::new(Side::Receiver, |_| {});
    for number in 0..4 {
        bench.arrive(at(3000 * number), &[(7, Kind::Counted, number)], None);
        let lost = Failure::unreachable("recvmmsg");
        bench.script.0.lock().unwrap().failures.push_back(lost);
        let step = bench.turn(at(3000 * number + 1));
        assert!(!matches!(step, Step::Done), "{number}");
    }
}

/// Where none of the streams that take turns gets anything through, it is the host that has no way.
#[test]
fn streams_that_all_fail_are_tried_again_and_given_up() {
    let mut bench = Bench::new(Side::Sender, |spec| {
        (spec.streams, spec.threads) = (3, Some(1));
    });
    let failures = std::iter::repeat_n(Err(Failure::filtered("send")), 20_000);
    bench.script.0.lock().unwrap().sends = failures.collect();
    let mut now = START;
    while let Step::Again | Step::Until(_) = bench.turn(now) {
        now = now.after(Duration::from_millis(1));
    }
    let report = bench.work.finish(now);
    assert_eq!(report.packets, PacketCount::new(0));
    assert_eq!(report.work.refused(), Some(PacketCount::new(3)));
    assert!(now < at(3000), "{now:?}");
}

#[test]
fn a_refused_datagram_is_counted_and_leaves_no_gap() {
    let bench = Bench::new(Side::Sender, paced);
    let script = bench.script.clone();
    script.0.lock().unwrap().sends = [Ok(1), Err(Failure::no_buffers("sendmmsg"))].into();
    let report = bench.run(START);
    let sender = report.work.get::<DatagramSender>().unwrap();
    assert_eq!(sender.refused, PacketCount::new(1));
    assert_eq!(report.packets, PacketCount::new(99));
    assert_eq!(sender.unsent, PacketCount::new(0));
    let numbers: Vec<_> = script.kinds_and_numbers().iter().map(|(_, n)| *n).collect();
    assert_eq!(numbers, (0..99).collect::<Vec<_>>());
}

#[test]
fn time_in_sending_calls_is_counted_and_waiting_for_a_slot_is_not() {
    let mut bench = Bench::new(Side::Sender, paced);
    let micros = |micros: u64| START.after(Duration::from_micros(micros));
    for (called, returned) in [(0, 300), (1000, 1200)] {
        assert_eq!(bench.turn(micros(called)), Step::Again);
        let next_slot = micros(called + 1000);
        assert_eq!(bench.turn(micros(returned)), Step::Until(next_slot));
    }
    let report = bench.run(at(2));
    let sending = report.work.get::<DatagramSender>().unwrap().sending;
    assert_eq!(sending, Some(Duration::from_micros(500)));
}

#[test]
fn a_perfect_paced_sender_uses_each_slot_and_the_whole_time() {
    let report = Bench::new(Side::Sender, paced).run(START);
    assert_eq!(report.packets, PacketCount::new(100));
    assert_eq!(report.duration, Duration::from_millis(100));
    let sender = report.work.get::<DatagramSender>().unwrap();
    assert_eq!(sender.pacing.lateness().unwrap().max_nanos(), 0);
    assert_eq!(sender.burst_max, PacketCount::new(1));
}

#[test]
fn the_last_slot_takes_its_whole_time_also_beyond_the_limit() {
    // A slot of 1 ms and a limit of 7.5 ms: eight slots begin within it and end at 8 ms.
    let bench = Bench::new(Side::Sender, |spec| {
        paced(spec);
        spec.stop = Stop::After(Duration::from_micros(7500));
    });
    let report = bench.run(START);
    assert_eq!(report.packets, PacketCount::new(8));
    assert_eq!(report.duration, Duration::from_millis(8));
}

#[test]
fn what_a_stalled_sender_did_not_send_is_unsent() {
    let mut bench = Bench::new(Side::Sender, paced);
    bench.turn(START);
    let report = bench.run(at(60));
    let sender = report.work.get::<DatagramSender>().unwrap();
    let (sent, unsent) = (report.packets.get(), sender.unsent.get());
    assert_eq!((sent, unsent), (41, 59));
}

#[test]
fn a_sender_that_makes_up_for_stalls_sends_it_late() {
    let mut bench = Bench::new(Side::Sender, |spec| {
        paced(spec);
        spec.catch_up = CatchUp::Stall;
    });
    bench.turn(START);
    let report = bench.run(at(15));
    let sender = report.work.get::<DatagramSender>().unwrap();
    let (sent, unsent) = (report.packets.get(), sender.unsent.get());
    assert_eq!((sent, unsent), (100, 0));
    let latest = sender.pacing.lateness().unwrap().max_nanos();
    assert!(latest >= 13_000_000, "{latest} ns");
}

#[test]
fn after_the_warm_up_numbers_and_counts_start_afresh() {
    let bench = Bench::new(Side::Sender, |spec| {
        paced(spec);
        spec.warm_up = Duration::from_millis(10);
    });
    let script = bench.script.clone();
    let report = bench.run(START);
    let sent = script.kinds_and_numbers();
    let warm_up = sent
        .iter()
        .take_while(|(kind, _)| *kind == Kind::WarmUp)
        .count();
    assert_eq!(warm_up, 10);
    let counted: Vec<_> = (0..100).map(|number| (Kind::Counted, number)).collect();
    assert_eq!(sent[warm_up..], counted);
    assert_eq!(report.packets, PacketCount::new(100));
    assert_eq!(report.duration, Duration::from_millis(100));
}

#[test]
fn a_path_that_always_fails_ends_the_sender() {
    let bench = Bench::new(Side::Sender, |spec| spec.stop = Stop::Transactions(1000));
    let gone = Err(Failure::peer_gone("sendmmsg"));
    bench.script.0.lock().unwrap().sends = std::iter::repeat_n(gone, 100).collect();
    let report = bench.run(START);
    assert_eq!(report.packets, PacketCount::new(0));
    assert_eq!(report.errors[0].count, 8);
}

#[test]
fn the_receiver_counts_only_what_is_its_own() {
    let mut bench = Bench::new(Side::Receiver, |_| {});
    let arrivals = [
        (7, Kind::Hello, 0),
        (7, Kind::WarmUp, 5),
        (7, Kind::Counted, 0),
        (8, Kind::Counted, 1),
        (7, Kind::Counted, 2),
        (7, Kind::Counted, 2),
    ];
    bench.arrive(at(5), &arrivals, None);
    bench.arrive(at(9), &[(7, Kind::Counted, 1)], None);
    let report = bench.work.finish(at(20));
    let sequence = report.work.sequence().unwrap();
    assert_eq!(sequence.received, PacketCount::new(3));
    assert_eq!(sequence.duplicated, PacketCount::new(1));
    assert_eq!(sequence.reordered, PacketCount::new(1));
    assert_eq!(sequence.foreign, PacketCount::new(1));
    assert_eq!(report.bytes, ByteCount::new(300));
    assert_eq!(report.duration, Duration::from_millis(4));
}

#[test]
fn drops_of_the_warm_up_are_not_in_the_overflows() {
    let mut bench = Bench::new(Side::Receiver, |spec| {
        spec.warm_up = Duration::from_millis(10);
    });
    bench.arrive(at(1), &[(7, Kind::WarmUp, 0)], None);
    bench.arrive(at(12), &[(7, Kind::Counted, 0)], Some(30));
    bench.script.0.lock().unwrap().overflows = 37;
    let report = bench.work.finish(at(20));
    assert_eq!(report.work.socket_overflows(), Some(PacketCount::new(7)));
}

#[test]
fn datagrams_of_dropped_runs_are_those_whose_numbers_are_missing() {
    let mut bench = Bench::new(Side::Receiver, |spec| {
        spec.warm_up = Duration::from_millis(10);
    });
    bench.script.0.lock().unwrap().run = Some(2);
    let counted = |numbers: &[u64]| -> Vec<_> {
        let all = numbers.iter();
        all.map(|number| (7, Kind::Counted, *number)).collect()
    };
    bench.arrive(at(1), &[(7, Kind::WarmUp, 0)], Some(30));
    bench.arrive(at(12), &counted(&[0, 1, 2, 3]), Some(30));
    // Three runs of two were dropped, and one more datagram was lost elsewhere.
    bench.arrive(at(13), &counted(&[11, 12]), Some(33));
    // This one came late, in a run with one that did not.
    bench.arrive(at(14), &counted(&[10, 13]), Some(33));
    // One run, with one datagram.
    bench.arrive(at(15), &counted(&[15, 16]), Some(34));
    // And one after the last that came.
    bench.script.0.lock().unwrap().overflows = 35;
    let report = bench.work.finish(at(20));
    let socket = report.work.receive_socket().unwrap();
    assert_eq!(socket.dropped_runs, Some(5));
    assert_eq!(
        report.work.socket_overflows(),
        Some(PacketCount::new(6 + 1 + 2))
    );
}

#[test]
fn a_receiver_that_nobody_ends_gives_up_after_silence() {
    let mut bench = Bench::new(Side::Receiver, |_| {});
    assert_eq!(bench.turn(at(29_999)), Step::Again);
    assert_eq!(bench.turn(at(30_001)), Step::Done);
    let report = bench.work.finish(at(30_001));
    assert_eq!(report.errors[0].errno, "ETIMEDOUT");
}
