//! Packet sockets: copies of what an interface receives, beside the kernel's stack.

use super::{ETHERNET_HEADER, FrameCounts, Frames, OpenPort, PortError, PortKind};
use super::{is_there, link, refused};
use linerate_sys::ethtool::{Ethtool, Offload};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName};
use linerate_sys::packet::{BATCH, FrameSender, PacketRing, Promiscuous, RingLayout, Tags, VlanId};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd as _, BorrowedFd};

/// Bytes of the receive ring: 2048 slots of the default MTU.
const RING_BYTES: u32 = 4 << 20;
const PRIVILEGES: &str = "run as root (CAP_NET_RAW)";

#[derive(Debug)]
pub(super) struct AfPacket;

impl PortKind for AfPacket {
    fn id(&self) -> &'static str {
        "af-packet"
    }

    fn summary(&self) -> &'static str {
        "Copies of an interface's frames; the kernel's stack gets them too."
    }

    fn open(&self, name: &InterfaceName) -> Result<OpenPort, PortError> {
        open(name, None)
    }
}

/// Opens all of an interface, or one VLAN of it.
pub(super) fn open(name: &InterfaceName, vlan: Option<VlanId>) -> Result<OpenPort, PortError> {
    let link = link(name)?;
    let longest = link.mtu_bytes.saturating_add(ETHERNET_HEADER);
    let no_layout = || {
        let error = io::Error::other("its MTU is too large for a receive ring");
        refused(name, "laying out the receive ring", "set a smaller MTU")(error)
    };
    let layout = RingLayout::new(longest, RING_BYTES).ok_or_else(no_layout)?;
    let host = |step| refused(name, step, PRIVILEGES);
    let tags = vlan.map_or(Tags::Kept, Tags::Only);
    let ring = PacketRing::open_with(link.index, layout, tags);
    let ring = ring.map_err(host("opening a receive ring"))?;
    let sender = FrameSender::open(link.index).map_err(host("opening a packet socket"))?;
    let promiscuous =
        Promiscuous::hold(link.index).map_err(host("making it receive frames for all"))?;
    let (name_there, datapath) = match vlan {
        Some(vlan) => (format!("{name},vlan={vlan}"), "af-packet, tagged"),
        None => (name.to_string(), "af-packet"),
    };
    Ok(OpenPort {
        name: name_there,
        datapath: datapath.to_owned(),
        notes: offloads(name),
        frames: Box::new(Packets {
            _promiscuous: promiscuous,
            ring,
            sender,
            tag: vlan.map(VlanId::tag),
            bytes: Vec::new(),
            lengths: Vec::new(),
            longest: longest as usize,
            index: link.index,
            counts: FrameCounts::default(),
        }),
    })
}

/// Warnings where the interface joins received frames, or may alter those that are sent.
fn offloads(name: &InterfaceName) -> Vec<String> {
    let Ok(ethtool) = Ethtool::new() else {
        return Vec::new();
    };
    let is_on = |offload| ethtool.is_on(name, offload).unwrap_or(false);
    let mut notes = Vec::new();
    if is_on(Offload::GenericReceive) {
        notes.push(format!("{name} may join received TCP segments, which are then too long to send on; switch it off: ethtool -K {name} gro off"));
    }
    let driver = ethtool.driver(name).map(|driver| driver.name);
    if driver.is_ok_and(|driver| driver == CADENCE) && is_on(Offload::TransmitChecksum) {
        notes.push(format!("on an emulated board {name} alters what is sent: QEMU's Cadence GEM writes checksums into every frame, and four bytes behind it; switch it off: ethtool -K {name} tx off"));
    }
    notes
}

/// The driver of Cadence's GEM, as on the HiFive Unleashed.
const CADENCE: &str = "macb";

#[derive(Debug)]
struct Packets {
    _promiscuous: Promiscuous,
    ring: PacketRing,
    sender: FrameSender,
    /// What a frame has on the wire and not in the program.
    tag: Option<[u8; VlanId::TAG_BYTES]>,
    /// Frames to send, back to back.
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    /// On the wire, bytes.
    longest: usize,
    index: InterfaceIndex,
    counts: FrameCounts,
}

impl Frames for Packets {
    fn receive(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let without_checksum = &mut self.counts.without_checksum;
        Ok(self.ring.drain(limit, |frame| {
            *without_checksum += u64::from(frame.lacks_checksum);
            take(frame.bytes);
        }))
    }

    fn send(&mut self, frame: &[u8]) {
        let (addresses, rest) = frame.split_at(frame.len().min(ADDRESSES));
        let tag = self.tag;
        let length = frame.len() + tag.map_or(0, |tag| tag.len());
        if length > self.longest {
            self.counts.too_long += 1;
            return;
        }
        if self.lengths.len() == BATCH {
            self.flush();
        }
        self.bytes.extend_from_slice(addresses);
        self.bytes.extend(tag.iter().flatten());
        self.bytes.extend_from_slice(rest);
        self.lengths.push(length);
    }

    fn flush(&mut self) {
        let mut rest = &self.bytes[..];
        let mut frames = [IoSlice::new(&[]); BATCH];
        for (frame, length) in frames.iter_mut().zip(&self.lengths) {
            let (bytes, after) = rest.split_at(*length);
            *frame = IoSlice::new(bytes);
            rest = after;
        }
        let mut left = &frames[..self.lengths.len()];
        while !left.is_empty() {
            let sent = self.sender.send(left).unwrap_or(0);
            self.counts.sent += sent as u64;
            // The error is about the first: the interface had no room for it.
            let done = sent.max(1);
            self.counts.send_dropped += u64::from(sent == 0);
            left = &left[done..];
        }
        self.bytes.clear();
        self.lengths.clear();
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.ring.as_fd()]
    }

    fn is_there(&self) -> bool {
        is_there(self.index)
    }

    fn counted(&mut self) -> FrameCounts {
        if let Ok(dropped) = self.ring.dropped() {
            self.counts.receive_dropped = dropped.get();
        }
        self.counts
    }
}

/// Bytes of a frame before its tag: destination and source address.
const ADDRESSES: usize = 12;
