//! The header of every message of sockperf since 2.7.
//!
//! ```text
//!  0          8       10        14
//!  | sequence | flags | length  | filling …
//! ```
//! Big-endian. The sequence is from 1; the length is of the whole message, header included.

/// Bytes of the header, and so of the shortest message.
pub const HEADER_LEN: usize = 14;

/// Maximum message length: of a datagram, and of a server's default over TCP.
pub const MAX_MESSAGE: usize = 65_507;

const FROM_CLIENT: u16 = 1;
const WANTS_REPLY: u16 = 2;
const WARM_UP: u16 = 4;

/// A message's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Sequence number, from 1.
    pub sequence: u64,
    /// Flag bits.
    flags: u16,
    /// Announced length of the whole message, bytes.
    pub length: u32,
}

impl Header {
    /// Header of a client's message that wants a reply.
    pub const fn ping(sequence: u64, length: u32) -> Self {
        Self {
            sequence,
            flags: FROM_CLIENT | WANTS_REPLY,
            length,
        }
    }

    /// Reads a header; `None` if `bytes` are too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let [s0, s1, s2, s3, s4, s5, s6, s7, f0, f1, l0, l1, l2, l3] =
            *bytes.first_chunk::<HEADER_LEN>()?;
        Some(Self {
            sequence: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            flags: u16::from_be_bytes([f0, f1]),
            length: u32::from_be_bytes([l0, l1, l2, l3]),
        })
    }

    /// Writes the header at the start of `bytes`, which must have room.
    pub fn write(self, bytes: &mut [u8]) {
        let bytes: &mut [u8; HEADER_LEN] = bytes
            .first_chunk_mut()
            .expect("invariant: messages are at least a header long");
        bytes[..8].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.flags.to_be_bytes());
        bytes[10..].copy_from_slice(&self.length.to_be_bytes());
    }

    /// Whether a client sent it.
    pub const fn is_from_client(self) -> bool {
        self.flags & FROM_CLIENT != 0
    }

    /// Whether a server is to send it back.
    pub const fn wants_reply(self) -> bool {
        self.is_from_client() && self.flags & WANTS_REPLY != 0 && self.flags & WARM_UP == 0
    }

    /// Header of the reply.
    #[must_use]
    pub const fn reply(self) -> Self {
        Self {
            flags: self.flags & !FROM_CLIENT,
            ..self
        }
    }

    /// The length, if it is valid.
    pub fn valid_length(self) -> Option<usize> {
        usize::try_from(self.length)
            .ok()
            .filter(|length| (HEADER_LEN..=MAX_MESSAGE).contains(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_is_the_example_of_the_protocol() {
        let mut bytes = [0xee; 20];
        Header::ping(1, 14).write(&mut bytes);
        assert_eq!(bytes[..14], [0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 14]);
        let read = Header::read(&bytes).unwrap();
        assert!(read.wants_reply() && read.is_from_client());
        assert_eq!(read.valid_length(), Some(14));
        let reply = read.reply();
        assert!(!reply.is_from_client() && !reply.wants_reply());
        assert_eq!((reply.sequence, reply.length), (1, 14));
    }

    #[test]
    fn what_is_short_warm_up_or_of_a_server_wants_no_reply() {
        assert_eq!(Header::read(&[0; 13]), None);
        for flags in [0, 1, 2, 4, 5, 7] {
            let header = Header {
                sequence: 1,
                flags,
                length: 14,
            };
            assert!(!header.wants_reply(), "{flags}");
        }
        for length in [0, 13, 65_508, u32::MAX] {
            assert_eq!(Header::ping(1, length).valid_length(), None);
        }
    }
}
