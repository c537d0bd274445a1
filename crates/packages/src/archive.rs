//! Archives with the same bytes for the same entries: sorted, owned by root, all of one time.

use crate::entry::Entry;
use crate::package::Package;
use crate::{Source, xz};
use std::collections::BTreeSet;
use std::io;
use tar::{Builder, EntryType, Header};

/// The name of a tarball's only folder, and of the tarball but for its ending.
pub fn tarball_name(
    source: &Source<'_>,
    package: Package,
    architecture: impl std::fmt::Display,
) -> String {
    format!("{}-{}-{architecture}", package.name(), source.version)
}

/// A packed archive of `entries` below `prefix`, such as `linerate-0.1.0-riscv64` or `./usr`.
pub fn tarball(source: &Source<'_>, prefix: &str, entries: &[Entry]) -> io::Result<Vec<u8>> {
    xz(&tar(source, prefix, entries)?)
}

/// The archive before it is packed.
pub(crate) fn tar(source: &Source<'_>, prefix: &str, entries: &[Entry]) -> io::Result<Vec<u8>> {
    tar_with(source, prefix, entries, |_| None)
}

/// The same; what `extension` says of a file, a key and its value, is in a PAX header before it.
pub(crate) fn tar_with(
    source: &Source<'_>,
    prefix: &str,
    entries: &[Entry],
    extension: impl Fn(&Entry) -> Option<(&'static str, String)>,
) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let paths: Vec<String> = entries
        .iter()
        .map(|entry| joined(prefix, &entry.path))
        .collect();
    for folder in folders(&paths) {
        let mut header = header(source, EntryType::Directory, 0o755);
        name(&mut header, &format!("{folder}/"))?;
        archive.append(&header, io::empty())?;
    }
    for (entry, path) in entries.iter().zip(&paths) {
        let extension = extension(entry);
        let extension = extension.iter();
        archive.append_pax_extensions(extension.map(|(key, value)| (*key, value.as_bytes())))?;
        let mut header = header(source, EntryType::Regular, entry.mode);
        header.set_size(entry.bytes.len() as u64);
        name(&mut header, path)?;
        archive.append(&header, entry.bytes.as_slice())?;
    }
    archive.into_inner()
}

/// Names an entry as it is written: `./usr/…` in packages of Debian, whose tools look for that.
fn name(header: &mut Header, path: &str) -> io::Result<()> {
    let place = &mut header.as_old_mut().name;
    let Some(place) = place.get_mut(..path.len()) else {
        let message = format!("{path}: an archive's names have at most 100 bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    place.copy_from_slice(path.as_bytes());
    header.set_cksum();
    Ok(())
}

fn joined(prefix: &str, path: &str) -> String {
    if prefix.is_empty() {
        path.to_owned()
    } else {
        format!("{prefix}/{path}")
    }
}

/// Every folder on the way to `paths`, each after the one that it is in.
pub(crate) fn folders(paths: &[impl AsRef<str>]) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let path = path.as_ref();
        for (at, _) in path.match_indices('/') {
            folders.insert(path[..at].to_owned());
        }
    }
    folders
}

fn header(source: &Source<'_>, kind: EntryType, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(source.seconds());
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    let names = header.set_username("root");
    let names = names.and_then(|()| header.set_groupname("root"));
    names.expect("invariant: the name is short");
    header
}
