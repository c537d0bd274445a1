//! Any packets through the programs in `p4/` with the entries of their packet tests. The first byte names the program; then
//! a byte with the packet's length comes before each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_p4::{Limits, Program, Switch, stf};
use std::sync::Arc;
use std::sync::OnceLock;

macro_rules! programs {
    ($($name:literal)+) => {
        [$((
            include_bytes!(concat!("../../p4/", $name, "/", $name, ".json")) as &[u8],
            include_str!(concat!("../../p4/", $name, "/", $name, ".stf")),
        )),+]
    };
}

type Loaded = (Arc<Program>, Vec<(usize, stf::Statement)>);

fn programs() -> Vec<Loaded> {
    let all = programs!(
        "acl" "control_plane" "copies" "counters" "cross_connect" "digest" "ecmp" "l2_learning" "l3_router" "meter" "mirror"
        "multicast" "packet_io" "profile" "recirculate" "registers" "resubmit" "speed_acl" "speed_fabric" "speed_l2" "speed_l3"
        "timestamps" "truncate" "value_set"
    );
    let load = |(json, test): (&[u8], &str)| {
        let program = Program::from_json(json).expect("a program of ours");
        (Arc::new(program), stf::parse(test).expect("its packet test"))
    };
    all.into_iter().map(load).collect()
}

fuzz_target!(|data: &[u8]| {
    static LOADED: OnceLock<Vec<Loaded>> = OnceLock::new();
    let loaded = LOADED.get_or_init(programs);
    let Some((which, mut rest)) = data.split_first() else {
        return;
    };
    let (program, entries) = &loaded[usize::from(*which) % loaded.len()];
    let mut switch = Switch::new(Arc::clone(program), Limits::default(), 0);
    stf::control(&mut switch, entries).expect("entries of its own test");
    let mut sent = 0;
    while let Some((length, after)) = rest.split_first() {
        let (packet, after) = after.split_at(after.len().min((*length).into()));
        switch.process(u32::from(*length) % 8, packet, sent * 1000, &mut |_, _| ());
        sent += 1;
        rest = after;
    }
    let received: u64 = (0..8).map(|port| switch.port_counters(port).received).sum();
    assert_eq!(received, sent);
});
