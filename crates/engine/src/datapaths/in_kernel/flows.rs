//! Flows of the frames: which addresses and ports the frame of a number has, pseudo-random and the same each time.
//!
//! Of one flow frames have the addresses and ports that the test says. Of more, the lower 16 bits of both addresses and both
//! ports are a function of the flow's number, different for each, and each frame's flow is drawn by its number. The
//! other way a flow has its addresses and ports exchanged.
//!
//! # References
//! - Pseudo-random addresses and ports: RFC 4814 §4.4, §4.5

use linerate_model::spec::DatapathChoice;
use linerate_sys::bpf::{Assembler, Operation, Register};

/// The flows of a test: so many of all that there are, from one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::datapaths) struct Flows {
    count: u32,
    first: u32,
}

/// Most flows.
pub(in crate::datapaths) const MAX_FLOWS: u32 = 1_000_000;

/// What a flow has of its own.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::datapaths) struct FlowFields {
    /// Lower 16 bits of the addresses of ports a and b.
    pub(in crate::datapaths) addresses: [u16; 2],
    /// UDP ports of both.
    pub(in crate::datapaths) ports: [u16; 2],
}

/// Odd numbers with many changes of bits, for products that spread.
const SPREAD: [u64; 3] = [
    0x9e37_79b9_7f4a_7c15,
    0xd1b5_4a32_d192_ed03,
    0x2545_f491_4f6c_dd1d,
];

/// Number of the last flow that there is; all its bits are ones.
pub(in crate::datapaths) const LAST_FLOW: u32 = DatapathChoice::FLOW_NUMBERS - 1;
const _: () = assert!(DatapathChoice::FLOW_NUMBERS.is_power_of_two() && MAX_FLOWS <= LAST_FLOW);

impl Flows {
    /// `None` for none, or more than [`MAX_FLOWS`].
    pub(in crate::datapaths) fn new(count: u32) -> Option<Self> {
        let flows = Self { count, first: 0 };
        (1..=MAX_FLOWS).contains(&count).then_some(flows)
    }

    /// As many from flow `first` on, modulo 2^20; `None` if there is no such flow.
    pub(in crate::datapaths) fn beginning_at(self, first: u32) -> Option<Self> {
        (first <= LAST_FLOW).then_some(Self { first, ..self })
    }

    /// Whether all frames have the same addresses and ports.
    pub(in crate::datapaths) const fn is_one(self) -> bool {
        self.count == 1
    }

    /// Their number.
    pub(in crate::datapaths) const fn count(self) -> u32 {
        self.count
    }

    /// What the frame of this number has; of several flows only.
    #[cfg(test)]
    pub(in crate::datapaths) fn of(self, sequence: u64) -> FlowFields {
        let drawn = sequence.wrapping_add(1).wrapping_mul(SPREAD[0]);
        let drawn = (drawn ^ (drawn >> 32)).wrapping_mul(SPREAD[1]) >> 32;
        let flow = (drawn * u64::from(self.count)) >> 32;
        Self::fields(flow + u64::from(self.first))
    }

    /// What the flow of this number has.
    #[cfg(test)]
    fn fields(flow: u64) -> FlowFields {
        // One to one: products with an odd number and shifts against itself, modulo 2^20.
        let mask = u64::from(LAST_FLOW);
        let place = flow.wrapping_mul(SPREAD[0]) & mask;
        let place = (place ^ (place >> 11)).wrapping_mul(SPREAD[1]) & mask;
        let noise = (place + 1).wrapping_mul(SPREAD[2]) >> 32;
        let address = |noise: u64, place: u64| low((((noise & 0x1f) + 1) << 10) | place);
        FlowFields {
            addresses: [
                address(noise, place & 0x3ff),
                address(noise >> 5, place >> 10),
            ],
            ports: [
                low(1024 + (((noise & 0xffff) * 63) >> 6)),
                low(1 + (((noise >> 16) * 191) >> 8)),
            ],
        }
    }

    /// The fields of a flow, computed by a program: of the number in register 1, the fields go to registers 1 to 4 (addresses, then
    /// ports). Register 5 is lost.
    pub(super) fn write(self, asm: &mut Assembler) {
        let (flow, noise) = (1, 5);
        let multiply = |asm: &mut Assembler, register: Register, by: u64| {
            asm.set_wide(4, by);
            asm.compute_register(Operation::Multiply, register, 4);
        };
        asm.add(flow, 1);
        multiply(asm, flow, SPREAD[0]);
        fold(asm, flow, 32);
        multiply(asm, flow, SPREAD[1]);
        asm.shift_right(flow, 32);
        multiply(asm, flow, self.count.into());
        asm.shift_right(flow, 32);
        asm.add(flow, self.first.cast_signed());
        let mask = LAST_FLOW.cast_signed();
        multiply(asm, flow, SPREAD[0]);
        asm.and(flow, mask);
        fold(asm, flow, 11);
        multiply(asm, flow, SPREAD[1]);
        asm.and(flow, mask);
        asm.copy(noise, flow);
        asm.add(noise, 1);
        multiply(asm, noise, SPREAD[2]);
        asm.shift_right(noise, 32);
        // The address of b.
        asm.copy(2, noise);
        asm.shift_right(2, 5);
        Self::write_high(asm, 2);
        asm.copy(3, flow);
        asm.shift_right(3, 10);
        asm.compute_register(Operation::Or, 2, 3);
        // The address of a.
        asm.and(flow, 0x3ff);
        asm.copy(3, noise);
        Self::write_high(asm, 3);
        asm.compute_register(Operation::Or, flow, 3);
        // The ports.
        asm.copy(3, noise);
        asm.and(3, 0xffff);
        asm.compute(Operation::Multiply, 3, 63);
        asm.shift_right(3, 6);
        asm.add(3, 1024);
        asm.copy(4, noise);
        asm.shift_right(4, 16);
        asm.compute(Operation::Multiply, 4, 191);
        asm.shift_right(4, 8);
        asm.add(4, 1);
    }

    /// Upper bits of an address from noise.
    fn write_high(asm: &mut Assembler, register: Register) {
        asm.and(register, 0x1f);
        asm.add(register, 1);
        asm.shift_left(register, 10);
    }
}

/// `register ^= register >> bits`. Register 4 is lost.
fn fold(asm: &mut Assembler, register: Register, bits: i32) {
    asm.copy(4, register);
    asm.shift_right(4, bits);
    asm.compute_register(Operation::Xor, register, 4);
}

/// The lower 16 bits.
#[cfg(test)]
fn low(number: u64) -> u16 {
    u16::try_from(number & 0xffff).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_flow_has_addresses_and_ports_of_its_own() {
        let mut all: Vec<FlowFields> = (0..MAX_FLOWS.into()).map(Flows::fields).collect();
        let usual = |flow: &FlowFields| {
            flow.ports[0] >= 1024
                && (1..49_152).contains(&flow.ports[1])
                && flow
                    .addresses
                    .iter()
                    .all(|low| (0x400..0x8400).contains(low))
        };
        assert!(all.iter().all(usual));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn every_flow_is_drawn_and_none_beyond() {
        for count in [2, 1000] {
            let flows = Flows::new(count).unwrap();
            let frames = 0..u64::from(count) * 20;
            let seen: BTreeSet<FlowFields> = frames.map(|number| flows.of(number)).collect();
            let own: BTreeSet<FlowFields> = (0..count.into()).map(Flows::fields).collect();
            // Of 20 draws each, 2 in 10⁹ are never drawn.
            assert_eq!(seen, own);
        }
    }

    #[test]
    fn flows_from_another_one_on_are_others() {
        let drawn = |first| {
            let flows = Flows::new(200).unwrap().beginning_at(first).unwrap();
            (0..4000)
                .map(|number| flows.of(number))
                .collect::<BTreeSet<_>>()
        };
        let (begin, end) = (drawn(0), drawn(LAST_FLOW - 99));
        assert!(drawn(200).is_disjoint(&begin));
        // The first 100 follow the last one.
        assert_eq!((begin.intersection(&end).count(), end.len()), (100, 200));
        assert_eq!(Flows::new(1).unwrap().beginning_at(LAST_FLOW + 1), None);
    }

    #[test]
    fn as_many_as_are_meaningful_are_taken() {
        assert_eq!(Flows::new(0), None);
        assert_eq!(Flows::new(MAX_FLOWS + 1), None);
        assert!(Flows::new(1).is_some_and(Flows::is_one));
    }
}
