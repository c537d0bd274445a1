//! Tarballs, to unpack below any prefix.

use super::Format;
use crate::Source;
use crate::architecture::Architecture;
use crate::archive::{tarball, tarball_name};
use crate::entry::Entry;
use crate::package::Package;
use anyhow::Result;

/// A tarball with one folder.
pub struct Tarball;

impl Format for Tarball {
    fn file_name(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
    ) -> String {
        format!("{}.tar.xz", tarball_name(source, package, architecture))
    }

    fn package(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
        entries: &[Entry],
    ) -> Result<Vec<u8>> {
        let folder = tarball_name(source, package, architecture);
        Ok(tarball(source, &folder, entries)?)
    }
}
