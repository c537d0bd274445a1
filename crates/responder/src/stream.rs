//! Data connection of a TCP test: its opening, and messages that are echoed with a new time.

use crate::traffic::Sink;
use linerate_wire::MonoInstant;
use linerate_wire::header::{HEADER_LEN, SENT, clock};

/// Length of token and stream index, with which a data connection begins.
const OPENING: usize = 6;

/// State of the data connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    /// None.
    Absent,
    /// `got` bytes of its opening have arrived.
    Opening { got: usize },
    /// The token was correct.
    Open,
    /// The client has ended its direction.
    Ended,
    /// It does not belong to this test, or is finished.
    Unwanted,
}

impl Connection {
    /// Consumes the opening in `bytes`; the rest is data.
    pub(crate) fn open<'a>(&mut self, token: u32, bytes: &'a mut [u8]) -> &'a mut [u8] {
        let Self::Opening { got } = *self else {
            return bytes;
        };
        let [a, b, c, d] = token.to_be_bytes();
        let wanted: [u8; OPENING] = [a, b, c, d, 0, 0];
        let left = wanted.get(got..).unwrap_or_default();
        let count = left.len().min(bytes.len());
        let (opening, data) = bytes.split_at_mut(count);
        *self = if !left.starts_with(opening) {
            Self::Unwanted
        } else if got + count == OPENING {
            Self::Open
        } else {
            Self::Opening { got: got + count }
        };
        data
    }
}

/// Position in the present message of an echoed stream.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Messages {
    pub(crate) position: usize,
    /// This device's time for it.
    pub(crate) clock: [u8; 6],
}

impl Messages {
    /// Turns the next bytes of messages of `size` into answers, and counts the messages that they complete.
    pub(crate) fn answer(
        &mut self,
        now: MonoInstant,
        size: usize,
        bytes: &mut [u8],
        sink: &mut Sink,
    ) {
        let mut rest = bytes;
        while !rest.is_empty() && size > 0 {
            if self.position <= SENT.start {
                self.clock = clock(now);
            }
            let count = (size - self.position).min(rest.len());
            let (part, after) = core::mem::take(&mut rest).split_at_mut(count);
            if size >= HEADER_LEN {
                self.stamp(part);
            }
            rest = after;
            self.position += count;
            if self.position == size {
                self.position = 0;
                sink.answered(now, size as u64);
            }
        }
    }

    /// Writes the part of the time that lies in this part of a message.
    fn stamp(self, part: &mut [u8]) {
        for (at, byte) in SENT.zip(self.clock) {
            let place = at.checked_sub(self.position);
            if let Some(place) = place.and_then(|place| part.get_mut(place)) {
                *place = byte;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::order::Order;
    use linerate_model::spec::{TestSpec, Transport};
    use linerate_wire::Stamp;
    use linerate_wire::header::{Header, Kind};

    #[test]
    fn a_connection_is_open_when_it_has_shown_the_token_in_any_pieces() {
        for split in 0..=OPENING {
            let mut bytes = [1, 2, 3, 4, 0, 0, 77];
            let (head, tail) = bytes.split_at_mut(split);
            let mut connection = Connection::Opening { got: 0 };
            assert!(connection.open(0x0102_0304, head).is_empty());
            assert_eq!(connection.open(0x0102_0304, tail), [77]);
            assert_eq!(connection, Connection::Open);
        }
        let mut connection = Connection::Opening { got: 0 };
        connection.open(0x0102_0304, &mut [1, 2, 9]);
        assert_eq!(connection, Connection::Unwanted);
    }

    #[test]
    fn messages_go_back_with_this_ends_time_in_any_pieces() {
        let spec = TestSpec::ping_pong(Transport::Tcp);
        let text = serde_json::to_string(&spec).unwrap();
        let order = Order::read(Json::read(text.as_bytes()).unwrap(), 1472).unwrap();
        let header = |sent| Header {
            token: 7,
            stream: 0,
            kind: Kind::Counted,
            sequence: 9,
            sent: Stamp::from_bits(sent),
        };
        for size in [1, 17, 18, 32] {
            for piece in 1..70 {
                let mut sink = Sink::new();
                sink.start(MonoInstant::default(), &order);
                let mut messages = Messages::default();
                let mut bytes = vec![0xaa; size * 3];
                for message in bytes.chunks_mut(size) {
                    header(1).write(message);
                }
                let sent = bytes.clone();
                for part in bytes.chunks_mut(piece) {
                    messages.answer(MonoInstant::from_nanos(5), size, part, &mut sink);
                }
                assert_eq!(sink.tally.packets(), 3);
                assert_eq!(sink.tally.bytes(), size as u64 * 3);
                if size < HEADER_LEN {
                    assert_eq!(bytes, sent);
                    continue;
                }
                for message in bytes.chunks(size) {
                    assert_eq!(Header::read(message), Some(header(5)));
                    assert!(message[HEADER_LEN..].iter().all(|byte| *byte == 0xaa));
                }
            }
        }
    }
}
