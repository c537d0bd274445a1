//! Primitives of the Noise Protocol Framework for `snow`, by the library of the logins: X25519, ChaCha20-Poly1305, SHA-256.
//!
//! The ephemeral key comes from outside, so that a session draws no random bytes itself.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey, X25519};
use aws_lc_rs::digest::{Context, SHA256};
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};

/// Bytes of an X25519 key, private or public, and of a cipher's key.
const KEY: usize = 32;
/// Bytes by which a message is longer than what it carries.
pub(super) const TAG: usize = 16;

/// The primitives of one session.
pub(super) struct Primitives {
    /// Private key of this session alone.
    pub(super) ephemeral: [u8; KEY],
}

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Once(Some(self.ephemeral))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        let pair = Pair {
            private: [0; KEY],
            public: [0; KEY],
        };
        (*choice == DHChoice::Curve25519).then(|| Box::new(pair) as _)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        let sha256 = || Box::new(Sha256(Context::new(&SHA256))) as _;
        (*choice == HashChoice::SHA256).then(sha256)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        let cipher = || Box::new(ChaChaPoly(cipher(&[0; KEY]))) as _;
        (*choice == CipherChoice::ChaChaPoly).then(cipher)
    }
}

/// Random bytes that are given out once: a handshake has one ephemeral key.
struct Once(Option<[u8; KEY]>);

impl Random for Once {
    fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Error> {
        let bytes = self.0.take().filter(|bytes| bytes.len() == to.len());
        to.copy_from_slice(&bytes.ok_or(Error::Rng)?);
        Ok(())
    }
}

/// A pair of keys.
struct Pair {
    private: [u8; KEY],
    public: [u8; KEY],
}

impl Pair {
    fn key(&self) -> Result<PrivateKey, Error> {
        PrivateKey::from_private_key(&X25519, &self.private).map_err(|_| Error::Dh)
    }

    fn complete(&mut self) -> Result<(), Error> {
        let public = self.key()?.compute_public_key().map_err(|_| Error::Dh)?;
        self.public.copy_from_slice(public.as_ref());
        Ok(())
    }
}

impl Dh for Pair {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY
    }

    fn priv_len(&self) -> usize {
        KEY
    }

    fn set(&mut self, private: &[u8]) {
        self.private.copy_from_slice(private);
        self.complete()
            .expect("invariant: every 32 bytes are a private key of X25519");
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        random.try_fill_bytes(&mut self.private)?;
        self.complete()
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.private
    }

    fn dh(&self, public: &[u8], to: &mut [u8]) -> Result<(), Error> {
        // What is handed over is as long as the longest curve's keys.
        let public = public.get(..KEY).ok_or(Error::Dh)?;
        let public = UnparsedPublicKey::new(&X25519, public);
        agreement::agree(&self.key()?, public, Error::Dh, |secret| {
            to[..KEY].copy_from_slice(secret);
            Ok(())
        })
    }
}

struct Sha256(Context);

impl Hash for Sha256 {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        32
    }

    fn reset(&mut self) {
        self.0 = Context::new(&SHA256);
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, to: &mut [u8]) {
        to[..32].copy_from_slice(self.0.clone().finish().as_ref());
    }
}

struct ChaChaPoly(LessSafeKey);

fn cipher(key: &[u8; KEY]) -> LessSafeKey {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key);
    LessSafeKey::new(key.expect("invariant: the key is of the cipher's length"))
}

/// The number of a message as the cipher's nonce (Noise revision 34, section 12.3).
fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

impl Cipher for ChaChaPoly {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &[u8; KEY]) {
        self.0 = cipher(key);
    }

    fn encrypt(&self, number: u64, with: &[u8], plain: &[u8], to: &mut [u8]) -> usize {
        let (body, rest) = to.split_at_mut(plain.len());
        body.copy_from_slice(plain);
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce(number), Aad::from(with), body);
        let tag = tag.expect("invariant: a message is far shorter than the cipher allows");
        rest[..TAG].copy_from_slice(tag.as_ref());
        plain.len() + TAG
    }

    fn decrypt(
        &self,
        number: u64,
        with: &[u8],
        sealed: &[u8],
        to: &mut [u8],
    ) -> Result<usize, Error> {
        let length = sealed.len().checked_sub(TAG).ok_or(Error::Decrypt)?;
        let (body, tag) = sealed.split_at(length);
        let to = to.get_mut(..length).ok_or(Error::Decrypt)?;
        self.0
            .open_separate_gather(nonce(number), Aad::from(with), body, tag, to)
            .map_err(|_| Error::Decrypt)?;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use snow::{Builder, HandshakeState};

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.map(byte).collect()
    }

    const PSK: [u8; KEY] = *b"This is my Austrian perspective!";

    fn end(ephemeral: &str, is_client: bool) -> HandshakeState {
        let ephemeral = bytes(ephemeral).try_into().unwrap();
        let params = super::super::seal::PROTOCOL.parse().unwrap();
        let builder = Builder::with_resolver(params, Box::new(Primitives { ephemeral }));
        let prologue = bytes("4a6f686e2047616c74");
        let builder = builder.prologue(&prologue).unwrap();
        let builder = builder.psk(0, &PSK).unwrap();
        if is_client {
            builder.build_initiator().unwrap()
        } else {
            builder.build_responder().unwrap()
        }
    }

    /// The vector of `Noise_NNpsk0_25519_ChaChaPoly_SHA256` made by another implementation, cacophony.
    #[test]
    fn what_is_sent_is_what_other_implementations_send() {
        let mut client = end(
            "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a",
            true,
        );
        let mut server = end(
            "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b",
            false,
        );
        let (mut said, mut heard) = ([0; 200], [0; 200]);
        let handshake = [
            (
                "4c756477696720766f6e204d69736573",
                "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c794479b962b8aff8485742ac32f905ba45369e2465fb59e138a93d67a0d1266b6a54",
            ),
            (
                "4d757272617920526f746862617264",
                "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843d6062704d5a9c422a8e834423f8c1feada7e8d0d910a1a2cd030fb584221e3",
            ),
        ];
        for (turn, (plain, sealed)) in handshake.into_iter().enumerate() {
            let (from, to) = if turn == 0 {
                (&mut client, &mut server)
            } else {
                (&mut server, &mut client)
            };
            let length = from.write_message(&bytes(plain), &mut said).unwrap();
            assert_eq!(said[..length], bytes(sealed));
            let length = to.read_message(&said[..length], &mut heard).unwrap();
            assert_eq!(heard[..length], bytes(plain));
        }
        let mut client = client.into_transport_mode().unwrap();
        let mut server = server.into_transport_mode().unwrap();
        let length = client
            .write_message(&bytes("462e20412e20486179656b"), &mut said)
            .unwrap();
        let sealed = "e632c3763d7669067383433197a3baddf146e9e70ad4b4e9e59e0f";
        assert_eq!(said[..length], bytes(sealed));
        let length = server
            .write_message(&bytes("4361726c204d656e676572"), &mut said)
            .unwrap();
        let sealed = "64c6bee32ea91c8474bb4c21d7a700109ad45af77b29764ba5eb1e";
        assert_eq!(said[..length], bytes(sealed));
    }

    #[test]
    fn a_public_key_that_makes_the_secret_known_is_refused() {
        let mut pair = Pair {
            private: [0; KEY],
            public: [0; KEY],
        };
        pair.set(&[5; KEY]);
        assert_eq!(pair.dh(&[0; KEY], &mut [0; KEY]), Err(Error::Dh));
        assert_eq!(pair.dh(&[0; KEY - 1], &mut [0; KEY]), Err(Error::Dh));
    }
}
