//! A high-dynamic-range histogram of nanoseconds, kept whole from engine to report.

use crate::units::float;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer as HdrDeserializer, Serializer as _, V2Serializer};
use std::time::Duration;

/// Three significant digits from 1 ns to one hour: the relative error of a value is at most 0.1 %.
///
/// Serialised as the HDR V2 format in base64, the field's interchange format.
#[derive(Debug, Clone)]
pub struct Histogram(Counts);

/// How counts are held; both say the same of the same values.
#[derive(Debug, Clone)]
enum Counts {
    /// A place for each bucket up to the largest value: counting is one addition.
    Dense(hdrhistogram::Histogram<u64>),
    /// Only the buckets in which something was counted, by value, as documents have them: a study of a thousand tests is
    /// held in a tenth of the memory.
    Sparse(Box<[Bucket]>),
}

/// Values that a histogram does not tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bucket {
    /// The largest of them.
    highest: u64,
    count: u64,
}

impl Bucket {
    /// How many values it holds: below 2048 ns each has a bucket of its own, from there on 1024 buckets share a power of
    /// two.
    const fn width(self) -> u64 {
        const EXACT: u64 = 2047;
        let bits = u64::BITS - (self.highest | EXACT).leading_zeros();
        1 << (bits - EXACT.count_ones())
    }

    const fn lowest(self) -> u64 {
        self.highest - (self.width() - 1)
    }

    /// The middle of its values, rounded up.
    const fn median(self) -> u64 {
        self.lowest() + self.width() / 2
    }
}

/// One hour; longer values are counted there.
const MAX_NANOS: u64 = 3_600_000_000_000;

/// Significant digits.
const DIGITS: u8 = 3;

/// An empty one, in which recording makes room for what comes.
fn growing() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new(DIGITS).expect("invariant: a constant number of digits is valid")
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.recorded().eq(other.recorded())
    }
}

impl Eq for Histogram {}

impl Histogram {
    /// An empty histogram of 16 KiB. Recording allocates when a value is the first of its power of two or above it:
    /// some twenty times in the life of a histogram, up to 270 KiB, which a server has for none of its idle streams.
    pub fn new() -> Self {
        Self(Counts::Dense(growing()))
    }

    /// Where values are counted.
    fn dense(&mut self) -> &mut hdrhistogram::Histogram<u64> {
        if let Counts::Sparse(buckets) = &self.0 {
            let mut dense = growing();
            buckets.iter().for_each(|one| add(&mut dense, *one));
            self.0 = Counts::Dense(dense);
        }
        match &mut self.0 {
            Counts::Dense(dense) => dense,
            Counts::Sparse(_) => unreachable!("just made dense"),
        }
    }

    /// The buckets in which something was counted, by value.
    fn recorded(&self) -> impl Iterator<Item = Bucket> + '_ {
        let (dense, sparse) = match &self.0 {
            Counts::Dense(dense) => (Some(dense), &[][..]),
            Counts::Sparse(buckets) => (None, &**buckets),
        };
        let dense = dense.into_iter().flat_map(buckets_of);
        dense.chain(sparse.iter().copied())
    }

    /// Counts one value in nanoseconds.
    pub fn record(&mut self, nanos: u64) {
        self.record_n(nanos, 1);
    }

    /// Counts one value in nanoseconds `count` times.
    pub fn record_n(&mut self, nanos: u64, count: u64) {
        let highest = nanos.min(MAX_NANOS);
        add(self.dense(), Bucket { highest, count });
    }

    /// Counts one duration.
    pub fn record_duration(&mut self, duration: Duration) {
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Self) {
        let own = self.dense();
        other.recorded().for_each(|one| add(own, one));
    }

    /// What was counted since `before`, an earlier state of it; `None` if that is none: it counted what this one did not.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let mut old = before.recorded().peekable();
        let mut grown = Vec::new();
        for bucket in self.recorded() {
            let same = old.next_if(|old| old.highest == bucket.highest);
            let count = bucket.count.checked_sub(same.map_or(0, |old| old.count))?;
            if count > 0 {
                grown.push(Bucket { count, ..bucket });
            }
        }
        old.next()
            .is_none()
            .then(|| Self(Counts::Sparse(grown.into())))
    }

    /// Number of values counted.
    pub fn len(&self) -> u64 {
        self.recorded()
            .fold(0, |all, bucket| all.saturating_add(bucket.count))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.recorded().next().is_none()
    }

    /// Smallest value in nanoseconds, to the histogram's precision.
    pub fn min_nanos(&self) -> u64 {
        self.recorded().next().map_or(0, Bucket::lowest)
    }

    /// Largest value in nanoseconds, to the histogram's precision.
    pub fn max_nanos(&self) -> u64 {
        self.recorded().last().map_or(0, |bucket| bucket.highest)
    }

    /// Mean in nanoseconds.
    pub fn mean_nanos(&self) -> f64 {
        self.mean_of(|bucket| float(bucket.median()))
    }

    /// Standard deviation in nanoseconds.
    pub fn stdev_nanos(&self) -> f64 {
        let mean = self.mean_nanos();
        self.mean_of(|bucket| (float(bucket.median()) - mean).powi(2))
            .sqrt()
    }

    /// The mean over all that was counted of what `of` makes of a value; 0 of none.
    fn mean_of(&self, of: impl Fn(Bucket) -> f64) -> f64 {
        let all = float(self.len()).max(1.0);
        self.recorded()
            .map(|bucket| of(bucket) * float(bucket.count) / all)
            .sum()
    }

    /// The value at quantile `q` (0 to 1) in nanoseconds: the largest of the first bucket up to which there are at least so
    /// many, the smallest of all at 0.
    pub fn quantile_nanos(&self, q: f64) -> u64 {
        if q <= 0.0 {
            return self.min_nanos();
        }
        let wanted = (q.min(1.0) * float(self.len())).ceil();
        let mut below = 0;
        let mut found = self.recorded().skip_while(|bucket| {
            below = bucket.count.saturating_add(below);
            float(below) < wanted
        });
        found.next().map_or(0, |bucket| bucket.highest)
    }

    /// Each recorded bucket: its upper value in nanoseconds and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recorded().map(|one| (one.highest, one.count))
    }

    /// The HDR V2 encoding in base64.
    pub fn to_base64(&self) -> String {
        // Documents state the whole range, whatever was counted.
        let mut whole = hdrhistogram::Histogram::new_with_bounds(1, MAX_NANOS, DIGITS)
            .expect("invariant: constant bounds are valid");
        self.recorded().for_each(|one| add(&mut whole, one));
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
        let dense: hdrhistogram::Histogram<u64> = HdrDeserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|_| HistogramError::Encoding)?;
        let buckets: Box<[Bucket]> = buckets_of(&dense).collect();
        let is_in_range = |bucket: &Bucket| bucket.lowest() <= MAX_NANOS;
        if !buckets.iter().all(is_in_range) {
            return Err(HistogramError::Range);
        }
        Ok(Self(Counts::Sparse(buckets)))
    }
}

fn buckets_of(dense: &hdrhistogram::Histogram<u64>) -> impl Iterator<Item = Bucket> + '_ {
    dense.iter_recorded().map(|step| Bucket {
        highest: step.value_iterated_to(),
        count: step.count_since_last_iteration(),
    })
}

fn add(dense: &mut hdrhistogram::Histogram<u64>, bucket: Bucket) {
    let highest = bucket.highest.min(MAX_NANOS);
    dense
        .record_n(highest, bucket.count)
        .expect("invariant: there is room for an hour");
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
    use crate::random::Random;

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
    fn what_was_counted_before_is_left_out() {
        let counted = |all: &[u64]| {
            let mut histogram = Histogram::new();
            for nanos in all {
                histogram.record(*nanos);
            }
            histogram
        };
        let before = counted(&[5, 5, 70_000]);
        let mut after = Histogram::from_base64(&before.to_base64()).unwrap();
        let grown = counted(&[5, 900, 70_000, 1 << 40]);
        after.merge(&grown);
        assert_eq!(after.since(&before), Some(grown));
        assert_eq!(after.since(&after), Some(Histogram::new()));
        assert_eq!(before.since(&after), None);
        after.record(6);
        assert_eq!(Histogram::new().since(&after), None);
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
    fn says_what_the_reference_says_of_the_same_values() {
        let mut random = Random::new(8);
        for count in [0, 1, 2, 7, 5000] {
            let mut counted = Histogram::new();
            let mut reference = growing();
            for _ in 0..count {
                let nanos = random.bits() >> (22 + random.below(42));
                counted.record(nanos);
                reference.record(nanos.min(MAX_NANOS)).unwrap();
            }
            let read = Histogram::from_base64(&counted.to_base64()).unwrap();
            assert!(matches!(read.0, Counts::Sparse(_)));
            let mut added = read.clone();
            added.record_n(7, 0);
            for histogram in [&counted, &read, &added] {
                assert_eq!(histogram, &counted);
                assert_eq!(histogram.len(), reference.len());
                assert_eq!(histogram.is_empty(), reference.is_empty());
                assert_eq!(histogram.min_nanos(), reference.min());
                assert_eq!(histogram.max_nanos(), reference.max());
                assert_eq!(histogram.to_base64(), counted.to_base64());
                for q in [0.0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                    assert_eq!(histogram.quantile_nanos(q), reference.value_at_quantile(q));
                }
                for (own, theirs) in [
                    (histogram.mean_nanos(), reference.mean()),
                    (histogram.stdev_nanos(), reference.stdev()),
                ] {
                    assert!((own - theirs).abs() <= theirs * 1e-9, "{own} {theirs}");
                }
            }
        }
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
