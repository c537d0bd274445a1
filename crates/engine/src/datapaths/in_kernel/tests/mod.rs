//! The programs, run on a machine of our own: what the kernel would carry out, without privileges.
#![cfg(target_endian = "little")]

mod headers;
mod machine;

use super::code::Cores;
use super::counter_code::{self as counter, Mark, Reference};
use super::generator_code as generator;
use super::{Flows, LAST_FLOW, dispatcher, template};
use crate::datapaths::af_xdp::frame::{End, Flow, Layout, Template, payload};
use crate::datapaths::af_xdp::lengths::Lengths;
use crate::datapaths::af_xdp::probe::ProbeMark;
use crate::sequence::Remembered;
use linerate_frames::{FrameHeaders, Way};
use linerate_model::MonoInstant;
use linerate_wire::header::{Header, Kind};
use linerate_wire::schedule::{Due, Schedule};
use linerate_wire::sequence::Tracker;
use linerate_wire::{Jitter, Stamp};
use machine::Machine;
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

const TOKEN: u32 = 0x8102_0304;
const STREAM: u8 = 7;
const XDP_DROP: u64 = 1;
const XDP_PASS: u64 = 2;
const XDP_REDIRECT: u64 = 4;

fn flow(is_ipv4: bool) -> Flow {
    let (a, b) = if is_ipv4 {
        ("198.18.0.1:5301", "198.19.0.2:5301")
    } else {
        ("[2001:2::1]:5301", "[2001:2:0:1::2]:5301")
    };
    let end = |mac, address: &str| End {
        mac: [2, 0, 0, 0, 0, mac],
        address: address.parse().unwrap(),
    };
    Flow {
        local: end(1, a),
        remote: end(2, b),
        traffic_class: 0,
    }
}

const fn header(kind: Kind, sequence: u64, sent: u64) -> Header {
    Header {
        token: TOKEN,
        stream: STREAM,
        kind,
        sequence,
        sent: Stamp::from_bits(sent),
    }
}

/// A sender of `payload` bytes on a machine, and the frame that it starts from.
struct Sender {
    machine: Machine,
    program: linerate_sys::bpf::Program,
    frame: Vec<u8>,
}

impl Sender {
    fn new(is_ipv4: bool, payload: usize, flows: Flows, is_reverse: bool) -> Self {
        Self::with_lengths(is_ipv4, &Lengths::One(payload), flows, is_reverse)
    }

    fn with_lengths(is_ipv4: bool, lengths: &Lengths, flows: Flows, is_reverse: bool) -> Self {
        let flow = flow(is_ipv4);
        Self::with_headers(
            &FrameHeaders::default(),
            &flow,
            lengths,
            (flows, is_reverse),
        )
    }

    fn with_headers(
        headers: &FrameHeaders,
        flow: &Flow,
        lengths: &Lengths,
        (flows, is_reverse): (Flows, bool),
    ) -> Self {
        let to = vec![flow.remote.mac];
        Self::to_destinations(to, headers, flow, lengths, (flows, is_reverse))
    }

    fn to_destinations(
        to: Vec<[u8; 6]>,
        headers: &FrameHeaders,
        flow: &Flow,
        lengths: &Lengths,
        (flows, is_reverse): (Flows, bool),
    ) -> Self {
        let start = header(Kind::WarmUp, 0, 0);
        let layout = Layout::new(headers, flow, Way::AToB);
        let (frame, plan) = template::frame(&layout, to, lengths, &start, flows, is_reverse);
        let mut machine = Machine::new(generator::MEMORY_BYTES);
        generator::write_tables(&plan, &mut |at, number| machine.set(at, number));
        machine.set(generator::ALLOWED.at(), u64::MAX);
        machine.set(generator::END.at(), u64::MAX);
        machine.set(generator::MARK.at(), u64::from(STREAM) << 8);
        Self {
            machine,
            program: generator::sender(&plan, 3, 4),
            frame,
        }
    }

    /// Sends a frame at a time, if it is due; all before it have left.
    fn run(&mut self, now: u64) -> Option<&[u8]> {
        self.machine.set(generator::PENDING.at(), 0);
        self.run_in_batch(now)
    }

    /// Sends a frame behind others of its batch.
    fn run_in_batch(&mut self, now: u64) -> Option<&[u8]> {
        self.machine.now = now;
        match self.machine.on_frame(&self.program, &mut self.frame) {
            XDP_REDIRECT => Some(&self.frame[..self.machine.frame_bytes()]),
            XDP_DROP => None,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn frames_are_whole_datagrams_with_number_and_time() {
    for (is_ipv4, bytes) in [
        (true, 18),
        (true, 19),
        (true, 1400),
        (false, 18),
        (false, 201),
    ] {
        let mut sender = Sender::new(is_ipv4, bytes, Flows::new(1).unwrap(), false);
        let sent = flow(is_ipv4);
        let seen_there = Flow {
            local: sent.remote,
            remote: sent.local,
            ..sent
        };
        let near_wrap = (1 << 48) - 3;
        sender.machine.set(generator::NEXT.at(), near_wrap);
        for index in 0..6 {
            let now = 0x1234_5678_9abc_def0 + index * 977;
            let frame = sender.run(now).unwrap();
            let payload = payload(&seen_there, frame).unwrap();
            let read = Header::read(payload).unwrap();
            assert_eq!(payload.len(), bytes);
            let number = (near_wrap + index) & ((1 << 48) - 1);
            assert_eq!(read, header(Kind::Counted, number, now));
        }
    }
}

/// Every frame of a mix is whole, with the length of its number, of one flow and of many; what a device wrote into its
/// memory before is in none.
#[test]
fn frames_of_a_mix_have_the_length_of_their_number() {
    let lengths = Lengths::Mix(vec![18, 18, 548, 1472, 61]);
    let one = Flows::new(1).unwrap();
    let many = Flows::new(1000).unwrap();
    let last = many.beginning_at(LAST_FLOW - 500).unwrap();
    for (is_ipv4, flows) in [(true, one), (false, one), (true, many), (false, last)] {
        let mut sender = Sender::with_lengths(is_ipv4, &lengths, flows, false);
        for number in 0..200 {
            let frame = sender.run(number * 1000 + 5).unwrap();
            let base = flow(is_ipv4);
            let [from, to] = if flows.is_one() {
                [base.local, base.remote]
            } else {
                let fields = flows.of(number);
                [(base.local, 0), (base.remote, 1)].map(|(end, at)| {
                    let low = fields.addresses[at];
                    let address = template::with_low_half(end.address.ip(), low);
                    End {
                        address: SocketAddr::new(address, fields.ports[at]),
                        ..end
                    }
                })
            };
            let there = Flow {
                local: to,
                remote: from,
                ..base
            };
            let payload = payload(&there, frame).unwrap();
            assert_eq!(payload.len(), lengths.of(number));
            assert_eq!(Header::read(payload).unwrap().sequence, number);
            assert_eq!(frame.len(), base.headers() + payload.len());
            sender.frame[14..40].fill(0xee);
        }
    }
}

/// A frame of a mix whose length is that of another number is known as malformed.
#[test]
fn a_counter_of_a_mix_knows_the_length_of_each_number() {
    let lengths = Lengths::Mix(vec![18, 100, 60]);
    let mut receiver = Receiver::with_lengths(true, &lengths, Cores::One);
    for number in 0..9 {
        let own = lengths.of(number);
        let frame = receiver.frame_of(&header(Kind::Counted, number, 1), own);
        assert_eq!(receiver.take_frame(frame, 5 + number), XDP_DROP);
    }
    assert_eq!(receiver.get(counter::COUNTED), 9);
    let wrong = receiver.frame_of(&header(Kind::Counted, 9, 1), 100);
    assert_eq!(receiver.take_frame(wrong, 20), XDP_DROP);
    let counts = [counter::COUNTED, counter::MALFORMED].map(|field| receiver.get(field));
    assert_eq!(counts, [9, 1]);
}

#[test]
fn frames_of_many_flows_have_the_addresses_ports_and_checksums_that_are_told() {
    let flows = Flows::new(1_000_000).unwrap();
    for (is_ipv4, is_reverse) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut sender = Sender::new(is_ipv4, 60, flows, is_reverse);
        for number in 0..2000 {
            let frame = sender.run(number * 1000 + 5).unwrap();
            let fields = flows.of(number);
            let mut ends = [0, 1].map(|end| (fields.addresses[end], fields.ports[end]));
            if is_reverse {
                ends.reverse();
            }
            let base = flow(is_ipv4);
            let own = |end: End, (low, port): (u16, u16)| End {
                address: SocketAddr::new(template::with_low_half(end.address.ip(), low), port),
                ..end
            };
            let sent = Flow {
                local: own(base.remote, ends[1]),
                remote: own(base.local, ends[0]),
                ..base
            };
            let read = Header::read(payload(&sent, frame).unwrap()).unwrap();
            assert_eq!(read.sequence, number);
        }
    }
}

/// In turns to each port, as a stream with numbers of its own and the lengths of those, whole and of many flows too.
#[test]
fn frames_to_several_ports_are_a_stream_each() {
    let to: Vec<[u8; 6]> = (1..4).map(|last| [2, 0, 0, 0, 9, last]).collect();
    let lengths = Lengths::Mix(vec![18, 548, 61]);
    for (is_ipv4, count) in [(true, 1), (false, 1000)] {
        let flows = Flows::new(count).unwrap();
        let base = flow(is_ipv4);
        let headers = FrameHeaders::default();
        let mut sender =
            Sender::to_destinations(to.clone(), &headers, &base, &lengths, (flows, false));
        for number in 0..500 {
            let now = number * 1000 + 5;
            let frame = sender.run(now).unwrap();
            let (turn, own) = (usize::try_from(number % 3).unwrap(), number / 3);
            assert_eq!(frame[..6], to[turn]);
            let probe = Layout::plain(&base).payload_at();
            let read = Header::read(&frame[probe..]).unwrap();
            let wanted = Header {
                stream: STREAM + u8::try_from(turn).unwrap(),
                ..header(Kind::Counted, own, now)
            };
            assert_eq!(read, wanted);
            assert_eq!(frame.len(), probe + lengths.of(own));
            let checked = linerate_frames::check(frame, probe, lengths.of(own));
            assert!(checked.is_ok(), "{number}");
        }
    }
}

/// The program of a port goes on with that of the frame's stream, whatever headers the frame has, and leaves others alone.
#[test]
fn a_port_of_several_streams_goes_on_with_the_frames_own() {
    let receiver = Receiver::new(true, Cores::One);
    let payload_at = Layout::plain(&flow(true)).payload_at();
    let program = dispatcher::program(TOKEN, payload_at, 5);
    let run = |frame: &[u8]| {
        let mut machine = Machine::new(8);
        let action = machine.on_frame(&program, &mut frame.to_vec());
        assert_eq!(action, XDP_PASS);
        machine.went_on
    };
    let good = receiver.frame(&header(Kind::Counted, 3, 0));
    assert_eq!(run(&good), Some(u64::from(STREAM)));
    for stream in [0, 200, 255] {
        let mut other = good.clone();
        other[payload_at + 4] = stream;
        other.splice(12..12, [0x81; 4]);
        assert_eq!(run(&other), Some(u64::from(stream)));
    }
    let mut foreign = good.clone();
    foreign[payload_at] ^= 1;
    assert_eq!(run(&foreign), None);
    assert_eq!(run(&good[..payload_at + 17]), None);
}

/// Of several ports delay is by the clock that both ends have, so that it can be added up.
#[test]
fn times_may_be_by_the_clock_that_both_ends_have() {
    let mut receiver = Receiver::new(true, Cores::One);
    let mark = Mark {
        payload_at: Layout::plain(&flow(true)).payload_at(),
        probe: ProbeMark {
            token: TOKEN,
            stream: STREAM,
        },
    };
    receiver.program = counter::program(mark, &Lengths::One(60), 3, Cores::One, Reference::Clock);
    for (number, delay) in [(0, 500), (1, 700), (2, 90)] {
        let sent = 1_000_000 + number * 10_000;
        receiver.take(&header(Kind::Counted, number, sent), sent + delay);
    }
    let machine = &receiver.machine;
    let seen = super::code::histogram(&|at| machine.get(at), counter::ABOVE);
    assert_eq!(
        (seen.len(), seen.min_nanos(), seen.max_nanos()),
        (3, 90, 700)
    );
    assert_eq!(receiver.get(counter::FIRST_TRANSIT), 0);
    assert_eq!(receiver.get(counter::HEARD), 1);
}

#[test]
fn slots_are_those_of_the_schedule() {
    let start = MonoInstant::from_nanos(1_000_000);
    let schedule = Schedule::new(start, 123_456_789, 60, Duration::ZERO, 1);
    let mut schedule = schedule.unwrap();
    let mut sender = Sender::new(true, 60, Flows::new(1).unwrap(), false);
    let slots = schedule.slots();
    for (field, number) in [
        (generator::DUE, slots.next_due.as_nanos()),
        (generator::GAP, slots.gap),
        (generator::LEFT, slots.left),
        (generator::PARTS, slots.parts),
        (generator::RATE, slots.rate_bps),
        (generator::CATCH_UP, 10_000_000),
    ] {
        sender.machine.set(field.at(), number);
    }
    // Steps of very different length, one of them late enough to be made up for at 1.25 times the rate.
    let mut now = 990_000;
    for step in 0..40_000_u64 {
        now += if step == 10_000 {
            900_000
        } else {
            step * 7 % 1501
        };
        let at = MonoInstant::from_nanos(now);
        let due = matches!(schedule.due(at), Due::Now { .. });
        if due {
            schedule.served(at, 1);
        }
        assert_eq!(sender.run(now).is_some(), due, "{step}");
    }
    let next = schedule.slots().next_due.as_nanos();
    assert_eq!(sender.machine.get(generator::DUE.at()), next);
    assert!(sender.machine.redirected > 5_000);
}

/// Late frames of a batch have one time, of a reading at most seven frames ago; those on time have their own.
#[test]
fn late_frames_share_a_reading_of_the_clock() {
    let sent_at = |sender: &mut Sender, now| {
        let frame = sender.run_in_batch(now)?;
        let sent = flow(true);
        let there = Flow {
            local: sent.remote,
            remote: sent.local,
            ..sent
        };
        let read = Header::read(payload(&there, frame).unwrap()).unwrap();
        Some(read.sent.bits())
    };
    let mut sender = Sender::new(true, 60, Flows::new(1).unwrap(), false);
    let unpaced: Vec<_> = (100..120).map(|now| sent_at(&mut sender, now)).collect();
    let wanted = (100..120).map(|now| Some(100 + (now - 100) / 8 * 8));
    assert_eq!(unpaced, wanted.collect::<Vec<_>>());

    let mut sender = Sender::new(true, 60, Flows::new(1).unwrap(), false);
    for (field, number) in [
        (generator::DUE, 1_000),
        (generator::GAP, 10),
        (generator::RATE, 1),
        (generator::CATCH_UP, 10_000_000),
    ] {
        sender.machine.set(field.at(), number);
    }
    // On time, one too early, and then 5 behind.
    let times = [
        1_000, 1_005, 1_010, 1_070, 1_072, 1_074, 1_076, 1_078, 1_079, 1_083,
    ];
    let paced: Vec<_> = times.map(|now| sent_at(&mut sender, now)).to_vec();
    let wanted = [
        1_000, 0, 1_010, 1_070, 1_070, 1_070, 1_070, 1_070, 1_070, 1_083,
    ];
    let wanted = wanted.map(|time| Some(time).filter(|time| *time > 0));
    assert_eq!(paced, wanted);
}

/// What the interface did not take are the last of a batch: their numbers are used again.
#[test]
fn numbers_of_frames_that_were_not_taken_are_used_again() {
    let mut sender = Sender::new(true, 60, Flows::new(1).unwrap(), false);
    let counter = generator::counter(3);
    let event = |sender: &mut Sender, sent, dropped, error: i64| {
        let arguments = [1, 2, sent, dropped, error.cast_unsigned()];
        sender.machine.on_event(&counter, arguments);
    };
    assert!((0..16).all(|now| sender.run_in_batch(now).is_some()));
    event(&mut sender, 13, 3, 0);
    // Frames of another program that this thread forwards between two batches.
    event(&mut sender, 5, 5, -6);
    assert_eq!(sender.machine.get(generator::NEXT.at()), 13);
    assert!((0..16).all(|now| sender.run_in_batch(now).is_some()));
    event(&mut sender, 0, 16, -6);
    let machine = &sender.machine;
    let counts =
        [generator::NEXT, generator::SENT, generator::DROPPED].map(|f| machine.get(f.at()));
    assert_eq!(counts, [13, 13, 19]);
    assert_eq!(machine.get(generator::ERROR.at()).cast_signed(), -6);
}

/// A counter on a machine.
struct Receiver {
    machine: Machine,
    program: linerate_sys::bpf::Program,
    is_ipv4: bool,
}

impl Receiver {
    fn new(is_ipv4: bool, cores: Cores) -> Self {
        Self::with_lengths(is_ipv4, &Lengths::One(60), cores)
    }

    fn with_lengths(is_ipv4: bool, lengths: &Lengths, cores: Cores) -> Self {
        let mark = Mark {
            payload_at: Layout::plain(&flow(is_ipv4)).payload_at(),
            probe: ProbeMark {
                token: TOKEN,
                stream: STREAM,
            },
        };
        let mut machine = Machine::new(counter::MEMORY_BYTES);
        counter::write_lengths(lengths, &mut |at, number| machine.set(at, number));
        Self {
            machine,
            program: counter::program(mark, lengths, 3, cores, Reference::FirstFrame),
            is_ipv4,
        }
    }

    fn frame(&self, header: &Header) -> Vec<u8> {
        self.frame_of(header, 60)
    }

    fn frame_of(&self, header: &Header, bytes: usize) -> Vec<u8> {
        let mut payload = vec![0; bytes];
        header.write(&mut payload);
        let template = Template::new(&Layout::plain(&flow(self.is_ipv4)), bytes);
        let mut frame = vec![0; template.frame_bytes()];
        template.write(&payload, &mut frame);
        frame
    }

    fn take(&mut self, header: &Header, now: u64) -> u64 {
        self.take_frame(self.frame(header), now)
    }

    fn take_frame(&mut self, mut frame: Vec<u8>, now: u64) -> u64 {
        self.machine.now = now;
        self.machine.on_frame(&self.program, &mut frame)
    }

    fn get(&self, field: super::code::Field) -> u64 {
        self.machine.get(field.at())
    }
}

#[test]
fn frames_of_others_are_left_to_the_stack() {
    for is_ipv4 in [true, false] {
        let mut receiver = Receiver::new(is_ipv4, Cores::Several);
        let good = receiver.frame(&header(Kind::Counted, 0, 0));
        let payload = Layout::plain(&flow(is_ipv4)).payload_at();
        for changed in [payload, payload + 3, payload + 4, payload + 5] {
            let mut frame = good.clone();
            frame[changed] ^= 0x40;
            let result = receiver.machine.on_frame(&receiver.program, &mut frame);
            assert_eq!(result, XDP_PASS, "{changed}");
        }
        for kind in [Kind::Hello, Kind::HelloAck, Kind::HelloDone] {
            assert_eq!(receiver.take(&header(kind, 0, 0), 1), XDP_PASS);
        }
        let mut short = good[..payload + 17].to_vec();
        let result = receiver.machine.on_frame(&receiver.program, &mut short);
        assert_eq!(result, XDP_PASS);
        assert_eq!(receiver.get(counter::HEARD), 0);
        // Of the test, but cut, or longer than it was sent: known as malformed.
        let cut = good[..good.len() - 1].to_vec();
        let stretched = [&good[..], &[0]].concat();
        for mut wrong in [cut, stretched] {
            let result = receiver.machine.on_frame(&receiver.program, &mut wrong);
            assert_eq!(result, XDP_DROP);
        }
        assert_eq!(receiver.get(counter::MALFORMED), 2);
        assert_eq!(receiver.get(counter::ARRIVALS), 0);
    }
}

/// NAT writes addresses and ports, others add tags and options: the frame is counted all the same.
#[test]
fn a_frame_with_other_headers_is_counted() {
    for is_ipv4 in [true, false] {
        let mut receiver = Receiver::new(is_ipv4, Cores::One);
        let [address, port] = if is_ipv4 { [26, 34] } else { [22, 54] };
        for (number, (at, added)) in [(0, 0), (12, 4), (12, 8), (port, 8), (port, 40)]
            .into_iter()
            .enumerate()
        {
            let mut frame = receiver.frame(&header(Kind::Counted, number as u64, 0));
            for changed in [address, address + 3, port, port + 1] {
                frame[changed] ^= 0x55;
            }
            frame.splice(at..at, vec![0x81; added]);
            receiver.machine.now = 1_000 + number as u64;
            let result = receiver.machine.on_frame(&receiver.program, &mut frame);
            assert_eq!(result, XDP_DROP, "{added} at {at}");
        }
        assert_eq!(receiver.get(counter::COUNTED), 5);
        assert_eq!(receiver.get(counter::MALFORMED), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Lost, doubled and moved numbers are counted as the tracker of this process counts them, and times as its jitter.
    #[test]
    fn numbers_are_accounted_for_as_by_the_process(
        moves in prop::collection::vec((0_u8..100, 0_u64..40, 0_u64..2000), 1..400),
        several in any::<bool>(),
    ) {
        let cores = if several { Cores::Several } else { Cores::One };
        let mut receiver = Receiver::new(true, cores);
        let mut arrivals: Vec<(u64, u64)> = Vec::new();
        for (number, (fate, delay, _)) in (0..).zip(&moves) {
            match fate {
                0..15 => {}
                15..30 => arrivals.extend([(number, number), (number + delay, number)]),
                30..60 => arrivals.push((number + delay, number)),
                _ => arrivals.push((number, number)),
            }
        }
        arrivals.sort_unstable();
        let (mut tracker, mut jitter) = (Tracker::<Remembered>::default(), Jitter::default());
        let mut now = 10_000_000;
        for ((_, number), (_, _, transit)) in arrivals.iter().zip(moves.iter().cycle()) {
            now += 3000;
            let frame = header(Kind::Counted, *number, now - transit);
            prop_assert_eq!(receiver.take(&frame, now), XDP_DROP);
            tracker.record(*number);
            jitter.record(frame.sent.transit_to(MonoInstant::from_nanos(now)));
        }
        let counts = tracker.counts();
        let wanted = [counts.received, counts.duplicated, counts.reordered, counts.too_old, counts.next_expected];
        let fields = [counter::COUNTED, counter::DUPLICATED, counter::REORDERED, counter::TOO_OLD, counter::NEXT_EXPECTED];
        prop_assert_eq!(fields.map(|field| receiver.get(field)), wanted);
        let seen = (!arrivals.is_empty()).then(|| receiver.get(counter::JITTER) / 16);
        prop_assert_eq!(seen, jitter.finish());
    }
}

/// The window moves on: a number is told from a duplicate some millions later, and not for ever.
#[test]
fn what_comes_too_late_to_be_known_is_counted_as_such() {
    let mut receiver = Receiver::new(true, Cores::Several);
    let window = 1 << 22;
    for (now, number) in (1..).zip([5, window - 1, 5, window + 4, 5, 6]) {
        receiver.take(&header(Kind::Counted, number, 0), now);
    }
    assert_eq!(receiver.get(counter::DUPLICATED), 1);
    assert_eq!(receiver.get(counter::TOO_OLD), 2);
    assert_eq!(receiver.get(counter::COUNTED), 3);
}

/// Frames of the warm-up and late ones are in no gap of the counted ones.
#[test]
fn the_longest_time_without_a_frame_is_kept_with_what_was_missing() {
    for cores in [Cores::One, Cores::Several] {
        let mut receiver = Receiver::new(true, cores);
        receiver.take(&header(Kind::WarmUp, 0, 0), 1000);
        let frames = [
            (0, 900_000),
            (1, 900_100),
            (8, 905_100),
            (9, 905_150),
            (7, 909_000),
        ];
        for (number, now) in frames {
            receiver.take(&header(Kind::Counted, number, 0), now);
        }
        let gap = [counter::GAP, counter::GAP_MISSING].map(|field| receiver.get(field));
        assert_eq!(gap, [5000, 6]);
    }
}

#[test]
fn every_delay_is_in_the_histogram_in_the_bucket_of_its_value() {
    let mut receiver = Receiver::new(false, Cores::One);
    let mut wanted = linerate_model::Histogram::new();
    let base = 1_u64 << 40;
    // The first sets the reference; others are above and below it.
    receiver.take(&header(Kind::WarmUp, 0, 0), base);
    for (number, above) in [0, 1, 2047, 2048, 4095, 4096, 99_999, 1 << 30, (1 << 36) - 1]
        .into_iter()
        .enumerate()
    {
        receiver.take(&header(Kind::Counted, number as u64, 0), base + above);
        wanted.record(above);
    }
    receiver.take(&header(Kind::Counted, 100, 5000), base);
    let machine = &receiver.machine;
    let read = super::code::histogram(&|at| machine.get(at), counter::ABOVE);
    assert_eq!(read, wanted);
    let below = super::code::histogram(&|at| machine.get(at), counter::BELOW);
    assert_eq!((below.len(), below.min_nanos() / 8), (1, 5000 / 8));
    assert_eq!(receiver.get(counter::ARRIVALS), 10);
}
