//! iperf3's header: the sender's time, and a number from 1 that goes on through the warm-up.
//!
//! ```text
//!  0          4          8                 12 or 16
//!  | seconds  | microseconds | number (32 or 64) | padding …
//! ```
//! Big-endian. Nothing says whose datagram it is: one of another length is of another sender, and one
//! of four bytes belongs to the handshake. The clock is the sender's own, of any origin.

use super::{Numbering, Part, Reading};
use crate::wire::{Stamp, distance};
use linerate_model::MonoInstant;

/// Bytes of a request or answer of the handshake.
const HANDSHAKE: usize = 4;

/// The header of datagrams that are `payload` bytes long, with a number of 64 bits if `WIDE`, else of 32.
pub(crate) struct Iperf3<const WIDE: bool> {
    pub(crate) payload: usize,
}

impl<const WIDE: bool> Numbering for Iperf3<WIDE> {
    const MARKS_WARM_UP: bool = false;

    #[inline]
    fn write(&self, slot: &mut [u8], _part: Part, sequence: u64, sent: MonoInstant) {
        let micros = sent.as_nanos() / 1000;
        let number = sequence.wrapping_add(1);
        // Seconds fit for 136 years of uptime, microseconds are below a million.
        let seconds = (micros / 1_000_000).to_be_bytes();
        let micros = (micros % 1_000_000).to_be_bytes();
        let bytes: &mut [u8; 12] = slot
            .first_chunk_mut()
            .expect("invariant: payloads are at least a header long");
        bytes[..4].copy_from_slice(&seconds[4..]);
        bytes[4..8].copy_from_slice(&micros[4..]);
        if WIDE {
            slot[8..16].copy_from_slice(&number.to_be_bytes());
        } else {
            bytes[8..].copy_from_slice(&number.to_be_bytes()[4..]);
        }
    }

    #[inline]
    fn read(&self, datagram: &[u8], expected: u64) -> Reading {
        if datagram.len() != self.payload {
            return match datagram.len() {
                HANDSHAKE => Reading::Other(None),
                _ => Reading::Foreign,
            };
        }
        let word = |at: usize| -> Option<u32> {
            let bytes: &[u8; 4] = datagram.get(at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        let (Some(seconds), Some(micros), Some(number)) = (word(0), word(4), word(8)) else {
            return Reading::Foreign;
        };
        let sequence = if WIDE {
            let low = word(12).unwrap_or_default();
            let number = u64::from(number) << 32 | u64::from(low);
            number.checked_sub(1).filter(|number| *number < 1 << 48)
        } else {
            let number = u64::from(number.wrapping_sub(1));
            expected.checked_add_signed(distance::<32>(number, expected))
        };
        let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1000;
        sequence.map_or(Reading::Foreign, |sequence| Reading::Numbered {
            sequence,
            sent: Stamp::from_instant(MonoInstant::from_nanos(nanos)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(sequence: u64, nanos: u64) -> Reading {
        Reading::Numbered {
            sequence,
            sent: Stamp::from_instant(MonoInstant::from_nanos(nanos)),
        }
    }

    #[test]
    fn the_first_datagram_is_the_example_of_the_protocol() {
        let sent = MonoInstant::from_nanos(3_600_250_000_000);
        let (narrow, wide) = (
            Iperf3::<false> { payload: 16 },
            Iperf3::<true> { payload: 16 },
        );
        let mut slot = [0; 16];
        narrow.write(&mut slot, Part::Counted, 0, sent);
        assert_eq!(slot[..12], [0, 0, 0x0e, 0x10, 0, 3, 0xd0, 0x90, 0, 0, 0, 1]);
        assert_eq!(narrow.read(&slot, 0), numbered(0, sent.as_nanos()));
        wide.write(&mut slot, Part::WarmUp, 1 << 33, sent);
        assert_eq!(slot[8..], [0, 0, 0, 2, 0, 0, 0, 1]);
        assert_eq!(wide.read(&slot, 0), numbered(1 << 33, sent.as_nanos()));
    }

    #[test]
    fn a_number_of_32_bits_goes_on_after_its_wrap() {
        let framing = Iperf3::<false> { payload: 12 };
        let mut slot = [0; 12];
        for sequence in [u64::from(u32::MAX) - 1, 1 << 32, (1 << 33) + 5] {
            framing.write(&mut slot, Part::Counted, sequence, MonoInstant::default());
            assert_eq!(framing.read(&slot, sequence - 1), numbered(sequence, 0));
            assert_eq!(framing.read(&slot, sequence + 9), numbered(sequence, 0));
        }
    }

    #[test]
    fn what_is_not_of_this_stream_is_foreign() {
        let framing = Iperf3::<true> { payload: 16 };
        assert_eq!(framing.read(&[0; 4], 0), Reading::Other(None));
        for strange in [&[0; 15][..], &[0; 17], &[], &[0; 16], &[0xff; 16]] {
            assert_eq!(framing.read(strange, 0), Reading::Foreign, "{strange:?}");
        }
    }
}
