//! What tests share: a host of files.

use crate::host_view::Scope;
use std::path::Path;
use tempfile::TempDir;

/// A folder with these files in the place of the host's root.
pub(crate) fn host_with(files: &[(&str, &str)]) -> (TempDir, Scope) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(root.path(), path, text);
    }
    let scope = Scope {
        interface: None,
        root: root.path().to_owned(),
    };
    (root, scope)
}

/// Writes one of them.
pub(crate) fn write(root: &Path, path: impl AsRef<Path>, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
