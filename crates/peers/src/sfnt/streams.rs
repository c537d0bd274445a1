//! sfnt-pingpong's data streams: no header. Messages have the agreed length and free content; the peer is known only by
//! the addresses from the control connection.

use crate::stream_format::{Arrival, MessageFormat, PlainMessages, StreamFormat};

/// The data streams of every test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams;

impl StreamFormat for Streams {
    fn arrival(&self) -> Arrival {
        Arrival::ToldPorts
    }

    fn messages(&self, _stream: u8) -> Option<Box<dyn MessageFormat>> {
        let ends_stream = false;
        Some(Box::new(PlainMessages { ends_stream }))
    }

    fn is_granted(&self) -> bool {
        true
    }

    fn stays_open(&self) -> bool {
        true
    }
}
