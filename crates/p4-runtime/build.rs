//! Compiles the vendored definitions of P4Runtime, without protoc.

use prost::Message as _;
use std::{env, error::Error, fs, path::PathBuf};

const DEFINITIONS: &str = "vendor/p4runtime-1.5.0";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DEFINITIONS}");
    let files = protox::compile(["p4/v1/p4runtime.proto"], [DEFINITIONS])?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    // For messages in text form, which name their fields.
    fs::write(out.join("descriptors.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure()
        .btree_map(".")
        .disable_comments(["."])
        .compile_fds(files)?;
    Ok(())
}
