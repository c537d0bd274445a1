//! The root directory of an image, as a folder of this host: every path is resolved below it, so that no link in a
//! package reaches a file of this host.

use crate::image::{FILES, MERGED};
use crate::packages::{Content, Entry};
use crate::tools::failed;
use linerate_model::exit::{Failure, Result};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fchmod, mkdirat, openat2, symlinkat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Directories besides those in packages.
const DIRECTORIES: &[&str] = &[
    "boot/extlinux",
    "dev",
    "etc/dropbear",
    "etc/linerate",
    "proc",
    "root/.ssh",
    "run",
    "sys",
    "tmp",
    "usr/bin",
    "usr/lib/linerate",
    "usr/sbin",
    "var/log",
    "var/tmp",
];

/// Block size for the space of files on the disk.
const BLOCK: u64 = 4096;

/// A root directory under construction.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    directory: OwnedFd,
    /// Approximate bytes of its files on a disk.
    pub(crate) bytes: u64,
}

impl Root {
    /// Root with the directories, links and files of every image.
    pub(crate) fn create(path: PathBuf) -> Result<Self> {
        let made = std::fs::create_dir(&path).and_then(|()| {
            let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(CWD, &path, flags, Mode::empty())?)
        });
        let directory = made.map_err(|error| failed("creating", &path, &error))?;
        let mut root = Self {
            path,
            directory,
            bytes: 0,
        };
        for path in MERGED {
            root.link(path, &format!("usr/{path}"))?;
        }
        for path in DIRECTORIES {
            root.directory(path, 0o755)?;
        }
        for (path, text) in FILES {
            root.file(path, 0o644, text.as_bytes())?;
        }
        Ok(root)
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a file of a package.
    pub(crate) fn entry(&mut self, entry: &Entry) -> Result<()> {
        // A directory with this name would replace the link.
        if MERGED.contains(&entry.path.as_str()) {
            return Ok(());
        }
        match &entry.content {
            Content::Directory => self.directory(&entry.path, entry.mode),
            Content::File(bytes) => self.file(&entry.path, entry.mode, bytes),
            Content::Link(target) => self.link(&entry.path, target),
        }
    }

    /// Adds or replaces a file.
    pub(crate) fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Result<()> {
        self.bytes += (bytes.len() as u64).next_multiple_of(BLOCK) + BLOCK;
        self.write(path, mode, bytes)
            .map_err(|error| self.failed("writing", path, &error))
    }

    fn write(&self, path: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        remove(&parent, name)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        file.write_all(bytes)?;
        Ok(fchmod(&file, Mode::from_raw_mode(mode))?)
    }

    /// Adds a symbolic link.
    fn link(&mut self, path: &str, target: &str) -> Result<()> {
        self.bytes += BLOCK;
        let made = self.parent(path).and_then(|(parent, name)| {
            remove(&parent, name)?;
            Ok(symlinkat(target, &parent, name)?)
        });
        made.map_err(|error| self.failed("making the link", path, &error))
    }

    /// Adds a directory and its parents. Its owner gets write permission, to fill it.
    fn directory(&mut self, path: &str, mode: u32) -> Result<()> {
        self.bytes += BLOCK;
        let outcome = self.parent(path).and_then(|(parent, name)| {
            match mkdirat(&parent, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::DIRECTORY | OFlags::RDONLY;
            let directory = self.open(path, flags)?;
            Ok(fchmod(&directory, Mode::from_raw_mode(mode) | Mode::RWXU)?)
        });
        outcome.map_err(|error| self.failed("making the directory", path, &error))
    }

    /// Text of a file, if it exists.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let mut file = File::from(self.open(path, OFlags::RDONLY).ok()?);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Parent directory of `path`, created if missing, and the last part of `path`.
    fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        if name.is_empty() || matches!(name, "." | "..") {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = OFlags::DIRECTORY | OFlags::PATH;
        let directory = match self.open(folder, flags) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (parent, last) = self.parent(folder)?;
                mkdirat(&parent, last, Mode::from_raw_mode(0o755))?;
                self.open(folder, flags)?
            }
            opened => opened?,
        };
        Ok((directory, name))
    }

    /// Opens an existing file. Links are resolved as if this were the root directory.
    fn open(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(openat2(
            &self.directory,
            path,
            flags,
            Mode::empty(),
            resolve,
        )?)
    }

    fn failed(&self, step: &str, path: &str, error: &io::Error) -> Failure {
        failed(step, &self.path.join(path), error)
    }
}

/// Removes a file of an earlier package with this name; a directory stays.
fn remove(parent: &OwnedFd, name: &str) -> io::Result<()> {
    match unlinkat(parent, name, rustix::fs::AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn entry(path: &str, mode: u32, content: Content) -> Entry {
        Entry {
            path: path.to_owned(),
            mode,
            content,
        }
    }

    fn root() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::create(folder.path().join("root")).unwrap();
        (folder, root)
    }

    #[test]
    fn files_of_packages_keep_their_kind_and_mode() {
        let (_folder, mut root) = root();
        let before = root.bytes;
        let program = Content::File(b"abc".to_vec());
        root.entry(&entry("lib/new/x", 0o4755, program)).unwrap();
        root.entry(&entry(
            "usr/lib/l.so",
            0o777,
            Content::Link("l.so.1".into()),
        ))
        .unwrap();
        root.entry(&entry("lib", 0o755, Content::Directory))
            .unwrap();
        root.entry(&entry("var/closed", 0o500, Content::Directory))
            .unwrap();
        // `lib` is the link to `usr/lib`, whatever a package says of it.
        let path = root.path().join("usr/lib/new/x");
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        assert_eq!(
            path.metadata().unwrap().permissions().mode() & 0o7777,
            0o4755
        );
        let link = fs::read_link(root.path().join("usr/lib/l.so")).unwrap();
        assert_eq!(link, Path::new("l.so.1"));
        assert!(root.path().join("lib").is_symlink());
        let closed = root.path().join("var/closed").metadata().unwrap();
        assert_eq!(closed.permissions().mode() & 0o777, 0o700);
        assert!(root.bytes > before);
    }

    #[test]
    fn no_link_of_a_package_leads_out_of_the_root() {
        let (folder, mut root) = root();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let target = outside.display().to_string();
        for (name, target) in [("a", target.as_str()), ("b", "../../../../outside")] {
            root.entry(&entry(name, 0o777, Content::Link(target.to_owned())))
                .unwrap();
            let inner = Content::File(b"x".to_vec());
            let _ = root.entry(&entry(&format!("{name}/file"), 0o644, inner));
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        let up = entry("../x", 0o644, Content::File(Vec::new()));
        root.entry(&up).unwrap();
        assert!(!folder.path().join("x").exists());
        assert!(root.entry(&entry("..", 0o755, Content::Directory)).is_err());
    }

    #[test]
    fn a_file_takes_the_place_of_a_link_and_not_of_what_it_leads_to() {
        let (_folder, mut root) = root();
        root.file("etc/one", 0o644, b"1").unwrap();
        root.entry(&entry("etc/two", 0o777, Content::Link("one".into())))
            .unwrap();
        assert_eq!(root.text("etc/two").as_deref(), Some("1"));
        root.file("etc/two", 0o600, b"2").unwrap();
        assert_eq!(root.text("etc/one").as_deref(), Some("1"));
        assert_eq!(root.text("etc/none"), None);
    }
}
