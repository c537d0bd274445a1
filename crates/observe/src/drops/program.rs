//! The counting program, for one test and one network namespace.
//!
//! ```text
//!   reason known, and not a full socket? ─► namespace of the device, else of the socket, ours? ─► all[reason] += 1
//!     ─► IP header where the stack says it is, or where the data starts ─► UDP with the mark?
//!     ─► own[reason] += 1
//! ```

use super::Mark;
use linerate_sys::bpf::{Assembler, Condition, Label, Program, Width};

/// Number of reasons counted: those of the core are below it, subsystems' are far above.
pub(super) const REASONS: usize = 256;

/// Offsets in this kernel's structures, bytes.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) dev: i32,
    pub(super) sk: i32,
    pub(super) head: i32,
    pub(super) data: i32,
    pub(super) network_header: i32,
    pub(super) net_of_device: i32,
    pub(super) net_of_socket: i32,
    pub(super) number: i32,
    /// The reason of a drop at a full socket, where this kernel has one.
    pub(super) full_socket: Option<i32>,
}

/// Registers that survive calls: the packet, its reason, and two scratch registers.
const PACKET: u8 = 6;
const REASON: u8 = 7;
const PLACE: u8 = 8;
const VALUE: u8 = 9;

const UDP: i32 = 17;

/// The program: counters of `map` 0 to 255 are the test's own, 256 to 511 all of the namespace with inode `namespace`.
pub(super) fn write(layout: &Layout, mark: Mark, namespace: u64, map: i32) -> Program {
    let mut code = Assembler::default();
    let (end, second, own) = (code.label(), code.label(), code.label());
    code.load(Width::Double, PACKET, 1, 0);
    code.load(Width::Double, REASON, 1, 16);
    code.jump_if(Condition::Greater, REASON, last_reason(), end);
    // A full socket counts its drops itself, and such a packet has no interface by which to find its namespace. Where a
    // receiver is overloaded there are more of them than of what it reads.
    if let Some(full_socket) = layout.full_socket {
        code.jump_if(Condition::Equal, REASON, full_socket, end);
    }
    // An inode of the kernel's namespace file system has 32 bits.
    let number = i32::from_ne_bytes(truncated(namespace));
    in_namespace(&mut code, layout, number, end);
    count(&mut code, map, 8 * (last_reason() + 1), end);
    code.probe(Width::Half, VALUE, PACKET, layout.network_header);
    code.probe(Width::Double, PLACE, PACKET, layout.head);
    code.add_register(PLACE, VALUE);
    is_marked(&mut code, mark, own, second);
    code.place(second);
    code.probe(Width::Double, PLACE, PACKET, layout.data);
    is_marked(&mut code, mark, own, end);
    code.place(own);
    count(&mut code, map, 0, end);
    code.place(end);
    code.finish()
}

fn last_reason() -> i32 {
    i32::try_from(REASONS - 1).expect("invariant: it is 255")
}

fn truncated(number: u64) -> [u8; 4] {
    u32::try_from(number & u64::from(u32::MAX))
        .expect("invariant: masked just here")
        .to_ne_bytes()
}

/// Continues only for packets of the namespace with this inode number.
fn in_namespace(code: &mut Assembler, layout: &Layout, number: i32, otherwise: Label) {
    let (socket, known) = (code.label(), code.label());
    code.probe(Width::Double, PLACE, PACKET, layout.dev);
    code.jump_if(Condition::Equal, PLACE, 0, socket);
    code.probe(Width::Double, PLACE, PLACE, layout.net_of_device);
    code.jump(known);
    code.place(socket);
    code.probe(Width::Double, PLACE, PACKET, layout.sk);
    code.jump_if(Condition::Equal, PLACE, 0, otherwise);
    code.probe(Width::Double, PLACE, PLACE, layout.net_of_socket);
    code.place(known);
    code.probe(Width::Word, VALUE, PLACE, layout.number);
    code.jump_if_word_differs(VALUE, number, otherwise);
}

/// Increments the reason's counter, `base` bytes after the first.
fn count(code: &mut Assembler, map: i32, base: i32, otherwise: Label) {
    code.counters(map);
    code.jump_if(Condition::Equal, 0, 0, otherwise);
    code.copy(2, REASON);
    code.shift_left(2, 3);
    code.add(2, base);
    code.add_register(0, 2);
    code.set(1, 1);
    code.atomic_add(0, 1);
}

/// Jumps to `own` if an IP packet at `PLACE` carries UDP with the mark, else to `otherwise`.
fn is_marked(code: &mut Assembler, mark: Mark, own: Label, otherwise: Label) {
    let (v4, udp) = (code.label(), code.label());
    code.probe(Width::Byte, VALUE, PLACE, 0);
    code.copy(2, VALUE);
    code.shift_right(2, 4);
    code.jump_if(Condition::Equal, 2, 4, v4);
    code.jump_if(Condition::NotEqual, 2, 6, otherwise);
    code.probe(Width::Byte, 2, PLACE, 6);
    code.jump_if(Condition::NotEqual, 2, UDP, otherwise);
    code.add(PLACE, 40);
    code.jump(udp);
    code.place(v4);
    code.and(VALUE, 15);
    code.shift_left(VALUE, 2);
    code.probe(Width::Byte, 2, PLACE, 9);
    code.jump_if(Condition::NotEqual, 2, UDP, otherwise);
    code.add_register(PLACE, VALUE);
    code.place(udp);
    code.probe(Width::Double, VALUE, PLACE, 8);
    code.probed(Width::Word, 2, 0);
    code.jump_if_word_differs(2, i32::from_ne_bytes(mark.word), otherwise);
    code.probed(Width::Byte, 2, i16::from(mark.byte_at));
    code.jump_if(Condition::Equal, 2, i32::from(mark.byte), own);
    code.jump(otherwise);
}
