//! Both ends of linerate's own protocol against a hostile other end.
#![no_main]

#[path = "../driver.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| driver::both_ends("native", data));
