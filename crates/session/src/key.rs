//! Shared key of linerate's own protocol: read from its file, with an ephemeral key per session.

use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
pub use linerate_peers::key::Key;
use linerate_peers::key::{Credential, SIZE};
use linerate_sys::bounded;
use linerate_sys::random::random_bytes;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Maximum length read of a key file.
const MAX_KEY: u64 = 4096;

/// Warning if others on this host can read the secret in the file at `path`, with the remedy.
pub fn exposure(path: &Path) -> Option<String> {
    // A special file, such as a pipe of the shell, has no relevant mode bits.
    let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
    let others = metadata.permissions().mode() & 0o044;
    let path = path.display();
    (others != 0).then(|| format!("others on this host can read {path}: chmod 600 {path}"))
}

/// Reads the key in the file at `path`.
pub fn read_key(path: &Path) -> Result<Key, Failure> {
    let fail = |why: String| {
        let message = format!(
            "cannot use the key in {}: {why}; make one with: (umask 077; head -c 32 /dev/urandom | base64 > {})",
            path.display(),
            path.display()
        );
        Failure::new(ExitCode::Usage, message)
    };
    let bytes = bounded::read_file(path, MAX_KEY).map_err(|error| fail(error.to_string()))?;
    Key::new(&bytes).map_err(|error| fail(error.to_string()))
}

/// The key with a new ephemeral key for one session.
pub fn credential(key: Option<&Key>) -> Result<Option<Credential>> {
    let Some(key) = key.cloned() else {
        return Ok(None);
    };
    let ephemeral: [u8; SIZE] = random_bytes()?;
    Ok(Some(Credential { key, ephemeral }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};

    #[test]
    fn a_secret_that_others_can_read_is_named_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        write(&path, "a secret").unwrap();
        for (mode, is_exposed) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let said = exposure(&path);
            assert_eq!(said.is_some(), is_exposed, "{mode:o}");
            assert!(said.is_none_or(|text| text.contains("chmod 600")));
        }
        assert_eq!(exposure(dir.path()), None);
    }
}
