//! `ssh://user@host` against a real dropbear whose users have busybox and no privileges: needs user namespaces, so run with
//! `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with other tests of the program")]
#[path = "../shared/run.rs"]
mod run;
mod server;

use linerate_testbed::enter_user_namespace;
use linerate_testkit::disturbance::undisturbed;
use linerate_testkit::namespaces::{Case, Cases, namespace_main, not_run};
use server::Server;
use std::process::ExitCode;

const CASES: &[Case] = &[
    Case {
        name: "an_ordinary_user_is_enough_and_nothing_is_left",
        run: an_ordinary_user_is_enough_and_nothing_is_left,
    },
    Case {
        name: "an_agent_ends_when_its_client_is_killed",
        run: an_agent_ends_when_its_client_is_killed,
    },
    Case {
        name: "an_agent_ends_when_the_connection_is_cut",
        run: an_agent_ends_when_the_connection_is_cut,
    },
    Case {
        name: "the_agent_is_that_of_the_host_s_architecture",
        run: the_agent_is_that_of_the_host_s_architecture,
    },
    Case {
        name: "a_study_that_restarts_has_a_start_for_each_repetition",
        run: a_study_that_restarts_has_a_start_for_each_repetition,
    },
    Case {
        name: "without_sha256sum_the_run_says_so",
        run: without_sha256sum_the_run_says_so,
    },
];

fn main() -> ExitCode {
    let cases = Cases {
        at_once: CASES,
        one_by_one: &[],
    };
    namespace_main(enter_user_namespace, cases)
}

/// A short test; a long one has this at its end.
const TEST: [&str; 6] = ["--rate", "2M", "-t", "1", "--json", "--no-store"];

fn an_ordinary_user_is_enough_and_nothing_is_left() {
    let server = Server::start();
    let measured = undisturbed(|| server.udp("", &TEST));
    let is_disturbed = measured.is_disturbed();
    let ended = measured.value;
    let run = ended.json();
    let packets = |what: &str| run["trials"][0]["packets"][what].as_u64().unwrap();
    let (received, lost) = (packets("received"), packets("lost"));
    assert!(received > 0);
    assert_eq!(received + lost, packets("sent"), "{run}");
    assert!(!ended.out.contains("sha256sum"), "{}", ended.out);
    server.has_no_files();
    server.wait_for_no_agent();
    // Several tests have one agent.
    let ended = server.command("tcp", "", &["--both", "-t", "1", "--no-store"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    server.wait_for_no_agent();
    server.close();
    if lost > 0 && is_disturbed {
        not_run("other programs took the CPU, and datagrams were lost");
    }
    assert_eq!(lost, 0, "{run}");
}

fn an_agent_ends_when_its_client_is_killed() {
    let server = Server::start();
    let client = server.start_test();
    // While it serves, its file is gone already.
    assert!(server.agent().is_some());
    server.has_no_files();
    // Killed, without a chance to say anything to anybody.
    drop(client);
    server.wait_for_no_agent();
    server.has_no_files();
    server.close();
}

fn an_agent_ends_when_the_connection_is_cut() {
    let server = Server::start();
    let client = server.start_test();
    server.cut();
    server.wait_for_no_agent();
    server.has_no_files();
    let ended = client.end();
    assert_eq!(ended.code, Some(5), "{}", ended.err);
    server.close();
}

fn the_agent_is_that_of_the_host_s_architecture() {
    let server = Server::start();
    server.replace(
        "uname",
        "case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac",
    );
    let empty = tempfile::tempdir().unwrap();
    let agents = format!("&agents={}", empty.path().display());
    let ended = server.udp(&agents, &TEST);
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.err.contains("no agent for riscv64"), "{}", ended.err);
    server.wait_for_no_agent();
    server.has_no_files();
    // What is not for that processor does not start there, whatever its file is called.
    std::fs::write(empty.path().join("linerate-riscv64"), "text").unwrap();
    let ended = server.udp(&agents, &TEST);
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.err.contains("is no ELF file"), "{}", ended.err);
    server.close();
}

fn a_study_that_restarts_has_a_start_for_each_repetition() {
    let server = Server::start();
    let cells = "[defaults]\nkind = \"udp\"\nrate = \"2M\"\ntime = \"200ms\"\n[factors]\npayload = [200, 1000]\n";
    for (restart, starts, n) in [(true, 3, "start"), (false, 1, "run")] {
        let study = format!("repetitions = 3\ncontrol = false\nrestart = {restart}");
        let ended = server.study(&study, cells);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let study: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        let repetition = &study["study_findings"]["repetition"];
        assert_eq!(repetition["starts"], starts, "{repetition}");
        assert_eq!(repetition["level"], n);
        let mean = &study["estimates"][0];
        assert_eq!(mean["estimate"]["n"], 3, "{mean}");
        server.wait_for_no_agent();
        server.has_no_files();
    }
    server.close();
}

fn without_sha256sum_the_run_says_so() {
    let server = Server::start();
    server.remove("sha256sum");
    let ended = server.udp("", &TEST);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("by its length only"), "{}", ended.out);
    server.has_no_files();
    server.close();
}
