//! What is installed beside the programs, and in which form: man pages, completions, packages.
//!
//! Development only. Everything is made of the command lines themselves and of files of the repository, and depends on
//! nothing else: the same sources make the same bytes.
#![forbid(unsafe_code)]

pub mod command_line;
pub mod completions;
pub mod manual;

/// A file to be written: its name, and what it holds.
pub type Named = (String, Vec<u8>);
