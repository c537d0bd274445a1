//! The figures of one end of a test, by stream.
//!
//! iperf2 prints a line over the whole test below the intervals of each stream, which nothing marks: there the last line
//! of a stream is the total, and those before it are intervals.

use super::bounds::{MAX_STREAMS, TOO_MANY};
use super::intervals::Intervals;
use super::{Row, Series};
use linerate_model::spec::Direction;
use std::collections::BTreeMap;

/// A line of figures.
#[derive(Debug)]
pub(super) struct Figures {
    /// `None`: the line does not tell; it is that of the test.
    pub(super) direction: Option<Direction>,
    /// The tool's own sum over streams.
    pub(super) is_sum: bool,
    pub(super) tag: String,
    pub(super) row: Row,
}

impl Figures {
    /// Whether both are of one stream, or both of the sum.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.tag == other.tag && self.direction == other.direction
    }
}

/// What one end counted, by stream.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// By direction, and whether they are the tool's own sums.
    intervals: BTreeMap<(Option<Direction>, bool), Intervals>,
    /// The last line of each stream or sum.
    last: BTreeMap<(Option<Direction>, String), Last>,
    /// Most intervals of one side; none: as many as of a test.
    limit: Option<usize>,
    /// Lines that came more than once.
    repeated: usize,
}

/// What figures of a stream that come again, and are others, should be: its reader says that two tests are mixed.
pub(super) const MIXED: &str = "figures of a stream that follow those before them";
/// What a line of a stream lacks or has beside others.
const COLUMNS: &str = "the columns of the lines of its stream before";

#[derive(Debug)]
struct Last {
    is_sum: bool,
    row: Row,
    /// No other line of its stream came before it.
    is_first: bool,
    /// It came twice: as its only interval, and over the whole test.
    is_twice: bool,
}

impl Streams {
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Whether it has sums over streams, and figures of none.
    pub(super) fn are_sums(&self) -> bool {
        !self.is_empty() && self.last.values().all(|last| last.is_sum)
    }

    /// Whether a line counts what was sent again, which only a sender of TCP knows.
    pub(super) fn is_sender(&self) -> bool {
        let mut rows = self.last.values().map(|last| last.row);
        rows.any(|row| row.retransmitted.is_some())
    }

    /// Lets each side keep no more intervals than this.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = Some(limit);
        let sides = self.intervals.values_mut();
        sides.for_each(|side| side.set_limit(limit));
    }

    /// Takes an interval.
    pub(super) fn add_interval(&mut self, figures: Figures) -> Result<(), &'static str> {
        let key = (figures.direction, figures.tag.clone());
        if let Some(Last { row, .. }) = self.last.get(&key) {
            if row.is_same(&figures.row) {
                self.repeated += 1;
                return Ok(());
            }
            if figures.row.start.high < row.end.low {
                return Err(MIXED);
            }
            if row.columns() != figures.row.columns() {
                return Err(COLUMNS);
            }
        }
        self.keep(figures.direction, figures.is_sum, &figures.row);
        self.replace(figures).map(drop)
    }

    /// Takes an interval or, if no other line of its stream follows, what the stream counted over the whole test.
    pub(super) fn add(&mut self, figures: Figures) -> Result<(), &'static str> {
        let direction = figures.direction;
        let key = (direction, figures.tag.clone());
        if let Some(last) = self.last.get_mut(&key) {
            let row = &last.row;
            if row.is_same(&figures.row) {
                // The line over the whole test may be that of its only interval once more.
                let is_total = last.is_first && !last.is_twice && row.start.low == 0.0;
                last.is_twice = is_total;
                self.repeated += usize::from(!is_total);
                return Ok(());
            }
            if figures.row.start.low > 0.0 && figures.row.start.high < row.end.low {
                return Err(MIXED);
            }
            // Nothing follows the line over the whole test, least of all a new beginning.
            if row.start.low == 0.0 && !last.is_first && figures.row.start.low == 0.0 {
                return Err(MIXED);
            }
            // That line has columns of its own, and a window may be unknown.
            if figures.row.start.low > 0.0 && row.columns()[..2] != figures.row.columns()[..2] {
                return Err(COLUMNS);
            }
        }
        if let Some(before) = self.replace(figures)? {
            self.repeated += usize::from(before.is_twice);
            self.keep(direction, before.is_sum, &before.row);
        }
        Ok(())
    }

    fn keep(&mut self, direction: Option<Direction>, is_sum: bool, row: &Row) {
        let limit = self.limit;
        let fresh = || limit.map_or_else(Intervals::default, Intervals::limited);
        let side = self.intervals.entry((direction, is_sum));
        side.or_insert_with(fresh).add(row);
    }

    /// Makes this the last line of its stream; returns the one before.
    fn replace(&mut self, figures: Figures) -> Result<Option<Last>, &'static str> {
        let Figures {
            direction,
            is_sum,
            tag,
            row,
        } = figures;
        let key = (direction, tag);
        if self.last.len() >= MAX_STREAMS && !self.last.contains_key(&key) {
            return Err(TOO_MANY);
        }
        let last = Last {
            is_sum,
            row,
            is_first: !self.last.contains_key(&key),
            is_twice: false,
        };
        Ok(self.last.insert(key, last))
    }

    /// How many lines came more than once, and were counted once.
    pub(super) fn repeated(&self) -> usize {
        self.repeated
    }

    /// Says of which direction the lines are that do not tell it.
    pub(super) fn tell(&mut self, direction: Direction) {
        let told = Some(direction);
        for is_sum in [false, true] {
            if let Some(side) = self.intervals.remove(&(None, is_sum)) {
                self.intervals.entry((told, is_sum)).or_insert(side);
            }
        }
        let all = std::mem::take(&mut self.last).into_iter();
        self.last = all
            .map(|((way, tag), last)| ((way.or(told), tag), last))
            .collect();
    }

    /// The streams that have figures of this direction.
    pub(super) fn tags(&self, direction: Direction) -> impl Iterator<Item = &str> {
        let streams = self.last.iter().filter(|(_, last)| !last.is_sum);
        streams
            .filter(move |((way, _), _)| *way == Some(direction))
            .map(|((_, tag), _)| tag.as_str())
    }

    /// Whether the last line of the stream `tag`, either way, can be the one over the whole test.
    pub(super) fn is_over(&self, tag: &str) -> bool {
        let ways = [Direction::Forward, Direction::Reverse].into_iter();
        let keys =
            ways.flat_map(|way| [tag.to_owned(), format!("*{tag}")].map(|tag| (Some(way), tag)));
        let last = keys
            .filter_map(|key| self.last.get(&key))
            .map(|last| last.row);
        last.max_by_key(|row| row.line)
            .is_some_and(|row| row.start.low == 0.0)
    }

    /// The intervals of a direction: the tool's own sums where it prints them, else those of the streams.
    pub(super) fn rows(&mut self, direction: Direction) -> Option<Series> {
        let sums = self.intervals.remove(&(Some(direction), true));
        let streams = self.intervals.remove(&(Some(direction), false));
        sums.or(streams).map(Intervals::finish)
    }

    /// The intervals of a direction and its line over the whole test; `None` if a stream lacks that.
    pub(super) fn split(&mut self, direction: Direction) -> Option<(Series, Row)> {
        let is_summed = self.has_whole_sum();
        let twice = self.last.iter().filter(|(_, last)| last.is_twice);
        let twice: Vec<_> = twice
            .map(|((way, _), last)| (*way, last.is_sum, last.row))
            .collect();
        for (way, is_sum, row) in twice {
            self.keep(way, is_sum, &row);
        }
        let all = self.last.values_mut();
        all.for_each(|last| last.is_twice = false);
        let ends = self.last.iter().filter(|((way, _), last)| {
            last.is_sum == is_summed && (is_summed || *way == Some(direction))
        });
        let ends: Vec<_> = ends.map(|(_, last)| last.row).collect();
        let is_whole = ends.iter().all(|row| row.start.low == 0.0);
        let total = total(ends).filter(|_| is_whole)?;
        let rows = self.intervals.remove(&(Some(direction), is_summed));
        Some((rows.unwrap_or_default().finish(), total))
    }

    /// Whether a sum over the whole test of several streams one way is not there: clients print it, and so do servers that
    /// print one for intervals.
    pub(super) fn lacks_sum(&self, is_client: bool) -> bool {
        let has_sums = self.last.values().any(|last| last.is_sum);
        let mut ways = self.last.keys().map(|(way, _)| *way);
        let is_duplex = ways.any(|way| way == Some(Direction::Reverse));
        (is_client || has_sums) && !is_duplex && !self.has_whole_sum()
    }

    /// Whether the tool's own sums end with one over the whole test of a single direction: some print it for single
    /// intervals only.
    fn has_whole_sum(&self) -> bool {
        let is_mixed = self
            .last
            .keys()
            .any(|(way, _)| *way == Some(Direction::Reverse));
        let (sums, streams): (Vec<_>, Vec<_>) = self.last.values().partition(|last| last.is_sum);
        let ends = streams.iter().map(|last| last.row.end.value);
        let longest = ends.fold(0.0, f64::max);
        let last_sum = sums.iter().max_by_key(|last| last.row.line);
        !is_mixed
            && last_sum.is_some_and(|Last { row, .. }| {
                row.start.low == 0.0 && row.end.value >= 0.9 * longest
            })
    }
}

/// The sum of lines over the whole test.
pub(super) fn total(rows: impl IntoIterator<Item = Row>) -> Option<Row> {
    rows.into_iter().reduce(|mut total, row| {
        total.add_beside(&row);
        total
    })
}
