//! The JSON Schema of the run document, made from the types that read and write it.
//!
//! The published copy is `schema/run-1.json` at the root of the repository. Regenerate it with
//! `cargo run -p linerate-store --example write-schema`; a test fails while it is out of date.

use linerate_model::run::{Run, SCHEMA};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of `linerate/run/1` (JSON Schema 2020-12) as it is published: indented, with a final
/// line feed.
pub fn run_1() -> String {
    let mut schema: Value = SchemaSettings::draft2020_12()
        // What is printed, not what is understood: keys that are always written are required.
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Run>()
        .to_value();
    schema["title"] = json!("linerate run document, version 1");
    schema["properties"]["schema"] = json!({
        "description": "The version of this document.",
        "const": SCHEMA,
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
    fn the_published_schema_is_up_to_date() {
        assert!(
            run_1() == linerate_schema_check::RUN_1,
            "schema/run-1.json is out of date: cargo run -p linerate-store --example write-schema"
        );
    }
}
