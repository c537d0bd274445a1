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
