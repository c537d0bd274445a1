//! Eight hosts on two switches: that a mesh of them is measured, and that no link is made up. Needs user namespaces, `ip` and
//! `tc`, so run with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

mod switches;

use linerate_model::mesh::{FlowStanding, MeshReport};
use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;
use switches::Scene;

const CASES: &[Case] = &[
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

fn all_measured(report: &MeshReport) {
    assert_eq!(report.flows.len(), 56, "{:?}", report.notes);
    for flow in &report.flows {
        assert_ne!(flow.standing, FlowStanding::Failed, "{flow:?}");
    }
}

fn without_it_nothing_is_found() {
    let report = switches::mesh(Scene::UNSHAPED, 8, 0);
    all_measured(&report);
    assert!(report.links.is_empty(), "{:?}", report.links);
}

fn a_host_that_is_away_is_named_and_the_rest_goes_on() {
    let report = switches::mesh(Scene::UNSHAPED, 7, 0);
    let is_away = |flow: (usize, usize)| flow.0 == 7 || flow.1 == 7;
    for flow in &report.flows {
        let failed = flow.standing == FlowStanding::Failed;
        assert_eq!(failed, is_away((flow.from, flow.to)), "{flow:?}");
    }
    let named = |note: &String| note.contains("host h7 is away");
    assert!(report.notes.iter().any(named), "{:?}", report.notes);
}
