//! Writes `schema/run-1.json` and `schema/doctor-1.json` anew from the types in `linerate-model`.

fn main() -> std::io::Result<()> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema");
    std::fs::write(
        format!("{folder}/doctor-1.json"),
        linerate_store::schema::doctor_1(),
    )?;
    std::fs::write(
        format!("{folder}/run-1.json"),
        linerate_store::schema::run_1(),
    )
}
