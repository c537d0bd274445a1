//! The reporting intervals of one side of a test, in bounded memory.
//!
//! A log can have a test of days with an interval each tenth of a second. Where there are more than a test of
//! linerate's own may have, neighbours become one: counts are added, what stands for the end of an interval is that
//! of the later one.

use super::{Rounded, Row};
use linerate_model::spec::MAX_INTERVALS;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// Most intervals of all tests that are in memory together: 124 MB.
pub(super) const MAX_TOGETHER: usize = 500_000;

/// Most intervals of one side of a test.
const MAX_ROWS: usize = MAX_INTERVALS as usize;

/// Intervals that may still get another stream's figures: streams of a test are printed one after another, some tools'
/// from threads that run apart.
const MAX_RECENT: usize = 512;

/// The intervals of one side, in the order of their times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    rows: Arc<Vec<Row>>,
    /// How many of the log's intervals each holds at most.
    width: usize,
    /// Windows and round-trip times that no interval has any more.
    joined: Joined,
}

/// What was read at the ends of intervals that were joined with the next one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Joined {
    /// Congestion windows in bytes.
    pub cwnd: Readings,
    /// Smoothed round-trip times in seconds.
    pub srtt: Readings,
}

/// Readings of which only these are kept.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Readings {
    count: u32,
    sum: f64,
    largest: f64,
}

impl Readings {
    /// Takes one more.
    pub(super) fn add(&mut self, reading: Option<Rounded>) {
        if let Some(reading) = reading {
            self.count = self.count.saturating_add(1);
            self.sum += reading.value;
            self.largest = self.largest.max(reading.value);
        }
    }

    /// Their mean.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    /// The largest of them.
    pub(super) fn largest(&self) -> Option<f64> {
        (self.count > 0).then_some(self.largest)
    }
}

impl Joined {
    /// Makes `row` hold the one after it as well.
    fn join(&mut self, row: &mut Row, next: &Row) {
        self.cwnd.add(row.cwnd);
        self.srtt.add(row.srtt);
        let Row { line, start, .. } = *row;
        row.add(next);
        let both = Row {
            line,
            start,
            bytes: row.bytes,
            datagrams: row.datagrams,
            lost: row.lost,
            retransmitted: row.retransmitted,
            is_misprinted: row.is_misprinted,
            ..*next
        };
        *row = Row {
            bps: both.bytes.per(both.end.minus(start)).unwrap_or(next.bps),
            ..both
        };
    }

    fn join_pairs(&mut self, rows: &mut Vec<Row>) {
        let pairs = rows.chunks(2).map(|pair| {
            let mut row = pair[0];
            pair[1..].iter().for_each(|next| self.join(&mut row, next));
            row
        });
        *rows = pairs.collect();
    }
}

impl Deref for Series {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        &self.rows
    }
}

impl From<Vec<Row>> for Series {
    fn from(rows: Vec<Row>) -> Self {
        let mut all = Intervals::default();
        for row in &rows {
            all.append(row);
        }
        all.finish()
    }
}

impl Series {
    /// How many of the log's intervals one holds at most; 1: each is as the log has it.
    pub(super) fn width(&self) -> usize {
        self.width.max(1)
    }

    /// All windows and round-trip times at the ends of the log's intervals.
    pub(super) fn readings(&self) -> Joined {
        let mut all = self.joined;
        for row in self.rows.iter() {
            all.cwnd.add(row.cwnd);
            all.srtt.add(row.srtt);
        }
        all
    }

    /// Changes every interval.
    pub(super) fn change(&mut self, change: impl FnMut(&mut Row)) {
        Arc::make_mut(&mut self.rows).iter_mut().for_each(change);
    }

    /// Joins neighbours until there are at most `limit`.
    pub(super) fn thin(&mut self, limit: usize) {
        while self.rows.len() > limit.max(1) {
            self.joined.join_pairs(Arc::make_mut(&mut self.rows));
            self.width = self.width() * 2;
        }
    }
}

/// Gathers the intervals of one side as a log prints them.
#[derive(Debug)]
pub(super) struct Intervals {
    /// By the bits of their bounds: times are not negative, so their bits are in the order of their values.
    recent: BTreeMap<(u64, u64), Row>,
    /// Those before them.
    done: Vec<Row>,
    /// How many of the log's intervals each of those holds.
    width: usize,
    /// How many the last one holds so far.
    filled: usize,
    /// Most of those.
    limit: usize,
    joined: Joined,
}

impl Default for Intervals {
    fn default() -> Self {
        Self::limited(MAX_ROWS)
    }
}

impl Intervals {
    /// None yet, and never more than `limit` beside the recent ones.
    pub(super) fn limited(limit: usize) -> Self {
        Self {
            recent: BTreeMap::new(),
            done: Vec::new(),
            width: 0,
            filled: 0,
            limit: limit.clamp(2, MAX_ROWS),
            joined: Joined::default(),
        }
    }

    /// Lets these be no more than `limit` beside the recent ones.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit.clamp(2, MAX_ROWS);
        while self.done.len() > self.limit {
            self.join_pairs();
        }
    }

    /// Joins each two neighbours. Those that come after hold as many of the log's intervals as those before.
    fn join_pairs(&mut self) {
        let width = self.width.max(1);
        // The last one may have no neighbour, or not be full.
        let before = if self.done.len().is_multiple_of(2) {
            width
        } else {
            0
        };
        self.joined.join_pairs(&mut self.done);
        self.filled += before;
        self.width = width * 2;
    }

    /// Takes an interval of a stream: those of all streams over the same time are one.
    pub(super) fn add(&mut self, row: &Row) {
        let key = (row.start.value.to_bits(), row.end.value.to_bits());
        if let Some(other) = self.recent.get_mut(&key) {
            other.add(row);
            return;
        }
        if let Some(at) = self.place(row) {
            let both = &mut self.done[at];
            both.add(row);
            both.bps = both
                .bytes
                .per(both.end.minus(both.start))
                .unwrap_or(both.bps);
            return;
        }
        self.recent.insert(key, *row);
        if self.recent.len() > 2 * MAX_RECENT {
            for _ in 0..MAX_RECENT {
                self.settle_first();
            }
        }
    }

    /// The interval before the recent ones that a late row belongs to.
    fn place(&self, row: &Row) -> Option<usize> {
        if self.done.last()?.end.value < row.end.value {
            return None;
        }
        let middle = f64::midpoint(row.start.value, row.end.value);
        let at = self.done.partition_point(|done| done.end.value < middle);
        (at < self.done.len()).then_some(at)
    }

    /// Takes an interval of the whole side, which comes after all others.
    fn append(&mut self, row: &Row) {
        if self.filled < self.width
            && let Some(last) = self.done.last_mut()
        {
            self.joined.join(last, row);
            self.filled += 1;
            return;
        }
        if self.done.len() >= self.limit {
            self.join_pairs();
            return self.append(row);
        }
        self.done.push(*row);
        self.filled = 1;
    }

    fn settle_first(&mut self) {
        if let Some((_, row)) = self.recent.pop_first() {
            self.append(&row);
        }
    }

    pub(super) fn finish(mut self) -> Series {
        while !self.recent.is_empty() {
            self.settle_first();
        }
        self.done.shrink_to_fit();
        Series {
            rows: Arc::new(self.done),
            width: self.width,
            joined: self.joined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(second: u32) -> Row {
        let time = |second| Rounded::exact(f64::from(second));
        let bytes = Rounded::exact(1000.0);
        Row {
            datagrams: Some(10),
            lost: Some(1),
            cwnd: Some(Rounded::exact(f64::from(second % 7))),
            jitter: Some(Rounded::exact(f64::from(second))),
            ..Row::of_rate(
                second as usize + 1,
                time(second),
                time(second + 1),
                bytes,
                bytes.scaled(8.0),
            )
        }
    }

    /// A series of so many seconds of so many streams.
    fn series(seconds: u32, streams: u32) -> Series {
        let mut all = Intervals::default();
        for second in 0..seconds {
            (0..streams).for_each(|_| all.add(&row(second)));
        }
        all.finish()
    }

    #[test]
    fn few_intervals_are_kept_as_they_are() {
        let few = series(5000, 1);
        assert_eq!((few.len(), few.width()), (5000, 1));
        assert!(
            (0..)
                .zip(few.iter())
                .all(|(second, kept)| *kept == row(second))
        );
    }

    #[test]
    fn many_are_joined_evenly_and_nothing_is_lost() {
        const SECONDS: u32 = 4 * MAX_INTERVALS + 3;
        let many = series(SECONDS, 2);
        assert!(
            (MAX_ROWS / 2..=MAX_ROWS).contains(&many.len()),
            "{}",
            many.len()
        );
        assert_eq!(many.width(), 8);
        let length = |row: &Row| row.end.value - row.start.value;
        let (last, others) = many.split_last().unwrap();
        assert!(others.iter().all(|row| (length(row) - 8.0).abs() < 1e-9));
        assert!((last.end.value - f64::from(SECONDS)).abs() < 1e-9);
        let sum = |of: fn(&Row) -> u64| many.iter().map(of).sum::<u64>();
        assert_eq!(sum(|row| row.datagrams.unwrap()), 20 * u64::from(SECONDS));
        assert_eq!(sum(|row| row.lost.unwrap()), 2 * u64::from(SECONDS));
        assert!(
            many.iter()
                .all(|row| (row.bps.value - 16_000.0).abs() < 1e-6)
        );
    }

    #[test]
    fn a_limit_that_falls_keeps_intervals_even() {
        let mut all = Intervals::default();
        (0..6001).for_each(|second| all.add(&row(second)));
        all.set_limit(1000);
        (6001..9001).for_each(|second| all.add(&row(second)));
        let series = all.finish();
        assert_eq!((series.len(), series.width()), (563, 16));
        let length = |row: &Row| row.end.value - row.start.value;
        let (last, others) = series.split_last().unwrap();
        assert!(others.iter().all(|row| (length(row) - 16.0).abs() < 1e-9));
        assert!((length(last) - 9.0).abs() < 1e-9);
        let bytes: f64 = series.iter().map(|row| row.bytes.value).sum();
        assert!((bytes - 9_001_000.0).abs() < 1e-6);
    }

    #[test]
    fn joined_intervals_end_as_the_later_one_and_all_readings_count() {
        let mut thin = series(700, 1);
        thin.thin(100);
        assert_eq!((thin.len(), thin.width()), (88, 8));
        assert_eq!(thin[0].jitter, row(7).jitter);
        let cwnd = thin.readings().cwnd;
        assert_eq!((cwnd.mean(), cwnd.largest()), (Some(3.0), Some(6.0)));
    }

    #[test]
    fn a_late_stream_is_added_where_its_time_is() {
        let mut all = Intervals::default();
        (0..5000).for_each(|second| all.add(&row(second)));
        all.add(&row(5));
        let series = all.finish();
        assert_eq!(series[5].datagrams, Some(20));
        assert_eq!(series.len(), 5000);
    }
}
