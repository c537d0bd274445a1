//! Packages of an image: fetched by apt, cached, verified before each use.
//!
//! A cache folder is named by the hash of its request, and lists the hash of every package in it.

use crate::Arch;
use crate::base::{hash_of, name_of_request};
use crate::packages::Apt;
use crate::tools::{failed, lacks, run};
use linerate_model::exit::{ExitCode, Failure, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File with the list of a folder's contents.
const MANIFEST: &str = "manifest.json";

/// Request for packages; its hash is the name of its folder.
#[derive(Debug, Serialize)]
pub(crate) struct Request<'a> {
    pub(crate) arch: Arch,
    pub(crate) suite: &'a str,
    pub(crate) mirror: Option<&'a str>,
    pub(crate) packages: Vec<&'a str>,
}

/// Control fields of a Debian package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) architecture: String,
    /// Source package, with its version.
    pub(crate) source: String,
    pub(crate) homepage: Option<String>,
    /// SHA-256 of the package's file.
    pub(crate) hash: String,
}

/// A package and its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deb {
    /// Path below the folder.
    file: PathBuf,
    pub(crate) package: Package,
}

/// The packages of one image.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stock {
    #[serde(skip)]
    folder: PathBuf,
    /// Packages of the kernel.
    pub(crate) kernel: Vec<Deb>,
    /// Other packages.
    pub(crate) programs: Vec<Deb>,
}

impl Stock {
    /// From the cache, or fetched.
    pub(crate) fn get(
        cache: &Path,
        request: &Request<'_>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let folder = cache.join(name_of_request(request.arch, request)?);
        if let Some(stock) = Self::verified(&folder) {
            return Ok(stock);
        }
        tell(&format!(
            "fetching Debian's kernel and {} for {} ({}); later images need no network",
            request.packages.join(", "),
            request.arch,
            request.suite
        ));
        fs::create_dir_all(cache).map_err(|error| failed("creating", cache, &error))?;
        let unfinished = tempfile::tempdir_in(cache)
            .map_err(|error| failed("creating a folder in", cache, &error))?;
        Self::fetch(unfinished.path(), request)?;
        if folder.exists() {
            // Damaged, or created concurrently by another command.
            fs::remove_dir_all(&folder).map_err(|error| failed("removing", &folder, &error))?;
        }
        fs::rename(unfinished.keep(), &folder)
            .map_err(|error| failed("creating", &folder, &error))?;
        Self::verified(&folder).ok_or_else(|| {
            let message = format!("{} was changed while it was fetched", folder.display());
            Failure::new(ExitCode::Other, message)
        })
    }

    /// Fetches into `folder`, in the form that [`Self::verified`] reads.
    fn fetch(folder: &Path, request: &Request<'_>) -> Result<()> {
        let apt = Apt::new(folder, request.arch, request.suite, request.mirror)?;
        let debs = |files: Vec<PathBuf>| {
            let each = files.iter().map(|path| Deb::read(folder, path));
            each.collect::<Result<Vec<_>, _>>()
        };
        let stock = Self {
            folder: folder.to_owned(),
            kernel: debs(apt.kernel()?.files)?,
            programs: debs(apt.packages(&request.packages)?.files)?,
        };
        // Package lists are larger than many packages, and no longer needed.
        let lists = folder.join("lists");
        fs::remove_dir_all(&lists).map_err(|error| failed("removing", &lists, &error))?;
        let path = folder.join(MANIFEST);
        let text = serde_json::to_vec_pretty(&stock)
            .map_err(|error| Failure::new(ExitCode::Other, error.to_string()))?;
        fs::write(&path, text).map_err(|error| failed("writing", &path, &error))
    }

    /// Contents of `folder`, if complete.
    fn verified(folder: &Path) -> Option<Self> {
        let mut stock: Self =
            serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()?;
        folder.clone_into(&mut stock.folder);
        let is_whole = stock
            .all()
            .all(|deb| hash_of(&stock.path(deb)).is_ok_and(|hash| hash == deb.package.hash));
        is_whole.then_some(stock)
    }

    /// Every package.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Deb> {
        self.kernel.iter().chain(&self.programs)
    }

    /// Path of a package's file.
    pub(crate) fn path(&self, deb: &Deb) -> PathBuf {
        self.folder.join(&deb.file)
    }
}

impl Deb {
    /// Reads the control fields of the package at `path` below `folder`.
    fn read(folder: &Path, path: &Path) -> Result<Self> {
        let fields = run(Command::new("dpkg-deb").arg("--field").arg(path))?;
        let text = String::from_utf8_lossy(&fields.stdout);
        let hash = hash_of(path).map_err(|error| failed("reading", path, &error))?;
        let package = Package::from_control(&text, hash)
            .ok_or_else(|| lacks(format!("{} does not name its package", path.display())))?;
        let file = path.strip_prefix(folder).unwrap_or(path);
        Ok(Self {
            file: file.to_owned(),
            package,
        })
    }
}

impl Package {
    fn from_control(text: &str, hash: String) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(": "));
            lines.find_map(|(key, value)| (key == name).then(|| value.trim().to_owned()))
        };
        let (name, version) = (field("Package")?, field("Version")?);
        // Without the field the source has the same name; without a version in it, the same version.
        let source = field("Source").unwrap_or_else(|| name.clone());
        let source = match source
            .strip_suffix(')')
            .and_then(|text| text.split_once(" ("))
        {
            Some((source, version)) => format!("{source} {version}"),
            None => format!("{source} {version}"),
        };
        let homepage = field("Homepage").filter(|address| address.starts_with("http"));
        Some(Self {
            architecture: field("Architecture")?,
            name,
            version,
            source,
            homepage,
            hash,
        })
    }

    /// File name in Debian's archive: without an epoch.
    pub(crate) fn file_name(&self) -> String {
        let version = self
            .version
            .split_once(':')
            .map_or(&*self.version, |(_, rest)| rest);
        format!("{}_{version}_{}.deb", self.name, self.architecture)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn a_package_says_what_it_was_built_from() {
        let text = "Package: libgcc-s1\nSource: gcc-15 (15.2.0-4)\nVersion: 1:15.2.0-4+b1\nArchitecture: riscv64\nHomepage: http://gcc.gnu.org/\nDescription: text\n Version: 9\n";
        let package = Package::from_control(text, "00".to_owned()).unwrap();
        assert_eq!(package.source, "gcc-15 15.2.0-4");
        assert_eq!(package.file_name(), "libgcc-s1_15.2.0-4+b1_riscv64.deb");
        assert_eq!(package.homepage.as_deref(), Some("http://gcc.gnu.org/"));
        let text = "Package: ethtool\nVersion: 3.18-2\nArchitecture: riscv64\nHomepage: none\n";
        let package = Package::from_control(text, "00".to_owned()).unwrap();
        assert_eq!(
            (package.source.as_str(), package.homepage),
            ("ethtool 3.18-2", None)
        );
        assert_eq!(Package::from_control("Package: x\n", String::new()), None);
    }

    #[test]
    fn packages_that_were_damaged_are_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.deb");
        fs::write(&path, "whole").unwrap();
        let text = "Package: a\nVersion: 1\nArchitecture: all\n";
        let package = Package::from_control(text, hash_of(&path).unwrap()).unwrap();
        let stock = Stock {
            folder: PathBuf::new(),
            kernel: Vec::new(),
            programs: vec![Deb {
                file: "a.deb".into(),
                package,
            }],
        };
        assert!(Stock::verified(folder.path()).is_none());
        let manifest = serde_json::to_vec(&stock).unwrap();
        fs::write(folder.path().join(MANIFEST), manifest).unwrap();
        let found = Stock::verified(folder.path()).unwrap();
        assert_eq!(found.path(&found.programs[0]), path);
        fs::write(&path, "damaged").unwrap();
        assert!(Stock::verified(folder.path()).is_none());
    }
}
