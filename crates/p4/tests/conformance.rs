//! The P4 compiler's own packet tests. `LINERATE_P4` is the folder with `stf/p4_16/NAME.stf` and `stf/p4_14/NAME.stf`,
//! `LINERATE_P4_COMPILED` the one with their programs as `p4_16/NAME.json` and `p4_14/NAME.json`, compiled by p4c.

use linerate_p4::{Program, stf};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tests that cannot pass, with the reason. At most five.
const EXPECTED_FAILURES: &[(&str, &str)] = &[(
    "counter3",
    "expects 4 bytes more per packet than came in, as if a frame check sequence counted; simple_switch counts as we do",
)];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(
        std::env::var_os(name)
            .unwrap_or_else(|| panic!("{name} names the folder; see the head of this file")),
    )
}

fn run(compiled: &Path, test: &Path) -> Result<(), String> {
    let json = fs::read(compiled).map_err(|error| format!("{}: {error}", compiled.display()))?;
    let program = Program::from_json(&json).map_err(|error| error.to_string())?;
    let statements = stf::parse(&fs::read_to_string(test).expect("the packet tests can be read"))
        .map_err(|error| error.to_string())?;
    let report = stf::run(&Arc::new(program), &statements).map_err(|error| error.to_string())?;
    let mismatches = report.mismatches.iter().map(|mismatch| {
        let trace = mismatch.trace.lines().join("\n    | ");
        format!("line {:?}: {}\n    | {trace}", mismatch.line, mismatch.what)
    });
    let mismatches: Vec<_> = mismatches.collect();
    if mismatches.is_empty() {
        Ok(())
    } else {
        Err(mismatches.join("\n"))
    }
}

/// Tests that ran, and what failed.
fn all(version: &str) -> (usize, Vec<String>) {
    let tests = folder("LINERATE_P4").join("stf").join(version);
    let compiled = folder("LINERATE_P4_COMPILED").join(version);
    let only = std::env::var_os("LINERATE_P4_ONLY").map(|only| only.to_string_lossy().into_owned());
    let mut files: Vec<_> = fs::read_dir(tests)
        .expect("the packet tests can be read")
        .map(|entry| entry.expect("the packet tests can be read").path())
        .collect();
    files.sort();
    let (mut ran, mut failed) = (0, Vec::new());
    for test in files
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "stf"))
    {
        let name = test
            .file_stem()
            .expect("the packet tests can be read")
            .to_string_lossy()
            .into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        ran += 1;
        let is_known = EXPECTED_FAILURES.iter().any(|(known, _)| *known == name);
        match (run(&compiled.join(format!("{name}.json")), test), is_known) {
            (Ok(()), false) | (Err(_), true) => {}
            (Err(what), false) => failed.push(format!("{version}/{name}: {what}")),
            (Ok(()), true) => {
                failed.push(format!("{version}/{name} passes: strike it off the list"));
            }
        }
    }
    (ran, failed)
}

#[test]
#[ignore = "needs LINERATE_P4 and LINERATE_P4_COMPILED: p4c's packet tests and their compiled programs"]
fn packet_tests_of_p4_16_pass() {
    let (ran, failed) = all("p4_16");
    println!("{} of {ran} passed", ran - failed.len());
    assert!(EXPECTED_FAILURES.len() <= 5 && ran > 0);
    assert!(
        failed.is_empty(),
        "{} failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
#[ignore = "needs LINERATE_P4 and LINERATE_P4_COMPILED: p4c's packet tests and their compiled programs"]
fn packet_tests_of_p4_14_pass() {
    let (ran, failed) = all("p4_14");
    println!("{} of {ran} passed", ran - failed.len());
    assert!(ran > 0);
    assert!(
        failed.is_empty(),
        "{} failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
