//! iperf3's handshake of datagram streams: four bytes, and four bytes back.
//!
//! A server takes every datagram for the next stream, so a request is never repeated.

use linerate_model::{Clock, MonoInstant};
use linerate_sys::clock::MonoClock;
use linerate_sys::tcp::wait_readable;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Length of a request and of its answer.
pub const LEN: usize = 4;

/// The request since 3.12, and its answer.
const REQUEST: [u8; LEN] = *b"9876";
const ANSWER: [u8; LEN] = *b"6789";

/// The request up to 3.11 of little-endian hosts, and its answer.
const OLD_REQUEST: [u8; LEN] = [0x15, 0xcd, 0x5b, 0x07];
const OLD_ANSWER: [u8; LEN] = [0xb1, 0x68, 0xde, 0x3a];

/// The answer to a request, in the form and byte order of the request; `None` if it is none.
pub fn answer(request: &[u8]) -> Option<[u8; LEN]> {
    let request: [u8; LEN] = request.try_into().ok()?;
    let reversed = |mut bytes: [u8; LEN]| {
        bytes.reverse();
        bytes
    };
    [(REQUEST, ANSWER), (OLD_REQUEST, OLD_ANSWER)]
        .into_iter()
        .flat_map(|(ask, say)| [(ask, say), (reversed(ask), reversed(say))])
        .find(|(ask, _)| *ask == request)
        .map(|(_, say)| say)
}

/// Whether these bytes are an answer of any version and byte order.
fn is_answer(bytes: &[u8]) -> bool {
    [ANSWER, OLD_ANSWER]
        .iter()
        .any(|answer| bytes == answer || bytes.iter().rev().eq(answer.iter()))
}

/// Asks once and waits for the answer; whether it came before `deadline`. Traffic that overtakes it is
/// passed over.
pub(super) fn greet(socket: &UdpSocket, deadline: MonoInstant) -> io::Result<bool> {
    socket.send(&REQUEST)?;
    loop {
        let left = deadline.saturating_since(MonoClock.now());
        if left.is_zero() {
            return Ok(false);
        }
        if !wait_readable(&[socket.as_fd()], left)?[0] {
            continue;
        }
        let mut bytes = [0; LEN + 1];
        let length = socket.recv(&mut bytes)?;
        if is_answer(&bytes[..length]) {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_and_byte_order_gets_its_own_answer() {
        for (request, said) in [
            (b"9876", b"6789"),
            (b"6789", b"9876"),
            (b"\x15\xcd\x5b\x07", b"\xb1\x68\xde\x3a"),
            (b"\x07\x5b\xcd\x15", b"\x3a\xde\x68\xb1"),
        ] {
            assert_eq!(answer(request), Some(*said));
            assert!(is_answer(said));
        }
        assert_eq!(answer(b"98765"), None);
        assert_eq!(answer(b"0000"), None);
    }
}
