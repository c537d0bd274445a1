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

/// How many bits number a datagram of iperf2 or iperf3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// 32: the header takes 12 bytes.
    Bits32,
    /// 64: the header takes 16 bytes.
    Bits64,
}

/// What an iperf2 client's data streams begin with: a TCP stream with these bytes, a datagram with its
/// number and time and then these bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    bytes: [u8; Self::MAX_BYTES],
    length: usize,
}

impl Opening {
    /// Most bytes of an opening.
    pub const MAX_BYTES: usize = 64;

    /// No bytes.
    pub const NONE: Self = Self {
        bytes: [0; Self::MAX_BYTES],
        length: 0,
    };

    /// The first [`MAX_BYTES`](Self::MAX_BYTES) of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut opening = Self::NONE;
        opening.length = bytes.len().min(Self::MAX_BYTES);
        opening.bytes[..opening.length].copy_from_slice(&bytes[..opening.length]);
        opening
    }

    /// As on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opening({})", self.as_bytes().escape_ascii())
    }
}

/// How many bytes number and time of an iperf2 datagram take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 12: iperf2 up to 2.0.9 and its kin.
    Narrow,
    /// 16: later ones, with a second word of the number.
    Wide,
}

impl Width {
    /// In bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Narrow => 12,
            Self::Wide => 16,
        }
    }
}

/// The framing of iperf2 and its kin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iperf2 {
    /// What this end's streams begin with.
    pub opening: Opening,
    /// Bytes at the beginning of a TCP stream of the peer that are not data.
    pub skip: usize,
    /// Of the datagrams of both ends.
    pub width: Width,
    /// Of the datagrams of both ends.
    pub counters: Counters,
    /// Number of the peer's first datagram: 0 or 1.
    pub first: u8,
    /// Number of the first datagram that this end's senders send.
    pub sends_from: u8,
}

/// How the data streams of a test begin and what their datagrams carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// iperf2's: nothing is agreed before; a stream says itself what it is and where it ends. Both
    /// directions of a test share their streams.
    Iperf2(Iperf2),
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
    /// sfnt-pingpong's: nothing at all. Messages are of the agreed length with free content; who is at the
    /// other end is known from addresses told over the control connection alone.
    Sfnt,
    /// sockperf's: nothing is agreed before; every message carries a number, what it is and its length.
    Sockperf,
}

impl Framing {
    /// Whether data streams come to the port of the control connection; else the server opens ports for them.
    pub const fn shares_port(&self) -> bool {
        matches!(self, Self::Iperf2(_) | Self::Iperf3 { .. } | Self::Sockperf)
    }

    /// Whether messages flow only as far as [`Action::Grant`](crate::Action::Grant) lets them, and streams
    /// go on from test to test.
    pub const fn is_granted(&self) -> bool {
        matches!(self, Self::Sfnt)
    }

    /// Whether a duplex test has one stream for both ways.
    pub const fn shares_sockets(&self) -> bool {
        matches!(self, Self::Iperf2(_))
    }

    /// Whether a receiver sees the end of its streams in the streams, with nobody telling it.
    pub const fn tells_its_end(&self) -> bool {
        matches!(
            self,
            Self::Iperf2(_) | Self::Netperf { .. } | Self::Sockperf
        )
    }
}
