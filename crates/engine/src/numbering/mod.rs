//! How the datagrams of a stream are numbered and marked: the part of the framing inside the loop.
//!
//! Chosen once per stream; sender and receiver are made for each, so no packet pays for the choice.

mod iperf2;
mod iperf3;
mod native;
mod netperf;

pub(crate) use iperf2::{Iperf2, stamp};
pub(crate) use iperf3::Iperf3;
pub(crate) use native::Native;
pub(crate) use netperf::Netperf;

use crate::wire::Stamp;
use linerate_model::MonoInstant;

/// What a datagram is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Counted traffic.
    Counted,
    /// Traffic of the warm-up.
    WarmUp,
}

/// What a receiver makes of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// This stream's, after its last.
    End {
        /// Datagrams of the stream, warm-up included, where it says how many were sent.
        sent: Option<u64>,
    },
    /// Traffic that is counted, or that cannot be told from it.
    Numbered {
        /// From 0, 48 bits.
        sequence: u64,
        /// The sender's clock.
        sent: Stamp,
    },
    /// This stream's, but not traffic that counts; with the sender's clock where it shows it.
    Other(Option<Stamp>),
    /// Of another sender.
    Foreign,
    /// Counted traffic without a number.
    Unnumbered,
}

/// Writes and reads the headers of one stream's datagrams.
pub(crate) trait Numbering: Send + 'static {
    /// Whether a datagram says that it belongs to the warm-up, and the counted ones are numbered afresh.
    const MARKS_WARM_UP: bool;
    /// Whether datagrams have no number and the sender ends the stream with an empty one.
    const ENDS_STREAM: bool = false;
    /// Whether send times are of the peer's monotonic clock.
    const SHOWS_CLOCK: bool = false;

    /// Writes the header of datagram `sequence`, from 0, into the start of `slot`.
    fn write(&self, slot: &mut [u8], part: Part, sequence: u64, sent: MonoInstant);

    /// Reads a datagram where number `expected` would come next.
    fn read(&self, datagram: &[u8], expected: u64) -> Reading;
}
