//! The line to the peer: a control connection, the shell of a device, or, where the protocol has neither, nothing but
//! the data streams of the test under way.

use anyhow::{Context as _, Result, bail};
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::serial::SerialLine;
use linerate_sys::tcp::{is_hung_up, wait_readable};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

/// Line to the peer.
pub struct Line {
    way: Way,
    /// Local and remote address.
    ends: (SocketAddr, SocketAddr),
}

/// Medium of the line.
enum Way {
    /// No control connection.
    Absent,
    /// A control connection.
    Connection(TcpStream),
    /// The shell of a device: a serial line, or a telnet connection.
    Shell(Shell),
}

/// Connection to the shell of a device.
pub enum Shell {
    /// A serial line.
    Serial(SerialLine),
    /// A telnet connection.
    Telnet(TcpStream),
}

/// Maximum characters typed on a serial line at once: a shell reads from a buffer of 64 bytes, and the line has no flow
/// control.
const TYPED_BYTES: usize = 16;

/// Pause between them.
const TYPING_PAUSE: Duration = Duration::from_millis(5);

/// Timeout of a serial line that accepts no byte at all.
const STUCK_LIMIT: Duration = Duration::from_secs(5);

/// Result of one wait.
pub(crate) enum LineRead {
    /// Number of bytes read.
    Bytes(usize),
    /// The peer has ended its direction.
    End,
    /// Nothing has arrived.
    Nothing,
}

impl Line {
    /// Line over the control connection `stream`; a write that takes longer than `timeout` fails.
    pub fn over(stream: TcpStream, timeout: Duration) -> Result<Self> {
        let ends = (stream.local_addr()?, stream.peer_addr()?);
        let stream = set_up(stream, timeout)?;
        let way = Way::Connection(stream);
        Ok(Self { way, ends })
    }

    /// Line without a control connection, between these addresses.
    pub const fn absent(local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            way: Way::Absent,
            ends: (local, remote),
        }
    }

    /// Line without a control connection to `remote`, if there is a route to it. Sends nothing.
    pub fn to(remote: SocketAddr) -> std::io::Result<Self> {
        let any = match remote {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(remote)?;
        Ok(Self::absent(socket.local_addr()?, remote))
    }

    /// Sets the addresses of the traffic.
    #[must_use]
    pub fn between(self, local: IpAddr, remote: IpAddr) -> Self {
        let ends = (SocketAddr::new(local, 0), SocketAddr::new(remote, 0));
        Self { ends, ..self }
    }

    /// Adds the shell that controls the peer; a write to it that takes longer than `timeout` fails.
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

    /// Whether all control messages go over a control connection, and none over the data streams.
    pub const fn is_control(&self) -> bool {
        matches!(self.way, Way::Connection(_))
    }

    /// Whether the control connection has ended, at the peer or here.
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

    /// The control connection; an error without one.
    pub fn connection(&self) -> Result<&TcpStream> {
        match &self.way {
            Way::Connection(stream) => Ok(stream),
            Way::Absent | Way::Shell(_) => {
                bail!("bug in linerate: this protocol has no control connection")
            }
        }
    }

    /// Writes to the peer. One that has hung up may have sent a reason: the next read finds that, or the end. One that
    /// reads nothing ends the connection: a partial write cannot be continued, and no later write waits again.
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
        // A connection that is already gone needs no shutdown.
        let _ = connection.shutdown(Shutdown::Both);
        if is_patience(&error) {
            bail!(
                "it read nothing of what was said to it for as long as it may be silent: it hangs, or is busy with somebody else"
            );
        }
        Err(error).context("writing to the control connection")
    }

    /// Closes this end's half of the connection: nothing more is written.
    pub fn half_close(&self) {
        if let Way::Connection(stream) = &self.way {
            // A connection that is already gone has no half left to close.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Reads what has arrived, waiting at most `wait`, or until one of the descriptors `beside` is readable. Without a
    /// connection nothing arrives.
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

    /// Descriptor to wait on, if there is one.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.way {
            Way::Absent => None,
            Way::Connection(stream) | Way::Shell(Shell::Telnet(stream)) => Some(stream.as_fd()),
            Way::Shell(Shell::Serial(line)) => Some(line.as_fd()),
        }
    }
}

/// Sets no-delay, the traffic class and the write timeout of a control connection.
fn set_up(stream: TcpStream, timeout: Duration) -> Result<TcpStream> {
    stream.set_nodelay(true)?;
    linerate_sys::sockopt::set_network_control(&stream)?;
    stream.set_write_timeout(Some(timeout))?;
    Ok(stream)
}

/// Types on a serial line at the rate at which a shell reads.
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

/// Whether a write error means that the peer has closed the connection.
fn is_hang_up(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// Whether a read error only means that nothing has arrived yet.
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
