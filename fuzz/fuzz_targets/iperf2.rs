//! Both ends of iperf2 and its kin against a hostile other end.
#![no_main]

#[path = "../driver.rs"]
mod driver;

use linerate_peers::iperf2::header::{self, Header};
use linerate_peers::iperf2::report::Report;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    driver::both_ends("iperf2", data);
    let _ = Header::of_tcp(data);
    let _ = Header::of_udp(data);
    assert!(header::opening_len(data) <= 256);
    if let Some(report) = Report::read(data) {
        for sent in [0, 1, report.datagrams, u64::MAX] {
            let _ = report.received(sent, 1448);
        }
    }
});
