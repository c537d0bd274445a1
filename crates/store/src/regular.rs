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

/// Opens a regular file for reading, and refuses all else before it is opened.
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
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(refused())
    }
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
        for place in ["/dev/zero", "/dev/null", "/"] {
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
