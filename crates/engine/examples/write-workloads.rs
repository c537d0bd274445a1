//! Writes the reference page of all workloads into the guide.

fn main() -> std::io::Result<()> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/workloads.md");
    std::fs::write(page, linerate_engine::workloads::page())
}
