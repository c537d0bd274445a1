//! Where the text of a log comes from.

use crate::regular::{self, Links};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A log that can be read from its beginning more than once.
pub trait Source {
    /// Its name, for messages.
    fn name(&self) -> String;

    /// Opens it at its beginning.
    fn open(&self) -> io::Result<Box<dyn BufRead + '_>>;
}

/// A log in memory, after its name.
impl Source for (String, Vec<u8>) {
    fn name(&self) -> String {
        self.0.clone()
    }

    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(&self.1[..]))
    }
}

/// A log on disk, of which a piece at a time is in memory.
#[derive(Debug, Clone)]
pub struct LogFile {
    path: PathBuf,
    links: Links,
}

impl LogFile {
    /// The log at `path`, which the user named.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            links: Links::Followed,
        }
    }

    /// A log that was found in a folder: it is not opened if it has become a link, a pipe or a device.
    pub fn found(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            links: Links::Refused,
        }
    }
}

impl Source for LogFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        /// As much as a kernel reads ahead.
        const BUFFER_BYTES: usize = 128 * 1024;
        let file = regular::open(&self.path, self.links)?;
        Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, file)))
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        (**self).open()
    }
}
