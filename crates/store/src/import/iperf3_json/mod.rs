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

use super::LogFormat;

/// iperf3's JSON output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "iperf3-json",
    tool: "iperf3",
    summary: "JSON output of an iperf3 client or server (-J, --json-stream), TCP or UDP",
    recognise: |line| {
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
    },
    reader: |file, _| Box::new(reader::Reader::new(file)),
};
