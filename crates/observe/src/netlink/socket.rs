//! One question, one answer, over a socket of the calling thread's network namespace.

use super::message::{Answer, Request, answer};
use crate::error::ReadError;
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// An interface with all its attributes has 1 to 3 KiB; the kernel's own answers stay below 32.
const ANSWER_MAX: usize = 32 * 1024;

/// The only sequence number: a socket serves one request.
const SEQUENCE: u32 = 1;

/// A request: its name for errors, message types of question and answer, family header.
pub(super) struct Question<'a> {
    pub(super) name: &'static str,
    pub(super) ask: u16,
    pub(super) expect: u16,
    pub(super) header: &'a [u8],
    pub(super) attributes: &'a [(u16, &'a [u8])],
}

impl Question<'_> {
    /// Asks, and gives family header and attributes of the answer to `read`.
    pub(super) fn ask<T>(&self, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, ReadError> {
        let mut buffer = vec![0; ANSWER_MAX];
        let length = self
            .exchange(&mut buffer)
            .map_err(|errno| self.failed(&errno))?;
        let datagram = buffer
            .get(..length)
            .ok_or_else(|| self.failed(&"the answer is too long"))?;
        match answer(datagram, self.expect, SEQUENCE) {
            Some(Answer::Error(errno)) => Err(self.failed(&Errno::from_raw_os_error(errno))),
            Some(Answer::Message(body)) => {
                read(body).ok_or_else(|| self.failed(&"the answer lacks what was asked for"))
            }
            None => Err(self.failed(&"the answer cannot be understood")),
        }
    }

    /// The answer's true length. The kernel answers before the request's system call returns, so
    /// nothing is waited for.
    fn exchange(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        // No protocol is number 0, which is `NETLINK_ROUTE`.
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
        let request = self
            .attributes
            .iter()
            .fold(
                Request::new(self.ask, SEQUENCE, self.header),
                |request, (kind, value)| request.with(*kind, value),
            )
            .finish();
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&socket, &request, SendFlags::empty(), &kernel)?;
        let flags = RecvFlags::TRUNC | RecvFlags::DONTWAIT;
        let (_, length) = rustix::net::recv(&socket, buffer, flags)?;
        Ok(length)
    }

    fn failed(&self, cause: &dyn std::fmt::Display) -> ReadError {
        ReadError::Netlink {
            request: self.name,
            cause: cause.to_string(),
        }
    }
}
