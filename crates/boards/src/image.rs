//! The files of a board in memory: archives of the form `newc` of cpio, which the kernel unpacks one after the other.
//!
//! # References
//! - `Documentation/driver-api/early-userspace/buffer-format.rst` of Linux

use crate::Order;
use crate::packages::{Content, Entry};
use crate::tools::failed;
use cpio::newc::{Builder, ModeFileType, trailer};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_sys::random::{SEED_BYTES, random_bytes, seed_kernel};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The init script of a board.
const INIT: &str = include_str!("init.sh");

/// Directories that no package is sure to contain.
const DIRECTORIES: &[&str] = &[
    "dev",
    "etc",
    "etc/dropbear",
    "etc/linerate",
    "proc",
    "root",
    "run",
    "sys",
    "tmp",
    "usr",
    "usr/bin",
    "usr/lib",
    "usr/lib/linerate",
    "usr/sbin",
    "var",
    "var/log",
];

/// Links of the merged `/usr`, which `base-files` would create.
pub(crate) const MERGED: &[&str] = &["bin", "lib", "lib64", "sbin"];

/// Files that maintainer scripts would create, as far as a board needs them. The board is reachable only from its host,
/// and its root has no password.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("etc/group", "root:x:0:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("etc/passwd", "root::0:0:root:/root:/bin/sh\n"),
    ("etc/shells", "/bin/sh\n"),
];

/// An archive under construction in memory, so nothing fails before the end.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
    error: Option<io::Error>,
}

impl Archive {
    /// Archive with the directories, links and files of every board.
    pub(crate) fn with_root() -> Self {
        let mut archive = Self::default();
        for path in DIRECTORIES {
            archive.directory(path);
        }
        for path in MERGED {
            archive.add(
                path,
                ModeFileType::Symlink,
                0o777,
                format!("usr/{path}").as_bytes(),
            );
        }
        for (path, text) in FILES {
            archive.file(path, 0o644, text.as_bytes());
        }
        archive
    }

    /// Adds a file of a package.
    pub(crate) fn entry(&mut self, entry: Entry) {
        // A directory with this name would replace the link.
        if MERGED.contains(&entry.path.as_str()) {
            return;
        }
        match entry.content {
            Content::Directory => self.add(&entry.path, ModeFileType::Directory, entry.mode, &[]),
            Content::File(bytes) => self.file(&entry.path, entry.mode, &bytes),
            Content::Link(target) => {
                self.add(&entry.path, ModeFileType::Symlink, 0o777, target.as_bytes());
            }
        }
    }

    /// Adds kernel modules, and their load order.
    pub(crate) fn modules(&mut self, modules: &[(String, Vec<u8>)]) {
        for (name, bytes) in modules {
            self.file(&format!("usr/lib/linerate/{name}.ko"), 0o644, bytes);
        }
        let names: Vec<_> = modules.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join("\n") + "\n";
        self.file("etc/linerate/modules", 0o644, names.as_bytes());
    }

    /// Adds the console device, without which init's messages are lost until it has mounted /dev.
    pub(crate) fn console(&mut self) {
        let console = Builder::new("dev/console").mode(0o600);
        let console = console.set_mode_file_type(ModeFileType::Char);
        self.write(console.rdev_major(5).rdev_minor(1), &[]);
    }

    fn directory(&mut self, path: &str) {
        self.add(path, ModeFileType::Directory, 0o755, &[]);
    }

    pub(crate) fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) {
        self.add(path, ModeFileType::Regular, mode, bytes);
    }

    fn add(&mut self, path: &str, kind: ModeFileType, mode: u32, bytes: &[u8]) {
        self.inode += 1;
        let entry = Builder::new(path).ino(self.inode).mode(mode);
        self.write(entry.set_mode_file_type(kind), bytes);
    }

    fn write(&mut self, entry: Builder, bytes: &[u8]) {
        let written = u32::try_from(bytes.len())
            .map_err(|_| io::ErrorKind::FileTooLarge.into())
            .and_then(|length| {
                let mut writer = entry.write(&mut self.bytes, length);
                writer.write_all(bytes)?;
                writer.finish().map(drop)
            });
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    /// The complete archive.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        let ended = trailer(&mut self.bytes).map(drop);
        match self.error.map_or(ended, Err) {
            Ok(()) => Ok(self.bytes),
            Err(error) => {
                let message = format!("writing a board's files: {error}");
                Err(Failure::new(ExitCode::Other, message))
            }
        }
    }
}

/// Path of the seed of a board's random numbers.
pub(crate) const SEED: &str = "etc/linerate/seed";

/// A random seed: an emulated board has no entropy source, and its kernel would wait long for one.
pub(crate) fn seed() -> Result<[u8; SEED_BYTES]> {
    random_bytes().map_err(|error| {
        let message = format!("reading random numbers for a board: {error}");
        Failure::new(ExitCode::Other, message)
    })
}

/// Seeds the kernel of this board.
pub fn use_seed() -> Result<()> {
    let path = Path::new("/").join(SEED);
    let seed = fs::read(&path).map_err(|error| failed("reading", &path, &error))?;
    let seed = seed.try_into().map_err(|_| {
        Failure::new(
            ExitCode::Other,
            format!("{} has not {SEED_BYTES} bytes", path.display()),
        )
    })?;
    seed_kernel(seed).map_err(|error| failed("seeding the kernel from", &path, &error))
}

/// Files of one board: init script, agent, seed and name.
fn own(order: &Order, agent: &[u8]) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    archive.console();
    archive.file("init", 0o755, INIT.as_bytes());
    archive.file("usr/bin/linerate", 0o755, agent);
    archive.file(SEED, 0o600, &seed()?);
    archive.file(
        "etc/hostname",
        0o644,
        format!("{}\n", order.name).as_bytes(),
    );
    archive.finish()
}

/// Writes the board's files to `path`: the base, then its own files.
pub(crate) fn write(path: &Path, base: &Path, order: &Order, agent: &[u8]) -> Result<()> {
    let own = own(order, agent)?;
    let mut base = File::open(base).map_err(|error| failed("opening", base, &error))?;
    let written = File::create(path).and_then(|mut file| {
        io::copy(&mut base, &mut file)?;
        file.write_all(&own)
    });
    written.map_err(|error| failed("writing", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Equipment, Machine};
    use cpio::NewcReader;

    /// Path, mode and content of every entry.
    fn read(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut all = Vec::new();
        loop {
            let reader = NewcReader::new(bytes).unwrap();
            if reader.entry().is_trailer() {
                return all;
            }
            let (name, mode) = (reader.entry().name().to_owned(), reader.entry().mode());
            let mut content = Vec::new();
            bytes = reader.to_writer(&mut content).unwrap();
            all.push((name, mode, content));
        }
    }

    #[test]
    fn files_of_packages_keep_their_kind_and_mode() {
        let mut archive = Archive::with_root();
        let entry = |path: &str, mode, content| Entry {
            path: path.to_owned(),
            mode,
            content,
        };
        archive.entry(entry("usr/bin/x", 0o755, Content::File(b"abc".to_vec())));
        archive.entry(entry("usr/lib/l.so", 0o777, Content::Link("l.so.1".into())));
        archive.entry(entry("bin", 0o755, Content::Directory));
        let all = read(&archive.finish().unwrap());
        let find = |path: &str| {
            let mut found = all.iter().filter(|(name, ..)| name == path);
            let (_, mode, content) = found.next().unwrap();
            assert!(found.next().is_none(), "{path} is there twice");
            (*mode, String::from_utf8(content.clone()).unwrap())
        };
        assert_eq!(find("usr/bin/x"), (0o100_755, "abc".to_owned()));
        assert_eq!(find("usr/lib/l.so"), (0o120_777, "l.so.1".to_owned()));
        assert_eq!(find("bin"), (0o120_777, "usr/bin".to_owned()));
        assert_eq!(find("usr/sbin"), (0o040_755, String::new()));
    }

    #[test]
    fn modules_are_listed_in_the_order_in_which_they_load() {
        let mut archive = Archive::default();
        archive.modules(&[("b".into(), vec![1]), ("a".into(), vec![2])]);
        let all = read(&archive.finish().unwrap());
        assert_eq!(all[2].0, "etc/linerate/modules");
        assert_eq!(all[2].2, b"b\na\n");
    }

    #[test]
    fn a_board_has_its_agent_its_name_and_a_console() {
        let machine = Machine::find(None, None).unwrap();
        let order = Order::new("unleashed".parse().unwrap(), Equipment::of(machine));
        let all = read(&own(&order, b"agent").unwrap());
        let names: Vec<_> = all.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "dev/console",
                "init",
                "usr/bin/linerate",
                SEED,
                "etc/hostname"
            ]
        );
        assert_eq!(all[0].1, 0o020_600);
        assert_eq!((all[2].1, all[2].2.as_slice()), (0o100_755, &b"agent"[..]));
        assert_eq!((all[3].1, all[3].2.len()), (0o100_600, SEED_BYTES));
        assert_eq!(all[4].2, b"unleashed\n");
    }
}
