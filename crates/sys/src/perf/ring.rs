//! Ring to which the kernel writes the records of one core.

use super::record::HEADER;
use crate::failure::Failure;
use crate::mapping::{Mapping, SharedMemory};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes for records. At 1000 stacks of 40 frames a second it lasts a third of a second, and an
/// unprivileged user may lock 516 KiB per core (`kernel.perf_event_mlock_kb`), so two ends on one
/// machine fit.
const DATA: usize = 128 * 1024;

/// One event and its ring. One reader.
///
/// Field order is teardown order: the mapping goes before the event.
#[derive(Debug)]
pub(super) struct Ring {
    records: Records<Mapping>,
    _event: OwnedFd,
}

impl Ring {
    pub(super) fn map(event: OwnedFd) -> Result<Self, Failure> {
        let page = rustix::param::page_size();
        let data = DATA.max(page).next_power_of_two();
        let memory = Mapping::shared(&event, page + data, 0)
            .map_err(|error| Failure::from_io("mmap of a perf event", &error))?;
        let records = Records { memory, page, data };
        Ok(Self {
            records,
            _event: event,
        })
    }

    /// Copies the next record to `record` and frees its room; `false` if none waits.
    pub(super) fn next(&mut self, record: &mut Vec<u8>) -> bool {
        self.records.next(record)
    }
}

/// The records in a control page and the data behind it. They start, and their sizes are, at multiples of 8 bytes.
#[derive(Debug)]
struct Records<M> {
    memory: M,
    page: usize,
    /// Bytes of data, a power of two.
    data: usize,
}

impl<M: SharedMemory> Records<M> {
    fn next(&mut self, record: &mut Vec<u8>) -> bool {
        let head = self.head().load(Ordering::Acquire);
        let tail = self.tail().load(Ordering::Relaxed);
        let waiting = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX);
        if waiting < HEADER || waiting > self.data {
            return false;
        }
        self.copy(tail, HEADER, record);
        let size = usize::from(u16::from_ne_bytes([record[6], record[7]]));
        // An invalid size would block the reader for ever: drop all waiting records.
        if size < HEADER || size > waiting || !size.is_multiple_of(WORD) {
            self.tail().store(head, Ordering::Release);
            return false;
        }
        self.copy(tail, size, record);
        let next = tail.wrapping_add(size as u64);
        self.tail().store(next, Ordering::Release);
        true
    }

    /// Write position of the kernel, in bytes since the start.
    fn head(&self) -> &AtomicU64 {
        self.memory.double(DATA_HEAD)
    }

    /// Read position of this process.
    fn tail(&self) -> &AtomicU64 {
        self.memory.double(DATA_TAIL)
    }

    /// Copies `length` bytes from position `from` on, already written by the kernel, into `record`.
    fn copy(&self, from: u64, length: usize, record: &mut Vec<u8>) {
        let mask = self.data as u64 - 1;
        let start = usize::try_from(from & mask).expect("invariant: below the data's length");
        record.clear();
        for at in (start..start + length).step_by(WORD) {
            // Relaxed: the acquiring load of the head made all that lies before it visible.
            let word = self.memory.double(self.page + at % self.data);
            record.extend(word.load(Ordering::Relaxed).to_ne_bytes());
        }
    }
}

const WORD: usize = size_of::<u64>();

/// `struct perf_event_mmap_page` of `linux/perf_event.h`: the words start its second KiB.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

#[cfg(test)]
mod tests {
    use super::super::record::tests::sample_bytes;
    use super::*;
    use crate::mapping::tests::TestMemory;
    use std::sync::Arc;

    const PAGE: usize = 4096;
    /// Small, so that Miri is not long at it.
    const SMALL: usize = 1024;

    fn records() -> Records<Arc<TestMemory>> {
        Records {
            memory: TestMemory::new([], (PAGE + SMALL) / WORD),
            page: PAGE,
            data: SMALL,
        }
    }

    #[test]
    fn a_record_that_wraps_is_read_whole() {
        let mut records = records();
        let record = sample_bytes(1, &[1, 2, 3]);
        let start = SMALL - 16;
        for (at, word) in record.as_chunks().0.iter().enumerate() {
            let place = PAGE + (start + at * WORD) % SMALL;
            let word = u64::from_ne_bytes(*word);
            records.memory.double(place).store(word, Ordering::Relaxed);
        }
        records.tail().store(start as u64, Ordering::Relaxed);
        let head = (start + record.len()) as u64;
        records.head().store(head, Ordering::Relaxed);
        let mut read = Vec::new();
        assert!(records.next(&mut read));
        assert_eq!(read, record);
        assert!(!records.next(&mut read));
        assert_eq!(records.tail().load(Ordering::Relaxed), head);
    }

    #[test]
    fn a_record_of_a_size_that_cannot_be_does_not_stop_the_reader_for_ever() {
        for size in [0, 12, 72] {
            let mut records = records();
            let header = u64::from_ne_bytes([0, 0, 0, 0, 0, 0, size, 0]);
            records.memory.double(PAGE).store(header, Ordering::Relaxed);
            records.head().store(64, Ordering::Relaxed);
            assert!(!records.next(&mut Vec::new()));
            assert_eq!(records.tail().load(Ordering::Relaxed), 64);
        }
    }
}
