//! Both ends of sockperf against a hostile other end.
#![no_main]

#[path = "../driver.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;
use linerate_peers::sockperf::wire::Header;

fuzz_target!(|data: &[u8]| {
    driver::both_ends("sockperf", data);
    if let Some(header) = Header::read(data) {
        let mut again = data.to_vec();
        header.write(&mut again);
        assert_eq!(again, data);
        assert!(!header.reply().wants_reply());
    }
});
