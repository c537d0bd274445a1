//! The frames that an AF_XDP socket and the kernel exchange.

use crate::mapping::Mapping;
use std::io;

/// Chunks of equal length, back to back, each owned either by the kernel or by this process.
///
/// A chunk of this process is represented by the only [`Frame`] with its number: it is consumed when its address is
/// given to the kernel and recreated when a ring returns the address. So neither side accesses what the other owns.
#[derive(Debug)]
pub(super) struct Frames {
    memory: Mapping,
    chunk: u32,
    /// Per chunk, whether the kernel owns it.
    lent: Box<[bool]>,
}

/// A chunk that this process owns. Not `Clone`: passing it on gives it away.
#[derive(Debug)]
pub(super) struct Frame(usize);

impl Frame {
    /// Consumes it; returns its number.
    const fn into_index(self) -> usize {
        self.0
    }
}

impl Frames {
    /// Creates `count` frames of `chunk` bytes, all owned by this process. Registration with the kernel populates and
    /// pins their memory.
    pub(super) fn new(count: u32, chunk: u32) -> io::Result<(Self, Vec<Frame>)> {
        let count = count as usize;
        let frames = Self {
            memory: Mapping::anonymous(count * chunk as usize)?,
            chunk,
            lent: vec![false; count].into(),
        };
        Ok((frames, (0..count).map(Frame).collect()))
    }

    /// Bytes of each.
    pub(super) const fn chunk(&self) -> usize {
        self.chunk as usize
    }

    /// Address of the first one, for registration.
    pub(super) fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Total length, bytes.
    pub(super) const fn length(&self) -> u64 {
        self.memory.length() as u64
    }

    /// Transfers `frame` to the kernel; returns its address for a ring.
    pub(super) fn lend(&mut self, frame: Frame) -> u64 {
        let index = frame.into_index();
        self.lent[index] = true;
        self.start(index) as u64
    }

    /// Takes back the frame at an address that a ring returned; `None` if the kernel owned no such frame.
    pub(super) fn take_back(&mut self, address: u64) -> Option<Frame> {
        let index = usize::try_from(address / u64::from(self.chunk)).ok()?;
        let lent = self.lent.get_mut(index)?;
        std::mem::take(lent).then_some(Frame(index))
    }

    /// The `length` bytes at `address`, if they lie in `frame`.
    pub(super) fn bytes(&self, frame: &Frame, address: u64, length: u32) -> Option<&[u8]> {
        let address = usize::try_from(address).ok()?;
        let start = self.start(frame.0);
        let end = address.checked_add(length as usize)?;
        if address < start || end > start + self.chunk as usize {
            return None;
        }
        // SAFETY: the bytes lie in a frame that is not the kernel's (there is a `Frame` of it), and becomes so only
        // by `lend`, for which `self` must not be borrowed.
        Some(unsafe { self.memory.bytes(address, length as usize) })
    }

    /// All bytes of `frame`, mutable.
    pub(super) fn room(&mut self, frame: &Frame) -> &mut [u8] {
        let start = self.start(frame.0);
        // SAFETY: as for `bytes`.
        unsafe { self.memory.bytes_mut(start, self.chunk as usize) }
    }

    /// Offset of a chunk's first byte.
    const fn start(&self, index: usize) -> usize {
        index * self.chunk as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_reached_within_their_borders_only() {
        let (mut frames, all) = Frames::new(4, 2048).unwrap();
        let frame = &all[2];
        frames.room(frame)[256..259].copy_from_slice(b"abc");
        assert_eq!(frames.bytes(frame, 4096 + 256, 3), Some(&b"abc"[..]));
        assert_eq!(frames.bytes(frame, 4095, 3), None);
        assert_eq!(frames.bytes(frame, 6142, 3), None);
        assert_eq!(frames.bytes(frame, u64::MAX, 3), None);
    }

    #[test]
    fn an_address_inside_a_lent_frame_gives_that_frame_once_and_any_other_none() {
        let (mut frames, all) = Frames::new(4, 2048).unwrap();
        assert!(frames.take_back(0).is_none(), "never lent");
        let lent: Vec<u64> = all.into_iter().map(|frame| frames.lend(frame)).collect();
        assert_eq!(lent, [0, 2048, 4096, 6144]);
        let frame = frames.take_back(4096 + 300).unwrap();
        assert!(frames.take_back(4096).is_none(), "taken back already");
        assert_eq!(frames.lend(frame), 4096);
        assert!(frames.take_back(8191).is_some());
        assert!(frames.take_back(8192).is_none());
        assert!(frames.take_back(u64::MAX).is_none());
    }
}
