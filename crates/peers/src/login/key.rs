//! RSA keys, with a constant-time library.
//!
//! Keys are checked once and stored in the one form that the library writes, so that equal keys compare equal.

use super::{LoginError, Padding};
use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{
    KeyPair, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    Pkcs1PrivateDecryptingKey, Pkcs1PublicEncryptingKey, PrivateDecryptingKey, PublicEncryptingKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A public key of 2048 to 8192 bits, in X.509 form.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PublicKey(Vec<u8>);

impl PublicKey {
    /// Parses PEM in X.509 or PKCS#1 form; the error says what is wrong.
    pub(super) fn from_pem(pem: &str) -> Result<Self, String> {
        let der = der_of(pem)?;
        let known = PublicEncryptingKey::from_der(&der).map_err(|error| error.to_string());
        let key = known.or_else(|cause| {
            let other = aws_lc_rs::rsa::PublicKey::from_der(&der).map_err(|_| cause.clone())?;
            let der = other.as_der().map_err(|_| cause.clone())?;
            PublicEncryptingKey::from_der(der.as_ref()).map_err(|_| cause)
        })?;
        let der = key.as_der().map_err(|error| error.to_string())?;
        Ok(Self(der.as_ref().to_vec()))
    }

    fn key(&self) -> PublicEncryptingKey {
        PublicEncryptingKey::from_der(&self.0).expect(OWN_KEY)
    }

    /// Encrypts `text` for the owner of the private key. The library draws the padding's random bytes.
    pub(super) fn encrypt(&self, padding: Padding, text: &[u8]) -> Result<Vec<u8>, LoginError> {
        let key = self.key();
        let mut room = vec![0; key.key_size_bytes()];
        let (limit, encrypted) = match padding {
            Padding::Oaep => {
                let key = OaepPublicEncryptingKey::new(key).expect(OWN_KEY);
                let limit = key.max_plaintext_size(&OAEP_SHA1_MGF1SHA1);
                let encrypted = key.encrypt(&OAEP_SHA1_MGF1SHA1, text, &mut room, None);
                (limit, encrypted.is_ok())
            }
            Padding::Pkcs1 => {
                let key = Pkcs1PublicEncryptingKey::new(key).expect(OWN_KEY);
                (
                    key.max_plaintext_size(),
                    key.encrypt(text, &mut room).is_ok(),
                )
            }
        };
        let bytes = text.len();
        // No other error is possible for a text.
        encrypted
            .then_some(room)
            .ok_or(LoginError::TooLong { bytes, limit })
    }
}

/// A private key of 2048 to 8192 bits, in PKCS#8 form.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PrivateKey(Vec<u8>);

impl PrivateKey {
    /// Parses PEM in PKCS#8 or PKCS#1 form, without a passphrase; the error says what is wrong.
    pub(super) fn from_pem(pem: &str) -> Result<Self, String> {
        let der = der_of(pem)?;
        let known = PrivateDecryptingKey::from_pkcs8(&der).map_err(|error| error.to_string());
        let key = known.or_else(|cause| {
            let other = KeyPair::from_der(&der).map_err(|_| cause.clone())?;
            let der = other.as_der().map_err(|_| cause.clone())?;
            PrivateDecryptingKey::from_pkcs8(der.as_ref()).map_err(|_| cause)
        })?;
        let der = key.as_der().map_err(|error| error.to_string())?;
        Ok(Self(der.as_ref().to_vec()))
    }

    /// Decrypts `bytes`; `None` if they were encrypted for another key or with another padding.
    pub(super) fn decrypt(&self, padding: Padding, bytes: &[u8]) -> Option<Vec<u8>> {
        let key = PrivateDecryptingKey::from_pkcs8(&self.0).expect(OWN_KEY);
        let mut room = vec![0; key.key_size_bytes()];
        let text = match padding {
            Padding::Oaep => {
                let key = OaepPrivateDecryptingKey::new(key).expect(OWN_KEY);
                key.decrypt(&OAEP_SHA1_MGF1SHA1, bytes, &mut room, None)
                    .map(|text| text.len())
            }
            Padding::Pkcs1 => {
                let key = Pkcs1PrivateDecryptingKey::new(key).expect(OWN_KEY);
                key.decrypt(bytes, &mut room).map(|text| text.len())
            }
        };
        room.truncate(text.ok()?);
        Some(room)
    }
}

const OWN_KEY: &str = "invariant: the library takes the keys that it wrote";

/// DER bytes of the only key in `pem`.
fn der_of(pem: &str) -> Result<Vec<u8>, String> {
    let lines: Vec<_> = pem.lines().map(str::trim).collect();
    let begin = lines
        .iter()
        .position(|line| line.starts_with("-----BEGIN "));
    let end = lines.iter().position(|line| line.starts_with("-----END "));
    let inside = begin
        .zip(end)
        .and_then(|(begin, end)| lines.get(begin + 1..end));
    let text = inside.ok_or("no BEGIN and END lines")?.concat();
    STANDARD.decode(text).map_err(|error| error.to_string())
}
