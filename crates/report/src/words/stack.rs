//! What a stack under test said of itself, in words.

use linerate_model::ByteCount;
use linerate_model::stack::{StackReport, StackTraffic};

/// Which stack it was, what crossed it, what it dropped, and what it took of memory.
pub(crate) fn said(report: &StackReport) -> impl Iterator<Item = String> {
    let known = [traffic(report), losses(report), memory(report)];
    std::iter::once(name(report)).chain(known.into_iter().flatten())
}

/// The stack, its version, and what was asked of it: `lwip 2.1.3 (buffers=base, opt=O2)`.
fn name(report: &StackReport) -> String {
    let mut name = report.stack.clone();
    if let Some(version) = &report.counts.version {
        name = format!("{name} {version}");
    }
    let options = report.options.iter();
    let options: Vec<_> = options
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !options.is_empty() {
        name = format!("{name} ({})", options.join(", "));
    }
    name
}

/// What crossed the border of the stack and its program; `None` if nothing did.
fn traffic(report: &StackReport) -> Option<String> {
    let both = [("TCP", &report.counts.tcp), ("UDP", &report.counts.udp)];
    let said: Vec<_> = both
        .into_iter()
        .filter_map(|(transport, traffic)| Some(one_transport(transport, traffic.as_ref()?)))
        .flatten()
        .collect();
    (!said.is_empty()).then(|| format!("its own counts: {}", said.join(", ")))
}

fn one_transport(transport: &str, traffic: &StackTraffic) -> Vec<String> {
    let ways = [
        ("received", traffic.received_bytes, traffic.received_packets),
        ("sent", traffic.sent_bytes, traffic.sent_packets),
    ];
    let used = ways.into_iter().filter(|(_, bytes, _)| bytes.get() > 0);
    used.map(|(done, bytes, packets)| match packets {
        Some(packets) => format!(
            "{} B in {} {transport} datagrams {done}",
            bytes.get(),
            packets.get()
        ),
        None => format!("{} B of {transport} {done}", bytes.get()),
    })
    .collect()
}

/// Counters of the stack that tell of a loss, by its own names.
const LOSSES: [&str; 9] = [
    "drop",
    "memerr",
    "chkerr",
    "rterr",
    "InErrors",
    "RcvbufErrors",
    "InDiscards",
    "OutDiscards",
    "RetransSegs",
];

/// What it dropped or sent again, if anything.
fn losses(report: &StackReport) -> Option<String> {
    let layers = report.counts.counters.iter();
    let all = layers.flat_map(|(layer, counters)| {
        let found = move |name: &'static str| Some((layer, name, *counters.get(name)?));
        LOSSES.into_iter().filter_map(found)
    });
    let said: Vec<_> = all
        .filter(|(.., count)| *count > 0)
        .map(|(layer, name, count)| format!("{layer} {name} {count}"))
        .collect();
    (!said.is_empty()).then(|| format!("its counters of loss: {}", said.join(", ")))
}

/// The memory of its pools: how much was in use at most, of how much, and requests that found none.
fn memory(report: &StackReport) -> Option<String> {
    let pools = &report.counts.pools;
    if pools.is_empty() {
        return None;
    }
    let sum = |part: fn(&linerate_model::stack::StackPool) -> ByteCount| {
        ByteCount::new(pools.iter().map(|pool| part(pool).get()).sum())
    };
    let failures: Vec<_> = pools
        .iter()
        .filter(|pool| pool.failures > 0)
        .map(|pool| format!("{} {} times", pool.name, pool.failures))
        .collect();
    let failed = if failures.is_empty() {
        String::new()
    } else {
        format!("; none was free: {}", failures.join(", "))
    };
    Some(format!(
        "its memory: at most {} in use of {} in pools{failed}",
        sum(linerate_model::stack::StackPool::peak_bytes),
        sum(linerate_model::stack::StackPool::capacity_bytes)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::PacketCount;
    use linerate_model::stack::{StackCounts, StackPool};
    use std::collections::BTreeMap;

    fn report() -> StackReport {
        let counters = |name: &str, count| BTreeMap::from([(name.to_owned(), count)]);
        StackReport {
            stack: "lwip".to_owned(),
            options: BTreeMap::from([("opt".to_owned(), "O2".to_owned())]),
            usual: BTreeMap::new(),
            counts: StackCounts {
                version: Some("2.1.3".to_owned()),
                tcp: Some(StackTraffic {
                    received_bytes: ByteCount::new(1000),
                    ..StackTraffic::default()
                }),
                udp: Some(StackTraffic {
                    sent_bytes: ByteCount::new(500),
                    sent_packets: Some(PacketCount::new(5)),
                    ..StackTraffic::default()
                }),
                counters: BTreeMap::from([
                    ("link".to_owned(), counters("memerr", 3)),
                    ("tcp".to_owned(), counters("drop", 0)),
                ]),
                pools: vec![StackPool {
                    name: "PBUF_POOL".to_owned(),
                    peak: 2,
                    capacity: 4,
                    unit_bytes: ByteCount::new(1024),
                    failures: 3,
                }],
                ..StackCounts::default()
            },
        }
    }

    #[test]
    fn a_report_is_told_in_four_sentences() {
        let report = report();
        assert_eq!(name(&report), "lwip 2.1.3 (opt=O2)");
        assert_eq!(
            traffic(&report).unwrap(),
            "its own counts: 1000 B of TCP received, 500 B in 5 UDP datagrams sent"
        );
        assert_eq!(
            losses(&report).unwrap(),
            "its counters of loss: link memerr 3"
        );
        assert_eq!(
            memory(&report).unwrap(),
            "its memory: at most 2.00 KiB in use of 4.00 KiB in pools; none was free: PBUF_POOL 3 times"
        );
    }

    #[test]
    fn what_was_not_counted_is_not_told() {
        let mut report = report();
        report.counts = StackCounts::default();
        assert_eq!(traffic(&report), None);
        assert_eq!(losses(&report), None);
        assert_eq!(memory(&report), None);
    }
}
