//! A packet on its way: its bytes, and the words and variable-length fields of its headers.

use super::stages::StageTimes;
use crate::bits::Writer;
use crate::num::{Num, mask_top};
use crate::program::{Field, Program, Stack};

/// Where a packet came from last, as programs see it in `instance_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instance {
    Normal = 0,
    IngressClone = 1,
    EgressClone = 2,
    Recirculated = 4,
    Replica = 5,
    Resubmitted = 6,
}

/// What a program asked to be done with a packet at the end of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Requests {
    /// Session and list of fields to keep.
    pub(super) clone: Option<(u32, u64)>,
    pub(super) resubmit: Option<u64>,
    pub(super) recirculate: Option<u64>,
    pub(super) digest: Option<u64>,
}

/// A packet with all that a program knows of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Packet {
    pub(super) words: Vec<u64>,
    pub(super) varbits: Vec<u8>,
    /// The bytes as they came in.
    pub(super) bytes: Vec<u8>,
    /// How many of them the parser took.
    pub(super) parsed: usize,
    pub(super) port: u32,
    /// Bytes with headers added and removed since.
    pub(super) length: u64,
    /// The most bytes that leave.
    pub(super) truncate: usize,
    pub(super) requests: Requests,
    pub(super) exited: bool,
    /// How often it, or what it is a copy of, went through a pipeline.
    pub(super) passes: u32,
    pub(super) times: StageTimes,
}

impl Packet {
    /// Clears what the last packet left, and takes these bytes, which come in now.
    pub(super) fn reset(&mut self, program: &Program, bytes: &[u8], port: u32, now: u64) {
        self.clear(program);
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.port = port;
        self.length = bytes.len() as u64;
        self.passes = 0;
        self.times = StageTimes::from_now(now);
    }

    /// Forgets headers, metadata and requests; keeps the bytes.
    pub(super) fn clear(&mut self, program: &Program) {
        self.words.clear();
        self.words.resize(program.words, 0);
        self.varbits.resize(program.varbits, 0);
        self.parsed = 0;
        self.truncate = usize::MAX;
        self.requests = Requests::default();
        self.exited = false;
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
        self.varbits.clone_from(&other.varbits);
        self.bytes.clone_from(&other.bytes);
        self.parsed = other.parsed;
        self.port = other.port;
        self.length = other.length;
        self.truncate = other.truncate;
        self.requests = Requests::default();
        self.exited = false;
        self.passes = other.passes;
        self.times = other.times;
    }

    pub(super) fn payload(&self) -> &[u8] {
        self.bytes.get(self.parsed..).unwrap_or_default()
    }

    pub(super) fn get(&self, field: Field) -> u64 {
        self.words[field.at as usize]
    }

    /// Sets a field of at most 64 bits that the program may not have.
    pub(super) fn set(&mut self, field: impl Into<Option<Field>>, value: u64) {
        if let Some(field) = field.into() {
            let words = &mut self.words[field.words()];
            words[0] = value;
            mask_top(words, field.width);
        }
    }

    /// Assigns a value, with the wrapping or saturation of the field.
    pub(super) fn assign<N: Num>(&mut self, field: Field, value: N) {
        let value = if field.saturating {
            value.saturate(field.width, field.signed)
        } else {
            value
        };
        value.store(&mut self.words[field.words()], field.width);
    }

    /// Copies words from elsewhere, cut or filled up to the field's width.
    pub(super) fn put(&mut self, field: Field, from: &[u64]) {
        let words = &mut self.words[field.words()];
        for (at, word) in words.iter_mut().enumerate() {
            *word = from.get(at).copied().unwrap_or(0);
        }
        mask_top(words, field.width);
    }

    pub(super) fn is_valid(&self, program: &Program, header: u32) -> bool {
        self.words[program.headers[header as usize].valid()] != 0
    }

    /// Makes a header valid or not; of a union's headers at most one is valid.
    pub(super) fn set_valid(&mut self, program: &Program, header: u32, valid: bool) {
        let of = &program.headers[header as usize];
        if let (Some(union), true) = (of.union, valid) {
            for other in &program.unions[union as usize].headers {
                self.words[program.headers[*other as usize].valid()] = 0;
            }
        }
        self.words[of.valid()] = valid.into();
    }

    pub(super) fn is_union_valid(&self, program: &Program, union: u32) -> bool {
        program.unions[union as usize]
            .headers
            .iter()
            .any(|header| self.is_valid(program, *header))
    }

    /// Bytes of a header on the wire.
    pub(super) fn header_length(&self, program: &Program, header: u32) -> usize {
        let of = &program.headers[header as usize];
        let varbit = of
            .varbit
            .map_or(0, |varbit| self.words[varbit.length as usize]);
        of.bits as usize / 8 + usize::try_from(varbit / 8).unwrap_or_default()
    }

    pub(super) fn varbit(&self, program: &Program, header: u32) -> &[u8] {
        let Some(varbit) = program.headers[header as usize].varbit else {
            return &[];
        };
        let length = usize::try_from(self.words[varbit.length as usize] / 8).unwrap_or_default();
        self.varbits
            .get(varbit.at as usize..varbit.at as usize + length)
            .unwrap_or_default()
    }

    /// Writes the fields of a header in their order.
    pub(super) fn emit(&self, program: &Program, header: u32, to: &mut Writer<'_>) {
        let of = &program.headers[header as usize];
        // The last field is the header's validity.
        let fields = of.fields.iter().take(of.fields.len() - 1);
        for (at, (_, field)) in fields.enumerate() {
            if of.varbit.is_some_and(|varbit| varbit.index as usize == at) {
                to.put_bytes(self.varbit(program, header));
            } else if field.width <= 64 {
                to.put(field.width, self.get(*field));
            } else {
                to.put_words(field.width, &self.words[field.words()]);
            }
        }
    }

    /// Makes all fields zero.
    pub(super) fn zero(&mut self, program: &Program, header: u32) {
        let of = &program.headers[header as usize];
        self.words[of.words.start + 1..of.words.end].fill(0);
    }

    /// Copies the variable-length field of one header to another's.
    pub(super) fn copy_varbit(&mut self, program: &Program, to: u32, from: u32) {
        let (Some(to), Some(from)) = (
            program.headers[to as usize].varbit,
            program.headers[from as usize].varbit,
        ) else {
            return;
        };
        let bits = self.words[from.length as usize].min(u64::from(to.max) * 8);
        self.words[to.length as usize] = bits;
        let start = from.at as usize;
        let end = start
            + usize::try_from(bits / 8)
                .unwrap_or_default()
                .min(from.max as usize);
        self.varbits.copy_within(start..end, to.at as usize);
    }

    /// Copies a header of the same type with its validity. An invalid one's fields are not copied.
    pub(super) fn copy_header(&mut self, program: &Program, to: u32, from: u32) {
        if !self.is_valid(program, from) {
            self.set_valid(program, to, false);
            return;
        }
        let (target, source) = (
            &program.headers[to as usize],
            &program.headers[from as usize],
        );
        let length = source.words.len().min(target.words.len());
        self.words.copy_within(
            source.words.start + 1..source.words.start + length,
            target.words.start + 1,
        );
        self.copy_varbit(program, to, from);
        self.set_valid(program, to, true);
    }

    pub(super) fn copy_union(&mut self, program: &Program, to: u32, from: u32) {
        let headers = |union: u32| program.unions[union as usize].headers.iter().copied();
        // Invalid ones first: making one valid makes the others invalid.
        for valid in [false, true] {
            for (to, from) in headers(to).zip(headers(from)) {
                if self.is_valid(program, from) == valid {
                    self.copy_header(program, to, from);
                }
            }
        }
    }

    /// Moves the elements of a stack by this many places, up for a push and down for a pop; new places are invalid.
    pub(super) fn shift(
        &mut self,
        program: &Program,
        stack: &Stack,
        unions: bool,
        count: u64,
        up: bool,
    ) {
        let size = stack.elements.len();
        let count = usize::try_from(count).unwrap_or(size).min(size);
        let next = &mut self.words[stack.next as usize];
        *next = if up {
            (*next + count as u64).min(size as u64)
        } else {
            next.saturating_sub(count as u64)
        };
        let fill = |packet: &mut Self, to: usize, from: Option<usize>| {
            let to = stack.elements[to];
            match (from.map(|from| stack.elements[from]), unions) {
                (Some(from), true) => packet.copy_union(program, to, from),
                (Some(from), false) => packet.copy_header(program, to, from),
                (None, true) => {
                    for header in &program.unions[to as usize].headers {
                        packet.set_valid(program, *header, false);
                    }
                }
                (None, false) => packet.set_valid(program, to, false),
            }
        };
        for at in 0..size {
            if up {
                let to = size - 1 - at;
                fill(self, to, to.checked_sub(count));
            } else {
                fill(self, at, Some(at + count).filter(|from| *from < size));
            }
        }
    }

    pub(super) fn headers_equal(&self, program: &Program, left: u32, right: u32) -> bool {
        let (a, b) = (
            &program.headers[left as usize],
            &program.headers[right as usize],
        );
        let valid = self.is_valid(program, left);
        let same = || self.words[a.words.clone()] == self.words[b.words.clone()];
        valid == self.is_valid(program, right)
            && (!valid || same() && self.varbit(program, left) == self.varbit(program, right))
    }

    pub(super) fn unions_equal(&self, program: &Program, left: u32, right: u32) -> bool {
        let headers = |union: u32| program.unions[union as usize].headers.iter();
        headers(left)
            .zip(headers(right))
            .all(|(a, b)| self.headers_equal(program, *a, *b))
    }

    /// Makes all metadata zero but the fields of a list.
    pub(super) fn keep_only(&mut self, program: &Program, keep: Option<u64>, from: &Self) {
        for header in program.headers.iter().filter(|header| header.metadata) {
            self.words[header.words.clone()].fill(0);
        }
        let list = keep.and_then(|id| program.field_lists.iter().find(|list| list.id == id));
        for field in list.into_iter().flat_map(|list| &list.fields) {
            let words = field.words();
            self.words[words.clone()].copy_from_slice(&from.words[words]);
        }
    }
}
