//! Figures alone, without banner and headings (`-P 0`): what they are, the command line tells.

use super::{Command, Kind, Output, Rounded};
use linerate_model::spec::Transport;

/// The kind of the test of a command line with `-P 0`, after which come figures alone, without banner and headings.
pub(super) fn bare(line: &str) -> Option<&'static str> {
    const KINDS: &[(&str, &str)] = &[
        ("TCP_STREAM", "TCP STREAM"),
        ("TCP_MAERTS", "TCP MAERTS"),
        ("UDP_STREAM", "UDP UNIDIRECTIONAL SEND"),
        ("TCP_RR", "TCP REQUEST/RESPONSE"),
        ("UDP_RR", "UDP REQUEST/RESPONSE"),
        ("TCP_CRR", "TCP CONNECT/REQUEST/RESPONSE"),
    ];
    let command = Command::find(line.trim_start_matches("### "), &["netperf"])?;
    let (own, of_test) = command
        .line
        .split_once(" -- ")
        .unwrap_or((&command.line, ""));
    let own = Command {
        host: None,
        line: own.to_owned(),
    };
    // Keys and columns have their names with them; another unit is printed nowhere.
    let is_named = ["-k", "-o", "-O"].iter().any(|keys| of_test.contains(keys));
    if own.value("-P", &[]) != Some("0") || is_named || own.value("-f", &[]).is_some() {
        return None;
    }
    let kind = own.value("-t", &[]).unwrap_or("TCP_STREAM");
    let known = KINDS.iter().find(|(name, _)| *name == kind);
    known.map(|(_, kind)| *kind)
}

impl Output {
    /// The kind of the next test, if this one has all its figures, without headings, and `line` is of another one.
    pub(super) fn bare_before(&self, line: &str) -> Option<&'static str> {
        // Only of datagrams a second line may be as long as the first one.
        let lines = match (self.kind, self.test.transport) {
            (Kind::Stream, Transport::Udp) => 2,
            _ => 1,
        };
        let words: Vec<_> = line.split_whitespace().collect();
        let is_figures =
            words.len() >= 5 && words.iter().all(|word| Rounded::parse(word).is_some());
        self.bare.filter(|_| self.rows.len() >= lines && is_figures)
    }
}
