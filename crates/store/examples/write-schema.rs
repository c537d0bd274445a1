//! Writes the files in `schema/` anew from the types in `linerate-model`.

use linerate_store::schema;

fn main() -> std::io::Result<()> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema");
    std::fs::write(format!("{folder}/audit-1.json"), schema::audit_1())?;
    std::fs::write(format!("{folder}/board-1.json"), schema::board_1())?;
    std::fs::write(format!("{folder}/reproduce-1.json"), schema::reproduce_1())?;
    std::fs::write(format!("{folder}/run-2.json"), schema::run_2())?;
    std::fs::write(format!("{folder}/doctor-1.json"), schema::doctor_1())?;
    std::fs::write(
        format!("{folder}/calibration-1.json"),
        schema::calibration_1(),
    )?;
    std::fs::write(format!("{folder}/footprint-1.json"), schema::footprint_1())?;
    std::fs::write(format!("{folder}/compare-1.json"), schema::compare_1())
}
