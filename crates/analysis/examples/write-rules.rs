//! Writes the reference page of all rules into the guide.

fn main() -> std::io::Result<()> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/rules.md");
    std::fs::write(page, linerate_analysis::rules_page())
}
