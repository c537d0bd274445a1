//! Cache of fetched and built folders; an incomplete one is not visible.

use linerate_model::exit::{ExitCode, Failure};
use linerate_model::hex;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder `name` of `cache`; if missing, `make` fills a temporary folder, which is then renamed.
pub(crate) fn folder(
    cache: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let folder = cache.join(name);
    if folder.is_dir() {
        return Ok(folder);
    }
    let unfinished = cache.join(format!(".unfinished-{name}-{}", std::process::id()));
    // Left by an earlier process with the same PID.
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished).map_err(|error| failed("creating", &unfinished, &error))?;
    let outcome = make(&unfinished).and_then(|()| match fs::rename(&unfinished, &folder) {
        // A concurrent process may have been first: its result is the same.
        Err(error) if !folder.is_dir() => Err(failed("renaming", &unfinished, &error)),
        _ => Ok(()),
    });
    let _ = fs::remove_dir_all(&unfinished);
    outcome.map(|()| folder)
}

/// Error of a step with files of this host.
pub(crate) fn failed(step: &str, path: &Path, error: &io::Error) -> Failure {
    let message = format!("{step} {}: {error}", path.display());
    Failure::new(ExitCode::Other, message)
}

/// Hash of these texts, each with its length: 16 hexadecimal digits.
pub(crate) fn key<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.len().to_be_bytes());
        hash.update(text);
    }
    start_of(hash)
}

/// Name of a file and hash of its content: `iperf, SHA-256 0123456789abcdef`.
pub(crate) fn named_hash(name: &str, mut file: impl io::Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash)?;
    Ok(format!("{name}, SHA-256 {}", start_of(hash)))
}

/// The first digits of a hash: enough where nobody forges a collision.
fn start_of(hash: Sha256) -> String {
    hex(&hash.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_made_once_and_what_fails_leaves_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let write = |folder: &Path| {
            fs::write(folder.join("file"), "made")
                .map_err(|error| failed("writing", folder, &error))
        };
        let refuse = |_: &Path| Err(Failure::new(ExitCode::HostLacks, "no compiler"));
        let error = folder(cache.path(), "a", refuse).unwrap_err();
        assert_eq!(error.message, "no compiler");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
        let made = folder(cache.path(), "a", write).unwrap();
        assert_eq!(fs::read(made.join("file")).unwrap(), b"made");
        assert_eq!(folder(cache.path(), "a", refuse).unwrap(), made);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }

    #[test]
    fn texts_that_are_divided_otherwise_have_another_key() {
        let one = key([&b"ab"[..], b"c"]);
        assert_ne!(one, key([&b"a"[..], b"bc"]));
        assert_eq!(one.len(), 16);
    }

    #[test]
    fn a_file_is_named_with_the_start_of_its_hash() {
        let named = named_hash("empty", &b""[..]).unwrap();
        assert_eq!(named, "empty, SHA-256 e3b0c44298fc1c14");
    }
}
