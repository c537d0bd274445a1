//! The mapped receive ring.

use super::layout::BLOCK;
use super::{RingLayout, bind, open_socket, outcome, set_option};
use crate::clock::{MonoClock, MonotonicOffset};
use crate::netlink::InterfaceIndex;
use linerate_model::{Clock, MonoInstant, PacketCount};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// A frame as the kernel received it, without FCS.
#[derive(Debug)]
pub struct ReceivedFrame<'a> {
    /// The bytes from the destination MAC address on; fewer than `length` if they did not fit.
    pub bytes: &'a [u8],
    /// The frame's own length.
    pub length: u32,
    /// When it reached the ring, by the kernel's stamp; never later than now.
    pub arrived: MonoInstant,
}

/// Every frame that an interface receives, in arrival order. Frames that the interface sends
/// are not among them. Not [`Sync`]: one reader.
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
    /// Starts to receive what interface `index` of the calling thread's namespace receives.
    pub fn open(index: InterfaceIndex, layout: RingLayout) -> io::Result<Self> {
        let socket = open_socket()?;
        set_option(&socket, libc::PACKET_VERSION, TPACKET_V2)?;
        set_option(&socket, PACKET_IGNORE_OUTGOING, 1_i32)?;
        let request = TpacketRequest {
            block_bytes: BLOCK,
            blocks: layout.blocks(),
            slot_bytes: layout.slot_bytes(),
            slots: layout.slots(),
        };
        set_option(&socket, libc::PACKET_RX_RING, request)?;
        let map = Mapping::new(&socket, layout.total_bytes())?;
        bind(&socket, index, ETH_P_ALL)?;
        Ok(Self {
            map,
            layout,
            next: 0,
            dropped: 0,
            socket,
        })
    }

    /// Hands up to `limit` waiting frames to `take` and frees their slots; returns how many.
    pub fn drain(&mut self, limit: usize, mut take: impl FnMut(ReceivedFrame<'_>)) -> usize {
        if !self.is_ready() {
            return 0;
        }
        let (offset, now) = (MonotonicOffset::measure(), MonoClock.now());
        let mut taken = 0;
        while taken < limit && self.is_ready() {
            let header = self.header();
            let stamp = u64::from(header.seconds) * 1_000_000_000 + u64::from(header.nanoseconds);
            if let Some((start, length)) =
                self.layout.frame_range(header.mac_offset, header.snapped)
            {
                take(ReceivedFrame {
                    bytes: self
                        .map
                        .bytes(self.layout.offset(self.next) + start, length),
                    length: header.length,
                    arrived: offset.monotonic(stamp).min(now),
                });
            }
            self.status().store(TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.layout.slots();
            taken += 1;
        }
        taken
    }

    /// Frames that the kernel dropped because the ring was full, since the ring was opened.
    pub fn dropped(&mut self) -> io::Result<PacketCount> {
        let mut statistics = TpacketStatistics {
            packets: 0,
            drops: 0,
        };
        let mut length = super::length_of::<TpacketStatistics>();
        // SAFETY: the kernel writes at most `length` bytes, the size of `statistics`.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        outcome(result)?;
        // Reading resets the kernel's count, so ours adds up.
        self.dropped += u64::from(statistics.drops);
        Ok(PacketCount::new(self.dropped))
    }

    fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & TP_STATUS_USER != 0
    }

    fn status(&self) -> &AtomicU32 {
        self.map.atomic(self.layout.offset(self.next))
    }

    /// The header of the next slot, which must be ready.
    fn header(&self) -> SlotHeader {
        self.map.header(self.layout.offset(self.next))
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Memory shared with the kernel.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: `base` alone is not Send; the memory belongs to this value and not to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(socket: &OwnedFd, length: usize) -> io::Result<Self> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: with a null hint the kernel chooses an address that nothing else uses.
        let base = unsafe { mmap(ptr::null_mut(), length, access, flags, socket, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, length })
    }

    /// The status word of the slot at `offset`.
    fn atomic(&self, offset: usize) -> &AtomicU32 {
        let word = self.at::<AtomicU32>(offset, size_of::<AtomicU32>());
        // SAFETY: `at` checked bounds and alignment; both sides use the word atomically.
        unsafe { word.as_ref() }
    }

    /// A copy of the slot header at `offset`.
    fn header(&self, offset: usize) -> SlotHeader {
        let header = self.at::<SlotHeader>(offset, size_of::<SlotHeader>());
        // SAFETY: `at` checked bounds and alignment; the kernel gave the slot to us (the caller
        // saw TP_STATUS_USER) and any bits are a valid header.
        unsafe { header.read() }
    }

    /// `length` bytes at `offset`, in a slot that the kernel gave to us.
    fn bytes(&self, offset: usize, length: usize) -> &[u8] {
        let start = self.at::<u8>(offset, length);
        // SAFETY: `at` checked the bounds; the kernel does not write to the slot until its
        // status is given back, which `drain` does after the last use of the slice.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), length) }
    }

    fn at<T>(&self, offset: usize, length: usize) -> NonNull<T> {
        let end = offset.checked_add(length);
        assert!(
            end.is_some_and(|end| end <= self.length),
            "invariant: slots lie in the mapping"
        );
        // SAFETY: `offset` is inside the mapping: asserted one line above.
        let place = unsafe { self.base.add(offset) };
        let place = place.cast::<T>();
        assert!(place.is_aligned(), "invariant: slots are aligned to 2 KiB");
        place
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `base` and `length` are what mmap gave and no reference outlives `self`.
        let result = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
        debug_assert!(result.is_ok(), "invariant: the mapping is ours to end");
    }
}

/// `struct tpacket_req` of `linux/if_packet.h`.
#[derive(Clone, Copy)]
#[repr(C)]
struct TpacketRequest {
    block_bytes: u32,
    blocks: u32,
    slot_bytes: u32,
    slots: u32,
}

const _: () = assert!(size_of::<TpacketRequest>() == 16);

/// `struct tpacket2_hdr` of `linux/if_packet.h`.
#[derive(Clone, Copy)]
#[repr(C)]
struct SlotHeader {
    _status: u32,
    length: u32,
    snapped: u32,
    mac_offset: u16,
    _net_offset: u16,
    seconds: u32,
    nanoseconds: u32,
    _vlan: [u16; 2],
    _padding: [u8; 4],
}

const _: () = assert!(size_of::<SlotHeader>() == 32);
const _: () = assert!(std::mem::offset_of!(SlotHeader, mac_offset) == 12);
const _: () = assert!(std::mem::offset_of!(SlotHeader, seconds) == 16);

/// `struct tpacket_stats` of `linux/if_packet.h`.
#[repr(C)]
struct TpacketStatistics {
    packets: u32,
    drops: u32,
}

/// `enum tpacket_versions`.
const TPACKET_V2: libc::c_int = 1;
/// `linux/if_packet.h`.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// `linux/if_packet.h`: the slot belongs to the kernel.
const TP_STATUS_KERNEL: u32 = 0;
/// `linux/if_packet.h`: the slot belongs to us.
const TP_STATUS_USER: u32 = 1;
/// `linux/if_ether.h`: every protocol.
const ETH_P_ALL: u16 = 3;
