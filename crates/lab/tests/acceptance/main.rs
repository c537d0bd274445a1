//! What linerate says of hosts and links whose truth is known: needs user namespaces, so run with
//! `--ignored`.
//!
//! Nothing here is timed: bounds are compared with the link element's own rate, losses with its own
//! list, places with the kernel's own counters.
#![expect(clippy::unwrap_used, reason = "a test")]

mod bench_rig;
mod doctor;
mod ledger;
mod open_loop;
mod profile;
mod proof;
mod search;

use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, Cases, namespace_main};
use std::process::ExitCode;

/// Proofs over links of 20 Mbit/s, or with so small a window: all of them together leave most of two cores idle.
const AT_ONCE: &[Case] = &[
    Case {
        name: "datagrams_above_a_shaped_link_are_confirmed",
        run: proof::datagrams_above_a_shaped_link_are_confirmed,
    },
    Case {
        name: "tcp_that_fills_a_shaped_link_is_confirmed",
        run: proof::tcp_that_fills_a_shaped_link_is_confirmed,
    },
    Case {
        name: "a_small_window_is_confirmed",
        run: proof::a_small_window_is_confirmed,
    },
    Case {
        name: "a_false_verdict_is_refuted",
        run: proof::a_false_verdict_is_refuted,
    },
];

const ONE_BY_ONE: &[Case] = &[
    Case {
        name: "tcp_and_udp_both_ways_and_at_once",
        run: ledger::tcp_and_udp_both_ways_and_at_once,
    },
    Case {
        name: "a_drop_list_is_lost_to_the_packet",
        run: ledger::a_drop_list_is_lost_to_the_packet,
    },
    Case {
        name: "a_lost_tail_is_lost",
        run: ledger::a_lost_tail_is_lost,
    },
    Case {
        name: "a_slow_reader_overflows_its_socket",
        run: ledger::a_slow_reader_overflows_its_socket,
    },
    Case {
        name: "the_bounds_hold_the_link_capacity",
        run: search::the_bounds_hold_the_link_capacity,
    },
    Case {
        name: "the_saturation_on_the_page_of_a_sweep_is_that_of_the_search",
        run: search::the_saturation_on_the_page_of_a_sweep_is_that_of_the_search,
    },
    Case {
        name: "a_starved_sender_is_the_limit_and_not_loss",
        run: search::a_starved_sender_is_the_limit_and_not_loss,
    },
    Case {
        name: "both_ends_profile_themselves_or_say_what_would_let_them",
        run: profile::both_ends_profile_themselves_or_say_what_would_let_them,
    },
    Case {
        name: "without_observing_a_trial_has_its_rates_alone",
        run: profile::without_observing_a_trial_has_its_rates_alone,
    },
    Case {
        name: "a_stall_shows_in_an_open_loop_and_not_in_a_closed_one",
        run: open_loop::a_stall_shows_in_an_open_loop_and_not_in_a_closed_one,
    },
    Case {
        name: "the_curve_holds_the_capacity_of_a_link",
        run: open_loop::the_curve_holds_the_capacity_of_a_link,
    },
    Case {
        name: "round_trips_per_minute_are_those_of_the_path_and_its_queue",
        run: open_loop::round_trips_per_minute_are_those_of_the_path_and_its_queue,
    },
    Case {
        name: "a_queueing_discipline_with_its_parameters_comes_back",
        run: doctor::a_queueing_discipline_with_its_parameters_comes_back,
    },
    Case {
        name: "a_sysctl_of_the_namespace_comes_back",
        run: doctor::a_sysctl_of_the_namespace_comes_back,
    },
    Case {
        name: "coalescing_comes_back",
        run: doctor::coalescing_comes_back,
    },
    Case {
        name: "chains_of_a_firewall_are_seen",
        run: doctor::chains_of_a_firewall_are_seen,
    },
];

fn main() -> ExitCode {
    let cases = Cases {
        at_once: AT_ONCE,
        one_by_one: ONE_BY_ONE,
    };
    namespace_main(enter_user_namespace, cases)
}
