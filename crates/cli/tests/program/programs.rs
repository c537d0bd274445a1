//! Programs that `linerate NAME` starts.

use crate::harness::{Ended, Place, linerate};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// linerate with a folder of programs on its path, of which `linerate-survey` can be started.
fn with_programs(place: &Place) -> Command {
    let script = b"#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 9\n";
    for (name, mode) in [
        ("linerate-survey", 0o755),
        ("linerate-list", 0o755),
        ("linerate-riscv64", 0o755),
        ("linerate-p4-riscv64", 0o755),
        ("linerate-notes", 0o644),
    ] {
        let file = place.with(name, script);
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = linerate();
    command.env("PATH", place.file(""));
    command
}

#[test]
fn a_program_gets_the_arguments_and_its_exit_code_is_linerate_s() {
    let place = Place::new();
    let ended = Ended::spawn(with_programs(&place).args(["survey", "--json", "two words", "-h"]));
    assert_eq!(ended.code, Some(9), "{ended:?}");
    assert_eq!(ended.out, "<--json><two words><-h>");
    assert_eq!(ended.err, "");
}

#[test]
fn what_linerate_does_itself_and_what_is_no_program_is_not_started() {
    let place = Place::new();
    let store = place.store();
    let mut list = with_programs(&place);
    let list = Ended::spawn(list.arg("list").arg("--store").arg(store));
    assert!(!list.done().contains('<'));
    for name in ["riscv64", "p4-riscv64", "notes"] {
        Ended::spawn(with_programs(&place).arg(name)).failed(2, &[name]);
    }
}

#[test]
fn help_and_near_names_have_the_programs() {
    let place = Place::new();
    for help in ["-h", "--help"] {
        let help = Ended::spawn(with_programs(&place).arg(help)).done();
        assert!(
            help.contains("survey") && !help.contains("riscv64"),
            "{help}"
        );
    }
    let near = Ended::spawn(with_programs(&place).arg("surveyy"));
    near.failed(2, &["surveyy"]);
    assert!(near.err.contains("'survey'"), "{}", near.err);
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let place = Place::new();
    let mut command = with_programs(&place);
    place.with("linerate-survey", b"#!/no/such/shell\n");
    Ended::spawn(command.arg("survey")).failed(4, &["cannot start", "linerate-survey"]);
}
