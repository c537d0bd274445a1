//! The key that both ends of linerate's own protocol hold: read from its file, and shown in a session.

use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::key::{Credential, Key, MIN_KEY_BYTES, SIZE};
use linerate_sys::random::random_bytes;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Most of a key file that is read.
const MAX_KEY: u64 = 4096;

/// Reads the key in the file at `path`.
pub fn read_key(path: &Path) -> Result<Key, Failure> {
    let fail = |why: String| {
        let message = format!(
            "cannot use the key in {}: {why}; make one with: head -c 32 /dev/urandom | base64 > {}",
            path.display(),
            path.display()
        );
        Failure::new(ExitCode::Usage, message)
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_KEY + 1).read_to_end(&mut bytes))
        .map_err(|error| fail(error.to_string()))?;
    if bytes.len() as u64 > MAX_KEY {
        return Err(fail(format!(
            "it is longer than {MAX_KEY} bytes; {MIN_KEY_BYTES} are enough"
        )));
    }
    Key::new(&bytes).map_err(|error| fail(error.to_string()))
}

/// The key with a nonce for one session.
pub fn credential(key: Option<&Key>) -> Result<Option<Credential>> {
    let Some(key) = key.cloned() else {
        return Ok(None);
    };
    let nonce: [u8; SIZE] = random_bytes()?;
    Ok(Some(Credential { key, nonce }))
}
