//! The JSON Schemas of the documents, made from the types that read and write them.
//!
//! The published copies are in `schema/` at the root of the repository. Regenerate them with `cargo run -p linerate-store --example write-schema`; a test
//! fails while one is out of date.

use linerate_model::audit::{self, Audit};
use linerate_model::board::{self, BoardDocument};
use linerate_model::calibration::{self, Calibration};
use linerate_model::comparison::{self, Comparison};
use linerate_model::doctor::{self, Examination};
use linerate_model::footprint::{self, FootprintDocument};
use linerate_model::reproduction::{self, Reproduction};
use linerate_model::run::{self, Run};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of `linerate/run/2` (JSON Schema 2020-12) as it is published: indented, with a final
/// line feed.
pub fn run_2() -> String {
    of::<Run>("linerate run document, version 2", run::SCHEMA)
}

/// The schema of `linerate/doctor/1`, as it is published.
pub fn doctor_1() -> String {
    of::<Examination>("linerate doctor document, version 1", doctor::SCHEMA)
}

/// The schema of `linerate/audit/1`, as it is published.
pub fn audit_1() -> String {
    of::<Audit>(
        "linerate audit of a published table, version 1",
        audit::SCHEMA,
    )
}

/// The schema of `linerate/board/1`, as it is published.
pub fn board_1() -> String {
    of::<BoardDocument>("linerate emulated boards, version 1", board::SCHEMA)
}

/// The schema of `linerate/compare/1`, as it is published.
pub fn compare_1() -> String {
    of::<Comparison>("linerate comparison, version 1", comparison::SCHEMA)
}

/// The schema of `linerate/reproduce/1`, as it is published.
pub fn reproduce_1() -> String {
    of::<Reproduction>(
        "linerate reproduction of a published table, version 1",
        reproduction::SCHEMA,
    )
}

/// The schema of `linerate/calibration/1`, as it is published.
pub fn calibration_1() -> String {
    of::<Calibration>("linerate calibration, version 1", calibration::SCHEMA)
}

/// The schema of `linerate/footprint/1`, as it is published.
pub fn footprint_1() -> String {
    of::<FootprintDocument>("linerate footprint, version 1", footprint::SCHEMA)
}

fn of<T: JsonSchema>(title: &str, version: &str) -> String {
    let mut schema: Value = SchemaSettings::draft2020_12()
        // What is printed, not what is understood: keys that are always written are required.
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    schema["title"] = json!(title);
    schema["properties"]["schema"] = json!({
        "description": "The version of this document.",
        "const": version,
    });
    let mut text =
        serde_json::to_string_pretty(&schema).expect("invariant: a schema is a JSON value");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schemas_are_up_to_date() {
        for (name, made, published) in [
            ("audit-1", audit_1(), linerate_schema_check::AUDIT_1),
            ("board-1", board_1(), linerate_schema_check::BOARD_1),
            (
                "calibration-1",
                calibration_1(),
                linerate_schema_check::CALIBRATION_1,
            ),
            ("compare-1", compare_1(), linerate_schema_check::COMPARE_1),
            ("doctor-1", doctor_1(), linerate_schema_check::DOCTOR_1),
            (
                "footprint-1",
                footprint_1(),
                linerate_schema_check::FOOTPRINT_1,
            ),
            (
                "reproduce-1",
                reproduce_1(),
                linerate_schema_check::REPRODUCE_1,
            ),
            ("run-2", run_2(), linerate_schema_check::RUN_2),
        ] {
            assert!(
                made == published,
                "schema/{name}.json is out of date: cargo run -p linerate-store --example write-schema"
            );
        }
    }
}
