//! HdrHistogram's percentile text (`.hgrm`), of linerate itself and of others such as wrk2.
//!
//! A line gives a value and how many values are at most that large. Those between two lines are taken
//! as the upper one: exact for linerate's own files, which have a line for each bucket.
//!
//! # References
//! - `outputPercentileDistribution` of HdrHistogram: the columns, the two lines at the end

use super::{
    HgrmHint, Hints, ImportError, LatencyTest, LogFormat, LogReader, Origin, ParsedTest, TimeUnit,
    exact,
};
use crate::import::line::Fingerprint;
use linerate_model::run::{ClosedLoopResult, Delay, DelayOf, Trial};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{ByteCount, Histogram};
use std::collections::BTreeMap;

/// HdrHistogram's percentile text.
#[derive(Debug)]
pub(super) struct Hgrm;

const ID: &str = "hgrm";
const COLUMNS: [&str; 4] = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];

/// What comments before a distribution can say.
const KEYS: [&str; 5] = ["label", "payload_bytes", "timed", "transport", "unit"];

/// Most distributions of one file: each takes a quarter of a megabyte, however short its text is.
const MAX_DISTRIBUTIONS: usize = 256;

/// One hour: the histogram's largest value.
const MAX_NANOS: f64 = 3.6e12;

impl LogFormat for Hgrm {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "HdrHistogram's percentile text: whole delay distributions"
    }

    fn recognise(&self, line: &str) -> usize {
        let is_mine = is_heading(line) || line.starts_with("#[Mean ") || line.starts_with("#[Max ");
        usize::from(is_mine)
    }

    fn reader(&self, file: &str, hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            hint: hints.hgrm,
            header: BTreeMap::new(),
            open: None,
            begun: 0,
            tests: Vec::new(),
        })
    }
}

fn is_heading(line: &str) -> bool {
    line.split_whitespace().eq(COLUMNS)
}

struct Reader {
    file: String,
    hint: Option<HgrmHint>,
    /// What comments before the distribution say.
    header: BTreeMap<&'static str, String>,
    open: Option<Open>,
    /// Distributions so far.
    begun: usize,
    tests: Vec<ParsedTest>,
}

/// A distribution that is being read.
struct Open {
    line: usize,
    unit: TimeUnit,
    transport: Transport,
    histogram: Histogram,
    last: f64,
    mean: Option<(f64, f64)>,
    text: Fingerprint,
}

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let line = line.trim();
        if is_heading(line) {
            return self.begin(number);
        }
        let Some(open) = &mut self.open else {
            let pair = line
                .strip_prefix("# ")
                .and_then(|line| line.split_once(": "));
            if let Some((key, value)) = pair
                && let Some(key) = KEYS.iter().find(|known| **known == key)
            {
                self.header.insert(key, value.to_owned());
            }
            return Ok(());
        };
        let damaged = |why| ImportError::line(&self.file, number, why, line);
        open.text.add(line);
        if let Some(rest) = line.strip_prefix("#[Mean") {
            open.mean = Some(two(rest).ok_or_else(|| damaged("mean and deviation"))?);
        } else if let Some(rest) = line.strip_prefix("#[Max") {
            let (max, count) = two(rest).ok_or_else(|| damaged("maximum and total count"))?;
            return self.end(number, max, count);
        } else if !line.is_empty() && !line.starts_with('#') {
            open.row(line).map_err(damaged)?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ImportError> {
        let missing = "its lines #[Mean …] and #[Max …] are not there";
        self.open
            .take()
            .map_or(Ok(()), |open| Err(self.cut(open.line, missing)))
    }

    fn forget(&mut self) {
        self.open = None;
        self.header.clear();
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
    }
}

impl Reader {
    fn begin(&mut self, number: usize) -> Result<(), ImportError> {
        self.settle();
        self.begun += 1;
        if self.begun > MAX_DISTRIBUTIONS {
            return Err(ImportError::line(
                &self.file,
                number,
                "at most 256 distributions in a file",
                "",
            ));
        }
        let unit = self.header.get("unit").and_then(|unit| unit.parse().ok());
        let transport = match self.header.get("transport").map(String::as_str) {
            Some("tcp") => Some(Transport::Tcp),
            Some("udp") => Some(Transport::Udp),
            _ => None,
        };
        let hinted = self.hint.map(|hint| (hint.unit, hint.transport));
        let Some((unit, transport)) = unit.zip(transport).or(hinted) else {
            return Err(ImportError::Untold {
                file: self.file.clone(),
                line: number,
                what: "transport and unit of its values",
                hint: "--hgrm TRANSPORT:UNIT, such as --hgrm tcp:ms",
            });
        };
        self.open = Some(Open {
            line: number,
            unit,
            transport,
            histogram: Histogram::new(),
            last: 0.0,
            mean: None,
            text: Fingerprint::default(),
        });
        Ok(())
    }

    /// The last line of a distribution.
    fn end(&mut self, number: usize, max: f64, count: f64) -> Result<(), ImportError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        if (exact(open.histogram.len()) - count).abs() > 0.5 {
            let missing = format!(
                "its lines hold {} values, its end says {count}",
                open.histogram.len()
            );
            return Err(self.cut(open.line, &missing));
        }
        let header = std::mem::take(&mut self.header);
        let test = test(&self.file, number, &header, open, max);
        self.tests
            .extend(test.map(|test| ParsedTest::Latency(Box::new(test))));
        Ok(())
    }

    fn cut(&self, line: usize, missing: &str) -> ImportError {
        ImportError::Cut {
            file: self.file.clone(),
            line,
            missing: missing.to_owned(),
        }
    }
}

impl Open {
    /// `value percentile total-count 1/(1-percentile)`; the last column may be missing or infinite.
    fn row(&mut self, line: &str) -> Result<(), &'static str> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(value), Some(share), Some(total)) = (words.first(), words.get(1), words.get(2))
        else {
            return Err("value, percentile and total count");
        };
        let number = |word: &str| word.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = number(value).ok_or("a value")? * self.unit.nanos();
        if !number(share).is_some_and(|share| (0.0..=1.0).contains(&share)) {
            return Err("a percentile between 0 and 1");
        }
        let total: u64 = total.parse().map_err(|_| "a total count")?;
        if !(0.0..=MAX_NANOS).contains(&value) || value < self.last {
            return Err("values of at most an hour that do not decrease");
        }
        let more = total
            .checked_sub(self.histogram.len())
            .ok_or("total counts that do not decrease")?;
        self.last = value;
        if more > 0 {
            let nanos = super::whole(value.round()).ok_or("a value")?;
            self.histogram.record_n(nanos, more);
        }
        Ok(())
    }
}

/// `    = 1.0, StdDeviation   = 2.0]`.
fn two(text: &str) -> Option<(f64, f64)> {
    let (first, second) = text.trim_end().strip_suffix(']')?.split_once(',')?;
    let number = |part: &str| -> Option<f64> {
        let number: f64 = part.rsplit('=').next()?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    Some((number(first)?, number(second)?))
}

/// The test of one distribution; `None` if it is empty.
fn test(
    file: &str,
    line: usize,
    header: &BTreeMap<&'static str, String>,
    open: Open,
    max: f64,
) -> Option<LatencyTest> {
    let is_own = header.contains_key("unit");
    let of = match header.get("timed").map(String::as_str) {
        Some("half round trip") => DelayOf::HalfRoundTrip,
        Some("one-way delay above the trial's smallest") => DelayOf::Pdv,
        Some("send time after schedule") => DelayOf::Lateness,
        _ => DelayOf::RoundTrip,
    };
    let mut delay = Delay::from_histogram(of, open.histogram)?;
    if let Some((mean, deviation)) = open.mean {
        delay.mean_ns = Some(mean * open.unit.nanos());
        delay.stdev_ns = Some(deviation * open.unit.nanos());
    }
    let largest = super::whole((max * open.unit.nanos()).round());
    if let Some((min, max)) = delay.min_ns.zip(largest) {
        delay = delay.with_ends(min.min(max), max);
    }
    let work = ClosedLoopResult {
        delay: Some(delay),
        ..ClosedLoopResult::default()
    };
    let mut trial = Trial::from_log(0, open.transport, Direction::Forward, work);
    trial.label = header
        .get("label")
        .filter(|label| !label.is_empty())
        .cloned();
    let size = header
        .get("payload_bytes")
        .and_then(|size| size.parse().ok());
    trial.payload_bytes = size.map(ByteCount::new);
    let origin = Origin {
        file: file.to_owned(),
        line,
    };
    let mut test = LatencyTest::new(origin, ID, "HdrHistogram", open.transport);
    test.fingerprint = open.text.get();
    test.trials.push(trial);
    if !is_own {
        test.notes.push(
            "values between two lines of the file count as the upper one, and what was timed is taken \
             to be the round trip"
                .to_owned(),
        );
    }
    Some(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREIGN: &str = "\
       Value     Percentile TotalCount 1/(1-Percentile)

       1.000 0.000000000000          1           1.00
       2.000 0.500000000000          5           2.00
      10.000 1.000000000000         10          inf
#[Mean    =        5.000, StdDeviation   =        2.500]
#[Max     =       10.000, Total count    =           10]
#[Buckets =           27, SubBuckets     =         2048]
";

    fn hinted(text: &str) -> Result<Vec<ParsedTest>, ImportError> {
        let hgrm = Some("tcp:ms".parse().unwrap());
        let hints = Hints {
            hgrm,
            ..Hints::default()
        };
        crate::import::tests::parse(&Hgrm, "x.hgrm", text, hints)
    }

    fn refused(tests: Result<Vec<ParsedTest>, ImportError>) -> String {
        let tests = tests.unwrap();
        let [ParsedTest::Refused(error)] = tests.as_slice() else {
            panic!("{tests:?}");
        };
        error.to_string()
    }

    #[test]
    fn a_foreign_file_needs_to_be_told_its_transport_and_unit() {
        let error = refused(crate::import::tests::parse(
            &Hgrm,
            "x.hgrm",
            FOREIGN,
            Hints::default(),
        ));
        assert!(error.contains("--hgrm"), "{error}");
        let tests = hinted(FOREIGN).unwrap();
        let [ParsedTest::Latency(test)] = tests.as_slice() else {
            panic!("{tests:?}");
        };
        let delay = test.trials[0].delay().unwrap();
        assert_eq!(delay.count, Some(10));
        assert_eq!(delay.max_ns, Some(10_000_000));
        assert_eq!(delay.mean_ns, Some(5e6));
        assert!(delay.p50_ns.unwrap().abs_diff(2_000_000) < 4_000);
        assert!(!test.notes.is_empty());
    }

    #[test]
    fn what_contradicts_itself_or_is_cut_is_refused() {
        for (from, to, why) in [
            ("#[Max ", "#[Min ", "cut off"),
            ("          10]", "          11]", "its end says 11"),
            ("       2.000 0.5", "       0.500 0.5", "do not decrease"),
            ("          5 ", "          0 ", "do not decrease"),
            ("       2.000 ", "       nan ", "a value"),
            ("       2.000 ", "       1e30 ", "an hour"),
            ("0.500000000000", "1.500000000000", "between 0 and 1"),
        ] {
            let spoilt = FOREIGN.replacen(from, to, 1);
            assert_ne!(spoilt, FOREIGN);
            let error = refused(hinted(&spoilt));
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
