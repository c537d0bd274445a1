//! AF_XDP: all frames of an interface, past the kernel's stack.

use super::{ETHERNET_HEADER, FrameCounts, Frames, OpenPort, PRIVILEGES, PortError, PortKind};
use super::{is_there, link, refused};
use linerate_sys::bpf::{SocketMap, XdpLink, XdpMode, XdpProgram};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Link};
use linerate_sys::packet::Promiscuous;
use linerate_sys::xsk::{Copying, Segments, Xsk, XskLayout};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

/// Frames that a queue's ring holds in each direction; 1 ms at 2 million frames/s.
const RING: u32 = 2048;
/// Frame memory for the default MTU, and for larger ones.
const FRAME_BYTES: [u32; 2] = [2048, 4096];
/// `XDP_PACKET_HEADROOM`: bytes of a received frame that the kernel reserves.
const HEADROOM: u32 = 256;
/// Queues of an interface: 256 MiB of frames.
const MAX_QUEUES: u32 = 16;

#[derive(Debug)]
pub(super) struct AfXdp;

impl PortKind for AfXdp {
    fn id(&self) -> &'static str {
        "af-xdp"
    }

    fn summary(&self) -> &'static str {
        "All frames of an interface, past the kernel's stack; as root."
    }

    fn open(&self, name: &InterfaceName) -> Result<OpenPort, PortError> {
        open(name, None)
    }
}

/// Opens it if the driver runs the program itself.
pub(super) fn open_native(name: &InterfaceName) -> Result<OpenPort, PortError> {
    open(name, Some(XdpMode::Native))
}

fn open(name: &InterfaceName, mode: Option<XdpMode>) -> Result<OpenPort, PortError> {
    let link = link(name)?;
    let frame_bytes = frame_bytes(name, &link)?;
    let host = |step| refused(name, step, PRIVILEGES);
    let queues = link.rx_queues.unwrap_or(1).clamp(1, MAX_QUEUES);
    let map = SocketMap::new(queues).map_err(host("making a map of AF_XDP sockets"))?;
    let program = XdpProgram::load(&map.take_all()).map_err(host("loading an XDP program"))?;
    let attached = program.attach_in(link.index, mode).map_err(refused(
        name,
        "attaching an XDP program",
        "another program may be there: see ip link; port kind af-packet needs none",
    ))?;
    let (attached, mode) = attached;
    let promiscuous =
        Promiscuous::hold(link.index).map_err(host("making it receive frames for all"))?;
    let layout = XskLayout {
        receive_frames: RING,
        send_frames: RING,
        frame_bytes,
        segments: Segments::One,
    };
    let copying = match mode {
        XdpMode::Generic => Copying::Always,
        XdpMode::Native => Copying::IfNeeded,
    };
    let mut sockets = Vec::new();
    for queue in 0..queues {
        match Xsk::open_when_free(link.index, queue, layout, copying) {
            Ok(socket) => {
                map.set(queue, &socket)
                    .map_err(host("registering an AF_XDP socket"))?;
                sockets.push(socket);
            }
            // The driver can have more queues than are in use.
            Err(error) if queue > 0 && error.kind() == io::ErrorKind::InvalidInput => break,
            Err(error) => return Err(host("opening an AF_XDP socket")(error)),
        }
    }
    let zero_copy = sockets.iter().all(Xsk::is_zero_copy);
    let way = match (mode, zero_copy) {
        (XdpMode::Native, true) => "zero copy",
        (XdpMode::Native, false) => "native, copied",
        (XdpMode::Generic, _) => "generic",
    };
    Ok(OpenPort {
        name: name.to_string(),
        datapath: format!("af-xdp, {way}"),
        notes: Vec::new(),
        frames: Box::new(Queues {
            _program: attached,
            _map: map,
            _promiscuous: promiscuous,
            sockets,
            longest: link
                .mtu_bytes
                .saturating_add(ETHERNET_HEADER)
                .min(frame_bytes),
            index: link.index,
            counts: FrameCounts::default(),
        }),
    })
}

/// The smallest frame memory that holds the interface's frames.
fn frame_bytes(name: &InterfaceName, link: &Link) -> Result<u32, PortError> {
    let longest = link.mtu_bytes.saturating_add(ETHERNET_HEADER);
    let fits = |bytes: &u32| longest <= *bytes - HEADROOM;
    FRAME_BYTES.into_iter().find(fits).ok_or_else(|| {
        let error =
            io::Error::other("its MTU is above 3822 bytes, so a frame needs several buffers");
        refused(
            name,
            "choosing frame memory",
            "port kind af-packet takes longer frames",
        )(error)
    })
}

/// Field order is teardown order: the program goes first, so that no more frames reach the sockets.
#[derive(Debug)]
struct Queues {
    _program: XdpLink,
    _map: SocketMap,
    _promiscuous: Promiscuous,
    /// One a queue, and one at least; the first sends.
    sockets: Vec<Xsk>,
    longest: u32,
    index: InterfaceIndex,
    counts: FrameCounts,
}

impl Queues {
    /// Puts a frame into the send ring; returns whether there was room.
    fn queue(&mut self, frame: &[u8]) -> bool {
        let queued = self.sockets[0].queue(1, |_, room| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        });
        self.counts.sent += queued as u64;
        queued == 1
    }
}

impl Frames for Queues {
    fn receive(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let sockets = self.sockets.iter_mut();
        Ok(sockets
            .map(|socket| socket.receive(limit, &mut *take))
            .sum())
    }

    fn send(&mut self, frame: &[u8]) {
        if frame.len() > self.longest as usize {
            self.counts.too_long += 1;
            return;
        }
        if !self.queue(frame) {
            self.flush();
            if !self.queue(frame) {
                self.counts.send_dropped += 1;
            }
        }
    }

    fn flush(&mut self) {
        // What the kernel has not taken yet stays in the ring for the next call.
        let _ = self.sockets[0].flush();
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.sockets.iter().map(|socket| socket.as_fd()).collect()
    }

    fn is_there(&self) -> bool {
        is_there(self.index)
    }

    fn counted(&mut self) -> FrameCounts {
        let read = self
            .sockets
            .iter()
            .filter_map(|socket| socket.statistics().ok());
        let dropped = read.map(|read| read.dropped + read.ring_full.unwrap_or(0));
        self.counts.receive_dropped = dropped.sum();
        self.counts
    }
}
