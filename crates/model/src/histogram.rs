//! A high-dynamic-range histogram of nanoseconds, kept whole from engine to report.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer as HdrDeserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::time::Duration;

/// Three significant digits from 1 ns to one hour: the relative error of a value is at most 0.1 %.
///
/// Serialised as the HDR V2 format in base64, the field's interchange format.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

/// One hour; longer values are counted there.
const MAX_NANOS: u64 = 3_600_000_000_000;

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram. Allocates its whole range, so recording never does.
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(1, MAX_NANOS, 3)
            .expect("invariant: constant bounds are valid");
        Self(inner)
    }

    /// Counts one value in nanoseconds.
    pub fn record(&mut self, nanos: u64) {
        self.0.saturating_record(nanos);
    }

    /// Counts one value in nanoseconds `count` times.
    pub fn record_n(&mut self, nanos: u64, count: u64) {
        self.0.saturating_record_n(nanos, count);
    }

    /// Counts one duration.
    pub fn record_duration(&mut self, duration: Duration) {
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.0
            .add(&other.0)
            .expect("invariant: all histograms share their bounds");
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
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("invariant: writing to memory cannot fail");
        STANDARD.encode(bytes)
    }

    /// Reads [`to_base64`](Self::to_base64); refuses anything else.
    pub fn from_base64(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text).map_err(|_| HistogramError::Base64)?;
        let inner: hdrhistogram::Histogram<u64> = HdrDeserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|_| HistogramError::Encoding)?;
        let mut own = Self::new();
        own.0.add(&inner).map_err(|_| HistogramError::Range)?;
        Ok(own)
    }
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

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Self::from_base64(&String::deserialize(d)?).map_err(D::Error::custom)
    }
}

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
    fn refuses_what_is_no_histogram() {
        assert_eq!(Histogram::from_base64("§"), Err(HistogramError::Base64));
        assert_eq!(
            Histogram::from_base64("AAAA"),
            Err(HistogramError::Encoding)
        );
    }
}
