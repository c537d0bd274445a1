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

/// The parts of a document, which are objects and lists: other programs' documents have texts of these names.
const PARTS: [&str; 3] = ["\"start\":", "\"intervals\":", "\"end\":"];
/// What begins a line of `--json-stream`.
const EVENT: &str = "{\"event\":";

/// Whether the value of the key that `text` begins with is an object or a list, as far as its line tells.
fn opens(text: &str) -> bool {
    let value = text
        .split_once(':')
        .map_or("", |(_, value)| value.trim_start());
    value.is_empty() || value.starts_with(['{', '['])
}

/// iperf3's JSON output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "iperf3-json",
    tool: "iperf3",
    summary: "JSON output of an iperf3 client or server (-J, --json-stream), TCP or UDP",
    recognise: |line| {
        // Some tools print a document in one line.
        let count = |mark: &str| {
            let found = line.match_indices(mark);
            found.filter(|(at, _)| opens(&line[*at..])).count()
        };
        let parts: usize = PARTS.iter().map(|mark| count(mark)).sum();
        let figures = line.matches("\"bits_per_second\":").count();
        parts + figures + usize::from(line.contains(EVENT))
    },
    begins: |line| {
        let part = |mark: &&str| line.find(mark).filter(|at| opens(&line[*at..]));
        let part = PARTS
            .iter()
            .filter_map(part)
            .chain(line.find(EVENT))
            .min()?;
        let before = line[..part].trim_end();
        Some(before.strip_suffix('{').map_or(part, str::len))
    },
    reader: |file, _| Box::new(reader::Reader::new(file)),
};
