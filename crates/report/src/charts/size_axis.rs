//! The axis of message sizes, for every chart that goes by them.

use crate::chart::{Axis, Scale};
use crate::figures::float;
use std::collections::BTreeSet;

/// Fewer sizes make no curve.
const MIN_SIZES: usize = 3;

/// The sizes of a chart, ascending.
pub(crate) struct SizeAxis {
    sizes: Vec<u64>,
    /// Whether sizes stand at their logarithm; an empty message has no place there, so then each has its own.
    is_spaced: bool,
}

impl SizeAxis {
    /// `None` if there are too few different sizes for a curve.
    pub(crate) fn from_sizes(sizes: impl IntoIterator<Item = u64>) -> Option<Self> {
        let all: BTreeSet<u64> = sizes.into_iter().collect();
        let sizes: Vec<u64> = all.into_iter().collect();
        let is_spaced = *sizes.first()? > 0;
        (sizes.len() >= MIN_SIZES).then_some(Self { sizes, is_spaced })
    }

    pub(crate) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    pub(crate) fn axis(&self) -> Axis {
        if self.is_spaced {
            Axis::new("Message size", "B", Scale::Log).switchable()
        } else {
            let names = self.sizes.iter().map(ToString::to_string).collect();
            Axis::categories("Message size", "B", names)
        }
    }

    /// Where one of the sizes stands.
    pub(crate) fn place(&self, size: u64) -> f64 {
        let index = self.sizes.partition_point(|one| *one < size);
        float(if self.is_spaced { size } else { index as u64 })
    }
}
