//! That a mesh finds the link between two switches: once, and how often, and how often one that is not there, in 20 times
//! each. A mesh takes some ten minutes. Needs user namespaces, `ip` and `tc`, so run with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

mod links;
#[path = "../mesh/switches.rs"]
mod switches;

use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main};
use std::process::ExitCode;
use switches::Between;

const TIMES: u64 = 20;

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
];

fn main() -> ExitCode {
    namespace_main(enter_user_namespace, CASES)
}

fn the_link_that_two_switches_share_is_found() {
    let report = switches::mesh(Between::Shaped, 8, 0);
    assert!(links::found(&report) > 0, "{}", links::shown(&report));
}

fn the_link_is_found_in_nineteen_of_twenty() {
    let mut failures = Vec::new();
    for seed in 0..TIMES {
        let report = switches::mesh(Between::Shaped, 8, seed);
        if links::found(&report) < 2 || report.links.len() > 2 {
            failures.push(links::shown(&report));
        }
    }
    assert!(failures.len() < 2, "{}", failures.join("\n"));
}

fn nothing_is_found_in_twenty_without_it() {
    for seed in 0..TIMES {
        let report = switches::mesh(Between::Unshaped, 8, seed);
        assert!(report.links.is_empty(), "{}", links::shown(&report));
    }
}
