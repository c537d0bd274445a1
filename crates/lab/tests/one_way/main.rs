//! One-way delays and the parts of round trips where the truth is known: needs user namespaces, so run with
//! `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "the figures are part of the result")]

mod link;
mod parts;
mod rig;

use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case {
        name: "a_link_of_10_ms_is_10_ms_one_way_and_20_there_and_back",
        run: link::of_10_ms,
    },
    Case {
        name: "a_link_with_two_delays_is_told_apart_by_direction",
        run: link::with_two_delays,
    },
    Case {
        name: "datagrams_are_timed_one_way",
        run: link::datagrams,
    },
    Case {
        name: "a_round_trip_over_udp_is_the_sum_of_its_parts",
        run: parts::over_udp,
    },
    Case {
        name: "a_round_trip_over_tcp_is_the_sum_of_its_parts",
        run: parts::over_tcp,
    },
];

fn main() -> ExitCode {
    namespace_main(enter_user_namespace, CASES)
}
