//! Users and passwords for protocols with authentication: reads their files and the wall time.

use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_sys::bounded;
use linerate_sys::clock::wall_now;
use std::path::Path;
use std::time::Duration;

pub use linerate_peers::login::{Gate, LoginAttempt, Moment};
pub use linerate_peers::login::{Login, LoginError, Logins, Padding};

/// Maximum length read of a key or a list: a list of ten thousand users.
const MAX_FILE: u64 = 1 << 20;

/// A client's user, with the public key of the server in the file `key`.
pub fn read_login(user: &str, password: &str, key: &Path, padding: Padding) -> Result<Login> {
    let pem = read(key)?;
    Login::new(user, password, &pem, padding).map_err(|error| match error {
        LoginError::Key { .. } => in_file(key, &error),
        other => Failure::new(ExitCode::Usage, format!("--login: {other}")),
    })
}

/// The users in the file `list`, with this server's private key in the file `key`.
pub fn read_logins(list: &Path, key: &Path, padding: Padding) -> Result<Logins> {
    let (text, pem) = (read(list)?, read(key)?);
    Logins::new(&text, &pem, padding).map_err(|error| match error {
        LoginError::Line { .. } => in_file(list, &error),
        other => in_file(key, &other),
    })
}

/// The password in the file at `path`: its first line.
pub fn read_password(path: &Path) -> Result<String> {
    let text = read(path)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn in_file(path: &Path, error: &LoginError) -> Failure {
    Failure::new(ExitCode::Usage, format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String> {
    bounded::read_text_file(path, MAX_FILE).map_err(|why| {
        let message = format!("cannot read {}: {why}", path.display());
        Failure::new(ExitCode::Usage, message)
    })
}

/// The present wall time.
pub fn moment() -> Moment {
    let unix = u64::try_from(wall_now().as_unix()).unwrap_or(0);
    Moment {
        unix: Duration::from_secs(unix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_used_are_named_with_what_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("key"), "no key").unwrap();
        std::fs::write(path("list"), "mario,1").unwrap();
        let error = read_login("mario", "x", &path("key"), Padding::Oaep).unwrap_err();
        assert!(error.message.contains("openssl"), "{error}");
        let error = read_logins(&path("absent"), &path("key"), Padding::Oaep).unwrap_err();
        assert!(error.message.contains("absent"), "{error}");
        std::fs::write(path("password"), "secret word\n\n").unwrap();
        assert_eq!(read_password(&path("password")).unwrap(), "secret word");
    }
}
