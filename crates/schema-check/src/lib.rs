//! For tests only: checks documents against the files in `schema/`.
//!
//! Apart from the other crates so that the validator (and the hundred crates below it) is never
//! part of the binary. `linerate-store` makes the schema; this crate only reads the published file,
//! so a test that uses it checks what other people's programs would check.
#![forbid(unsafe_code)]

use serde_json::Value;

/// The frozen schema of `linerate/run/1`, which earlier versions wrote.
pub const RUN_1: &str = include_str!("../../../schema/run-1.json");

/// The published schema of `linerate/run/2`.
pub const RUN_2: &str = include_str!("../../../schema/run-2.json");

/// The published schema of `linerate/compare/1`.
pub const COMPARE_1: &str = include_str!("../../../schema/compare-1.json");

/// The published schema of `linerate/doctor/1`.
pub const DOCTOR_1: &str = include_str!("../../../schema/doctor-1.json");

/// The published schema of `linerate/calibration/1`.
pub const CALIBRATION_1: &str = include_str!("../../../schema/calibration-1.json");

/// The published schema of `linerate/footprint/1`.
pub const FOOTPRINT_1: &str = include_str!("../../../schema/footprint-1.json");

/// The published schema of `linerate/reproduce/1`.
pub const REPRODUCE_1: &str = include_str!("../../../schema/reproduce-1.json");

/// The published schema of `linerate/audit/1`.
pub const AUDIT_1: &str = include_str!("../../../schema/audit-1.json");

/// What bills of materials of images have of SPDX 2.3.
pub const SPDX_2_3: &str = include_str!("../../../schema/spdx-2.3.json");

/// The published schema of `linerate/board/1`.
pub const BOARD_1: &str = include_str!("../../../schema/board-1.json");

/// Checks `document` against [`RUN_2`]; each error says where in the document and why.
pub fn validate(document: &Value) -> Result<(), Vec<String>> {
    validate_against(RUN_2, document)
}

/// Checks `document` against [`COMPARE_1`], likewise.
pub fn validate_comparison(document: &Value) -> Result<(), Vec<String>> {
    validate_against(COMPARE_1, document)
}

/// Checks `document` against a published schema.
pub fn validate_against(schema: &str, document: &Value) -> Result<(), Vec<String>> {
    let schema: Value =
        serde_json::from_str(schema).expect("invariant: the published schema is JSON");
    let validator =
        jsonschema::validator_for(&schema).expect("invariant: the published schema is a schema");
    let errors: Vec<_> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_run_is_refused_with_the_place() {
        let errors = validate(&json!({"schema": "linerate/run/2", "trials": 3})).unwrap_err();
        assert!(
            errors.iter().any(|error| error.starts_with("/trials")),
            "{errors:?}"
        );
    }
}
