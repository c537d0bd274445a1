//! linerate's own header, see [`crate::wire`].

use super::{Numbering, Part, Reading};
use crate::wire::{Header, Kind, Stamp};
use linerate_model::MonoInstant;

/// The header with a test's token and the index of the stream.
pub(crate) struct Native {
    pub(crate) token: u32,
    pub(crate) stream: u8,
}

impl Numbering for Native {
    const MARKS_WARM_UP: bool = true;
    const SHOWS_CLOCK: bool = true;

    #[inline]
    fn write(&self, slot: &mut [u8], part: Part, sequence: u64, sent: MonoInstant) {
        let kind = match part {
            Part::Counted => Kind::Counted,
            Part::WarmUp => Kind::WarmUp,
        };
        let header = Header {
            token: self.token,
            stream: self.stream,
            kind,
            sequence,
            sent: Stamp::from_instant(sent),
        };
        header.write(slot);
    }

    #[inline]
    fn read(&self, datagram: &[u8], _expected: u64) -> Reading {
        let header =
            Header::read(datagram).filter(|h| h.token == self.token && h.stream == self.stream);
        match header {
            Some(header) if header.kind == Kind::Counted => Reading::Numbered {
                sequence: header.sequence,
                sent: header.sent,
            },
            Some(header) => Reading::Other(Some(header.sent)),
            None => Reading::Foreign,
        }
    }
}
