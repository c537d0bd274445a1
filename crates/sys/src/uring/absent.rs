//! Stand-in without `io_uring`: the `io-uring` crate does not support this architecture.

use super::Submission;
use crate::failure::Failure;
use crate::udp::Blocking;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// Never constructed.
pub enum UringSocket {}

/// Always an error: this build does not support rings.
pub fn available() -> io::Result<()> {
    let text = "linerate was built without io_uring for this architecture";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

impl UringSocket {
    /// Always an error.
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

    /// Missing kernel features.
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
