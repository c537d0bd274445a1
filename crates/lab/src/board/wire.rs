//! The way to a board's shell: a serial line or a telnet connection.

use super::address::ShellAddress;
use crate::context::peer_failure;
use anyhow::{Context as _, Result};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::serial::{SerialError, SerialLine};
use linerate_sys::tcp::wait_readable;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

/// A shell takes what is typed out of a buffer of 64 bytes, and a serial line has no way to say that it
/// is full: so much is written at once, and then nothing for a moment.
const TYPED: usize = 16;

/// That moment.
const PAUSE: Duration = Duration::from_millis(5);

/// How long a line may take no byte at all.
const STUCK: Duration = Duration::from_secs(5);

/// What leads to the shell.
pub(super) enum Wire {
    Serial(SerialLine),
    Telnet(TcpStream),
}

/// What came in one wait.
pub(super) enum Came {
    Bytes(usize),
    End,
    Nothing,
}

impl Wire {
    pub(super) fn open(shell: &ShellAddress, timeout: Duration) -> Result<Self> {
        match shell {
            ShellAddress::Serial { device, baud } => {
                let line = SerialLine::open(device, *baud);
                Ok(Self::Serial(line.map_err(|error| no_line(device, &error))?))
            }
            ShellAddress::Telnet { host, port } => {
                let stream = connect(host, *port, timeout).map_err(|error| {
                    let hint = "see that Zephyr is built with CONFIG_SHELL_BACKEND_TELNET=y and that no one else is connected: it serves one at a time";
                    peer_failure(format!("cannot connect to {shell}: {error:#}; {hint}"))
                })?;
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(timeout))?;
                Ok(Self::Telnet(stream))
            }
        }
    }

    /// Writes all of it.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Serial(line) => bytes
                .chunks(TYPED)
                .try_for_each(|piece| type_in(line, piece)),
            Self::Telnet(stream) => match stream.write_all(bytes) {
                // Reading finds the end.
                Err(error) if is_hang_up(&error) => Ok(()),
                // It reads nothing of what is typed.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let _ = stream.shutdown(Shutdown::Both);
                    let message = "the telnet connection took nothing of what was typed for as long as its end may be silent: another program may hold the shell, or the board hangs";
                    Err(peer_failure(message).into())
                }
                written => written.context("writing to the telnet connection"),
            },
        }
    }

    /// Takes what has come, waiting at most `wait`.
    pub(super) fn read(&mut self, buffer: &mut [u8], wait: Duration) -> Result<Came> {
        let fd = match &*self {
            Self::Serial(line) => line.as_fd(),
            Self::Telnet(stream) => stream.as_fd(),
        };
        if !wait_readable(&[fd], wait).context("waiting for the shell")?[0] {
            return Ok(Came::Nothing);
        }
        let read = match self {
            Self::Serial(line) => line.read(buffer),
            Self::Telnet(stream) => match stream.read(buffer) {
                Err(error) if is_hang_up(&error) => Ok(Some(0)),
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
                read => read.map(Some),
            },
        };
        Ok(match read.context("reading from the shell")? {
            Some(0) => Came::End,
            Some(length) => Came::Bytes(length),
            None => Came::Nothing,
        })
    }
}

fn type_in(line: &SerialLine, mut piece: &[u8]) -> Result<()> {
    let deadline = MonoClock.now().after(STUCK);
    while !piece.is_empty() {
        let written = line.write(piece).context("writing to the serial line")?;
        piece = &piece[written..];
        if written == 0 && MonoClock.now() >= deadline {
            let message = format!(
                "the serial line took no byte for {STUCK:?}: flow control may be on at its other end"
            );
            return Err(peer_failure(message).into());
        }
        sleep_until(MonoClock.now().after(PAUSE));
    }
    Ok(())
}

fn no_line(device: &Path, error: &SerialError) -> Failure {
    let path = device.display();
    let (why, hint) = match error {
        SerialError::Open(source) => (
            format!("cannot open {path}: {source}"),
            "see that the board is plugged in, and that you may use it (group dialout on Debian)",
        ),
        SerialError::Busy => (
            format!("cannot use {path}: another program has it"),
            "end the terminal program that shows the board's console",
        ),
        SerialError::NoLine(source) => (
            format!("{path} is no serial line: {source}"),
            "name one such as /dev/ttyUSB0",
        ),
        other => (
            format!("cannot set up {path}: {other}"),
            "use a rate that the adapter has, such as baud=115200",
        ),
    };
    Failure::new(ExitCode::HostLacks, format!("{why}; {hint}"))
}

fn connect(host: &str, port: u16, timeout: Duration) -> Result<TcpStream> {
    let mut last = None;
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| anyhow::anyhow!("it has no address"), Into::into))
}

fn is_hang_up(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn an_end_that_takes_nothing_is_given_up_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shell = ShellAddress::Telnet {
            host: "127.0.0.1".to_owned(),
            port: listener.local_addr().unwrap().port(),
        };
        let mut wire = Wire::open(&shell, Duration::from_millis(100)).unwrap();
        let _silent = listener.accept().unwrap();
        // More than the buffers of both ends hold.
        let error = wire.write(&vec![b' '; 64 << 20]).unwrap_err();
        let failure = error.downcast::<Failure>().unwrap();
        assert_eq!(failure.code, ExitCode::Peer, "{failure}");
        assert!(failure.message.contains("took nothing"), "{failure}");
        wire.write(b"kernel version\r\n").unwrap();
        assert!(matches!(
            wire.read(&mut [0; 1], Duration::ZERO).unwrap(),
            Came::End
        ));
    }
}
