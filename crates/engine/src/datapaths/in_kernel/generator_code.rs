//! The programs of the generator: one that numbers, stamps and sends a frame when its time has come, and one that
//! counts what the interface took of them.
//!
//! The kernel runs the first on one copy of a frame after the other, in batches; a frame whose time has not come is
//! used again. Its clock is read for each frame that is on time. Frames leave at the end of their batch, which is as long as
//! the kernel's own batch of redirected frames: what the interface does not take are the batch's last ones, and their
//! numbers are used again. So numbers are dense, and what was not sent is no loss.

use super::code::{Code, Cores, Field, HISTOGRAM_BYTES, MAX_PLACES, STACK, STATE};
use super::flows::Flows;
use linerate_sys::bpf::{
    Assembler, Condition, Label, Operation, Program, Register, Width, XDP_DROP,
};
use linerate_wire::schedule::BURST_TOLERANCE;

/// Number of the next frame.
pub(super) const NEXT: Field = Field(0);
/// Time of the next slot, nanoseconds; and what [`linerate_wire::schedule::Slots`] has beside it.
pub(super) const DUE: Field = Field(8);
pub(super) const PARTS: Field = Field(16);
pub(super) const GAP: Field = Field(24);
pub(super) const LEFT: Field = Field(32);
pub(super) const RATE: Field = Field(40);
/// Slots that may still be served.
pub(super) const ALLOWED: Field = Field(48);
/// When the frames so far would be over at 1.25 times the rate: a late sender is ahead of that by no more than a tolerance.
pub(super) const NOT_BEFORE: Field = Field(56);
/// Frames given to the kernel of which it has not said yet whether the interface took them.
pub(super) const PENDING: Field = Field(64);
/// Process and thread that sends.
pub(super) const TASK: Field = Field(72);
/// Frames that the interface took.
pub(super) const SENT: Field = Field(80);
/// Frames that it did not take.
pub(super) const DROPPED: Field = Field(88);
/// The kernel's error with them, if it was one.
pub(super) const ERROR: Field = Field(96);
/// Stream and purpose, as they stand before the number: 16 bits.
pub(super) const MARK: Field = Field(104);
/// Longest lateness with which a slot is served.
pub(super) const CATCH_UP: Field = Field(112);
/// Time from which on no slot is served.
pub(super) const END: Field = Field(120);
/// When the program ran first in this call.
pub(super) const BEGAN: Field = Field(128);
/// When the last frame was given to the kernel.
pub(super) const LAST: Field = Field(136);

/// Lateness of each frame after its time.
pub(super) const LATENESS: i32 = 4096;
/// What differs between the places of a mix of lengths: a [`PlacePlan`] each.
pub(super) const PLACES: i32 = LATENESS + HISTOGRAM_BYTES;
/// Bytes of a place.
pub(super) const PLACE_BYTES: i32 = 32;
/// MAC addresses that frames go to in turns, as they stand in a frame, eight bytes each.
const DESTINATIONS: i32 = PLACES + MAX_PLACES * PLACE_BYTES;
/// Most of them, a power of two.
const MAX_DESTINATIONS: i32 = 16;
/// Bytes of the shared memory.
pub(super) const MEMORY_BYTES: usize = (DESTINATIONS + MAX_DESTINATIONS * 8) as usize;

/// Maximum lateness without a limit of the rate with which missed slots are served; see [`linerate_wire::schedule`].
const AT_ONCE_NS: i32 = 200_000;
/// The same of a sender that gathers frames, since it has no core of its own.
const GATHERED_AT_ONCE_NS: i32 = 1_000_000;

/// Where things lie in the frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FramePlan {
    /// Its bytes up to the end of the probe's header.
    pub(super) headers: Vec<u8>,
    /// Offset of the payload.
    pub(super) payload_at: i16,
    /// The checksum over the payload; `None`: frames have none.
    pub(super) checksum: Option<ChecksumPlan>,
    /// What differs from flow to flow; `None` where the headers are not known.
    pub(super) flow_places: Option<FlowPlaces>,
    /// Offsets of the source ports of UDP tunnels, which several flows have of their own too.
    pub(super) tunnel_ports: Vec<i16>,
    pub(super) flows: Flows,
    /// Whether the frames go from port b to port a.
    pub(super) is_reverse: bool,
    /// Offsets of the 16-bit fields that depend on a frame's length.
    pub(super) varying: Vec<i16>,
    /// How frames of a mix of lengths differ; empty where all are equal.
    pub(super) places: Vec<PlacePlan>,
    /// Whether several frames that are due are sent with one call.
    pub(super) gathers: bool,
    /// Where frames go in turns, each a stream with numbers of its own; at least one.
    pub(super) destinations: Vec<[u8; 6]>,
}

impl FramePlan {
    /// Number of destinations, where there are several.
    fn turns(&self) -> Option<i32> {
        let count = i32::try_from(self.destinations.len()).unwrap_or(MAX_DESTINATIONS);
        (count > 1).then_some(count)
    }
}

/// The transport's checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChecksumPlan {
    pub(super) at: i16,
    /// Whether zero means that there is none, so that all ones are sent in its place.
    pub(super) is_never_zero: bool,
    /// Sum of all 16-bit words that it covers, without those that the program writes.
    pub(super) sum: u16,
}

/// What flows have of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlowPlaces {
    /// Offsets of the lower halves of source and destination address.
    pub(super) addresses: [i16; 2],
    /// Offsets of the ports.
    pub(super) ports: [i16; 2],
    /// Offset of the IPv4 header's checksum.
    pub(super) ip_checksum: Option<i16>,
    /// Sum of what that covers, without the addresses' lower halves if there are several flows.
    pub(super) ip_sum: u16,
}

/// What a frame at one place of a mix of lengths has of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacePlan {
    /// Bytes that it is shorter than the longest.
    pub(super) cut: u32,
    /// The fields that depend on the length, as they stand in the frame, in the order of [`FramePlan::varying`].
    pub(super) halves: Vec<[u8; 2]>,
    /// As in [`FlowPlaces`].
    pub(super) ip_sum: u16,
    /// As in [`ChecksumPlan`].
    pub(super) checksum_sum: u16,
}

/// Offsets in a place.
const CUT: i16 = 0;
const PLACE_IP_SUM: i16 = 4;
const PLACE_SUM: i16 = 6;
const HALVES: i16 = 8;

impl PlacePlan {
    /// Its bytes in the shared memory.
    fn bytes(&self) -> [u8; PLACE_BYTES as usize] {
        let mut bytes = [0; PLACE_BYTES as usize];
        bytes[..4].copy_from_slice(&self.cut.to_ne_bytes());
        bytes[4..6].copy_from_slice(&self.ip_sum.to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.checksum_sum.to_ne_bytes());
        let halves = self.halves.as_flattened();
        bytes[8..8 + halves.len()].copy_from_slice(halves);
        bytes
    }
}

/// Writes the places of a mix, and where frames go, to the shared memory.
pub(super) fn write_tables(plan: &FramePlan, write: &mut dyn FnMut(usize, u64)) {
    let bytes: Vec<_> = plan.places.iter().map(PlacePlan::bytes).collect();
    let padded = |[a, b, c, d, e, f]: &[u8; 6]| [*a, *b, *c, *d, *e, *f, 0, 0];
    let destinations: Vec<_> = plan.destinations.iter().map(padded).collect();
    let tables = [
        (PLACES, bytes.as_flattened().as_chunks::<8>().0),
        (DESTINATIONS, &destinations[..]),
    ];
    for (start, words) in tables {
        let places = (start.unsigned_abs() as usize..).step_by(8);
        places
            .zip(words)
            .for_each(|(at, word)| write(at, u64::from_ne_bytes(*word)));
    }
}

const FRAME: Register = 9;
const NOW: Register = 8;
const SEQUENCE: Register = 7;

/// The sending program.
pub(super) fn sender(plan: &FramePlan, map: i32, devices: i32) -> Program {
    let mut code = Code {
        asm: Assembler::default(),
        map,
        cores: Cores::One,
    };
    let not_now = code.asm.label();
    let is_mix = !plan.places.is_empty();
    if is_mix {
        code.asm.store(Width::Double, STACK, CONTEXT, 1);
    }
    find_frame(&mut code, plan, not_now);
    code.asm.map_value(STATE, map, 0);
    begin(&mut code);
    let at_once = if plan.gathers {
        GATHERED_AT_ONCE_NS
    } else {
        AT_ONCE_NS
    };
    due(&mut code, at_once, not_now);
    if is_mix {
        cut(&mut code, plan, not_now);
    }
    number(&mut code);
    restore(&mut code, plan);
    if let Some(count) = plan.turns() {
        turn(&mut code, count);
    }
    if is_mix {
        lengths(&mut code.asm, plan);
    }
    fields(&mut code, plan);
    code.asm.set(1, 0);
    code.asm.redirect(devices, 1, XDP_DROP);
    code.asm.place(not_now);
    // The frame is used again.
    code.asm.finish_with(XDP_DROP)
}

/// Finds the frame of the context in register 1.
fn find_frame(code: &mut Code, plan: &FramePlan, not_now: Label) {
    code.asm.frame(1, [FRAME, 2]);
    code.asm.copy(3, FRAME);
    let header = i32::try_from(linerate_wire::header::HEADER_LEN).unwrap_or(0);
    code.asm.add(3, i32::from(plan.payload_at) + header);
    code.asm.jump_if_above(3, 2, not_now);
}

/// Cuts the longest frame to the length of the next number, and keeps the place of that number. The kernel gives every
/// frame its whole length again before it is used again.
fn cut(code: &mut Code, plan: &FramePlan, not_now: Label) {
    let map = code.map;
    code.get(1, NEXT);
    let asm = &mut code.asm;
    if let Some(count) = plan.turns() {
        asm.compute(Operation::Divide, 1, count);
    }
    asm.modulo(1, i32::try_from(plan.places.len()).unwrap_or(MAX_PLACES));
    // Not every kernel knows the bounds of a remainder.
    asm.and(1, MAX_PLACES - 1);
    asm.shift_left(1, PLACE_BYTES.ilog2().cast_signed());
    asm.map_value(2, map, PLACES);
    asm.add_register(2, 1);
    asm.store(Width::Double, STACK, PLACE, 2);
    asm.load(Width::Word, 3, 2, CUT);
    asm.set(2, 0);
    asm.compute_register(Operation::Subtract, 2, 3);
    asm.load(Width::Double, 1, STACK, CONTEXT);
    asm.adjust_tail();
    asm.jump_if(Condition::NotEqual, 0, 0, not_now);
    asm.load(Width::Double, 1, STACK, CONTEXT);
    find_frame(code, plan, not_now);
}

/// Writes what the headers say of the length.
fn lengths(asm: &mut Assembler, plan: &FramePlan) {
    asm.load(Width::Double, 1, STACK, PLACE);
    for (from, to) in (HALVES..).step_by(2).zip(&plan.varying) {
        asm.load(Width::Half, 2, 1, from);
        asm.store(Width::Half, FRAME, *to, 2);
    }
}

/// `sum += ` one that every frame has, or that of its place in a mix. Register 0 is lost.
fn add_sum(asm: &mut Assembler, plan: &FramePlan, sum: Register, every: u16, of_place: i16) {
    if plan.places.is_empty() {
        asm.add(sum, every.into());
    } else {
        asm.load(Width::Double, 0, STACK, PLACE);
        asm.load(Width::Half, 0, 0, of_place);
        asm.add_register(sum, 0);
    }
}

/// Takes the time, and notes the first run of a call and who made it.
///
/// A frame that is due by the time of the one before it has that time, for [`FRAMES_PER_READING`] frames of the frames that
/// leave together: reading the clock takes a sixth of what such a frame costs. Frames on time have a reading each.
fn begin(code: &mut Code) {
    let (first, read, known) = (code.asm.label(), code.asm.label(), code.asm.label());
    code.get(1, TASK);
    code.asm.jump_if(Condition::Equal, 1, 0, first);
    code.get(1, PENDING);
    code.asm.and(1, FRAMES_PER_READING - 1);
    code.asm.jump_if(Condition::Equal, 1, 0, read);
    code.get(NOW, LAST);
    code.asm.store_word(STACK, IS_READ, 0);
    // Without a rate all are due.
    code.get(1, RATE);
    code.asm.jump_if(Condition::Equal, 1, 0, known);
    code.get(1, DUE);
    code.asm.jump_if_register(Condition::AtLeast, NOW, 1, known);
    code.asm.place(read);
    code.asm.time();
    code.asm.copy(NOW, 0);
    code.asm.store_word(STACK, IS_READ, 1);
    code.asm.jump(known);
    code.asm.place(first);
    code.asm.time();
    code.asm.copy(NOW, 0);
    code.asm.store_word(STACK, IS_READ, 1);
    code.put(BEGAN, NOW);
    code.asm.task();
    code.put(TASK, 0);
    code.asm.place(known);
}

/// Goes on if a slot is due, and moves the schedule by it.
fn due(code: &mut Code, at_once: i32, not_now: Label) {
    let (unpaced, on_time, go) = (code.asm.label(), code.asm.label(), code.asm.label());
    code.get(1, ALLOWED);
    code.asm.jump_if(Condition::Equal, 1, 0, not_now);
    code.get(3, END);
    code.get(1, RATE);
    code.asm.jump_if(Condition::Equal, 1, 0, unpaced);
    code.get(2, DUE);
    code.asm.jump_if_register(Condition::Less, NOW, 2, not_now);
    code.asm.jump_if_register(Condition::AtLeast, 2, 3, not_now);
    let late = SEQUENCE;
    code.asm.copy(late, NOW);
    code.asm.compute_register(Operation::Subtract, late, 2);
    code.asm.set(4, at_once);
    code.asm
        .jump_if_register(Condition::AtLeast, 4, late, on_time);
    code.get(4, CATCH_UP);
    code.asm
        .jump_if_register(Condition::Greater, late, 4, not_now);
    // Frames of one reading go together; those of the next wait as long as all of them.
    code.asm.load(Width::Word, 4, STACK, IS_READ);
    code.asm.jump_if(Condition::Equal, 4, 0, on_time);
    code.get(4, NOT_BEFORE);
    code.asm.copy(5, NOW);
    code.asm.add(5, TOLERANCE_NS);
    code.asm.jump_if_register(Condition::Less, 5, 4, not_now);
    code.asm.place(on_time);
    // Register 1: rate, 2: time of this slot.
    code.get(4, GAP);
    code.get(5, PARTS);
    code.get(3, LEFT);
    code.asm.add_register(5, 3);
    let whole = code.asm.label();
    code.asm.jump_if_register(Condition::Less, 5, 1, whole);
    code.asm.compute_register(Operation::Subtract, 5, 1);
    code.asm.add(4, 1);
    code.asm.place(whole);
    code.put(PARTS, 5);
    code.asm.add_register(2, 4);
    code.put(DUE, 2);
    // Four fifths, of a gap below 2^32 ns, by a product: a division takes as long as half a reading of the clock.
    let (short, later) = (code.asm.label(), code.asm.label());
    code.asm.set_wide(5, u32::MAX.into());
    code.asm.jump_if_register(Condition::Less, 4, 5, short);
    code.asm.copy(4, 5);
    code.asm.place(short);
    code.asm.set_wide(5, FOUR_FIFTHS);
    code.asm.compute_register(Operation::Multiply, 4, 5);
    code.asm.shift_right(4, 32);
    code.get(5, NOT_BEFORE);
    code.asm.jump_if_register(Condition::Greater, 5, NOW, later);
    code.asm.copy(5, NOW);
    code.asm.place(later);
    code.asm.add_register(4, 5);
    code.put(NOT_BEFORE, 4);
    code.record(late, LATENESS);
    code.asm.jump(go);
    code.asm.place(unpaced);
    code.asm
        .jump_if_register(Condition::AtLeast, NOW, 3, not_now);
    code.asm.place(go);
}

/// Below a second, as a number in a program.
const TOLERANCE_NS: i32 = BURST_TOLERANCE.subsec_nanos().cast_signed();

/// Four fifths of 2^32, rounded up.
const FOUR_FIFTHS: u64 = 0xcccc_cccd;

/// Writes all headers anew: a frame's memory is used again, with what the last device on its way wrote into it (a router
/// its addresses and hop limit, NAT much more). What [`fields`] writes is left out.
fn restore(code: &mut Code, plan: &FramePlan) {
    let probe = plan.payload_at + 4;
    for (offset, word) in (0_i16..).step_by(4).zip(plan.headers.chunks_exact(4)) {
        if offset < probe {
            let number = i32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
            code.asm.store_word(FRAME, offset, number);
        }
    }
}

/// Takes the next number.
fn number(code: &mut Code) {
    for (field, by) in [(ALLOWED, -1), (PENDING, 1)] {
        code.get(1, field);
        code.asm.add(1, by);
        code.put(field, 1);
    }
    code.get(SEQUENCE, NEXT);
    code.asm.copy(1, SEQUENCE);
    code.asm.add(1, 1);
    code.put(NEXT, 1);
    code.put(LAST, NOW);
}

/// Of the number of all frames, makes that of the frame's stream, and writes where it goes. Register 1 to 3 are lost.
fn turn(code: &mut Code, count: i32) {
    let map = code.map;
    let asm = &mut code.asm;
    asm.copy(1, SEQUENCE);
    asm.compute(Operation::Divide, SEQUENCE, count);
    asm.copy(2, SEQUENCE);
    asm.compute(Operation::Multiply, 2, count);
    asm.compute_register(Operation::Subtract, 1, 2);
    // What the kernel must know of a number that it adds to an address.
    asm.and(1, MAX_DESTINATIONS - 1);
    asm.store(Width::Double, STACK, TURN, 1);
    asm.shift_left(1, 3);
    asm.map_value(2, map, DESTINATIONS);
    asm.add_register(2, 1);
    for (width, at) in [(Width::Word, 0), (Width::Half, 4)] {
        asm.load(width, 3, 2, at);
        asm.store(width, FRAME, at, 3);
    }
}

/// Writes what differs from frame to frame: flow, number, time, checksums.
fn fields(code: &mut Code, plan: &FramePlan) {
    let asm = &mut code.asm;
    // The sum of what the transport's checksum covers.
    let sum = 5;
    match plan.flow_places.filter(|_| !plan.flows.is_one()) {
        None => asm.set(sum, 0),
        Some(places) => flow(asm, plan, places),
    }
    if let Some(checksum) = plan.checksum {
        add_sum(asm, plan, sum, checksum.sum, PLACE_SUM);
    }
    let at = plan.payload_at;
    // Stream, purpose and number: the sum of the parts of a number is, modulo 2^16 − 1, the number.
    asm.load(Width::Double, 1, STATE, MARK.0);
    if plan.turns().is_some() {
        asm.load(Width::Double, 2, STACK, TURN);
        asm.shift_left(2, 8);
        asm.add_register(1, 2);
    }
    asm.add_register(sum, 1);
    asm.shift_left(1, 16);
    shifted(asm, 2, SEQUENCE, 32);
    asm.and(2, 0xffff);
    asm.compute_register(Operation::Or, 1, 2);
    put(asm, Width::Word, at + 4, 1);
    asm.copy(2, SEQUENCE);
    put(asm, Width::Word, at + 8, 2);
    // The low 48 bits of both.
    for number in [SEQUENCE, NOW] {
        asm.shift_left(number, 16);
        asm.shift_right(number, 16);
        asm.add_register(sum, number);
    }
    shifted(asm, 2, NOW, 16);
    put(asm, Width::Word, at + 12, 2);
    asm.copy(2, NOW);
    put(asm, Width::Half, at + 16, 2);
    let Some(checksum) = plan.checksum else {
        return;
    };
    fold_sum(asm, sum);
    asm.compute(Operation::Xor, sum, 0xffff);
    if checksum.is_never_zero {
        // A checksum of zero is sent as all ones (RFC 768).
        let some = asm.label();
        asm.jump_if(Condition::NotEqual, sum, 0, some);
        asm.set(sum, 0xffff);
        asm.place(some);
    }
    put(asm, Width::Half, checksum.at, sum);
}

/// Chooses the flow and writes addresses, ports and the IPv4 checksum. Register 5 = sum of addresses and ports.
fn flow(asm: &mut Assembler, plan: &FramePlan, places: FlowPlaces) {
    asm.copy(1, SEQUENCE);
    plan.flows.write(asm);
    if plan.is_reverse {
        for pair in [(1, 2), (3, 4)] {
            asm.copy(5, pair.0);
            asm.copy(pair.0, pair.1);
            asm.copy(pair.1, 5);
        }
    }
    asm.copy(5, 1);
    asm.add_register(5, 2);
    asm.store(Width::Double, STACK, SUM, 5);
    if let Some(place) = places.ip_checksum {
        add_sum(asm, plan, 5, places.ip_sum, PLACE_IP_SUM);
        fold_sum(asm, 5);
        asm.compute(Operation::Xor, 5, 0xffff);
        put(asm, Width::Half, place, 5);
        asm.load(Width::Double, 5, STACK, SUM);
    }
    asm.add_register(5, 3);
    asm.add_register(5, 4);
    tunnel_port(asm, plan);
    let fields = places.addresses.into_iter().chain(places.ports);
    for (register, place) in (1..).zip(fields) {
        put(asm, Width::Half, place, register);
    }
}

/// Writes the source port of tunnels: of the dynamic range, a function of the flow's fields in registers 1 to 4 that is
/// the same both ways. Register 0 is lost.
fn tunnel_port(asm: &mut Assembler, plan: &FramePlan) {
    if plan.tunnel_ports.is_empty() {
        return;
    }
    asm.copy(0, 1);
    for field in [2, 3, 4] {
        asm.compute_register(Operation::Xor, 0, field);
    }
    asm.and(0, 0x3fff);
    asm.compute(Operation::Or, 0, 0xc000);
    asm.swap_to_network(Width::Half, 0);
    for place in &plan.tunnel_ports {
        asm.store(Width::Half, FRAME, *place, 0);
    }
}

/// Numbers on the stack.
const SUM: i16 = -24;
/// Whether the clock was read for this frame.
const IS_READ: i16 = -32;
/// The program's context, and the address of the frame's place in a mix of lengths.
const CONTEXT: i16 = -40;
const PLACE: i16 = -48;
/// Which of the destinations the frame goes to.
const TURN: i16 = -56;

/// Most frames that have the time of one reading: a power of two. Of late frames only, so that a send time is too early by
/// at most what seven frames take to make, half a microsecond; the frames of a batch wait that long for each other anyway.
const FRAMES_PER_READING: i32 = 8;

/// `to = from >> bits`.
fn shifted(asm: &mut Assembler, to: Register, from: Register, bits: i32) {
    asm.copy(to, from);
    asm.shift_right(to, bits);
}

/// Writes the low bytes of `register` into the frame, in network byte order; they are then swapped in `register`.
fn put(asm: &mut Assembler, width: Width, at: i16, register: Register) {
    asm.swap_to_network(width, register);
    asm.store(width, FRAME, at, register);
}

/// Folds a sum below 2^51 to 16 bits. Register 2 is lost, unless it is not free: then 0 is used.
fn fold_sum(asm: &mut Assembler, sum: Register) {
    for _ in 0..4 {
        asm.copy(0, sum);
        asm.shift_right(0, 16);
        asm.and(sum, 0xffff);
        asm.add_register(sum, 0);
    }
}

/// The counting program, at the tracepoint `xdp_devmap_xmit`: devices, frames taken, frames dropped, error.
pub(super) fn counter(map: i32) -> Program {
    let mut code = Code {
        asm: Assembler::default(),
        map,
        cores: Cores::One,
    };
    let others = code.asm.label();
    let (sent, dropped, error) = (7, 8, 9);
    for (register, place) in [(sent, 16), (dropped, 24), (error, 32)] {
        code.asm.load(Width::Double, register, 1, place);
        // Arguments are of 32 bits.
        code.asm.shift_left(register, 32);
        let shift = if register == error {
            Operation::ShiftRightSigned
        } else {
            Operation::ShiftRight
        };
        code.asm.compute(shift, register, 32);
    }
    code.asm.map_value(STATE, map, 0);
    code.asm.task();
    code.get(1, TASK);
    code.asm.jump_if_register(Condition::NotEqual, 0, 1, others);
    // Between two batches frames of others may be forwarded by this thread, in an interrupt.
    code.get(1, PENDING);
    code.asm.jump_if(Condition::Equal, 1, 0, others);
    code.asm.compute_register(Operation::Subtract, 1, sent);
    code.asm.compute_register(Operation::Subtract, 1, dropped);
    code.put(PENDING, 1);
    code.get(2, SENT);
    code.asm.add_register(2, sent);
    code.put(SENT, 2);
    code.asm.jump_if(Condition::Equal, dropped, 0, others);
    code.get(2, DROPPED);
    code.asm.add_register(2, dropped);
    code.put(DROPPED, 2);
    code.put(ERROR, error);
    // Numbers after those of the dropped frames are out already: then theirs are missing.
    code.asm.jump_if(Condition::NotEqual, 1, 0, others);
    code.get(2, NEXT);
    code.asm.compute_register(Operation::Subtract, 2, dropped);
    code.put(NEXT, 2);
    code.asm.place(others);
    code.asm.finish()
}
