//! A packet takes no memory once the switch's buffers have grown: forwarded, dropped, cloned, replicated, resubmitted or
//! recirculated. A program of its own, as its allocator counts for all tests of a program.

mod pipelines;

use linerate_sys::allocations::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

#[test]
fn packets_take_no_memory_once_buffers_have_grown() {
    for pipeline in pipelines::ALL {
        let mut switch = pipeline.switch();
        let packets = pipeline.packets();
        let mut sent = 0;
        let mut round = || {
            for (port, packet) in &packets {
                switch.process(*port, packet, 1_000_000, &mut |_, _| sent += 1);
            }
        };
        round();
        let before = ALLOCATOR.count();
        round();
        let taken = ALLOCATOR.count() - before;
        assert!(sent > 0, "{} sends nothing", pipeline.name);
        assert_eq!(
            taken,
            0,
            "{}: allocations for {} packets",
            pipeline.name,
            packets.len()
        );
    }
}
