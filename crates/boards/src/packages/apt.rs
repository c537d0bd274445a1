//! apt in its own folder, for another architecture.

use crate::Arch;
use crate::tools::{failed, lacks, run};
use linerate_model::exit::{Failure, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The archive's keys.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Mirror where this host's apt has no Debian archive.
const USUAL_MIRROR: &str = "http://deb.debian.org/debian";

/// Name prefixes of the packages that are part of Debian's kernel.
const KERNEL_PARTS: &[&str] = &[
    "linux-base-",
    "linux-binary-",
    "linux-image-",
    "linux-modules-",
];

/// Package files of one request.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) files: Vec<PathBuf>,
}

/// apt, configured for one Debian release and architecture.
pub(crate) struct Apt<'a> {
    folder: &'a Path,
    arch: Arch,
}

impl<'a> Apt<'a> {
    /// Prepares the folder and fetches the list of packages.
    pub(crate) fn new(
        folder: &'a Path,
        arch: Arch,
        suite: &str,
        mirror: Option<&str>,
    ) -> Result<Self> {
        if !Path::new(KEYRING).exists() {
            return Err(lacks(format!(
                "{KEYRING}, which Debian's packages are verified with, is not there; get it with: apt-get install debian-archive-keyring (Debian)"
            )));
        }
        for part in ["lists/partial", "kernel", "alone", "archives/partial"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(|error| failed("creating", &path, &error))?;
        }
        let mirror = mirror.map_or_else(own_mirror, |mirror| Ok(mirror.to_owned()))?;
        let debian = arch.debian();
        let source = format!("deb [arch={debian} signed-by={KEYRING}] {mirror} {suite} main\n");
        for (name, text) in [("sources.list", source.as_str()), ("status", "")] {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|error| failed("writing", &path, &error))?;
        }
        let apt = Self { folder, arch };
        run(apt.command().arg("update")).map_err(|error| {
            let message = format!(
                "cannot fetch the list of Debian's packages ({suite}, {debian}) from {mirror}: {error}; give another archive with --mirror or another release with --suite"
            );
            Failure::new(error.code, message)
        })?;
        Ok(apt)
    }

    /// Fetches the kernel: its package, and of the dependencies only parts of the kernel.
    pub(crate) fn kernel(&self) -> Result<Fetched> {
        let package = self.arch.kernel_package();
        let printed = run(self.command().args(["install", "--print-uris", package]))
            .map_err(|error| refused(package, &error))?;
        let text = String::from_utf8_lossy(&printed.stdout).into_owned();
        let is_part = |name: &&str| KERNEL_PARTS.iter().any(|part| name.starts_with(part));
        let parts: Vec<_> = packages_in(&text).filter(is_part).collect();
        self.download("kernel", &parts)
            .map_err(|error| refused(package, &error))
    }

    /// Fetches one package without dependencies.
    pub(crate) fn alone(&self, package: &str) -> Result<Fetched> {
        self.download("alone", &[package])
            .map_err(|error| refused(package, &error))
    }

    fn download(&self, folder: &str, packages: &[&str]) -> Result<Fetched> {
        let folder = self.folder.join(folder);
        let mut command = self.command();
        run(command.current_dir(&folder).arg("download").args(packages))?;
        debs(&folder)
    }

    /// Fetches packages with all dependencies.
    pub(crate) fn packages(&self, names: &[&str]) -> Result<Fetched> {
        let archives = self.folder.join("archives");
        let option = format!("Dir::Cache::archives={}", archives.display());
        let mut install = self.command();
        install.args(["-o", &option, "install", "--download-only", "--yes"]);
        run(install.args(names)).map_err(|error| refused(&names.join(" "), &error))?;
        debs(&archives)
    }

    fn command(&self) -> Command {
        let at = |name: &str, path: &str| format!("{name}={}", self.folder.join(path).display());
        let debian = self.arch.debian();
        let options = [
            format!("APT::Architecture={debian}"),
            format!("APT::Architectures={debian}"),
            at("Dir::State::status", "status"),
            at("Dir::State::Lists", "lists"),
            at("Dir::Etc::SourceList", "sources.list"),
            "Dir::Etc::SourceParts=-".to_owned(),
            at("Dir::Cache", ""),
            // Downloads as root need not drop to another user.
            "APT::Sandbox::User=root".to_owned(),
            "APT::Install-Recommends=false".to_owned(),
            "Acquire::Languages=none".to_owned(),
            // Skip the metadata for software centres.
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            "Debug::NoLocking=true".to_owned(),
        ];
        let mut apt = Command::new("apt-get");
        apt.arg("-q");
        for option in options {
            apt.args(["-o", &option]);
        }
        apt
    }
}

fn refused(what: &str, error: &Failure) -> Failure {
    Failure::new(error.code, format!("cannot fetch Debian's {what}: {error}"))
}

/// The Debian archive of this host's apt.
fn own_mirror() -> Result<String> {
    let mut targets = Command::new("apt-get");
    targets.args([
        "indextargets",
        "--format",
        "$(LABEL) $(SITE) $(COMPONENT)",
        "Created-By: Packages",
    ]);
    let text = run(&mut targets)?.stdout;
    let text = String::from_utf8_lossy(&text);
    let mirror = mirror_in(&text).unwrap_or(USUAL_MIRROR);
    Ok(mirror.trim_end_matches('/').to_owned())
}

/// The first Debian archive in lines `LABEL SITE COMPONENT`; security updates have another label.
fn mirror_in(targets: &str) -> Option<&str> {
    let words = targets
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    words.into_iter().find_map(|words| match words[..] {
        ["Debian", site, "main"] => Some(site),
        _ => None,
    })
}

/// Package files in the output of `--print-uris`: `'URL' FILE SIZE HASH`, with `NAME_VERSION_ARCH.deb` as file.
fn packages_in(printed: &str) -> impl Iterator<Item = &str> {
    let lines = printed.lines().filter(|line| line.starts_with('\''));
    lines.filter_map(|line| line.split(' ').nth(1)?.split('_').next())
}

/// Packages in a folder, sorted by name.
fn debs(folder: &Path) -> Result<Fetched> {
    let entries = fs::read_dir(folder).map_err(|error| failed("reading", folder, &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "deb"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(lacks(format!(
            "apt-get left no package in {}",
            folder.display()
        )));
    }
    Ok(Fetched { files })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_what_apt_would_fetch() {
        let printed = "Reading package lists...\n\
            'http://deb.debian.org/pool/k.deb' kmod_34.2-2_riscv64.deb 95308 SHA256:aa\n\
            'http://deb.debian.org/pool/l.deb' linux-image-6.12.48-riscv64_6.12.48-1_riscv64.deb 1 SHA256:bb\n";
        let names: Vec<_> = packages_in(printed).collect();
        assert_eq!(names, ["kmod", "linux-image-6.12.48-riscv64"]);
    }

    #[test]
    fn the_mirror_is_the_first_of_debian_itself() {
        let targets = "Debian-Security http://security.example/debian-security main\n\
            Node http://node.example main\nDebian http://mirror.example/debian/ main\n";
        assert_eq!(mirror_in(targets), Some("http://mirror.example/debian/"));
        assert_eq!(mirror_in(""), None);
    }
}
