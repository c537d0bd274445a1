//! What data streams begin with, and what their datagrams carry: a value per test, chosen by the
//! control protocol and carried out by the engine.

use std::fmt;

/// Bytes of an iperf3 cookie: 36 characters and a zero.
pub const COOKIE_LEN: usize = 37;

/// What an iperf3 client shows on its control connection and on each TCP data stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cookie([u8; COOKIE_LEN]);

impl Cookie {
    /// The cookie that these bytes are, as they came.
    pub const fn from_wire(bytes: [u8; COOKIE_LEN]) -> Self {
        Self(bytes)
    }

    /// 36 letters out of 32, one for each random byte, and a zero.
    pub fn from_random(random: &[u8; COOKIE_LEN - 1]) -> Self {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut bytes = [0; COOKIE_LEN];
        for (letter, byte) in bytes.iter_mut().zip(random) {
            *letter = LETTERS[usize::from(byte % 32)];
        }
        Self(bytes)
    }

    /// As on the wire.
    pub const fn as_bytes(&self) -> &[u8; COOKIE_LEN] {
        &self.0
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({})", self.0.escape_ascii())
    }
}

/// How many bits number a datagram of iperf3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// 32: the header takes 12 bytes.
    Bits32,
    /// 64: the header takes 16 bytes.
    Bits64,
}

/// How the data streams of a test begin and what their datagrams carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// iperf3's: TCP streams begin with the cookie, UDP streams with four bytes and an answer;
    /// datagrams carry a time and a number from 1, and nothing that says whose they are.
    Iperf3 {
        /// The client's.
        cookie: Cookie,
        /// Of each datagram.
        counters: Counters,
    },
    /// linerate's own: everything shows the token, datagrams are marked counted or warm-up.
    Native {
        /// Random number that proves that a stream belongs to this test.
        token: u32,
    },
    /// netperf's: streams begin without a word and carry nothing but the test's bytes. They end themselves:
    /// a TCP stream with its half-close, a datagram stream with a datagram that is too short.
    Netperf {
        /// Bytes of the shortest datagram that counts.
        least: u16,
    },
}

impl Framing {
    /// Whether a receiver sees in the stream itself that its sender is done.
    pub const fn ends_itself(&self) -> bool {
        matches!(self, Self::Netperf { .. })
    }

    /// Whether all streams come to the port of the control connection, and not to ports of their own.
    pub const fn shares_port(&self) -> bool {
        matches!(self, Self::Iperf3 { .. })
    }
}
