//! sockperf's data streams: nothing is agreed before; every message carries a number, what it is and its length.

use super::wire::{HEADER_LEN, Header, MAX_MESSAGE};
use crate::stream_format::{
    Arrival, BadLength, Message, MessageFormat, Replies, ReplyFormat, StreamFormat,
};
use linerate_model::MonoInstant;

/// The data streams of every test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams;

impl StreamFormat for Streams {
    fn arrival(&self) -> Arrival {
        Arrival::SharedPort
    }

    fn messages(&self, _stream: u8) -> Option<Box<dyn MessageFormat>> {
        Some(Box::new(*self))
    }

    fn replies(&self) -> Option<Box<dyn ReplyFormat>> {
        Some(Box::new(*self))
    }

    fn tells_its_end(&self) -> bool {
        true
    }
}

impl MessageFormat for Streams {
    fn header_len(&self) -> usize {
        HEADER_LEN
    }

    fn shows_clock(&self, _length: usize) -> bool {
        false
    }

    fn write(&self, message: &mut [u8], number: u64, _sent: MonoInstant) {
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        Header::ping(number.wrapping_add(1), length).write(message);
    }

    fn read(&self, message: &[u8]) -> Option<Message> {
        let number = Header::read(message)?.sequence;
        Some(Message { number, sent: None })
    }
}

impl ReplyFormat for Streams {
    fn max_message(&self) -> usize {
        MAX_MESSAGE
    }

    fn answer_stream(&self, bytes: &[u8], replies: &mut Replies) -> Result<usize, BadLength> {
        let mut at = 0;
        while let Some(header) = Header::read(&bytes[at..]) {
            let length = header.valid_length().ok_or(BadLength)?;
            let Some(message) = bytes[at..].get(..length) else {
                break;
            };
            reply(header, message, replies);
            at += length;
        }
        Ok(at)
    }

    fn answer_datagram(&self, datagram: &[u8], replies: &mut Replies) {
        let header = Header::read(datagram);
        if let Some(header) = header.filter(|h| h.valid_length() == Some(datagram.len())) {
            reply(header, datagram, replies);
        }
    }
}

/// Queues the reply to a message that wants one.
fn reply(header: Header, message: &[u8], replies: &mut Replies) {
    if header.wants_reply() {
        header.reply().write(replies.push(message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_the_message_without_the_clients_flag() {
        let mut sent = vec![0x55; 20];
        Header::ping(9, 20).write(&mut sent);
        let mut replies = Replies::default();
        Streams.answer_datagram(&sent, &mut replies);
        assert_eq!(replies.first()[..10], [0, 0, 0, 0, 0, 0, 0, 9, 0, 2]);
        assert_eq!(replies.first()[10..], sent[10..]);
        assert!(!replies.advance(19));
        assert!(!replies.is_empty());
        assert!(replies.advance(1));
        assert!(replies.is_empty() && replies.first().is_empty());
    }
}
