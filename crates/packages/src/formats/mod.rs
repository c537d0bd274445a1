//! The forms that a package is passed on in: each lays the same files out as its family of distributions has them.

pub mod apk;
pub mod deb;
pub mod rpm;
pub mod tarball;

use crate::Source;
use crate::architecture::Architecture;
use crate::entry::{Entry, Move};
use crate::package::Package;
use anyhow::Result;

/// Every form. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&dyn Format] = &[&apk::Apk, &deb::Deb, &rpm::Rpm, &tarball::Tarball];

/// A form that a package is passed on in.
pub trait Format: Sync {
    /// The name of its file.
    fn file_name(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
    ) -> String;

    /// Its bytes; `entries` is what [`crate::content::entries`] lists.
    fn package(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
        entries: &[Entry],
    ) -> Result<Vec<u8>>;
}

/// Whoever builds a package answers for it; this name stands for nobody's address.
const MAINTAINER: &str = "The linerate contributors <linerate@example.org>";

/// Where all but Debian's family has completions for zsh.
const SITE_FUNCTIONS: Move = (
    "share/zsh/vendor-completions/",
    Some("share/zsh/site-functions/"),
);

/// An SPDX expression.
const LICENCE: &str = "MIT OR Apache-2.0";
