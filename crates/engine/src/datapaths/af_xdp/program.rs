//! The XDP program at an interface: the test's frames go to the AF_XDP sockets, all others to the kernel's stack.
//!
//! By a mark it redirects what carries that ([`super::probe`]); else what [`super::frame::payload`] can parse: whole UDP datagrams of one flow, by addresses and ports of
//! both ends, in Ethernet II without VLAN tag, IP options or extension headers.

use super::frame::Flow;
use super::probe::ProbeMark;
use super::route::FrameRoute;
use linerate_sys::bpf::{Assembler, Label, Program, Register, Width, XDP_PASS};
use std::net::IpAddr;

/// Program that redirects frames with `mark`, or else those from the remote to the local end of the route's flow, to the
/// sockets in the map with descriptor `map`.
pub(super) fn code(route: &FrameRoute, mark: Option<ProbeMark>, map: i32) -> Program {
    match mark {
        Some(mark) => by_mark(mark, route.layout.payload_at(), map),
        None => by_addresses(&route.flow, map),
    }
}

fn by_mark(mark: ProbeMark, usual: usize, map: i32) -> Program {
    let mut code = Assembler::default();
    let (found, pass) = (code.label(), code.label());
    code.copy(CONTEXT, 1);
    code.frame(CONTEXT, [FRAME, END]);
    mark.find(&mut code, [FRAME, END], usual, [found, pass]);
    code.place(found);
    code.load(Width::Word, VALUE, CONTEXT, RX_QUEUE);
    code.redirect(map, VALUE, XDP_PASS);
    code.place(pass);
    code.finish_with(XDP_PASS)
}

fn by_addresses(flow: &Flow, map: i32) -> Program {
    let (from, to) = (flow.remote.address, flow.local.address);
    let mut code = Assembler::default();
    let pass = code.label();
    code.copy(CONTEXT, 1);
    code.frame(CONTEXT, [FRAME, END]);
    code.copy(VALUE, FRAME);
    code.add(VALUE, i32::try_from(flow.headers()).unwrap_or(i32::MAX));
    code.jump_if_above(VALUE, END, pass);
    let mut check = Check { code, pass };
    let ports = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            check.half(12, [0x08, 0x00]);
            // IP version 4 without options; not a fragment; UDP.
            check.byte(14, 0xff, 0x45);
            check.byte(20, 0x3f, 0);
            check.byte(21, 0xff, 0);
            check.byte(23, 0xff, 17);
            check.words(26, &from.octets());
            check.words(30, &to.octets());
            34
        }
        (from, to) => {
            check.half(12, [0x86, 0xdd]);
            check.byte(14, 0xf0, 0x60);
            check.byte(20, 0xff, 17);
            check.words(22, &v6(from));
            check.words(38, &v6(to));
            54
        }
    };
    check.half(ports, from.port().to_be_bytes());
    check.half(ports + 2, to.port().to_be_bytes());
    let Check { mut code, pass } = check;
    code.load(Width::Word, VALUE, CONTEXT, RX_QUEUE);
    code.redirect(map, VALUE, XDP_PASS);
    code.place(pass);
    code.finish_with(XDP_PASS)
}

/// Assembles comparisons of a frame's fields.
struct Check {
    code: Assembler,
    /// Jump target for frames of others.
    pass: Label,
}

impl Check {
    fn byte(&mut self, at: i16, mask: i32, wanted: i32) {
        self.code.load(Width::Byte, VALUE, FRAME, at);
        self.code.and(VALUE, mask);
        self.code.jump_if_word_differs(VALUE, wanted, self.pass);
    }

    fn half(&mut self, at: i16, wanted: [u8; 2]) {
        self.code.load(Width::Half, VALUE, FRAME, at);
        let wanted = i32::from(u16::from_ne_bytes(wanted));
        self.code.jump_if_word_differs(VALUE, wanted, self.pass);
    }

    fn words(&mut self, at: i16, wanted: &[u8]) {
        for (word, at) in wanted.as_chunks().0.iter().zip((at..).step_by(4)) {
            self.code.load(Width::Word, VALUE, FRAME, at);
            let wanted = i32::from_ne_bytes(*word);
            self.code.jump_if_word_differs(VALUE, wanted, self.pass);
        }
    }
}

fn v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

const VALUE: Register = 4;
const CONTEXT: Register = 6;
const FRAME: Register = 7;
const END: Register = 8;

/// Offset in `struct xdp_md` of `linux/bpf.h`.
const RX_QUEUE: i16 = 16;
