//! A high-dynamic-range histogram of nanoseconds, kept whole from engine to report.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer as HdrDeserializer, Serializer as _, V2Serializer};
use std::time::Duration;

/// Three significant digits from 1 ns to one hour: the relative error of a value is at most 0.1 %.
///
/// Serialised as the HDR V2 format in base64, the field's interchange format.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

/// One hour; longer values are counted there.
const MAX_NANOS: u64 = 3_600_000_000_000;

/// Significant digits.
const DIGITS: u8 = 3;

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram of 16 KiB. Recording allocates when a value is the first of its power of two or above it:
    /// some twenty times in the life of a histogram, up to 270 KiB, which a server has for none of its idle streams.
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new(DIGITS);
        Self(inner.expect("invariant: a constant number of digits is valid"))
    }

    /// Counts one value in nanoseconds.
    pub fn record(&mut self, nanos: u64) {
        self.record_n(nanos, 1);
    }

    /// Counts one value in nanoseconds `count` times.
    pub fn record_n(&mut self, nanos: u64, count: u64) {
        self.0
            .record_n(nanos.min(MAX_NANOS), count)
            .expect("invariant: there is room for an hour");
    }

    /// Counts one duration.
    pub fn record_duration(&mut self, duration: Duration) {
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.0
            .add(&other.0)
            .expect("invariant: a histogram grows to what another has counted");
    }

    /// Number of values counted.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Smallest value in nanoseconds, to the histogram's precision.
    pub fn min_nanos(&self) -> u64 {
        self.0.min()
    }

    /// Largest value in nanoseconds, to the histogram's precision.
    pub fn max_nanos(&self) -> u64 {
        self.0.max()
    }

    /// Mean in nanoseconds.
    pub fn mean_nanos(&self) -> f64 {
        self.0.mean()
    }

    /// Standard deviation in nanoseconds.
    pub fn stdev_nanos(&self) -> f64 {
        self.0.stdev()
    }

    /// The value at quantile `q` (0 to 1) in nanoseconds.
    pub fn quantile_nanos(&self, q: f64) -> u64 {
        self.0.value_at_quantile(q)
    }

    /// Each recorded bucket: its upper value in nanoseconds and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
    }

    /// The HDR V2 encoding in base64.
    pub fn to_base64(&self) -> String {
        // Documents state the whole range, whatever was counted.
        let mut whole = hdrhistogram::Histogram::new_with_bounds(1, MAX_NANOS, DIGITS)
            .expect("invariant: constant bounds are valid");
        whole
            .add(&self.0)
            .expect("invariant: nothing above the range is counted");
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&whole, &mut bytes)
            .expect("invariant: writing to memory cannot fail");
        STANDARD.encode(bytes)
    }

    /// Reads [`to_base64`](Self::to_base64); refuses anything else, also other bounds.
    pub fn from_base64(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text).map_err(|_| HistogramError::Base64)?;
        if !is_ours(&bytes) {
            return Err(HistogramError::Encoding);
        }
        let inner: hdrhistogram::Histogram<u64> = HdrDeserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|_| HistogramError::Encoding)?;
        let mut own = Self::new();
        own.0.add(&inner).map_err(|_| HistogramError::Range)?;
        Ok(own)
    }
}

/// Whether the V2 header is the one [`Histogram::to_base64`] writes and the payload is all there.
///
/// The reader allocates what the header asks for, up to gigabytes, so a hostile header must not reach it.
fn is_ours(bytes: &[u8]) -> bool {
    /// Uncompressed V2 with counts of up to eight bytes.
    const COOKIE: u32 = 0x1c84_9313;
    /// Cookie, payload length, offset and digits (4 bytes each); low, high and ratio (8 bytes each).
    const HEADER: usize = 40;
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let payload = bytes
        .len()
        .checked_sub(HEADER)
        .and_then(|len| u32::try_from(len).ok());
    payload.is_some()
        && (word(0), word(4), word(8)) == (Some(COOKIE), payload, Some(0))
        && (word(12), long(16), long(24)) == (Some(3), Some(1), Some(MAX_NANOS))
}

/// Why a stored histogram cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("a histogram is not base64")]
    Base64,
    /// Not an HDR V2 histogram.
    #[error("a histogram is not in HDR V2 encoding")]
    Encoding,
    /// Holds values outside one hour.
    #[error("a histogram holds values over one hour")]
    Range,
}

crate::in_base64::in_base64!(
    Histogram,
    "A histogram of nanoseconds: HDR V2 encoding in base64."
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_base64() {
        let mut histogram = Histogram::new();
        for nanos in [1, 1000, 1000, 123_456_789] {
            histogram.record(nanos);
        }
        let back = Histogram::from_base64(&histogram.to_base64()).unwrap();
        assert_eq!(back, histogram);
        assert_eq!(back.len(), 4);
    }

    #[test]
    fn grows_with_its_values_and_counts_no_more_than_an_hour() {
        let mut histogram = Histogram::new();
        let mut all = 0;
        for power in 0..64 {
            histogram.record(1 << power);
            all += 1;
            assert_eq!(histogram.len(), all);
        }
        let longest = histogram.max_nanos();
        assert!((MAX_NANOS..MAX_NANOS + MAX_NANOS / 1000).contains(&longest));
        let mut small = Histogram::new();
        small.record(7);
        small.merge(&histogram);
        histogram.record(7);
        assert_eq!(small, histogram);
        let back = Histogram::from_base64(&small.to_base64()).unwrap();
        assert_eq!((back.max_nanos(), back), (longest, small));
    }

    #[test]
    fn a_header_that_asks_for_gigabytes_is_refused_unread() {
        let mut bytes = STANDARD.decode(Histogram::new().to_base64()).unwrap();
        bytes[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        let huge_payload = STANDARD.encode(&bytes);
        bytes[4..8].copy_from_slice(&[0; 4]);
        bytes[24..32].copy_from_slice(&u64::MAX.to_be_bytes());
        let huge_range = STANDARD.encode(&bytes[..40]);
        for text in [huge_payload, huge_range] {
            assert_eq!(Histogram::from_base64(&text), Err(HistogramError::Encoding));
        }
    }

    #[test]
    fn refuses_what_is_no_histogram() {
        assert_eq!(Histogram::from_base64("§"), Err(HistogramError::Base64));
        assert_eq!(
            Histogram::from_base64("AAAA"),
            Err(HistogramError::Encoding)
        );
    }
}
