//! Which program wrote a line, where a logger names it before each.

use super::super::line::Fingerprint;
use std::net::IpAddr;

/// A program whose lines are in a log among those of others: a container, a unit, a process, a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer(u64);

impl Writer {
    /// The one that `prefix` names, within the text of the one that an outer prefix names.
    pub(super) fn of(outer: Option<Self>, prefix: &str) -> Option<Self> {
        let mut names = names(prefix).peekable();
        names.peek()?;
        let mut all = Fingerprint::default();
        if let Some(Self(outer)) = outer {
            all.add(&format!("{outer:x}"));
        }
        names.for_each(|name| all.add(name));
        Some(Self(all.get()))
    }
}

/// The words of a prefix but times, which differ from line to line.
fn names(prefix: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "[](){}<>|\"'=".contains(c);
    prefix
        .split(is_between)
        .map(|word| word.trim_matches([':', ',', '.']))
        .filter(|word| word.contains(char::is_alphanumeric) && !is_time(word))
}

/// `2026-11-26T10:00:00.1Z`, `10:00:00`, `12/Nov/2026:10`, `0.345`, `1714567890123`; no `172.18.0.3`, no `2211`.
fn is_time(word: &str) -> bool {
    /// Seconds since 1970 have ten digits; process ids have seven at most.
    const SECONDS_DIGITS: usize = 10;
    let is_digit = |c: char| c.is_ascii_digit();
    if !word.starts_with(is_digit) || word.parse::<IpAddr>().is_ok() {
        return false;
    }
    word.contains(['-', ':', '/', '.', ',']) || word.len() >= SECONDS_DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        Writer::of(None, one) == Writer::of(None, other)
    }

    #[test]
    fn times_name_nobody() {
        for [one, other] in [
            [
                "2026-11-26T10:00:00+0000 h iperf3[12]:",
                "2026-11-26T10:00:59+0000 h iperf3[12]:",
            ],
            [
                "Nov 26 10:00:00 h iperf3[12]:",
                "Nov 26 11:01:07 h iperf3[12]:",
            ],
            ["client-1  |", "client-1 |"],
            ["[   12.345] a:", "[ 7.1] a:"],
            ["a 1714567890123 ", "a 1714567890999 "],
            [
                "a [26/Nov/2026:10:00:00 +0000]",
                "a [27/Nov/2026:10:00:00 +0000]",
            ],
        ] {
            assert!(same(one, other), "{one}");
        }
        assert_eq!(Writer::of(None, "2026-11-26T10:00:00Z "), None);
        assert_eq!(Writer::of(None, ""), None);
    }

    #[test]
    fn names_processes_and_addresses_name_a_writer() {
        for [one, other] in [
            ["client-1  |", "server-1  |"],
            ["[pod/a-7c9f/iperf]", "[pod/b-x2/iperf]"],
            ["h iperf3[12]:", "h iperf3[13]:"],
            ["172.18.0.3:", "172.18.0.4:"],
            ["10.0.0.1\t", "10.0.0.2\t"],
        ] {
            assert!(!same(one, other), "{one}");
        }
        let inner = Writer::of(Writer::of(None, "a |"), "x:");
        assert_ne!(inner, Writer::of(Writer::of(None, "b |"), "x:"));
    }
}
