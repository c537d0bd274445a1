//! Devices under test on the real kernel: what each forwards, counts and drops, and that it leaves nothing behind.
//! Run as root with `--ignored`: user namespaces cannot load XDP programs, and some devices are programs that want root.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test, whose figures are kept"
)]

mod command;
mod conformance;
mod endings;
mod filters;
mod frames;
mod headers;
mod links;
mod mesh;
mod methods;
mod p4runtime;
mod proof;
mod reliefs;
mod stages;
mod truth;
mod two_hosts;

use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case {
        name: "command::the_counters_of_every_device_equal_the_ledger_and_the_warm_up",
        run: command::the_counters_of_every_device_equal_the_ledger_and_the_warm_up,
    },
    Case {
        name: "command::the_rate_of_a_link_is_found_and_its_drops_are_placed",
        run: command::the_rate_of_a_link_is_found_and_its_drops_are_placed,
    },
    Case {
        name: "command::a_mix_of_frame_lengths_fills_a_link",
        run: command::a_mix_of_frame_lengths_fills_a_link,
    },
    Case {
        name: "command::a_device_without_counters_is_named_with_how_it_drops",
        run: command::a_device_without_counters_is_named_with_how_it_drops,
    },
    Case {
        name: "command::what_a_router_writes_into_a_frame_is_in_no_other",
        run: command::what_a_router_writes_into_a_frame_is_in_no_other,
    },
    Case {
        name: "command::what_a_device_drops_by_number_is_its_loss",
        run: command::what_a_device_drops_by_number_is_its_loss,
    },
    Case {
        name: "headers::frames_with_any_headers_are_counted_by_every_generator",
        run: headers::frames_with_any_headers_are_counted_by_every_generator,
    },
    Case {
        name: "headers::both_ways_at_once_are_counted_apart",
        run: headers::both_ways_at_once_are_counted_apart,
    },
    Case {
        name: "headers::a_mix_behind_headers_is_counted_at_its_places",
        run: headers::a_mix_behind_headers_is_counted_at_its_places,
    },
    Case {
        name: "headers::a_tag_that_a_bridge_takes_off_is_no_matter",
        run: headers::a_tag_that_a_bridge_takes_off_is_no_matter,
    },
    Case {
        name: "headers::a_tag_that_a_switch_takes_off_or_puts_on_is_no_matter",
        run: headers::a_tag_that_a_switch_takes_off_or_puts_on_is_no_matter,
    },
    Case {
        name: "headers::long_frames_are_counted_or_refused_with_the_way_that_makes_them",
        run: headers::long_frames_are_counted_or_refused_with_the_way_that_makes_them,
    },
    Case {
        name: "headers::a_template_goes_before_number_and_time",
        run: headers::a_template_goes_before_number_and_time,
    },
    Case {
        name: "headers::a_router_is_found_by_arp_and_by_neighbour_discovery",
        run: headers::a_router_is_found_by_arp_and_by_neighbour_discovery,
    },
    Case {
        name: "headers::an_address_that_nobody_has_is_told_with_what_was_asked",
        run: headers::an_address_that_nobody_has_is_told_with_what_was_asked,
    },
    Case {
        name: "links::both_bounds_hold_the_rate_of_any_link",
        run: links::both_bounds_hold_the_rate_of_any_link,
    },
    Case {
        name: "methods::the_queue_of_a_link_is_its_longest_burst",
        run: methods::the_queue_of_a_link_is_its_longest_burst,
    },
    Case {
        name: "methods::a_link_loses_what_is_above_its_rate",
        run: methods::a_link_loses_what_is_above_its_rate,
    },
    Case {
        name: "methods::a_bridge_learns_as_many_addresses_as_it_may",
        run: methods::a_bridge_learns_as_many_addresses_as_it_may,
    },
    Case {
        name: "methods::a_bridge_that_does_not_learn_has_no_learning_rate",
        run: methods::a_bridge_that_does_not_learn_has_no_learning_rate,
    },
    Case {
        name: "methods::a_soak_tells_what_is_lost_and_when",
        run: methods::a_soak_tells_what_is_lost_and_when,
    },
    Case {
        name: "methods::a_cache_of_flows_is_found_with_its_size",
        run: methods::a_cache_of_flows_is_found_with_its_size,
    },
    Case {
        name: "methods::the_critical_load_of_a_link_is_below_its_rate",
        run: methods::the_critical_load_of_a_link_is_below_its_rate,
    },
    Case {
        name: "methods::the_outage_of_a_link_is_its_reset_time",
        run: methods::the_outage_of_a_link_is_its_reset_time,
    },
    Case {
        name: "methods::a_bridge_forwards_again_after_a_reset",
        run: methods::a_bridge_forwards_again_after_a_reset,
    },
    Case {
        name: "methods::a_restart_is_timed_and_its_losses_have_a_place",
        run: methods::a_restart_is_timed_and_its_losses_have_a_place,
    },
    Case {
        name: "proof::a_device_is_proved_by_a_wire_and_by_less_work",
        run: proof::a_device_is_proved_by_a_wire_and_by_less_work,
    },
    Case {
        name: "proof::a_device_that_drops_is_proved_by_a_wire",
        run: proof::a_device_that_drops_is_proved_by_a_wire,
    },
    Case {
        name: "reliefs::what_relieves_a_device_is_undone",
        run: reliefs::what_relieves_a_device_is_undone,
    },
    Case {
        name: "reliefs::a_device_forwards_on_the_core_that_it_is_given",
        run: reliefs::a_device_forwards_on_the_core_that_it_is_given,
    },
    Case {
        name: "reliefs::a_device_is_offered_a_core_beside_pinned_threads",
        run: reliefs::a_device_is_offered_a_core_beside_pinned_threads,
    },
    Case {
        name: "reliefs::the_cost_of_a_devices_work_is_what_the_kernel_counts",
        run: reliefs::the_cost_of_a_devices_work_is_what_the_kernel_counts,
    },
    Case {
        name: "p4runtime::a_switch_that_runs_is_set_up_and_its_counters_are_read",
        run: p4runtime::a_switch_that_runs_is_set_up_and_its_counters_are_read,
    },
    Case {
        name: "stages::stages_are_parts_of_the_whole_delay",
        run: stages::stages_are_parts_of_the_whole_delay,
    },
    Case {
        name: "conformance::every_device_forwards_both_ways_and_counts_every_frame",
        run: conformance::every_device_forwards_both_ways_and_counts_every_frame,
    },
    Case {
        name: "conformance::every_device_that_is_reset_forwards_again",
        run: conformance::every_device_that_is_reset_forwards_again,
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
    Case {
        name: "filters::each_rule_set_is_passed_to_its_last_rule",
        run: filters::each_rule_set_is_passed_to_its_last_rule,
    },
    Case {
        name: "filters::what_a_rule_blocks_is_counted_at_the_filter",
        run: filters::what_a_rule_blocks_is_counted_at_the_filter,
    },
    Case {
        name: "filters::connections_are_tracked_and_addresses_rewritten",
        run: filters::connections_are_tracked_and_addresses_rewritten,
    },
    Case {
        name: "filters::a_routing_daemon_gives_the_routes_and_may_restart",
        run: filters::a_routing_daemon_gives_the_routes_and_may_restart,
    },
    Case {
        name: "filters::a_container_has_the_address_of_its_host_outside",
        run: filters::a_container_has_the_address_of_its_host_outside,
    },
    Case {
        name: "truth::every_nth_frame_is_dropped_and_counted",
        run: truth::every_nth_frame_is_dropped_and_counted,
    },
    Case {
        name: "truth::a_generic_program_forwards_too",
        run: truth::a_generic_program_forwards_too,
    },
    Case {
        name: "truth::a_list_of_the_link_is_dropped_to_the_frame",
        run: truth::a_list_of_the_link_is_dropped_to_the_frame,
    },
    Case {
        name: "truth::a_queue_that_is_full_is_the_place",
        run: truth::a_queue_that_is_full_is_the_place,
    },
    Case {
        name: "truth::a_parameter_that_is_wrong_is_named",
        run: truth::a_parameter_that_is_wrong_is_named,
    },
    Case {
        name: "truth::a_poll_mode_driver_over_af_xdp_forwards_too",
        run: truth::a_poll_mode_driver_over_af_xdp_forwards_too,
    },
    Case {
        name: "truth::every_loss_at_overload_has_a_place",
        run: truth::every_loss_at_overload_has_a_place,
    },
    Case {
        name: "mesh::every_port_sends_to_all_others_and_each_frame_is_counted",
        run: mesh::every_port_sends_to_all_others_and_each_frame_is_counted,
    },
    Case {
        name: "mesh::what_is_lost_between_two_ports_is_theirs_alone",
        run: mesh::what_is_lost_between_two_ports_is_theirs_alone,
    },
    Case {
        name: "mesh::what_two_ports_have_alone_is_refused",
        run: mesh::what_two_ports_have_alone_is_refused,
    },
    Case {
        name: "two_hosts::the_ledger_is_exact_and_the_clocks_error_is_told",
        run: two_hosts::the_ledger_is_exact_and_the_clocks_error_is_told,
    },
    Case {
        name: "two_hosts::frames_of_two_kernels_are_counted_and_neighbours_found",
        run: two_hosts::frames_of_two_kernels_are_counted_and_neighbours_found,
    },
    Case {
        name: "two_hosts::a_kernel_with_another_clock_counts_no_frames",
        run: two_hosts::a_kernel_with_another_clock_counts_no_frames,
    },
    Case {
        name: "two_hosts::a_host_that_refuses_or_has_no_such_port_is_told",
        run: two_hosts::a_host_that_refuses_or_has_no_such_port_is_told,
    },
    Case {
        name: "endings::a_killed_process_leaves_nothing",
        run: endings::a_killed_process_leaves_nothing,
    },
    Case {
        name: "endings::a_program_that_dies_is_told_with_its_last_words",
        run: endings::a_program_that_dies_is_told_with_its_last_words,
    },
    Case {
        name: "endings::what_is_missing_is_said_with_its_package",
        run: endings::what_is_missing_is_said_with_its_package,
    },
];

fn main() -> ExitCode {
    // This very program, started again by a case of itself.
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next()) {
        (Some(endings::HOLD), Some(kind)) => return endings::hold(&kind),
        (Some(two_hosts::AGENT), Some(consent)) => return two_hosts::serve(&consent),
        _ => {}
    }
    let may = || {
        if linerate_sys::netns::is_fully_privileged() {
            return Ok(());
        }
        Err("run as root, outside of user namespaces")
    };
    namespace_main(may, CASES)
}
