//! A container's network, as container engines make it: a bridge with one end of a veth pair, masquerade on the way out,
//! and a published port by DNAT.
//!
//! ```text
//!   host A, outside ──── to-a [ the engine's host ] ctr0 ── to-b ──── host B, the container
//! ```

use crate::bench::{Bench, lasting};
use linerate_agent::{AgentPlan, DataPorts};
use linerate_model::BitRate;
use linerate_model::spec::{Direction, Pace, TestSpec, Transport};
use linerate_testbed::{HostId, Link};

/// The engine's host on the link outside, and in the container's network.
const OUTSIDE: &str = "10.77.1.1";
const GATEWAY: &str = "10.77.1.2";
const CONTAINER: &str = "10.77.0.2";

/// Puts the leg to the container into a bridge, and sets its rules: `-p PORT:PORT -p PORT:PORT/udp`.
fn containers(leg: &str, outside: &str, port: u16) -> String {
    let (own, container) = match leg {
        "to-b" => (GATEWAY, CONTAINER),
        _ => (OUTSIDE, "10.77.0.1"),
    };
    format!(
        "mac=$(ip -br link show {leg} | awk '{{print $3}}')
         far=$(ip neigh show {container} dev {leg} | awk '{{print $3}}')
         ip link add ctr0 type bridge
         ip link set ctr0 address $mac
         ip addr flush dev {leg}
         ip link set {leg} master ctr0
         bridge link set dev {leg} hairpin on
         ip addr add {own} peer {container}/32 dev ctr0
         ip link set ctr0 up
         ip neigh replace {container} lladdr $far dev ctr0
         echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
         nft 'add table ip nat
              add chain ip nat pre {{ type nat hook prerouting priority -100; }}
              add chain ip nat post {{ type nat hook postrouting priority 100; }}
              add rule ip nat pre fib daddr type local meta l4proto {{ tcp, udp }} th dport {port} dnat to {container}
              add rule ip nat post ip saddr {container} ip daddr {container} masquerade
              add rule ip nat post oifname {outside} ip saddr {container} masquerade
              add table ip filter
              add chain ip filter through {{ type filter hook forward priority 0; policy drop; }}
              add rule ip filter through ct state established,related accept
              add rule ip filter through iifname ctr0 accept
              add rule ip filter through ct status dnat accept'"
    )
}

fn tests() -> Vec<TestSpec> {
    let udp = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(5_000_000)));
    let mut tests = vec![
        TestSpec::ping_pong(Transport::Udp),
        TestSpec::ping_pong(Transport::Tcp),
    ];
    for work in [udp, TestSpec::tcp_bulk()] {
        for direction in [Direction::Forward, Direction::Reverse, Direction::Duplex] {
            tests.push(TestSpec {
                direction,
                ..work.clone()
            });
        }
    }
    tests
}

fn bench() -> Bench {
    let plan = AgentPlan {
        data_ports: DataPorts::OfControl,
        ..AgentPlan::private()
    };
    Bench::over(Link::Routed { mtu: 1500 }, plan)
}

/// Each test from a host to an address carries bytes, and loses none of its datagrams.
fn all_are_carried(bench: &Bench, on: HostId, to: &str) {
    let to = format!("{to}:{}", bench.port());
    for spec in tests() {
        let (run, _) = bench
            .client(on, &to, &lasting(0.3, spec.clone()))
            .join()
            .unwrap();
        let run = run.unwrap_or_else(|error| panic!("{to}, {spec:?}: {error:#}"));
        for trial in &run.trials {
            assert!(trial.valid, "{to}, {spec:?}: {:?}", trial.reasons);
            let lost = trial.loss_ratio().map_or(0.0, linerate_model::Ratio::get);
            assert!(lost < 0.05, "{to}, {spec:?}: {lost}");
        }
    }
}

pub(crate) fn a_server_in_a_container_is_reached_by_its_published_port() {
    let bench = bench();
    bench.route(&containers("to-b", "to-a", bench.port()));
    // Outside knows the engine's host alone.
    bench.shell(
        HostId::A,
        &format!("ip route add {OUTSIDE}/32 via 10.77.0.2"),
    );
    all_are_carried(&bench, HostId::A, OUTSIDE);
    bench.close();
}

/// A container that asks for the published port of its own host: what it sends comes back to its network.
pub(crate) fn a_published_port_is_reached_from_its_own_network() {
    let bench = bench();
    bench.route(&containers("to-b", "to-a", bench.port()));
    bench.shell(
        HostId::B,
        &format!("for to in {OUTSIDE} {GATEWAY}; do ip route add $to/32 via 10.77.0.1; done"),
    );
    all_are_carried(&bench, HostId::B, OUTSIDE);
    bench.close();
}

/// The client is in the container, and the server sees the engine's host.
pub(crate) fn a_client_in_a_container_reaches_a_server_outside() {
    let bench = bench();
    bench.route(&containers("to-a", "to-b", bench.port()));
    bench.shell(
        HostId::B,
        &format!("ip route add {GATEWAY}/32 via 10.77.0.1"),
    );
    all_are_carried(&bench, HostId::A, CONTAINER);
    bench.close();
}
