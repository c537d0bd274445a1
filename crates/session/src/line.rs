//! What an end hears the far one on: a control connection, or, where the protocol has none, nothing but the
//! data streams of the test under way.

use anyhow::{Context as _, Result, bail};
use linerate_sys::tcp::wait_readable;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

/// The way to the peer.
pub enum Line {
    /// There is no control connection.
    Absent {
        /// This end's address.
        local: SocketAddr,
        /// The peer's.
        remote: SocketAddr,
    },
    /// A control connection.
    Connection(TcpStream),
}

/// What came in one wait.
pub enum Heard {
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
        stream.set_nodelay(true)?;
        linerate_sys::sockopt::set_network_control(&stream)?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Self::Connection(stream))
    }

    /// To `remote`, if there is a route to it. Sends nothing.
    pub fn to(remote: SocketAddr) -> std::io::Result<Self> {
        let any = match remote {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(remote)?;
        let local = socket.local_addr()?;
        Ok(Self::Absent { local, remote })
    }

    /// Whether there is no control connection.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }

    /// This end's address.
    pub fn local(&self) -> Result<SocketAddr> {
        Ok(match self {
            Self::Absent { local, .. } => *local,
            Self::Connection(stream) => stream.local_addr()?,
        })
    }

    /// The peer's address.
    pub fn remote(&self) -> Result<SocketAddr> {
        Ok(match self {
            Self::Absent { remote, .. } => *remote,
            Self::Connection(stream) => stream.peer_addr()?,
        })
    }

    /// The control connection, where there must be one.
    pub fn connection(&self) -> Result<&TcpStream> {
        match self {
            Self::Absent { .. } => {
                bail!("bug in linerate: this protocol has no control connection")
            }
            Self::Connection(stream) => Ok(stream),
        }
    }

    /// Writes to the peer. One that has hung up may have said why: reading finds that, or the end. One that
    /// reads nothing ends the connection: what was written in part cannot be gone on with, and nobody waits again.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut connection = self.connection()?;
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
        if let Self::Connection(stream) = self {
            // A connection that is gone has no half left to close.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Takes what has come, waiting at most `wait` for it, and no longer than until one of the descriptors
    /// `beside` can be read. Without a connection nothing comes.
    pub fn read(
        &mut self,
        buffer: &mut [u8],
        wait: Duration,
        beside: &[BorrowedFd<'_>],
    ) -> Result<Heard> {
        let own = match &*self {
            Self::Absent { .. } => None,
            Self::Connection(stream) => Some(stream.as_fd()),
        };
        let watched: Vec<_> = own.into_iter().chain(beside.iter().copied()).collect();
        let readable = wait_readable(&watched, wait).context("waiting for the peer")?;
        let Self::Connection(stream) = self else {
            return Ok(Heard::Nothing);
        };
        if !readable[0] {
            return Ok(Heard::Nothing);
        }
        match stream.read(buffer) {
            Ok(0) => Ok(Heard::End),
            Ok(length) => Ok(Heard::Bytes(length)),
            Err(error) if is_patience(&error) => Ok(Heard::Nothing),
            Err(error) if is_hang_up(&error) => Ok(Heard::End),
            Err(error) => Err(error).context("reading from the control connection"),
        }
    }
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
        assert!(matches!(heard, Heard::End));
    }
}
