//! Index arithmetic of rings that one side fills and the other empties.
//!
//! Both indices run freely over 32 bits and are masked on use. Whoever writes entries publishes them by
//! storing the producer index with release; whoever reads them loads it with acquire. The consumer index
//! goes the same way back, so an entry is never overwritten while it may still be read.
//!
//! # References
//! - `Documentation/networking/af_xdp.rst`; the barriers of Linux `net/xdp/xsk_queue.h`

use crate::mapping::SharedMemory;
use std::sync::atomic::{AtomicU32, Ordering};

/// Offsets of a ring's parts in its memory, bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offsets {
    pub(super) producer: usize,
    pub(super) consumer: usize,
    /// Flags; `None` before Linux 5.4.
    pub(super) flags: Option<usize>,
    pub(super) entries: usize,
}

/// Entry type of a ring, made of double words.
pub(super) trait Entry: Copy {
    /// Length in bytes.
    const BYTES: usize;
    /// Writes it at byte `offset`.
    fn store(self, memory: &impl SharedMemory, offset: usize);
    /// Reads what is at byte `offset`.
    fn load(memory: &impl SharedMemory, offset: usize) -> Self;
}

/// Offset of a frame's first byte (fill and completion ring).
impl Entry for u64 {
    const BYTES: usize = 8;

    fn store(self, memory: &impl SharedMemory, offset: usize) {
        memory.double(offset).store(self, Ordering::Relaxed);
    }

    fn load(memory: &impl SharedMemory, offset: usize) -> Self {
        memory.double(offset).load(Ordering::Relaxed)
    }
}

/// `struct xdp_desc` of `linux/if_xdp.h`: a frame with its length (receive and transmit ring).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) address: u64,
    pub(super) length: u32,
    pub(super) options: u32,
}

impl Entry for Descriptor {
    const BYTES: usize = 16;

    fn store(self, memory: &impl SharedMemory, offset: usize) {
        let mut rest = [0; 8];
        rest[..4].copy_from_slice(&self.length.to_ne_bytes());
        rest[4..].copy_from_slice(&self.options.to_ne_bytes());
        self.address.store(memory, offset);
        u64::from_ne_bytes(rest).store(memory, offset + 8);
    }

    fn load(memory: &impl SharedMemory, offset: usize) -> Self {
        let rest = u64::load(memory, offset + 8).to_ne_bytes();
        let half = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
        Self {
            address: u64::load(memory, offset),
            length: half(&rest[..4]),
            options: half(&rest[4..]),
        }
    }
}

/// Common part of both ends of a ring: memory, offsets and size.
#[derive(Debug)]
struct Ring<M> {
    memory: M,
    offsets: Offsets,
    /// Number of entries, a power of two.
    size: u32,
}

impl<M: SharedMemory> Ring<M> {
    fn new(memory: M, offsets: Offsets, size: u32) -> Self {
        assert!(
            size.is_power_of_two(),
            "invariant: rings have a power of two of entries"
        );
        Self {
            memory,
            offsets,
            size,
        }
    }

    fn producer(&self) -> &AtomicU32 {
        self.memory.word(self.offsets.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.memory.word(self.offsets.consumer)
    }

    fn place<E: Entry>(&self, index: u32) -> usize {
        self.offsets.entries + (index & (self.size - 1)) as usize * E::BYTES
    }

    fn wants_wakeup(&self) -> bool {
        let flags = self.offsets.flags;
        flags.is_some_and(|at| self.memory.word(at).load(Ordering::Relaxed) & NEED_WAKEUP != 0)
    }
}

/// `XDP_RING_NEED_WAKEUP` of `linux/if_xdp.h`.
const NEED_WAKEUP: u32 = 1;

/// The end of a ring that this process fills.
#[derive(Debug)]
pub(super) struct Producer<M> {
    ring: Ring<M>,
    /// Entries written so far, published or not.
    written: u32,
    /// The kernel's consumer index when it was last read.
    read: u32,
}

impl<M: SharedMemory> Producer<M> {
    pub(super) fn new(memory: M, offsets: Offsets, size: u32) -> Self {
        let ring = Ring::new(memory, offsets, size);
        let written = ring.producer().load(Ordering::Relaxed);
        let read = ring.consumer().load(Ordering::Acquire);
        Self {
            ring,
            written,
            read,
        }
    }

    /// Writes one entry; `false` if the ring is full. The kernel sees it after [`publish`](Self::publish).
    pub(super) fn push<E: Entry>(&mut self, entry: E) -> bool {
        if self.written.wrapping_sub(self.read) == self.ring.size {
            // Acquire: what the kernel read before is not overwritten before it was read.
            self.read = self.ring.consumer().load(Ordering::Acquire);
            if self.written.wrapping_sub(self.read) == self.ring.size {
                return false;
            }
        }
        entry.store(&self.ring.memory, self.ring.place::<E>(self.written));
        self.written = self.written.wrapping_add(1);
        true
    }

    /// Publishes all written entries to the kernel.
    pub(super) fn publish(&self) {
        self.ring.producer().store(self.written, Ordering::Release);
    }

    /// Whether the kernel has consumed everything that was published.
    pub(super) fn is_drained(&self) -> bool {
        self.ring.consumer().load(Ordering::Acquire) == self.written
    }

    /// Whether the kernel needs a system call to process the ring.
    pub(super) fn wants_wakeup(&self) -> bool {
        self.ring.wants_wakeup()
    }
}

/// The end of a ring that this process empties.
#[derive(Debug)]
pub(super) struct Consumer<M> {
    ring: Ring<M>,
    /// Entries consumed so far, released or not.
    taken: u32,
    /// The kernel's producer index when it was last read.
    written: u32,
}

impl<M: SharedMemory> Consumer<M> {
    pub(super) fn new(memory: M, offsets: Offsets, size: u32) -> Self {
        let ring = Ring::new(memory, offsets, size);
        let taken = ring.consumer().load(Ordering::Relaxed);
        Self {
            ring,
            taken,
            written: taken,
        }
    }

    /// Takes one entry, if there is one. The kernel may reuse its place after [`release`](Self::release).
    pub(super) fn pop<E: Entry>(&mut self) -> Option<E> {
        if self.taken == self.written {
            // Acquire: the entries up to the index are whole once it is seen.
            self.written = self.ring.producer().load(Ordering::Acquire);
            if self.taken == self.written {
                return None;
            }
        }
        let entry = E::load(&self.ring.memory, self.ring.place::<E>(self.taken));
        self.taken = self.taken.wrapping_add(1);
        Some(entry)
    }

    /// Releases the places of all consumed entries to the kernel.
    pub(super) fn release(&self) {
        self.ring.consumer().store(self.taken, Ordering::Release);
    }

    /// Number of entries waiting.
    pub(super) fn waiting(&self) -> u32 {
        let written = self.ring.producer().load(Ordering::Acquire);
        written.wrapping_sub(self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::tests::TestMemory;
    use std::sync::Arc;
    use std::thread;

    const OFFSETS: Offsets = Offsets {
        producer: 0,
        consumer: 4,
        flags: Some(8),
        entries: 16,
    };

    /// Both indices start just below the wrap of 32 bits.
    fn memory(size: usize) -> Arc<TestMemory> {
        let start = u32::MAX - 2;
        TestMemory::new([start, start, 0, 0], size * 2)
    }

    #[test]
    fn entries_come_out_as_they_went_in_over_the_wrap_of_the_index() {
        let memory = memory(4);
        let mut fill = Producer::new(Arc::clone(&memory), OFFSETS, 4);
        let mut take = Consumer::new(memory, OFFSETS, 4);
        for number in 0..20_u64 {
            let entry = Descriptor {
                address: number << 11,
                length: 60,
                options: 7,
            };
            assert!(fill.push(entry));
            assert_eq!(take.pop::<Descriptor>(), None, "not published yet");
            fill.publish();
            assert_eq!(take.waiting(), 1);
            assert_eq!(take.pop(), Some(entry));
            assert!(!fill.is_drained());
            take.release();
            assert!(fill.is_drained());
        }
    }

    #[test]
    fn a_full_ring_takes_nothing_until_a_place_is_given_back() {
        let memory = memory(4);
        let mut fill = Producer::new(Arc::clone(&memory), OFFSETS, 4);
        let mut take = Consumer::new(memory, OFFSETS, 4);
        assert!((0..4_u64).all(|number| fill.push(number)));
        assert!(!fill.push(4_u64));
        fill.publish();
        assert_eq!(take.pop(), Some(0_u64));
        assert!(!fill.push(4_u64), "taken and not given back");
        take.release();
        assert!(fill.push(4_u64));
    }

    #[test]
    fn frames_that_are_lent_again_before_the_kernel_shows_that_it_took_them_find_room() {
        let frames = 4;
        let places = crate::xsk::fill_entries(frames);
        let memory = memory(places as usize);
        let mut fill = Producer::new(Arc::clone(&memory), OFFSETS, places);
        let mut kernel = Consumer::new(memory, OFFSETS, places);
        let lend = |fill: &mut Producer<_>| (0..u64::from(frames)).all(|frame| fill.push(frame));
        assert!(lend(&mut fill));
        fill.publish();
        for _ in 0..10 {
            // It has taken all and shows them filled, but not yet that it took them.
            assert!((0..u64::from(frames)).all(|frame| kernel.pop() == Some(frame)));
            assert!(lend(&mut fill));
            kernel.release();
            fill.publish();
        }
    }

    #[test]
    fn the_kernel_s_wish_to_be_woken_is_seen() {
        let memory = memory(4);
        let fill = Producer::new(Arc::clone(&memory), OFFSETS, 4);
        assert!(!fill.wants_wakeup());
        memory.word(8).store(NEED_WAKEUP, Ordering::Relaxed);
        assert!(fill.wants_wakeup());
    }

    #[test]
    fn two_threads_pass_every_entry_once_and_whole() {
        const COUNT: u64 = if cfg!(miri) { 100 } else { 10_000 };
        let memory = memory(8);
        let mut fill = Producer::new(Arc::clone(&memory), OFFSETS, 8);
        let mut take = Consumer::new(memory, OFFSETS, 8);
        let writer = thread::spawn(move || {
            let mut next = 0;
            while next < COUNT {
                let entry = Descriptor {
                    address: next,
                    length: u32::try_from(next).unwrap(),
                    options: 0,
                };
                next += u64::from(fill.push(entry));
                fill.publish();
                thread::yield_now();
            }
        });
        let mut next = 0;
        while next < COUNT {
            if let Some(entry) = take.pop::<Descriptor>() {
                assert_eq!((entry.address, u64::from(entry.length)), (next, next));
                next += 1;
                take.release();
            } else {
                thread::yield_now();
            }
        }
        writer.join().unwrap();
    }
}
