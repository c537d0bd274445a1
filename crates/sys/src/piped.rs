//! Reads what comes once only, such as a pipe of the shell, until it ends or the user wants no more.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest time until an interrupt is seen.
const INTERRUPT_CHECK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Whether what is at `path` can be read once, from its beginning to an end that its writer makes: a pipe, or the standard
/// input of this process, whatever that is. Devices and sockets are not.
pub fn is_stream(path: &Path) -> io::Result<bool> {
    let found = fs::metadata(path)?;
    let kind = found.file_type();
    Ok(kind.is_fifo() || (kind.is_char_device() && is_standard_input(&found)))
}

fn is_standard_input(found: &Metadata) -> bool {
    let input = rustix::fs::fstat(rustix::stdio::stdin());
    input.is_ok_and(|input| (input.st_dev, input.st_ino) == (found.dev(), found.ino()))
}

/// The bytes of the stream at `path`, from whoever writes it first to its end; `None` if there are more than `most`. An
/// error once `interrupt` is set, within a tenth of a second.
pub fn read(path: &Path, most: u64, interrupt: &AtomicBool) -> io::Result<Option<Vec<u8>>> {
    // A pipe that nobody writes yet is opened at once, and waited for below.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let mut stream = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    loop {
        wait(&stream, interrupt)?;
        let room = most.saturating_add(1) - bytes.len() as u64;
        match (&mut stream)
            .take(room.min(1 << 20))
            .read_to_end(&mut bytes)
        {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
            // The end, or as much as was asked for.
            Ok(0) => return Ok(Some(bytes)),
            Ok(_) if bytes.len() as u64 > most => return Ok(None),
            Ok(_) => {}
        }
    }
}

/// Waits until there is something to read, or its end.
fn wait(stream: &File, interrupt: &AtomicBool) -> io::Result<()> {
    loop {
        if interrupt.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        let mut asked = [PollFd::new(stream, PollFlags::IN)];
        match poll(&mut asked, Some(&INTERRUPT_CHECK)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::thread;

    fn pipe() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::from_raw_mode(0o600)).unwrap();
        (folder, path)
    }

    #[test]
    fn a_pipe_is_read_from_its_first_writer_to_its_end() {
        let (_folder, path) = pipe();
        assert!(is_stream(&path).unwrap());
        let writer = {
            let path = path.clone();
            thread::spawn(move || {
                let mut pipe = File::options().write(true).open(path).unwrap();
                for _ in 0..300 {
                    pipe.write_all(&[7; 1000]).unwrap();
                }
            })
        };
        let never = AtomicBool::new(false);
        let read = read(&path, 1 << 20, &never).unwrap().unwrap();
        assert_eq!(read.len(), 300_000);
        writer.join().unwrap();
    }

    #[test]
    fn more_than_is_kept_is_not_read() {
        let (_folder, path) = pipe();
        let writer = {
            let path = path.clone();
            thread::spawn(move || {
                let mut pipe = File::options().write(true).open(path).unwrap();
                while pipe.write_all(&[7; 1000]).is_ok() {}
            })
        };
        assert_eq!(read(&path, 5000, &AtomicBool::new(false)).unwrap(), None);
        writer.join().unwrap();
    }

    #[test]
    fn a_pipe_that_nobody_writes_is_waited_for_until_the_interrupt() {
        let (_folder, path) = pipe();
        let interrupt = AtomicBool::new(false);
        let ended = thread::scope(|scope| {
            let reader = scope.spawn(|| read(&path, 10, &interrupt));
            interrupt.store(true, Ordering::Relaxed);
            reader.join().unwrap()
        });
        assert!(ended.unwrap_err().to_string().contains("interrupted"));
    }

    #[test]
    fn devices_and_files_are_no_streams() {
        for path in ["/dev/zero", "/dev/kmsg", "/etc/passwd", "/proc/kmsg"] {
            // A machine may lack one.
            assert!(!is_stream(Path::new(path)).unwrap_or(false), "{path}");
        }
    }
}
