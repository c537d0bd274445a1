//! Foreign tools behind the link element, whose truth is known: needs user namespaces, so run with `--ignored`.
//!
//! Every pair of linerate and another tool loses the same datagrams, the last ones among them. What each end
//! says it lost is compared with what the link dropped, or with what of it that tool's protocol can see.
#![expect(clippy::unwrap_used, reason = "a test")]

mod bench;
mod iperf2;
mod iperf3;
mod netperf;
mod search;
mod sockperf;

use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, Cases, namespace_main};
use std::process::ExitCode;

/// A pair of another tool: its file, and its cases here. They count, at rates that leave the cores idle.
const AT_ONCE: &[Case] = &[
    Case {
        name: "of_an_iperf3_server_linerate_knows_the_tail_that_it_does_not_see",
        run: iperf3::server,
    },
    Case {
        name: "of_an_iperf3_server_that_sends_linerate_knows_every_loss",
        run: iperf3::server_that_sends,
    },
    Case {
        name: "an_iperf3_client_is_told_every_loss",
        run: iperf3::client,
    },
    Case {
        name: "an_iperf3_client_that_receives_sees_gaps_only",
        run: iperf3::client_that_receives,
    },
    Case {
        name: "an_iperf2_server_knows_every_loss_and_says_so",
        run: iperf2::server,
    },
    Case {
        name: "of_an_iperf2_server_that_sends_linerate_knows_every_loss",
        run: iperf2::server_that_sends,
    },
    Case {
        name: "an_iperf2_client_is_told_every_loss",
        run: iperf2::client,
    },
    Case {
        name: "an_iperf2_client_that_receives_sees_every_loss",
        run: iperf2::client_that_receives,
    },
    Case {
        name: "of_a_netserver_linerate_knows_every_loss",
        run: netperf::server,
    },
    Case {
        name: "a_netperf_client_is_told_every_loss",
        run: netperf::client,
    },
    Case {
        name: "a_sockperf_client_under_load_misses_what_the_link_dropped",
        run: sockperf::client,
    },
];

/// What is measured.
const ONE_BY_ONE: &[Case] = &[
    Case {
        name: "an_outage_is_found_in_both_ways_of_a_test_with_an_iperf3_server",
        run: iperf3::outage,
    },
    Case {
        name: "a_search_against_iperf3_holds_the_link_capacity",
        run: iperf3::search,
    },
];

fn main() -> ExitCode {
    let cases = Cases {
        at_once: AT_ONCE,
        one_by_one: ONE_BY_ONE,
    };
    namespace_main(enter_user_namespace, cases)
}
