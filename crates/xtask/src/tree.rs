//! The text files of the workspace, read once.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Folders that hold nothing we wrote.
const SKIPPED: &[&str] = &[
    ".git",
    "target",
    "corpus",
    "seeds",
    "artifacts",
    "vendor",
    "node_modules",
];
/// Larger files are data.
const MAX_BYTES: u64 = 512 * 1024;

/// Paths relative to the root with `/`, and their text.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    /// Every file and folder, also those that are not read.
    names: BTreeSet<String>,
}

impl Tree {
    /// Everything below `root` that is text.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.add(root, "")?;
        Ok(tree)
    }

    fn add(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        let entries =
            std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("listing {}", folder.display()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            let path = format!("{prefix}{name}");
            self.names.insert(path.clone());
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.add(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file()
                && entry.metadata()?.len() <= MAX_BYTES
                && let Ok(text) = std::fs::read_to_string(entry.path())
            {
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is such a file or folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.names.contains(path)
    }

    /// Every file, in order of its path.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Our Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| has_extension(path, "rs"))
    }

    /// Names directly in `folder` (`"a.rs"`, and `"b"` for a folder), in order, each once.
    pub(crate) fn entries(&self, folder: &str) -> Vec<&str> {
        let prefix = format!("{folder}/");
        let mut names: Vec<&str> = self
            .files
            .keys()
            .filter_map(|path| path.strip_prefix(&prefix))
            .map(|rest| rest.split('/').next().unwrap_or(rest))
            .collect();
        names.dedup();
        names
    }

    /// Folders of the workspace's members.
    pub(crate) fn members(&self) -> Vec<String> {
        self.entries("crates")
            .into_iter()
            .map(|name| format!("crates/{name}"))
            .collect()
    }
}

/// Whether `path` ends in `.extension`.
pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}

#[cfg(test)]
pub(crate) fn fake(files: &[(&str, &str)]) -> Tree {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect::<BTreeMap<_, _>>();
    let names = files.keys().cloned().collect();
    Tree { files, names }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_without_build_products_and_binary_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: &[u8]| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        write("crates/a/src/lib.rs", b"//! A.\n");
        write("target/debug/x.rs", b"fn x() {}");
        write("picture.png", &[0xff, 0xfe, 0x00]);
        let tree = Tree::read(folder.path()).unwrap();
        assert_eq!(
            tree.files().collect::<Vec<_>>(),
            [("crates/a/src/lib.rs", "//! A.\n")]
        );
        assert!(tree.has("picture.png") && tree.has("crates/a") && tree.has("target"));
        assert!(!tree.has("target/debug"));
        assert_eq!(tree.members(), ["crates/a"]);
        assert_eq!(tree.entries("crates/a/src"), ["lib.rs"]);
    }
}
