//! Sender and receiver with iperf3's numbers, which go on through the warm-up.

use super::super::*;
use crate::Role;
use crate::control::StreamControl;
use crate::datapaths::{Arrivals, Buffers, DatagramPath, Span};
use crate::plan::EndpointPlan;
use crate::workloads::{Path, Step};
use linerate_model::sample::{Omitted, StreamReport};
use linerate_model::spec::{Pace, Stop};
use linerate_model::{BitRate, ByteCount, Clock, MonoInstant, PacketCount};
use linerate_peers::iperf3::{self, COOKIE_LEN, Cookie};
use linerate_sys::failure::Failure;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PAYLOAD: usize = 100;
const START: MonoInstant = MonoInstant::from_nanos(1_000_000_000);

fn at(millis: u64) -> MonoInstant {
    START.after(Duration::from_millis(millis))
}

/// What waits to be received, and the numbers that were sent.
#[derive(Default)]
struct Wire {
    arrivals: Vec<u8>,
    numbers: Vec<u32>,
}

struct RawPath {
    wire: Arc<Mutex<Wire>>,
    slots: Vec<u8>,
    incoming: Vec<u8>,
    spans: Vec<Span>,
}

fn number(datagram: &[u8]) -> u32 {
    u32::from_be_bytes(datagram[8..12].try_into().unwrap())
}

impl DatagramPath for RawPath {
    fn batch(&self) -> usize {
        4
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.slots
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        let sent = self.slots.chunks(PAYLOAD).take(count).map(number);
        self.wire.lock().unwrap().numbers.extend(sent);
        Ok(count)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        unreachable!("iperf3 sends none")
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        self.incoming = std::mem::take(&mut self.wire.lock().unwrap().arrivals);
        if self.incoming.is_empty() {
            return Err(Failure::would_block("recvmmsg"));
        }
        let length = u32::try_from(PAYLOAD).unwrap();
        let count = u32::try_from(self.incoming.len() / PAYLOAD).unwrap();
        let span = |index| Span {
            offset: index * length,
            length,
        };
        self.spans = (0..count).map(span).collect();
        Ok(Arrivals {
            bytes: &self.incoming,
            spans: &self.spans,
            overflows: None,
            runs: &[],
            came: None,
        })
    }

    fn overflows(&mut self) -> Option<u64> {
        None
    }

    fn buffers(&self) -> Buffers {
        Buffers::default()
    }
}

struct Standing(AtomicU64);

impl Clock for Standing {
    fn now(&self) -> MonoInstant {
        MonoInstant::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

struct Bench {
    wire: Arc<Mutex<Wire>>,
    work: Box<dyn Work>,
    clock: &'static Standing,
}

impl Bench {
    /// One datagram per millisecond for 20 ms after 10 ms of warm-up.
    fn new(side: Side) -> Self {
        let spec = TestSpec {
            stop: Stop::After(Duration::from_millis(20)),
            warm_up: Duration::from_millis(10),
            ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(800_000)))
                .with_payload(ByteCount::new(PAYLOAD as u64))
        };
        let plan = EndpointPlan {
            side,
            role: Role::Server,
            spec,
            format: Arc::new(iperf3::Streams {
                cookie: Cookie::from_wire([0; COOKIE_LEN]),
                counters: iperf3::Counters::Bits32,
            }),
        };
        let wire = Arc::<Mutex<Wire>>::default();
        let clock: &'static Standing = Box::leak(Box::new(Standing(AtomicU64::new(0))));
        let path = RawPath {
            wire: Arc::clone(&wire),
            slots: vec![0; PAYLOAD * 4],
            incoming: Vec::new(),
            spans: Vec::new(),
        };
        let setup = StreamSetup {
            path: Path::Datagrams(Box::new(path)),
            plan: plan.stream(0),
            progress: Arc::default(),
            clock,
        };
        let mut work = Datagrams.work(side, setup).unwrap();
        work.begin(START);
        Self { wire, work, clock }
    }

    fn turn(&mut self, now: MonoInstant) -> Step {
        self.clock.0.store(now.as_nanos(), Ordering::Relaxed);
        self.work.turn(now, &StreamControl::default())
    }

    fn arrive(&mut self, now: MonoInstant, numbers: &[u32]) {
        for number in numbers {
            let mut datagram = [0; PAYLOAD];
            datagram[8..12].copy_from_slice(&number.to_be_bytes());
            self.wire.lock().unwrap().arrivals.extend(datagram);
        }
        self.turn(now);
    }
}

fn omitted(report: &StreamReport) -> (u64, u64) {
    let Omitted { packets, missing } = report.work.omitted().unwrap();
    (packets.get(), missing.get())
}

#[test]
fn a_sender_numbers_on_from_the_warm_up_and_counts_what_came_after() {
    let mut bench = Bench::new(Side::Sender);
    let mut now = START;
    loop {
        match bench.turn(now) {
            Step::Again => {}
            Step::Until(later) | Step::Poll(later) => now = now.max(later),
            Step::Done => break,
        }
    }
    let report = bench.work.finish(now);
    assert_eq!(
        bench.wire.lock().unwrap().numbers,
        (1..=30).collect::<Vec<_>>()
    );
    assert_eq!(report.packets, PacketCount::new(20));
    assert_eq!(omitted(&report), (10, 0));
}

#[test]
fn a_receiver_counts_by_its_own_time_and_says_what_came_before() {
    let mut bench = Bench::new(Side::Receiver);
    bench.arrive(at(5), &[1, 2, 4, 5]);
    bench.arrive(at(15), &[6, 7, 8]);
    let report = bench.work.finish(at(16));
    let sequence = report.work.sequence().unwrap();
    assert_eq!(report.packets, PacketCount::new(3));
    assert_eq!(report.bytes, ByteCount::new(3 * PAYLOAD as u64));
    assert_eq!((sequence.received.get(), sequence.next_expected), (3, 3));
    assert_eq!(omitted(&report), (5, 1));
    assert!(report.work.rtp_jitter_ns().is_some());
    let next: Vec<_> = report.intervals.iter().map(|i| i.next_expected).collect();
    assert_eq!(next, [Some(3)]);
}

#[test]
fn a_late_datagram_of_the_warm_up_hides_no_loss_after_it() {
    let mut bench = Bench::new(Side::Receiver);
    bench.arrive(at(5), &[1, 2, 4, 5]);
    bench.arrive(at(15), &[6, 8, 3]);
    let report = bench.work.finish(at(16));
    let sequence = report.work.sequence().unwrap();
    assert_eq!((sequence.received.get(), sequence.next_expected), (2, 3));
    assert_eq!(report.packets, PacketCount::new(2));
    assert_eq!(omitted(&report), (5, 0));
    let mut bench = Bench::new(Side::Receiver);
    bench.arrive(at(5), &[1, 2]);
    bench.arrive(at(15), &[5]);
    let report = bench.work.finish(at(16));
    let sequence = report.work.sequence().unwrap();
    assert_eq!((sequence.received.get(), sequence.next_expected), (1, 3));
}

#[test]
fn a_receiver_of_nothing_but_the_warm_up_counted_nothing() {
    let mut bench = Bench::new(Side::Receiver);
    bench.arrive(at(5), &[1, 3]);
    let report = bench.work.finish(at(16));
    let sequence = report.work.sequence().unwrap();
    assert_eq!((sequence.received.get(), sequence.next_expected), (0, 0));
    assert_eq!(omitted(&report), (3, 1));
}
