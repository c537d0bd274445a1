//! The way to a board's shell: a serial line or a telnet connection.

use super::address::ShellAddress;
use anyhow::{Context as _, Result, bail};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_session::{Heard, Line};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::serial::{SerialError, SerialLine};
use linerate_sys::tcp::wait_readable;
use std::net::{TcpStream, ToSocketAddrs as _};
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
    Telnet(Line),
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
                    Failure::new(ExitCode::Peer, format!("cannot connect to {shell}: {error:#}; {hint}"))
                })?;
                Ok(Self::Telnet(Line::over(stream, timeout)?))
            }
        }
    }

    /// Writes all of it.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Serial(line) => bytes
                .chunks(TYPED)
                .try_for_each(|piece| type_in(line, piece)),
            Self::Telnet(line) => line.write(bytes),
        }
    }

    /// Takes what has come, waiting at most `wait`.
    pub(super) fn read(&mut self, buffer: &mut [u8], wait: Duration) -> Result<Heard> {
        let line = match self {
            Self::Telnet(line) => return line.read(buffer, wait, &[]),
            Self::Serial(line) => line,
        };
        if !wait_readable(&[line.as_fd()], wait).context("waiting for the serial line")?[0] {
            return Ok(Heard::Nothing);
        }
        let read = line.read(buffer).context("reading from the serial line")?;
        Ok(match read {
            Some(0) => Heard::End,
            Some(length) => Heard::Bytes(length),
            None => Heard::Nothing,
        })
    }
}

fn type_in(line: &SerialLine, mut piece: &[u8]) -> Result<()> {
    let deadline = MonoClock.now().after(STUCK);
    while !piece.is_empty() {
        let written = line.write(piece).context("writing to the serial line")?;
        piece = &piece[written..];
        if written == 0 && MonoClock.now() >= deadline {
            bail!(
                "the serial line took no byte for {STUCK:?}: flow control may be on at its other end"
            );
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
            format!("{path} is not a serial line: {source}"),
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
