//! The JSON Schemas of the documents, made from the types that read and write them.
//!
//! The published copies are in `schema/` at the root of the repository. Regenerate them with `cargo run -p linerate-store --example write-schema`; a test
//! fails while one is out of date.

use linerate_model::calibration::{self, Calibration};
use linerate_model::comparison::{self, Comparison};
use linerate_model::doctor::{self, Examination};
use linerate_model::footprint::{self, FootprintDocument};
use linerate_model::run::{self, Run};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of `linerate/run/2` (JSON Schema 2020-12) as it is published: indented, with a final
/// line feed.
pub fn run_2() -> String {
    of::<Run>("linerate run document, version 2", run::SCHEMA)
}

/// The schema of `linerate/doctor/1`, likewise.
pub fn doctor_1() -> String {
    of::<Examination>("linerate doctor document, version 1", doctor::SCHEMA)
}

/// The schema of `linerate/compare/1`, likewise.
pub fn compare_1() -> String {
    of::<Comparison>("linerate comparison, version 1", comparison::SCHEMA)
}

/// The schema of `linerate/calibration/1`, likewise.
pub fn calibration_1() -> String {
    of::<Calibration>("linerate calibration, version 1", calibration::SCHEMA)
}

/// The schema of `linerate/footprint/1`, likewise.
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
        assert!(
            doctor_1() == linerate_schema_check::DOCTOR_1,
            "schema/doctor-1.json is out of date: cargo run -p linerate-store --example write-schema"
        );
        assert!(
            calibration_1() == linerate_schema_check::CALIBRATION_1,
            "schema/calibration-1.json is out of date: cargo run -p linerate-store --example write-schema"
        );
        assert!(
            footprint_1() == linerate_schema_check::FOOTPRINT_1,
            "schema/footprint-1.json is out of date: cargo run -p linerate-store --example write-schema"
        );
        assert!(
            run_2() == linerate_schema_check::RUN_2,
            "schema/run-2.json is out of date: cargo run -p linerate-store --example write-schema"
        );
        assert!(
            compare_1() == linerate_schema_check::COMPARE_1,
            "schema/compare-1.json is out of date: cargo run -p linerate-store --example write-schema"
        );
    }
}
