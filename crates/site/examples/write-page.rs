//! Writes the page around the program: `write-page PROGRAM.wasm PAGE.html`.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program of the build: it fails by panicking, and says what it wrote"
)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use linerate_report::{PageParts, page_parts};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

const PAGE: &str = include_str!("../assets/page.html");
const SCRIPT: &str = include_str!("../assets/page.js");
const STYLE: &str = include_str!("../assets/page.css");

fn main() {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [program, page] = files.as_slice() else {
        panic!("usage: write-page PROGRAM.wasm PAGE.html");
    };
    let program = packed(&fs::read(program).unwrap());
    fs::create_dir_all(page.parent().unwrap()).unwrap();
    let text = around(&program);
    fs::write(page, &text).unwrap();
    println!("{}: {} bytes", page.display(), text.len());
}

/// The program as text: compressed, without a time, so that equal programs make equal pages.
fn packed(program: &[u8]) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(program).unwrap();
    STANDARD.encode(packer.finish().unwrap())
}

/// The page, which may run and show nothing but what it holds, and connect to nobody. The reports that it shows inherit
/// its policy, so it lets in what they are made with; they restrict themselves to that.
fn around(program: &str) -> String {
    let PageParts {
        style,
        script_sources,
        style_source,
    } = page_parts();
    let whole_style = format!("{style}{STYLE}");
    let policy = format!(
        "default-src 'none'; connect-src 'none'; script-src {} 'wasm-unsafe-eval' {script_sources}; style-src {} {style_source}; \
         img-src data: blob:; frame-src blob:; base-uri 'none'; form-action 'none'",
        hash_source(SCRIPT),
        hash_source(&whole_style),
    );
    PAGE.replace("{policy}", &policy)
        .replace("{tools}", &linerate_store::import::tools())
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{style}", &whole_style)
        .replace("{script}", SCRIPT)
        .replace("{program}", program)
}

fn hash_source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}
