//! The mapped receive ring.

use super::layout::BLOCK;
use super::vlan::receive_only;
use super::{RingLayout, Tags, VlanId, bind, open_socket, set_option, wait_readable};
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
    tags: Tags,
    next: u32,
    dropped: u64,
    socket: OwnedFd,
}

impl PacketRing {
    /// Starts to receive on interface `index` of the calling thread's namespace, frames without their VLAN tag.
    pub fn open(index: InterfaceIndex, layout: RingLayout) -> io::Result<Self> {
        Self::new(index, layout, ETH_P_ALL, Tags::Removed)
    }

    /// Starts to receive on interface `index`, with or without VLAN tags, or frames of one VLAN alone.
    pub fn open_with(index: InterfaceIndex, layout: RingLayout, tags: Tags) -> io::Result<Self> {
        Self::new(index, layout, ETH_P_ALL, tags)
    }

    /// Starts to receive on interface `index` frames with one `EtherType` alone, behind whatever VLAN tag, without that.
    pub fn open_for(index: InterfaceIndex, layout: RingLayout, ethertype: u16) -> io::Result<Self> {
        Self::new(index, layout, ethertype, Tags::Removed)
    }

    fn new(
        index: InterfaceIndex,
        layout: RingLayout,
        ethertype: u16,
        tags: Tags,
    ) -> io::Result<Self> {
        let socket = open_socket()?;
        set_option(&socket, libc::PACKET_VERSION, TPACKET_V2)?;
        set_option(&socket, PACKET_IGNORE_OUTGOING, 1)?;
        set_option(&socket, PACKET_RESERVE, TAG_ROOM)?;
        if let Tags::Only(vlan) = tags {
            receive_only(&socket, vlan)?;
        }
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
            tags,
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
            let frame = self.layout.frame_range(header.mac_offset, header.snapped);
            if let Some((start, length)) = frame {
                let tag = header.tag().filter(|_| self.tags == Tags::Kept);
                let restored = tag.is_some_and(|tag| self.restore(slot + start, length, tag));
                let more = if restored { VlanId::TAG_BYTES } else { 0 };
                let (start, length) = (start - more, length + more);
                // SAFETY: the slot is ours until its status is given back below, after the last use of the slice;
                // `frame_range` keeps the frame inside the slot.
                let bytes = unsafe { self.map.bytes(slot + start, length) };
                take(ReceivedFrame {
                    bytes,
                    length: header.length + if restored { TAG_ROOM } else { 0 },
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

    /// Puts a tag back into the frame at byte `at`, which begins 4 bytes earlier then; false if it is too short for one.
    fn restore(&mut self, at: usize, length: usize, tag: [u8; VlanId::TAG_BYTES]) -> bool {
        if length < ADDRESSES {
            return false;
        }
        let room = ADDRESSES + VlanId::TAG_BYTES;
        // SAFETY: the slot is ours until its status is given back, after this slice's last use.
        let bytes = unsafe { self.map.bytes_mut(at - VlanId::TAG_BYTES, room) };
        bytes.copy_within(VlanId::TAG_BYTES.., 0);
        bytes[ADDRESSES..].copy_from_slice(&tag);
        true
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
///  status:u32 length:u32 snapped:u32 mac_offset:u16 net_offset:u16 seconds:u32 nanoseconds:u32 tci:u16 tpid:u16 …
/// ```
struct SlotHeader {
    status: u32,
    length: u32,
    snapped: u32,
    mac_offset: u16,
    seconds: u32,
    nanoseconds: u32,
    /// Of the tag that the kernel took out: its control information, and its type.
    tci: u16,
    tpid: u16,
}

impl SlotHeader {
    /// Loads the header of the slot at byte `slot`, which this process must own.
    fn load(memory: &impl SharedMemory, slot: usize) -> Self {
        let word = |at| memory.word(slot + at).load(Ordering::Relaxed);
        let halves = |at| {
            let [a, b, c, d] = word(at).to_ne_bytes();
            [[a, b], [c, d]].map(u16::from_ne_bytes)
        };
        let ([mac_offset, _], [tci, tpid]) = (halves(12), halves(24));
        Self {
            status: word(0),
            length: word(4),
            snapped: word(8),
            mac_offset,
            seconds: word(16),
            nanoseconds: word(20),
            tci,
            tpid,
        }
    }

    /// The tag that the kernel took out, if it did.
    fn tag(&self) -> Option<[u8; VlanId::TAG_BYTES]> {
        let [type_high, type_low] = self.tpid.to_be_bytes();
        let [high, low] = self.tci.to_be_bytes();
        let is_there = self.status & TP_STATUS_VLAN == TP_STATUS_VLAN;
        is_there.then_some([type_high, type_low, high, low])
    }
}

/// `enum tpacket_versions`.
const TPACKET_V2: u32 = 1;
/// `linux/if_packet.h`.
const PACKET_RESERVE: libc::c_int = 12;
/// `linux/if_packet.h`.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// `linux/if_packet.h`: the slot belongs to the kernel.
const TP_STATUS_KERNEL: u32 = 0;
/// `linux/if_packet.h`: the slot belongs to us.
const TP_STATUS_USER: u32 = 1;
/// `linux/if_packet.h`: the checksum is left to the device (`CHECKSUM_PARTIAL`).
const TP_STATUS_CSUM_NOT_READY: u32 = 1 << 3;
/// `linux/if_packet.h`: a tag was taken out (`TP_STATUS_VLAN_VALID`), and its type is said (`TP_STATUS_VLAN_TPID_VALID`).
const TP_STATUS_VLAN: u32 = 1 << 4 | 1 << 6;
/// Bytes kept free before each frame for a tag.
const TAG_ROOM: u32 = 4;
const _: () = assert!(TAG_ROOM as usize == VlanId::TAG_BYTES);
/// Bytes of a frame before a tag: destination and source address.
const ADDRESSES: usize = 12;
/// `linux/if_ether.h`: every protocol.
const ETH_P_ALL: u16 = 3;
