//! HdrHistogram's percentile text (`.hgrm`), of linerate itself and of others such as wrk2.
//!
//! A line gives a value and how many values are at most that large. Those between two lines are taken
//! as the upper one: exact for linerate's own files, which have a line for each bucket.
//!
//! # References
//! - `outputPercentileDistribution` of HdrHistogram: the columns, the two lines at the end

use super::line::first_of;
use super::reader::{Draft, Fault, Grammar, Log, Reader, Result, Step};
use super::rounded::decimal;
use super::test_builder::{Exchanges, TestBuilder};
use super::{ImportError, LogFormat, ParsedTest, View, exact};
use linerate_model::Histogram;
use linerate_model::run::{ClosedLoopResult, Delay, DelayOf};
use linerate_model::spec::Transport;
use std::collections::BTreeMap;
use std::str::FromStr;

/// HdrHistogram's percentile text.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "hgrm",
    tool: "HdrHistogram",
    summary: "HdrHistogram's percentile text: whole delay distributions",
    recognise: |line| {
        let is_end = line.starts_with("#[Mean ") || line.starts_with("#[Max ");
        usize::from(is_heading(line) || is_end)
    },
    begins: |line| {
        let heading = || line.find(COLUMNS[0]).filter(|at| is_heading(&line[*at..]));
        first_of(line, &["#[Mean ", "#[Max "]).or_else(heading)
    },
    reader: |file, hints| {
        let hint = hints.hgrm;
        Reader::boxed(
            file,
            Hgrm {
                hint,
                ..Hgrm::default()
            },
        )
    },
};

const COLUMNS: [&str; 4] = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];

/// What comments before a distribution can say.
const KEYS: [&str; 5] = ["label", "payload_bytes", "timed", "transport", "unit"];

/// Most distributions of one file: each takes a quarter of a megabyte, however short its text is.
const MAX_DISTRIBUTIONS: usize = 256;

/// One hour: the histogram's largest value.
const MAX_NANOS: f64 = 3.6e12;

fn is_heading(line: &str) -> bool {
    line.split_whitespace().eq(COLUMNS)
}

/// Transport and unit of a file of HdrHistogram's percentile text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HgrmHint {
    /// What carried the messages.
    pub transport: Transport,
    /// Unit of the values.
    pub unit: TimeUnit,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// `us`.
    Micros,
    /// `ms`.
    Millis,
    /// `ns`.
    Nanos,
    /// `s`.
    Seconds,
}

impl TimeUnit {
    /// Nanoseconds of one.
    pub const fn nanos(self) -> f64 {
        match self {
            Self::Micros => 1e3,
            Self::Millis => 1e6,
            Self::Nanos => 1.0,
            Self::Seconds => 1e9,
        }
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "us" | "µs" => Ok(Self::Micros),
            "ms" => Ok(Self::Millis),
            "ns" => Ok(Self::Nanos),
            "s" => Ok(Self::Seconds),
            _ => Err(format!("\"{text}\" is not a unit of time: ns, us, ms or s")),
        }
    }
}

impl FromStr for HgrmHint {
    type Err = String;

    /// `tcp:ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is not TRANSPORT:UNIT such as tcp:ms or udp:us");
        let (transport, unit) = text.split_once(':').ok_or_else(wrong)?;
        let transport = match transport {
            "tcp" => Transport::Tcp,
            "udp" => Transport::Udp,
            _ => return Err(wrong()),
        };
        let unit = unit.parse()?;
        Ok(Self { transport, unit })
    }
}

/// Distributions begin with their columns; comments before them say what they are of.
#[derive(Default)]
struct Hgrm {
    hint: Option<HgrmHint>,
    header: Header,
    /// Distributions so far.
    begun: usize,
}

/// What comments before a distribution say.
type Header = BTreeMap<&'static str, String>;

/// A distribution that is being read.
struct Distribution {
    test: TestBuilder,
    header: Header,
    unit: TimeUnit,
    histogram: Histogram,
    last: f64,
    mean: Option<(f64, f64)>,
    /// Largest value and total count, with which it ends.
    end: Option<(f64, f64)>,
}

impl Grammar for Hgrm {
    type Test = Distribution;

    fn step(
        &mut self,
        log: &mut Log,
        open: &mut Option<Distribution>,
        line: &str,
    ) -> Result<Step<Distribution>> {
        // Its mean and its maximum may come in either order.
        let is_footer = line.trim_start().starts_with("#[");
        if open.as_ref().is_some_and(|open| open.end.is_some()) && !is_footer {
            self.close(log, open.take());
        }
        if !is_heading(line) {
            return Ok(Step::Inside);
        }
        // What is missing of this one must not refuse the one before.
        self.close(log, open.take());
        self.begin(log).map(Step::Begin)
    }

    fn outside(&mut self, _log: &mut Log, line: &str) -> Result<()> {
        let pair = line.trim().strip_prefix("# ");
        if let Some((key, value)) = pair.and_then(|line| line.split_once(": "))
            && let Some(key) = KEYS.iter().find(|known| **known == key)
        {
            self.header.insert(key, value.to_owned());
        }
        Ok(())
    }
}

impl Hgrm {
    fn begin(&mut self, log: &Log) -> Result<Distribution> {
        self.begun += 1;
        if self.begun > MAX_DISTRIBUTIONS {
            return Err("at most 256 distributions in a file".into());
        }
        let header = std::mem::take(&mut self.header);
        let unit = header.get("unit").and_then(|unit| unit.parse().ok());
        let transport = match header.get("transport").map(String::as_str) {
            Some("tcp") => Some(Transport::Tcp),
            Some("udp") => Some(Transport::Udp),
            _ => None,
        };
        let own = unit.zip(transport);
        let hinted = self.hint.map(|hint| (hint.unit, hint.transport));
        let Some((unit, transport)) = own.or(hinted) else {
            return Err(Fault::Other(ImportError::Untold {
                file: log.file.clone(),
                line: log.number,
                what: "transport and unit of its values",
                hint: "--hgrm TRANSPORT:UNIT, such as --hgrm tcp:ms",
            }));
        };
        let mut test = TestBuilder::new(log, &FORMAT, View::Client, transport);
        if own.is_none() {
            // The figures are other ones with another unit: what the user told names the test too.
            test.text.add(&format!("{transport}, {} ns", unit.nanos()));
        }
        Ok(Distribution {
            test,
            header,
            unit,
            histogram: Histogram::new(),
            last: 0.0,
            mean: None,
            end: None,
        })
    }
}

impl Draft for Distribution {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn line(&mut self, _log: &Log, line: &str) -> Result<()> {
        let line = line.trim();
        if is_heading(line) {
            return Ok(());
        }
        self.test.text.add(line);
        if let Some(rest) = line.strip_prefix("#[Mean") {
            self.mean = Some(two(rest).ok_or("mean and deviation")?);
        } else if let Some(rest) = line.strip_prefix("#[Max") {
            self.end = Some(two(rest).ok_or("maximum and total count")?);
        } else if !line.is_empty() && !line.starts_with('#') {
            self.row(line)?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.end.is_some() && self.mean.is_some()
    }

    fn finish(self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        let (max, count) = self
            .end
            .ok_or("its lines #[Mean …] and #[Max …] are not there")?;
        let held = self.histogram.len();
        if (exact(held) - count).abs() > 0.5 {
            let missing = format!("its lines hold {held} values, its end says {count}");
            return Err(Fault::Missing(missing));
        }
        tests.extend(self.test(max));
        Ok(())
    }
}

impl Distribution {
    /// `value percentile total-count 1/(1-percentile)`; the last column may be missing or infinite.
    fn row(&mut self, line: &str) -> Result<(), &'static str> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(value), Some(share), Some(total)) = (words.first(), words.get(1), words.get(2))
        else {
            return Err("value, percentile and total count");
        };
        let number = |word: &str| decimal(word).filter(|value| value.is_finite());
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
    /// Its test; `None` if it is empty.
    fn test(mut self, max: f64) -> Option<ParsedTest> {
        let of = match self.header.get("timed").map(String::as_str) {
            Some("half round trip") => DelayOf::HalfRoundTrip,
            Some("one-way delay above the trial's smallest") => DelayOf::Pdv,
            Some("send time after schedule") => DelayOf::Lateness,
            _ => DelayOf::RoundTrip,
        };
        let mut delay = Delay::from_histogram(of, self.histogram)?;
        if let Some((mean, deviation)) = self.mean {
            delay.mean_ns = Some(mean * self.unit.nanos());
            delay.stdev_ns = Some(deviation * self.unit.nanos());
        }
        let largest = super::whole((max * self.unit.nanos()).round());
        if let Some((min, max)) = delay.min_ns.zip(largest) {
            delay = delay.with_ends(min.min(max), max);
        }
        let work = ClosedLoopResult {
            delay: Some(delay),
            ..ClosedLoopResult::default()
        };
        let size = self.header.get("payload_bytes");
        let exchanges = Exchanges {
            bytes: size.and_then(|size| size.parse().ok()),
            ..Exchanges::default()
        };
        let mut trial = self.test.trial(&exchanges, work);
        trial.label = self.header.remove("label").filter(|it| !it.is_empty());
        if !self.header.contains_key("unit") {
            self.test.note(
                "values between two lines of the file count as the upper one, and what was timed is taken \
                 to be the round trip",
            );
        }
        Some(self.test.latency(vec![trial]))
    }
}

/// `    = 1.0, StdDeviation   = 2.0]`.
fn two(text: &str) -> Option<(f64, f64)> {
    let (first, second) = text.trim_end().strip_suffix(']')?.split_once(", ")?;
    let number = |part: &str| -> Option<f64> {
        let number = decimal(part.rsplit('=').next()?.trim())?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    Some((number(first)?, number(second)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Hints;

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
        crate::import::tests::parse(&FORMAT, "x.hgrm", text, hints)
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
            &FORMAT,
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

    #[test]
    fn a_hint_has_a_transport_and_a_unit() {
        let hint: HgrmHint = "udp:us".parse().unwrap();
        assert_eq!(
            (hint.transport, hint.unit),
            (Transport::Udp, TimeUnit::Micros)
        );
        for wrong in ["", "udp", "us", "quic:us", "udp:minutes"] {
            assert!(wrong.parse::<HgrmHint>().is_err(), "{wrong}");
        }
    }
}
