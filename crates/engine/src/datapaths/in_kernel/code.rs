//! What both programs are written with: fields of the memory they share with this process, and a histogram in it.

use linerate_model::Histogram;
use linerate_model::spec::Genome;
use linerate_sys::bpf::{Assembler, Condition, Operation, Register, SharedValue, Width};

/// A number of 64 bits at this byte of the shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field(pub(super) i16);

impl Field {
    pub(super) const fn at(self) -> usize {
        self.0.unsigned_abs() as usize
    }
}

/// Most places of a mix of lengths, a power of two.
pub(super) const MAX_PLACES: i32 = 256;

const _: () = assert!(MAX_PLACES as usize == Genome::MAX_PLACES);

/// Register of the shared memory's first byte, in both programs.
pub(super) const STATE: Register = 6;

/// Highest address of a program's stack, which grows downwards.
pub(super) const STACK: Register = 10;

/// Whether several cores may run a program at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cores {
    One,
    Several,
}

/// A program under way.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) asm: Assembler,
    /// Descriptor of the shared memory.
    pub(super) map: i32,
    pub(super) cores: Cores,
}

impl Code {
    /// `to = field`.
    pub(super) fn get(&mut self, to: Register, field: Field) {
        self.asm.load(Width::Double, to, STATE, field.0);
    }

    /// `field = from`.
    pub(super) fn put(&mut self, field: Field, from: Register) {
        self.asm.store(Width::Double, STATE, field.0, from);
    }

    /// `field += 1`. Registers 1 and 2 are lost.
    pub(super) fn bump(&mut self, field: Field) {
        match self.cores {
            Cores::Several => {
                self.asm.set(1, 1);
                self.asm.atomic_add_at(STATE, field.0, 1);
            }
            Cores::One => {
                self.get(1, field);
                self.asm.add(1, 1);
                self.put(field, 1);
            }
        }
    }

    /// Counts the number in `value`, below 2^64, in the histogram at `histogram`. Registers 1 to 5 are lost; `value` is
    /// none of them.
    ///
    /// The buckets are those of [`Histogram`]: 2048 of one nanosecond, then 1024 for each doubling.
    pub(super) fn record(&mut self, value: Register, histogram: i32) {
        let asm = &mut self.asm;
        let (clamped, rest, doublings) = (1, 2, 3);
        let fits = asm.label();
        asm.copy(clamped, value);
        asm.set_wide(4, MAX_VALUE);
        asm.jump_if_register(Condition::Less, clamped, 4, fits);
        asm.copy(clamped, 4);
        asm.place(fits);
        asm.copy(rest, clamped);
        asm.shift_right(rest, SUB_BUCKET_BITS);
        asm.set(doublings, 0);
        let counted = asm.label();
        asm.jump_if(Condition::Equal, rest, 0, counted);
        for bits in [16, 8, 4, 2, 1] {
            let less = asm.label();
            asm.jump_if(Condition::Less, rest, 1 << bits, less);
            asm.add(doublings, bits);
            asm.shift_right(rest, bits);
            asm.place(less);
        }
        asm.add(doublings, 1);
        asm.place(counted);
        asm.compute_register(Operation::ShiftRight, clamped, doublings);
        asm.shift_left(doublings, 10);
        asm.add_register(doublings, clamped);
        asm.and(doublings, BUCKETS - 1);
        asm.shift_left(doublings, 3);
        asm.map_value(2, self.map, histogram);
        asm.add_register(2, doublings);
        self.increment(2);
    }

    /// Adds one to the number at the address in a register. Register 1 is lost.
    pub(super) fn increment(&mut self, at: Register) {
        let asm = &mut self.asm;
        match self.cores {
            Cores::Several => {
                asm.set(1, 1);
                asm.atomic_add(at, 1);
            }
            Cores::One => {
                asm.load(Width::Double, 1, at, 0);
                asm.add(1, 1);
                asm.store(Width::Double, at, 0, 1);
            }
        }
    }
}

/// Places of a histogram, a power of two.
const BUCKETS: i32 = 1 << 15;

/// Bytes of a histogram.
pub(super) const HISTOGRAM_BYTES: i32 = BUCKETS * 8;

/// Bits of a value in a bucket: 2048 values of a nanosecond each come first.
const SUB_BUCKET_BITS: i32 = 11;

/// Longest time that is told apart from longer ones: 68 s.
const MAX_VALUE: u64 = (1 << 36) - 1;

/// Each value that the histogram at byte `start` of a memory counted, in nanoseconds, and how often.
fn counted(memory: &dyn Fn(usize) -> u64, start: i32) -> impl Iterator<Item = (u64, u64)> {
    let start = start.unsigned_abs() as usize;
    let buckets = 0..BUCKETS.unsigned_abs() as usize;
    buckets.filter_map(move |index| {
        let count = memory(start + index * 8);
        (count > 0).then(|| (value_of(index as u64), count))
    })
}

/// The histogram at byte `start` of a memory that is read by number of byte.
pub(super) fn histogram(memory: &dyn Fn(usize) -> u64, start: i32) -> Histogram {
    let mut all = Histogram::new();
    for (nanos, count) in counted(memory, start) {
        all.record_n(nanos, count);
    }
    all
}

/// Sets the histogram at byte `start` to nothing counted.
pub(super) fn clear(memory: &SharedValue, start: i32) {
    let start = start.unsigned_abs() as usize;
    for index in 0..BUCKETS.unsigned_abs() as usize {
        memory.set(start + index * 8, 0);
    }
}

/// Smallest value of a bucket.
const fn value_of(index: u64) -> u64 {
    match (index >> 10).checked_sub(1) {
        None | Some(0) => index,
        Some(doublings) => (index - (doublings << 10)) << doublings,
    }
}
