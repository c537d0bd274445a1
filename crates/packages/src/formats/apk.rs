//! Packages of Alpine, as apk-tools 2 made them and apk-tools 3 reads them too. They are not signed: whoever installs
//! one says `--allow-untrusted`.
//!
//! ```text
//! gzip stream       .PKGINFO, .pre-install, …      a tar archive without its end
//! gzip stream       etc/…, usr/…                   with the SHA-1 of each file in a PAX header
//! ```
//!
//! # References
//! - apk-v2(5), apk-package(5); abuild, which makes Alpine's own
//! - Services: openrc-run(8), supervise-daemon(8)

use super::{Format, LICENCE, MAINTAINER, SITE_FUNCTIONS};
use crate::architecture::Architecture;
use crate::archive::{tar, tar_with};
use crate::content::packed;
use crate::entry::{Entry, Move, laid_out};
use crate::package::Package;
use crate::{Source, hex};
use anyhow::Result;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// A package of Alpine.
pub struct Apk;

/// There is one build of each version.
const RELEASE: &str = "r0";

/// Two blocks of zeros end an archive; the control segment has none, so that the data segment goes on where it stops.
const END_OF_ARCHIVE: usize = 2 * 512;

/// Services are those of `OpenRC`, and what changes systemd's has no use.
const MOVES: &[Move] = &[
    ("lib/systemd/", None),
    ("share/doc/linerate/examples/", None),
    SITE_FUNCTIONS,
];

/// What apk calls: before it installs, after an upgrade, before it removes.
const SCRIPTS: [(&str, &str); 3] = [
    (
        ".post-upgrade",
        include_str!("../../files/apk/post-upgrade"),
    ),
    (
        ".pre-deinstall",
        include_str!("../../files/apk/pre-deinstall"),
    ),
    (".pre-install", include_str!("../../files/apk/pre-install")),
];

impl Format for Apk {
    fn file_name(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
    ) -> String {
        let architecture = architecture.alpine();
        format!("{}-{}.{architecture}.apk", package.name(), version(source))
    }

    fn package(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
        entries: &[Entry],
    ) -> Result<Vec<u8>> {
        let service = format!("etc/init.d/{}", package.name());
        let service = Entry::program(service, package.filled(service_of(package)));
        let entries = laid_out(entries, MOVES, [service]);
        let sum = |entry: &Entry| {
            let sum = hex(&Sha1::digest(&entry.bytes));
            Some(("APK-TOOLS.checksum.SHA1", sum))
        };
        let data = packed(&tar_with(source, "", &entries, sum)?);
        let mut about = about(source, package, architecture, &entries);
        let _ = writeln!(about, "datahash = {}", hex(&Sha256::digest(&data)));
        let mut control = vec![Entry::text(".PKGINFO", about)];
        control.extend(SCRIPTS.map(|(name, text)| Entry::program(name, package.filled(text))));
        let mut control = tar(source, "", &control)?;
        control.truncate(control.len() - END_OF_ARCHIVE);
        Ok([packed(&control), data].concat())
    }
}

const fn service_of(package: Package) -> &'static str {
    match package {
        Package::Linerate => include_str!("../../files/apk/linerate.initd"),
        Package::Hub => include_str!("../../files/apk/linerate-hub.initd"),
    }
}

fn version(source: &Source<'_>) -> String {
    format!("{}-{RELEASE}", source.version)
}

/// `.PKGINFO`, but for the sum of the data.
fn about(
    source: &Source<'_>,
    package: Package,
    architecture: Architecture,
    entries: &[Entry],
) -> String {
    let (name, version) = (package.name(), version(source));
    let bytes: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
    let needed = match package {
        Package::Linerate => String::new(),
        Package::Hub => format!("depend = linerate={version}\n"),
    };
    format!(
        "pkgname = {name}\n\
         pkgver = {version}\n\
         pkgdesc = {}\n\
         builddate = {}\n\
         packager = {MAINTAINER}\n\
         size = {bytes}\n\
         arch = {}\n\
         origin = {name}\n\
         maintainer = {MAINTAINER}\n\
         license = {LICENCE}\n\
         {needed}",
        package.summary(),
        source.seconds(),
        architecture.alpine(),
    )
}
