//! Parses Debian packages.

use crate::tools::{lacks, not_started};
use linerate_model::exit::Failure;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use tar::EntryType;

/// A file in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Path below the root, without a leading `/`.
    pub(crate) path: String,
    /// Permissions.
    pub(crate) mode: u32,
    /// Type and content.
    pub(crate) content: Content,
}

/// Type of a file in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A directory.
    Directory,
    /// A file of these bytes.
    File(Vec<u8>),
    /// A symbolic link to this path.
    Link(String),
}

/// Passes each entry whose path is `wanted` to `take`.
pub(crate) fn entries(
    package: &Path,
    wanted: impl Fn(&str) -> bool,
    mut take: impl FnMut(Entry),
) -> Result<(), Failure> {
    let mut command = Command::new("dpkg-deb");
    command.arg("--fsys-tarfile").arg(package);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command
        .spawn()
        .map_err(|error| not_started(command.get_program(), &error))?;
    let output = child.stdout.take();
    let read = output.map_or(Ok(()), |output| read(output, &wanted, &mut take));
    let status = child.wait();
    let why = match (read, status) {
        (Ok(()), Ok(status)) if status.success() => return Ok(()),
        (Err(error), _) | (Ok(()), Err(error)) => error.to_string(),
        (Ok(()), Ok(status)) => status.to_string(),
    };
    let package = package.display();
    Err(lacks(format!("unpacking {package} failed: {why}")))
}

fn read(
    output: impl io::Read,
    wanted: &impl Fn(&str) -> bool,
    take: &mut impl FnMut(Entry),
) -> io::Result<()> {
    let mut archive = tar::Archive::new(output);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let path = path.trim_start_matches("./").trim_end_matches('/');
        if path.is_empty() || !wanted(path) {
            continue;
        }
        let (path, mode) = (path.to_owned(), entry.header().mode()?);
        let content = match entry.header().entry_type() {
            EntryType::Directory => Content::Directory,
            EntryType::Symlink => match entry.link_name()? {
                Some(target) => Content::Link(target.to_string_lossy().into_owned()),
                None => continue,
            },
            EntryType::Regular => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                Content::File(bytes)
            }
            // A hard link to a file of the same package.
            EntryType::Link => match entry.link_name()? {
                Some(target) => {
                    let target = target.to_string_lossy();
                    Content::Link(format!("/{}", target.trim_start_matches("./")))
                }
                None => continue,
            },
            // Debian's policy allows no other types.
            _ => continue,
        };
        take(Entry {
            path,
            mode,
            content,
        });
    }
    // Drain the pipe so that dpkg-deb can write its last blocks.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    Ok(())
}
