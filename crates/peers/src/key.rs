//! Shared key: a client that holds the server's key may run tests from any address.
//!
//! The key itself is never sent. Both ends derive from it the secret of the sealed control channel, see
//! [`native`](crate::native), and each brings an ephemeral key of its own.

use aws_lc_rs::hmac::{self, HMAC_SHA256};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of an ephemeral key.
pub const SIZE: usize = 32;

/// Fewest bytes of a key: 128 bits.
pub const MIN_KEY_BYTES: usize = 16;

/// A shared key. Its bytes are never shown; they are sent only over a sealed channel, to an agent that makes a test with
/// another.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Key(Vec<u8>);

/// A key of fewer than [`MIN_KEY_BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key of {0} bytes is too short: at least {MIN_KEY_BYTES} are needed")]
pub struct TooShort(usize);

impl Key {
    /// A key of these bytes; white space around them, such as a file's last line feed, does not count.
    pub fn new(bytes: &[u8]) -> Result<Self, TooShort> {
        let bytes = bytes.trim_ascii();
        if bytes.len() < MIN_KEY_BYTES {
            return Err(TooShort(bytes.len()));
        }
        Ok(Self(bytes.to_vec()))
    }

    /// Secret of the sealed control channel.
    pub(crate) fn channel_secret(&self) -> [u8; SIZE] {
        mac(&self.0, &[b"linerate Noise_NNpsk0"])
    }
}

impl TryFrom<Vec<u8>> for Key {
    type Error = TooShort;

    fn try_from(bytes: Vec<u8>) -> Result<Self, TooShort> {
        Self::new(&bytes)
    }
}

impl From<Key> for Vec<u8> {
    fn from(key: Key) -> Self {
        key.0
    }
}

/// HMAC-SHA-256 (RFC 2104, RFC 6234) of these parts.
fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; SIZE] {
    let mut context = hmac::Context::with_key(&hmac::Key::new(HMAC_SHA256, key));
    for part in parts {
        context.update(part);
    }
    let tag = context.sign();
    tag.as_ref()
        .try_into()
        .expect("invariant: SHA-256 has 32 bytes")
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A key with this end's ephemeral key: fresh random bytes for every session, never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The shared key.
    pub key: Key,
    /// This end's ephemeral private key.
    pub ephemeral: [u8; SIZE],
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

/// Token of the data streams of test `test`, derived from the session's random bytes; unguessable without them.
pub(crate) fn test_token(random: &[u8; SIZE], test: u32) -> u32 {
    let [t0, t1, t2, t3, ..] = mac(random, &[b"linerate token", &test.to_be_bytes()]);
    u32::from_be_bytes([t0, t1, t2, t3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_of_one_key() {
        let secret = |text: &str| Key::new(text.as_bytes()).unwrap().channel_secret();
        assert_eq!(
            secret("sixteen bytes or more"),
            secret("sixteen bytes or more\n")
        );
        assert_ne!(
            secret("sixteen bytes or more"),
            secret("sixteen bytes or less")
        );
        let long = "x".repeat(4096);
        assert_ne!(secret(&long), secret(&long[1..]));
    }

    #[test]
    fn a_token_is_of_one_session_and_one_test() {
        let tokens = [
            test_token(&[1; SIZE], 1),
            test_token(&[1; SIZE], 2),
            test_token(&[2; SIZE], 1),
        ];
        // RFC 2104 over SHA-256, as `openssl dgst -sha256 -mac HMAC` has it.
        assert_eq!(tokens[0], 0x67f9_035f);
        assert!(tokens[0] != tokens[1] && tokens[0] != tokens[2] && tokens[1] != tokens[2]);
    }

    #[test]
    fn a_key_is_long_enough_and_not_shown() {
        assert_eq!(Key::new(b"short\n"), Err(TooShort(5)));
        let key = Key::new(b"  0123456789abcdef\n").unwrap();
        assert_eq!(key, Key::new(b"0123456789abcdef").unwrap());
        let ephemeral = [77; SIZE];
        let shown = format!(
            "{:?}{key:?}",
            Credential {
                key: key.clone(),
                ephemeral
            }
        );
        assert_eq!(shown, "Credential(…)Key(…)");
    }
}
