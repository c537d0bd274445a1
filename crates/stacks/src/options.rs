//! What a stack is set to, and where its program is found.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of a stack by name.
pub type Options = BTreeMap<String, String>;

/// Where programs are found and kept.
#[derive(Debug, Clone)]
pub struct Places {
    /// What is fetched and built, and kept for the next start.
    pub cache: PathBuf,
    /// The program that has this code in it.
    pub own: PathBuf,
}

/// Reads `buffers=base&opt=O2`.
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

/// Writes what [`read_options`] reads.
pub(crate) fn write_options(options: &Options) -> String {
    let parts = options
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    parts.collect::<Vec<_>>().join("&")
}
