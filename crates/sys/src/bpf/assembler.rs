//! Instructions of a small kernel program, with labels.
//!
//! One `u64` per instruction, as the kernel reads it: opcode 8, registers 4 + 4, offset 16,
//! immediate 32 bits, in the machine's byte order. Only what our programs need.

/// A register: 0 is the result of a call, 1 to 5 its arguments, 6 to 9 survive it, 10 is the stack.
pub type Register = u8;

/// Bytes that a load moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    Byte,
    /// Two bytes.
    Half,
    /// Four bytes.
    Word,
    /// Eight bytes.
    Double,
}

impl Width {
    const fn code(self) -> u8 {
        match self {
            Self::Word => 0x00,
            Self::Half => 0x08,
            Self::Byte => 0x10,
            Self::Double => 0x18,
        }
    }

    /// How many bytes that is.
    pub const fn bytes(self) -> i32 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
            Self::Double => 8,
        }
    }
}

/// When a jump is taken; unsigned comparison unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The register is as great or greater.
    AtLeast,
    /// Register and number are equal.
    Equal,
    /// The register is greater.
    Greater,
    /// The register is smaller.
    Less,
    /// They differ.
    NotEqual,
    /// The register is smaller, both signed.
    SignedLess,
}

impl Condition {
    /// Opcode of the jump that compares with a number.
    const fn code(self) -> u8 {
        match self {
            Self::Equal => 0x15,
            Self::Greater => 0x25,
            Self::AtLeast => 0x35,
            Self::NotEqual => 0x55,
            Self::Less => 0xa5,
            Self::SignedLess => 0xc5,
        }
    }
}

/// Arithmetic of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Sum, modulo 2^64.
    Add,
    /// Bits of both.
    And,
    /// Quotient, unsigned; 0 if the divisor is 0.
    Divide,
    /// Product, modulo 2^64.
    Multiply,
    /// Bits of either.
    Or,
    /// Shift to the left.
    ShiftLeft,
    /// Shift to the right, unsigned.
    ShiftRight,
    /// Shift to the right that keeps the sign.
    ShiftRightSigned,
    /// Difference, modulo 2^64.
    Subtract,
    /// Bits of one of the two.
    Xor,
}

impl Operation {
    /// Opcode with a number as the second operand.
    const fn code(self) -> u8 {
        match self {
            Self::Add => 0x07,
            Self::Subtract => 0x17,
            Self::Multiply => 0x27,
            Self::Divide => 0x37,
            Self::Or => 0x47,
            Self::And => 0x57,
            Self::ShiftLeft => 0x67,
            Self::ShiftRight => 0x77,
            Self::Xor => 0xa7,
            Self::ShiftRightSigned => 0xc7,
        }
    }
}

/// Bit of an opcode: the second operand is a register.
const BY_REGISTER: u8 = 0x08;

/// A place in the program to jump to; forward only, so that the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// A finished program: made of what [`Assembler`] can write only, so it reaches no memory of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(pub(super) Vec<u64>);

impl Program {
    /// Its instructions, as the kernel reads them.
    pub fn instructions(&self) -> &[u64] {
        &self.0
    }
}

/// Writes a program.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<u64>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

/// Numbers of kernel functions (`enum bpf_func_id`).
const MAP_LOOKUP: i32 = 1;
const TIME: i32 = 5;
const TAIL_CALL: i32 = 12;
const TASK: i32 = 14;
const PROBE_READ_KERNEL: i32 = 113;
const REDIRECT_MAP: i32 = 51;
const ADJUST_TAIL: i32 = 65;

impl Assembler {
    /// A label that is placed later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places `label` here.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// `to = from`.
    pub fn copy(&mut self, to: Register, from: Register) {
        self.emit(0xbf, [to, from], 0, 0);
    }

    /// `to = number`.
    pub fn set(&mut self, to: Register, number: i32) {
        self.emit(0xb7, [to, 0], 0, number);
    }

    /// `to += number`.
    pub fn add(&mut self, to: Register, number: i32) {
        self.emit(0x07, [to, 0], 0, number);
    }

    /// `to += from`.
    pub fn add_register(&mut self, to: Register, from: Register) {
        self.emit(0x0f, [to, from], 0, 0);
    }

    /// `to &= number`.
    pub fn and(&mut self, to: Register, number: i32) {
        self.emit(0x57, [to, 0], 0, number);
    }

    /// `to <<= bits`.
    pub fn shift_left(&mut self, to: Register, bits: i32) {
        self.emit(0x67, [to, 0], 0, bits);
    }

    /// `to >>= bits`.
    pub fn shift_right(&mut self, to: Register, bits: i32) {
        self.emit(0x77, [to, 0], 0, bits);
    }

    /// `to = memory[from + offset]`: arguments of the tracepoint, a frame, or the stack.
    pub fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.emit(0x61 | width.code(), [to, from], offset, 0);
    }

    /// `start`, `end` = addresses of a frame's first byte and of that behind its last, of an XDP program whose context
    /// `context` holds; `start` is another register.
    pub fn frame(&mut self, context: Register, [start, end]: [Register; 2]) {
        self.load(Width::Word, start, context, DATA);
        self.load(Width::Word, end, context, DATA_END);
    }

    /// `memory[to + offset] = number`, four bytes: a frame, a map's value, or the stack.
    pub fn store_word(&mut self, to: Register, offset: i16, number: i32) {
        self.emit(0x62, [to, 0], offset, number);
    }

    /// `memory[to] += from`, atomically, eight bytes.
    pub fn atomic_add(&mut self, to: Register, from: Register) {
        self.emit(0xdb, [to, from], 0, 0);
    }

    /// `memory[to + offset] += from`, atomically, eight bytes; `from` = what was there before.
    pub fn fetch_add(&mut self, to: Register, offset: i16, from: Register) {
        const ADD_AND_FETCH: i32 = 1;
        self.emit(0xdb, [to, from], offset, ADD_AND_FETCH);
    }

    /// `to %= number`, unsigned; `number` is not zero.
    pub fn modulo(&mut self, to: Register, number: i32) {
        self.emit(0x97, [to, 0], 0, number);
    }

    /// Jumps to `label` if `register` compares so with `number` in 64 bits (the number sign-extended).
    pub fn jump_if(&mut self, condition: Condition, register: Register, number: i32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.emit(condition.code(), [register, 0], 0, number);
    }

    /// Jumps to `label` if `register` compares so with `other` in 64 bits.
    pub fn jump_if_register(
        &mut self,
        condition: Condition,
        register: Register,
        other: Register,
        label: Label,
    ) {
        self.jumps.push((self.code.len(), label));
        self.emit(condition.code() | BY_REGISTER, [register, other], 0, 0);
    }

    /// `to = to operation number` (the number sign-extended).
    pub fn compute(&mut self, operation: Operation, to: Register, number: i32) {
        self.emit(operation.code(), [to, 0], 0, number);
    }

    /// `to = to operation from`.
    pub fn compute_register(&mut self, operation: Operation, to: Register, from: Register) {
        self.emit(operation.code() | BY_REGISTER, [to, from], 0, 0);
    }

    /// `to = number`, of 64 bits.
    pub fn set_wide(&mut self, to: Register, number: u64) {
        let half = |shift: u32| {
            let low = number >> shift & u64::from(u32::MAX);
            u32::try_from(low).map_or(0, u32::cast_signed)
        };
        self.emit(0x18, [to, 0], 0, half(0));
        self.emit(0, [0, 0], 0, half(32));
    }

    /// `register` = its lowest bytes, of this width, between the machine's byte order and that of networks.
    pub fn swap_to_network(&mut self, width: Width, register: Register) {
        self.emit(0xdc, [register, 0], 0, width.bytes() * 8);
    }

    /// `memory[to + offset] = from`: a frame, or a map's value.
    pub fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.emit(0x63 | width.code(), [to, from], offset, 0);
    }

    /// `memory[to + offset] += from`, atomically, eight bytes.
    pub fn atomic_add_at(&mut self, to: Register, offset: i16, from: Register) {
        self.emit(0xdb, [to, from], offset, 0);
    }

    /// If `memory[to]` equals register 0, `memory[to] = from`, atomically, eight bytes; register 0 = what was there.
    pub fn exchange_if_equal(&mut self, to: Register, from: Register) {
        /// `BPF_CMPXCHG` of `linux/bpf.h`.
        const COMPARE_EXCHANGE: i32 = 0xf1;
        self.emit(0xdb, [to, from], 0, COMPARE_EXCHANGE);
    }

    /// `to` = address of byte `offset` of the only value of the map with descriptor `map` (`BPF_PSEUDO_MAP_VALUE`).
    pub fn map_value(&mut self, to: Register, map: i32, offset: i32) {
        self.emit(0x18, [to, 2], 0, map);
        self.emit(0, [0, 0], 0, offset);
    }

    /// Register 0 = `CLOCK_MONOTONIC` in nanoseconds. Registers 1 to 5 are lost.
    pub fn time(&mut self) {
        self.call(TIME);
    }

    /// Register 0 = process and thread that the program runs in. Registers 1 to 5 are lost.
    pub fn task(&mut self) {
        self.call(TASK);
    }

    /// Adds the bytes in register 2, signed, to the end of the frame of an XDP program, whose context register 1 holds.
    /// Register 0 = 0, or an error. Registers 1 to 5 and all addresses in the frame are lost.
    pub fn adjust_tail(&mut self) {
        self.call(ADJUST_TAIL);
    }

    /// Jumps to `label` if the lower 32 bits of `register` differ from `number`.
    pub fn jump_if_word_differs(&mut self, register: Register, number: i32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.emit(0x56, [register, 0], 0, number);
    }

    /// Jumps to `label` if `register` is greater than `other`, unsigned.
    pub fn jump_if_above(&mut self, register: Register, other: Register, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.emit(0x2d, [register, other], 0, 0);
    }

    /// Jumps to `label`.
    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.emit(0x05, [0, 0], 0, 0);
    }

    /// Reads kernel memory at the address in `from` plus `offset` into `to`; an invalid address gives 0. Uses registers
    /// 0 to 5 and the stack's first eight bytes.
    pub fn probe(&mut self, width: Width, to: Register, from: Register, offset: i32) {
        self.copy(3, from);
        self.add(3, offset);
        self.copy(1, STACK);
        self.add(1, SCRATCH.into());
        self.set(2, width.bytes());
        self.call(PROBE_READ_KERNEL);
        self.load(width, to, STACK, SCRATCH);
    }

    /// `to` = part of what [`probe`](Self::probe) read last, from its byte `offset` on.
    pub fn probed(&mut self, width: Width, to: Register, offset: i16) {
        self.load(width, to, STACK, SCRATCH + offset);
    }

    /// Register 0 = address of the counters in the map with descriptor `map`, or 0.
    pub fn counters(&mut self, map: i32) {
        self.map(1, map);
        self.store_word(STACK, KEY, 0);
        self.copy(2, STACK);
        self.add(2, KEY.into());
        self.call(MAP_LOOKUP);
    }

    /// Ends the program: redirects the frame to the entry of `key` in the map with descriptor `map`, or returns
    /// `otherwise` (an `enum xdp_action`) if there is none.
    pub fn redirect(&mut self, map: i32, key: Register, otherwise: i32) {
        self.copy(2, key);
        self.map(1, map);
        self.set(3, otherwise);
        self.call(REDIRECT_MAP);
        self.emit(0x95, [0, 0], 0, 0);
    }

    /// Goes on with the program of `key` in the map with descriptor `map`, on the context in `context`; where there is none,
    /// with the next instruction. Registers 0 to 5 are lost.
    pub fn tail_call(&mut self, context: Register, map: i32, key: Register) {
        self.copy(3, key);
        self.copy(1, context);
        self.map(2, map);
        self.call(TAIL_CALL);
    }

    /// Ends the program here with `result`; what follows is reached by jumps only.
    pub fn exit_with(&mut self, result: i32) {
        self.set(0, result);
        self.emit(0x95, [0, 0], 0, 0);
    }

    /// Ends the program with 0.
    pub fn finish(self) -> Program {
        self.finish_with(0)
    }

    /// Ends the program with `result`.
    pub fn finish_with(mut self, result: i32) -> Program {
        self.exit_with(result);
        self.complete()
    }

    /// The program, whose last instruction ends it.
    pub fn complete(mut self) -> Program {
        for (at, label) in &self.jumps {
            let target = self.labels[label.0].expect("invariant: every label is placed");
            let distance = i16::try_from(target - at - 1);
            let distance = distance.expect("invariant: programs are short");
            self.code[*at] |= u64::from(distance.cast_unsigned()) << 16;
        }
        Program(self.code)
    }

    /// `to` = the map with this descriptor: an immediate of two instructions (`BPF_PSEUDO_MAP_FD`).
    fn map(&mut self, to: Register, descriptor: i32) {
        self.emit(0x18, [to, 1], 0, descriptor);
        self.emit(0, [0, 0], 0, 0);
    }

    fn call(&mut self, function: i32) {
        self.emit(0x85, [0, 0], 0, function);
    }

    fn emit(&mut self, code: u8, [to, from]: [Register; 2], offset: i16, number: i32) {
        let [low, high] = offset.to_ne_bytes();
        let [a, b, c, d] = number.to_ne_bytes();
        let registers = if cfg!(target_endian = "little") {
            to | from << 4
        } else {
            to << 4 | from
        };
        let bytes = [code, registers, low, high, a, b, c, d];
        self.code.push(u64::from_ne_bytes(bytes));
    }
}

/// Offsets in `struct xdp_md` of `linux/bpf.h`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;

const STACK: Register = 10;
const SCRATCH: i16 = -8;
const KEY: i16 = -16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_encoded_as_the_kernel_reads_them() {
        let mut code = Assembler::default();
        let end = code.label();
        code.jump_if(Condition::Equal, 6, -2, end);
        code.copy(7, 6);
        code.place(end);
        let Program(code) = code.finish();
        assert_eq!(code[0], 0xffff_fffe_0001_0615);
        assert_eq!(code[1], 0x0000_0000_0000_67bf);
        assert_eq!(code[2..], [0x0000_0000_0000_00b7, 0x95]);
    }
}
