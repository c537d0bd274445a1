//! What a program remembers between packets, and the primitives of its actions.

use super::eval::{Register, Stacks, Values};
use super::event::{Event, Observer};
use super::meter::Meter;
use super::packet::Packet;
use super::profile::Members;
use super::table::{Chosen, Counter, Entries};
use crate::bits::Writer;
use crate::num::Num;
use crate::program::{DROP_PORT, Expr, Field, Input, Place, Primitive, Program, Stack, Target};
use std::ops::Range;

/// A member of a value set: values and mask, packed as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetMember {
    pub(crate) value: Vec<u8>,
    pub(crate) mask: Vec<u8>,
}

/// Tables, arrays and scratch memory.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) tables: Vec<Entries>,
    /// What a table does on a miss: an action of its list, with data.
    pub(crate) defaults: Vec<Option<Chosen>>,
    /// What the control plane keeps with them.
    pub(crate) default_notes: Vec<Vec<u8>>,
    pub(crate) profiles: Vec<Members>,
    pub(crate) counters: Vec<Vec<Counter>>,
    pub(crate) meters: Vec<Vec<Meter>>,
    pub(crate) registers: Vec<Register>,
    pub(crate) value_sets: Vec<Vec<SetMember>>,
    /// How often each calculation was made.
    calls: Vec<u64>,
    random: u64,
    pub(super) now: u64,
    pub(super) stacks: Stacks,
    pub(super) key: Vec<u64>,
    pub(super) masked: Vec<u64>,
    pub(super) data: Vec<u64>,
    pub(super) buffer: Vec<u8>,
    words: Vec<u64>,
}

impl Core {
    pub(super) fn new(program: &Program, seed: u64) -> Self {
        let key = program
            .tables
            .iter()
            .map(crate::program::Table::key_words)
            .max()
            .unwrap_or(0);
        Self {
            tables: program
                .tables
                .iter()
                .map(|table| Entries::new(table, seed))
                .collect(),
            defaults: vec![None; program.tables.len()],
            default_notes: vec![Vec::new(); program.tables.len()],
            profiles: program
                .profiles
                .iter()
                .map(|_| Members::default())
                .collect(),
            counters: program
                .counters
                .iter()
                .map(|array| vec![Counter::default(); array.size])
                .collect(),
            meters: program
                .meters
                .iter()
                .map(|array| vec![Meter::default(); array.size])
                .collect(),
            registers: program
                .registers
                .iter()
                .map(|array| Register::new(array.width, array.size))
                .collect(),
            value_sets: program.value_sets.iter().map(|_| Vec::new()).collect(),
            calls: vec![0; program.calculations.len()],
            random: seed,
            now: 0,
            stacks: Stacks::new(program.depth),
            key: Vec::with_capacity(key),
            masked: vec![0; key],
            data: Vec::new(),
            buffer: Vec::new(),
            words: Vec::new(),
        }
    }

    fn values<'a>(
        &'a mut self,
        program: &'a Program,
        packet: &'a Packet,
    ) -> (Values<'a>, &'a mut Stacks) {
        (
            Values {
                program,
                packet,
                data: &self.data,
                registers: &self.registers,
            },
            &mut self.stacks,
        )
    }

    pub(super) fn index(&mut self, program: &Program, packet: &Packet, expr: Expr) -> u64 {
        let (values, stacks) = self.values(program, packet);
        values.index(expr, stacks)
    }

    pub(super) fn is_true(&mut self, program: &Program, packet: &Packet, expr: Expr) -> bool {
        let (values, stacks) = self.values(program, packet);
        values.is_true(expr, stacks)
    }

    pub(super) fn assign(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        to: Field,
        value: Expr,
    ) {
        let (values, stacks) = self.values(program, packet);
        if value.wide || to.width > 64 {
            let value = values.wide(value, stacks);
            packet.assign(to, value);
        } else {
            let value = values.narrow(value, stacks);
            packet.assign(to, value);
        }
    }

    pub(super) fn element(
        &mut self,
        program: &Program,
        packet: &Packet,
        of: Target,
    ) -> Option<u32> {
        match of {
            Target::Fixed(at) => Some(at),
            Target::Computed(expr) => {
                let (values, stacks) = self.values(program, packet);
                values.element(expr, stacks)
            }
        }
    }

    /// The field that an assignment goes to; `None` outside a stack.
    fn field(&mut self, program: &Program, packet: &Packet, place: Place) -> Option<Field> {
        match place {
            Place::Field(field) => Some(field),
            Place::Computed { header, field, .. } => {
                let header = self.element(program, packet, Target::Computed(header))?;
                let fields = &program.headers.get(header as usize)?.fields;
                Some(fields.get(field as usize)?.1)
            }
        }
    }

    /// The bytes that a calculation is about, in `self.buffer`, and its result.
    pub(super) fn calculate(&mut self, program: &Program, packet: &Packet, at: u32) -> u64 {
        let calculation = &program.calculations[at as usize];
        self.buffer.clear();
        let mut to = Writer::new(&mut self.buffer);
        for input in &calculation.input {
            match input {
                Input::Field { header, field } => {
                    if packet.is_valid(program, *header)
                        || program.headers[*header as usize].metadata
                    {
                        to.put_words(field.width, &packet.words[field.words()]);
                    }
                }
                Input::Constant { words, width } => to.put_words(*width, words),
                Input::Varbit(header) => {
                    if packet.is_valid(program, *header) {
                        to.put_bytes(packet.varbit(program, *header));
                    }
                }
                Input::Header(header) => {
                    if packet.is_valid(program, *header) {
                        packet.emit(program, *header, &mut to);
                    }
                }
                Input::Payload => to.put_bytes(packet.payload()),
            }
        }
        drop(to);
        let calls = &mut self.calls[at as usize];
        let result = calculation.algorithm.compute(&self.buffer, *calls);
        *calls += 1;
        result
    }

    /// `SplitMix64`: the same numbers for the same seed.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Runs primitives; `self.data` is the data of their action.
    pub(super) fn run<O: Observer>(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        body: Range<usize>,
        observer: &mut O,
    ) {
        let start = body.start;
        let mut at = start;
        // A loop of the program's own ends here too.
        let mut budget = MAX_PRIMITIVES;
        while body.contains(&at) && budget > 0 {
            let (primitive, source) = &program.primitives[at];
            budget -= 1;
            if O::LISTENS {
                observer.event(Event::Primitive {
                    source: source.as_ref(),
                });
            }
            at += 1;
            match *primitive {
                Primitive::Jump(to) => at = start.saturating_add(self.jump(program, packet, to)),
                Primitive::JumpIfZero { condition, to } => {
                    if !self.is_true(program, packet, condition) {
                        at = start.saturating_add(self.jump(program, packet, to));
                    }
                }
                Primitive::Log(message) => self.log(program, packet, message, observer),
                Primitive::Assert { condition, message } => {
                    if !self.is_true(program, packet, condition) {
                        self.log(program, packet, message, observer);
                    }
                }
                other => self.primitive(program, packet, other),
            }
        }
    }

    fn jump(&mut self, program: &Program, packet: &Packet, to: Expr) -> usize {
        usize::try_from(self.index(program, packet, to)).unwrap_or(usize::MAX)
    }

    fn log<O: Observer>(
        &mut self,
        program: &Program,
        packet: &Packet,
        message: u32,
        observer: &mut O,
    ) {
        if !O::LISTENS {
            return;
        }
        let message = &program.messages[message as usize];
        let mut text = message.text.clone();
        for argument in &message.arguments {
            let (values, stacks) = self.values(program, packet);
            let value = if argument.wide {
                format!("{:#x}", values.index(*argument, stacks))
            } else {
                values.narrow(*argument, stacks).to_string()
            };
            text = text.replacen("{}", &value, 1);
        }
        observer.event(Event::Log(&text));
    }

    #[expect(clippy::too_many_lines, reason = "one arm per primitive")]
    fn primitive(&mut self, program: &Program, packet: &mut Packet, primitive: Primitive) {
        match primitive {
            Primitive::Copy { to, from } => packet.words.copy_within(from.words(), to.at as usize),
            Primitive::Assign { to, value } => {
                if let Some(to) = self.field(program, packet, to) {
                    self.assign(program, packet, to, value);
                }
            }
            Primitive::AssignVarbit { to, from } => packet.copy_varbit(program, to, from),
            Primitive::AssignHeader { to, from } => {
                let (to, from) = (
                    self.element(program, packet, to),
                    self.element(program, packet, from),
                );
                match (to, from) {
                    (Some(to), Some(from)) => packet.copy_header(program, to, from),
                    (Some(to), None) => packet.set_valid(program, to, false),
                    (None, _) => {}
                }
            }
            Primitive::AssignUnion { to, from } => {
                if let (Some(to), Some(from)) = (
                    self.element(program, packet, to),
                    self.element(program, packet, from),
                ) {
                    packet.copy_union(program, to, from);
                }
            }
            Primitive::AssignStack { to, from, unions } => {
                assign_stack(program, packet, to, from, unions);
            }
            Primitive::AddHeader(header) => {
                if let Some(header) = self
                    .element(program, packet, header)
                    .filter(|header| !packet.is_valid(program, *header))
                {
                    packet.zero(program, header);
                    packet.set_valid(program, header, true);
                    packet.length = packet
                        .length
                        .wrapping_add(packet.header_length(program, header) as u64);
                }
            }
            Primitive::RemoveHeader(header) => {
                if let Some(header) = self
                    .element(program, packet, header)
                    .filter(|header| packet.is_valid(program, *header))
                {
                    packet.length = packet
                        .length
                        .wrapping_sub(packet.header_length(program, header) as u64);
                    packet.set_valid(program, header, false);
                }
            }
            Primitive::Push {
                stack,
                count,
                unions,
            }
            | Primitive::Pop {
                stack,
                count,
                unions,
            } => {
                let count = self.index(program, packet, count);
                let up = matches!(primitive, Primitive::Push { .. });
                packet.shift(program, stack_of(program, stack, unions), unions, count, up);
            }
            Primitive::Exit => packet.exited = true,
            Primitive::Drop => {
                packet.set(program.intrinsic.egress_spec, DROP_PORT.into());
                packet.set(program.intrinsic.mcast_grp, 0);
            }
            Primitive::Clone { session, list } => {
                let session =
                    u32::try_from(self.index(program, packet, session)).unwrap_or(u32::MAX);
                packet.requests.clone = Some((session, self.index(program, packet, list)));
            }
            Primitive::Resubmit(list) => {
                packet.requests.resubmit = Some(self.index(program, packet, list));
            }
            Primitive::Recirculate(list) => {
                packet.requests.recirculate = Some(self.index(program, packet, list));
            }
            Primitive::Digest { list } => {
                packet.requests.digest = Some(self.index(program, packet, list));
            }
            Primitive::Truncate(length) => {
                let length =
                    usize::try_from(self.index(program, packet, length)).unwrap_or(usize::MAX);
                packet.truncate = packet.truncate.min(length);
            }
            stateful => self.stateful(program, packet, stateful),
        }
    }

    /// Primitives on arrays, hashes and random numbers. What is out of bounds is left alone, as the targets do.
    #[expect(clippy::too_many_lines, reason = "one arm per primitive")]
    fn stateful(&mut self, program: &Program, packet: &mut Packet, primitive: Primitive) {
        match primitive {
            Primitive::Count { array, index } => {
                let index = self.jump(program, packet, index);
                if let Some(cell) = self.counters[array as usize].get_mut(index) {
                    cell.add(packet.bytes.len());
                }
            }
            Primitive::Meter { array, index, to } => {
                let index = self.jump(program, packet, index);
                let units = if program.meters[array as usize].bytes {
                    packet.bytes.len() as u64
                } else {
                    1
                };
                let now = self.now;
                if let Some(cell) = self.meters[array as usize].get_mut(index) {
                    let colour = cell.colour(units, now);
                    let to = self.field(program, packet, to);
                    packet.set(to, colour as u64);
                }
            }
            Primitive::ReadRegister { to, array, index } => {
                let index = self.index(program, packet, index);
                let to = self.field(program, packet, to);
                if let (Some(to), Some(cell)) = (to, self.registers[array as usize].cell(index)) {
                    packet.put(to, cell);
                }
            }
            Primitive::WriteRegister {
                array,
                index,
                value,
            } => {
                let index = self.index(program, packet, index);
                let width = self.registers[array as usize].width;
                let mut words = std::mem::take(&mut self.words);
                words.resize(crate::num::limbs(width), 0);
                let (values, stacks) = self.values(program, packet);
                values.store(value, stacks, &mut words, width);
                if let Some(cell) = self.registers[array as usize].cell_mut(index) {
                    cell.copy_from_slice(&words);
                }
                self.words = words;
            }
            Primitive::Hash {
                to,
                base,
                calculation,
                size,
            } => {
                let (base, size) = (
                    self.index(program, packet, base),
                    self.index(program, packet, size).max(1),
                );
                let hash = self.calculate(program, packet, calculation) % size;
                if let Some(to) = self.field(program, packet, to) {
                    packet.assign(to, i128::from(hash).add(base.into()));
                }
            }
            Primitive::Random { to, low, high } => {
                let (low, high) = (
                    self.index(program, packet, low),
                    self.index(program, packet, high),
                );
                let to = self.field(program, packet, to);
                if let (Some(to), Some(range)) = (to, high.checked_sub(low)) {
                    let scaled = (u128::from(self.random()) * (u128::from(range) + 1)) >> 64;
                    packet.assign(to, i128::from(low).add(scaled.cast_signed()));
                }
            }
            _ => {}
        }
    }
}

/// The most primitives of one action: what a loop that never ends costs.
const MAX_PRIMITIVES: usize = 1 << 16;

fn stack_of(program: &Program, stack: u32, unions: bool) -> &Stack {
    if unions {
        &program.union_stacks[stack as usize]
    } else {
        &program.stacks[stack as usize]
    }
}

fn assign_stack(program: &Program, packet: &mut Packet, to: u32, from: u32, unions: bool) {
    let (to, from) = (
        stack_of(program, to, unions),
        stack_of(program, from, unions),
    );
    for (to, from) in to.elements.iter().zip(&from.elements) {
        if unions {
            packet.copy_union(program, *to, *from);
        } else {
            packet.copy_header(program, *to, *from);
        }
    }
    packet.words[to.next as usize] = packet.words[from.next as usize];
}
