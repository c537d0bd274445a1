//! `linerate p4 cost` as a user meets it. Figures are of a program without optimisation here: what holds of any.

use linerate_p4::Program;
use linerate_p4_runtime::check_p4info;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

fn cost(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate-p4"));
    command
        .arg("cost")
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn the_conclusion_comes_first_and_every_factor_has_its_line() {
    let found = cost(&[
        "--quick",
        "--factor",
        "parse-header",
        "--factor",
        "checksum",
    ]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let said = text(&found.stdout);
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("One core carries "), "{said}");
    assert!(lines[1].starts_with("Dearest: checksum "), "{said}");
    assert!(
        lines.iter().any(|line| line.starts_with("parse-header ")),
        "{said}"
    );
    let checksum = lines
        .iter()
        .find(|line| line.starts_with("checksum "))
        .expect("its line");
    assert!(
        checksum.contains("304 (1 call)") && checksum.contains('['),
        "{said}"
    );
}

#[test]
fn json_has_every_turn_and_what_follows_of_it() {
    let found = cost(&["--quick", "--json", "--factor", "masks-last"]);
    let document: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    assert_eq!(document["kind"], "linerate/p4-cost/1");
    let factor = &document["factors"][0];
    let levels = factor["levels"].as_array().expect("levels");
    assert_eq!(levels.len(), 6);
    assert!(
        levels
            .iter()
            .all(|level| level["turns_packet_ns"].as_array().map(Vec::len) == Some(10))
    );
    let each = &factor["each_ns"];
    let [low, point, high] =
        ["low", "point", "high"].map(|key| each[key].as_f64().expect("a number"));
    assert!(
        0.0 < low && low <= point && point <= high,
        "a mask that is tried takes time: {each}"
    );
    assert_eq!(each["n"], 5);
}

#[test]
fn programs_can_be_written_for_other_targets() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("programs");
    let written = cost(&[
        "--quick",
        "--factor",
        "counter",
        "--write",
        &path.to_string_lossy(),
    ]);
    assert!(
        text(&written.stdout).starts_with("6 programs in "),
        "{}",
        text(&written.stderr)
    );
    let read = |name: &str| std::fs::read(path.join(name)).expect("a file");
    let program = Program::from_json(&read("counter-16.json")).expect("a program that loads");
    check_p4info(&program, &read("counter-16.p4info.txt")).expect("its P4Info");
    assert!(text(&read("counter-16.stf")).contains("expect 1\n"));
}

#[test]
fn an_unknown_factor_is_refused_and_the_known_ones_are_listed() {
    let refused = cost(&["--factor", "teleport"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--factor list"));
    let listed = cost(&["--factor", "list"]);
    assert!(
        text(&listed.stdout)
            .lines()
            .any(|line| line.starts_with("recirculate "))
    );
}

/// A shell of this host stands in for that of another one.
#[test]
fn another_host_s_costs_are_measured_there_and_told_beside_those_here() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ssh = folder.path().join("ssh");
    let script = "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n";
    std::fs::write(&ssh, script).expect("a file");
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o700)).expect("its mode");
    let there = folder.path().join("there");
    std::fs::create_dir(&there).expect("a folder");
    let measured = Command::new(env!("CARGO_BIN_EXE_linerate-p4"))
        .args(["cost", "--quick", "--json", "--factor", "masks-last"])
        .args(["--factor", "checksum", "--on", "ssh://switch.example"])
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
        .env("TMPDIR", &there)
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .expect("the program starts");
    let error = text(&measured.stderr);
    assert_eq!(measured.status.code(), Some(0), "{error}");
    let document: Value = serde_json::from_slice(&measured.stdout).expect("JSON");
    assert_eq!(document["factors"].as_array().map(Vec::len), Some(2));
    let mut left = std::fs::read_dir(&there).expect("the folder");
    assert!(left.next().is_none(), "something is left there");

    let costs = folder.path().join("costs.json");
    std::fs::write(&costs, &measured.stdout).expect("a file");
    let costs = costs.to_string_lossy();
    let beside = ["--quick", "--factor", "masks-last", "--beside", &costs];
    let told = cost(&beside);
    let said = text(&told.stdout);
    assert_eq!(told.status.code(), Some(0), "{}", text(&told.stderr));
    let row = said
        .lines()
        .find(|line| line.starts_with("masks-last "))
        .expect("its line");
    assert_eq!(row.matches('[').count(), 3, "{said}");
    assert!(said.contains("there, times"), "{said}");
}
