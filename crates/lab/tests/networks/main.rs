//! What other people's networks do to a test: needs user namespaces, `nft` and `ip`, so run with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

mod bench;
mod container;
mod firewall;
mod moving;
mod outage;
mod token_bucket;

use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, Cases, namespace_main};
use std::process::ExitCode;

/// They wait for most of their time.
const AT_ONCE: &[Case] = &[
    Case {
        name: "an_interface_that_is_down_is_named_and_no_firewall",
        run: outage::an_interface_that_is_down_is_named_and_no_firewall,
    },
    Case {
        name: "a_client_whose_address_changes_ends_in_seconds_and_keeps_its_counts",
        run: moving::a_client_whose_address_changes_ends_in_seconds_and_keeps_its_counts,
    },
    Case {
        name: "short_outages_of_roaming_are_said_one_by_one",
        run: moving::short_outages_of_roaming_are_said_one_by_one,
    },
    Case {
        name: "a_shaper_with_a_bucket_is_said_with_its_rate_and_size",
        run: token_bucket::a_shaper_with_a_bucket_is_said_with_its_rate_and_size,
    },
    Case {
        name: "a_policer_with_a_bucket_is_said_with_its_rate_and_size",
        run: token_bucket::a_policer_with_a_bucket_is_said_with_its_rate_and_size,
    },
    Case {
        name: "a_shaper_without_a_bucket_has_none",
        run: token_bucket::a_shaper_without_a_bucket_has_none,
    },
];

const ONE_BY_ONE: &[Case] = &[
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
    Case {
        name: "a_server_in_a_container_is_reached_by_its_published_port",
        run: container::a_server_in_a_container_is_reached_by_its_published_port,
    },
    Case {
        name: "a_published_port_is_reached_from_its_own_network",
        run: container::a_published_port_is_reached_from_its_own_network,
    },
    Case {
        name: "a_client_in_a_container_reaches_a_server_outside",
        run: container::a_client_in_a_container_reaches_a_server_outside,
    },
];

fn main() -> ExitCode {
    let cases = Cases {
        at_once: AT_ONCE,
        one_by_one: ONE_BY_ONE,
    };
    namespace_main(enter_user_namespace, cases)
}
