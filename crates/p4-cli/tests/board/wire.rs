//! This host's end of a board's link, with a VLAN for each port of a switch there.

use crate::programs::Reference;
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, has_passed};
use linerate_sys::netlink::InterfaceIndex;
use linerate_sys::packet::{BATCH, FrameSender, PacketRing, RingLayout, Tags, VlanId};
use linerate_sys::wake::wait_for_any;
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::time::Duration;

/// Packets on their way at most: fewer than any queue of the way holds.
const WINDOW: usize = 128;

/// Bytes of a frame before its tag.
const ADDRESSES: usize = 12;

/// Frames by port, in order.
pub(crate) type Frames = BTreeMap<u32, Vec<Vec<u8>>>;

/// The VLAN of a port.
pub(crate) fn vlan(port: u32) -> VlanId {
    VlanId::new(u16::try_from(10 + port).unwrap()).unwrap()
}

/// The link, and who receives at each port of the switch.
pub(crate) struct Wire {
    sender: FrameSender,
    rings: Vec<(u32, PacketRing)>,
}

impl Wire {
    pub(crate) fn new(link: InterfaceIndex, ports: &[u32]) -> Self {
        let layout = RingLayout::new(2000, 4 << 20).unwrap();
        let ring = |port: &u32| {
            let ring = PacketRing::open_with(link, layout, Tags::Only(vlan(*port)));
            (*port, ring.unwrap())
        };
        Self {
            sender: FrameSender::open(link).unwrap(),
            rings: ports.iter().map(ring).collect(),
        }
    }

    /// Sends packets into a port; how many the link took.
    fn offer<P: AsRef<[u8]>>(&self, port: u32, packets: &[P]) -> usize {
        let frames = packets.iter().map(|packet| tagged(port, packet.as_ref()));
        let frames: Vec<_> = frames.collect();
        let mut taken = 0;
        for batch in frames.chunks(BATCH) {
            let slices: Vec<_> = batch.iter().map(|frame| IoSlice::new(frame)).collect();
            let mut left = &slices[..];
            while !left.is_empty() {
                // An error is that the queue to the board has no room for the first.
                let sent = self.sender.send(left).unwrap_or(0);
                taken += sent;
                left = &left[sent.max(1)..];
            }
        }
        taken
    }

    /// Sends packets into a port, all of them.
    pub(crate) fn send<P: AsRef<[u8]>>(&self, port: u32, packets: &[P]) {
        assert_eq!(self.offer(port, packets), packets.len(), "no room");
    }

    /// Takes what waits; how many.
    fn take(&mut self, into: &mut Frames) -> usize {
        let mut taken = 0;
        for (port, ring) in &mut self.rings {
            taken += ring.drain(WINDOW, |frame| {
                into.entry(*port).or_default().push(frame.bytes.to_vec());
            });
        }
        taken
    }

    /// Sleeps until something waits; false if nothing came for `patience`.
    fn wait(&self, patience: Duration) -> bool {
        let deadline = MonoClock.now().after(patience);
        let rings = self.rings.iter().map(|(_, ring)| ring.as_fd());
        wait_for_any(rings, Some(deadline)).unwrap();
        !has_passed(deadline)
    }

    /// Waits for so many frames.
    #[track_caller]
    pub(crate) fn receive(&mut self, count: usize, patience: Duration) -> Frames {
        let (mut seen, mut frames) = (0, Frames::new());
        while seen < count {
            seen += self.take(&mut frames);
            let is_late = seen < count && !self.wait(patience);
            assert!(!is_late, "{seen} of {count} frames came");
        }
        frames
    }

    /// Sends a part of the packets, a window at a time, and adds what comes back to `frames`.
    #[track_caller]
    pub(crate) fn exchange(
        &mut self,
        reference: &Reference,
        part: Range<usize>,
        frames: &mut Frames,
        patience: Duration,
    ) {
        let outputs_before = |packet: usize| match packet {
            0 => 0,
            packet => reference.outputs_after[packet - 1],
        };
        let mut seen = outputs_before(part.start);
        for start in part.clone().step_by(WINDOW) {
            let window = start..(start + WINDOW).min(part.end);
            self.send(reference.input, &reference.packets[window.clone()]);
            let wanted = outputs_before(window.end);
            while seen < wanted {
                seen += self.take(frames);
                let is_late = seen < wanted && !self.wait(patience);
                assert!(!is_late, "{seen} of {wanted} frames came after {window:?}");
            }
        }
    }

    /// Sends all packets at once; how many the link took.
    pub(crate) fn flood(&mut self, reference: &Reference) -> u64 {
        self.offer(reference.input, &reference.packets) as u64
    }

    /// Takes what comes, until nothing did for a second.
    pub(crate) fn drain(&mut self, patience: Duration) {
        let limit = MonoClock.now().after(patience);
        let mut frames = Frames::new();
        while self.wait(Duration::from_secs(1)) {
            self.take(&mut frames);
            assert!(!has_passed(limit), "frames come without end");
        }
    }
}

/// A packet as it is on the wire to a port.
fn tagged(port: u32, packet: &[u8]) -> Vec<u8> {
    let (addresses, rest) = packet.split_at(ADDRESSES);
    [addresses, &vlan(port).tag(), rest].concat()
}
