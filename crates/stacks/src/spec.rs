//! A stack with its options: `lwip?buffers=base&opt=O2`.

use crate::all::ALL;
use crate::kind::StackKind;
use crate::options::{Options, read_options, write_options};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A stack and its options.
#[derive(Clone)]
pub struct StackSpec {
    pub(crate) kind: &'static StackKind,
    pub(crate) options: Options,
}

impl StackSpec {
    /// Address of its tests, in the syntax of a peer, for this IP address.
    pub fn peer(&self, address: IpAddr) -> String {
        (self.kind.peer)(&self.options, address)
    }

    /// The command that its options have run; `None` where linerate starts a program of its own.
    pub fn command(&self) -> Option<&str> {
        let words = self.options.get(self.kind.runs?)?;
        Some(words)
    }

    /// Adds one option.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, String> {
        let value = value.to_owned();
        if self.options.insert(name.to_owned(), value).is_some() {
            return Err(format!("{name} is given twice"));
        }
        (self.kind.check)(&self.options)?;
        Ok(self)
    }
}

impl FromStr for StackSpec {
    type Err = String;

    /// Parses `lwip` or `lwip?buffers=base&opt=O2`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (id, rest) = text.split_once('?').unwrap_or((text, ""));
        let found = ALL.iter().find(|kind| kind.id == id);
        let kind = *found.ok_or_else(|| {
            let known: Vec<_> = ALL.iter().map(|kind| kind.id).collect();
            format!("\"{id}\" is not a stack; known are {}", known.join(", "))
        })?;
        let options = read_options(rest)?;
        (kind.check)(&options).map_err(|why| format!("{id}: {why}"))?;
        Ok(Self { kind, options })
    }
}

impl fmt::Display for StackSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.id)?;
        if self.options.is_empty() {
            return Ok(());
        }
        write!(f, "?{}", write_options(&self.options))
    }
}

impl fmt::Debug for StackSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StackSpec({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<String, String> {
        text.parse().map(|spec: StackSpec| spec.to_string())
    }

    #[test]
    fn what_is_read_is_shown_with_its_options_in_order() {
        assert_eq!(shown("kernel").unwrap(), "kernel");
        assert_eq!(
            shown("lwip?tcp_wnd=5840&opt=O2&buffers=base").unwrap(),
            "lwip?buffers=base&opt=O2&tcp_wnd=5840"
        );
        let spec: StackSpec = "lwip?opt=O2".parse().unwrap();
        let spec = spec.with("buffers", "large-buffers").unwrap();
        assert_eq!(spec.to_string(), "lwip?buffers=large-buffers&opt=O2");
        assert!(spec.with("opt", "O0").unwrap_err().contains("twice"));
    }

    #[test]
    fn nonsense_says_what_would_be_right() {
        for (text, part) in [
            ("", "known are kernel, lwip"),
            ("bsd", "known are kernel, lwip"),
            ("lwip?opt", "NAME=VALUE"),
            ("lwip?opt=O9", "O0, Os, O2, O3"),
            ("lwip?api=netconn", "raw or socket"),
            ("smoltcp?api=raw", "not an option"),
            ("command", "run= is needed"),
            ("lwip?buffers=huge", "base or large-buffers"),
            ("lwip?tcp_wnd=big", "whole number"),
            ("lwip?no_sys=0", "server relies on"),
            ("lwip?tcp_wnd=1&tcp_wnd=2", "twice"),
            ("kernel?opt=O2", "sysctl"),
            ("kernel?net.core.rmem_max=1", "net.ipv4"),
        ] {
            let why = shown(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
