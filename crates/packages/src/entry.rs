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

    /// At its place below `/`.
    fn installed(self) -> Self {
        let prefix = if self.is_configuration() { "" } else { "usr/" };
        Self {
            path: format!("{prefix}{}", self.path),
            ..self
        }
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

    /// A program or a script.
    pub(crate) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            mode: 0o755,
            ..Self::text(path, bytes)
        }
    }
}

/// What paths below the prefix begin with, and what they begin with at a family of distributions; nothing where it has no
/// use for such files.
pub(crate) type Move = (&'static str, Option<&'static str>);

/// Files at their places below `/`, sorted by path: `common` ones where `moves` sends them, and those of a family's own.
pub(crate) fn laid_out(
    common: &[Entry],
    moves: &[Move],
    own: impl IntoIterator<Item = Entry>,
) -> Vec<Entry> {
    let kept = common.iter().filter_map(|entry| {
        let found = moves
            .iter()
            .find_map(|(from, to)| Some((entry.path.strip_prefix(from)?, to)));
        let path = match found {
            Some((rest, to)) => format!("{}{rest}", (*to)?),
            None => entry.path.clone(),
        };
        Some(Entry {
            path,
            ..entry.clone()
        })
    });
    let mut all: Vec<_> = kept.chain(own).map(Entry::installed).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}
