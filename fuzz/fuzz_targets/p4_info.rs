//! Any bytes as the P4Info of a program: refused with words, or one that describes it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_p4::Program;
use linerate_p4_runtime::check_p4info;
use std::sync::OnceLock;

const PROGRAM: &[u8] = include_bytes!("../../p4/control_plane/control_plane.json");

fuzz_target!(|data: &[u8]| {
    static PARSED: OnceLock<Program> = OnceLock::new();
    let program = PARSED.get_or_init(|| Program::from_json(PROGRAM).expect("a program of ours"));
    if let Err(error) = check_p4info(program, data) {
        assert!(!error.to_string().is_empty());
    }
});
