//! Eight hosts on two switches: what a mesh finds of the link between them. Needs user namespaces, `ip` and `tc`, so run
//! with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

mod switches;

use linerate_model::mesh::{FlowStanding, LinkCertainty, MeshReport, SharedPlace};
use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;
use switches::Between;

const CASES: &[Case] = &[
    Case {
        name: "a_link_between_two_switches_is_found_with_its_capacity",
        run: a_link_between_two_switches_is_found_with_its_capacity,
    },
    Case {
        name: "without_it_nothing_is_found",
        run: without_it_nothing_is_found,
    },
    Case {
        name: "a_host_that_is_away_is_named_and_the_rest_goes_on",
        run: a_host_that_is_away_is_named_and_the_rest_goes_on,
    },
];

fn main() -> ExitCode {
    namespace_main(enter_user_namespace, CASES)
}

/// Hosts below four are on the first switch.
const fn crosses((from, to): (usize, usize)) -> bool {
    (from < 4) != (to < 4)
}

fn all_measured(report: &MeshReport) {
    assert_eq!(report.flows.len(), 56, "{:?}", report.notes);
    for flow in &report.flows {
        assert_ne!(flow.standing, FlowStanding::Failed, "{flow:?}");
    }
}

fn a_link_between_two_switches_is_found_with_its_capacity() {
    let report = switches::mesh(Between::Shaped, 8);
    all_measured(&report);
    let links = &report.links;
    assert!(!links.is_empty(), "{:?} {:?}", report.notes, report.crowds);
    for link in links {
        assert!(link.flows.iter().copied().all(crosses), "{link:?}");
        assert_eq!(link.certainty, LinkCertainty::Proven, "{link:?}");
        assert_eq!(link.place, SharedPlace::Network, "{link:?}");
        // 20 Mbit/s of frames are 1448 bytes of payload in each 1514.
        let truth = 20e6 * 1448.0 / 1514.0;
        let error = link.capacity.point / truth - 1.0;
        assert!(error.abs() <= 0.05, "{error}: {link:?}");
    }
}

fn without_it_nothing_is_found() {
    let report = switches::mesh(Between::Unshaped, 8);
    all_measured(&report);
    assert!(report.links.is_empty(), "{:?}", report.links);
}

fn a_host_that_is_away_is_named_and_the_rest_goes_on() {
    let report = switches::mesh(Between::Unshaped, 7);
    let is_away = |flow: (usize, usize)| flow.0 == 7 || flow.1 == 7;
    for flow in &report.flows {
        let failed = flow.standing == FlowStanding::Failed;
        assert_eq!(failed, is_away((flow.from, flow.to)), "{flow:?}");
    }
    let named = |note: &String| note.contains("host h7 is away");
    assert!(report.notes.iter().any(named), "{:?}", report.notes);
}
