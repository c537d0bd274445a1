//! netperf's datagrams: no header at all, so they can be counted and nothing else.
//!
//! A datagram below a length that the test names says that the stream is over.

use super::{Numbering, Part, Reading};
use linerate_model::MonoInstant;

/// Datagrams of which those of at least `least` bytes count.
pub(crate) struct Netperf {
    pub(crate) least: usize,
}

impl Numbering for Netperf {
    const MARKS_WARM_UP: bool = false;
    const ENDS_STREAM: bool = true;

    #[inline]
    fn write(&self, _slot: &mut [u8], _part: Part, _sequence: u64, _sent: MonoInstant) {}

    #[inline]
    fn read(&self, datagram: &[u8], _expected: u64) -> Reading {
        if datagram.len() < self.least {
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
        let framing = Netperf { least: 3 };
        assert_eq!(framing.read(&[0; 2], 0), Reading::End { sent: None });
        assert_eq!(framing.read(&[], 0), Reading::End { sent: None });
        assert_eq!(framing.read(&[0; 3], 0), Reading::Unnumbered);
        assert_eq!(framing.read(&[0; 9], 7), Reading::Unnumbered);
    }
}
