//! Serial lines, and pseudo-terminals in their place.
//!
//! No policy: what is sent on a line is up to the caller. A line is opened exclusively and its settings are restored.

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, open, stat};
use rustix::io::{Errno, read, write};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, Termios, ioctl_tiocexcl, ioctl_tiocnxcl, tcflush,
    tcgetattr, tcsetattr,
};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A serial line: eight bits, no parity, no flow control, raw. Reads and writes do not block.
#[derive(Debug)]
pub struct SerialLine {
    device: OwnedFd,
    /// Settings to restore.
    before: Termios,
}

/// Which step of opening a serial line the system refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SerialError {
    /// Another program uses it.
    #[error("another program uses it")]
    Busy,
    /// It cannot be opened.
    #[error("opening it")]
    Open(#[source] io::Error),
    /// It is not a serial line.
    #[error("it is not a serial line")]
    NoLine(#[source] io::Error),
    /// It does not support this baud rate.
    #[error("setting it to {baud} baud")]
    Set {
        /// Requested baud rate.
        baud: u32,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

impl SerialLine {
    /// Opens the line at `path` exclusively. Pending input is discarded.
    pub fn open(path: &Path, baud: u32) -> Result<Self, SerialError> {
        // Opening anything else may block or act: a pipe waits, a watchdog starts.
        let kind = stat(path).map_err(|errno| SerialError::Open(errno.into()))?;
        if !FileType::from_raw_mode(kind.st_mode).is_char_device() {
            return Err(SerialError::NoLine(Errno::NOTTY.into()));
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = open(path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::BUSY => SerialError::Busy,
            errno => SerialError::Open(errno.into()),
        })?;
        let before = tcgetattr(&device).map_err(|errno| SerialError::NoLine(errno.into()))?;
        flock(&device, FlockOperation::NonBlockingLockExclusive).map_err(|_| SerialError::Busy)?;
        let line = Self { device, before };
        line.set(baud).map_err(|errno| SerialError::Set {
            baud,
            source: errno.into(),
        })?;
        Ok(line)
    }

    fn set(&self, baud: u32) -> Result<(), Errno> {
        ioctl_tiocexcl(&self.device)?;
        let mut raw = self.before.clone();
        raw.make_raw();
        raw.set_speed(baud)?;
        // Ignore modem lines; and do not hang up on close, which would reset some boards.
        raw.control_modes |= ControlModes::CREAD | ControlModes::CLOCAL;
        raw.control_modes -= ControlModes::HUPCL | ControlModes::CRTSCTS | ControlModes::CSTOPB;
        tcsetattr(&self.device, OptionalActions::Now, &raw)?;
        tcflush(&self.device, QueueSelector::IOFlush)
    }

    /// Reads received bytes: `None` if there are none, zero if the line is gone.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match read(&self.device, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(Errno::IO) => Ok(Some(0)),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Writes as many bytes as the line accepts without blocking.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match write(&self.device, bytes) {
            Ok(length) => Ok(length),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for SerialLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Drop for SerialLine {
    fn drop(&mut self) {
        // A line that is gone has no settings to restore.
        let _ = tcsetattr(&self.device, OptionalActions::Now, &self.before);
        let _ = ioctl_tiocnxcl(&self.device);
    }
}

/// Creates a pseudo-terminal: this process's end, and the path of the line at the other end.
pub fn pseudo_terminal() -> io::Result<(File, PathBuf)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let host = openpt(flags)?;
    grantpt(&host)?;
    unlockpt(&host)?;
    let name = ptsname(&host, Vec::new())?;
    let path = PathBuf::from(name.to_string_lossy().into_owned());
    Ok((File::from(host), path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    #[test]
    fn what_is_no_device_of_characters_is_not_opened() {
        // Opening a pipe that nobody writes to would wait, and opening a file for writing needs the right to.
        for path in ["/etc/hostname", "/proc/version", "/"] {
            let error = SerialLine::open(Path::new(path), 115_200).unwrap_err();
            assert!(matches!(error, SerialError::NoLine(_)), "{path}: {error}");
        }
    }

    #[test]
    fn bytes_pass_as_they_are_and_the_line_is_left_as_it_was() {
        let (mut host, path) = pseudo_terminal().unwrap();
        let kept = File::options().read(true).write(true).open(&path).unwrap();
        let before = tcgetattr(&kept).unwrap();
        let line = SerialLine::open(&path, 115_200).unwrap();
        assert_eq!(line.write(b"a\r\n\x03").unwrap(), 4);
        let mut came = [0; 4];
        host.read_exact(&mut came).unwrap();
        assert_eq!(&came, b"a\r\n\x03");
        let mut buffer = [0; 8];
        assert_eq!(line.read(&mut buffer).unwrap(), None);
        host.write_all(b"\x04\n").unwrap();
        assert_eq!(line.read(&mut buffer).unwrap(), Some(2));
        assert_eq!(&buffer[..2], b"\x04\n");
        drop(line);
        let after = tcgetattr(&kept).unwrap();
        assert_eq!(after.local_modes, before.local_modes);
        // `CIBAUD`: the C library reports the input speed where the kernel had left it to the output's.
        let but_speed = |modes: ControlModes| modes.bits() & !0x100f_0000;
        assert_eq!(
            but_speed(after.control_modes),
            but_speed(before.control_modes)
        );
    }

    #[test]
    fn a_line_belongs_to_one_program_at_a_time() {
        let (_host, path) = pseudo_terminal().unwrap();
        let first = SerialLine::open(&path, 9600).unwrap();
        let second = SerialLine::open(&path, 9600);
        assert!(matches!(second, Err(SerialError::Busy)), "{second:?}");
        drop(first);
        assert!(SerialLine::open(&path, 9600).is_ok());
    }

    #[test]
    fn what_is_no_line_is_said_to_be_none() {
        let error = SerialLine::open(Path::new("/dev/null"), 9600).unwrap_err();
        assert!(matches!(error, SerialError::NoLine(_)), "{error:?}");
        let error = SerialLine::open(Path::new("/dev/no-such-line"), 9600).unwrap_err();
        assert!(matches!(error, SerialError::Open(_)), "{error:?}");
    }

    #[test]
    fn a_line_that_is_unplugged_ends() {
        let (host, path) = pseudo_terminal().unwrap();
        let line = SerialLine::open(&path, 9600).unwrap();
        drop(host);
        assert_eq!(line.read(&mut [0; 8]).unwrap(), Some(0));
    }
}
