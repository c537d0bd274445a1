//! netperf's data streams: they begin without a word and carry nothing but the test's bytes. They end themselves:
//! a TCP stream with its half-close, a datagram stream with a datagram below a length that the test names.

use crate::stream_format::{
    Arrival, DatagramFormat, DatagramHeader, MessageFormat, Numbers, Part, PlainMessages, Reading,
    SendTime, StreamFormat,
};

/// Data streams of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Minimum length of a counted datagram, bytes.
    pub least: u16,
}

impl StreamFormat for Streams {
    fn arrival(&self) -> Arrival {
        Arrival::FirstDatagram
    }

    fn datagrams(&self, _stream: u8, _payload: usize) -> Option<Box<dyn DatagramFormat>> {
        Some(Box::new(*self))
    }

    fn messages(&self, _stream: u8) -> Option<Box<dyn MessageFormat>> {
        let ends_stream = true;
        Some(Box::new(PlainMessages { ends_stream }))
    }

    fn tells_its_end(&self) -> bool {
        true
    }
}

impl DatagramHeader for Streams {
    const NUMBERS: Numbers = Numbers::None;

    /// Minimum payload, bytes: an empty datagram ends the stream.
    fn header_len(&self) -> usize {
        1
    }

    #[inline]
    fn write(&self, _slot: &mut [u8], _part: Part, _sequence: u64, _sent: SendTime) {}

    #[inline]
    fn read(&self, datagram: &[u8], _expected: u64) -> Reading {
        if datagram.len() < usize::from(self.least) {
            Reading::End { sent: None }
        } else {
            Reading::Unnumbered
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_counts_unless_it_is_too_short() {
        let streams = Streams { least: 3 };
        assert_eq!(streams.read_one(&[0; 2], 0), Reading::End { sent: None });
        assert_eq!(streams.read_one(&[], 0), Reading::End { sent: None });
        assert_eq!(streams.read_one(&[0; 3], 0), Reading::Unnumbered);
        assert_eq!(streams.read_one(&[0; 9], 7), Reading::Unnumbered);
    }
}
