//! Opens files that a folder of anybody may have: a pipe would wait for its writer, a link may lead to a device.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Whether a link is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// The user named the path.
    Followed,
    /// It was found in a folder.
    Refused,
}

/// Opens a regular file for reading, and refuses all else before it is opened. What the kernel makes up while it is read,
/// such as `/proc/kmsg`, counts as something else: it has no end, or waits for what comes next.
pub(crate) fn open(path: &Path, links: Links) -> io::Result<File> {
    let found = match links {
        Links::Followed => fs::metadata(path)?,
        Links::Refused => fs::symlink_metadata(path)?,
    };
    let refused = || {
        let what = if found.is_symlink() {
            "a link"
        } else {
            "not a regular file"
        };
        io::Error::new(
            ErrorKind::InvalidInput,
            format!("it is {what}, which is not opened here"),
        )
    };
    if !found.is_file() {
        return Err(refused());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_file() && !is_made_up(&file) {
        Ok(file)
    } else {
        Err(refused())
    }
}

/// Whether a file is of a file system of the kernel's own, such as `/proc`.
#[cfg(target_os = "linux")]
fn is_made_up(file: &File) -> bool {
    /// `PROC_SUPER_MAGIC`, `SYSFS_MAGIC`, `DEBUGFS_MAGIC`, `TRACEFS_MAGIC`, `BPF_FS_MAGIC`, `CGROUP_SUPER_MAGIC` and
    /// `CGROUP2_SUPER_MAGIC` of `linux/magic.h`.
    const MADE_UP: [&str; 7] = [
        "9fa0", "62656572", "64626720", "74726163", "cafe4a11", "27e0eb", "63677270",
    ];
    let found = rustix::fs::fstatfs(file);
    // A number of one of four types, by architecture: its digits are the same in each.
    found.is_ok_and(|found| MADE_UP.contains(&&*format!("{:x}", found.f_type)))
}

/// Only Linux has such files.
#[cfg(not(target_os = "linux"))]
const fn is_made_up(_: &File) -> bool {
    false
}

/// The text of a small file of a folder; `None` where there is none, or none that is read.
pub(crate) fn small(path: &Path, most: u64) -> Option<String> {
    let file = open(path, Links::Refused).ok()?;
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= most).then_some(text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_s_links_and_devices_are_refused_before_they_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        assert!(open(&file, Links::Refused).is_ok());
        assert!(open(&link, Links::Followed).is_ok());
        let refused = open(&link, Links::Refused).unwrap_err();
        assert!(refused.to_string().contains("a link"), "{refused}");
        for place in ["/dev/zero", "/dev/null", "/", "/proc/self/status"] {
            for links in [Links::Followed, Links::Refused] {
                let refused = open(Path::new(place), links).unwrap_err();
                assert!(
                    refused.to_string().contains("not a regular file"),
                    "{refused}"
                );
            }
        }
        assert_eq!(small(&file, 4).as_deref(), Some("text"));
        assert_eq!(small(&file, 3), None);
        assert_eq!(small(&link, 100), None);
    }

    #[test]
    fn a_missing_file_is_said_to_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = open(&folder.path().join("none"), Links::Refused).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}
