//! What the documents of finished runs say in a list, kept so that a long list need not read them all again.
//!
//! Never the truth: what is kept of a run counts as long as its document is the same file, unchanged. An index that is
//! missing, damaged or of another build is as good as none, and one that cannot be written is not missed.

#[cfg(unix)]
use super::RUN;
use super::Summary;
use crate::regular;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;
use std::fs::File;
#[cfg(unix)]
use std::fs::Metadata;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The file in the store's directory.
pub(super) const INDEX: &str = ".index.json";

/// Builds read the indexes of their own version only.
const SCHEMA: &str = concat!("linerate/index/5 of ", env!("CARGO_PKG_VERSION"));

/// Largest index that is read: half a kilobyte for each of 100 000 runs.
const MAX_BYTES: u64 = 64 << 20;

/// Documents that had to be read for which it is worth writing the index again.
const MIN_FRESH: usize = 32;

/// What is kept of each finished run, by its id. Only what is asked for is decoded: the threads that list share that work.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Index<'a> {
    schema: &'a str,
    #[serde(borrow)]
    runs: BTreeMap<String, &'a RawValue>,
}

/// What a document said when it was the file `stamp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexedRun {
    stamp: Stamp,
    /// When the run was begun: orders the list.
    pub(super) written: Option<SystemTime>,
    pub(super) summary: Summary,
}

/// Which file this is, and in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds of the last change of content or name, which no program can set.
    changed: (i64, i64),
}

impl Stamp {
    /// Of the document of the run in `dir`, if it has one.
    pub(super) fn of(dir: &Path) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let file: Metadata = std::fs::metadata(dir.join(RUN)).ok()?;
            Some(Self {
                device: file.dev(),
                inode: file.ino(),
                bytes: file.size(),
                changed: (file.ctime(), file.ctime_nsec()),
            })
        }
        // Where files have no such numbers, every list reads every head.
        #[cfg(not(unix))]
        {
            let _ = dir;
            None
        }
    }

    /// What is to be kept of a run whose document had this stamp before it was read.
    pub(super) const fn keep(self, written: Option<SystemTime>, summary: Summary) -> IndexedRun {
        IndexedRun {
            stamp: self,
            written,
            summary,
        }
    }
}

impl<'a> Index<'a> {
    /// The file of the index of the store in `dir`, empty if there is none.
    pub(super) fn read(dir: &Path) -> Vec<u8> {
        let text = regular::small(&dir.join(INDEX), MAX_BYTES);
        text.unwrap_or_default().into_bytes()
    }

    /// The index in a file, empty if that is none that can be used.
    pub(super) fn of(file: &'a [u8]) -> Self {
        let found: Self = serde_json::from_slice(file).unwrap_or_default();
        if found.schema == SCHEMA {
            found
        } else {
            Self::default()
        }
    }

    /// What is known of the run `id`, if its document is still the one that was read.
    pub(super) fn get(&self, id: &str, stamp: Stamp) -> Option<IndexedRun> {
        let kept: IndexedRun = serde_json::from_str(self.runs.get(id)?.get()).ok()?;
        (kept.stamp == stamp).then_some(kept)
    }

    /// Takes in what was read beside it, and forgets what is not in the store any more. Writes it if that is worth it.
    pub(super) fn renew(
        self,
        dir: &Path,
        fresh: &[(String, IndexedRun)],
        entries: &[(String, PathBuf)],
    ) {
        if fresh.len() < MIN_FRESH {
            return;
        }
        let fresh: Vec<_> = fresh
            .iter()
            .filter_map(|(id, kept)| Some((id.clone(), to_raw_value(kept).ok()?)))
            .collect();
        let is_there = |id: &String| entries.binary_search_by(|(entry, _)| entry.cmp(id)).is_ok();
        let mut runs = self.runs;
        runs.retain(|id, _| is_there(id));
        runs.extend(fresh.iter().map(|(id, kept)| (id.clone(), &**kept)));
        let renewed = Index {
            schema: SCHEMA,
            runs,
        };
        // Without it the next list takes longer.
        drop(renewed.write(dir));
    }

    /// Others may do the same at the same time: each writes a file of its own, the last one stays.
    fn write(&self, dir: &Path) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let own = format!("{INDEX}.{}-{number}", std::process::id());
        let temporary = dir.join(own);
        let written = File::create_new(&temporary).and_then(|file| {
            let mut file = BufWriter::new(file);
            serde_json::to_writer(&mut file, self)?;
            file.flush()?;
            std::fs::rename(&temporary, dir.join(INDEX))
        });
        written.inspect_err(|_| drop(std::fs::remove_file(&temporary)))
    }
}
