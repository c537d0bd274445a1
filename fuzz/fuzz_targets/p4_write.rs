//! Any bytes as a Write request of P4Runtime: refused with words, or made, all or none. After a first byte of 0 the bytes are
//! the request; another one names a request that fits, and triples after it a place of that and the byte there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_p4::Program;
use linerate_p4_runtime::fuzzing::Target;
use std::sync::OnceLock;

const PROGRAM: &[u8] = include_bytes!("../../p4/control_plane/control_plane.json");
const P4INFO: &[u8] = include_bytes!("../../p4/control_plane/control_plane.p4info.txt");
const TEST: &str = include_str!("../../p4/control_plane/control_plane.stf");

fn begin() -> (Target, Vec<Vec<u8>>) {
    let program = Program::from_json(PROGRAM).expect("a program of ours");
    let target = Target::new(P4INFO, program).expect("its P4Info");
    let requests = target.requests(TEST).expect("entries of its own test");
    (target, requests)
}

fuzz_target!(|data: &[u8]| {
    static BEGUN: OnceLock<(Target, Vec<Vec<u8>>)> = OnceLock::new();
    let (target, requests) = BEGUN.get_or_init(begin);
    let Some((which, rest)) = data.split_first() else {
        return;
    };
    let request = if *which == 0 {
        rest.to_vec()
    } else {
        let mut request = requests[usize::from(*which) % requests.len()].clone();
        for change in rest.chunks_exact(3) {
            let at = usize::from(u16::from_be_bytes([change[0], change[1]])) % request.len();
            request[at] = change[2];
        }
        request
    };
    let mut switch = target.switch();
    // Twice: what it inserts is there then.
    for _ in 0..2 {
        target.write(&mut switch, &request, &[2; 60]);
    }
});
