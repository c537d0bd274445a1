//! Common files of boards of one kind: kernel, modules and programs, fetched once and cached.
//!
//! A cache folder is named by the hash of its request, and lists the hashes of its files: a damaged file is detected,
//! and fetched again.

use crate::Equipment;
use crate::image::Archive;
use crate::packages::{Apt, Content, Modules, entries};
use crate::tools::{failed, lacks};
use linerate_model::board::BoardBase;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Packages of every board: shell and tools, and the server of `board shell`.
const PACKAGES: &[&str] = &["busybox-static", "dropbear-bin"];

/// Kernel and archive in their folder.
const KERNEL: &str = "kernel";
const ARCHIVE: &str = "base.cpio";
/// Firmware below the kernel, where a machine needs one.
const FIRMWARE: &str = "firmware";
const MANIFEST: &str = "manifest.json";

/// Name prefix of incomplete folders; the PID of the process that fills it follows.
const UNFINISHED: &str = ".unfinished-";

/// Version of the format: changes when the same request gives other files.
const FORMAT: u32 = 1;

/// Request for a base; its hash is the base's name.
#[derive(Debug, Serialize)]
struct Request<'a> {
    format: u32,
    arch: crate::Arch,
    suite: &'a str,
    mirror: Option<&'a str>,
    packages: Vec<&'a str>,
    modules: &'a [&'a str],
    /// Package and file.
    firmware: Option<(&'a str, &'a str)>,
}

/// Contents of a base.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// File names of the packages: name, version, architecture.
    packages: Vec<String>,
    /// Hash of each file.
    files: BTreeMap<String, String>,
}

/// A kernel and an archive of files.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) origin: BoardBase,
    pub(crate) kernel: PathBuf,
    pub(crate) archive: PathBuf,
    pub(crate) firmware: Option<PathBuf>,
}

impl Base {
    /// The base with this equipment, from the cache or fetched.
    pub(crate) fn get(
        cache: &Path,
        equipment: &Equipment,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let request = Request::new(equipment);
        let folder = cache.join(request.name()?);
        match Self::verified(&folder) {
            Ok(base) => return Ok(base),
            Err(None) => {}
            Err(Some(why)) => {
                tell(&format!("{}: {why}; fetching it again", folder.display()));
                fs::remove_dir_all(&folder).map_err(|error| failed("removing", &folder, &error))?;
            }
        }
        tell(&format!(
            "fetching Debian's kernel and {} for {} ({}); later starts need no network",
            request.packages.join(", "),
            request.arch,
            request.suite
        ));
        fs::create_dir_all(cache).map_err(|error| failed("creating", cache, &error))?;
        // An interrupted start must leave nothing that looks complete.
        remove_unfinished(cache);
        let unfinished = cache.join(format!("{UNFINISHED}{}", std::process::id()));
        let made = request.make(&unfinished).and_then(|()| {
            // A concurrent start may have been first: its files are equivalent.
            match fs::rename(&unfinished, &folder) {
                Err(error) if !folder.exists() => Err(failed("renaming", &unfinished, &error)),
                _ => Ok(()),
            }
        });
        let _ = fs::remove_dir_all(&unfinished);
        made?;
        let base = Self::verified(&folder).map_err(|why| {
            let why = why.unwrap_or_else(|| "it is gone".to_owned());
            Failure::new(ExitCode::Other, format!("{}: {why}", folder.display()))
        })?;
        let origin = BoardBase::Network;
        Ok(Self { origin, ..base })
    }

    /// The base in `folder` if it is complete; else the reason, if it exists.
    fn verified(folder: &Path) -> Result<Self, Option<String>> {
        let text = match fs::read(folder.join(MANIFEST)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.exists() => {
                return Err(None);
            }
            Err(error) => return Err(Some(error.to_string())),
        };
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|error| Some(error.to_string()))?;
        for (name, listed) in &manifest.files {
            let hash = hash_of(&folder.join(name)).map_err(|error| Some(error.to_string()))?;
            if hash != *listed {
                return Err(Some(format!("{name} was changed")));
            }
        }
        if let Some(name) = [KERNEL, ARCHIVE]
            .iter()
            .find(|name| !manifest.files.contains_key(**name))
        {
            return Err(Some(format!("{name} is not listed")));
        }
        Ok(Self {
            origin: BoardBase::Cache,
            kernel: folder.join(KERNEL),
            archive: folder.join(ARCHIVE),
            firmware: manifest
                .files
                .contains_key(FIRMWARE)
                .then(|| folder.join(FIRMWARE)),
        })
    }
}

impl<'a> Request<'a> {
    fn new(equipment: &'a Equipment) -> Self {
        let more = equipment.packages.iter().map(String::as_str);
        let mut packages: Vec<_> = PACKAGES.iter().copied().chain(more).collect();
        packages.sort_unstable();
        packages.dedup();
        Self {
            format: FORMAT,
            arch: equipment.machine.arch,
            suite: &equipment.suite,
            mirror: equipment.mirror.as_deref(),
            packages,
            modules: equipment.machine.modules,
            firmware: (equipment.machine.firmware)
                .map(|firmware| (firmware.package, firmware.path)),
        }
    }

    fn name(&self) -> Result<String> {
        name_of_request(self.arch, self)
    }

    /// Fetches and builds everything in `folder`.
    fn make(&self, folder: &Path) -> Result<()> {
        let fetch = folder.join("fetch");
        fs::create_dir_all(&fetch).map_err(|error| failed("creating", &fetch, &error))?;
        let apt = Apt::new(&fetch, self.arch, self.suite, self.mirror)?;
        let kernel = apt.kernel()?;
        let programs = apt.packages(&self.packages)?;
        let mut archive = Archive::with_root();
        let mut modules = Modules::default();
        let mut image = None;
        for package in &kernel.files {
            entries(package, is_of_kernel, |entry| match entry.content {
                Content::File(bytes) if is_kernel(&entry.path) => image = Some(bytes),
                _ => modules.take(&entry),
            })?;
        }
        let image = image.ok_or_else(|| {
            lacks(format!(
                "Debian's package {} has no kernel in it",
                self.arch.kernel_package()
            ))
        })?;
        archive.modules(&modules.closure(self.modules)?);
        for package in &programs.files {
            entries(package, is_wanted, |entry| archive.entry(entry))?;
        }
        let mut files = vec![(KERNEL, image), (ARCHIVE, archive.finish()?)];
        let mut packages = [kernel.files, programs.files].concat();
        if let Some((package, path)) = self.firmware {
            let fetched = apt.alone(package)?.files;
            files.push((FIRMWARE, file_in(&fetched, package, path)?));
            packages.extend(fetched);
        }
        let mut manifest = Manifest {
            packages: packages.iter().filter_map(|path| name_of(path)).collect(),
            files: BTreeMap::new(),
        };
        for (name, bytes) in files {
            manifest
                .files
                .insert(name.to_owned(), hex(&Sha256::digest(&bytes)));
            write(&folder.join(name), &bytes)?;
        }
        let text = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| Failure::new(ExitCode::Other, error.to_string()))?;
        write(&folder.join(MANIFEST), &text)?;
        fs::remove_dir_all(&fetch).map_err(|error| failed("removing", &fetch, &error))
    }
}

/// The file at `path` of a package.
fn file_in(package: &[PathBuf], name: &str, path: &str) -> Result<Vec<u8>> {
    let mut found = None;
    for deb in package {
        entries(
            deb,
            |entry| entry == path,
            |entry| {
                if let Content::File(bytes) = entry.content {
                    found = Some(bytes);
                }
            },
        )?;
    }
    found.ok_or_else(|| lacks(format!("Debian's package {name} has no {path} in it")))
}

/// Name of the folder for a request.
pub(crate) fn name_of_request(arch: crate::Arch, request: &impl Serialize) -> Result<String> {
    let text = serde_json::to_vec(request)
        .map_err(|error| Failure::new(ExitCode::Other, error.to_string()))?;
    let hash = hex(&Sha256::digest(text));
    Ok(format!("{arch}-{}", &hash[..16]))
}

/// Removes folders of processes that have ended; errors only cost space.
fn remove_unfinished(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
        if maker.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn name_of(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| failed("writing", path, &error))
}

/// Whether a file of a kernel's package is needed.
fn is_of_kernel(path: &str) -> bool {
    is_kernel(path) || path.contains("/modules.builtin") || path.contains(".ko")
}

/// Whether it is the kernel: in `/boot`, or beside its modules since Debian 14.
pub(crate) fn is_kernel(path: &str) -> bool {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let is_there = folder == "boot" || folder.starts_with("usr/lib/modules/");
    is_there && (file.starts_with("vmlinux") || file.starts_with("vmlinuz"))
}

/// Whether a file of a package is needed on a board.
pub(crate) fn is_wanted(path: &str) -> bool {
    const USELESS: &[&str] = &["bug", "doc", "info", "lintian", "locale", "man"];
    let is_useless = path.strip_prefix("usr/share/").is_some_and(|rest| {
        let first = rest.split('/').next().unwrap_or_default();
        USELESS.contains(&first)
    });
    !is_useless && !path.split('/').any(|part| part == "gconv")
}

pub(crate) fn hash_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, Machine};

    fn usual() -> Equipment {
        Equipment::of(Machine::find(None, Some(Arch::Riscv64)).unwrap())
    }

    #[test]
    fn the_same_request_has_the_same_name_and_another_has_another() {
        let name = |equipment: &Equipment| Request::new(equipment).name().unwrap();
        let (one, mut other) = (usual(), usual());
        other.packages = vec!["busybox-static".to_owned()];
        assert_eq!(name(&one), name(&other));
        other.packages.push("iperf3".to_owned());
        assert_ne!(name(&one), name(&other));
        assert!(name(&one).starts_with("riscv64-"));
    }

    #[test]
    fn a_kernel_is_found_where_each_release_has_it() {
        assert!(is_kernel("boot/vmlinux-6.12.48+deb13-riscv64"));
        assert!(is_kernel("usr/lib/modules/7.2-riscv64/vmlinuz"));
        assert!(!is_kernel("boot/config-6.12"));
        assert!(!is_kernel("usr/share/doc/vmlinuz"));
        assert!(is_wanted("usr/sbin/dropbear") && !is_wanted("usr/share/doc/x/copyright"));
    }

    #[test]
    fn what_an_interrupted_start_left_is_removed_and_what_another_fills_is_not() {
        let cache = tempfile::tempdir().unwrap();
        let folder = |maker: u32| cache.path().join(format!("{UNFINISHED}{maker}"));
        // Above the highest number that a process can have.
        for maker in [std::process::id(), u32::MAX] {
            fs::create_dir(folder(maker)).unwrap();
        }
        remove_unfinished(cache.path());
        assert!(folder(std::process::id()).exists());
        assert!(!folder(u32::MAX).exists());
    }

    #[test]
    fn a_base_that_was_damaged_is_told_from_one_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            Base::verified(&folder.path().join("none")).unwrap_err(),
            None
        );
        for name in [KERNEL, ARCHIVE] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let files = [KERNEL, ARCHIVE].map(|name| {
            let hash = hash_of(&folder.path().join(name)).unwrap();
            (name.to_owned(), hash)
        });
        let manifest = Manifest {
            packages: Vec::new(),
            files: files.into(),
        };
        let text = serde_json::to_vec(&manifest).unwrap();
        fs::write(folder.path().join(MANIFEST), text).unwrap();
        assert!(Base::verified(folder.path()).is_ok());
        fs::write(folder.path().join(ARCHIVE), "other").unwrap();
        let why = Base::verified(folder.path()).unwrap_err();
        assert_eq!(why.as_deref(), Some("base.cpio was changed"));
    }
}
