//! linerate and other tools, in both roles, over loopback: what one end counted is what the other says.
//!
//! Every cell of {our client, our server} × {TCP, UDP} × {normal, reverse, both ways} × {IPv4, IPv6}, each
//! with two streams. Rates are low, so that no buffer is ever full: a datagram or byte that is missing was
//! miscounted. False alarms need a program that is kept from running for 150 ms at the end of a test.

mod iperf2;
mod matrix;
mod sfnt;
mod together;

use linerate_model::spec::Transport::{self, Tcp, Udp};
use matrix::{Cell, Role, Way, measure};

/// The tool as Debian installs it (ci/packages).
const IPERF3: &str = "iperf3";

#[track_caller]
fn agree(role: Role, transport: Transport, way: Way) {
    for is_v6 in [false, true] {
        let cell = Cell {
            role,
            transport,
            way,
            is_v6,
        };
        let counts = measure(IPERF3, cell).unwrap_or_else(|error| panic!("{cell:?}: {error}"));
        for count in counts {
            assert!(count.agrees(), "{cell:?}: {count:?}");
        }
    }
}

macro_rules! cells {
    ($($name:ident: $role:ident $transport:ident $way:ident;)*) => {
        $(#[test]
        fn $name() {
            agree(Role::$role, $transport, Way::$way);
        })*
    };
}

cells! {
    client_tcp_normal: Client Tcp Normal;
    client_tcp_reverse: Client Tcp Reverse;
    client_tcp_both_ways: Client Tcp Both;
    client_udp_normal: Client Udp Normal;
    client_udp_reverse: Client Udp Reverse;
    client_udp_both_ways: Client Udp Both;
    server_tcp_normal: Server Tcp Normal;
    server_tcp_reverse: Server Tcp Reverse;
    server_tcp_both_ways: Server Tcp Both;
    server_udp_normal: Server Udp Normal;
    server_udp_reverse: Server Udp Reverse;
    server_udp_both_ways: Server Udp Both;
}
