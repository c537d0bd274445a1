//! Whatever the kernel says of interfaces, queues, routes, filters and its own types, it is read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_observe::fuzzing;
use linerate_sys::netlink;

fuzz_target!(|data: &[u8]| {
    netlink::read_all(data);
    fuzzing::btf(data);
});
