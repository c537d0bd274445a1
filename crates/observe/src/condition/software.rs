//! Programs and kernel settings that affect measurements.

use super::{known, line};
use crate::host_view::HostView;
use linerate_model::condition::{ReadResult, Tracing};
use linerate_sys::netns::is_fully_privileged;
use std::collections::BTreeMap;

/// Settings that checks use.
const SETTINGS: &[&str] = &[
    "kernel.kptr_restrict",
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// Maximum processes inspected.
const MAX_PROCESSES: usize = 100_000;

pub(super) fn sysctl(host: &HostView<'_>) -> BTreeMap<String, ReadResult<String>> {
    let read = |name: &&str| {
        let path = format!("proc/sys/{}", name.replace('.', "/"));
        let value = line(host, &path).map(|text| {
            let words: Vec<_> = text.split_whitespace().collect();
            words.join(" ")
        });
        ((*name).to_owned(), value)
    };
    SETTINGS.iter().map(read).collect()
}

/// Whether irqbalance runs. A container shows only its own processes.
pub(super) fn irqbalance(host: &HostView<'_>) -> ReadResult<bool> {
    let names = host.names("proc");
    let processes: Vec<_> = names
        .iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .take(MAX_PROCESSES)
        .collect();
    if processes.is_empty() {
        return Err("/proc shows no process".to_owned());
    }
    let is_it = |process: &&String| {
        let name = host.read(&format!("proc/{process}/comm"));
        name.is_ok_and(|name| name.trim() == "irqbalance")
    };
    Ok(processes.iter().any(is_it))
}

pub(super) fn tuned(host: &HostView<'_>) -> ReadResult<Option<String>> {
    match host.read("etc/tuned/active_profile") {
        Ok(text) => Ok(crate::text::tidy(&text)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn tracing(host: &HostView<'_>) -> ReadResult<Tracing> {
    known(host.read("proc/sys/kernel/osrelease"))?;
    let tracers = [
        "sys/kernel/tracing/current_tracer",
        "sys/kernel/debug/tracing/current_tracer",
    ];
    let tracer = tracers.iter().find_map(|path| line(host, path).ok());
    Ok(Tracing {
        has_types: host.files().has("sys/kernel/btf/vmlinux"),
        tracer: tracer.filter(|name| name != "nop"),
        is_privileged: host.is_live() && is_fully_privileged(),
    })
}
