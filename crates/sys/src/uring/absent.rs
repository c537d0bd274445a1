//! No ring: the `io-uring` crate does not know this architecture's structures.

use super::Submission;
use crate::failure::Failure;
use crate::udp::Blocking;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// A socket that cannot be.
pub enum UringSocket {}

/// That this build cannot make rings.
pub fn available() -> io::Result<()> {
    let text = "linerate was built without io_uring for this architecture";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

impl UringSocket {
    /// Refuses.
    pub fn open(
        _socket: OwnedFd,
        _submission: Submission,
        _blocking: Blocking,
    ) -> io::Result<Self> {
        Err(available()
            .err()
            .unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
    }

    /// The socket.
    pub fn socket(&self) -> BorrowedFd<'_> {
        match *self {}
    }

    /// The bytes to send.
    pub fn outgoing(&mut self) -> &mut [u8] {
        match *self {}
    }

    /// What the kernel lacks.
    pub const fn lacks(&self) -> Option<&'static str> {
        match *self {}
    }

    /// CPU time of the kernel's thread.
    pub fn helper_cpu(&self) -> Option<Duration> {
        match *self {}
    }

    /// Sends.
    pub fn send(&mut self, _length: usize) -> Result<usize, Failure> {
        match *self {}
    }

    /// Receives.
    pub fn receive(&mut self) -> Result<&[u8], Failure> {
        match *self {}
    }
}
