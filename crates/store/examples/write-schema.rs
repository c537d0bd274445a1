//! Writes `schema/run-1.json` anew from the types in `linerate-model`.

fn main() -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/run-1.json");
    std::fs::write(path, linerate_store::schema::run_1())
}
