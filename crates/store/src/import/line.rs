//! The data lines that iperf3 and iperf2 share.

use super::rounded::{byte_unit, rate_unit};
use super::{Connection, Endpoint, Rounded, Row, exact};

/// `[  5][TX-C]   0.00-1.00   sec  28.9 MBytes   242 Mbits/sec   27    527 KBytes`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DataLine<'a> {
    /// `5`, `SUM`.
    pub(super) tag: &'a str,
    /// `TX-C`, `RX-C`, `TX-S`, `RX-S` of a bidirectional iperf3 test.
    pub(super) role: Option<&'a str>,
    /// Start in seconds.
    pub(super) start: Rounded,
    /// End in seconds.
    pub(super) end: Rounded,
    /// Transfer in bytes.
    pub(super) bytes: Rounded,
    /// Rate in bit/s.
    pub(super) bps: Rounded,
    /// What follows.
    pub(super) rest: &'a str,
}

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'a> {
    /// A line of figures.
    Data(DataLine<'a>),
    /// Begins like a line of figures, but is damaged; what was expected.
    Damaged(&'static str),
    /// Something else after a stream's tag.
    Tagged { tag: &'a str, rest: &'a str },
    /// A line without a stream's tag.
    Other,
}

/// Lines that say something of an interval, and no figures of what was carried in it.
const REMARKS: &[&str] = &[
    "Clock sync error count",
    "OWD (ms) Cnt=",
    "trip-time (3WHS",
    "received out-of-order",
    "received on wrong quintuple",
    "L2 processing detected errors",
];

fn is_remark(rest: &str) -> bool {
    REMARKS.iter().any(|remark| rest.contains(remark))
}

/// Reads `3 datagrams received out-of-order` and the like as what to say about it.
pub(super) fn remark(rest: &str) -> Option<String> {
    let (before, what) = rest.split_once(" datagrams ")?;
    let count: u64 = before.rsplit(' ').next()?.parse().ok()?;
    match what.trim() {
        "received out-of-order" => Some(late(count)),
        "received on wrong quintuple" => Some(format!(
            "{} came from another address or port than those of the test",
            datagrams(count)
        )),
        _ => None,
    }
}

/// What to say about datagrams that came late or twice.
pub(super) fn late(count: u64) -> String {
    format!(
        "{} arrived out of order or twice: the tool does not tell which",
        datagrams(count)
    )
}

fn datagrams(count: u64) -> String {
    match count {
        1 => "1 datagram".to_owned(),
        _ => format!("{count} datagrams"),
    }
}

/// Splits a line; a prefix before the tag (time stamp, title) is skipped.
pub(super) fn kind(line: &str) -> Kind<'_> {
    for (position, _) in line.match_indices('[') {
        let Some((inside, after)) = line[position + 1..].split_once(']') else {
            return Kind::Other;
        };
        let tag = inside.trim();
        if is_tag(tag) {
            return after_tag(tag, after);
        }
    }
    Kind::Other
}

impl DataLine<'_> {
    /// The row of the table that this line, of that number, is.
    pub(super) const fn row(&self, line: usize) -> Row {
        Row::of_rate(line, self.start, self.end, self.bytes, self.bps)
    }
}

/// `5`, `*1`, `SUM`, `SUM-4`, `FD1`.
fn is_tag(tag: &str) -> bool {
    let number = tag
        .strip_prefix("SUM-")
        .or_else(|| tag.strip_prefix("FD"))
        .or_else(|| tag.strip_prefix('*'))
        .unwrap_or(tag);
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    tag == "SUM" || digits
}

const TIMES: &str = "an interval such as 0.00-1.00 sec";

fn after_tag<'a>(tag: &'a str, after: &'a str) -> Kind<'a> {
    let (role, after) = match after
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((role, rest)) => (Some(role), rest),
        None => (None, after),
    };
    let rest = after.trim();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    if !rest.is_empty() && rest.chars().all(is_number) {
        return Kind::Damaged(TIMES);
    }
    let begins = rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('-');
    if !begins || is_remark(rest) {
        return Kind::Tagged { tag, rest };
    }
    match figures(tag, role, rest) {
        Ok(data) => Kind::Data(data),
        Err(wanted) => Kind::Damaged(wanted),
    }
}

fn figures<'a>(
    tag: &'a str,
    role: Option<&'a str>,
    text: &'a str,
) -> Result<DataLine<'a>, &'static str> {
    const SIZE: &str = "a transfer such as 28.9 MBytes";
    const RATE: &str = "a rate such as 242 Mbits/sec";
    let (times, mut rest) = text.split_once("sec").ok_or(TIMES)?;
    let (start, end) = times.split_once('-').ok_or(TIMES)?;
    let start = Rounded::parse(start.trim()).ok_or(TIMES)?;
    let end = Rounded::parse(end.trim()).ok_or(TIMES)?;
    if end.value < start.value {
        return Err(TIMES);
    }
    let bytes = figure(&mut rest, byte_unit).ok_or(SIZE)?;
    let bps = figure(&mut rest, rate_unit).ok_or(RATE)?;
    Ok(DataLine {
        tag,
        role,
        start,
        end,
        bytes,
        bps,
        rest: rest.trim(),
    })
}

/// Where the first of some words stands in a line.
pub(super) fn first_of(line: &str, words: &[&str]) -> Option<usize> {
    words.iter().filter_map(|words| line.find(words)).min()
}

/// Takes a number and its unit.
pub(super) fn figure(rest: &mut &str, unit: fn(&str) -> Option<f64>) -> Option<Rounded> {
    let number = Rounded::parse(word(rest)?)?;
    Some(number.scaled(unit(word(rest)?)?))
}

/// Takes the next word.
pub(super) fn word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    *rest = after;
    (!word.is_empty()).then_some(word)
}

/// `0.008 ms  4/1529 (0.26%)`: jitter, lost and total; the percentage is left out.
pub(super) struct Loss {
    /// Seconds.
    pub(super) jitter: Option<Rounded>,
    /// `None` where the tool prints `Unknown`.
    pub(super) lost: Option<u64>,
    /// Highest sequence number, or number sent; `None` if it is negative.
    pub(super) total: Option<u64>,
    /// The share beside the counts is not theirs.
    is_misprinted: bool,
}

impl Loss {
    /// Sets what a line counted.
    pub(super) fn count(&self, row: &mut Row) {
        (row.lost, row.datagrams) = (self.lost, self.total);
        row.is_wrapped = self.total.is_none();
        row.is_misprinted = self.is_misprinted;
    }

    /// Takes the three figures, and what follows the percentage.
    pub(super) fn take(rest: &str) -> Option<(Self, &str)> {
        let (jitter, after) = rest.split_once(" ms")?;
        // nan and absurd values are no measurement.
        let jitter = Rounded::parse(jitter.trim()).map(|figure| figure.scaled(1e-3));
        let (loss, rest) = Self::without_jitter(after)?;
        Some((Self { jitter, ..loss }, rest))
    }

    /// Takes the two counts of a sum over streams, and what follows the percentage.
    pub(super) fn without_jitter(after: &str) -> Option<(Self, &str)> {
        let (lost, after) = after.split_once('/')?;
        let lost = match lost.trim() {
            "Unknown" => None,
            lost => Some(lost.parse::<i64>().ok()?),
        };
        let after = after.trim_start();
        let is_inside = |c: char| c.is_ascii_digit() || c == '-';
        let digits = after.find(|c| !is_inside(c)).unwrap_or(after.len());
        let total: i128 = after[..digits].parse().ok()?;
        let (share, rest) = match after[digits..].trim_start().strip_prefix('(') {
            Some(percent) => percent.split_once(')')?,
            // No share is printed of an unknown loss.
            None if lost.is_none() => ("", &after[digits..]),
            None => return None,
        };
        // Old tools count a late or repeated datagram as a loss taken back.
        let lost = lost.and_then(|lost| u64::try_from(lost).ok());
        let total = u64::try_from(total).ok();
        let figures = Self {
            jitter: None,
            lost,
            total,
            is_misprinted: lost
                .zip(total)
                .is_some_and(|(lost, total)| is_misprinted(lost, total, share)),
        };
        Some((figures, rest.trim()))
    }
}

/// Whether `share`, as in `33%`, cannot be that of lost among all datagrams.
fn is_misprinted(lost: u64, total: u64, share: &str) -> bool {
    /// Share by which the tools' own roundings may differ.
    const SLACK: f64 = 0.05;
    // A share with an exponent is too small or too large to tell anything; iperf 2.2.1 prints zero beside any counts.
    let printed = share.trim().strip_suffix('%').and_then(Rounded::parse);
    let Some(printed) = printed.filter(|share| total > 0 && share.value > 0.0) else {
        return false;
    };
    let percent = 100.0 * exact(lost) / exact(total);
    percent < printed.low - SLACK * percent || percent > printed.high + SLACK * percent
}

/// `local 192.168.0.10 port 55748 connected to 192.168.0.3 port 5201 …`
pub(super) fn connection(text: &str) -> Result<Option<Connection>, &'static str> {
    const WANTED: &str = "\"local A port p connected to B port q\"";
    let Some(mut rest) = text.strip_prefix("local ") else {
        return Ok(None);
    };
    let local = endpoint(&mut rest).ok_or(WANTED)?;
    let linked =
        word(&mut rest) == Some("connected") && matches!(word(&mut rest), Some("to" | "with"));
    if !linked {
        return Err(WANTED);
    }
    let remote = endpoint(&mut rest).ok_or(WANTED)?;
    Ok(Some(Connection { local, remote }))
}

fn endpoint(rest: &mut &str) -> Option<Endpoint> {
    let address = word(rest)?;
    // iperf2 writes the interface behind the address: 127.0.0.1%lo.
    let address = address.split('%').next().unwrap_or(address).to_owned();
    let port = (word(rest)? == "port").then(|| word(rest))??;
    Some(Endpoint {
        address,
        port: port.trim_end_matches(',').parse().ok()?,
    })
}

/// Names a test by its text: FNV-1a, 64 bits. Not meant against forgery.
///
/// Rules and empty lines count where words follow them: those behind a test's last words are of what comes next in the
/// log, so that a test has one name wherever it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// Of all lines up to the last one with words.
    named: u64,
    /// Of all lines.
    all: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        Self {
            named: BASIS,
            all: BASIS,
        }
    }
}

impl Fingerprint {
    /// The fingerprint of these lines.
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        lines.for_each(|line| all.add(line));
        all
    }

    /// Takes one more line; white space around it does not count.
    pub(super) fn add(&mut self, line: &str) {
        for byte in line.trim().bytes().chain([b'\n']) {
            self.all = (self.all ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if line.contains(char::is_alphanumeric) {
            self.named = self.all;
        }
    }

    /// Takes one more line that counts only where others follow: what stands behind a test's last figures may be of
    /// anything.
    pub(super) fn add_between(&mut self, line: &str) {
        let named = self.named;
        self.add(line);
        self.named = named;
    }

    /// The name.
    pub(super) const fn get(self) -> u64 {
        self.named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_behind_any_prefix() {
        for prefix in ["", "Sat Nov 21 05:57:28 2026 ", "title:  ", "[2026-11-21] "] {
            let line = format!(
                "{prefix}[  5]   0.00-1.02   sec  15.1 MBytes   124 Mbits/sec    0    148 KBytes"
            );
            let Kind::Data(data) = kind(&line) else {
                panic!("{line}");
            };
            assert_eq!(data.tag, "5");
            assert!(data.end.interval().contains(1.02));
            assert_eq!(data.rest, "0    148 KBytes");
        }
    }

    #[test]
    fn a_damaged_figure_is_told_from_other_text() {
        assert!(matches!(
            kind("[  5]   0.00-1.02   sec  15.1 MBy"),
            Kind::Damaged(_)
        ));
        assert!(matches!(
            kind("[  5]   1.00-0.02   sec  15.1 MBytes 1 bits/sec"),
            Kind::Damaged(_)
        ));
        let Kind::Tagged { rest, .. } =
            kind("[  1] 0.00-3.00 sec  1 datagrams received out-of-order")
        else {
            panic!("no tag");
        };
        assert!(remark(rest).unwrap().starts_with("1 datagram arrived"));
        assert!(matches!(kind("[ ID] Interval"), Kind::Other));
        assert!(matches!(
            kind("[  3] Sent 893 datagrams"),
            Kind::Tagged { .. }
        ));
    }

    #[test]
    fn losses_are_read_in_each_spelling() {
        for text in [
            "0.008 ms  4/1529 (0.26%)  sender",
            "0.008 ms    4/ 1529 (1e+02%) sender",
        ] {
            let (loss, rest) = Loss::take(text).unwrap();
            assert_eq!(
                (loss.lost, loss.total, rest),
                (Some(4), Some(1529), "sender")
            );
        }
        assert_eq!(Loss::take("-nan ms  -3/7 (0%)").unwrap().0.lost, None);
        assert_eq!(Loss::take("1.0 ms  Unknown/7").unwrap().0.lost, None);
        assert!(Loss::take("0.008 ms  4/15").is_none(), "cut in the count");
        assert!(Loss::take("0.008 ms  4/1529 (0.2").is_none());
    }
}
