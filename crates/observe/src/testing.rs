//! Test fixtures: a host made of files.

use crate::host_view::Scope;
use linerate_sys::host_files::HostFiles;
use std::path::Path;
use tempfile::TempDir;

/// A folder with these files as the host's root.
pub(crate) fn host_with(files: &[(&str, &str)]) -> (TempDir, Scope) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(root.path(), path, text);
    }
    let scope = Scope {
        interface: None,
        beside: Vec::new(),
        root: HostFiles::new(root.path()),
    };
    (root, scope)
}

/// The host of a recorded tree, with its interface. `== PATH` begins a file, `=> PATH` a link, whose target follows;
/// `\\0` is the byte that ends texts of a device tree.
pub(crate) fn tree(recorded: &str, interface: &str) -> (TempDir, Scope) {
    let root = tempfile::tempdir().unwrap();
    let mut lines = recorded.lines().peekable();
    while let Some(line) = lines.next() {
        let (kind, path) = line.split_at(3);
        let mut text = String::new();
        while let Some(line) =
            lines.next_if(|line| !line.starts_with("== ") && !line.starts_with("=> "))
        {
            text.push_str(line);
            text.push('\n');
        }
        if kind == "== " {
            let text = text.replace("\\0\n", "\0").replace("\\0", "\0");
            write(root.path(), path, &text);
        } else {
            let link = root.path().join(path);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            let target = text.trim().trim_start_matches('/');
            std::os::unix::fs::symlink(format!("/{target}"), link).unwrap();
        }
    }
    let scope = Scope {
        interface: Some(interface.to_owned()),
        beside: Vec::new(),
        root: HostFiles::new(root.path()),
    };
    (root, scope)
}

/// Writes one file below the root.
pub(crate) fn write(root: &Path, path: impl AsRef<Path>, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
