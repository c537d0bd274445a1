//! Traffic past the kernel's stack: needs root outside of user namespaces, since the kernel loads XDP programs there
//! only. Run as root with `--ignored`.
//!
//! Two hosts, each a network namespace of its own, joined by a veth pair, whose driver runs XDP programs itself.
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "the figures are part of the result")]

#[path = "../ledger/bench.rs"]
#[expect(dead_code, reason = "the other target uses the rest")]
mod bench;
mod ending;
mod ports;
mod refusals;
mod traffic;

use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case {
        name: "ending::nothing_is_left_at_the_interface",
        run: ending::nothing_is_left_at_the_interface,
    },
    Case {
        name: "ending::a_killed_process_leaves_nothing_either",
        run: ending::a_killed_process_leaves_nothing_either,
    },
    Case {
        name: "ports::what_a_device_drops_by_list_is_lost_in_the_network",
        run: ports::what_a_device_drops_by_list_is_lost_in_the_network,
    },
    Case {
        name: "ports::one_frame_of_a_hundred_thousand_is_missed",
        run: ports::one_frame_of_a_hundred_thousand_is_missed,
    },
    Case {
        name: "ports::the_kernel_counts_every_frame_of_a_wire",
        run: ports::the_kernel_counts_every_frame_of_a_wire,
    },
    Case {
        name: "ports::the_kernel_counts_flows_of_both_families",
        run: ports::the_kernel_counts_flows_of_both_families,
    },
    Case {
        name: "ports::the_kernel_tells_duplicates_and_reordering",
        run: ports::the_kernel_tells_duplicates_and_reordering,
    },
    Case {
        name: "ports::a_killed_process_leaves_no_program",
        run: ports::a_killed_process_leaves_no_program,
    },
    Case {
        name: "refusals::what_cannot_be_is_said_before_it_is_tried",
        run: refusals::what_cannot_be_is_said_before_it_is_tried,
    },
    Case {
        name: "refusals::an_interface_with_a_program_is_left_alone",
        run: refusals::an_interface_with_a_program_is_left_alone,
    },
    Case {
        name: "refusals::a_user_namespace_is_named_as_what_forbids_it",
        run: refusals::a_user_namespace_is_named_as_what_forbids_it,
    },
    Case {
        name: "traffic::both_ends_count_the_same_transactions",
        run: traffic::both_ends_count_the_same_transactions,
    },
    Case {
        name: "traffic::every_way_to_wait_and_every_mode_carries_both_workloads",
        run: traffic::every_way_to_wait_and_every_mode_carries_both_workloads,
    },
    Case {
        name: "traffic::a_hundred_thousand_datagrams_all_arrive",
        run: traffic::a_hundred_thousand_datagrams_all_arrive,
    },
    Case {
        name: "traffic::a_drop_list_of_the_link_is_lost_in_the_network",
        run: traffic::a_drop_list_of_the_link_is_lost_in_the_network,
    },
    Case {
        name: "traffic::what_a_slow_receiver_has_no_frames_for_is_lost_at_its_socket",
        run: traffic::what_a_slow_receiver_has_no_frames_for_is_lost_at_its_socket,
    },
    Case {
        name: "traffic::other_traffic_of_the_interface_goes_on",
        run: traffic::other_traffic_of_the_interface_goes_on,
    },
];

fn main() -> ExitCode {
    // This very program, started again by a case of itself.
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next()) {
        (Some(ending::CHILD), Some(address)) => return ending::child(&address),
        (Some(ports::CHILD), Some(address)) => return ports::child(&address, words.next()),
        (Some(refusals::CHILD), _) => return refusals::child(),
        _ => {}
    }
    let may = || {
        let lacking = linerate_sys::privilege::lacking_for_xdp();
        if linerate_sys::privilege::is_in_user_namespace() || !lacking.is_empty() {
            return Err("run as root, outside of user namespaces".to_owned());
        }
        Ok(())
    };
    namespace_main(may, CASES)
}
