//! iperf3's JSON output: `-J` and `--json-stream`, of clients and servers, from 3.0 on.
//!
//! # References
//! - Keys and their generations: iperf3's printed output; `sender` in each stream from 3.7 on,
//!   `sum_sent` and `sum_received` of UDP and names with `bidir_reverse` from 3.11 on
//! - In 3.7 to 3.10 a bidirectional test has its sums twice under one name: then the streams are added

mod document;
mod reader;
mod scanner;
mod sums;
mod test;
mod value;

use super::{Hints, LogFormat, LogReader};

/// iperf3's JSON output.
#[derive(Debug)]
pub(super) struct Iperf3Json;

const ID: &str = "iperf3-json";

impl LogFormat for Iperf3Json {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "JSON output of an iperf3 client or server (-J, --json-stream), TCP or UDP"
    }

    fn recognise(&self, line: &str) -> usize {
        const MARKS: &[&str] = &[
            "\"start\":",
            "\"intervals\":",
            "\"end\":",
            "\"event\":",
            "\"bits_per_second\":",
            "\"error\":",
        ];
        // Some tools print a document in one line.
        MARKS.iter().map(|mark| line.matches(mark).count()).sum()
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(reader::Reader::new(file))
    }
}
