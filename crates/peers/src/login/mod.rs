//! Users and passwords, for protocols that have users: what a client shows of its user, and what a server lets in. The
//! token is iperf3's (since 3.2).
//!
//! The client encrypts name, password and time with the server's public RSA key; the server decrypts that and looks the user
//! up. It proves who asks when the test is asked for; it hides nothing else, and who can read the network can
//! show the same token again for some seconds. Neither password nor key is ever shown.
//!
//! ```text
//!  user: NAME\n pwd:  PASSWORD\n ts:   SECONDS  → padded (OAEP with SHA-1, PKCS#1 v1.5 before 3.17) → RSA → base64
//! ```

mod key;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use key::{PrivateKey, PublicKey};
use linerate_model::MonoInstant;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Maximum difference between both ends' clocks, iperf3's default.
const SKEW: Duration = Duration::from_secs(10);

/// Padding before encryption; both ends must use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Padding {
    /// OAEP with SHA-1: iperf3 from 3.17 on.
    #[default]
    Oaep,
    /// PKCS#1 v1.5: iperf3 before 3.17, and later with `--use-pkcs1-padding`. A server that takes it can be
    /// made to tell what a recorded token holds, by someone who measures its answers.
    Pkcs1,
}

impl FromStr for Padding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "oaep" => Ok(Self::Oaep),
            "pkcs1" => Ok(Self::Pkcs1),
            _ => Err("it takes oaep, or pkcs1 for iperf3 before 3.17".to_owned()),
        }
    }
}

/// Why a login cannot be used, shown or accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// No RSA key in PEM form.
    #[error(
        "this is not a {what} RSA key in PEM form: {cause}; make a pair with: openssl genrsa -out private.pem 2048; openssl rsa -in private.pem -pubout -out public.pem"
    )]
    Key {
        /// `public` or `private`.
        what: &'static str,
        /// What the decoder says.
        cause: String,
    },
    /// Invalid line in the list of users.
    #[error(
        "line {line} is not USER,HASH; the hash is 64 hexadecimal digits: printf '{{USER}}PASSWORD' | sha256sum"
    )]
    Line {
        /// From 1.
        line: usize,
    },
    /// Name or password that the token cannot carry.
    #[error("{what} is empty, or has a line break in it")]
    Text {
        /// Name or password.
        what: &'static str,
    },
    /// Name and password do not fit into one block of the key.
    #[error(
        "name and password are too long for this key: with the time {bytes} bytes, at most {limit}"
    )]
    TooLong {
        /// Length to encrypt.
        bytes: usize,
        /// Maximum length.
        limit: usize,
    },
    /// The client sent no token.
    #[error("the client showed no user")]
    Nothing,
    /// The token was not made for this key and padding.
    #[error(
        "what the client showed cannot be decrypted: it has another server's key, or another padding (iperf3 before 3.17: --login-padding pkcs1)"
    )]
    Unreadable,
    /// Wall time at which a session begins, since 1970.
    #[error("the client's clock is {seconds} s from this host's: at most {} are accepted", SKEW.as_secs())]
    Skew {
        /// Absolute difference.
        seconds: u64,
    },
    /// Unknown user, or wrong password.
    #[error("user {user} is not in the list with this password")]
    Wrong {
        /// User name, printable.
        user: String,
    },
}

/// Wall time at which the session begins, to make and check tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Wall time when the session begins, since 1970.
    pub unix: Duration,
}

impl Moment {
    /// Wall time at `now` in seconds since 1970, where this moment was `began` on the monotonic clock.
    fn unix_at(&self, began: MonoInstant, now: MonoInstant) -> u64 {
        let passed = now.saturating_since(began);
        self.unix.saturating_add(passed).as_secs()
    }
}

/// Credentials of a client's user.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    user: String,
    password: String,
    key: PublicKey,
    padding: Padding,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({}, …)", self.user)
    }
}

impl Login {
    /// A user with its password, for the server with this public key (PEM).
    pub fn new(
        user: &str,
        password: &str,
        pem: &str,
        padding: Padding,
    ) -> Result<Self, LoginError> {
        for (what, text) in [("the name", user), ("the password", password)] {
            if text.is_empty() || text.contains(['\n', '\r', '\0']) {
                return Err(LoginError::Text { what });
            }
        }
        let key = PublicKey::from_pem(pem).map_err(|cause| LoginError::Key {
            what: "public",
            cause,
        })?;
        Ok(Self {
            user: user.to_owned(),
            password: password.to_owned(),
            key,
            padding,
        })
    }

    /// Token for the server at `unix`, in seconds since 1970.
    fn token(&self, unix: u64) -> Result<String, LoginError> {
        let text = format!("user: {}\npwd:  {}\nts:   {unix}", self.user, self.password);
        let bytes = self.key.encrypt(self.padding, text.as_bytes())?;
        Ok(STANDARD.encode(bytes))
    }
}

/// A client's user in one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginAttempt {
    /// User and password.
    pub login: Arc<Login>,
    /// Wall time at which the session begins.
    pub moment: Moment,
}

impl LoginAttempt {
    /// Token for the server at `now`, in a session that began at `began`.
    pub(crate) fn token(&self, began: MonoInstant, now: MonoInstant) -> Result<String, LoginError> {
        let unix = self.moment.unix_at(began, now);
        self.login.token(unix)
    }
}

/// Users that a server accepts, with the key that decrypts their tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Logins {
    key: PrivateKey,
    /// SHA-256 of `{name}password`.
    users: BTreeMap<String, [u8; 32]>,
    padding: Padding,
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logins({} users, …)", self.users.len())
    }
}

impl Logins {
    /// The users of this list, lines of `USER,HASH` as iperf3 has them, for clients that know the public
    /// half of this private key (PEM, without a passphrase).
    pub fn new(list: &str, pem: &str, padding: Padding) -> Result<Self, LoginError> {
        let key = PrivateKey::from_pem(pem).map_err(|cause| LoginError::Key {
            what: "private",
            cause,
        })?;
        let lines = (1..).zip(list.lines().map(str::trim));
        let users: Result<_, _> = lines
            .filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
            .map(|(line, text)| user_of(text).ok_or(LoginError::Line { line }))
            .collect();
        Ok(Self {
            key,
            users: users?,
            padding,
        })
    }

    /// Authenticates `token` at `unix`; returns the user's name.
    fn admit(&self, token: &str, unix: u64) -> Result<String, LoginError> {
        let unreadable = || LoginError::Unreadable;
        let bytes = STANDARD.decode(token.trim()).map_err(|_| unreadable())?;
        let text = self.key.decrypt(self.padding, &bytes);
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(unreadable)?;
        let (user, password, at) = parts(&text).ok_or_else(unreadable)?;
        let seconds = at.abs_diff(unix);
        if seconds > SKEW.as_secs() {
            return Err(LoginError::Skew { seconds });
        }
        let shown = hash(user, password);
        let differs =
            |known: &[u8; 32]| known.iter().zip(shown).fold(0, |all, (a, b)| all | (a ^ b));
        match self.users.get(user).map(differs) {
            Some(0) => Ok(user.to_owned()),
            _ => Err(LoginError::Wrong {
                user: crate::error::clean(user, 64),
            }),
        }
    }
}

/// The users of a server in one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Accepted users.
    pub logins: Arc<Logins>,
    /// Wall time at which the session begins.
    pub moment: Moment,
}

impl Gate {
    /// Authenticates `token` at `now`, in a session that began at `began`; returns the user's name.
    pub(crate) fn admit(
        &self,
        token: Option<&str>,
        began: MonoInstant,
        now: MonoInstant,
    ) -> Result<String, LoginError> {
        let token = token.ok_or(LoginError::Nothing)?;
        let unix = self.moment.unix_at(began, now);
        self.logins.admit(token, unix)
    }
}

fn hash(user: &str, password: &str) -> [u8; 32] {
    Sha256::digest(format!("{{{user}}}{password}")).into()
}

/// Parses a line of the list.
fn user_of(line: &str) -> Option<(String, [u8; 32])> {
    let (user, digits) = line.split_once(',')?;
    let digits = digits.trim();
    let mut hash = [0; 32];
    if digits.len() != 2 * hash.len() || !digits.is_ascii() {
        return None;
    }
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
    }
    Some((user.trim().to_owned(), hash))
}

/// Splits a decrypted token into name, password and time.
fn parts(text: &str) -> Option<(&str, &str, u64)> {
    let mut lines = text.splitn(3, '\n');
    let mut field = |label: &str| lines.next()?.strip_prefix(label);
    let user = field("user: ")?;
    let password = field("pwd:  ")?;
    let at = field("ts:   ")?.trim_end_matches('\0').parse().ok()?;
    Some((user, password, at))
}

#[cfg(test)]
mod tests;
