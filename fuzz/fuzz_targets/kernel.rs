//! Whatever the kernel says of interfaces, queues, routes, filters and its own types, it is read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_observe::fuzzing;

fuzz_target!(|data: &[u8]| {
    fuzzing::netlink(data);
    fuzzing::btf(data);
});
