//! The program of a port at which the frames of several streams arrive, each with a counter of its own: an interface runs
//! one program, and that one goes on with the stream's.

use super::host;
use crate::datapaths::af_xdp::open::{attach, load};
use crate::datapaths::af_xdp::probe::{ProbeMark, near};
use crate::datapaths::af_xdp::route::FrameRoute;
use crate::error::Result;
use linerate_sys::bpf::{
    Assembler, Program, ProgramMap, Register, Width, XDP_PASS, XdpLink, XdpMode, XdpProgram,
};
use linerate_sys::netlink::InterfaceIndex;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The dispatchers of one end of a test, by port, while its streams are opened.
#[derive(Debug, Default)]
pub struct PortPrograms(RefCell<BTreeMap<InterfaceIndex, Arc<Dispatcher>>>);

/// A program at a port, until dropped.
#[derive(Debug)]
pub(super) struct Dispatcher {
    _link: XdpLink,
    _program: XdpProgram,
    streams: ProgramMap,
    pub(super) mode: XdpMode,
}

/// Streams that a header can tell apart.
const STREAMS: u32 = 1 << 8;

impl PortPrograms {
    /// Has frames that arrive by `route` counted by `program`, if they are known by `mark`.
    pub(super) fn add(
        &self,
        route: &FrameRoute,
        wanted: Option<XdpMode>,
        mark: ProbeMark,
        program: &XdpProgram,
    ) -> Result<Arc<Dispatcher>> {
        let mut ports = self.0.borrow_mut();
        let dispatcher = if let Some(dispatcher) = ports.get(&route.interface) {
            Arc::clone(dispatcher)
        } else {
            let dispatcher = Arc::new(Dispatcher::at(route, wanted, mark.token)?);
            ports.insert(route.interface, Arc::clone(&dispatcher));
            dispatcher
        };
        let added = dispatcher.streams.set(mark.stream.into(), program);
        added.map_err(host("naming the counting program of a stream"))?;
        Ok(dispatcher)
    }
}

impl Dispatcher {
    fn at(route: &FrameRoute, wanted: Option<XdpMode>, token: u32) -> Result<Self> {
        let streams = ProgramMap::new(STREAMS).map_err(host("making a map of programs"))?;
        let code = program(token, route.layout.payload_at(), streams.descriptor());
        let program = load(&code, route).map_err(host("loading the program of a port"))?;
        let (link, mode) = attach(&program, route, wanted)?;
        Ok(Self {
            _link: link,
            _program: program,
            streams,
            mode,
        })
    }
}

const CONTEXT: Register = 6;
const FRAME: Register = 7;
const END: Register = 8;
const STREAM: Register = 3;

/// Goes on with the program of the frame's stream; leaves frames of others, and of streams without one, to the kernel's stack.
pub(super) fn program(token: u32, payload_at: usize, streams: i32) -> Program {
    let mut asm = Assembler::default();
    let (found, pass) = (asm.label(), asm.label());
    asm.copy(CONTEXT, 1);
    asm.frame(CONTEXT, [FRAME, END]);
    ProbeMark::find_any(
        token,
        None,
        &mut asm,
        [FRAME, END],
        payload_at,
        [found, pass],
    );
    asm.place(found);
    asm.load(Width::Byte, STREAM, FRAME, near(payload_at) + 4);
    asm.tail_call(CONTEXT, streams, STREAM);
    asm.place(pass);
    asm.finish_with(XDP_PASS)
}
