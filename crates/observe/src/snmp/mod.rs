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

pub(crate) const SNMP: &str = "proc/thread-self/net/snmp";
pub(crate) const NETSTAT: &str = "proc/thread-self/net/netstat";
const SNMP6: &str = "proc/thread-self/net/snmp6";

/// A signal and the columns whose sum it is.
pub(crate) struct Columns {
    /// The signal's name.
    pub(crate) signal: &'static str,
    /// Columns of the file's group.
    pub(crate) v4: &'static [&'static str],
    /// The same thing counted apart for IPv6 (`snmp6`).
    pub(crate) v6: Option<&'static str>,
}

/// Reads `columns` of group `group` (`Udp`) in `file` and adds IPv6's.
pub(crate) fn read(
    host: &HostView<'_>,
    (file, group): (&'static str, &str),
    columns: &[Columns],
    into: &mut Snapshot,
) {
    let text = host.text(file);
    let found = text.as_deref().map(|text| Group::find(text, group));
    for wanted in columns {
        let value = match &found {
            Ok(Some(found)) => found.sum(file, wanted.v4),
            Ok(None) => Err(ReadError::no_field(file, group)),
            Err(error) => Err((*error).clone()),
        };
        let value = value.and_then(|v4| Ok(v4.saturating_add(read6(host, wanted.v6)?)));
        record(into, wanted.signal, value);
    }
}

/// IPv6's share: zero where IPv6 does not exist.
fn read6(host: &HostView<'_>, name: Option<&'static str>) -> Result<u64, ReadError> {
    let Some(name) = name else { return Ok(0) };
    match host.text(SNMP6) {
        Ok(text) => pair(&text, name).ok_or_else(|| ReadError::no_field(SNMP6, name)),
        Err(error) if error.is_absent() => Ok(0),
        Err(error) => Err(error),
    }
}

/// The value beside `name` in a table of one pair per line.
fn pair(text: &str, name: &str) -> Option<u64> {
    whole_lines(text).find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next()? == name).then(|| words.next()?.parse().ok())?
    })
}

/// A line of names and the line of values below it.
struct Group<'a> {
    name: &'a str,
    names: &'a str,
    values: &'a str,
}

impl<'a> Group<'a> {
    fn find(text: &'a str, name: &'a str) -> Option<Self> {
        let mut lines = whole_lines(text).filter_map(|line| {
            let (group, rest) = line.split_once(':')?;
            (group == name).then_some(rest)
        });
        let (names, values) = (lines.next()?, lines.next()?);
        Some(Self {
            name,
            names,
            values,
        })
    }

    fn value(&self, column: &str) -> Option<u64> {
        let mut columns = self
            .names
            .split_ascii_whitespace()
            .zip(self.values.split_ascii_whitespace());
        columns.find(|(name, _)| *name == column)?.1.parse().ok()
    }

    fn sum(&self, file: &str, columns: &[&str]) -> Result<u64, ReadError> {
        columns.iter().try_fold(0_u64, |sum, column| {
            let value = self
                .value(column)
                .ok_or_else(|| ReadError::no_field(file, format!("{} {column}", self.name)))?;
            Ok(sum.saturating_add(value))
        })
    }
}

#[cfg(test)]
mod tests;
