//! The system's allocator with a count, for tests that a path takes no memory once its buffers have grown.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what is asked of the system's allocator. Make it the `#[global_allocator]` of a test program.
#[derive(Debug)]
pub struct CountingAllocator(AtomicU64);

impl CountingAllocator {
    /// An allocator that has counted nothing.
    #[expect(
        clippy::new_without_default,
        reason = "it is a static: one const way to make it"
    )]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Allocations and reallocations of all threads since the program began.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

// SAFETY: every call is handed on to the system's allocator as it came; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise about the layout is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: all memory of this allocator is the system's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: all memory of this allocator is the system's; the caller's promise about the size is the system's.
        unsafe { System.realloc(at, layout, size) }
    }
}
