//! What of the loss ledger needs real root: the softnet backlog, whose limit is the machine's, and the
//! kernel's drop reasons. Run as root with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "the figures are part of the result")]

mod backlog;
#[path = "../ledger/bench.rs"]
#[expect(dead_code, reason = "the other target uses the rest")]
mod bench;
mod reasons;

use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case {
        name: "backlog::in_the_receiving_backlog",
        run: backlog::in_the_receiving_backlog,
    },
    Case {
        name: "reasons::each_drop_has_its_reason",
        run: reasons::each_drop_has_its_reason,
    },
    Case {
        name: "reasons::another_flow_dropped_beside_is_told_apart",
        run: reasons::another_flow_dropped_beside_is_told_apart,
    },
    Case {
        name: "reasons::what_a_filter_at_the_receiver_drops_is_named",
        run: reasons::what_a_filter_at_the_receiver_drops_is_named,
    },
];

fn main() -> ExitCode {
    let is_root = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open(backlog::LIMIT)
            .map(drop)
            .map_err(|error| format!("{}: {error}; run as root", backlog::LIMIT))
    };
    namespace_main(is_root, CASES)
}
