//! The ring that the kernel writes records of one core to.

use super::record::HEADER;
use crate::failure::Failure;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes for records. At 1000 stacks of 40 frames a second it lasts a third of a second, and an
/// unprivileged user may lock 516 KiB per core (`kernel.perf_event_mlock_kb`), so two ends on one
/// machine fit.
const DATA: usize = 128 * 1024;

/// One event and its ring. Not [`Sync`]: one reader.
///
/// Field order is teardown order: the mapping goes before the event.
#[derive(Debug)]
pub(super) struct Ring {
    map: Mapping,
    _event: OwnedFd,
}

impl Ring {
    pub(super) fn map(event: OwnedFd) -> Result<Self, Failure> {
        let page = rustix::param::page_size();
        let data = DATA.max(page).next_power_of_two();
        let map = Mapping::new(&event, page, data)
            .map_err(|errno| Failure::new("mmap of a perf event", errno))?;
        Ok(Self { map, _event: event })
    }

    /// Copies the next record to `record` and frees its room; `false` if none waits.
    pub(super) fn next(&mut self, record: &mut Vec<u8>) -> bool {
        let head = self.map.head().load(Ordering::Acquire);
        let tail = self.map.tail().load(Ordering::Relaxed);
        let waiting = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX);
        if waiting < HEADER || waiting > self.map.data {
            return false;
        }
        record.clear();
        self.map.copy(tail, HEADER, record);
        let size = usize::from(u16::from_ne_bytes([record[6], record[7]]));
        // A size that cannot be would never let the reader go on: everything waiting is dropped.
        if size < HEADER || size > waiting {
            self.map.tail().store(head, Ordering::Release);
            return false;
        }
        record.clear();
        self.map.copy(tail, size, record);
        let next = tail.wrapping_add(size as u64);
        self.map.tail().store(next, Ordering::Release);
        true
    }
}

/// Memory shared with the kernel: a control page, then the data.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    page: usize,
    data: usize,
}

// SAFETY: `base` alone is not Send; the memory belongs to this value and not to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(event: &OwnedFd, page: usize, data: usize) -> Result<Self, rustix::io::Errno> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: with a null hint the kernel chooses an address that nothing else uses.
        let base = unsafe { mmap(ptr::null_mut(), page + data, access, flags, event, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { base, page, data })
    }

    /// How far the kernel has written, in bytes since the start.
    fn head(&self) -> &AtomicU64 {
        self.word(DATA_HEAD)
    }

    /// How far we have read.
    fn tail(&self) -> &AtomicU64 {
        self.word(DATA_TAIL)
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset + 8 <= self.page, "invariant: in the control page");
        // SAFETY: inside the mapping: asserted one line above.
        let word = unsafe { self.base.add(offset) }.cast::<AtomicU64>();
        // SAFETY: aligned (a page plus a multiple of 8), alive as long as `self`, and both sides
        // use the word atomically.
        unsafe { word.as_ref() }
    }

    /// Appends `length` bytes from position `from`, which the kernel has written, to `into`.
    fn copy(&self, from: u64, length: usize, into: &mut Vec<u8>) {
        assert!(length <= self.data, "invariant: a record fits in the ring");
        let mask = self.data as u64 - 1;
        let start = usize::try_from(from & mask).expect("invariant: below the data's length");
        let first = length.min(self.data - start);
        into.extend_from_slice(self.bytes(start, first));
        into.extend_from_slice(self.bytes(0, length - first));
    }

    fn bytes(&self, start: usize, length: usize) -> &[u8] {
        assert!(start + length <= self.data, "invariant: in the data");
        // SAFETY: inside the mapping: asserted one line above, and the data follows the control page.
        let place = unsafe { self.base.add(self.page + start) };
        // SAFETY: `length` bytes of the mapping, which the kernel does not write again before the
        // tail has passed them; `next` moves it after the slice is gone.
        unsafe { std::slice::from_raw_parts(place.as_ptr(), length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `base` and the length are what mmap gave and no reference outlives `self`.
        let result = unsafe { munmap(self.base.as_ptr().cast(), self.page + self.data) };
        debug_assert!(result.is_ok(), "invariant: the mapping is ours to end");
    }
}

/// `struct perf_event_mmap_page` of `linux/perf_event.h`: the words start its second KiB.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

#[cfg(test)]
mod tests {
    use super::super::record::tests::sample_bytes;
    use super::*;
    use std::fs::File;
    use std::io::{Seek as _, SeekFrom, Write as _};

    const PAGE: usize = 4096;

    /// A file in place of an event: the same memory, written by the test.
    fn ring() -> (Ring, File) {
        let file = tempfile::tempfile().unwrap();
        file.set_len((PAGE + DATA) as u64).unwrap();
        let event = OwnedFd::from(file.try_clone().unwrap());
        let map = Mapping::new(&event, PAGE, DATA).unwrap();
        (Ring { map, _event: event }, file)
    }

    fn put(file: &mut File, at: usize, bytes: &[u8]) {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(bytes).unwrap();
    }

    #[test]
    fn a_record_that_wraps_is_read_whole() {
        let (mut ring, mut file) = ring();
        let record = sample_bytes(1, &[1, 2, 3]);
        let start = DATA - 16;
        put(&mut file, PAGE + start, &record[..16]);
        put(&mut file, PAGE, &record[16..]);
        ring.map.tail().store(start as u64, Ordering::Relaxed);
        let head = (start + record.len()) as u64;
        ring.map.head().store(head, Ordering::Relaxed);
        let mut read = Vec::new();
        assert!(ring.next(&mut read));
        assert_eq!(read, record);
        assert!(!ring.next(&mut read));
        assert_eq!(ring.map.tail().load(Ordering::Relaxed), head);
    }

    #[test]
    fn a_record_of_size_zero_does_not_stop_the_reader_for_ever() {
        let (mut ring, mut file) = ring();
        put(&mut file, PAGE, &[0; 64]);
        ring.map.head().store(64, Ordering::Relaxed);
        assert!(!ring.next(&mut Vec::new()));
        assert_eq!(ring.map.tail().load(Ordering::Relaxed), 64);
    }
}
