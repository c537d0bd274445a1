//! The P4Info of programs: read by the definitions of P4Runtime, and bound to what the program has.

use linerate_p4::Program;
use linerate_p4::generate::ALL;
use linerate_p4_runtime::{Schema, check_p4info, parse_p4info};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
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

/// Programs of ours that linerate's switch does not serve, and why; of other switches controllers may have them.
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
        let of_client = Schema::new(&parse_p4info(&info).unwrap());
        assert_eq!(of_client.err(), None, "{name}");
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

/// Bytes changed, cut off or repeated: refused with words, or bound.
#[test]
fn a_damaged_p4info_is_refused_with_words_or_fits() {
    let json = include_bytes!("../../../p4/control_plane/control_plane.json");
    let info = include_bytes!("../../../p4/control_plane/control_plane.p4info.txt");
    let program = Program::from_json(json).unwrap();
    let parsed = parse_p4info(info).unwrap();
    let forms = [info.to_vec(), prost::Message::encode_to_vec(&parsed)];
    let changes = proptest::collection::vec((any::<Index>(), any::<u8>()), 0..4);
    let damaged = (0..forms.len(), changes, any::<Index>(), any::<bool>());
    let config = Config {
        cases: 1500,
        failure_persistence: None,
        ..Config::default()
    };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let counts = std::cell::RefCell::new((0, 0));
    let mut runner = TestRunner::new_with_rng(config, random);
    let run = runner.run(&damaged, |(form, changes, end, cut)| {
        let mut bytes = forms[form].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        match check_p4info(&program, &bytes) {
            Ok(()) => counts.borrow_mut().0 += 1,
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                counts.borrow_mut().1 += 1;
            }
        }
        Ok(())
    });
    run.unwrap();
    let (fits, refused) = counts.into_inner();
    assert!(fits > 30 && refused > 300, "{fits} {refused}");
}
