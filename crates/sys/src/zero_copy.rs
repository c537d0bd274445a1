//! Sending without copying (`MSG_ZEROCOPY`, Linux 4.14): the kernel reads the sender's pages until what it sent from them is
//! acknowledged, and tells through the error queue from when on they are free again.
//!
//! Only for bytes that never change: a page that is written to before that is sent with what then stands in it. The pages
//! themselves stay valid, whatever the sender does with its memory.
//!
//! # References
//! - Linux `Documentation/networking/msg_zerocopy.rst`

use crate::control::messages;
use crate::error_queue::{ExtendedError, from_error_queue};
use crate::failure::{Failure, FailureClass};
use crate::tcp;
use crate::udp::Blocking;
use std::os::fd::AsFd;

/// How many calls a sender made, and of how many the kernel copied the bytes all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls that took bytes.
    pub made: u64,
    /// Those whose bytes were copied: there was no room for another notice, or something on the path needed its own copy
    /// (a capture, a device without scatter-gather).
    pub copied: u64,
}

impl Calls {
    /// Sends bytes of a connected TCP socket that allows it ([`sockopt::set_zero_copy`](crate::sockopt::set_zero_copy)) without
    /// copying where it can; returns how many it accepted.
    #[inline]
    pub fn send<Fd: AsFd>(
        &mut self,
        socket: Fd,
        bytes: &[u8],
        blocking: Blocking,
    ) -> Result<usize, Failure> {
        if self.made.is_multiple_of(NOTICES) {
            self.take_notices(socket.as_fd())?;
        }
        let sent = tcp::send_without_copy(socket.as_fd(), bytes, blocking);
        let sent = match sent {
            Err(failure) if failure.class() == FailureClass::NoBuffers => {
                self.take_notices(socket.as_fd())?;
                let sent = tcp::send(socket, bytes, blocking)?;
                self.copied += 1;
                sent
            }
            sent => sent?,
        };
        self.made += 1;
        Ok(sent)
    }

    /// Reads the kernel's notices of bytes that it no longer needs, and whether it copied them.
    pub fn take_notices<Fd: AsFd>(&mut self, socket: Fd) -> Result<(), Failure> {
        while let Some(notice) = from_error_queue(socket.as_fd(), notice)? {
            if notice.is_copied {
                self.copied += notice.calls;
            }
        }
        Ok(())
    }
}

/// Calls after which notices are read: few enough that they never fill the room for them (`net.core.optmem_max`).
const NOTICES: u64 = 32;

/// What the kernel tells of a run of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Notice {
    calls: u64,
    is_copied: bool,
}

fn notice(control: &[u8]) -> Option<Notice> {
    let error = messages(control)
        .find(|(level, kind, _)| ExtendedError::is(*level, *kind))
        .and_then(|(.., data)| ExtendedError::parse(data))?;
    if error.origin != ORIGIN {
        return None;
    }
    // The first and the last call of the run; their numbers wrap.
    Some(Notice {
        calls: u64::from(error.data.wrapping_sub(error.info)) + 1,
        is_copied: error.code & COPIED != 0,
    })
}

/// `linux/errqueue.h`: `SO_EE_ORIGIN_ZEROCOPY`.
const ORIGIN: u8 = 5;

/// `linux/errqueue.h`: `SO_EE_CODE_ZEROCOPY_COPIED`.
const COPIED: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockopt;
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn every_byte_arrives_and_every_call_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sockopt::set_zero_copy(&sender).unwrap();
        let data = vec![0x5a; 64 << 10];
        let mut calls = Calls::default();
        let mut sent = 0;
        for _ in 0..100 {
            let mut left = data.as_slice();
            while !left.is_empty() {
                let taken = calls.send(&sender, left, Blocking::Yes).unwrap();
                left = &left[taken..];
                sent += taken;
                let mut room = vec![0; taken];
                receiver.read_exact(&mut room).unwrap();
                assert!(room.iter().all(|byte| *byte == 0x5a));
            }
        }
        calls.take_notices(&sender).unwrap();
        assert_eq!(sent, 100 * data.len());
        assert!(calls.made >= 100, "{calls:?}");
        assert!(calls.copied <= calls.made, "{calls:?}");
    }

    #[test]
    fn a_notice_tells_how_many_calls_it_is_of() {
        let words = |origin: u8, code: u8, [first, last]: [u32; 2]| {
            let mut bytes = vec![0, 0, 0, 0, origin, 0, code, 0];
            bytes.extend(first.to_ne_bytes());
            bytes.extend(last.to_ne_bytes());
            let mut message = (16 + bytes.len()).to_ne_bytes().to_vec();
            message.extend(libc::SOL_IP.to_ne_bytes());
            message.extend(libc::IP_RECVERR.to_ne_bytes());
            message.extend(bytes);
            message
        };
        let of = |calls, is_copied| Some(Notice { calls, is_copied });
        assert_eq!(notice(&words(ORIGIN, 0, [4, 6])), of(3, false));
        assert_eq!(notice(&words(ORIGIN, COPIED, [u32::MAX, 1])), of(3, true));
        assert_eq!(notice(&words(libc::SO_EE_ORIGIN_ICMP, 0, [4, 6])), None);
        assert_eq!(notice(&words(ORIGIN, 0, [4, 6])[..20]), None);
    }
}
