//! Says where the board's memory is described, and links with the start-up code.

fn main() {
    let here = env!("CARGO_MANIFEST_DIR");
    println!("cargo:rustc-link-search={here}");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    println!("cargo:rerun-if-changed=memory.x");
}
