//! Compiles the vendored definitions of P4Runtime, without protoc.

use prost::Message as _;
use prost_types::DescriptorProto;
use std::{env, error::Error, fs, path::PathBuf};

const DEFINITIONS: &str = "vendor/p4runtime-1.5.0";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DEFINITIONS}");
    let mut files = protox::compile(["p4/v1/p4runtime.proto"], [DEFINITIONS])?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    // For messages in text form, which name their fields.
    fs::write(out.join("descriptors.bin"), files.encode_to_vec())?;
    for file in &mut files.file {
        file.message_type.iter_mut().for_each(keep_deprecated);
        // Comments of definitions are no Markdown.
        file.source_code_info = None;
    }
    tonic_prost_build::configure()
        .btree_map(".")
        .codec_path("crate::codec::BoundedCodec")
        .compile_fds(files)?;
    Ok(())
}

/// A server answers controllers of older versions in the fields that they know.
fn keep_deprecated(message: &mut DescriptorProto) {
    for field in &mut message.field {
        if let Some(options) = &mut field.options {
            options.deprecated = None;
        }
    }
    message.nested_type.iter_mut().for_each(keep_deprecated);
}
