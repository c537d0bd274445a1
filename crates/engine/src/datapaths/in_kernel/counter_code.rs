//! The program of the counter: it runs on every frame that an interface receives, counts the test's own and takes them,
//! and leaves all others to the kernel's stack.
//!
//! Numbers that came are remembered in words of 32, each with the part of the number that is above its place. A word is
//! used again when a number comes that needs its place, without ever being cleared: the window is some 4 million numbers
//! long. What comes below it cannot be told from a duplicate.
//!
//! # References
//! - Reordered: RFC 4737 §3.4; duplicates: RFC 5560; jitter: RFC 3550 §6.4.1; IPDV: RFC 3393

use super::code::{Code, Cores, Field, HISTOGRAM_BYTES, MAX_PLACES, STATE};
use crate::datapaths::af_xdp::lengths::Lengths;
use crate::datapaths::af_xdp::probe::{ProbeMark, near};
use linerate_sys::bpf::{
    Assembler, Condition, Label, Operation, Program, Register, Width, XDP_DROP, XDP_PASS,
};
use linerate_wire::header::Kind;

/// Distinct counted frames.
pub(super) const COUNTED: Field = Field(0);
/// Counted frames that came again.
pub(super) const DUPLICATED: Field = Field(8);
/// Distinct ones that came after one with a larger number.
pub(super) const REORDERED: Field = Field(16);
/// Those below the window.
pub(super) const TOO_OLD: Field = Field(24);
/// One above the highest number.
pub(super) const NEXT_EXPECTED: Field = Field(32);
/// When the first counted frame came, nanoseconds.
pub(super) const FIRST: Field = Field(40);
/// When the last one came.
pub(super) const LAST: Field = Field(48);
/// Whether any frame came, warm-up included; and of the first of them when it was sent, and its transit time.
pub(super) const HEARD: Field = Field(56);
pub(super) const FIRST_SENT: Field = Field(64);
pub(super) const FIRST_TRANSIT: Field = Field(72);
/// Counted frames, each as often as it came.
pub(super) const ARRIVALS: Field = Field(80);
/// Sixteen times the jitter.
pub(super) const JITTER: Field = Field(88);
/// Number after that of the last counted frame, and its transit time.
pub(super) const FOLLOWING: Field = Field(96);
pub(super) const LAST_TRANSIT: Field = Field(104);
/// Every frame whose count of arrivals has none of these bits is noted as a sample.
pub(super) const SAMPLE_MASK: Field = Field(112);
/// Samples noted.
pub(super) const SAMPLES: Field = Field(120);
/// Jumps and late frames noted.
pub(super) const EVENTS: Field = Field(128);
/// Frames of the test whose lengths are wrong.
pub(super) const MALFORMED: Field = Field(136);
/// When the last frame of the test came, warm-up included.
pub(super) const LAST_OF_ALL: Field = Field(144);
/// Longest time between two counted frames, nanoseconds, and the numbers that were missing between them.
pub(super) const GAP: Field = Field(152);
pub(super) const GAP_MISSING: Field = Field(160);
/// Frames of the warm-up, each as often as it came.
pub(super) const WARM_UP: Field = Field(168);

/// A note of a time: three numbers.
pub(super) const NOTE_BYTES: i32 = 32;
/// The fastest frame of each stretch of time: the stretch, when the frame was sent, its transit less that of the first.
pub(super) const STRETCHES: i32 = 4096;
/// Places of stretches; at some 4 ms each they last 4 s.
pub(super) const STRETCH_PLACES: i32 = 1024;
/// Length of a stretch: 2^22 ns.
pub(super) const STRETCH_SHIFT: i32 = 22;
/// Samples: number of the arrival, when the frame was sent, its transit less that of the first.
pub(super) const SAMPLE_NOTES: i32 = STRETCHES + STRETCH_PLACES * NOTE_BYTES;
/// Places of samples.
pub(super) const SAMPLE_PLACES: i32 = 4096;
/// Jumps (number of the first missing frame) and late frames (number, and [`LATE`]), with the distinct frames before.
pub(super) const EVENT_NOTES: i32 = SAMPLE_NOTES + SAMPLE_PLACES * NOTE_BYTES;
/// Places of events.
pub(super) const EVENT_PLACES: i32 = 1 << 15;
/// Bytes of an event.
pub(super) const EVENT_BYTES: i32 = 16;
/// Bit of a late frame in its event.
pub(super) const LATE: u64 = 1 << 63;
/// Histograms of the transit time less that of the first frame, and of IPDV: above zero and below.
pub(super) const ABOVE: i32 = EVENT_NOTES + EVENT_PLACES * EVENT_BYTES;
pub(super) const BELOW: i32 = ABOVE + HISTOGRAM_BYTES;
pub(super) const IPDV_ABOVE: i32 = BELOW + HISTOGRAM_BYTES;
pub(super) const IPDV_BELOW: i32 = IPDV_ABOVE + HISTOGRAM_BYTES;
/// Words of numbers that came.
const NUMBERS: i32 = IPDV_BELOW + HISTOGRAM_BYTES;
/// Their count, and its logarithm.
const NUMBER_PLACES_BITS: i32 = 17;
const NUMBER_PLACES: i32 = 1 << NUMBER_PLACES_BITS;
/// Payload lengths of a mix, eight bytes each.
const LENGTHS: i32 = NUMBERS + NUMBER_PLACES * 8;
/// Distinct frames that came at each place of a mix.
pub(super) const PLACE_COUNTS: i32 = LENGTHS + MAX_PLACES * 8;
/// Bytes of the shared memory; below the 4 MiB that older kernels allow.
pub(super) const MEMORY_BYTES: usize = (PLACE_COUNTS + MAX_PLACES * 8) as usize;

const _: () = assert!(MEMORY_BYTES <= 4 << 20);

/// Attempts of one core to note a number in a word that other cores write too.
const TRIES: usize = 6;

/// What the test's frames are known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Where their payload was sent.
    pub(super) payload_at: usize,
    pub(super) probe: ProbeMark,
}

/// What transit times are relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    /// The first frame's, where both ends may have clocks of their own.
    FirstFrame,
    /// The clock that both ends have.
    Clock,
}

/// Writes the lengths of a mix to the shared memory.
pub(super) fn write_lengths(lengths: &Lengths, write: &mut dyn FnMut(usize, u64)) {
    let start = LENGTHS.unsigned_abs() as usize;
    let places = (start..).step_by(8).zip(lengths.places());
    places.for_each(|(at, length)| write(at, *length as u64));
}

/// Longest frame that Ethernet pads, bytes without FCS, and four more: some devices pad before they take a tag off.
const SHORTEST: i32 = 64;

/// Mask of a length, larger than any frame of one buffer: what the kernel must know of a number that it adds to an address.
const LENGTH_MASK: i32 = 0x3fff;

const FRAME: Register = 7;
const SEQUENCE: Register = 7;
/// Transit time less that of the first frame, signed.
const TRANSIT: Register = 8;
const END: Register = 8;
const NOW: Register = 9;
const STACK: Register = 10;

/// Numbers on the stack.
const KIND: i16 = -24;
const SENT: i16 = -32;

/// The counting program.
pub(super) fn program(
    mark: Mark,
    lengths: &Lengths,
    map: i32,
    cores: Cores,
    reference: Reference,
) -> Program {
    let mut code = Code {
        asm: Assembler::default(),
        map,
        cores,
    };
    let (pass, taken, counted) = (code.asm.label(), code.asm.label(), code.asm.label());
    recognise(&mut code, mark, lengths, pass);
    read(&mut code, mark, reference);
    stretch(&mut code);
    let asm = &mut code.asm;
    asm.load(Width::Double, 1, STACK, KIND);
    asm.jump_if(Condition::Equal, 1, Kind::Counted as i32, counted);
    code.bump(WARM_UP);
    code.asm.exit_with(XDP_DROP);
    code.asm.place(counted);
    times(&mut code);
    sample(&mut code);
    sequence(&mut code, lengths, taken);
    code.asm.place(taken);
    code.asm.exit_with(XDP_DROP);
    code.asm.place(pass);
    code.asm.finish_with(XDP_PASS)
}

/// Goes on with frames of the test, whatever headers they have.
fn recognise(code: &mut Code, mark: Mark, lengths: &Lengths, pass: Label) {
    let map = code.map;
    let asm = &mut code.asm;
    asm.frame(1, [FRAME, END]);
    let payload = near(mark.payload_at);
    let found = asm.label();
    let whole = 5;
    asm.copy(whole, FRAME);
    let probe = mark.probe;
    probe.find(asm, [FRAME, END], mark.payload_at, [found, pass]);
    asm.place(found);
    asm.load(Width::Byte, 3, FRAME, payload + 5);
    asm.jump_if(Condition::Greater, 3, Kind::WarmUp as i32, pass);
    asm.map_value(STATE, map, 0);
    asm.store(Width::Double, STACK, KIND, 3);
    match lengths {
        Lengths::One(length) => asm.set(1, i32::try_from(*length).unwrap_or(LENGTH_MASK)),
        Lengths::Mix(places) => {
            load_sequence(asm, payload);
            offset_of_place(asm, places);
            asm.map_value(2, map, LENGTHS);
            asm.add_register(2, 1);
            asm.load(Width::Double, 1, 2, 0);
            asm.and(1, LENGTH_MASK);
        }
    }
    // A frame that the device cut or stretched is of no use, and known. Ethernet pads short ones.
    let (wrong, right) = (asm.label(), asm.label());
    asm.copy(2, FRAME);
    asm.add(2, payload.into());
    asm.add_register(2, 1);
    asm.jump_if_above(2, END, wrong);
    asm.add(2, 1);
    asm.jump_if_above(2, END, right);
    asm.add(whole, SHORTEST + 1);
    asm.jump_if_above(whole, END, right);
    asm.place(wrong);
    code.bump(MALFORMED);
    code.asm.exit_with(XDP_DROP);
    code.asm.place(right);
}

/// Register 1 = number of the frame. Register 2 is lost.
fn load_sequence(asm: &mut Assembler, payload: i16) {
    for (register, width, at) in [(1, Width::Half, 6), (2, Width::Word, 8)] {
        asm.load(width, register, FRAME, payload + at);
        asm.swap_to_network(width, register);
    }
    asm.shift_left(1, 32);
    asm.compute_register(Operation::Or, 1, 2);
}

/// Reads number and times; of the first frame its transit time may become the reference of all.
fn read(code: &mut Code, mark: Mark, reference: Reference) {
    let asm = &mut code.asm;
    let payload = near(mark.payload_at);
    // The time first: the clock is read by a call, which loses registers 0 to 5.
    let word = |asm: &mut Assembler, to: Register, width: Width, at: i16| {
        asm.load(width, to, FRAME, payload + at);
        asm.swap_to_network(width, to);
    };
    word(asm, 1, Width::Word, 12);
    word(asm, 2, Width::Half, 16);
    asm.shift_left(1, 16);
    asm.compute_register(Operation::Or, 1, 2);
    asm.store(Width::Double, STACK, SENT, 1);
    load_sequence(asm, payload);
    asm.copy(SEQUENCE, 1);
    asm.time();
    asm.copy(NOW, 0);
    code.put(LAST_OF_ALL, NOW);
    let asm = &mut code.asm;
    asm.copy(TRANSIT, NOW);
    asm.load(Width::Double, 1, STACK, SENT);
    asm.compute_register(Operation::Subtract, TRANSIT, 1);
    let known = asm.label();
    code.get(2, HEARD);
    code.asm.jump_if(Condition::NotEqual, 2, 0, known);
    if reference == Reference::FirstFrame {
        code.put(FIRST_TRANSIT, TRANSIT);
    }
    code.put(FIRST_SENT, 1);
    code.asm.set(2, 1);
    code.put(HEARD, 2);
    code.asm.place(known);
    code.get(2, FIRST_TRANSIT);
    code.asm.compute_register(Operation::Subtract, TRANSIT, 2);
    // The nearest distance on a circle of 48 bits.
    code.asm.shift_left(TRANSIT, 16);
    code.asm.compute(Operation::ShiftRightSigned, TRANSIT, 16);
}

/// Notes the fastest frame of each stretch of time.
fn stretch(code: &mut Code) {
    let map = code.map;
    let asm = &mut code.asm;
    let (keep, done) = (asm.label(), asm.label());
    asm.copy(1, NOW);
    asm.shift_right(1, STRETCH_SHIFT);
    asm.copy(2, 1);
    asm.and(2, STRETCH_PLACES - 1);
    asm.shift_left(2, NOTE_BYTES.ilog2().cast_signed());
    asm.map_value(3, map, STRETCHES);
    asm.add_register(3, 2);
    asm.load(Width::Double, 4, 3, 0);
    asm.jump_if_register(Condition::NotEqual, 4, 1, keep);
    asm.load(Width::Double, 4, 3, 16);
    asm.jump_if_register(Condition::SignedLess, TRANSIT, 4, keep);
    asm.jump(done);
    asm.place(keep);
    note(asm, 1);
    asm.place(done);
}

/// Writes a note at the address in register 3: the number in `key`, when the frame was sent, its transit.
fn note(asm: &mut Assembler, key: Register) {
    asm.store(Width::Double, 3, 0, key);
    asm.load(Width::Double, 4, STACK, SENT);
    asm.store(Width::Double, 3, 8, 4);
    asm.store(Width::Double, 3, 16, TRANSIT);
}

/// Counts delay, delay variation and jitter of a counted frame.
fn times(code: &mut Code) {
    gap(code);
    code.put(LAST, NOW);
    let seen = code.asm.label();
    code.get(1, FIRST);
    code.asm.jump_if(Condition::NotEqual, 1, 0, seen);
    code.put(FIRST, NOW);
    code.asm.place(seen);
    code.asm.copy(0, TRANSIT);
    record_signed(code, [ABOVE, BELOW]);
    let (first, apart, done) = (code.asm.label(), code.asm.label(), code.asm.label());
    code.get(1, FOLLOWING);
    code.asm.jump_if(Condition::Equal, 1, 0, first);
    code.get(2, LAST_TRANSIT);
    code.asm.copy(0, TRANSIT);
    code.asm.compute_register(Operation::Subtract, 0, 2);
    // Jitter: of any two that came one after the other.
    let positive = code.asm.label();
    code.asm.copy(3, 0);
    let sign = 4;
    code.asm.copy(sign, 3);
    code.asm.compute(Operation::ShiftRightSigned, sign, 63);
    code.asm.jump_if(Condition::Equal, sign, 0, positive);
    code.asm.compute_register(Operation::Xor, 3, sign);
    code.asm.add(3, 1);
    code.asm.place(positive);
    code.get(4, JITTER);
    code.asm.add_register(3, 4);
    code.asm.shift_right(4, 4);
    code.asm.compute_register(Operation::Subtract, 3, 4);
    code.put(JITTER, 3);
    // IPDV: of those with neighbouring numbers.
    code.asm
        .jump_if_register(Condition::NotEqual, 1, SEQUENCE, apart);
    record_signed(code, [IPDV_ABOVE, IPDV_BELOW]);
    code.asm.jump(done);
    code.asm.place(first);
    code.asm.place(apart);
    code.asm.place(done);
    code.asm.copy(1, SEQUENCE);
    code.asm.add(1, 1);
    code.put(FOLLOWING, 1);
    code.put(LAST_TRANSIT, TRANSIT);
}

/// Keeps the longest time between two counted frames.
fn gap(code: &mut Code) {
    let done = code.asm.label();
    code.get(1, LAST);
    code.asm.jump_if(Condition::Equal, 1, 0, done);
    code.asm.copy(2, NOW);
    code.asm.compute_register(Operation::Subtract, 2, 1);
    // Cores that overtake each other make no gap.
    code.asm.jump_if(Condition::SignedLess, 2, 1, done);
    code.get(3, GAP);
    code.asm.jump_if_register(Condition::Less, 2, 3, done);
    code.put(GAP, 2);
    code.asm.copy(2, SEQUENCE);
    code.get(3, FOLLOWING);
    code.asm.compute_register(Operation::Subtract, 2, 3);
    code.put(GAP_MISSING, 2);
    code.asm.place(done);
}

/// Counts the number in register 0 in one of two histograms.
fn record_signed(code: &mut Code, [above, below]: [i32; 2]) {
    let (negative, done) = (code.asm.label(), code.asm.label());
    code.asm.copy(1, 0);
    code.asm.compute(Operation::ShiftRightSigned, 1, 63);
    code.asm.jump_if(Condition::NotEqual, 1, 0, negative);
    code.record(0, above);
    code.asm.jump(done);
    code.asm.place(negative);
    code.asm.compute(Operation::Xor, 0, -1);
    code.asm.add(0, 1);
    code.record(0, below);
    code.asm.place(done);
}

/// Notes every n-th frame.
fn sample(code: &mut Code) {
    let done = code.asm.label();
    code.get(5, ARRIVALS);
    code.bump(ARRIVALS);
    code.get(1, SAMPLE_MASK);
    code.asm.compute_register(Operation::And, 1, 5);
    code.asm.jump_if(Condition::NotEqual, 1, 0, done);
    code.get(4, SAMPLES);
    code.bump(SAMPLES);
    code.asm.and(4, SAMPLE_PLACES - 1);
    code.asm.shift_left(4, NOTE_BYTES.ilog2().cast_signed());
    let map = code.map;
    code.asm.map_value(3, map, SAMPLE_NOTES);
    code.asm.add_register(3, 4);
    note(&mut code.asm, 5);
    code.asm.place(done);
}

/// Accounts for the number: distinct, duplicate, reordered.
fn sequence(code: &mut Code, lengths: &Lengths, taken: Label) {
    let (too_old, duplicate, fresh) = (code.asm.label(), code.asm.label(), code.asm.label());
    let map = code.map;
    let asm = &mut code.asm;
    let (place, bit, above) = (3, 4, 5);
    asm.copy(place, SEQUENCE);
    asm.shift_right(place, 5);
    asm.copy(above, place);
    asm.shift_right(above, NUMBER_PLACES_BITS);
    asm.and(place, NUMBER_PLACES - 1);
    asm.shift_left(place, 3);
    asm.map_value(2, map, NUMBERS);
    asm.add_register(place, 2);
    asm.copy(1, SEQUENCE);
    asm.and(1, 31);
    asm.set(bit, 1);
    asm.compute_register(Operation::ShiftLeft, bit, 1);
    let tries = match code.cores {
        Cores::One => 1,
        Cores::Several => TRIES,
    };
    for _ in 0..tries {
        let asm = &mut code.asm;
        let (newer, noted) = (asm.label(), asm.label());
        asm.load(Width::Double, 0, place, 0);
        asm.copy(1, 0);
        asm.shift_right(1, 32);
        asm.jump_if_register(Condition::Greater, 1, above, too_old);
        asm.copy(2, 0);
        asm.jump_if_register(Condition::NotEqual, 1, above, newer);
        asm.copy(1, 0);
        asm.compute_register(Operation::And, 1, bit);
        asm.jump_if(Condition::NotEqual, 1, 0, duplicate);
        asm.jump(noted);
        asm.place(newer);
        asm.copy(2, above);
        asm.shift_left(2, 32);
        asm.place(noted);
        asm.compute_register(Operation::Or, 2, bit);
        match code.cores {
            Cores::One => {
                asm.store(Width::Double, place, 0, 2);
                asm.jump(fresh);
            }
            Cores::Several => {
                asm.copy(1, 0);
                asm.exchange_if_equal(place, 2);
                asm.jump_if_register(Condition::Equal, 0, 1, fresh);
            }
        }
    }
    code.asm.place(too_old);
    code.bump(TOO_OLD);
    code.asm.jump(taken);
    code.asm.place(duplicate);
    code.bump(DUPLICATED);
    code.asm.jump(taken);
    code.asm.place(fresh);
    order(code);
    count_place(code, lengths);
    code.bump(COUNTED);
}

/// Counts a distinct frame at its place of a mix of lengths.
fn count_place(code: &mut Code, lengths: &Lengths) {
    let Lengths::Mix(places) = lengths else {
        return;
    };
    code.asm.copy(1, SEQUENCE);
    offset_of_place(&mut code.asm, places);
    let map = code.map;
    code.asm.map_value(2, map, PLACE_COUNTS);
    code.asm.add_register(2, 1);
    code.increment(2);
}

/// Register 1 = bytes of all places before that of the number in it, eight each.
fn offset_of_place(asm: &mut Assembler, places: &[usize]) {
    asm.modulo(1, i32::try_from(places.len()).unwrap_or(MAX_PLACES));
    // Not every kernel knows the bounds of a remainder.
    asm.and(1, MAX_PLACES - 1);
    asm.shift_left(1, 3);
}

/// Compares a distinct frame's number with the next expected one.
fn order(code: &mut Code) {
    let (late, next, event, done) = (
        code.asm.label(),
        code.asm.label(),
        code.asm.label(),
        code.asm.label(),
    );
    code.get(5, NEXT_EXPECTED);
    code.asm
        .jump_if_register(Condition::Less, SEQUENCE, 5, late);
    code.asm.copy(1, SEQUENCE);
    code.asm.add(1, 1);
    code.put(NEXT_EXPECTED, 1);
    code.asm
        .jump_if_register(Condition::Equal, SEQUENCE, 5, next);
    code.asm.jump(event);
    code.asm.place(late);
    code.bump(REORDERED);
    code.asm.set_wide(5, LATE);
    code.asm.compute_register(Operation::Or, 5, SEQUENCE);
    code.asm.place(event);
    code.get(4, EVENTS);
    code.bump(EVENTS);
    code.asm.and(4, EVENT_PLACES - 1);
    code.asm.shift_left(4, EVENT_BYTES.ilog2().cast_signed());
    let map = code.map;
    code.asm.map_value(3, map, EVENT_NOTES);
    code.asm.add_register(3, 4);
    code.asm.store(Width::Double, 3, 0, 5);
    code.get(1, COUNTED);
    code.asm.store(Width::Double, 3, 8, 1);
    code.asm.jump(done);
    code.asm.place(next);
    code.asm.place(done);
}
