//! Both ends of a protocol against a hostile other end: of the protocol that `PEER` names, without it of each.
#![no_main]

#[path = "../driver.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;
use linerate_peers::PeerKind;
use std::sync::LazyLock;

static KINDS: LazyLock<Vec<&'static dyn PeerKind>> = LazyLock::new(|| match std::env::var("PEER") {
    Ok(id) => vec![linerate_peers::find(&id).expect("PEER is the id of a protocol")],
    Err(_) => linerate_peers::ALL.to_vec(),
});

fuzz_target!(|data: &[u8]| {
    for kind in KINDS.iter() {
        driver::both_ends(*kind, data);
    }
});
