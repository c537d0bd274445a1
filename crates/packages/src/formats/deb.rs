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

use super::{Format, MAINTAINER};
use crate::architecture::Architecture;
use crate::archive::tarball;
use crate::content::packed;
use crate::entry::{Entry, Move, laid_out};
use crate::package::Package;
use crate::{Source, hex};
use anyhow::Result;
use md5::{Digest as _, Md5};
use std::fmt::Write as _;

/// A package of Debian and its family.
pub struct Deb;

/// What dpkg calls when it installs and removes.
const SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("../../files/deb/postinst")),
    ("postrm", include_str!("../../files/deb/postrm")),
    ("prerm", include_str!("../../files/deb/prerm")),
];

/// Debian has the texts of usual licences at one place, and what else there is to say in `copyright`.
const MOVES: &[Move] = &[("share/licenses/", None)];

impl Format for Deb {
    fn file_name(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
    ) -> String {
        let Source { version, .. } = source;
        format!("{}_{version}_{}.deb", package.name(), architecture.debian())
    }

    fn package(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
        entries: &[Entry],
    ) -> Result<Vec<u8>> {
        let entries = &laid_out(entries, MOVES, own(source, package));
        let mut control = vec![
            Entry::text("conffiles", configuration(entries)),
            Entry::text("control", control(source, package, architecture, entries)),
            Entry::text("md5sums", sums(entries)),
        ];
        control.extend(SCRIPTS.map(|(name, text)| Entry::program(name, package.filled(text))));
        let members = [
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.xz", tarball(source, ".", &control)?),
            ("data.tar.xz", tarball(source, ".", entries)?),
        ];
        Ok(ar(source, &members))
    }
}

/// What only Debian has.
fn own(source: &Source<'_>, package: Package) -> [Entry; 3] {
    let name = package.name();
    let doc = format!("share/doc/{name}");
    let changelog = packed(changelog(source, package).as_bytes());
    let overrides = package.filled(include_str!("../../files/deb/lintian-overrides"));
    let copyright = include_str!("../../files/deb/copyright");
    [
        Entry::text(format!("{doc}/changelog.gz"), changelog),
        Entry::text(format!("{doc}/copyright"), copyright),
        Entry::text(format!("share/lintian/overrides/{name}"), overrides),
    ]
}

/// The files that dpkg keeps as they were changed.
fn configuration(entries: &[Entry]) -> String {
    let kept = entries.iter().filter(|entry| entry.is_configuration());
    kept.flat_map(|entry| ["/", &entry.path, "\n"]).collect()
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
         Description: {}\n\
         {}",
        package.name(),
        source.version,
        architecture.debian(),
        bytes.div_ceil(1024),
        relations(package, source.version),
        package.summary(),
        indented(package.description()),
    )
}

/// What it is told of other packages; `version` is that of both.
fn relations(package: Package, version: &str) -> String {
    match package {
        Package::Linerate => "Recommends: openssh-client\n\
             Suggests: qemu-system-arm, qemu-system-misc, e2fsprogs, kmod\n"
            .to_owned(),
        Package::Hub => format!("Depends: linerate (= {version})\nSuggests: postgresql\n"),
    }
}

/// Paragraphs as deb-control(5) has them.
fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| match line {
        "" => " .\n".to_owned(),
        line => format!(" {line}\n"),
    });
    lines.collect()
}

/// The changelog as Debian's tools read it; what changed is in the project's own.
fn changelog(source: &Source<'_>, package: Package) -> String {
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
