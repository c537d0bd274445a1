//! What other people's networks do to a test: needs user namespaces, `nft` and `ip`, so run with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

mod bench;
mod firewall;
mod outage;

use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case {
        name: "one_port_carries_every_kind_of_test",
        run: firewall::one_port_carries_every_kind_of_test,
    },
    Case {
        name: "strangers_at_the_one_port_keep_nobody_out",
        run: firewall::strangers_at_the_one_port_keep_nobody_out,
    },
    Case {
        name: "a_firewall_that_drops_data_ports_is_named",
        run: firewall::a_firewall_that_drops_data_ports_is_named,
    },
    Case {
        name: "a_sender_whose_interface_is_down_goes_on_and_says_when",
        run: outage::a_sender_whose_interface_is_down_goes_on_and_says_when,
    },
];

fn main() -> ExitCode {
    namespace_main(enter_user_namespace, CASES)
}
