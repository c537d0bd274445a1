//! Devices under test on the real kernel: what each forwards, counts and drops, and that it leaves nothing behind.
//! Run as root with `--ignored`: user namespaces cannot load XDP programs, and some devices are programs that want root.
#![expect(clippy::unwrap_used, reason = "a test")]

mod conformance;
mod frames;

use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case {
        name: "conformance::every_device_forwards_both_ways_and_counts_every_frame",
        run: conformance::every_device_forwards_both_ways_and_counts_every_frame,
    },
    Case {
        name: "conformance::every_device_is_silent_by_itself",
        run: conformance::every_device_is_silent_by_itself,
    },
    Case {
        name: "conformance::no_device_leaves_interfaces_processes_or_files",
        run: conformance::no_device_leaves_interfaces_processes_or_files,
    },
    Case {
        name: "conformance::a_bridge_that_does_not_learn_floods",
        run: conformance::a_bridge_that_does_not_learn_floods,
    },
];

fn main() -> ExitCode {
    let may = || {
        if linerate_sys::netns::is_fully_privileged() {
            return Ok(());
        }
        Err("run as root, outside of user namespaces")
    };
    namespace_main(may, CASES)
}
