//! Memory that the network device shares: a few pages, given out once. Addresses are the same for the device.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// Two queues of two pages each, and as many again to be safe.
const PAGES: usize = 8;

#[repr(C, align(4096))]
struct Pool(UnsafeCell<[[u8; PAGE_SIZE]; PAGES]>);

// SAFETY: each page is given out once, by the counter.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool(UnsafeCell::new([[0; PAGE_SIZE]; PAGES]));
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// The machine's memory.
pub(crate) struct Dma;

fn address(pointer: NonNull<u8>) -> PhysAddr {
    pointer.as_ptr().expose_provenance() as PhysAddr
}

// SAFETY: pages are aligned, zero from the start, and given out once; there is no other address space.
unsafe impl Hal for Dma {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = GIVEN.fetch_add(pages, Ordering::Relaxed);
        assert!(
            first + pages <= PAGES,
            "the device wants more than {PAGES} pages"
        );
        let start = POOL.0.get().cast::<u8>().wrapping_add(first * PAGE_SIZE);
        let Some(start) = NonNull::new(start) else {
            panic!("the pool has an address");
        };
        (address(start), start)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // The device stays as long as the program.
        0
    }

    unsafe fn mmio_phys_to_virt(_: PhysAddr, _: usize) -> NonNull<u8> {
        // Of devices on PCI, which this machine's is not.
        NonNull::dangling()
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        address(buffer.cast())
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
