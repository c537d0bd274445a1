//! The P4Info of generated programs is one that controllers get: read by the definitions of P4Runtime, and bound to what
//! the program has.

use linerate_p4::Program;
use linerate_p4::generate::ALL;
use linerate_p4_runtime::check_p4info;

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
