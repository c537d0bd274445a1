//! Frames as text between two marks.
//!
//! ```text
//!  ~ base64( kind and way:u8  session:u16  number:u8  acknowledged:u8  payload  CRC-32:u32 ) ~     (big-endian)
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Begins and ends a frame; no letter of base64.
const MARK: u8 = b'~';

/// Most of the stream that one frame carries. A frame is 172 letters then, 0.18 s at 9600 baud: what one damaged byte
/// costs.
pub(super) const MAX_PAYLOAD: usize = 118;

/// Kind, session, number, acknowledged number; checksum.
const HEADER: usize = 5;
const CHECKSUM: usize = 4;

/// Letters of the longest frame, marks included.
pub(super) const MAX_LETTERS: usize = (HEADER + MAX_PAYLOAD + CHECKSUM).div_ceil(3) * 4 + 2;

/// The bit that says that a frame is the server's.
const OF_SERVER: u8 = 0x80;

/// An end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It opens the stream.
    Client,
    /// It is opened.
    Server,
}

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It says what has come, and is not numbered.
    Acknowledge,
    /// The stream ends.
    Close,
    /// A piece of the stream.
    Data,
    /// It says what has come, that more came, and is not numbered.
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

    /// Whether it has a place in the order of frames.
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
    /// The number that is awaited from the other end.
    pub(super) awaited: u8,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// What is written on the line.
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

    /// The frame between two marks, if it is one.
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

/// What has come since the last mark.
#[derive(Debug, Default)]
pub(super) struct Reader {
    text: Vec<u8>,
}

impl Reader {
    /// Takes one byte of the line; the frame that it ends.
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
