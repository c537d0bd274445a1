//! Kernel settings that determine network performance, as facts.
//!
//! Many are per network namespace; `/proc/sys/net` shows the calling thread's. Each keeps the kernel's own name and
//! unit: `net.core.rmem_max` is in bytes.

use super::Collector;
use crate::text::tidy;
use serde_json::Value;

/// The settings, by their `sysctl` name.
const SETTINGS: &[&str] = &[
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
];

pub(super) static COLLECTOR: Collector = Collector {
    facts: |host, into| {
        for name in SETTINGS {
            let path = format!("proc/sys/{}", name.replace('.', "/"));
            let found = host.read(&path).ok().and_then(|text| value(&text));
            if let Some(value) = found {
                into.insert(*name, value);
            }
        }
    },
    ..Collector::new(
        "sysctl",
        "Kernel settings of buffers, queues and TCP, in this network namespace.",
    )
};

/// A number if the text is one, else its words separated by single spaces.
fn value(text: &str) -> Option<Value> {
    let text = tidy(text)?;
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    let words: Vec<_> = text.split_whitespace().collect();
    Some(words.join(" ").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_numbers_and_triples_stay_text() {
        assert_eq!(value("212992\n"), Some(Value::from(212_992)));
        assert_eq!(
            value("4096\t131072\t6291456\n"),
            Some(Value::from("4096 131072 6291456"))
        );
        assert_eq!(value("cubic\n"), Some(Value::from("cubic")));
        assert_eq!(value("\n"), None);
    }

    #[test]
    fn settings_are_sorted_and_unique() {
        assert!(SETTINGS.is_sorted_by(|a, b| a < b));
    }
}
