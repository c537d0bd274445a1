//! From bytes to headers: the parser's state machine.

use super::core::Core;
use super::event::{Event, Observer};
use super::packet::Packet;
use crate::bits;
use crate::num::limbs;
use crate::program::{Case, Lookahead, ParserStep, Program, SelectKey, State, VarbitLength};

/// The error that ends parsing.
struct Stop(u64);

/// States beyond one per byte: a parser that goes on without taking bytes is stopped.
const MAX_IDLE_STATES: usize = 256;

impl Core {
    /// Parses from the first byte. An error ends it; what was extracted until then stays.
    pub(super) fn parse<O: Observer>(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        observer: &mut O,
    ) {
        packet.parsed = 0;
        let mut error = program.error_codes.none;
        let mut next = program.first_state;
        let mut budget = packet.bytes.len() + MAX_IDLE_STATES;
        while let Some(at) = next {
            let state = &program.states[at as usize];
            if O::LISTENS {
                observer.event(Event::State(&state.name));
            }
            let result = match budget.checked_sub(1) {
                Some(left) => {
                    budget = left;
                    self.steps(program, packet, state, observer)
                }
                None => Err(Stop(program.error_codes.parser_timeout)),
            };
            if let Err(Stop(code)) = result {
                error = code;
                if O::LISTENS {
                    observer.event(Event::ParserError(program.error_name(code)));
                }
                break;
            }
            next = self.select(program, packet, state);
        }
        packet.set(program.intrinsic.parser_error, error);
        let wrong = self.verify_checksums(program, packet, observer);
        packet.set(program.intrinsic.checksum_error, wrong.into());
    }

    fn verify_checksums<O: Observer>(
        &mut self,
        program: &Program,
        packet: &Packet,
        observer: &mut O,
    ) -> bool {
        let mut wrong = false;
        for checksum in program.checksums.iter().filter(|checksum| checksum.verify) {
            let target = packet.is_valid(program, checksum.header)
                || program.headers[checksum.header as usize].metadata;
            let applies = target
                && checksum
                    .condition
                    .is_none_or(|condition| self.is_true(program, packet, condition));
            if applies
                && self.calculate(program, packet, checksum.calculation)
                    != packet.get(checksum.field)
            {
                wrong = true;
                if O::LISTENS {
                    observer.event(Event::ChecksumWrong(&checksum.name));
                }
            }
        }
        wrong
    }

    #[expect(clippy::too_many_lines, reason = "one arm per parser operation")]
    fn steps<O: Observer>(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        state: &State,
        observer: &mut O,
    ) -> Result<(), Stop> {
        let codes = &program.error_codes;
        for step in &program.parser_steps[state.steps.clone()] {
            match *step {
                ParserStep::Extract(header) => extract(program, packet, header, observer)?,
                ParserStep::ExtractVarbit { header, length } => {
                    if let Some(header) = self.element(program, packet, header) {
                        self.extract_varbit(program, packet, header, length, observer)?;
                    }
                }
                ParserStep::ExtractNext { stack, length } => {
                    let of = &program.stacks[stack as usize];
                    let header = *next_of(of, packet).ok_or(Stop(codes.stack_out_of_bounds))?;
                    self.extract_any(program, packet, header, length, observer)?;
                    packet.words[of.next as usize] += 1;
                }
                ParserStep::ExtractNextUnion {
                    stack,
                    member,
                    length,
                } => {
                    let of = &program.union_stacks[stack as usize];
                    let union = *next_of(of, packet).ok_or(Stop(codes.stack_out_of_bounds))?;
                    if let Some(header) =
                        program.unions[union as usize].headers.get(member as usize)
                    {
                        self.extract_any(program, packet, *header, length, observer)?;
                    }
                    packet.words[of.next as usize] += 1;
                }
                ParserStep::Set { to, value } => self.assign(program, packet, to, value),
                ParserStep::SetVarbit { to, from } => packet.copy_varbit(program, to, from),
                ParserStep::SetLookahead { to, from } => {
                    let mut words = std::mem::take(&mut self.masked);
                    let found = look(packet, from, &mut words);
                    if found {
                        packet.put(to, &words[..limbs(from.width)]);
                    }
                    self.masked = words;
                    if !found {
                        return Err(Stop(codes.packet_too_short));
                    }
                }
                ParserStep::Verify { condition, error } => {
                    if !self.is_true(program, packet, condition) {
                        return Err(Stop(self.index(program, packet, error)));
                    }
                }
                ParserStep::Advance(by) => {
                    let bits = self.index(program, packet, by);
                    if !bits.is_multiple_of(8) {
                        return Err(Stop(codes.parser_invalid_argument));
                    }
                    let bytes = usize::try_from(bits / 8).unwrap_or(usize::MAX);
                    if packet.payload().len() < bytes {
                        return Err(Stop(codes.packet_too_short));
                    }
                    packet.parsed += bytes;
                }
                ParserStep::Primitive { start, end } => {
                    self.run(program, packet, start as usize..end as usize, observer);
                }
            }
        }
        Ok(())
    }

    fn extract_any<O: Observer>(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        header: u32,
        length: Option<VarbitLength>,
        observer: &mut O,
    ) -> Result<(), Stop> {
        match length {
            Some(length) => self.extract_varbit(program, packet, header, length, observer),
            None => extract(program, packet, header, observer),
        }
    }

    fn extract_varbit<O: Observer>(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        header: u32,
        length: VarbitLength,
        observer: &mut O,
    ) -> Result<(), Stop> {
        let codes = &program.error_codes;
        let of = &program.headers[header as usize];
        let Some(varbit) = of.varbit else {
            return extract(program, packet, header, observer);
        };
        let fixed = of.bits as usize / 8;
        if program.headers[header as usize].length.is_some() {
            // The length is computed from the header's own fields, which come first.
            if packet.payload().len() < fixed {
                return Err(Stop(codes.packet_too_short));
            }
            packet.words[varbit.length as usize] = 0;
            read(program, packet, header);
        }
        let bits = self.index(program, packet, length.bits);
        if !bits.is_multiple_of(8) && bits != u64::MAX {
            return Err(Stop(codes.parser_invalid_argument));
        }
        let bytes = usize::try_from(bits / 8).unwrap_or(usize::MAX);
        if packet.payload().len() < fixed.saturating_add(bytes) {
            return Err(Stop(codes.packet_too_short));
        }
        if (length.max as usize) < fixed + bytes || (varbit.max as usize) < bytes {
            return Err(Stop(codes.header_too_short));
        }
        packet.words[varbit.length as usize] = bits;
        extract(program, packet, header, observer)
    }

    fn select(&mut self, program: &Program, packet: &Packet, state: &State) -> Option<u32> {
        if state.cases.is_empty() {
            return state.default;
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        for part in &state.key {
            let (from, width) = (key.len(), part.width());
            key.resize(from + limbs(width), 0);
            match part {
                SelectKey::Value { value, .. } => {
                    let values = super::eval::Values {
                        program,
                        packet,
                        data: &[],
                        registers: &self.registers,
                    };
                    values.store(*value, &mut self.stacks, &mut key[from..], width);
                }
                SelectKey::Lookahead(lookahead) => {
                    let mut words = std::mem::take(&mut self.masked);
                    look(packet, *lookahead, &mut words);
                    for (to, word) in key[from..].iter_mut().zip(&words) {
                        *to = *word;
                    }
                    self.masked = words;
                }
            }
        }
        let next = state.cases.iter().find_map(|case| match case {
            Case::Value { value, mask, next } => {
                let matches = key
                    .iter()
                    .zip(value)
                    .zip(mask)
                    .all(|((key, value), mask)| key & mask == *value);
                matches.then_some(*next)
            }
            Case::Set { set, mask, next } => self
                .in_set(*set, state, &key, mask.as_deref())
                .then_some(*next),
        });
        self.key = key;
        next.unwrap_or(state.default)
    }

    /// Whether a member of the value set is equal to the parts of the key one after the other.
    fn in_set(&self, set: u32, state: &State, key: &[u64], mask: Option<&[u64]>) -> bool {
        let members = &self.value_sets[set as usize];
        members.iter().any(|member| {
            let total: usize = state.key.iter().map(|part| part.width() as usize).sum();
            let mut offset = (member.value.len() * 8).saturating_sub(total);
            let mut at = 0;
            state.key.iter().all(|part| {
                let width = part.width();
                let words = limbs(width);
                let mut end = offset + width as usize;
                offset = end;
                let equal = (0..words).all(|word| {
                    let here = (width - u32::try_from(word).unwrap_or(0) * 64).min(64);
                    end -= here as usize;
                    let own = bits::get(&member.value, end, here);
                    let ones = bits::get(&member.mask, end, here)
                        & mask.map_or(u64::MAX, |mask| mask[at + word]);
                    (own ^ key[at + word]) & ones == 0
                });
                at += words;
                equal
            })
        })
    }
}

fn next_of<'a>(stack: &'a crate::program::Stack, packet: &Packet) -> Option<&'a u32> {
    stack
        .elements
        .get(usize::try_from(packet.words[stack.next as usize]).ok()?)
}

/// Reads bits ahead into words; `false` where the packet is too short.
fn look(packet: &Packet, from: Lookahead, words: &mut Vec<u64>) -> bool {
    let payload = packet.payload();
    if (from.offset as usize).saturating_add(from.width as usize) > payload.len() * 8 {
        return false;
    }
    if words.len() < limbs(from.width) {
        words.resize(limbs(from.width), 0);
    }
    bits::get_words(payload, from.offset as usize, from.width, words);
    true
}

/// Takes a header whose length is known.
fn extract<O: Observer>(
    program: &Program,
    packet: &mut Packet,
    header: u32,
    observer: &mut O,
) -> Result<(), Stop> {
    let length = packet.header_length(program, header);
    if packet.payload().len() < length {
        return Err(Stop(program.error_codes.packet_too_short));
    }
    read(program, packet, header);
    packet.parsed += length;
    packet.set_valid(program, header, true);
    if O::LISTENS {
        observer.event(Event::Extracted {
            header: &program.headers[header as usize].name,
            bytes: length,
        });
    }
    Ok(())
}

/// Fills the fields of a header from the bytes ahead.
fn read(program: &Program, packet: &mut Packet, header: u32) {
    let of = &program.headers[header as usize];
    let bytes = packet.bytes.get(packet.parsed..).unwrap_or_default();
    let mut offset = 0;
    for (at, (_, field)) in of.fields.iter().take(of.fields.len() - 1).enumerate() {
        if let Some(varbit) = of.varbit.filter(|varbit| varbit.index as usize == at) {
            let length =
                usize::try_from(packet.words[varbit.length as usize] / 8).unwrap_or_default();
            let room = packet.varbits.iter_mut().skip(varbit.at as usize);
            for byte in room.take(length) {
                *byte = u8::try_from(bits::get(bytes, offset, 8)).unwrap_or_default();
                offset += 8;
            }
        } else if field.width <= 64 {
            packet.words[field.at as usize] = bits::get(bytes, offset, field.width);
            offset += field.width as usize;
        } else {
            bits::get_words(bytes, offset, field.width, &mut packet.words[field.words()]);
            offset += field.width as usize;
        }
    }
}
