//! The files of a host: those of this one, or a copy of another's in a directory that anybody may have made.
//!
//! In a copy every link is followed as its host would, so none leads out of the copy, and nothing but regular files is
//! opened: a pipe would wait for its writer, a device may do anything.

use crate::bounded;
use rustix::fs::{Dir, Mode, OFlags, ResolveFlags, openat2, readlinkat};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Most entries of a directory that are read.
const MAX_NAMES: usize = 1 << 20;

/// Where the files of a host are. The only way to them: paths are below the root, without a leading slash (`proc/stat`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFiles(Place);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Copy(PathBuf),
    Live,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Reading.
    Read,
    /// Replacing its content.
    Replace,
}

impl HostFiles {
    /// Those of this host if `root` is `/`, else the copy in that directory.
    pub fn new(root: &Path) -> Self {
        Self(if root == Path::new("/") {
            Place::Live
        } else {
            Place::Copy(root.to_owned())
        })
    }

    /// Those of this host.
    pub const fn live() -> Self {
        Self(Place::Live)
    }

    /// Whether they are those of this host.
    pub fn is_live(&self) -> bool {
        self.0 == Place::Live
    }

    /// Opens an existing regular file; `InvalidInput` for anything else, which is not opened.
    pub fn open(&self, path: &str, purpose: FileUse) -> io::Result<File> {
        let flags = match purpose {
            FileUse::Read => OFlags::RDONLY,
            FileUse::Replace => OFlags::WRONLY | OFlags::TRUNC,
        };
        if let Place::Copy(_) = self.0 {
            // Before it is opened for use: opening a device can have effects.
            regular(self.at(path, OFlags::PATH)?.into())?;
        }
        // A pipe that took its place meanwhile does not wait.
        regular(self.at(path, flags | OFlags::NONBLOCK)?.into())
    }

    /// The bytes of a regular file; an error if it has more than `most`.
    pub fn read(&self, path: &str, most: u64) -> io::Result<Vec<u8>> {
        bounded::read(self.open(path, FileUse::Read)?, most)
    }

    /// The boot id of its kernel; `None` if the files do not tell.
    pub fn boot_id(&self) -> Option<String> {
        const LENGTH_MAX: u64 = 4096;
        let id = self
            .read("proc/sys/kernel/random/boot_id", LENGTH_MAX)
            .ok()?;
        let id = String::from_utf8(id).ok()?.trim().to_owned();
        (!id.is_empty()).then_some(id)
    }

    /// The names in a directory that are UTF-8, in no order.
    pub fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let directory = self.at(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in Dir::new(directory)? {
            let name = entry?.file_name().to_str().map(str::to_owned);
            names.extend(name.ok().filter(|name| name != "." && name != ".."));
            if names.len() > MAX_NAMES {
                return Err(io::Error::other(format!("more than {MAX_NAMES} entries")));
            }
        }
        Ok(names)
    }

    /// Where a link leads to, as it says it.
    pub fn link(&self, path: &str) -> io::Result<PathBuf> {
        let link = self.at(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        target(&link, "")
    }

    /// The path below the root that `path` stands for once every link is followed.
    pub fn resolved(&self, path: &str) -> io::Result<String> {
        let found = self.at(path, OFlags::PATH)?;
        let place = format!("/proc/self/fd/{}", found.as_raw_fd());
        let place = target(rustix::fs::CWD, &place)?;
        let root = match &self.0 {
            Place::Copy(root) => std::fs::canonicalize(root)?,
            Place::Live => PathBuf::from("/"),
        };
        let below = place.strip_prefix(root).ok().and_then(Path::to_str);
        let below = below.ok_or_else(|| io::Error::other("it is not below the root"))?;
        Ok(below.to_owned())
    }

    /// Whether there is something.
    pub fn has(&self, path: &str) -> bool {
        self.at(path, OFlags::PATH).is_ok()
    }

    /// Opens a device of this host for reading; an error in a copy, whose devices would be others.
    pub fn device(&self, path: &str) -> io::Result<File> {
        match &self.0 {
            Place::Copy(_) => Err(not_regular()),
            Place::Live => Ok(File::from(self.at(path, OFlags::RDONLY)?)),
        }
    }

    /// `path` with its root, for messages.
    pub fn shown(&self, path: &str) -> String {
        match &self.0 {
            Place::Copy(root) => root.join(path).display().to_string(),
            Place::Live => format!("/{path}"),
        }
    }

    fn at(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        let Place::Copy(root) = &self.0 else {
            return Ok(rustix::fs::open(format!("/{path}"), flags, Mode::empty())?);
        };
        let of_root = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, of_root, Mode::empty())?;
        let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(openat2(root, path, flags, Mode::empty(), within)?)
    }
}

fn target(directory: impl std::os::fd::AsFd, path: &str) -> io::Result<PathBuf> {
    let target = readlinkat(directory, path, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(
        target.into_bytes(),
    )))
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(not_regular())
    }
}

fn not_regular() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "not a regular file, so it is not opened",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn copy() -> (tempfile::TempDir, HostFiles) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("sys/devices/pci/nic")).unwrap();
        fs::write(root.join("sys/devices/pci/nic/speed"), "1000\n").unwrap();
        fs::write(place.path().join("outside"), "secret\n").unwrap();
        fs::create_dir(place.path().join("beside")).unwrap();
        fs::write(place.path().join("beside/name"), "secret\n").unwrap();
        let files = HostFiles::new(&root);
        (place, files)
    }

    #[test]
    fn a_link_of_a_copy_is_followed_below_its_root_only() {
        let (place, files) = copy();
        let root = place.path().join("root");
        symlink("/sys/devices/pci/nic", root.join("sys/eth0")).unwrap();
        assert_eq!(files.read("sys/eth0/speed", 10).unwrap(), b"1000\n");
        assert_eq!(files.resolved("sys/eth0").unwrap(), "sys/devices/pci/nic");
        let outside = place.path().join("outside");
        symlink(&outside, root.join("absolute")).unwrap();
        symlink("../outside", root.join("relative")).unwrap();
        symlink("../../../../../../../etc/passwd", root.join("sys/up")).unwrap();
        symlink("/proc/self/root/etc/passwd", root.join("magic")).unwrap();
        symlink(place.path().join("beside"), root.join("beside")).unwrap();
        for path in [
            "absolute",
            "relative",
            "sys/up",
            "magic",
            "beside/name",
            "../outside",
        ] {
            let error = files.read(path, 1 << 20).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{path}");
            assert!(files.open(path, FileUse::Replace).is_err(), "{path}");
            assert!(!files.has(path), "{path}");
        }
        assert!(files.names("beside").is_err());
        assert!(files.link("beside/name").is_err());
        assert_eq!(files.link("absolute").unwrap(), outside);
        assert_eq!(fs::read(outside).unwrap(), b"secret\n");
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let (place, files) = copy();
        let root = place.path().join("root");
        let mode = Mode::from_raw_mode(0o644);
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), mode).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        for path in ["pipe", "socket", "sys"] {
            for purpose in [FileUse::Read, FileUse::Replace] {
                let error = files.open(path, purpose).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path}");
            }
        }
        assert!(files.device("pipe").is_err());
        let error = HostFiles::live().read("dev/zero", 10).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn names_and_messages_are_those_of_the_copy() {
        let (place, files) = copy();
        assert_eq!(files.names("sys/devices/pci").unwrap(), ["nic"]);
        let shown = files.shown("proc/stat");
        assert_eq!(
            shown,
            place.path().join("root/proc/stat").display().to_string()
        );
        assert_eq!(HostFiles::live().shown("proc/stat"), "/proc/stat");
        assert!(HostFiles::new(Path::new("/")).is_live() && !files.is_live());
    }
}
