//! A file of a package.

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is installed, below the prefix (`/usr`); in packages of a distribution what is in `etc` is below `/`.
    pub path: String,
    /// Permissions.
    pub mode: u32,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl Entry {
    /// Whether it is configuration, which a package manager keeps as its user has changed it.
    pub fn is_configuration(&self) -> bool {
        self.path.starts_with("etc/")
    }

    /// A text.
    pub(crate) fn text(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (path, bytes) = (path.into(), bytes.into());
        Self {
            path,
            mode: 0o644,
            bytes,
        }
    }

    /// A program.
    pub(crate) fn program(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self {
            mode: 0o755,
            ..Self::text(path, bytes)
        }
    }
}
