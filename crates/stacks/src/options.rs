//! Options of a stack, and the folders for its program.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of a stack by name.
pub type Options = BTreeMap<String, String>;

/// Folders and program for starting stacks.
#[derive(Debug, Clone)]
pub struct Places {
    /// Cache of fetched and built files.
    pub cache: PathBuf,
    /// The program that contains this code.
    pub own: PathBuf,
}

/// Parses `buffers=base&opt=O2`.
pub(crate) fn read_options(text: &str) -> Result<Options, String> {
    let mut options = Options::new();
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("\"{part}\" is not NAME=VALUE"))?;
        let value = value.to_owned();
        if options.insert(name.to_owned(), value).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(options)
}

/// Formats options for [`read_options`].
pub(crate) fn write_options(options: &Options) -> String {
    let parts = options
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    parts.collect::<Vec<_>>().join("&")
}
