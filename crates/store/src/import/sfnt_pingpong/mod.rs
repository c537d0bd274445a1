//! sfnt-pingpong's table of half round-trip times by message size.
//!
//! # References
//! - sfnettest 1.4 to 1.6: times in nanoseconds; `%ile` is the quantile of the header line
//!   `percentile=`; half of a round trip unless the header says `reporting: RTT` or `--rtt` was given

mod header;

use super::line::first_of;
use super::reader::{Draft, Fault, Grammar, Log, Reader, Result, Step};
use super::test_builder::{Exchanges, TestBuilder};
use super::{LogFormat, Origin, ParsedTest, View};
use crate::import::line::Fingerprint;
use header::Header;
use linerate_model::Ratio;
use linerate_model::run::{ClosedLoopResult, Delay, DelayOf, DelayQuantile};

/// sfnt-pingpong's table.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "sfnt-pingpong",
    tool: "sfnt-pingpong",
    summary: "sfnt-pingpong's table of delays by message size, with its header",
    recognise: |line| usize::from(is_heading(line) || line.contains("sfnt-pingpong")),
    begins: |line| {
        let comment = first_of(line, &["# cmdline:", "# version:"]);
        comment.or_else(|| line.find('#').filter(|at| is_heading(&line[*at..])))
    },
    reader: |file, _| Reader::boxed(file, SfntPingpong::default()),
};

/// More than any list of sizes has.
const MAX_SIZES: usize = 4096;
const COLUMNS: [&str; 8] = [
    "size", "mean", "min", "median", "max", "%ile", "stddev", "iter",
];

fn is_heading(line: &str) -> bool {
    line.strip_prefix('#')
        .is_some_and(|rest| rest.split_whitespace().eq(COLUMNS))
}

/// A table has lines of comments before it.
#[derive(Default)]
struct SfntPingpong {
    header: Header,
}

/// One line of the table, in the order of [`COLUMNS`].
type Sizes = [u64; 8];

/// A table that is being read.
struct Table {
    file: String,
    header: Header,
    rows: Vec<Sizes>,
}

impl Grammar for SfntPingpong {
    type Test = Table;

    fn step(&mut self, log: &mut Log, open: &mut Option<Table>, line: &str) -> Result<Step<Table>> {
        if is_heading(line) {
            return Ok(Step::Begin(Table {
                file: log.file.clone(),
                header: std::mem::take(&mut self.header),
                rows: Vec::new(),
            }));
        }
        if line.starts_with('#') || line.contains("]: Using ") {
            // The header of the next table.
            self.close(log, open.take());
        }
        Ok(Step::Inside)
    }

    fn outside(&mut self, log: &mut Log, line: &str) -> Result<()> {
        let is_row = line
            .split_whitespace()
            .all(|word| word.parse::<u64>().is_ok());
        if is_row && !line.trim().is_empty() && !self.header.is_empty() && !log.is_lost {
            self.header = Header::default();
            return Err(Fault::Missing(
                "the heading of its table is not there".to_owned(),
            ));
        }
        self.header.line(log.number, line);
        Ok(())
    }

    fn finish(&mut self, log: &mut Log) {
        if !self.header.is_empty() {
            let error = log.cut(self.header.line, "its table is not there");
            log.refuse(error);
        }
    }
}

impl Draft for Table {
    fn begun(&self) -> usize {
        self.header.line.max(1)
    }

    fn line(&mut self, _log: &Log, line: &str) -> Result<()> {
        let mut words = line.split_whitespace().peekable();
        if words.peek().is_none_or(|word| word.parse::<u64>().is_err()) {
            return Ok(());
        }
        let row: Result<Vec<u64>, _> = words.map(str::parse).collect();
        let row = row.ok().and_then(|row| row.try_into().ok());
        let row = row.ok_or("eight whole numbers")?;
        if self.rows.len() >= MAX_SIZES {
            return Err("the end of a table of 4096 sizes".into());
        }
        self.rows.push(row);
        Ok(())
    }

    fn finish(self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        let last = self.rows.last().ok_or("its table has no line")?[0];
        if let Some(wanted) = self.header.last_size().filter(|wanted| last < *wanted) {
            let missing = format!("its table ends at size {last}, not at {wanted}");
            return Err(Fault::Missing(missing));
        }
        tests.push(self.test()?);
        Ok(())
    }
}

impl Table {
    fn test(self) -> Result<ParsedTest, &'static str> {
        let header = &self.header;
        let transport = header.transport();
        let transport = transport.ok_or("its line \"# cmdline:\" with tcp or udp is not there")?;
        let origin = Origin {
            line: self.begun(),
            file: self.file.clone(),
        };
        let version = header.value("version").map(str::to_owned);
        let mut test =
            TestBuilder::at(origin, &FORMAT, View::Client, transport).of_version(version);
        let quantile = header.value("percentile").unwrap_or("99");
        let chosen = quantile
            .parse()
            .ok()
            .and_then(|percent: f64| Ratio::new((percent * 1e10).round() / 1e12));
        if chosen.is_none() {
            test.note(format!(
                "the column %ile is called {quantile}, which is not a percentage, and is left out"
            ));
        }
        test.started = header.started();
        let steps = self.rows.windows(2).map(|pair| (pair[0][0], pair[1][0]));
        let wide = steps.filter(|(size, next)| *next > size.saturating_mul(2).max(1));
        for (size, next) in wide.take(1) {
            test.note(format!(
                "the table has no line between {size} and {next} bytes"
            ));
        }
        if let Some(first) = self.rows.first().map(|row| row[0]).filter(|size| *size > 1) {
            test.note(format!("the table has no line below {first} bytes"));
        }
        let of = header.delay_of();
        let rows = self.rows.iter().map(|row| delay(of, chosen, row));
        let trials = (0..).zip(rows).map(|(index, (size, work))| {
            let exchanges = Exchanges {
                bytes: Some(size),
                streams: Some(1),
                ..Exchanges::default()
            };
            let mut trial = test.trial(&exchanges, work);
            trial.index = index;
            trial
        });
        let trials = trials.collect();
        let rows: Vec<_> = self.rows.iter().map(|row| format!("{row:?}")).collect();
        let rows = Fingerprint::of(rows.iter().map(String::as_str));
        let mut test = test.latency(trials);
        if let ParsedTest::Latency(test) = &mut test {
            test.command = header.value("cmdline").map(str::to_owned);
            test.hosts = header.hosts();
            test.fingerprint = header.text.get() ^ rows.get();
        }
        Ok(test)
    }
}

/// What a line of the table timed, and at which size.
fn delay(of: DelayOf, chosen: Option<Ratio>, row: &Sizes) -> (u64, ClosedLoopResult) {
    let [size, mean, min, median, max, percentile, stdev, count] = *row;
    let is = |wanted: f64| chosen.is_some_and(|q| (q.get() - wanted).abs() < 1e-9);
    let at = |wanted: f64| is(wanted).then_some(percentile);
    let listed = chosen.filter(|_| ![0.5, 0.9, 0.99, 0.999].into_iter().any(is));
    let delay = Delay {
        of,
        min_ns: Some(min),
        mean_ns: Some(super::exact(mean)),
        p50_ns: Some(median),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        max_ns: Some(max),
        stdev_ns: Some(super::exact(stdev)),
        count: Some(count),
        unanswered: None,
        histogram: None,
        quantiles: listed
            .map(|quantile_ratio| DelayQuantile {
                quantile_ratio,
                value_ns: percentile,
            })
            .into_iter()
            .collect(),
    };
    let work = ClosedLoopResult {
        delay: Some(delay),
        ..ClosedLoopResult::default()
    };
    (size, work)
}
