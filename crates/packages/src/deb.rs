//! Debian packages.
//!
//! ```text
//! !<arch>
//! debian-binary     "2.0\n"
//! control.tar.xz    conffiles, control, md5sums, postinst, postrm, prerm
//! data.tar.xz       ./etc/…, ./usr/…
//! ```
//!
//! # References
//! - deb(5), deb-control(5); Debian Policy, chapters 5 and 6 and section 10.1

use crate::architecture::Architecture;
use crate::archive::tarball;
use crate::entry::Entry;
use crate::package::Package;
use crate::{Source, hex};
use md5::{Digest as _, Md5};
use std::fmt::Write as _;
use std::io;

/// Whoever builds the package answers for it; this name stands for nobody's address.
const MAINTAINER: &str = "The linerate contributors <linerate@example.org>";

/// What dpkg calls when it installs and removes.
const SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("../files/postinst")),
    ("postrm", include_str!("../files/postrm")),
    ("prerm", include_str!("../files/prerm")),
];

/// The file name that Debian gives such a package.
pub fn file_name(source: &Source<'_>, package: Package, architecture: Architecture) -> String {
    let Source { version, .. } = source;
    format!("{}_{version}_{}.deb", package.name(), architecture.debian())
}

/// A package that installs `entries` below `/usr`, and configuration in `/etc`.
pub fn package(
    source: &Source<'_>,
    package: Package,
    architecture: Architecture,
    entries: &[Entry],
) -> io::Result<Vec<u8>> {
    let entries: Vec<Entry> = entries.iter().map(installed).collect();
    let entries = &entries;
    let mut control = vec![
        file("conffiles", 0o644, configuration(entries)),
        file(
            "control",
            0o644,
            control(source, package, architecture, entries),
        ),
        file("md5sums", 0o644, sums(entries)),
    ];
    control.extend(SCRIPTS.map(|(name, text)| {
        let text = text.replace("@SERVICE@", package.service());
        file(name, 0o755, text.replace("@UNITS@", package.units()))
    }));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.xz", tarball(source, ".", &control)?),
        ("data.tar.xz", tarball(source, ".", entries)?),
    ];
    Ok(ar(source, &members))
}

/// An entry at its place below `/`.
fn installed(entry: &Entry) -> Entry {
    let prefix = if entry.is_configuration() { "" } else { "usr/" };
    Entry {
        path: format!("{prefix}{}", entry.path),
        ..entry.clone()
    }
}

/// The files that dpkg keeps as they were changed.
fn configuration(entries: &[Entry]) -> String {
    let kept = entries.iter().filter(|entry| entry.is_configuration());
    kept.flat_map(|entry| ["/", &entry.path, "\n"]).collect()
}

fn file(path: &str, mode: u32, text: String) -> Entry {
    Entry {
        path: path.to_owned(),
        mode,
        bytes: text.into_bytes(),
    }
}

fn control(
    source: &Source<'_>,
    package: Package,
    architecture: Architecture,
    entries: &[Entry],
) -> String {
    let bytes: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
    format!(
        "Package: {}\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {}\n\
         {}\
         Section: net\n\
         Priority: optional\n\
         {}",
        package.name(),
        source.version,
        architecture.debian(),
        bytes.div_ceil(1024),
        package.relations(source.version),
        package.description(),
    )
}

/// The changelog as Debian's tools read it; what changed is in the project's own.
pub(crate) fn changelog(source: &Source<'_>, package: Package) -> String {
    let time = source.time.strftime("%a, %d %b %Y %H:%M:%S +0000");
    let version = source.version;
    format!(
        "{} ({version}) unstable; urgency=medium\n\n  * See /usr/share/doc/linerate/CHANGELOG.md.\n\n -- {MAINTAINER}  {time}\n",
        package.name(),
    )
}

fn sums(entries: &[Entry]) -> String {
    entries.iter().fold(String::new(), |mut text, entry| {
        let sum = hex(&Md5::digest(&entry.bytes));
        let _ = writeln!(text, "{sum}  {}", entry.path);
        text
    })
}

/// An `ar` archive, as deb(5) has it.
fn ar(source: &Source<'_>, members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let head = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            source.seconds(),
            0,
            0,
            "100644",
            bytes.len()
        );
        archive.extend(head.into_bytes());
        archive.extend(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}
