//! The loss ledger against counters that linerate does not read: needs user namespaces, `nft`, `tc`
//! and `ip`, so run with `--ignored`.
//!
//! Each case makes drops at known places and asks whoever dropped them how many it was: a packet
//! filter's counter, `tc -s`, the link element's list, `/proc`. The ledger must say exactly that.
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "the figures are part of the result")]

mod bench;
mod connections;
mod flows;
mod many;
mod places;
mod together;

use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;

macro_rules! cases {
    ($($room:ident::$name:ident),+ $(,)?) => {
        &[$(Case { name: concat!(stringify!($room), "::", stringify!($name)), run: $room::$name }),+]
    };
}

const CASES: &[Case] = cases![
    places::at_the_sending_socket,
    places::in_the_sending_queue,
    places::at_the_sending_interface,
    places::in_the_network,
    places::at_the_receiving_interface,
    places::at_the_receiving_socket,
    places::at_the_receiving_socket_in_runs,
    many::of_a_thousand_at_the_sending_socket,
    many::of_a_thousand_from_the_server,
    many::of_ten_thousand,
    connections::counted_by_both_kernels,
    connections::dropped_handshakes_time_out,
    connections::a_range_of_ports_is_used_up,
    flows::all_finish,
    flows::take_what_a_shaped_path_makes_them_take,
    flows::that_cannot_begin_are_unfinished,
    together::in_the_queue_and_in_the_network,
    together::at_the_socket_the_queue_and_the_network,
    together::at_both_sockets_and_in_the_network,
    together::what_another_socket_drops_is_not_claimed,
    together::what_another_flow_loses_at_the_sender_is_not_claimed,
    together::what_the_system_refuses_is_not_loss,
];

fn main() -> ExitCode {
    namespace_main(enter_user_namespace, CASES)
}
