//! The tests of all logs of an import, in bounded memory.
//!
//! Where logs hold more intervals than are kept, those of every test are joined with their neighbours, all alike; totals
//! stay as they are. So many tests are put together at once: those before become runs and are handed out.

use super::intervals::MAX_TOGETHER;
use super::warnings::Warnings;
use super::{Findings, ImportError, LatencyTest, Origin, TrafficTest, build, merge};
use linerate_model::run::Run;
use linerate_model::spec::MAX_INTERVALS;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Most tests that are put together: ends of one test, and points of one load curve, are looked for among these.
const MAX_TESTS: usize = 10_000;
/// Most runs that are handed out at once.
const MAX_RUNS: usize = 500;
/// Most tests whose names are kept, to find those that are given twice.
const MAX_NAMES: usize = 1_000_000;
/// Most refused tests that are named.
const MAX_NAMED: usize = 1000;

/// Takes runs as they are made, and says whether to go on.
pub(super) type Take<'a> = dyn FnMut(Vec<Run>) -> ControlFlow<()> + 'a;

/// The tests of all logs by their kind.
pub(super) struct Gathered<'a> {
    take: &'a mut Take<'a>,
    flow: ControlFlow<()>,
    /// Runs that were handed out.
    runs: usize,
    is_in_parts: bool,
    traffic: Vec<TrafficTest>,
    latency: Vec<LatencyTest>,
    /// Names of those that were read.
    seen: BTreeSet<u64>,
    /// Intervals of all tests.
    rows: usize,
    /// Most intervals that a side of a test keeps.
    limit: usize,
    warnings: Warnings,
    refused: Vec<ImportError>,
    more_refused: usize,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(take: &'a mut Take<'a>) -> Self {
        Self {
            take,
            flow: ControlFlow::Continue(()),
            runs: 0,
            is_in_parts: false,
            traffic: Vec::new(),
            latency: Vec::new(),
            seen: BTreeSet::new(),
            rows: 0,
            limit: MAX_INTERVALS as usize,
            warnings: Warnings::default(),
            refused: Vec::new(),
            more_refused: 0,
        }
    }

    /// Whether who takes the runs wants no more of them.
    pub(super) fn is_over(&self) -> bool {
        self.flow.is_break()
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    pub(super) fn warn_all(&mut self, warnings: Warnings) {
        self.warnings.add_all(warnings);
    }

    fn doubt(&mut self, origin: &Origin, doubts: &[String]) {
        let doubts = doubts.iter().map(|doubt| origin.doubted(doubt));
        self.warnings.extend(doubts);
    }

    /// Names a test or file that cannot be read.
    pub(super) fn refuse(&mut self, error: ImportError) {
        if self.refused.len() < MAX_NAMED {
            self.refused.push(error);
        } else {
            self.more_refused += 1;
        }
    }

    pub(super) fn add_latency(&mut self, test: LatencyTest) {
        self.doubt(&test.origin, &test.doubts);
        if self.is_known(&test.origin, test.fingerprint) {
            return;
        }
        self.latency.push(test);
        self.hand_out_if_many();
    }

    /// Whether a test was given before; then this one is named.
    fn is_known(&mut self, origin: &Origin, fingerprint: u64) -> bool {
        let is_known = self.seen.len() < MAX_NAMES && !self.seen.insert(fingerprint);
        if is_known {
            let Origin { file, line } = origin;
            self.warnings.push(format!(
                "{file}: test at line {line} was left out: it is given twice"
            ));
        }
        is_known
    }

    /// Adds a traffic test that is not given twice.
    pub(super) fn add_traffic(&mut self, mut test: TrafficTest) {
        self.doubt(&test.origin, &test.doubts);
        if self.is_known(&test.origin, test.fingerprint) {
            return;
        }
        thin(&mut test, self.limit);
        self.rows += rows(&test);
        self.traffic.push(test);
        if self.rows > MAX_TOGETHER {
            self.thin_all();
        }
        self.hand_out_if_many();
    }

    /// Makes room for more tests. Delay tests are runs already, and take as much.
    fn hand_out_if_many(&mut self) {
        if self.traffic.len() < MAX_TESTS && self.latency.len() < MAX_RUNS {
            return;
        }
        if self.traffic.len() >= MAX_TESTS && !self.is_in_parts {
            self.is_in_parts = true;
            self.warn(format!(
                "the logs hold more than {MAX_TESTS} tests: each {MAX_TESTS} are put together by themselves, so logs \
                 of both ends of a test are joined, and load curves made, within these only"
            ));
        }
        self.hand_out();
    }

    /// Makes runs of the tests so far.
    fn hand_out(&mut self) {
        let traffic = std::mem::take(&mut self.traffic);
        let latency = std::mem::take(&mut self.latency);
        (self.rows, self.limit) = (0, MAX_INTERVALS as usize);
        let merged = merge::views(traffic, &mut self.warnings);
        let mut runs = build::runs(merged, latency);
        while !self.is_over() {
            let part: Vec<_> = runs.by_ref().take(MAX_RUNS).collect();
            if part.is_empty() {
                break;
            }
            self.runs += part.len();
            self.flow = (self.take)(part);
        }
    }

    /// Joins intervals until half of the room is free, so that this is not done for each test that comes.
    fn thin_all(&mut self) {
        while self.rows > MAX_TOGETHER / 2 && self.limit > 1 {
            self.limit /= 2;
            let limit = self.limit;
            self.traffic.iter_mut().for_each(|test| thin(test, limit));
            self.rows = self.traffic.iter().map(rows).sum();
        }
    }

    /// Hands out the last runs; an error if there were none and something was refused.
    pub(super) fn finish(mut self) -> Result<Findings, ImportError> {
        self.hand_out();
        if self.runs == 0 && !self.refused.is_empty() {
            return Err(self.refused.swap_remove(0));
        }
        if self.more_refused > 0 {
            let count = self.more_refused;
            self.refused.push(ImportError::More { count });
        }
        Ok(Findings {
            warnings: self.warnings.finish(),
            refused: self.refused,
        })
    }
}

fn rows(test: &TrafficTest) -> usize {
    let of = |flow: &super::Flow| flow.sent_rows.len() + flow.received_rows.len();
    test.flows.iter().map(of).sum()
}

fn thin(test: &mut TrafficTest, limit: usize) {
    for flow in &mut test.flows {
        flow.sent_rows.thin(limit);
        flow.received_rows.thin(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Flow, Origin, Rounded, Row, Series, View};
    use linerate_model::spec::{Direction, Transport};

    /// A test that begins at `line`, with an interval of each second.
    fn test(line: usize, seconds: u32) -> TrafficTest {
        let origin = Origin {
            file: "log".to_owned(),
            line,
        };
        let mut test =
            TrafficTest::new(origin, crate::import::ALL[0], View::Client, Transport::Tcp);
        test.fingerprint = line as u64;
        let figure = |value| Rounded::exact(f64::from(value));
        let row = |second| {
            let (start, end) = (figure(second), figure(second + 1));
            Row::of_rate(line, start, end, figure(1), figure(8))
        };
        test.flows = vec![Flow {
            sent_rows: Series::from((0..seconds).map(row).collect::<Vec<_>>()),
            ..Flow::new(Direction::Forward)
        }];
        test
    }

    #[test]
    fn intervals_of_all_tests_are_joined_alike_and_keep_their_bytes() {
        let mut take = |_| ControlFlow::Continue(());
        let mut all = Gathered::new(&mut take);
        for line in 1..=6 {
            all.add_traffic(test(line, MAX_INTERVALS));
            assert!(all.rows <= MAX_TOGETHER, "{}", all.rows);
        }
        let kept = |test: &TrafficTest| {
            let rows = &test.flows[0].sent_rows;
            let bytes: f64 = rows.iter().map(|row| row.bytes.value).sum();
            (rows.len(), bytes)
        };
        let kept: Vec<_> = all.traffic.iter().map(kept).collect();
        assert_eq!(kept, [(25_000, 100_000.0); 6]);
    }

    #[test]
    fn however_many_tests_there_are_all_become_runs_and_few_are_held() {
        let mut parts = Vec::new();
        let mut take = |part: Vec<Run>| {
            parts.push(part.len());
            ControlFlow::Continue(())
        };
        let mut all = Gathered::new(&mut take);
        for line in 1..=2 * MAX_TESTS + 1 {
            all.add_traffic(test(line, 1));
            assert!(all.traffic.len() < MAX_TESTS);
        }
        let found = all.finish().unwrap();
        assert_eq!(parts.iter().sum::<usize>(), 2 * MAX_TESTS + 1);
        assert!(parts.iter().all(|part| *part <= MAX_RUNS));
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    }

    #[test]
    fn who_takes_no_more_is_given_no_more() {
        let mut parts = 0;
        let mut take = |_| {
            parts += 1;
            ControlFlow::Break(())
        };
        let mut all = Gathered::new(&mut take);
        (1..=MAX_TESTS).for_each(|line| all.add_traffic(test(line, 1)));
        assert!(all.is_over());
        all.finish().unwrap();
        assert_eq!(parts, 1);
    }

    #[test]
    fn a_thousand_sentences_are_kept_and_the_others_counted() {
        let mut take = |_| ControlFlow::Continue(());
        let mut all = Gathered::new(&mut take);
        all.add_traffic(test(1, 1));
        for _ in 0..MAX_NAMED + 7 {
            all.add_traffic(test(1, 1));
            let file = "other".to_owned();
            all.refuse(ImportError::Empty { file });
        }
        let found = all.finish().unwrap();
        assert_eq!(found.warnings.len(), MAX_NAMED + 1);
        assert!(found.warnings[MAX_NAMED].starts_with("7 more warnings"));
        assert_eq!(found.refused.last(), Some(&ImportError::More { count: 7 }));
    }
}
