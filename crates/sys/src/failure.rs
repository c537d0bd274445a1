//! A failed system call as a value: the call, the error, and its class.
//!
//! Data-plane loops count these; nothing is formatted until it is reported.

use rustix::io::Errno;
use std::fmt;
use std::io;

/// A system call that failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    operation: &'static str,
    errno: Errno,
}

/// What a failure means for a loop that moves traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// Can never succeed: an option that the device lacks.
    Impossible,
    /// Interrupted by a signal; nothing happened.
    Interrupted,
    /// The system has no memory or queue space for this datagram now (`ENOBUFS`, `ENOMEM`).
    NoBuffers,
    /// Anything else, such as a packet filter.
    Other,
    /// The peer has closed its socket or reset the connection.
    PeerGone,
    /// A datagram was longer than the path's MTU (`EMSGSIZE`): this one, or an earlier one that a router answered.
    TooLong,
    /// This host has no way to the peer now: its interface is down, its route or address is gone, or a router says so.
    Unreachable,
    /// Nothing to read or no room to write yet (`EAGAIN`).
    WouldBlock,
}

impl FailureClass {
    /// Whether it says something of this socket and its peer's port alone, and nothing of the host or the path.
    pub const fn is_of_one_socket(self) -> bool {
        matches!(self, Self::Impossible | Self::Other | Self::PeerGone)
    }
}

impl Failure {
    /// The failure of `operation` with `errno`.
    pub(crate) const fn new(operation: &'static str, errno: Errno) -> Self {
        Self { operation, errno }
    }

    /// The failure of `operation` that the C library just reported.
    pub(crate) fn last(operation: &'static str) -> Self {
        let code = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        Self::new(operation, Errno::from_raw_os_error(code))
    }

    /// The failure of `operation` that the standard library reported.
    pub fn from_io(operation: &'static str, error: &io::Error) -> Self {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::IO);
        Self::new(operation, errno)
    }

    /// The failure of a non-blocking call that would block (`EAGAIN`); for datapaths without a kernel.
    pub const fn would_block(operation: &'static str) -> Self {
        Self::new(operation, Errno::AGAIN)
    }

    /// The failure of a call without memory or queue space (`ENOBUFS`); for datapaths without a kernel.
    pub const fn no_buffers(operation: &'static str) -> Self {
        Self::new(operation, Errno::NOBUFS)
    }

    /// The failure of a call whose peer has closed; for datapaths without a kernel.
    pub const fn peer_gone(operation: &'static str) -> Self {
        Self::new(operation, Errno::PIPE)
    }

    /// The failure of a call that a packet filter refused (`EPERM`); for datapaths without a kernel.
    pub const fn filtered(operation: &'static str) -> Self {
        Self::new(operation, Errno::PERM)
    }

    /// The failure of a datagram that is longer than the path's MTU (`EMSGSIZE`).
    pub const fn too_long(operation: &'static str) -> Self {
        Self::new(operation, Errno::MSGSIZE)
    }

    /// The failure of a call without a route to its peer (`ENETUNREACH`); for datapaths without a kernel.
    pub const fn unreachable(operation: &'static str) -> Self {
        Self::new(operation, Errno::NETUNREACH)
    }

    /// The failure of a call that made no progress within the caller's time limit.
    pub const fn timed_out(operation: &'static str) -> Self {
        Self::new(operation, Errno::TIMEDOUT)
    }

    /// The system call's name.
    pub const fn operation(self) -> &'static str {
        self.operation
    }

    /// Whether nobody listens at the peer's port (`ECONNREFUSED`).
    pub fn is_refusal(self) -> bool {
        self.errno == Errno::CONNREFUSED
    }

    /// Whether the system has no free local port or no such address (`EADDRNOTAVAIL`).
    pub fn is_without_address(self) -> bool {
        self.errno == Errno::ADDRNOTAVAIL
    }

    /// Whether the system gave up waiting (`ETIMEDOUT`).
    pub fn is_timeout(self) -> bool {
        self.errno == Errno::TIMEDOUT
    }

    /// The error's symbol, `EAGAIN`; `E<number>` if it has no common one.
    pub fn name(self) -> String {
        let known = NAMES.iter().find(|(errno, _)| *errno == self.errno);
        known.map_or_else(
            || format!("E{}", self.errno.raw_os_error()),
            |(_, name)| (*name).to_owned(),
        )
    }

    /// Class of the failure, for the loop.
    pub const fn class(self) -> FailureClass {
        match self.errno {
            Errno::AGAIN => FailureClass::WouldBlock,
            Errno::CONNREFUSED | Errno::CONNRESET | Errno::PIPE | Errno::NOTCONN => {
                FailureClass::PeerGone
            }
            Errno::INTR => FailureClass::Interrupted,
            Errno::INVAL | Errno::OPNOTSUPP | Errno::BADF | Errno::NOTSOCK => {
                FailureClass::Impossible
            }
            Errno::MSGSIZE => FailureClass::TooLong,
            Errno::NETUNREACH
            | Errno::NETDOWN
            | Errno::HOSTUNREACH
            | Errno::HOSTDOWN
            | Errno::ADDRNOTAVAIL
            | Errno::NODEV => FailureClass::Unreachable,
            Errno::NOBUFS | Errno::NOMEM => FailureClass::NoBuffers,
            _ => FailureClass::Other,
        }
    }

    /// Converts it to an `io::Error` with the system's own text.
    pub fn to_io(self) -> io::Error {
        self.errno.into()
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.name())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.to_io())
    }
}

impl std::error::Error for Failure {}

const NAMES: &[(Errno, &str)] = &[
    (Errno::ACCESS, "EACCES"),
    (Errno::ADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (Errno::AGAIN, "EAGAIN"),
    (Errno::BADF, "EBADF"),
    (Errno::CONNABORTED, "ECONNABORTED"),
    (Errno::CONNREFUSED, "ECONNREFUSED"),
    (Errno::CONNRESET, "ECONNRESET"),
    (Errno::DESTADDRREQ, "EDESTADDRREQ"),
    (Errno::HOSTDOWN, "EHOSTDOWN"),
    (Errno::HOSTUNREACH, "EHOSTUNREACH"),
    (Errno::INTR, "EINTR"),
    (Errno::INVAL, "EINVAL"),
    (Errno::IO, "EIO"),
    (Errno::MSGSIZE, "EMSGSIZE"),
    (Errno::NETDOWN, "ENETDOWN"),
    (Errno::NETUNREACH, "ENETUNREACH"),
    (Errno::NOBUFS, "ENOBUFS"),
    (Errno::NODEV, "ENODEV"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::NOPROTOOPT, "ENOPROTOOPT"),
    (Errno::NOTCONN, "ENOTCONN"),
    (Errno::OPNOTSUPP, "EOPNOTSUPP"),
    (Errno::PERM, "EPERM"),
    (Errno::PIPE, "EPIPE"),
    (Errno::TIMEDOUT, "ETIMEDOUT"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_call_and_symbol() {
        let failure = Failure::new("sendmmsg", Errno::NOBUFS);
        assert_eq!(failure.name(), "ENOBUFS");
        assert_eq!(failure.class(), FailureClass::NoBuffers);
        assert_eq!(format!("{failure:?}"), "sendmmsg: ENOBUFS");
    }

    #[test]
    fn an_error_without_a_common_name_keeps_its_number() {
        let errno = Errno::from_raw_os_error(124);
        assert_eq!(Failure::new("recv", errno).name(), "E124");
    }
}
