//! Shared-key authentication: a client that holds the server's key may run tests from any address.
//!
//! Each end proves that it holds the key without showing it: HMAC-SHA-256 (RFC 2104, RFC 6234) over its own role and
//! both ends' random nonces, so that a proof is valid neither for the other role nor on another connection. It
//! authenticates the start of a session; it does not encrypt, and does not protect what follows from an attacker who
//! can change packets on the path.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use std::fmt;

/// Bytes of a nonce and of a proof.
pub const SIZE: usize = 32;

/// Fewest bytes of a key: 128 bits.
pub const MIN_KEY_BYTES: usize = 16;

/// A shared key. Its bytes are never shown.
#[derive(Clone, PartialEq, Eq)]
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

    /// Proof that this end, in `role`, holds the key.
    pub(crate) fn proof(&self, role: Prover, nonces: &Nonces) -> [u8; SIZE] {
        self.mac(role, nonces).finalize().into_bytes().into()
    }

    /// Whether `proof` was made with this key. Constant time.
    pub(crate) fn is_proven_by(&self, proof: &[u8], role: Prover, nonces: &Nonces) -> bool {
        self.mac(role, nonces).verify_slice(proof).is_ok()
    }

    fn mac(&self, role: Prover, nonces: &Nonces) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .expect("invariant: HMAC takes keys of any length");
        mac.update(match role {
            Prover::Client => b"linerate client",
            Prover::Server => b"linerate server",
        });
        mac.update(&nonces.server);
        mac.update(&nonces.client);
        mac
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A key with this end's nonce: fresh random bytes for every session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The shared key.
    pub key: Key,
    /// This end's nonce.
    pub nonce: [u8; SIZE],
}

/// Token of the data streams of test `test`, derived from the session's random bytes; unguessable without them.
pub(crate) fn test_token(random: &[u8; SIZE], test: u32) -> u32 {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(random).expect("invariant: HMAC takes keys of any length");
    mac.update(b"linerate token");
    mac.update(&test.to_be_bytes());
    let digest: [u8; SIZE] = mac.finalize().into_bytes().into();
    let [t0, t1, t2, t3, ..] = digest;
    u32::from_be_bytes([t0, t1, t2, t3])
}

/// Whose proof it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prover {
    Client,
    Server,
}

/// Both ends' nonces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nonces {
    pub(crate) server: [u8; SIZE],
    pub(crate) client: [u8; SIZE],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_serves_one_key_one_role_and_one_session() {
        let key = |text: &str| Key::new(text.as_bytes()).unwrap();
        let ours = key("sixteen bytes or more");
        let nonces = Nonces {
            server: [1; SIZE],
            client: [2; SIZE],
        };
        let proof = ours.proof(Prover::Client, &nonces);
        assert!(ours.is_proven_by(&proof, Prover::Client, &nonces));
        assert!(!ours.is_proven_by(&proof, Prover::Server, &nonces));
        assert!(!key("sixteen bytes or less").is_proven_by(&proof, Prover::Client, &nonces));
        assert!(!ours.is_proven_by(&proof[..31], Prover::Client, &nonces));
        for other in [
            Nonces {
                server: [3; SIZE],
                ..nonces
            },
            Nonces {
                client: [3; SIZE],
                ..nonces
            },
        ] {
            assert!(!ours.is_proven_by(&proof, Prover::Client, &other));
        }
    }

    #[test]
    fn a_key_is_long_enough_and_not_shown() {
        assert_eq!(Key::new(b"short\n"), Err(TooShort(5)));
        let key = Key::new(b"  0123456789abcdef\n").unwrap();
        assert_eq!(key, Key::new(b"0123456789abcdef").unwrap());
        assert_eq!(format!("{key:?}"), "Key(…)");
    }
}
