//! Files and output of others, read whole or not at all: a device or a pipe does not say how long it is.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The bytes of `input`; an error if it has more than `most`.
pub fn read(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    // Files of /proc say that they are empty: without room they are read in pieces of a few bytes.
    let mut bytes = Vec::with_capacity(4096);
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// The text of `input`; an error if it has more than `most` bytes, or is not UTF-8.
pub fn read_text(input: impl Read, most: u64) -> io::Result<String> {
    io::read_to_string(&*read(input, most)?)
}

/// The bytes of the file at `path`; an error if it has more than `most`.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read(File::open(path)?, most)
}

/// The text of the file at `path`; an error if it has more than `most` bytes, or is not UTF-8.
pub fn read_text_file(path: &Path, most: u64) -> io::Result<String> {
    read_text(File::open(path)?, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_than_its_bound_is_refused_and_not_cut() {
        assert_eq!(read(&b"four"[..], 4).unwrap(), b"four");
        let error = read(&b"fives"[..], 4).unwrap_err().to_string();
        assert_eq!(error, "it has more than 4 bytes");
        assert_eq!(read(io::repeat(0), 4).unwrap_err().to_string(), error);
    }

    #[test]
    fn text_is_utf_8() {
        assert_eq!(read_text("µs".as_bytes(), 3).unwrap(), "µs");
        let error = read_text(&[0xff][..], 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(read_text_file(Path::new("/dev/zero"), 3).is_err());
    }
}
