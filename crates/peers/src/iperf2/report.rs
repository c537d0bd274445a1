//! The receiver's report, which answers the end of a datagram stream.
//!
//! ```text
//!  at 12 or 16
//!  0       4                8          12  16                 20     24             28          [32]  32, 36
//!  | flags | bytes hi, lo | … | seconds, µs of the test | lost | out of order | datagrams | (hi) | jitter s, µs |
//! ```
//! Big-endian, flags have the top bit. 2.0.10 to 2.0.12 have a word more before the jitter. From 2.0.13 on the
//! upper halves of the three counts are at 116 of 128 bytes.
//!
//! What the counts mean: iperf2's `datagrams` is the highest number seen, the end's included, and what it
//! received is that without `lost`, the end, and the opening where that is counted: up to 2.0.13 the first
//! datagram is not. zperf's is what it received. 2.0.10 to 2.0.12 read the end −n of every other client as 2³¹ − n: then
//! `datagrams` and `lost` are both too high, and their difference is right. So the difference is taken, or
//! `datagrams` where that fits the bytes better; loss is what this end sent without that.

use super::streams::Width;
use super::word;
use linerate_model::sample::{DatagramReceiver, PeerCounts, PeerStream, StreamReport};
use linerate_model::{ByteCount, PacketCount};
use std::time::Duration;

/// A report as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// L4 payload received, in bytes.
    pub bytes: u64,
    /// From the first datagram to the last, receiver's clock.
    pub duration: Duration,
    /// Datagrams counted as lost.
    pub lost: u64,
    /// Datagrams counted as out of order.
    pub out_of_order: u64,
    /// Datagram count; its meaning depends on the version (see the module).
    pub datagrams: u64,
    /// Interarrival jitter (RFC 3550), or its average (from 2.1 on).
    pub jitter: Duration,
    /// Whether it has the length that only iperf2 from 2.1 on sends.
    pub is_modern: bool,
}

/// Flag that every report sets.
const VALID: u32 = 0x8000_0000;
/// Flag: upper halves of the counts are present.
const HAS_UPPER: u32 = 0x0800_0000;
/// Minimum length of a report in the wide form.
const WIDE: usize = 56;
/// Length of a report with upper halves.
const LONG: usize = 128;
const UPPER: usize = 116;

impl Report {
    /// Parses a datagram; `None` if it is not a report.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let at = if bytes.len() >= 52 && matches!(word(bytes, 12)?, 0x8000_0000 | 0xc000_0000) {
            12
        } else if bytes.len() >= WIDE && word(bytes, 16)? & VALID != 0 {
            16
        } else {
            return None;
        };
        let part = |offset: usize| word(bytes, at + offset).map(u64::from);
        let is_long = at == 16 && bytes.len() >= LONG && word(bytes, 16)? & HAS_UPPER != 0;
        let upper = |index: usize| {
            let half = if is_long {
                word(bytes, UPPER + 4 * index)
            } else {
                None
            };
            u64::from(half.unwrap_or(0)) << 32
        };
        // No valid time has so many microseconds: not a report.
        if part(16)? >= 1_000_000 {
            return None;
        }
        let time = |seconds: u64, micros: u64| {
            Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros))
        };
        let datagrams = part(28)? | upper(2);
        // Versions with the additional word before the jitter are those that report too many datagrams.
        let shift = if at == 16 && !is_long && is_marked(datagrams) {
            4
        } else {
            0
        };
        Some(Self {
            bytes: part(4)? << 32 | part(8)?,
            duration: time(part(12)?, part(16)?),
            lost: part(20)? | upper(0),
            out_of_order: part(24)? | upper(1),
            datagrams,
            jitter: time(part(32 + shift)?, part(36 + shift).unwrap_or(0)),
            is_modern: bytes.len() == LONG,
        })
    }

    /// Encodes the report in the form that a client of this kind reads; `None` if that takes more than `room` bytes.
    pub fn write(&self, width: Width, is_extended: bool, room: usize) -> Option<Vec<u8>> {
        let length = match (width, is_extended) {
            (Width::Narrow, _) => 52,
            (Width::Wide, true) if room >= LONG => LONG,
            (Width::Wide, _) => WIDE,
        };
        if length > room {
            return None;
        }
        let is_long = length == LONG;
        let flags = VALID | if is_long { HAS_UPPER } else { 0 };
        let mut bytes = vec![0; width.bytes()];
        let mut put = |word: u32| bytes.extend(word.to_be_bytes());
        put(flags);
        put(high(self.bytes));
        put(low(self.bytes));
        put(seconds(self.duration));
        put(self.duration.subsec_micros());
        for count in [self.lost, self.out_of_order, self.datagrams] {
            put(low(count));
        }
        put(seconds(self.jitter));
        put(self.jitter.subsec_micros());
        if is_long {
            bytes.resize(UPPER, 0);
            for count in [self.lost, self.out_of_order, self.datagrams] {
                bytes.extend(high(count).to_be_bytes());
            }
        }
        Some(bytes)
    }

    /// Datagrams received of the `sent` that were sent, of `payload` bytes each.
    ///
    /// Others than zperf up to 4.1 number them, and so count more than were sent: the end of the stream and,
    /// from 2.1 on, the opening too. linerate counts the opening and not the end.
    pub fn received(&self, sent: u64, payload: u64) -> u64 {
        let difference = self.datagrams.saturating_sub(self.lost);
        if self.datagrams > sent {
            let uncounted = if self.is_modern { 2 } else { 1 };
            return difference.saturating_sub((self.datagrams - sent).min(uncounted));
        }
        let by_bytes = self.bytes / payload.max(1);
        if self.datagrams.abs_diff(by_bytes) < difference.abs_diff(by_bytes) {
            self.datagrams
        } else {
            difference
        }
    }

    /// The report as counts of stream `index`, which received `received` datagrams of `payload` bytes each.
    pub(super) fn as_stream(&self, index: u16, received: u64, payload: u64) -> StreamReport {
        let nanos = u64::try_from(self.jitter.as_nanos()).ok();
        let stream = PeerStream {
            rtp_jitter_ns: nanos.filter(|_| self.jitter < self.duration),
            counts: Some(PeerCounts {
                bytes: ByteCount::new(self.bytes),
                datagrams: self.datagrams,
                lost: self.lost,
                out_of_order: self.out_of_order,
            }),
            ..PeerStream::default()
        };
        let bytes = ByteCount::new(received.saturating_mul(payload));
        StreamReport {
            duration: Some(self.duration)
                .filter(|time| *time < MAX_PLAUSIBLE_DURATION)
                .unwrap_or_default(),
            ..StreamReport::new(index, stream).with_counts(bytes, PacketCount::new(received))
        }
    }

    /// Report for what this end's receiver saw of a stream.
    pub(super) fn from_receiver(stream: &StreamReport, end: &DatagramReceiver) -> Self {
        let sequence = end.sequence;
        let received = sequence.received.get();
        // Only the peer's end tells of datagrams that were lost last.
        let said = end.sent_there.map_or(0, PacketCount::get);
        let datagrams = sequence.next_expected.max(said);
        Self {
            bytes: stream.bytes.get(),
            duration: stream.duration,
            lost: datagrams.saturating_sub(received),
            out_of_order: sequence.reordered.get(),
            datagrams,
            jitter: Duration::from_nanos(end.rtp_jitter_ns.unwrap_or(0)),
            is_modern: false,
        }
    }
}

/// Maximum plausible test time in a report.
const MAX_PLAUSIBLE_DURATION: Duration = Duration::from_hours(48);

/// Whether a datagram count comes from a negated number whose top bit was cut off.
const fn is_marked(datagrams: u64) -> bool {
    datagrams > 1 << 30 && datagrams < 1 << 31
}

#[expect(clippy::cast_possible_truncation, reason = "the half that is wanted")]
const fn low(value: u64) -> u32 {
    value as u32
}

const fn high(value: u64) -> u32 {
    low(value >> 32)
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
