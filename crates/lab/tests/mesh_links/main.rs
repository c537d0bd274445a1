//! That a mesh finds the link between two switches: once, and how often, and how often one that is not there, in 20 times
//! each; and what is called a link that is none. A mesh takes some ten minutes, ten are made at once. Needs user
//! namespaces, `ip`, `tc` and `nft`, so run with `--ignored`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test, whose figures are kept"
)]

mod links;
#[path = "../mesh/switches.rs"]
mod switches;

use linerate_model::mesh::{LinkCertainty, MeshFlow, MeshReport, SharedLink};
use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, at_once, namespace_main};
use std::process::ExitCode;
use std::time::Duration;
use switches::Scene;

const TIMES: u64 = 20;

/// Meshes at once: all of them together carry some hundred Mbit/s.
const SIDE_BY_SIDE: usize = 10;

/// Of 20 Mbit/s each way. Segments as large as a queue of packets takes, so that the shaper counts what a wire would.
const SHAPED: Scene = Scene {
    between: "for end in over back; do\n\
        ip link set $end gso_max_size 1514 gso_max_segs 1\n\
        tc qdisc add dev $end root tbf rate 20mbit burst 8kb latency 60ms\n\
        done\n",
    ..Scene::UNSHAPED
};

/// What is no shared link, or not one link, by name.
const TRAPS: [(&str, Scene); 4] = [
    (
        "two links, and a flow's ports decide over which it goes",
        ECMP,
    ),
    ("hosts that are slow by themselves", SLOW_HOSTS),
    ("a link that loses every hundredth packet", LOSSY),
    ("a round trip of 20 ms between the switches", FAR),
];

/// Two links of 20 Mbit/s each way, each with a queue of 60 ms.
const ECMP: Scene = Scene {
    between: "nft add table bridge ecmp\n\
        nft add chain bridge ecmp out '{ type filter hook postrouting priority 0; }'\n\
        nft add rule bridge ecmp out meta priority set \
        jhash tcp sport . tcp dport mod 2 map '{ 0 : 1:1, 1 : 1:2 }'\n\
        for end in over back; do\n\
        ip link set $end gso_max_size 1514 gso_max_segs 1\n\
        tc qdisc add dev $end root handle 1: htb default 1\n\
        for class in 1:1 1:2; do\n\
        tc class add dev $end parent 1: classid $class htb rate 20mbit ceil 20mbit quantum 1514\n\
        tc qdisc add dev $end parent $class bfifo limit 150kb\n\
        done\n\
        done\n",
    ..Scene::UNSHAPED
};

const SLOW_HOSTS: Scene = Scene {
    host_mbit: [10, 3, 10, 5, 4, 10, 10, 2],
    ..Scene::UNSHAPED
};

const LOSSY: Scene = Scene {
    between: "nft add table bridge lossy\n\
        nft add chain bridge lossy pass '{ type filter hook forward priority 0; }'\n\
        nft add rule bridge lossy pass oifname { over, back } numgen random mod 100 == 0 drop\n",
    ..Scene::UNSHAPED
};

const FAR: Scene = Scene {
    delay: Duration::from_millis(10),
    ..Scene::UNSHAPED
};

const CASES: &[Case] = &[
    Case {
        name: "the_link_that_two_switches_share_is_found",
        run: the_link_that_two_switches_share_is_found,
    },
    Case {
        name: "the_link_is_found_in_nineteen_of_twenty",
        run: the_link_is_found_in_nineteen_of_twenty,
    },
    Case {
        name: "nothing_is_found_in_twenty_without_it",
        run: nothing_is_found_in_twenty_without_it,
    },
    Case {
        name: "what_is_no_shared_link_is_not_called_one",
        run: what_is_no_shared_link_is_not_called_one,
    },
];

fn main() -> ExitCode {
    namespace_main(enter_user_namespace, CASES)
}

fn the_link_that_two_switches_share_is_found() {
    let report = switches::mesh(SHAPED, 8, 0);
    assert!(links::found(&report) > 0, "{}", links::shown(&report));
    // Apart, each pair carries what its hosts do.
    let over = |flow: &&MeshFlow| links::pass(&report, (flow.from, flow.to));
    for flow in report.flows.iter().filter(over) {
        let received = flow.received.as_ref().unwrap().point;
        assert!(received > 8e6, "{flow:?}\n{}", links::shown(&report));
    }
}

fn the_link_is_found_in_nineteen_of_twenty() {
    let failures = failures(SHAPED, |report| {
        links::found(report) < 2 || report.links.len() > 2
    });
    assert!(failures.len() < 2, "{}", failures.join("\n"));
}

fn nothing_is_found_in_twenty_without_it() {
    let failures = failures(Scene::UNSHAPED, |report| !report.links.is_empty());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn what_is_no_shared_link_is_not_called_one() {
    let reports = at_once(TRAPS, |(name, scene)| (name, switches::mesh(scene, 8, 0)));
    let mut wrong = Vec::new();
    for (name, report) in reports {
        println!("{name}: {:?}", report.links);
        let proven = |link: &SharedLink| link.certainty == LinkCertainty::Proven;
        if report.links.iter().any(proven) {
            wrong.push(format!("{name}: {}", links::shown(&report)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Reports of the meshes of [`TIMES`] of which `is_wrong` says so; prints what each found, in Mbit/s.
fn failures(scene: Scene, is_wrong: fn(&MeshReport) -> bool) -> Vec<String> {
    let seeds: Vec<u64> = (0..TIMES).collect();
    let some = seeds.chunks(SIDE_BY_SIDE);
    let reports = some.flat_map(|some| at_once(some, |seed| switches::mesh(scene, 8, *seed)));
    let wrong = reports.inspect(|report| {
        let found = report
            .links
            .iter()
            .map(|link| (link.certainty, link.capacity.point / 1e6));
        println!("{:.2?}", found.collect::<Vec<_>>());
        if is_wrong(report) {
            println!("{}", links::shown(report));
        }
    });
    let wrong = wrong.filter(is_wrong);
    wrong.map(|report| links::shown(&report)).collect()
}
