//! The mapped receive ring.

use super::layout::BLOCK;
use super::{RingLayout, bind, open_socket, set_option, wait_readable};
use crate::clock::{MonoClock, MonotonicOffset};
use crate::failure::Failure;
use crate::mapping::{Mapping, SharedMemory};
use crate::netlink::InterfaceIndex;
use crate::sockopt;
use linerate_model::{Clock, MonoInstant, PacketCount};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A frame as the kernel received it, without FCS.
#[derive(Debug)]
pub struct ReceivedFrame<'a> {
    /// The bytes from the destination MAC address on; fewer than `length` if they did not fit.
    pub bytes: &'a [u8],
    /// Length of the frame.
    pub length: u32,
    /// Whether its sender left the checksum to a device that it never met: the bytes have a wrong one.
    pub lacks_checksum: bool,
    /// Arrival at the ring, by the kernel's timestamp; never later than now.
    pub arrived: MonoInstant,
}

/// Frames that an interface receives, in arrival order; frames that it sends are not included. One reader.
///
/// Field order is teardown order: the mapping goes before the socket.
#[derive(Debug)]
pub struct PacketRing {
    map: Mapping,
    layout: RingLayout,
    next: u32,
    dropped: u64,
    socket: OwnedFd,
}

impl PacketRing {
    /// Starts to receive on interface `index` of the calling thread's namespace.
    pub fn open(index: InterfaceIndex, layout: RingLayout) -> io::Result<Self> {
        Self::open_for(index, layout, ETH_P_ALL)
    }

    /// Starts to receive on interface `index` frames with one `EtherType` alone, behind whatever VLAN tag.
    pub fn open_for(index: InterfaceIndex, layout: RingLayout, ethertype: u16) -> io::Result<Self> {
        let socket = open_socket()?;
        set_option(&socket, libc::PACKET_VERSION, TPACKET_V2)?;
        set_option(&socket, PACKET_IGNORE_OUTGOING, 1)?;
        // `struct tpacket_req` of `linux/if_packet.h`.
        let request = [BLOCK, layout.blocks(), layout.slot_bytes(), layout.slots()];
        let request = request.map(u32::to_ne_bytes);
        let request = request.as_flattened();
        sockopt::set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let map = Mapping::shared(&socket, layout.total_bytes(), 0)?;
        bind(&socket, index, ethertype)?;
        Ok(Self {
            map,
            layout,
            next: 0,
            dropped: 0,
            socket,
        })
    }

    /// Passes up to `limit` waiting frames to `take` and frees their slots; returns how many.
    pub fn drain(&mut self, limit: usize, mut take: impl FnMut(ReceivedFrame<'_>)) -> usize {
        if !self.is_ready() {
            return 0;
        }
        let (offset, now) = (MonotonicOffset::measure(), MonoClock.now());
        let mut taken = 0;
        while taken < limit && self.is_ready() {
            let slot = self.layout.offset(self.next);
            let header = SlotHeader::load(&self.map, slot);
            let stamp = u64::from(header.seconds) * 1_000_000_000 + u64::from(header.nanoseconds);
            if let Some((start, length)) =
                self.layout.frame_range(header.mac_offset, header.snapped)
            {
                // SAFETY: the slot is ours until its status is given back below, after the last use of the slice;
                // `frame_range` keeps the frame inside the slot.
                let bytes = unsafe { self.map.bytes(slot + start, length) };
                take(ReceivedFrame {
                    bytes,
                    length: header.length,
                    lacks_checksum: header.status & TP_STATUS_CSUM_NOT_READY != 0,
                    arrived: offset.monotonic(stamp).min(now),
                });
            }
            self.status().store(TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.layout.slots();
            taken += 1;
        }
        taken
    }

    /// Sleeps until a frame waits, at most `limit`.
    ///
    /// # Errors
    /// That of `poll(2)`.
    pub fn wait(&self, limit: Duration) -> Result<(), Failure> {
        wait_readable(&self.socket, limit)
    }

    /// Frames that the kernel dropped because the ring was full, since the ring was opened.
    pub fn dropped(&mut self) -> io::Result<PacketCount> {
        // `struct tpacket_stats` of `linux/if_packet.h`: frames, drops.
        let mut statistics = [0; 8];
        let level = libc::SOL_PACKET;
        sockopt::get(
            &self.socket,
            level,
            libc::PACKET_STATISTICS,
            &mut statistics,
        )?;
        let [_, _, _, _, drops @ ..] = statistics;
        // Reading resets the kernel's count, so ours adds up.
        self.dropped += u64::from(u32::from_ne_bytes(drops));
        Ok(PacketCount::new(self.dropped))
    }

    fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & TP_STATUS_USER != 0
    }

    fn status(&self) -> &AtomicU32 {
        self.map.word(self.layout.offset(self.next))
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What is used of `struct tpacket2_hdr` of `linux/if_packet.h`:
///
/// ```text
///  status:u32 length:u32 snapped:u32 mac_offset:u16 net_offset:u16 seconds:u32 nanoseconds:u32 …
/// ```
struct SlotHeader {
    status: u32,
    length: u32,
    snapped: u32,
    mac_offset: u16,
    seconds: u32,
    nanoseconds: u32,
}

impl SlotHeader {
    /// Loads the header of the slot at byte `slot`, which this process must own.
    fn load(memory: &impl SharedMemory, slot: usize) -> Self {
        let word = |at| memory.word(slot + at).load(Ordering::Relaxed);
        let [low, high, ..] = word(12).to_ne_bytes();
        Self {
            status: word(0),
            length: word(4),
            snapped: word(8),
            mac_offset: u16::from_ne_bytes([low, high]),
            seconds: word(16),
            nanoseconds: word(20),
        }
    }
}

/// `enum tpacket_versions`.
const TPACKET_V2: u32 = 1;
/// `linux/if_packet.h`.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// `linux/if_packet.h`: the slot belongs to the kernel.
const TP_STATUS_KERNEL: u32 = 0;
/// `linux/if_packet.h`: the slot belongs to us.
const TP_STATUS_USER: u32 = 1;
/// `linux/if_packet.h`: the checksum is left to the device (`CHECKSUM_PARTIAL`).
const TP_STATUS_CSUM_NOT_READY: u32 = 1 << 3;
/// `linux/if_ether.h`: every protocol.
const ETH_P_ALL: u16 = 3;
