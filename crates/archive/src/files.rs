//! Runs and documents become files.

use anyhow::{Context as _, Result};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Run;
use linerate_report::Report;
use linerate_report::document::{self, Document, DocumentFormat};
use linerate_report::renderers::{self, Renderer, ReportFile};
use linerate_sys::clock::wall_now;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

fn hgrm() -> Result<&'static Renderer> {
    let mut all = renderers::ALL.iter().copied();
    all.find(|renderer| renderer.id == "hgrm")
        .context("there is no report format \"hgrm\"")
}

/// The report of runs under the user's title, if there is one.
fn report<'a>(runs: &'a [Run], title: Option<&str>) -> Report<'a> {
    Report {
        title: title.map_or_else(|| linerate_report::title(runs), str::to_owned),
        runs,
        made: wall_now(),
    }
}

/// Whether a report can be written to `path`, as far as can be said before it is made.
pub fn check_report(path: &Path) -> Result<(), Failure> {
    renderer_for(path)?;
    check_place(path)
}

/// Whether a document can be written to `path`, as far as can be said before it is made.
pub fn check_document<D: Document>(path: &Path) -> Result<(), Failure> {
    format_of::<D>(path)?;
    check_place(path)
}

/// Writes a document; the ending of the file chooses the format.
pub fn write_document<D: Document>(path: &Path, document: &D) -> Result<()> {
    let format = format_of::<D>(path)?;
    check_place(path)?;
    write_file(path, &document::render(document, format, &wall_now())?)
}

fn format_of<D: Document>(path: &Path) -> Result<DocumentFormat, Failure> {
    let named = D::FORMATS.iter().map(|format| (format.as_str(), *format));
    by_ending(path, named)
}

/// The one of `known` whose ending the file has: it chooses the format.
fn by_ending<F>(
    path: &Path,
    known: impl Iterator<Item = (&'static str, F)> + Clone,
) -> Result<F, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let mut named = known.clone().filter(|(of, _)| ending == Some(of));
    named.next().map(|(_, format)| format).ok_or_else(|| {
        let endings: Vec<_> = known.map(|(ending, _)| format!(".{ending}")).collect();
        let message = format!(
            "cannot tell the format of {}; let its name end in {}",
            path.display(),
            endings.join(", ")
        );
        Failure::new(ExitCode::Usage, message)
    })
}

/// Whether there is a directory for `path`.
pub fn check_place(path: &Path) -> Result<(), Failure> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        Some(dir) if !dir.is_dir() => {
            let message = format!(
                "cannot write {}: there is no directory {}; create it, or choose another place",
                path.display(),
                dir.display()
            );
            Err(Failure::new(ExitCode::Usage, message))
        }
        _ => Ok(()),
    }
}

/// Renders runs into a file; its ending chooses the format. The file appears whole or not at all. A
/// format with a file for each trial puts the trial's name before the ending. Returns what was written.
pub fn write_report(path: &Path, runs: &[Run], title: Option<&str>) -> Result<Vec<PathBuf>> {
    check_report(path)?;
    write_documents(path, (renderer_for(path)?.documents)(&report(runs, title))?)
}

fn write_documents(path: &Path, documents: Vec<ReportFile>) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for document in documents {
        let place = match &document.name {
            None => path.to_owned(),
            Some(name) => beside(path, name),
        };
        write_file(&place, &document.text)?;
        written.push(place);
    }
    Ok(written)
}

/// `dir/x.hgrm` with a name: `dir/x-NAME.hgrm`.
fn beside(path: &Path, name: &str) -> PathBuf {
    let part =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = (part(path.file_stem()), part(path.extension()));
    path.with_file_name(format!("{stem}-{name}.{ending}"))
}

/// Writes a file that appears whole or not at all. A link stays, and what it leads to is written; into a pipe or a device
/// the content goes as it is.
///
/// # Errors
///
/// If `path` is neither of these, such as a folder or a disk, or cannot be written.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    stream_file(path, |file| file.write_all(content.as_ref()))
}

/// The same of what `write` makes, which need not be in memory whole.
pub fn stream_file(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    write_whole(path, write).map_err(|error| {
        let message = format!(
            "cannot write {}: {error}; choose a place with room that this user may write to",
            path.display()
        );
        Failure::new(ExitCode::Other, message).into()
    })
}

fn renderer_for(path: &Path) -> Result<&'static Renderer, Failure> {
    let all = renderers::ALL.iter().copied();
    by_ending(path, all.map(|renderer| (renderer.ending, renderer)))
}

fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    match fs::metadata(path).map(|found| found.file_type()) {
        // A link that leads nowhere is no place for a new file.
        Err(error) if error.kind() != io::ErrorKind::NotFound || path.is_symlink() => Err(error),
        Err(_) => replace(path, write),
        Ok(kind) if kind.is_file() => replace(&fs::canonicalize(path)?, write),
        Ok(kind) if kind.is_fifo() || kind.is_char_device() => {
            write(&mut OpenOptions::new().write(true).open(path)?)
        }
        Ok(kind) if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Err(io::Error::other("it is neither a file nor a pipe")),
    }
}

/// Writes beside the target, then renames: a full disk leaves the old file or none. The name beside is one that nobody has:
/// what lies there may be somebody's, or a link that leads elsewhere.
fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    // As any new file has, less what the user's mask takes away.
    let mut file = tempfile::Builder::new()
        .prefix(".linerate-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or_else(|| Path::new(".")))?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// HdrHistogram's percentile text of every whole delay distribution, or of the trial of one index.
pub fn to_hgrm(run: &Run, trial: Option<u32>) -> Result<String> {
    let mut chosen = run.clone();
    if let Some(index) = trial {
        chosen.trials.retain(|trial| trial.index == index);
        if let Some(parts) = chosen.parts_mut() {
            parts.clear();
        }
        if chosen.trials.is_empty() {
            let message = format!(
                "{} has no trial {index}; it has 0 to {}",
                run.id,
                run.trials.len().saturating_sub(1)
            );
            return Err(Failure::new(ExitCode::Usage, message).into());
        }
    }
    Ok(hgrm()?.render(&report(&[chosen], None))?)
}

/// Writes that percentile text in a file for each trial, whatever the ending of `path`.
pub fn write_hgrm(path: &Path, run: &Run) -> Result<Vec<PathBuf>> {
    check_place(path)?;
    let runs = std::slice::from_ref(run);
    write_documents(path, (hgrm()?.documents)(&report(runs, None))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn nothing_of_others_is_written_through_or_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("other"), "theirs").unwrap();
        symlink(at("other"), at("report.json.tmp")).unwrap();
        write_file(&at("report.json"), "ours").unwrap();
        assert_eq!(fs::read_to_string(at("other")).unwrap(), "theirs");
        assert!(fs::symlink_metadata(at("report.json")).unwrap().is_file());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "left over");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("elsewhere")).unwrap();
        fs::write(at("elsewhere/file"), "old").unwrap();
        symlink("elsewhere/file", at("link")).unwrap();
        write_file(&at("link"), "new").unwrap();
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at("elsewhere/file")).unwrap(), "new");
        symlink("nowhere", at("broken")).unwrap();
        assert!(write_file(&at("broken"), "new").is_err());
    }

    #[test]
    fn a_pipe_takes_the_content_and_stays() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        write_file(Path::new(&path), "content").unwrap();
        drop(writer);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "content");
        write_file(Path::new("/dev/null"), "content").unwrap();
        let kind = fs::symlink_metadata("/dev/null").unwrap().file_type();
        assert!(kind.is_char_device());
    }

    #[test]
    fn folders_and_sockets_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for place in [folder.path(), &socket] {
            let error = write_file(place, "content").unwrap_err().to_string();
            assert!(error.contains("cannot write"), "{error}");
        }
        assert!(
            fs::symlink_metadata(&socket)
                .unwrap()
                .file_type()
                .is_socket()
        );
    }
}
