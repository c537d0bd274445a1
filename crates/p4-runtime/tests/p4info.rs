//! The P4Info of programs: read by the definitions of P4Runtime, and bound to what the program has.

use linerate_p4::Program;
use linerate_p4::generate::ALL;
use linerate_p4_runtime::check_p4info;
use std::fs;
use std::path::Path;

#[test]
fn every_generated_p4info_binds_to_its_program() {
    for family in ALL {
        for level in family.levels.iter().filter(|level| **level <= 1000) {
            let generated = family.generate(*level);
            let name = &generated.name;
            let program = Program::from_json(generated.json.as_bytes());
            let program = program.unwrap_or_else(|error| panic!("{name}: {error}"));
            check_p4info(&program, generated.p4info.as_bytes())
                .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        }
    }
}

/// Programs of ours that controllers cannot have, and why.
const REFUSED: [(&str, &str); 1] = [("digest", "digest seen_t has data of a type other than")];

#[test]
fn every_program_of_ours_has_its_own_p4info() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
    let mut checked = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(json) = fs::read(folder.join(format!("{name}.json"))) else {
            continue;
        };
        let program = Program::from_json(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        let info = fs::read(folder.join(format!("{name}.p4info.txt"))).unwrap();
        let refused = check_p4info(&program, &info)
            .err()
            .map(|error| error.to_string());
        match REFUSED.iter().find(|(known, _)| *known == name) {
            None => assert_eq!(refused, None, "{name}"),
            Some((_, why)) => assert!(
                refused.is_some_and(|refused| refused.contains(why)),
                "{name}"
            ),
        }
        checked += 1;
    }
    assert!(checked >= 17, "{checked} programs");
}
