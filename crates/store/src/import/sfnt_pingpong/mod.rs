//! sfnt-pingpong's table of half round-trip times by message size.
//!
//! # References
//! - sfnettest 1.4 to 1.6: times in nanoseconds; `%ile` is the quantile of the header line
//!   `percentile=`; half of a round trip unless the header says `reporting: RTT` or `--rtt` was given

mod header;

use super::{Hints, ImportError, LatencyTest, LogFormat, LogReader, Origin, ParsedTest};
use crate::import::line::Fingerprint;
use header::Header;
use linerate_model::run::{ClosedLoopResult, Delay, DelayOf, DelayQuantile, Tool, Trial};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{ByteCount, Ratio};

/// sfnt-pingpong's table.
#[derive(Debug)]
pub(super) struct SfntPingpong;

const ID: &str = "sfnt-pingpong";
/// More than any list of sizes has.
const MAX_SIZES: usize = 4096;
const COLUMNS: [&str; 8] = [
    "size", "mean", "min", "median", "max", "%ile", "stddev", "iter",
];

impl LogFormat for SfntPingpong {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "sfnt-pingpong's table of delays by message size, with its header"
    }

    fn recognise(&self, line: &str) -> usize {
        usize::from(is_heading(line) || line.contains("sfnt-pingpong"))
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            header: Header::default(),
            table: None,
            tests: Vec::new(),
        })
    }
}

fn is_heading(line: &str) -> bool {
    line.strip_prefix('#')
        .is_some_and(|rest| rest.split_whitespace().eq(COLUMNS))
}

struct Reader {
    file: String,
    header: Header,
    table: Option<Vec<Sizes>>,
    tests: Vec<ParsedTest>,
}

/// One line of the table, in the order of [`COLUMNS`].
type Sizes = [u64; 8];

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        if is_heading(line) {
            self.settle();
            self.table = Some(Vec::new());
            return Ok(());
        }
        if let Some(table) = &mut self.table {
            let mut words = line.split_whitespace();
            if words.next().is_some_and(|word| word.parse::<u64>().is_ok()) {
                let numbers = line.split_whitespace().map(str::parse);
                let row: Vec<u64> = numbers.collect::<Result<_, _>>().unwrap_or_default();
                let row = row.try_into().map_err(|_| {
                    ImportError::line(&self.file, number, "eight whole numbers", line)
                });
                if table.len() >= MAX_SIZES {
                    let wanted = "the end of a table of 4096 sizes";
                    return Err(ImportError::line(&self.file, number, wanted, line));
                }
                table.push(row?);
                return Ok(());
            }
            if line.starts_with('#') {
                self.settle();
            }
        }
        if self.table.is_none() {
            self.header.line(number, line);
        }
        Ok(())
    }

    /// Ends the table that is being read.
    fn close(&mut self) -> Result<(), ImportError> {
        let Some(table) = self.table.take() else {
            return Ok(());
        };
        let header = std::mem::take(&mut self.header);
        let last = table.last().map(|row| row[0]);
        match (last, header.last_size()) {
            (None, _) => return Err(self.cut(header.line, "its table has no line")),
            (Some(last), Some(wanted)) if last < wanted => {
                let missing = format!("its table ends at size {last}, not at {wanted}");
                return Err(self.cut(header.line, &missing));
            }
            _ => {}
        }
        let test =
            test(&self.file, &header, &table).map_err(|missing| self.cut(missing.0, missing.1))?;
        self.tests.push(ParsedTest::Latency(Box::new(test)));
        Ok(())
    }

    fn finish(&mut self) {
        self.settle();
        if !self.header.is_empty() {
            let error = self.cut(self.header.line, "its table is not there");
            self.refuse(error);
        }
    }

    fn forget(&mut self) {
        (self.table, self.header) = (None, Header::default());
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
    }
}

impl Reader {
    fn cut(&self, line: usize, missing: &str) -> ImportError {
        ImportError::Cut {
            file: self.file.clone(),
            line: line.max(1),
            missing: missing.to_owned(),
        }
    }
}

fn test(
    file: &str,
    header: &Header,
    table: &[Sizes],
) -> Result<LatencyTest, (usize, &'static str)> {
    let transport = header.transport().ok_or((
        header.line,
        "its line \"# cmdline:\" with tcp or udp is not there",
    ))?;
    let mut notes = Vec::new();
    let quantile = header.value("percentile").unwrap_or("99").to_owned();
    let chosen = quantile
        .parse()
        .ok()
        .and_then(|percent: f64| Ratio::new((percent * 1e10).round() / 1e12));
    if chosen.is_none() {
        notes.push(format!(
            "the column %ile is called {quantile}, which is not a percentage, and is left out"
        ));
    }
    let of = header.delay_of();
    let trials = (0..)
        .zip(table)
        .map(|(index, row)| trial(index, transport, of, chosen, row))
        .collect();
    Ok(LatencyTest {
        origin: Origin {
            file: file.to_owned(),
            line: header.line.max(1),
        },
        format: ID,
        tool: Tool {
            name: ID.to_owned(),
            version: header.value("version").map(str::to_owned),
        },
        transport,
        started: header.started(),
        command: header.value("cmdline").map(str::to_owned),
        hosts: header.hosts(),
        trials,
        notes,
        fingerprint: header.text.get()
            ^ Fingerprint::of(
                table
                    .iter()
                    .map(|row| format!("{row:?}"))
                    .collect::<Vec<_>>()
                    .iter()
                    .map(String::as_str),
            ),
    })
}

fn trial(
    index: u32,
    transport: Transport,
    of: DelayOf,
    chosen: Option<Ratio>,
    row: &Sizes,
) -> Trial {
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
    let mut trial = Trial::from_log(index, transport, Direction::Forward, work);
    trial.label = Some(format!("{size} B"));
    trial.streams = Some(1);
    trial.payload_bytes = Some(ByteCount::new(size));
    trial
}
