//! Every protocol's server against a hostile client.
#![no_main]

#[path = "../driver.rs"]
mod driver;

use driver::{SERVER, START, feed};
use libfuzzer_sys::fuzz_target;
use linerate_model::sample::Facts;
use linerate_peers::{ALL, Limits, ServerConfig, TIMEOUT};
use std::net::Ipv4Addr;

fuzz_target!(|data: &[u8]| {
    for kind in ALL {
        let config = ServerConfig {
            version: "0.1.0".into(),
            timeout: TIMEOUT,
            session: "s-1".into(),
            facts: Facts::new(),
            limits: Limits::default(),
            local: Ipv4Addr::LOCALHOST.into(),
            sfnt: linerate_peers::sfnt::Release::default(),
            turn_away: None,
            logins: None,
            credential: None,
        };
        feed(SERVER, kind.control(), kind.server(config, START), data);
    }
});
