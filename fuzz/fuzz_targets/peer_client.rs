//! Every protocol's client against a hostile server.
#![no_main]

#[path = "../driver.rs"]
mod driver;

use driver::{CLIENT, START, feed};
use libfuzzer_sys::fuzz_target;
use linerate_peers::{ALL, COOKIE_LEN, ClientConfig, TIMEOUT};
use std::net::Ipv4Addr;

fuzz_target!(|data: &[u8]| {
    for kind in ALL {
        let config = ClientConfig {
            version: "0.1.0".into(),
            timeout: TIMEOUT,
            credential: None,
            local: Ipv4Addr::LOCALHOST.into(),
            random: [7; COOKIE_LEN - 1],
            login: None,
            far_output: false,
        };
        feed(CLIENT, kind.control(), kind.client(config, START), data);
    }
});
