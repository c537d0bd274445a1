//! What a user keeps beside runs: names for them, notes on them; and their removal.
//!
//! ```text
//! <store>/.tags/<name>     the id of the run that is called so
//!         <id>/note.txt    the user's note on a run
//! ```
//!
//! The run documents stay as they were written.

use super::{Store, StoreEntry, StoreError, files, of_each};
use crate::regular;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Folder of the tags.
const TAGS: &str = ".tags";
/// File of a run's note.
const NOTE: &str = "note.txt";
/// Longest note; one that is longer is a document of its own.
const MAX_NOTE_BYTES: u64 = 64 * 1024;

impl Store {
    /// Calls the run that `wanted` names `tag`, whatever was called so before. Returns its id.
    pub fn tag(&self, wanted: &str, tag: &str) -> Result<String, StoreError> {
        if !is_tag(tag) {
            return Err(StoreError::TagName {
                name: tag.to_owned(),
            });
        }
        let (id, _) = self.stored(wanted)?;
        let folder = self.dir.join(TAGS);
        std::fs::create_dir_all(&folder)
            .map_err(|source| StoreError::io("create the tags", &folder, source))?;
        files::write_atomically(&folder.join(tag), id.as_bytes())?;
        Ok(id)
    }

    /// Forgets a tag; the run stays.
    pub fn untag(&self, tag: &str) -> Result<(), StoreError> {
        let path = self.dir.join(TAGS).join(tag);
        let none = || StoreError::NoTag {
            name: tag.to_owned(),
            store: self.dir.clone(),
        };
        if !is_tag(tag) {
            return Err(none());
        }
        std::fs::remove_file(&path).map_err(|source| match source.kind() {
            ErrorKind::NotFound => none(),
            _ => StoreError::io("remove the tag", &path, source),
        })
    }

    /// The ids of tagged runs, by tag.
    pub fn tags(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let folder = self.dir.join(TAGS);
        let fail = |source| StoreError::io("list the tags", &folder, source);
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            read => read.map_err(fail)?,
        };
        let mut tags = BTreeMap::new();
        for entry in entries {
            let name = entry
                .map_err(fail)?
                .file_name()
                .to_string_lossy()
                .into_owned();
            if let Some(id) = self.tagged(&name) {
                tags.insert(name, id);
            }
        }
        Ok(tags)
    }

    /// The id of the run that is called `tag`.
    pub(super) fn tagged(&self, tag: &str) -> Option<String> {
        if !is_tag(tag) {
            return None;
        }
        let id = regular::small(&self.dir.join(TAGS).join(tag), MAX_NOTE_BYTES)?;
        // A file that somebody else put there leads nowhere else.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        (id.starts_with(|c: char| c.is_ascii_alphanumeric()) && id.chars().all(is_name))
            .then_some(id)
    }

    /// Keeps a note on a run in place of the one before; an empty one removes it. Returns the run's id.
    pub fn set_note(&self, wanted: &str, text: &str) -> Result<String, StoreError> {
        let (id, path) = self.stored(wanted)?;
        let note = path.join(NOTE);
        if text.is_empty() {
            match std::fs::remove_file(&note) {
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(StoreError::io("remove the note", &note, source));
                }
                _ => return Ok(id),
            }
        }
        files::write_atomically(&note, text.as_bytes())?;
        Ok(id)
    }

    /// The note on a run, if there is one.
    pub fn note(&self, wanted: &str) -> Result<Option<String>, StoreError> {
        let (_, path) = self.stored(wanted)?;
        Ok(note_in(&path))
    }

    /// The note on each of many listed runs, in their order.
    pub fn notes(&self, listed: &[&StoreEntry]) -> Vec<Option<String>> {
        of_each(listed, |run| note_in(&run.path))
    }

    /// Removes a run, for good. One that is tagged is kept. Returns its id.
    pub fn remove(&self, wanted: &str) -> Result<String, StoreError> {
        let (id, path) = self.stored(wanted)?;
        let tags: Vec<_> = self
            .tags()?
            .into_iter()
            .filter(|(_, of)| *of == id)
            .collect();
        if !tags.is_empty() {
            return Err(StoreError::Tagged {
                id,
                tags: tags.into_iter().map(|(tag, _)| tag).collect(),
            });
        }
        // Out of every list at once, however long the rest takes or whether it is interrupted.
        let gone = self.dir.join(format!(".removed-{id}"));
        std::fs::rename(&path, &gone)
            .map_err(|source| StoreError::io("remove the run", &path, source))?;
        std::fs::remove_dir_all(&gone)
            .map_err(|source| StoreError::io("remove the run", &gone, source))?;
        Ok(id)
    }

    /// The id of the run of this store that is called so.
    pub fn id(&self, wanted: &str) -> Result<String, StoreError> {
        Ok(self.stored(wanted)?.0)
    }

    /// Id and directory of a run of this store.
    fn stored(&self, wanted: &str) -> Result<(String, PathBuf), StoreError> {
        let path = self.named(wanted)?;
        let id = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok((id, path))
    }
}

fn note_in(folder: &Path) -> Option<String> {
    regular::small(&folder.join(NOTE), MAX_NOTE_BYTES)
}

/// Whether a tag can be called so: no run's id, no path, not `last`.
fn is_tag(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && name.len() <= 100
        && name != "last"
        && ![".json", ".tmp"].iter().any(|end| name.ends_with(end))
}
