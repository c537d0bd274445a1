//! The comment lines before a table: the command, the hosts, the settings.

use crate::import::line::Fingerprint;
use linerate_model::WallTime;
use linerate_model::facts::Facts;
use linerate_model::run::{DelayOf, Host, HostRole};
use linerate_model::spec::Transport;
use serde_json::Value;
use std::collections::BTreeMap;

/// More lines than any header has: those of two hosts have some eighty.
const MAX_PAIRS: usize = 1024;

/// The lines before a table.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Number of the first line, from 1.
    pub(super) line: usize,
    /// All lines.
    pub(super) text: Fingerprint,
    /// Keys and values in their order; a key may come again.
    pairs: Vec<(String, String)>,
}

impl Header {
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Takes `# key: value`, `# key=value`, and Onload's line about itself; leaves the rest.
    pub(super) fn line(&mut self, number: usize, line: &str) {
        let pair = match line.strip_prefix("# ") {
            Some(comment) => split(comment),
            None => line
                .split_once("]: Using ")
                .map(|(_, stack)| ("stack", stack)),
        };
        if let Some((key, value)) = pair {
            if self.pairs.is_empty() {
                self.line = number;
            }
            self.text.add(line);
            if self.pairs.len() < MAX_PAIRS {
                let pair = [key, value].map(|word| word.trim().to_owned());
                self.pairs.push(pair.into());
            }
        }
    }

    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, value)| value.as_str())
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.value("cmdline").unwrap_or_default().split_whitespace()
    }

    /// The value of `--key=value` or `--key value` on the command line.
    fn option(&self, key: &str) -> Option<&str> {
        let mut words = self.words();
        let found = words.find_map(|word| word.strip_prefix("--")?.strip_prefix(key))?;
        match found.strip_prefix('=') {
            Some(value) => Some(value),
            None if found.is_empty() => words.next(),
            None => None,
        }
    }

    pub(super) fn transport(&self) -> Option<Transport> {
        self.words().find_map(|word| match word {
            "tcp" => Some(Transport::Tcp),
            "udp" => Some(Transport::Udp),
            _ => None,
        })
    }

    pub(super) fn delay_of(&self) -> DelayOf {
        let whole = self.value("reporting") == Some("RTT") || self.words().any(|w| w == "--rtt");
        if whole {
            DelayOf::RoundTrip
        } else {
            DelayOf::HalfRoundTrip
        }
    }

    /// The size of a whole table's last line, where the command line lets one tell.
    pub(super) fn last_size(&self) -> Option<u64> {
        if let Some(sizes) = self.option("sizes") {
            return sizes.rsplit([',', '-']).next()?.parse().ok();
        }
        let limit = match self.option("maxmsg") {
            Some(typed) => typed.parse().ok()?,
            None => u64::MAX,
        };
        let default: &[u64] = match self.transport()? {
            Transport::Tcp => &[32_768, 65_536],
            // Around the payload that fits one Ethernet frame, then powers of two.
            Transport::Udp => &[1472, 1473, 2048, 4096, 8192, 16_384, 32_768],
        };
        let powers = (0..=10)
            .map(|power| 1 << power)
            .chain((11..15).map(|p| 1 << p));
        let powers =
            powers.filter(|size| self.transport() == Some(Transport::Tcp) || *size <= 1024);
        powers
            .chain(default.iter().copied())
            .filter(|size| *size <= limit)
            .max()
    }

    /// `Wed Dec 11 02:19:49 EST 2019`, for the zones whose abbreviation means one offset.
    pub(super) fn started(&self) -> Option<WallTime> {
        let words: Vec<_> = self.value("date")?.split_whitespace().collect();
        let [_, month, day, time, zone, year] = words[..] else {
            return None;
        };
        let offset = match zone {
            "UTC" | "GMT" => "+0000",
            "CET" => "+0100",
            "CEST" => "+0200",
            "EST" => "-0500",
            "EDT" => "-0400",
            "PST" => "-0800",
            "PDT" => "-0700",
            _ => return None,
        };
        let text = format!("{month} {day} {year} {time} {offset}");
        let at = jiff::Timestamp::strptime("%b %d %Y %H:%M:%S %z", text).ok()?;
        WallTime::from_unix(at.as_second())
    }

    /// The client, whose facts the header states, and the server as far as it is named.
    pub(super) fn hosts(&self) -> Vec<Host> {
        let (mut client, mut server) = (Settings::new(), Settings::new());
        for (key, value) in &self.pairs {
            if let Some(key) = key.strip_prefix("server ") {
                add(&mut server, key, value);
            } else if !matches!(
                key.as_str(),
                "cmdline" | "version" | "date" | "percentile" | "reporting"
            ) {
                add(&mut client, key, value);
            }
        }
        let uname = self.value("uname").unwrap_or_default();
        let address = self.words().last().filter(|word| {
            !word.starts_with('-') && !matches!(*word, "tcp" | "udp") && self.words().count() > 1
        });
        vec![
            Host {
                name: uname.split(' ').nth(1).map(str::to_owned),
                facts: facts(client),
                ..Host::new(HostRole::Client)
            },
            Host {
                name: address.map(str::to_owned),
                facts: facts(server),
                ..Host::new(HostRole::Server)
            },
        ]
    }
}

/// What a header says of a host, by key; a key may come again.
type Settings = BTreeMap<String, Vec<String>>;

/// Splits at the first `:` or `=`, whichever comes first.
fn split(comment: &str) -> Option<(&str, &str)> {
    let at = comment.find([':', '='])?;
    let key = comment[..at].trim();
    (!key.is_empty()).then(|| (key, &comment[at + 1..]))
}

fn add(settings: &mut Settings, key: &str, value: &str) {
    let key = key.replace([' ', '_'], "-").to_ascii_lowercase();
    // `cpu: model name : Intel…` repeats the key of /proc/cpuinfo.
    let value = match value.split_once(':') {
        Some((inner, rest)) if inner.trim() == "model name" => rest.trim(),
        _ => value,
    };
    settings.entry(key).or_default().push(value.to_owned());
}

/// A key that came once is a text, one that came again a list.
fn facts(settings: Settings) -> Facts {
    let value = |mut texts: Vec<String>| match texts.pop() {
        Some(text) if texts.is_empty() => Value::from(text),
        last => texts.into_iter().chain(last).collect(),
    };
    let known = settings.into_iter();
    known.map(|(key, texts)| (key, value(texts))).collect()
}
