//! Runs a program as the kernel does, on a frame, a stack and one value of a map, with a clock that tests set.

use linerate_sys::bpf::Program;

/// Bases of the regions of memory that a program may reach.
const CONTEXT: u64 = 1 << 32;
const FRAME: u64 = 2 << 32;
const VALUE: u64 = 3 << 32;
const STACK: u64 = 4 << 32;
const STACK_BYTES: usize = 512;

/// Memory and clock of a machine.
pub(super) struct Machine {
    pub(super) value: Vec<u8>,
    pub(super) now: u64,
    context: [u8; 40],
    stack: [u8; STACK_BYTES],
    /// Frames redirected.
    pub(super) redirected: u64,
    /// Which program was to go on; none does.
    pub(super) went_on: Option<u64>,
}

impl Machine {
    pub(super) fn new(value_bytes: usize) -> Self {
        Self {
            value: vec![0; value_bytes],
            now: 0,
            context: [0; 40],
            stack: [0; STACK_BYTES],
            redirected: 0,
            went_on: None,
        }
    }

    pub(super) fn get(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.value[at..at + 8].try_into().unwrap())
    }

    pub(super) fn set(&mut self, at: usize, number: u64) {
        self.value[at..at + 8].copy_from_slice(&number.to_ne_bytes());
    }

    /// Runs an XDP program; its result.
    pub(super) fn on_frame(&mut self, program: &Program, frame: &mut [u8]) -> u64 {
        let end = FRAME + frame.len() as u64;
        // Addresses of frames are of 32 bits in the context, and the kernel widens them.
        self.context[..4].copy_from_slice(&0_u32.to_ne_bytes());
        self.context[4..8].copy_from_slice(&u32::try_from(end - FRAME).unwrap().to_ne_bytes());
        self.run(program, frame, FRAME)
    }

    /// Length of the last frame after the program.
    pub(super) fn frame_bytes(&self) -> usize {
        u32::from_ne_bytes(self.context[4..8].try_into().unwrap()) as usize
    }

    /// Runs a program of a tracepoint with these arguments.
    pub(super) fn on_event(&mut self, program: &Program, arguments: [u64; 5]) {
        for (index, argument) in arguments.into_iter().enumerate() {
            self.context[index * 8..index * 8 + 8].copy_from_slice(&argument.to_ne_bytes());
        }
        self.run(program, &mut [], 0);
    }

    fn place<'a>(&'a mut self, frame: &'a mut [u8], address: u64, bytes: usize) -> &'a mut [u8] {
        let offset = usize::try_from(address & 0xffff_ffff).unwrap();
        let region = match address >> 32 << 32 {
            CONTEXT => &mut self.context[..],
            FRAME => frame,
            VALUE => &mut self.value[..],
            STACK => &mut self.stack[..],
            other => panic!("no memory at {other:x}"),
        };
        &mut region[offset..offset + bytes]
    }

    fn load(&mut self, frame: &mut [u8], address: u64, bytes: usize) -> u64 {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(self.place(frame, address, bytes));
        u64::from_le_bytes(number)
    }

    fn store(&mut self, frame: &mut [u8], address: u64, bytes: usize, number: u64) {
        let number = number.to_le_bytes();
        self.place(frame, address, bytes)
            .copy_from_slice(&number[..bytes]);
    }

    fn run(&mut self, program: &Program, frame: &mut [u8], frame_base: u64) -> u64 {
        let code = program.instructions();
        let mut registers = [0_u64; 11];
        registers[1] = CONTEXT;
        registers[10] = STACK + STACK_BYTES as u64;
        let mut at = 0;
        loop {
            let step = Instruction::read(code[at]);
            at += 1;
            let Instruction {
                operation,
                to,
                from,
                number,
                ..
            } = step;
            let operand = if operation & 8 == 0 {
                number
            } else {
                registers[from]
            };
            match operation & 7 {
                // Immediate of 64 bits: a number, a map, or the map's value.
                0 => {
                    let upper = code[at] >> 32;
                    at += 1;
                    registers[to] = match from {
                        0 => number & 0xffff_ffff | upper << 32,
                        1 => 0,
                        _ => VALUE + upper,
                    };
                }
                1 => {
                    let address = step.address(registers[from]);
                    registers[to] = self.load(frame, address, step.width());
                    if address & !0xffff_ffff == CONTEXT && frame_base != 0 {
                        registers[to] += frame_base;
                    }
                }
                2 => self.store(frame, step.address(registers[to]), step.width(), number),
                3 => self.store_register(frame, step, &mut registers),
                4 => {
                    // Byte order, to that of networks.
                    let shift = 64 - u32::try_from(number).unwrap();
                    registers[to] = (registers[to] << shift).swap_bytes();
                }
                7 => registers[to] = compute(operation, registers[to], operand),
                _ if operation == 0x95 => return registers[0],
                _ if operation == 0x85 => {
                    registers[0] = self.call(number, registers[2], registers[3]);
                }
                class => {
                    let mask = if class == 6 { 0xffff_ffff } else { u64::MAX };
                    if jumps(operation, registers[to] & mask, operand & mask) {
                        let distance = isize::try_from(step.offset).unwrap();
                        at = at.checked_add_signed(distance).unwrap();
                    }
                }
            }
        }
    }

    /// Stores a register, or changes memory atomically.
    fn store_register(&mut self, frame: &mut [u8], step: Instruction, registers: &mut [u64; 11]) {
        let address = step.address(registers[step.to]);
        let from = registers[step.from];
        if step.operation & 0xe0 != 0xc0 {
            return self.store(frame, address, step.width(), from);
        }
        let before = self.load(frame, address, 8);
        if step.number == 0 {
            return self.store(frame, address, 8, before.wrapping_add(from));
        }
        if before == registers[0] {
            self.store(frame, address, 8, from);
        }
        registers[0] = before;
    }

    fn call(&mut self, function: u64, second: u64, third: u64) -> u64 {
        match function {
            5 => self.now,
            12 => {
                self.went_on = Some(third);
                u64::MAX
            }
            14 => 77,
            51 => {
                self.redirected += 1;
                4
            }
            65 => {
                let end = u32::try_from(self.frame_bytes()).unwrap();
                let added = i32::try_from(second.cast_signed()).unwrap();
                let end = end.checked_add_signed(added).unwrap();
                self.context[4..8].copy_from_slice(&end.to_ne_bytes());
                0
            }
            other => panic!("no function {other}"),
        }
    }
}

/// An instruction's parts.
#[derive(Clone, Copy)]
struct Instruction {
    operation: u8,
    to: usize,
    from: usize,
    offset: i64,
    number: u64,
}

impl Instruction {
    fn read(code: u64) -> Self {
        let [operation, pair, low, high, number @ ..] = code.to_le_bytes();
        Self {
            operation,
            to: usize::from(pair & 15),
            from: usize::from(pair >> 4),
            offset: i64::from(i16::from_le_bytes([low, high])),
            number: i64::from(i32::from_le_bytes(number)).cast_unsigned(),
        }
    }

    fn width(self) -> usize {
        [4, 2, 1, 8][usize::from(self.operation >> 3 & 3)]
    }

    const fn address(self, base: u64) -> u64 {
        base.wrapping_add_signed(self.offset)
    }
}

fn compute(operation: u8, a: u64, b: u64) -> u64 {
    match operation >> 4 {
        0x0 => a.wrapping_add(b),
        0x1 => a.wrapping_sub(b),
        0x2 => a.wrapping_mul(b),
        0x3 => a.checked_div(b).unwrap_or(0),
        0x4 => a | b,
        0x5 => a & b,
        0x6 => a << (b & 63),
        0x7 => a >> (b & 63),
        0x9 => a.checked_rem(b).unwrap_or(a),
        0xa => a ^ b,
        0xb => b,
        0xc => (a.cast_signed() >> (b & 63)).cast_unsigned(),
        other => panic!("no operation {other:x}"),
    }
}

fn jumps(operation: u8, a: u64, b: u64) -> bool {
    match operation >> 4 {
        0x0 => true,
        0x1 => a == b,
        0x2 => a > b,
        0x3 => a >= b,
        0x5 => a != b,
        0xa => a < b,
        0xc => a.cast_signed() < b.cast_signed(),
        other => panic!("no condition {other:x}"),
    }
}
