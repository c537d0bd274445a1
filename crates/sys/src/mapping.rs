//! Memory mapped into this process, private or shared with the kernel through a descriptor.

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Memory that two sides access atomically: a [`Mapping`], or memory of this process in tests.
pub(crate) trait SharedMemory {
    /// The 32-bit word at byte `offset`.
    fn word(&self, offset: usize) -> &AtomicU32;
    /// The 64-bit word at byte `offset`.
    fn double(&self, offset: usize) -> &AtomicU64;
}

/// Mapped memory, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: `base` alone is not Send. It points to memory of the process, not of a thread, that nobody else unmaps.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes of `descriptor` from its byte `offset` on, shared, to read and write. All of it is populated
    /// at once, so that no page fault falls into the traffic.
    pub(crate) fn shared<Fd: AsFd>(descriptor: Fd, length: usize, offset: u64) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: with a null hint the kernel chooses an address that nothing else uses.
        let base = unsafe { mmap(ptr::null_mut(), length, ACCESS, flags, descriptor, offset) }?;
        Self::from_base(base.cast(), length)
    }

    /// Maps `length` zeroed bytes private to this process, populated on use.
    pub(crate) fn anonymous(length: usize) -> io::Result<Self> {
        // SAFETY: with a null hint the kernel chooses an address that nothing else uses.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), length, ACCESS, MapFlags::PRIVATE) }?;
        Self::from_base(base.cast(), length)
    }

    fn from_base(base: *mut u8, length: usize) -> io::Result<Self> {
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, length })
    }

    /// Bytes mapped.
    pub(crate) const fn length(&self) -> usize {
        self.length
    }

    /// Address of the first byte, for system calls that take it as a number.
    pub(crate) fn address(&self) -> u64 {
        self.base.as_ptr().expose_provenance() as u64
    }

    /// `length` bytes at `offset`.
    ///
    /// # Safety
    ///
    /// While the slice lives neither the kernel nor this process, by [`SharedMemory`], may write to these bytes.
    pub(crate) unsafe fn bytes(&self, offset: usize, length: usize) -> &[u8] {
        let place = self.place::<u8>(offset, length);
        // SAFETY: `place` checked the bounds; the caller vouches that nobody writes.
        unsafe { std::slice::from_raw_parts(place.as_ptr(), length) }
    }

    /// `length` bytes at `offset`, to change.
    ///
    /// # Safety
    ///
    /// While the slice lives the kernel may neither read nor write these bytes.
    pub(crate) unsafe fn bytes_mut(&mut self, offset: usize, length: usize) -> &mut [u8] {
        let place = self.place::<u8>(offset, length);
        // SAFETY: `place` checked the bounds; this process has no other reference while `self` is borrowed to
        // change, and the caller vouches for the kernel.
        unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), length) }
    }

    /// Pointer to `length` bytes at `offset`, checked to be inside the mapping and aligned for a `T`.
    fn place<T>(&self, offset: usize, length: usize) -> NonNull<T> {
        let end = offset.checked_add(length);
        assert!(
            end.is_some_and(|end| end <= self.length),
            "invariant: rings and frames lie in their mapping"
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

impl SharedMemory for Mapping {
    fn word(&self, offset: usize) -> &AtomicU32 {
        let place = self.place::<AtomicU32>(offset, size_of::<AtomicU32>());
        // SAFETY: `place` checked bounds and alignment; any bits are a valid word, and both sides use it atomically.
        unsafe { place.as_ref() }
    }

    fn double(&self, offset: usize) -> &AtomicU64 {
        let place = self.place::<AtomicU64>(offset, size_of::<AtomicU64>());
        // SAFETY: as for `word`.
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

const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    /// Words followed by double words, unknown to the kernel.
    #[derive(Debug)]
    pub(crate) struct TestMemory {
        words: Box<[AtomicU32]>,
        doubles: Box<[AtomicU64]>,
    }

    impl TestMemory {
        /// Memory of `words`, an even number of them, before `doubles` zeroed double words.
        pub(crate) fn new<const WORDS: usize>(words: [u32; WORDS], doubles: usize) -> Arc<Self> {
            Arc::new(Self {
                words: words.map(AtomicU32::new).into(),
                doubles: (0..doubles).map(|_| AtomicU64::new(0)).collect(),
            })
        }
    }

    impl SharedMemory for Arc<TestMemory> {
        fn word(&self, offset: usize) -> &AtomicU32 {
            &self.words[offset / 4]
        }

        fn double(&self, offset: usize) -> &AtomicU64 {
            &self.doubles[offset / 8 - self.words.len() / 2]
        }
    }

    #[test]
    fn what_is_written_by_words_is_read_as_bytes() {
        let mut mapping = Mapping::anonymous(4096).unwrap();
        mapping.word(8).store(1, Ordering::Relaxed);
        mapping.double(4088).store(u64::MAX, Ordering::Relaxed);
        // SAFETY: no kernel knows this memory, and nothing is stored while the slice lives.
        assert_eq!(unsafe { mapping.bytes(8, 4) }, 1_u32.to_ne_bytes());
        // SAFETY: as above.
        let end = unsafe { mapping.bytes_mut(4088, 8) };
        assert_eq!(end, [0xff; 8]);
        end.fill(0);
        assert_eq!(mapping.double(4088).load(Ordering::Relaxed), 0);
    }

    #[test]
    #[should_panic(expected = "lie in their mapping")]
    fn nothing_is_reached_beyond_the_end() {
        Mapping::anonymous(4096).unwrap().double(4092);
    }

    #[test]
    #[should_panic(expected = "aligns what it shares")]
    fn a_word_that_is_not_aligned_is_refused() {
        Mapping::anonymous(4096).unwrap().word(2);
    }
}
