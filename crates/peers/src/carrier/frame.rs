//! Frames as text between two marks.
//!
//! ```text
//!  ~ base64( kind and way:u8  session:u16  number:u8  acknowledged:u8  payload  CRC-32:u32 ) ~     (big-endian)
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Frame delimiter: not a base64 character.
const MARK: u8 = b'~';

/// Maximum stream bytes per frame. Such a frame has 172 characters, 0.18 s at 9600 baud: the cost of one damaged byte.
pub(super) const MAX_PAYLOAD: usize = 118;

/// Kind, session, number, acknowledged number; checksum.
const HEADER: usize = 5;
const CHECKSUM: usize = 4;

/// Length of the longest frame in characters, delimiters included.
pub(super) const MAX_LETTERS: usize = (HEADER + MAX_PAYLOAD + CHECKSUM).div_ceil(3) * 4 + 2;

/// Bit that marks a frame sent by the server.
const OF_SERVER: u8 = 0x80;

/// An end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Opens the stream.
    Client,
    /// Accepts the stream.
    Server,
}

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Unnumbered: acknowledges what was received.
    Acknowledge,
    /// End of the stream.
    Close,
    /// A piece of the stream.
    Data,
    /// Unnumbered: acknowledges what was received and reports a gap after it.
    Gap,
    /// A new stream.
    Open,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Acknowledge,
        Self::Close,
        Self::Data,
        Self::Gap,
        Self::Open,
    ];

    const fn code(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Open => 1,
            Self::Close => 2,
            Self::Acknowledge => 3,
            Self::Gap => 4,
        }
    }

    /// Whether the frame carries a sequence number.
    pub(super) const fn is_numbered(self) -> bool {
        matches!(self, Self::Close | Self::Data | Self::Open)
    }
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) from: End,
    pub(super) kind: Kind,
    pub(super) session: u16,
    pub(super) number: u8,
    /// Next number expected from the peer (cumulative acknowledgement).
    pub(super) awaited: u8,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// Encodes the frame for the line.
    pub(super) fn encode(&self) -> Vec<u8> {
        let way = match self.from {
            End::Client => 0,
            End::Server => OF_SERVER,
        };
        let [high, low] = self.session.to_be_bytes();
        let mut bytes = vec![self.kind.code() | way, high, low, self.number, self.awaited];
        bytes.extend_from_slice(&self.payload);
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        let mut text = vec![MARK];
        text.extend(STANDARD_NO_PAD.encode(&bytes).into_bytes());
        text.push(MARK);
        text
    }

    /// Decodes the text between two delimiters; `None` if it is not a valid frame.
    fn decode(text: &[u8]) -> Option<Self> {
        let bytes = STANDARD_NO_PAD.decode(text).ok()?;
        let (bytes, sum) = bytes.split_last_chunk::<CHECKSUM>()?;
        if crc32fast::hash(bytes) != u32::from_be_bytes(*sum) {
            return None;
        }
        let (&[code, high, low, number, awaited], payload) = bytes.split_first_chunk::<HEADER>()?;
        let from = if code & OF_SERVER == 0 {
            End::Client
        } else {
            End::Server
        };
        let mut kinds = Kind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.code() == code & !OF_SERVER)?;
        Some(Self {
            from,
            kind,
            session: u16::from_be_bytes([high, low]),
            number,
            awaited,
            payload: payload.to_vec(),
        })
    }
}

/// Characters received since the last delimiter.
#[derive(Debug, Default)]
pub(super) struct Reader {
    text: Vec<u8>,
}

impl Reader {
    /// Takes one byte of the line; returns the frame that it completes.
    pub(super) fn take(&mut self, byte: u8) -> Option<Frame> {
        if byte != MARK {
            // What is longer than any frame is none; one letter more keeps it so.
            if self.text.len() < MAX_LETTERS {
                self.text.push(byte);
            }
            return None;
        }
        let frame = Frame::decode(&self.text);
        self.text.clear();
        frame
    }
}
