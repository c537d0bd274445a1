//! `/proc/net/snmp`, `/proc/net/netstat` and `/proc/net/snmp6`: the counters of IP, UDP and TCP.
//!
//! The first two hold pairs of lines, names and values; columns were added over the years and
//! differ from kernel to kernel, so each is found by its name. The third holds one pair per line
//! and does not exist where IPv6 is switched off. All three are per network namespace.
//!
//! # References
//! - RFC 2011, RFC 2012, RFC 2013 (IP, TCP and UDP MIB)

use crate::collectors::record;
use crate::error::ReadError;
use crate::host_view::HostView;
use crate::text::whole_lines;
use linerate_model::sample::Snapshot;
use std::rc::Rc;

pub(crate) const SNMP: &str = "proc/thread-self/net/snmp";
pub(crate) const NETSTAT: &str = "proc/thread-self/net/netstat";
const SNMP6: &str = "proc/thread-self/net/snmp6";

/// A signal and the columns whose sum it is.
pub(crate) struct Columns {
    /// The signal's name.
    pub(crate) signal: &'static str,
    /// Columns of the file's group.
    pub(crate) v4: &'static [&'static str],
    /// IPv6's column, where it is counted separately (`snmp6`).
    pub(crate) v6: Option<&'static str>,
}

impl Columns {
    /// Sum of `v4`, which include IPv6 or are independent of it.
    pub(crate) const fn new(signal: &'static str, v4: &'static [&'static str]) -> Self {
        Self {
            signal,
            v4,
            v6: None,
        }
    }

    /// Column `v4`, plus `v6` where IPv6 exists.
    pub(crate) const fn both(
        signal: &'static str,
        v4: &'static [&'static str; 1],
        v6: &'static str,
    ) -> Self {
        Self {
            signal,
            v4,
            v6: Some(v6),
        }
    }
}

/// The signals of `columns`, of which there are `N`.
pub(crate) const fn signals<const N: usize>(columns: &[Columns; N]) -> [&'static str; N] {
    let mut signals = [""; N];
    let mut at = 0;
    while at < N {
        signals[at] = columns[at].signal;
        at += 1;
    }
    signals
}

/// Reads `columns` of group `group` (`Udp`) in `file` and adds IPv6's (group `Udp6`).
pub(crate) fn read(
    host: &HostView<'_>,
    file: &'static str,
    group: &str,
    columns: &[Columns],
    into: &mut Snapshot,
) {
    let text = host.text(file);
    let v4 = Group::from_text(&text, |text| pair_of_lines(text, group));
    let text6 = host.text(SNMP6);
    let v6 = Group::from_text(&text6, |text| lines_of_pairs(text, &format!("{group}6")));
    for wanted in columns {
        let value = v4.sum(file, wanted.v4).and_then(|sum| {
            let share = wanted.v6.map_or(Ok(0), |column| v6.optional(column))?;
            Ok(sum.saturating_add(share))
        });
        record(into, wanted.signal, value);
    }
}

/// Counters of one group, or why they could not be read.
struct Group<'a>(Result<Vec<(&'a str, &'a str)>, &'a ReadError>);

impl<'a> Group<'a> {
    fn from_text(
        text: &'a Result<Rc<str>, ReadError>,
        parse: impl FnOnce(&'a str) -> Vec<(&'a str, &'a str)>,
    ) -> Self {
        Self(text.as_ref().map(|text| parse(text)))
    }

    fn value(&self, file: &str, column: &str) -> Result<u64, ReadError> {
        let pairs = self.0.as_ref().map_err(|error| (*error).clone())?;
        let mut found = pairs.iter().filter(|(name, _)| *name == column);
        let value = found.next().and_then(|(_, value)| value.parse().ok());
        value.ok_or_else(|| ReadError::no_field(file, column))
    }

    fn sum(&self, file: &str, columns: &[&str]) -> Result<u64, ReadError> {
        columns.iter().try_fold(0_u64, |sum, column| {
            Ok(sum.saturating_add(self.value(file, column)?))
        })
    }

    /// IPv6's counter: zero where IPv6 does not exist.
    fn optional(&self, column: &str) -> Result<u64, ReadError> {
        match self.0 {
            Err(error) if error.is_absent() => Ok(0),
            _ => self.value(SNMP6, column),
        }
    }
}

/// The names in the first line of `group` with the values in its second.
fn pair_of_lines<'a>(text: &'a str, group: &str) -> Vec<(&'a str, &'a str)> {
    let mut lines =
        whole_lines(text).filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let names = lines.next().unwrap_or_default().split_ascii_whitespace();
    let values = lines.next().unwrap_or_default().split_ascii_whitespace();
    names.zip(values).collect()
}

/// Name and value of each line that starts with `group`.
fn lines_of_pairs<'a>(text: &'a str, group: &str) -> Vec<(&'a str, &'a str)> {
    whole_lines(text)
        .filter(|line| line.starts_with(group))
        .filter_map(|line| line.split_once(char::is_whitespace))
        .map(|(name, value)| (name, value.trim()))
        .collect()
}

#[cfg(test)]
mod tests;
