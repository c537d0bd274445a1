//! What an end hears the far one on: a control connection, the shell of a device, or, where the protocol has neither,
//! nothing but the data streams of the test under way.

use anyhow::{Context as _, Result, bail};
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::serial::SerialLine;
use linerate_sys::tcp::{is_hung_up, wait_readable};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

/// The way to the peer.
pub struct Line {
    way: Way,
    /// This end's address, and the peer's.
    ends: (SocketAddr, SocketAddr),
}

/// What it is heard on.
enum Way {
    /// There is no control connection.
    Absent,
    /// A control connection.
    Connection(TcpStream),
    /// The shell of a device: a serial line, or a telnet connection.
    Shell(Shell),
}

/// What leads to the shell of a device.
pub enum Shell {
    /// A line of characters.
    Serial(SerialLine),
    /// A telnet connection.
    Telnet(TcpStream),
}

/// The most that is typed on a serial line at once: a shell takes it out of a buffer of 64 bytes, and the line has no
/// way to say that it is full.
const TYPED_BYTES: usize = 16;

/// The pause after that.
const TYPING_PAUSE: Duration = Duration::from_millis(5);

/// How long a serial line may take no byte at all.
const STUCK_LIMIT: Duration = Duration::from_secs(5);

/// What came in one wait.
pub(crate) enum LineRead {
    /// So many bytes.
    Bytes(usize),
    /// The peer will say no more.
    End,
    /// Nothing.
    Nothing,
}

impl Line {
    /// Over `stream`; a write that takes longer than `timeout` fails.
    pub fn over(stream: TcpStream, timeout: Duration) -> Result<Self> {
        let ends = (stream.local_addr()?, stream.peer_addr()?);
        let stream = set_up(stream, timeout)?;
        let way = Way::Connection(stream);
        Ok(Self { way, ends })
    }

    /// Without a control connection, between these addresses.
    pub const fn absent(local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            way: Way::Absent,
            ends: (local, remote),
        }
    }

    /// Without a control connection to `remote`, if there is a route to it. Sends nothing.
    pub fn to(remote: SocketAddr) -> std::io::Result<Self> {
        let any = match remote {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(remote)?;
        Ok(Self::absent(socket.local_addr()?, remote))
    }

    /// The same, with traffic between these addresses.
    #[must_use]
    pub fn between(self, local: IpAddr, remote: IpAddr) -> Self {
        let ends = (SocketAddr::new(local, 0), SocketAddr::new(remote, 0));
        Self { ends, ..self }
    }

    /// The same, and the peer's shell is told what to do; a write to it that takes longer than `timeout` fails.
    pub fn with_shell(self, shell: Shell, timeout: Duration) -> Result<Self> {
        let shell = match shell {
            Shell::Telnet(stream) => Shell::Telnet(set_up(stream, timeout)?),
            serial @ Shell::Serial(_) => serial,
        };
        Ok(Self {
            way: Way::Shell(shell),
            ..self
        })
    }

    /// Whether all that is said of traffic is said over a control connection, and not on the data streams.
    pub const fn is_control(&self) -> bool {
        matches!(self.way, Way::Connection(_))
    }

    /// Whether the control connection has come to its end, at the peer or here.
    pub fn has_ended(&self) -> bool {
        match &self.way {
            Way::Connection(stream) => is_hung_up(stream).unwrap_or(true),
            Way::Absent | Way::Shell(_) => false,
        }
    }

    /// This end's address.
    pub const fn local(&self) -> SocketAddr {
        self.ends.0
    }

    /// The peer's address.
    pub const fn remote(&self) -> SocketAddr {
        self.ends.1
    }

    /// The control connection, where there must be one.
    pub fn connection(&self) -> Result<&TcpStream> {
        match &self.way {
            Way::Connection(stream) => Ok(stream),
            Way::Absent | Way::Shell(_) => {
                bail!("bug in linerate: this protocol has no control connection")
            }
        }
    }

    /// Writes to the peer. One that has hung up may have said why: reading finds that, or the end. One that
    /// reads nothing ends the connection: what was written in part cannot be gone on with, and nobody waits again.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut connection = match &self.way {
            Way::Shell(Shell::Serial(line)) => return type_in(line, bytes),
            Way::Shell(Shell::Telnet(stream)) => stream,
            Way::Absent | Way::Connection(_) => self.connection()?,
        };
        let error = match connection.write_all(bytes) {
            Ok(()) => return Ok(()),
            Err(error) if is_hang_up(&error) => return Ok(()),
            Err(error) => error,
        };
        // One that is gone already is closed all the same.
        let _ = connection.shutdown(Shutdown::Both);
        if is_patience(&error) {
            bail!(
                "it read nothing of what was said to it for as long as it may be silent: it hangs, or is busy with somebody else"
            );
        }
        Err(error).context("writing to the control connection")
    }

    /// This end has nothing more to write.
    pub fn half_close(&self) {
        if let Way::Connection(stream) = &self.way {
            // A connection that is gone has no half left to close.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Takes what has come, waiting at most `wait` for it, and no longer than until one of the descriptors
    /// `beside` can be read. Without a connection nothing comes.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        wait: Duration,
        beside: &[BorrowedFd<'_>],
    ) -> Result<LineRead> {
        let watched: Vec<_> = self
            .fd()
            .into_iter()
            .chain(beside.iter().copied())
            .collect();
        let readable = wait_readable(&watched, wait).context("waiting for the peer")?;
        let mut stream = match &self.way {
            Way::Absent => return Ok(LineRead::Nothing),
            _ if !readable[0] => return Ok(LineRead::Nothing),
            Way::Connection(stream) | Way::Shell(Shell::Telnet(stream)) => stream,
            Way::Shell(Shell::Serial(line)) => {
                let read = line.read(buffer).context("reading from the serial line")?;
                return Ok(match read {
                    Some(0) => LineRead::End,
                    Some(length) => LineRead::Bytes(length),
                    None => LineRead::Nothing,
                });
            }
        };
        match stream.read(buffer) {
            Ok(0) => Ok(LineRead::End),
            Ok(length) => Ok(LineRead::Bytes(length)),
            Err(error) if is_patience(&error) => Ok(LineRead::Nothing),
            Err(error) if is_hang_up(&error) => Ok(LineRead::End),
            Err(error) => Err(error).context("reading from the control connection"),
        }
    }

    /// What is heard on, if there is something.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.way {
            Way::Absent => None,
            Way::Connection(stream) | Way::Shell(Shell::Telnet(stream)) => Some(stream.as_fd()),
            Way::Shell(Shell::Serial(line)) => Some(line.as_fd()),
        }
    }
}

/// A connection on which small things are said at once.
fn set_up(stream: TcpStream, timeout: Duration) -> Result<TcpStream> {
    stream.set_nodelay(true)?;
    linerate_sys::sockopt::set_network_control(&stream)?;
    stream.set_write_timeout(Some(timeout))?;
    Ok(stream)
}

/// Types on a serial line as fast as a shell reads.
pub fn type_in(line: &SerialLine, bytes: &[u8]) -> Result<()> {
    let mut pieces = bytes.chunks(TYPED_BYTES);
    pieces.try_for_each(|piece| type_piece(line, piece))
}

fn type_piece(line: &SerialLine, mut piece: &[u8]) -> Result<()> {
    let deadline = MonoClock.now().after(STUCK_LIMIT);
    while !piece.is_empty() {
        let written = line.write(piece).context("writing to the serial line")?;
        piece = &piece[written..];
        if written == 0 && MonoClock.now() >= deadline {
            bail!(
                "the serial line took no byte for {STUCK_LIMIT:?}: flow control may be on at its other end"
            );
        }
        sleep_until(MonoClock.now().after(TYPING_PAUSE));
    }
    Ok(())
}

/// Errors that say that the peer has closed the connection.
fn is_hang_up(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// Errors of a read that only mean "nothing yet".
fn is_patience(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn an_end_that_reads_nothing_is_given_up_once() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _silent = listener.accept().unwrap();
        let mut line = Line::over(stream, Duration::from_millis(100)).unwrap();
        // More than the buffers of both ends hold.
        let error = line.write(&vec![0; 64 << 20]).unwrap_err();
        assert!(error.to_string().contains("read nothing"), "{error:#}");
        line.write(&[0]).unwrap();
        let heard = line.read(&mut [0], Duration::ZERO, &[]).unwrap();
        assert!(matches!(heard, LineRead::End));
    }
}
