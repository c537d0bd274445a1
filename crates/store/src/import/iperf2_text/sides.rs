//! The figures of a test by stream, of which the last line of each is over the whole test.

use crate::import::bounds::{MAX_STREAMS, TOO_MANY};
use crate::import::intervals::Intervals;
use crate::import::{Row, Series};
use std::collections::BTreeMap;

/// A line of figures.
pub(super) struct Figures {
    pub(super) is_sum: bool,
    pub(super) is_reverse: bool,
    pub(super) tag: String,
    pub(super) row: Row,
}

/// Whose figures they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    /// The streams of one direction.
    Streams { is_reverse: bool },
    /// The tool's own sum over them, both directions together if there are two.
    Sum,
}

/// What one end counted, by stream.
#[derive(Default)]
pub(super) struct Sides {
    /// The last line of each stream or sum, by its tag.
    last: BTreeMap<String, (Side, Row)>,
    /// The lines before those.
    before: BTreeMap<Side, Intervals>,
    /// Most of those of one side; none: as many as of a test.
    limit: Option<usize>,
    last_sum: Option<Row>,
    /// End of the longest line of a stream, in seconds.
    longest: f64,
    is_mixed: bool,
}

impl Sides {
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Lets each side keep no more intervals than this.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = Some(limit);
        let sides = self.before.values_mut();
        sides.for_each(|side| side.set_limit(limit));
    }

    pub(super) fn add(&mut self, figures: Figures) -> Result<(), &'static str> {
        let Figures {
            is_sum,
            is_reverse,
            tag,
            row,
        } = figures;
        self.is_mixed |= is_reverse;
        let side = if is_sum {
            self.last_sum = Some(row);
            Side::Sum
        } else {
            self.longest = self.longest.max(row.end.value);
            Side::Streams { is_reverse }
        };
        if self.last.len() >= MAX_STREAMS && !self.last.contains_key(&tag) {
            return Err(TOO_MANY);
        }
        if let Some((side, before)) = self.last.insert(tag, (side, row)) {
            let limit = self.limit;
            let fresh = || limit.map_or_else(Intervals::default, Intervals::limited);
            self.before.entry(side).or_insert_with(fresh).add(&before);
        }
        Ok(())
    }

    /// How many streams have figures of this direction.
    pub(super) fn streams(&self, is_reverse: bool) -> usize {
        let sides = self.last.values().map(|(side, _)| *side);
        sides
            .filter(|side| *side == Side::Streams { is_reverse })
            .count()
    }

    /// Whether the last line of the stream `tag`, either way, can be the one over the whole test.
    pub(super) fn is_over(&self, tag: &str) -> bool {
        let back = format!("*{tag}");
        let last = [tag, &back]
            .into_iter()
            .filter_map(|tag| self.last.get(tag));
        last.max_by_key(|(_, row)| row.line)
            .is_some_and(|(_, row)| row.start.low == 0.0)
    }

    /// The intervals of a direction and its line over the whole test; `None` if a stream lacks that.
    pub(super) fn split(&mut self, is_reverse: bool) -> Option<(Series, Row)> {
        let is_summed = !self.is_mixed && self.has_whole_sum();
        let side = if is_summed {
            Side::Sum
        } else {
            Side::Streams { is_reverse }
        };
        let ends = self.last.values().filter(|(of, _)| *of == side);
        let mut total: Option<Row> = None;
        for (_, last) in ends {
            if last.start.low != 0.0 {
                return None;
            }
            match &mut total {
                Some(total) => total.add_beside(last),
                None => total = Some(*last),
            }
        }
        let rows = self.before.remove(&side).unwrap_or_default();
        Some((rows.finish(), total?))
    }

    /// Whether the tool's own sums end with one over the whole test: some print it for single intervals only.
    fn has_whole_sum(&self) -> bool {
        self.last_sum
            .is_some_and(|last| last.start.low == 0.0 && last.end.value >= 0.9 * self.longest)
    }
}
