//! What is installed beside the programs, and in which form: man pages, completions, packages.
//!
//! Development only. Everything is made of the command lines themselves and of files of the repository, and nothing else
//! goes in, neither a clock nor a folder's name: the same sources and programs make the same bytes.
#![forbid(unsafe_code)]

pub mod architecture;
pub mod archive;
pub mod bill;
pub mod command_line;
pub mod completions;
pub mod content;
pub mod entry;
pub mod formats;
pub mod image;
pub mod manual;
pub mod package;
pub mod parts;

use flate2::{Compression, GzBuilder};
use jiff::Timestamp;
use lzma_rust2::{XzOptions, XzWriter};
use std::io::{self, Write as _};
use std::path::Path;

/// A file to be written: its name, and what it holds.
pub type Named = (String, Vec<u8>);

/// What packages are made of.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The repository.
    pub root: &'a Path,
    /// When it was last changed: the time of every file in a package.
    pub time: Timestamp,
    /// Version of the packages.
    pub version: &'a str,
}

impl Source<'_> {
    /// The day, such as `2026-11-27`.
    pub fn date(&self) -> String {
        self.time.strftime("%Y-%m-%d").to_string()
    }

    /// Seconds since 1970, as archives have them.
    fn seconds(&self) -> u64 {
        u64::try_from(self.time.as_second()).unwrap_or_default()
    }
}

/// Compressed at `level`, without a name or a time.
fn gzip(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut packed = GzBuilder::new().write(Vec::new(), level);
    packed
        .write_all(bytes)
        .and_then(|()| packed.finish())
        .expect("invariant: writing to memory does not fail")
}

/// Compressed as `xz -6` does: what is better needs 65 MB of memory to unpack, which boards may not have.
fn xz(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = XzWriter::new(Vec::new(), XzOptions::with_preset(6))?;
    packed.write_all(bytes)?;
    packed.finish()
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
