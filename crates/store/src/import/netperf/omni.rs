//! What omni tests print by name: `key=value` lines (`-k`), a heading and a line with commas (`-o`), a table whose headings
//! stand over each other (`-O`). All of them become keys.
//!
//! # References
//! - Keys and headings: `netperf -- -k all` and `-o all` of netperf 2.7.1

use super::super::delay::DelayFigures;
use super::super::test_builder::Exchanges;
use super::{Kind, Output};
use super::{ParsedTest, Rounded, Totals, whole};
use crate::import::exact;
use crate::import::streams::MIXED;
use linerate_model::spec::{Direction, Transport};
use std::collections::BTreeMap;

/// What is missing of a test without its figure.
const NO_RATE: &str = "its key THROUGHPUT is not there";

/// More than all the keys that omni tests know.
const MAX_KEYS: usize = 512;
/// Lines of headings that stand over each other.
const MAX_HEADINGS: usize = 4;

/// What `-o` and `-O` call the keys that are read.
const HEADINGS: &[(&str, &str)] = &[
    ("50th Percentile Latency Microseconds", "P50_LATENCY"),
    ("90th Percentile Latency Microseconds", "P90_LATENCY"),
    ("99th Percentile Latency Microseconds", "P99_LATENCY"),
    ("Direction", "DIRECTION"),
    ("Elapsed Time (sec)", "ELAPSED_TIME"),
    ("Local CPU Util %", "LOCAL_CPU_UTIL"),
    ("Local Recv Throughput", "LOCAL_RECV_THROUGHPUT"),
    ("Local Send Calls", "LOCAL_SEND_CALLS"),
    ("Local Send Size", "LOCAL_SEND_SIZE"),
    ("Local Send Throughput", "LOCAL_SEND_THROUGHPUT"),
    ("Local Transport Retransmissions", "LOCAL_TRANSPORT_RETRANS"),
    ("Maximum Latency Microseconds", "MAX_LATENCY"),
    ("Mean Latency Microseconds", "MEAN_LATENCY"),
    ("Minimum Latency Microseconds", "MIN_LATENCY"),
    ("Protocol", "PROTOCOL"),
    ("Remote CPU Util %", "REMOTE_CPU_UTIL"),
    ("Remote Recv Calls", "REMOTE_RECV_CALLS"),
    ("Remote Recv Throughput", "REMOTE_RECV_THROUGHPUT"),
    ("Remote Send Size", "REMOTE_SEND_SIZE"),
    ("Remote Send Throughput", "REMOTE_SEND_THROUGHPUT"),
    (
        "Remote Transport Retransmissions",
        "REMOTE_TRANSPORT_RETRANS",
    ),
    ("Request Size Bytes", "REQUEST_SIZE"),
    ("Round Trip Latency usec/tran", "RT_LATENCY"),
    ("Stddev Latency Microseconds", "STDDEV_LATENCY"),
    ("Throughput", "THROUGHPUT"),
    ("Throughput Units", "THROUGHPUT_UNITS"),
    ("Transaction Rate Tran/s", "TRANSACTION_RATE"),
];

/// Words of which the first heading of a table has one.
const HEADING_WORDS: &[&str] = &[
    "Latency",
    "Maximum",
    "Mean",
    "Minimum",
    "Percentile",
    "Stddev",
    "Throughput",
    "Transaction",
];

/// What was printed of a test by name.
#[derive(Debug, Default)]
pub(super) struct Keys {
    values: BTreeMap<String, String>,
    /// Lines that may be the headings of a table.
    headings: Vec<String>,
}

impl Keys {
    /// Whether nothing was printed so.
    pub(super) fn are_none(&self) -> bool {
        self.values.is_empty()
    }

    /// Takes a line; whether it is one of these. An error if it is of another test, or not whole.
    pub(super) fn take(&mut self, line: &str) -> Result<bool, &'static str> {
        if let Some((key, value)) = line.trim_start().split_once('=') {
            let is_key = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            if !key.is_empty() && key.chars().all(is_key) {
                return self.set(key, value).map(|()| true);
            }
        }
        if self.headings.is_empty() && !HEADING_WORDS.iter().any(|word| line.contains(word)) {
            return Ok(false);
        }
        let is_value = !self.headings.is_empty()
            && line.contains(|c: char| c.is_ascii_digit())
            && (line.contains(',') || self.headings.len() >= 2);
        if is_value {
            return self.values_of(line);
        }
        if self.headings.len() < MAX_HEADINGS {
            self.headings.push(line.to_owned());
        }
        Ok(false)
    }

    /// Takes the line of values under the headings; whether they fit.
    fn values_of(&mut self, line: &str) -> Result<bool, &'static str> {
        let headings = std::mem::take(&mut self.headings);
        let fields: Vec<(String, String)> = match &headings[..] {
            [heading] => {
                let (headings, values) = (separated(heading), separated(line));
                // Prose has words of headings, too.
                if !headings.iter().any(|heading| key(heading).is_some()) {
                    return Ok(false);
                }
                // Only a command line, the last of all, has commas of its own.
                let is_split = headings.last().is_some_and(|last| last == "Command Line");
                if headings.len() > values.len() || headings.len() < values.len() && !is_split {
                    return Err("as many figures as headings");
                }
                headings.into_iter().zip(values).collect()
            }
            _ => columns(&headings, line),
        };
        let known = fields
            .into_iter()
            .filter_map(|(heading, value)| Some((key(&heading)?, value)));
        let known: Vec<_> = known.collect();
        // A table of classic output has headings of its own.
        let is_omni = known.iter().any(|(key, _)| is_telling(key));
        if is_omni {
            for (key, value) in &known {
                self.set(key, value)?;
            }
        }
        Ok(is_omni)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        if self.values.len() < MAX_KEYS {
            let before = self.values.insert(key.to_owned(), value.trim().to_owned());
            if before.is_some_and(|before| before != value.trim()) {
                return Err(MIXED);
            }
        }
        Ok(())
    }

    /// Whether figures that have decimals have all of them.
    fn is_whole(&self) -> bool {
        const DECIMALS: &[&str] = &[
            "THROUGHPUT",
            "LOCAL_RECV_THROUGHPUT",
            "LOCAL_SEND_THROUGHPUT",
            "REMOTE_RECV_THROUGHPUT",
            "REMOTE_SEND_THROUGHPUT",
            "MEAN_LATENCY",
            "STDDEV_LATENCY",
            "ELAPSED_TIME",
        ];
        let mut figures = DECIMALS.iter().filter_map(|key| self.text(key));
        let longer = ["RT_LATENCY", "TRANSACTION_RATE"].map(|key| self.text(key));
        let mut longer = longer.into_iter().flatten();
        figures.all(|text| Rounded::with_decimals(text, 2).is_some())
            && longer.all(|text| Rounded::with_decimals(text, 3).is_some())
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// A figure; what was not measured is printed as a negative one.
    pub(super) fn figure(&self, key: &str) -> Option<Rounded> {
        Rounded::parse(self.text(key)?)
    }

    fn count(&self, key: &str) -> Option<u64> {
        whole(self.figure(key)?.value)
    }

    /// What is told of so many requests and responses per second.
    fn exchanges(&self, per_second: Option<Rounded>) -> Exchanges {
        let micros = |key| self.figure(key).map(|figure| figure.scaled(1e-6));
        Exchanges {
            figures: DelayFigures {
                min: micros("MIN_LATENCY"),
                mean: micros("MEAN_LATENCY").or_else(|| micros("RT_LATENCY")),
                p50: micros("P50_LATENCY"),
                p90: micros("P90_LATENCY"),
                p99: micros("P99_LATENCY"),
                p999: None,
                max: micros("MAX_LATENCY"),
                stdev: micros("STDDEV_LATENCY"),
                count: self.count("LOCAL_TRANSACTIONS_COUNT"),
            },
            bytes: self.count("REQUEST_SIZE"),
            streams: Some(1),
            seconds: self.figure("ELAPSED_TIME"),
            per_second,
        }
    }

    /// Whether it has figures that only requests and responses have.
    fn are_of_requests(&self) -> bool {
        self.values.keys().any(|key| is_of_requests(key))
    }
}

/// Whether only requests and responses have a figure of this key.
fn is_of_requests(key: &str) -> bool {
    key == "TRANSACTION_RATE" || key.ends_with("_LATENCY")
}

/// Whether a key is of omni tests alone, and says of which kind they are.
fn is_telling(key: &str) -> bool {
    key == "THROUGHPUT_UNITS" || is_of_requests(key)
}

/// The key that `-o` and `-O` call so. All delays are in microseconds.
fn key(heading: &str) -> Option<&'static str> {
    let is_name =
        |name: &str| name == heading || name.strip_suffix(" Microseconds") == Some(heading);
    let found = HEADINGS.iter().find(|(name, _)| is_name(name));
    found.map(|(_, key)| *key)
}

/// Cells between commas. Only the last one may have commas in it, and none before is read.
fn separated(line: &str) -> Vec<String> {
    line.split(',').map(|cell| cell.trim().to_owned()).collect()
}

/// The values of a line with the words that stand over each.
fn columns(headings: &[String], line: &str) -> Vec<(String, String)> {
    let starts: Vec<_> = line
        .char_indices()
        .filter(|(at, c)| {
            !c.is_whitespace() && !line[..*at].ends_with(|c: char| !c.is_whitespace())
        })
        .map(|(at, _)| at)
        .collect();
    let cut = |line: &str, at: usize| -> String {
        let end = starts.get(at + 1).copied().unwrap_or(line.len());
        let cell = line.get(starts[at]..end.min(line.len()));
        cell.unwrap_or_default().trim().to_owned()
    };
    (0..starts.len())
        .map(|at| {
            let words = headings.iter().map(|heading| cut(heading, at));
            let mut words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
            // The unit of another column, whose line lost its blanks.
            words.dedup();
            (words.join(" "), cut(line, at))
        })
        .collect()
}

/// The sender's and the receiver's end, as keys begin.
const fn ends(direction: Direction) -> (&'static str, &'static str) {
    match direction {
        Direction::Reverse => ("REMOTE", "LOCAL"),
        Direction::Forward | Direction::Duplex => ("LOCAL", "REMOTE"),
    }
}

/// Says what no key tells, and how netperf would.
fn untold(what: &str, key: &str) -> String {
    format!("netperf's output does not tell {what}: add {key} to -k, -o or -O")
}

impl Output {
    /// Requests and responses, and streams: the units say which.
    pub(super) fn omni(mut self) -> Result<ParsedTest, &'static str> {
        let keys = std::mem::take(&mut self.keys);
        if !keys.is_whole() {
            return Err("a figure with two decimals");
        }
        self.set_transport(&keys)?;
        self.cpu =
            ["LOCAL_CPU_UTIL", "REMOTE_CPU_UTIL"].map(|key| keys.text(key).map(str::to_owned));
        let rate = keys.figure("THROUGHPUT");
        let units = keys.text("THROUGHPUT_UNITS");
        let is_request = matches!(self.kind, Kind::Connections | Kind::Request);
        let is_told = units.is_some() || is_request && keys.are_of_requests();
        if units.is_none_or(|units| units == "Trans/s") && is_told {
            let rate = rate.filter(|_| units.is_some());
            let rate = rate.or_else(|| keys.figure("TRANSACTION_RATE"));
            if rate.is_none() && units.is_some() {
                return Err(NO_RATE);
            }
            if keys.figure("ELAPSED_TIME").is_none() {
                self.test
                    .doubt(untold("how long the test was", "ELAPSED_TIME"));
            }
            return Ok(self.exchanges(&keys.exchanges(rate)));
        }
        units.ok_or("its key THROUGHPUT_UNITS is not there")?;
        let direction = self.direction(&keys)?;
        // The throughput of a stream is what its receiver counted.
        let (_, receiver) = ends(direction);
        let rate = rate.or_else(|| keys.figure(&format!("{receiver}_RECV_THROUGHPUT")));
        let rate = rate.ok_or(NO_RATE)?;
        self.stream(&keys, direction, rate)
    }

    /// What carried the test: by its key, its command line, or its banner.
    fn set_transport(&mut self, keys: &Keys) -> Result<(), &'static str> {
        let told = keys.text("PROTOCOL").or_else(|| self.of_test("-T"));
        match told.map(str::to_ascii_uppercase).as_deref() {
            Some("UDP") => self.test.transport = Transport::Udp,
            Some("TCP") => self.test.transport = Transport::Tcp,
            Some(_) => return Err("a test of TCP or UDP"),
            None if self.kind != Kind::Omni => {}
            None => {
                let what = "the protocol (taken for TCP, netperf's default)";
                self.test.doubt(untold(what, "PROTOCOL"));
            }
        }
        Ok(())
    }

    /// Which way the data went: by its key, its command line, or its banner.
    fn direction(&mut self, keys: &Keys) -> Result<Direction, &'static str> {
        let told = keys.text("DIRECTION").or_else(|| self.of_test("-d"));
        let told = told.or(self.way.as_deref()).map(str::to_ascii_lowercase);
        Ok(match told.as_deref() {
            Some("receive" | "recv" | "maerts") => Direction::Reverse,
            Some("send" | "stream") => Direction::Forward,
            Some(_) => return Err("a test of one direction: its throughput is the sum of both"),
            None if self.kind == Kind::Maerts => Direction::Reverse,
            None if self.kind != Kind::Omni => Direction::Forward,
            None => {
                let what = "the direction (taken for client to server, netperf's default)";
                self.test.doubt(untold(what, "DIRECTION"));
                Direction::Forward
            }
        })
    }

    /// The counted time: by its key, else what the command line asked for.
    fn seconds(&mut self, keys: &Keys) -> Option<Rounded> {
        if let Some(seconds) = keys.figure("ELAPSED_TIME") {
            return Some(seconds);
        }
        let asked = self.test.command.as_ref();
        let asked = asked.and_then(|command| Rounded::parse(command.value("-l", &[])?));
        // A negative length is of bytes or transactions.
        let asked = asked.filter(|seconds| seconds.value > 0.0)?;
        let what = "how long the test was (taken for what its command line asked for)";
        self.test.doubt(untold(what, "ELAPSED_TIME"));
        Some(asked)
    }

    /// The value of an option of the test, behind the command line's `--`.
    fn of_test(&self, option: &str) -> Option<&str> {
        let (_, line) = self.test.command.as_ref()?.line.split_once(" -- ")?;
        let mut words = line.split_whitespace();
        let joined = words.find_map(|word| word.strip_prefix(option))?;
        if joined.is_empty() {
            words.next()
        } else {
            Some(joined)
        }
    }

    /// A stream that was received at this rate, in the unit as printed.
    fn stream(
        mut self,
        keys: &Keys,
        direction: Direction,
        rate: Rounded,
    ) -> Result<ParsedTest, &'static str> {
        let units = keys.text("THROUGHPUT_UNITS").unwrap_or_default();
        let unit = unit(units).ok_or("a unit of throughput such as 10^6bits/s")?;
        let Some(seconds) = self.seconds(keys) else {
            let untold = untold("how long the test was", "ELAPSED_TIME");
            let reason = format!("{untold}, or give its command line with -l");
            return Ok(self.test.skipped(reason));
        };
        let totals = |bps, datagrams, arrived| Totals {
            bps: Some(bps),
            datagrams,
            arrived,
            ..Totals::over(seconds)
        };
        let (end, _) = ends(direction);
        let sent = keys.figure(&format!("{end}_SEND_THROUGHPUT"));
        let calls = |key| {
            keys.count(key)
                .filter(|_| self.test.transport == Transport::Udp)
        };
        let (out, arrived) = (calls("LOCAL_SEND_CALLS"), calls("REMOTE_RECV_CALLS"));
        let payload = keys.count(&format!("{end}_SEND_SIZE"));
        let counted = |count: Option<u64>| {
            let bytes = count
                .zip(payload)
                .and_then(|(count, size)| count.checked_mul(size));
            bytes.map(|bytes| Rounded::exact(exact(bytes)))
        };
        let flow = self
            .test
            .received(direction, totals(rate.scaled(unit), None, arrived));
        flow.sent = sent.map(|sent| Totals {
            bytes: counted(out),
            ..totals(sent.scaled(unit), out, None)
        });
        if let Some(again) = keys.count(&format!("{end}_TRANSPORT_RETRANS")) {
            let sent = flow.sent.get_or_insert_with(|| Totals::over(seconds));
            sent.retransmitted = Some(again);
        }
        if self.test.transport == Transport::Udp && out.is_none() {
            let key = format!("{end}_SEND_THROUGHPUT");
            let untold = || untold("how much was sent, so the loss is unknown", &key);
            self.test.note(sent.map_or_else(untold, |sent| {
                let (arrived, sent) = (rate.value, sent.value);
                format!(
                    "netperf printed no counts of datagrams, so the loss is unknown: {arrived} of {sent} {units} arrived"
                )
            }));
        }
        self.test.payload_bytes = payload;
        Ok(self.traffic())
    }
}

/// Bits per second of one unit.
pub(super) fn unit(text: &str) -> Option<f64> {
    Some(match text.trim_end_matches("/sec").trim_end_matches("/s") {
        "10^3bits" => 1e3,
        "10^6bits" => 1e6,
        "10^9bits" => 1e9,
        "Bytes" => 8.0,
        "KBytes" => 8.0 * 1024.0,
        "MBytes" => 8.0 * 1_048_576.0,
        "GBytes" => 8.0 * 1_073_741_824.0,
        _ => return None,
    })
}
