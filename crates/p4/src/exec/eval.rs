//! Expressions: steps over a stack, in 128 bits or in wide numbers.

use super::packet::Packet;
use crate::num::{Num, Wide, limbs};
use crate::program::{Binary, Expr, Field, Program, Step};
use std::cmp::Ordering;

/// An array of registers.
#[derive(Debug, Clone)]
pub(crate) struct Register {
    pub(crate) width: u32,
    cells: Vec<u64>,
}

impl Register {
    pub(super) fn new(width: u32, size: usize) -> Self {
        Self {
            width,
            cells: vec![0; size * limbs(width)],
        }
    }

    pub(crate) fn cell(&self, index: u64) -> Option<&[u64]> {
        let (at, words) = (usize::try_from(index).ok()?, limbs(self.width));
        self.cells.get(at.checked_mul(words)?..)?.get(..words)
    }

    pub(crate) fn cell_mut(&mut self, index: u64) -> Option<&mut [u64]> {
        let (at, words) = (usize::try_from(index).ok()?, limbs(self.width));
        self.cells
            .get_mut(at.checked_mul(words)?..)?
            .get_mut(..words)
    }
}

/// The operand stacks, kept from one expression to the next.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    narrow: Vec<i128>,
    wide: Vec<Wide>,
}

impl Stacks {
    pub(super) fn new(depth: usize) -> Self {
        Self {
            narrow: Vec::with_capacity(depth),
            wide: Vec::new(),
        }
    }
}

/// What expressions read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) program: &'a Program,
    pub(super) packet: &'a Packet,
    pub(super) data: &'a [u64],
    pub(super) registers: &'a [Register],
}

impl Values<'_> {
    /// As an index; what is negative or exceeds 64 bits is `u64::MAX`.
    pub(super) fn index(self, expr: Expr, stacks: &mut Stacks) -> u64 {
        if expr.wide {
            self.wide(expr, stacks).index()
        } else {
            self.narrow(expr, stacks).index()
        }
    }

    pub(super) fn is_true(self, expr: Expr, stacks: &mut Stacks) -> bool {
        if expr.wide {
            !self.wide(expr, stacks).is_zero()
        } else {
            self.narrow(expr, stacks) != 0
        }
    }

    /// Into words of this width.
    pub(super) fn store(self, expr: Expr, stacks: &mut Stacks, words: &mut [u64], width: u32) {
        if expr.wide {
            self.wide(expr, stacks).store(words, width);
        } else {
            self.narrow(expr, stacks).store(words, width);
        }
    }

    /// Most expressions are one operand, or one or two operations on them: these need no stack.
    pub(super) fn narrow(self, expr: Expr, stacks: &mut Stacks) -> i128 {
        let code = self.program.code(expr);
        let leaf = |step: &Step| match *step {
            Step::Field(field) => Some(self.field(field)),
            Step::Small(value) => Some(value.into()),
            Step::Data { at, width } => Some(self.data_word(at, width)),
            _ => None,
        };
        let simple = match code {
            [a] => leaf(a),
            [a, Step::Not] => leaf(a).map(|value| (value == 0).into()),
            [a, b, Step::Binary(of)] => leaf(a)
                .zip(leaf(b))
                .map(|(left, right)| binary(*of, left, right)),
            [a, b, Step::Binary(first), c, Step::Binary(second)] => {
                let inner = leaf(a).zip(leaf(b));
                let inner = inner.map(|(left, right)| binary(*first, left, right));
                let both = inner.zip(leaf(c));
                both.map(|(left, right)| binary(*second, left, right))
            }
            _ => None,
        };
        simple.unwrap_or_else(|| self.run(expr, &mut stacks.narrow))
    }

    pub(super) fn wide(self, expr: Expr, stacks: &mut Stacks) -> Wide {
        self.run(expr, &mut stacks.wide)
    }

    /// The header or union that an expression finds; `None` outside its stack.
    pub(super) fn element(self, expr: Expr, stacks: &mut Stacks) -> Option<u32> {
        u32::try_from(self.index(expr, stacks)).ok()
    }

    fn field<N: Num>(self, field: Field) -> N {
        N::load(&self.packet.words[field.words()], field.width, field.signed)
    }

    fn data_word<N: Num>(self, at: u32, width: u32) -> N {
        let at = at as usize;
        self.data
            .get(at..at + limbs(width))
            .map_or_else(|| N::small(0), |words| N::load(words, width, false))
    }

    fn run<N: Num>(self, expr: Expr, stack: &mut Vec<N>) -> N {
        let (program, packet) = (self.program, self.packet);
        let code = program.code(expr);
        stack.clear();
        let mut at = 0;
        while let Some(step) = code.get(at) {
            at += 1;
            match *step {
                Step::Field(field) => stack.push(self.field(field)),
                Step::Small(value) => stack.push(N::small(value)),
                Step::Constant { at, words: count } => {
                    let words = &program.constants[at as usize..(at + count) as usize];
                    stack.push(N::load(words, 64 * count, true));
                }
                Step::Data { at, width } => stack.push(self.data_word(at, width)),
                Step::Header(at) | Step::Union(at) => stack.push(N::small(at.into())),
                Step::LastOf(of) => stack.push(last(&program.stacks[of as usize], packet)),
                Step::LastUnionOf(of) => {
                    stack.push(last(&program.union_stacks[of as usize], packet));
                }
                Step::LastIndex(of) => {
                    let next = packet.words[program.stacks[of as usize].next as usize];
                    stack.push(N::small(next.cast_signed() - 1));
                }
                Step::Count(of) => stack.push(N::small(
                    packet.words[program.stacks[of as usize].next as usize].cast_signed(),
                )),
                Step::Binary(of) => {
                    let right = pop(stack);
                    let left = pop(stack);
                    stack.push(binary(of, left, right));
                }
                Step::Jump(by) => at += by as usize,
                Step::JumpIfZero(by) => {
                    if pop(stack).is_zero() {
                        at += by as usize;
                    }
                }
                Step::HeadersEqual | Step::UnionsEqual | Step::VarbitsEqual => {
                    let right = pop(stack).index();
                    let left = pop(stack).index();
                    let equal = match (u32::try_from(left), u32::try_from(right)) {
                        (Ok(left), Ok(right)) if *step == Step::HeadersEqual => {
                            packet.headers_equal(program, left, right)
                        }
                        (Ok(left), Ok(right)) if *step == Step::VarbitsEqual => {
                            packet.varbit(program, left) == packet.varbit(program, right)
                        }
                        (Ok(left), Ok(right)) => packet.unions_equal(program, left, right),
                        _ => false,
                    };
                    stack.push(N::small(equal.into()));
                }
                other => {
                    let top = pop(stack);
                    stack.push(self.unary(other, top));
                }
            }
        }
        pop(stack)
    }

    fn unary<N: Num>(self, step: Step, top: N) -> N {
        let (program, packet) = (self.program, self.packet);
        let element = || u32::try_from(top.index()).ok();
        let nowhere = N::small(-1);
        let place = |elements: &[u32]| {
            let at = usize::try_from(top.index()).unwrap_or(usize::MAX);
            elements
                .get(at)
                .map_or(nowhere, |at| N::small((*at).into()))
        };
        let truth = |truth: bool| N::small(truth.into());
        match step {
            Step::Invert => top.invert(),
            Step::Not => truth(top.is_zero()),
            Step::ToBool => truth(!top.is_zero()),
            Step::IsValid => {
                truth(element().is_some_and(|header| packet.is_valid(program, header)))
            }
            Step::IsUnionValid => {
                truth(element().is_some_and(|union| packet.is_union_valid(program, union)))
            }
            Step::Element(stack) => place(&program.stacks[stack as usize].elements),
            Step::UnionElement(stack) => place(&program.union_stacks[stack as usize].elements),
            Step::AccessField(field) => {
                let header = element().and_then(|header| program.headers.get(header as usize));
                let field = header.and_then(|header| header.fields.get(field as usize));
                field.map_or_else(|| N::small(0), |(_, field)| self.field(*field))
            }
            Step::AccessMember(member) => {
                let union = element().and_then(|union| program.unions.get(union as usize));
                let header = union.and_then(|union| union.headers.get(member as usize));
                header.map_or(nowhere, |header| N::small((*header).into()))
            }
            Step::Register(array) => {
                let register = &self.registers[array as usize];
                register.cell(top.index()).map_or_else(
                    || N::small(0),
                    |words| N::load(words, register.width, false),
                )
            }
            _ => top,
        }
    }
}

/// The last element of a stack that was filled.
fn last<N: Num>(stack: &crate::program::Stack, packet: &Packet) -> N {
    let next = usize::try_from(packet.words[stack.next as usize]).unwrap_or_default();
    let last = next.checked_sub(1).and_then(|at| stack.elements.get(at));
    last.map_or_else(|| N::small(-1), |at| N::small((*at).into()))
}

/// Loading has checked that operands are there.
fn pop<N: Num>(stack: &mut Vec<N>) -> N {
    stack.pop().unwrap_or_else(|| N::small(0))
}

fn binary<N: Num>(of: Binary, left: N, right: N) -> N {
    let bits = || {
        u32::try_from(right.index())
            .unwrap_or(u32::MAX)
            .min(1 << 16)
    };
    let truth = |truth: bool| N::small(truth.into());
    let order = || left.compare(right);
    match of {
        Binary::Add => left.add(right),
        Binary::Sub => left.sub(right),
        Binary::Mul => left.mul(right),
        Binary::Div => left.divide(right).0,
        Binary::Mod => left.divide(right).1,
        Binary::Shl => left.shl(bits()),
        Binary::Shr => left.shr(bits()),
        Binary::And => left.bits(right, |a, b| a & b),
        Binary::Or => left.bits(right, |a, b| a | b),
        Binary::Xor => left.bits(right, |a, b| a ^ b),
        Binary::Eq => truth(order() == Ordering::Equal),
        Binary::Ne => truth(order() != Ordering::Equal),
        Binary::Lt => truth(order() == Ordering::Less),
        Binary::Le => truth(order() != Ordering::Greater),
        Binary::Gt => truth(order() == Ordering::Greater),
        Binary::Ge => truth(order() != Ordering::Less),
        Binary::BothTrue => truth(!left.is_zero() && !right.is_zero()),
        Binary::EitherTrue => truth(!left.is_zero() || !right.is_zero()),
        Binary::WrapSigned => left.wrap_signed(bits().clamp(1, crate::num::MAX_WIDTH)),
        Binary::SaturateSigned => left.saturate(bits().clamp(1, crate::num::MAX_WIDTH), true),
        Binary::SaturateUnsigned => left.saturate(bits().min(crate::num::MAX_WIDTH), false),
    }
}
