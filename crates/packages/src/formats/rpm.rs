//! Packages of Fedora, RHEL and openSUSE.
//!
//! Nothing is required of a C library: the programs are static. Nothing is enabled at installation, which presets could
//! do: there is no scriptlet for it.
//!
//! # References
//! - rpm-payloadflags and scriptlets: <https://rpm-software-management.github.io/rpm/manual/>
//! - Units: Fedora packaging guidelines, "Scriptlets", section "Systemd"

use super::{Format, LICENCE, MAINTAINER, SITE_FUNCTIONS};
use crate::Source;
use crate::architecture::Architecture;
use crate::archive::folders;
use crate::entry::{Entry, Move, laid_out};
use crate::package::Package;
use ::rpm::{BuildConfig, CompressionWithLevel, Dependency, FileOptions, PackageBuilder};
use anyhow::{Context as _, Result};

/// A package of this family.
pub struct Rpm;

/// There is one build of each version.
const RELEASE: &str = "1";

/// Packed as Fedora packs its own; rpm reads it since 4.14 (RHEL 8).
const COMPRESSION: CompressionWithLevel = CompressionWithLevel::Zstd(19);

const MOVES: &[Move] = &[SITE_FUNCTIONS];

impl Format for Rpm {
    fn file_name(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
    ) -> String {
        let (name, version) = (package.name(), source.version);
        format!("{name}-{version}-{RELEASE}.{}.rpm", architecture.rpm())
    }

    fn package(
        &self,
        source: &Source<'_>,
        package: Package,
        architecture: Architecture,
        entries: &[Entry],
    ) -> Result<Vec<u8>> {
        let time = u32::try_from(source.seconds()).context("the time of the sources")?;
        let config = BuildConfig::v4().source_date(time);
        let (name, version) = (package.name(), source.version);
        let architecture = architecture.rpm();
        let mut builder =
            PackageBuilder::new(name, version, LICENCE, architecture, package.summary());
        // The time first: files take it as theirs.
        builder.using_config(config.compression(COMPRESSION));
        builder.release(RELEASE).packager(MAINTAINER);
        builder.description(package.description());
        add(&mut builder, package, laid_out(entries, MOVES, []))?;
        relate(&mut builder, package, version);
        let [removed, after] = [
            include_str!("../../files/rpm/preun"),
            include_str!("../../files/rpm/postun"),
        ];
        builder.pre_uninstall_script(package.filled(removed));
        builder.post_uninstall_script(package.filled(after));
        let mut bytes = Vec::new();
        builder.build()?.write(&mut bytes)?;
        Ok(bytes)
    }
}

/// Adds the files, and the folders that are this package's alone, which are gone with it.
fn add(builder: &mut PackageBuilder, package: Package, entries: Vec<Entry>) -> Result<()> {
    let is_own = |folder: &String| folder.split('/').any(|part| part == package.name());
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    for folder in folders(&paths).iter().filter(|folder| is_own(folder)) {
        builder.with_dir_entry(FileOptions::dir(format!("/{folder}")).permissions(0o755))?;
    }
    for entry in entries {
        let mode = u16::try_from(entry.mode).context("permissions")?;
        let place = FileOptions::new(format!("/{}", entry.path)).permissions(mode);
        let place = match entry.path.as_str() {
            _ if entry.is_configuration() => place.config().noreplace(),
            // Installed also where documents are not, such as in images of containers.
            path if path.starts_with("usr/share/licenses/") => place.license(),
            path if path.starts_with("usr/share/doc/") || path.starts_with("usr/share/man/") => {
                place.doc()
            }
            _ => place,
        };
        builder.with_file_contents(entry.bytes, place)?;
    }
    Ok(())
}

/// Tells of other packages, by the names that they have at Fedora.
fn relate(builder: &mut PackageBuilder, package: Package, version: &str) {
    match package {
        Package::Linerate => {
            builder.recommends(Dependency::any("openssh-clients"));
            for name in [
                "qemu-system-arm",
                "qemu-system-aarch64",
                "qemu-system-riscv",
                "e2fsprogs",
                "kmod",
            ] {
                builder.suggests(Dependency::any(name));
            }
        }
        Package::Hub => {
            let linerate = Package::Linerate.name();
            builder.requires(Dependency::eq(linerate, version));
            builder.suggests(Dependency::any("postgresql-server"));
        }
    }
}
