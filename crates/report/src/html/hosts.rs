//! Facts of the hosts, and the configuration that repeats the run.

use crate::figures::{UNKNOWN, float, nanos, rate};
use crate::page::heading;
use linerate_model::run::{Host, Run, WallClockOffset};
use linerate_model::{BitRate, ByteCount};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A table of facts, one column for each host.
pub(super) fn facts(hosts: &[Host], level: u8) -> Markup {
    let all_facts: Vec<_> = hosts.iter().map(|host| host.facts.entries()).collect();
    let keys: BTreeSet<&String> = all_facts.iter().flat_map(BTreeMap::keys).collect();
    let row = |key: &String| {
        let of = |facts: &BTreeMap<String, Value>| {
            facts
                .get(key)
                .map_or_else(|| UNKNOWN.to_owned(), |v| shown(key, v))
        };
        let values = all_facts.iter().map(of).collect();
        (key.replace(['-', '_'], " "), values)
    };
    let mut rows: Vec<_> = keys.into_iter().map(row).collect();
    if hosts.iter().any(|host| host.wall_clock.is_some()) {
        let compared = |host: &Host| host.wall_clock.map_or_else(|| UNKNOWN.to_owned(), offset);
        rows.push((
            "wall clock, ahead of this run's".to_owned(),
            hosts.iter().map(compared).collect(),
        ));
    }
    if rows.is_empty() {
        rows.push(("all".to_owned(), vec![UNKNOWN.to_owned(); hosts.len()]));
    }
    html! {
        (heading(level, None, "Hosts"))
        @if hosts.is_empty() {
            p { "Facts of the hosts: " (UNKNOWN) "." }
        } @else {
            (named_values("Facts of the hosts", "Fact", hosts.iter().map(name), &rows))
        }
    }
}

/// A name and its values in each row.
fn named_values(
    title: &str,
    of: &str,
    heads: impl Iterator<Item = String>,
    rows: &[(String, Vec<String>)],
) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label=(title) {
            table.facts {
                thead { tr { th scope="col" { (of) } @for head in heads { th scope="col" { (head) } } } }
                tbody {
                    @for (name, values) in rows {
                        tr { th scope="row" { (name) } @for value in values { td { (value) } } }
                    }
                }
            }
        }
    }
}

/// `-40 s ± 1.2 ms`.
fn offset(clock: WallClockOffset) -> String {
    let WallClockOffset {
        offset_ns,
        error_ns,
    } = clock;
    let [size, error] = [offset_ns.unsigned_abs(), error_ns].map(|time| nanos(float(time)));
    let sign = if offset_ns < 0 { "-" } else { "" };
    format!("{sign}{size} ± {error}")
}

fn name(host: &Host) -> String {
    match &host.name {
        Some(name) => format!("{}: {name}", host.role.as_str()),
        None => host.role.as_str().to_owned(),
    }
}

/// A fact in words; a key's unit suffix chooses the unit.
pub(super) fn shown(key: &str, value: &Value) -> String {
    match value {
        Value::Null => UNKNOWN.to_owned(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => match number.as_u64() {
            Some(bytes) if key.ends_with("_bytes") => size(bytes),
            Some(hz) if key.ends_with("_hz") => format!("{:.3} MHz", float(hz) / 1e6),
            Some(bps) if key.ends_with("_bps") => rate(BitRate::from_bps(bps)),
            _ => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let each: Vec<_> = items.iter().map(|item| shown(key, item)).collect();
            each.join(", ")
        }
        Value::Object(entries) => {
            let each = entries.iter().map(|(k, v)| format!("{k}: {}", shown(k, v)));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

/// A small size that is no whole number of KiB (an MTU) as engineers say it: `1500 B`.
fn size(bytes: u64) -> String {
    const MAX_PLAIN_BYTES: u64 = 10 * 1024;
    if bytes < MAX_PLAIN_BYTES && !bytes.is_multiple_of(1024) {
        return format!("{bytes} B");
    }
    crate::figures::bytes(ByteCount::new(bytes))
}

/// The command line that repeats the run, and everything that was set.
pub(super) fn configuration(run: &Run, level: u8) -> Markup {
    let settings = run.config.settings().into_iter();
    let settings: Vec<_> = settings.map(|(name, value)| (name, vec![value])).collect();
    html! {
        (heading(level, None, "Configuration"))
        @match &run.config.command {
            Some(command) => div.command {
                code { (command) }
                button type="button" data-does="copy" aria-label="Copy the command line" { "Copy" }
            },
            None => p { "The command line that repeats this run: " (UNKNOWN) "." },
        }
        @if let Some(source) = run.source.as_ref().filter(|source| source.files.len() > 1) {
            details {
                summary { "Files it was read from (" (source.files.len()) ")" }
                ul { @for file in &source.files { li { code { (file) } } } }
            }
        }
        @if !settings.is_empty() {
            details {
                summary { "Everything that was set (" (settings.len()) ")" }
                (named_values("Everything that was set", "Setting", std::iter::once("Value".to_owned()), &settings))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::HostRole;
    use serde_json::json;

    #[test]
    fn the_clock_of_a_host_is_a_row_of_its_facts() {
        let clock = WallClockOffset {
            offset_ns: -40_000_000_000,
            error_ns: 1_200_000,
        };
        let known = Host {
            wall_clock: Some(clock),
            ..Host::new(HostRole::Server)
        };
        let both = [Host::new(HostRole::Client), known];
        let page = facts(&both, 2).into_string();
        assert!(
            page.contains("wall clock") && page.contains("-40 s ± 1.2 ms"),
            "{page}"
        );
        assert!(page.contains(UNKNOWN), "{page}");
        assert!(!facts(&both[..1], 2).into_string().contains("wall clock"));
    }

    #[test]
    fn a_fact_has_the_unit_that_its_key_names() {
        for (key, value, words) in [
            ("mtu_bytes", json!(1500), "1500 B"),
            ("mtu_bytes", json!(9000), "9000 B"),
            ("memory_bytes", json!(25_276_514_304_u64), "23.54 GiB"),
            ("tsc_hz", json!(2_445_431_971_u64), "2445.432 MHz"),
            ("link_speed_bps", json!(1_000_000_000), "1 Gbit/s"),
            ("net.ipv4.tcp_ecn", json!(2), "2"),
        ] {
            assert_eq!(shown(key, &value), words, "{key}");
        }
    }
}
