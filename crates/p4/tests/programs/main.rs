//! The programs in `p4/`: each with its packet tests, and here what packet tests cannot say: time, digests, and what a
//! control plane reads.

mod hostile;
mod learning;
mod meters;
mod program;
mod selection;
mod stages;
mod values;

use linerate_p4::stf;
use program::{folder, names, read};

#[test]
fn each_passes_its_packet_tests() {
    let names = names();
    assert!(names.len() >= 17, "{names:?}");
    for name in names {
        let program = program::load(&name);
        let test =
            stf::parse(&read(&name, "stf")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let report = stf::run(&program, &test).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(report.packets > 0, "{name} sends nothing");
        if let Some(mismatch) = report.mismatches.first() {
            panic!(
                "{name}, line {:?}: {}\n{}",
                mismatch.line,
                mismatch.what,
                mismatch.trace.lines().join("\n")
            );
        }
    }
}

#[test]
fn what_is_committed_names_no_file_of_the_machine_that_compiled_it() {
    for name in names() {
        let json = read(&name, "json");
        assert!(!json.contains("\"filename\" : \"/"), "{name}");
        assert!(json.contains(&format!("\"{name}/{name}.p4\"")), "{name}");
        assert!(folder().join(&name).join(format!("{name}.p4")).is_file());
    }
}
