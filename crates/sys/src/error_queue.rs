//! What a socket tells of earlier calls, and of a message beside its bytes: its error queue, and control messages.

use crate::control::Control;
use crate::failure::Failure;
use crate::udp::fit;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};

/// The call that brings control messages.
pub(crate) const RECVMSG: &str = "recvmsg";

/// Control buffer of one call: timestamps (64 bytes with their header) and an extended error (at most 64).
const CONTROL_LEN: usize = 256;

/// Receives bytes on `socket`, and what `parse` reads in the control messages that came with them.
pub(crate) fn receive<Fd: AsFd, T>(
    socket: Fd,
    room: &mut [u8],
    flags: i32,
    parse: impl FnOnce(&[u8]) -> T,
) -> Result<(usize, T), Failure> {
    let mut control = Control([0; CONTROL_LEN]);
    let mut iovec = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    // SAFETY: `msghdr` is plain C data of integers and pointers; all zero is a valid value.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = &raw mut iovec;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = fit(CONTROL_LEN);
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the header points to `iovec`, `room` and `control`, all live until the call returns, with their
    // true lengths (set just above); `fd` is open because `socket` borrows it.
    let got = unsafe { libc::recvmsg(fd, &raw mut header, flags) };
    let length = usize::try_from(got).map_err(|_| Failure::last(RECVMSG))?;
    let used: usize = fit(header.msg_controllen);
    Ok((length, parse(&control.0[..used.min(CONTROL_LEN)])))
}

/// Takes messages from the error queue of `socket` until `find` finds in one what it looks for; `None` once it is empty.
pub(crate) fn from_error_queue<Fd: AsFd, T>(
    socket: Fd,
    find: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    loop {
        match receive(socket.as_fd(), &mut [], flags, &find) {
            Ok((_, Some(found))) => return Ok(Some(found)),
            // Another kind of message.
            Ok((_, None)) => {}
            Err(failure) if failure == Failure::would_block(RECVMSG) => return Ok(None),
            Err(failure) => return Err(failure),
        }
    }
}

/// An extended error (`struct sock_extended_err`): what the kernel reports of an earlier call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExtendedError {
    pub(crate) origin: u8,
    pub(crate) code: u8,
    pub(crate) info: u32,
    pub(crate) data: u32,
}

impl ExtendedError {
    /// Error (4), origin, type, code, padding (1 each), info (4), data (4).
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(Self {
            origin: *bytes.get(4)?,
            code: *bytes.get(6)?,
            info: word(8)?,
            data: word(12)?,
        })
    }

    /// Whether a control message of this level and type is one.
    pub(crate) const fn is(level: i32, kind: i32) -> bool {
        matches!(
            (level, kind),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
        )
    }
}
