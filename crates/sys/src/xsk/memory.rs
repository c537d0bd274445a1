//! Mapped memory of an AF_XDP socket: its rings, and the frames.

use super::ring::RingMemory;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Memory that the kernel maps, until dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: `base` points to memory of the process, not of a thread, and is used through `&self` for atomics
// only; frames are reached by `&mut Frames`.
unsafe impl Send for Mapping {}

impl Mapping {
    /// A ring of `socket` at the page offset that names it.
    pub(super) fn of_ring(socket: &OwnedFd, length: usize, which: u64) -> io::Result<Self> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let flags = flags | MapFlags::POPULATE;
        // SAFETY: with a null hint the kernel chooses an address that nothing else uses.
        let base = unsafe { mmap(ptr::null_mut(), length, access, flags, socket, which) }?;
        Self::at_base(base.cast(), length)
    }

    /// Fresh memory of zeros, all of it there, so that no page fault falls into the traffic.
    fn anonymous(length: usize) -> io::Result<Self> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let flags = flags | MapFlags::POPULATE;
        // SAFETY: with a null hint the kernel chooses an address that nothing else uses.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), length, access, flags) }?;
        Self::at_base(base.cast(), length)
    }

    fn at_base(base: *mut u8, length: usize) -> io::Result<Self> {
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, length })
    }

    /// The place of a `T` at byte `offset`, inside the mapping and aligned.
    fn place<T>(&self, offset: usize) -> NonNull<T> {
        let end = offset.checked_add(size_of::<T>());
        assert!(
            end.is_some_and(|end| end <= self.length),
            "invariant: rings lie in their mapping"
        );
        // SAFETY: `offset` is inside the mapping: asserted just above.
        let place = unsafe { self.base.add(offset) }.cast::<T>();
        assert!(
            place.is_aligned(),
            "invariant: the kernel aligns what it shares"
        );
        place
    }
}

impl RingMemory for Mapping {
    fn word(&self, offset: usize) -> &AtomicU32 {
        let place = self.place::<AtomicU32>(offset);
        // SAFETY: `place` checked bounds and alignment; both sides use the word atomically.
        unsafe { place.as_ref() }
    }

    fn double(&self, offset: usize) -> &AtomicU64 {
        let place = self.place::<AtomicU64>(offset);
        // SAFETY: `place` checked bounds and alignment; this side uses the entry atomically, and the kernel
        // writes it only before it moves the ring's index.
        unsafe { place.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `base` and `length` are what mmap gave and no reference outlives `self`.
        let result = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
        debug_assert!(result.is_ok(), "invariant: the mapping is ours to end");
    }
}

/// The frames that kernel and process exchange: chunks of one length, back to back.
///
/// A frame is reached only by a [`Frame`], which is made of an address that the kernel has just given back and
/// is used up when its address is given to the kernel: so nobody reads or writes what the other side has.
#[derive(Debug)]
pub(super) struct Frames {
    memory: Mapping,
    chunk: u32,
}

/// A frame that is this process's now: the offset of its chunk. Not `Clone`: whoever gives it away has it no more.
#[derive(Debug)]
pub(super) struct Frame(u64);

impl Frame {
    /// As the kernel's rings name it, giving it away.
    pub(super) fn into_address(self) -> u64 {
        self.0
    }
}

impl Frames {
    /// `count` frames of `chunk` bytes.
    pub(super) fn new(count: u32, chunk: u32) -> io::Result<Self> {
        Ok(Self {
            memory: Mapping::anonymous(count as usize * chunk as usize)?,
            chunk,
        })
    }

    /// Where they start, as the kernel is told.
    pub(super) fn address(&self) -> u64 {
        self.memory.base.as_ptr().expose_provenance() as u64
    }

    /// Bytes of all of them.
    pub(super) fn length(&self) -> u64 {
        self.memory.length as u64
    }

    /// Frame number `index`, which the kernel must not have: for the first filling of the rings.
    pub(super) fn own(&self, index: u32) -> Frame {
        Frame(u64::from(index) * u64::from(self.chunk))
    }

    /// The frame with an address that a ring gave back; `None` if no frame can have it.
    pub(super) fn given_back(&self, address: u64) -> Option<Frame> {
        let chunk = u64::from(self.chunk);
        let start = address - address % chunk;
        let end = start.checked_add(chunk)?;
        (end <= self.length()).then_some(Frame(start))
    }

    /// The `length` bytes at `address`, if they lie in `frame`.
    pub(super) fn bytes(&self, frame: &Frame, address: u64, length: u32) -> Option<&[u8]> {
        let end = address.checked_add(u64::from(length))?;
        let inside = address >= frame.0 && end <= frame.0 + u64::from(self.chunk);
        let start = usize::try_from(address).ok().filter(|_| inside)?;
        // SAFETY: `start` is inside the mapping, since the frame is (see `given_back` and `own`).
        let place = unsafe { self.memory.base.add(start) };
        // SAFETY: the bytes lie in a frame that is ours (checked just above), which the kernel does not write
        // until it is given away, which needs the `Frame` that is borrowed here.
        Some(unsafe { std::slice::from_raw_parts(place.as_ptr(), length as usize) })
    }

    /// All of `frame`, to write.
    pub(super) fn room(&mut self, frame: &Frame) -> &mut [u8] {
        let start = usize::try_from(frame.0).expect("invariant: frames lie in memory");
        // SAFETY: `start` is inside the mapping, since the frame is (see `given_back` and `own`).
        let place = unsafe { self.memory.base.add(start) };
        // SAFETY: the frame is ours: the kernel reads it only once its address was given away, which needs the
        // `Frame`; no other slice of this memory is alive while `self` is borrowed to change.
        unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), self.chunk as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_reached_within_their_borders_only() {
        let mut frames = Frames::new(4, 2048).unwrap();
        let frame = frames.own(2);
        frames.room(&frame)[256..259].copy_from_slice(b"abc");
        assert_eq!(frames.bytes(&frame, 4096 + 256, 3), Some(&b"abc"[..]));
        assert_eq!(frames.bytes(&frame, 4095, 3), None);
        assert_eq!(frames.bytes(&frame, 6142, 3), None);
        assert_eq!(frames.bytes(&frame, u64::MAX, 3), None);
    }

    #[test]
    fn an_address_inside_a_frame_gives_that_frame_and_one_outside_gives_none() {
        let frames = Frames::new(4, 2048).unwrap();
        let address = |frame: Option<Frame>| frame.map(Frame::into_address);
        assert_eq!(address(frames.given_back(4096 + 300)), Some(4096));
        assert_eq!(address(frames.given_back(8191)), Some(6144));
        assert_eq!(address(frames.given_back(8192)), None);
        assert_eq!(address(frames.given_back(u64::MAX)), None);
    }
}
