//! Any bytes as a compiled P4 program: refused with words, or loaded; then packets pass.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_p4::{Limits, Program, Switch};
use std::sync::Arc;

const LENGTHS: [usize; 3] = [0, 14, 100];

fuzz_target!(|data: &[u8]| match Program::from_json(data) {
    Err(error) => assert!(!error.to_string().is_empty()),
    Ok(program) => {
        let mut switch = Switch::new(Arc::new(program), Limits::default(), 0);
        for length in LENGTHS {
            switch.process(1, &[0x45; 100][..length], 1, &mut |_, _| ());
        }
    }
});
