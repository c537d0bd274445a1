//! Files that are whole or not there: atomic documents and a log of whole lines.

use super::StoreError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` as `path`: to a temporary file beside it, synchronised, renamed.
///
/// After a failure `path` is what it was before, and the temporary file is gone.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = path.with_extension("tmp");
    let attempt = write_synced(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, path))
        .and_then(|()| sync_parent(path));
    attempt.map_err(|source| {
        // The first error is the one to report; a leftover temporary file harms nobody.
        drop(std::fs::remove_file(&temporary));
        StoreError::io("write", path, source)
    })
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Left by a crash, or put there by somebody else to lead elsewhere: it is replaced, never written through.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the rename itself durable.
fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        // A name alone is in the current directory.
        Some(parent) if parent.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// A file that can be cut back to an earlier length.
pub(super) trait Cut: Write {
    /// Makes the file `length` bytes long and continues there.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Cut for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        // Opened for appending: the next write goes to the new end.
        self.set_len(length)
    }
}

/// A file of whole lines: a line that could not be written whole is taken back.
#[derive(Debug)]
pub(super) struct LineLog<F> {
    file: F,
    path: PathBuf,
    length: u64,
}

impl LineLog<File> {
    /// Creates an empty log; refuses an existing one.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(|source| StoreError::io("create", path, source))?;
        Ok(Self::over(file, path))
    }
}

impl<F: Cut> LineLog<F> {
    /// A log over an empty file.
    pub(super) fn over(file: F, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
            length: 0,
        }
    }

    /// Appends `text`, which must not contain a line feed, as one line.
    pub(super) fn append(&mut self, mut text: Vec<u8>) -> Result<(), StoreError> {
        text.push(b'\n');
        let written = self.file.write_all(&text).and_then(|()| self.file.flush());
        match written {
            Ok(()) => {
                self.length += text.len() as u64;
                Ok(())
            }
            Err(source) => {
                // If this fails too, reading drops the torn line.
                drop(self.file.cut(self.length));
                Err(StoreError::io("append a trial", &self.path, source))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes that writes in pieces of seven.
    struct SmallDisk {
        bytes: Vec<u8>,
        room: usize,
    }

    impl Write for SmallDisk {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            let fits = (self.room - self.bytes.len()).min(data.len()).min(7);
            if fits == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(&data[..fits]);
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Cut for SmallDisk {
        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.bytes.truncate(usize::try_from(length).unwrap());
            Ok(())
        }
    }

    #[test]
    fn a_line_that_does_not_fit_leaves_no_trace() {
        let disk = SmallDisk {
            bytes: Vec::new(),
            room: 30,
        };
        let mut log = LineLog::over(disk, Path::new("trials.jsonl"));
        log.append(b"0123456789".to_vec()).unwrap();
        let error = log.append(vec![b'x'; 40]).unwrap_err();
        assert!(error.to_string().contains("free space"), "{error}");
        log.append(b"abc".to_vec()).unwrap();
        assert_eq!(log.file.bytes, b"0123456789\nabc\n");
    }

    #[test]
    fn a_full_device_is_named_with_a_remedy() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut log = LineLog::over(file, Path::new("/dev/full"));
        let error = log.append(b"{}".to_vec()).unwrap_err().to_string();
        assert!(error.contains("/dev/full"), "{error}");
        assert!(error.contains("free space"), "{error}");
    }
}
