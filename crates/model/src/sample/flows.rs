//! Counts of each of many streams, in little room.

use crate::spec::MAX_STREAMS;
use crate::varint::{put, take};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What each stream of a thread moved, in the order of the streams: L4 payload bytes of byte streams, datagrams of
/// datagram streams (distinct ones at a receiver).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowCounts(Vec<u64>);

/// Not counts in base64, or too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a list of at most {MAX_STREAMS} counts in base64")]
struct BadCounts;

impl FlowCounts {
    /// Each count, in the order of the streams.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.0.iter().copied()
    }

    fn to_base64(&self) -> String {
        let mut bytes = Vec::with_capacity(self.0.len() * 3);
        let mut last = 0_u64;
        for count in &self.0 {
            put(&mut bytes, count.wrapping_sub(last).cast_signed());
            last = *count;
        }
        STANDARD.encode(bytes)
    }

    fn from_base64(text: &str) -> Result<Self, BadCounts> {
        let bytes = STANDARD.decode(text).map_err(|_| BadCounts)?;
        let mut rest = bytes.as_slice();
        let mut counts = Vec::new();
        let mut last = 0_u64;
        while !rest.is_empty() {
            if counts.len() == usize::from(MAX_STREAMS) {
                return Err(BadCounts);
            }
            last = last.wrapping_add(take(&mut rest).ok_or(BadCounts)?.cast_unsigned());
            counts.push(last);
        }
        Ok(Self(counts))
    }
}

impl FromIterator<u64> for FlowCounts {
    fn from_iter<I: IntoIterator<Item = u64>>(counts: I) -> Self {
        Self(counts.into_iter().collect())
    }
}

crate::in_base64::in_base64!(
    FlowCounts,
    "What each stream of a thread moved, in the order of the streams: bytes of byte streams, datagrams of datagram streams. Differences from stream to stream, zigzag, LEB128, base64."
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_the_text_and_similar_ones_are_short() {
        let wild: FlowCounts = [0, u64::MAX, 1, 7, u64::MAX - 1].into_iter().collect();
        let similar: FlowCounts = (0..10_000_u64).map(|n| 1_000_000 + n % 50).collect();
        for counts in [&wild, &similar, &FlowCounts::default()] {
            let text = serde_json::to_string(counts).unwrap();
            assert_eq!(&serde_json::from_str::<FlowCounts>(&text).unwrap(), counts);
        }
        assert!(similar.to_base64().len() < 20_000);
    }

    #[test]
    fn too_many_counts_and_broken_text_are_refused() {
        let most: FlowCounts = (0..u64::from(MAX_STREAMS)).collect();
        assert!(FlowCounts::from_base64(&most.to_base64()).is_ok());
        let more: FlowCounts = (0..=u64::from(MAX_STREAMS)).collect();
        for text in [more.to_base64().as_str(), "gA==", "not base64"] {
            assert_eq!(FlowCounts::from_base64(text), Err(BadCounts), "{text:.20}");
        }
    }
}
