//! What every collector must do, walked over [`ALL`].

use super::ALL;
use crate::host_view::{HostView, Scope};
use crate::observer::Observer;
use linerate_model::sample::Snapshot;
use linerate_model::signals::{self, SignalKind};
use linerate_model::{Clock as _, MonoInstant};
use linerate_sys::clock::MonoClock;
use linerate_sys::host_files::HostFiles;
use std::collections::BTreeSet;
use std::path::Path;

fn live() -> Scope {
    Scope::live(Some("lo".to_owned()))
}

fn fake(root: &Path) -> Scope {
    Scope {
        interface: Some("lo".to_owned()),
        beside: Vec::new(),
        root: HostFiles::new(root),
    }
}

/// `cpu.12.user_ns` is declared as `cpu.N.user_ns`.
fn declared_form(signal: &str) -> String {
    let mut parts: Vec<_> = signal.split('.').collect();
    if let [_, core, _] = parts.as_mut_slice()
        && core.parse::<u32>().is_ok()
    {
        *core = "N";
    }
    parts.join(".")
}

fn is_known(signal: &str) -> bool {
    let per_core = signal
        .strip_prefix("cpu.N.")
        .map(|part| format!("cpu.{part}"));
    let name = per_core.as_deref().unwrap_or(signal);
    signals::ALL.iter().any(|def| def.name == name)
}

fn is_counter(signal: &str) -> bool {
    !signals::ALL
        .iter()
        .any(|def| def.name == signal && def.kind == SignalKind::Gauge)
}

#[test]
fn ids_are_unique_and_kebab_case() {
    let ids: BTreeSet<_> = ALL.iter().map(|collector| collector.id).collect();
    assert_eq!(ids.len(), ALL.len());
    for id in ids {
        assert!(
            id.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
            "{id}"
        );
    }
}

#[test]
fn summaries_are_one_sentence() {
    for collector in ALL {
        let summary = collector.summary;
        assert!(summary.ends_with('.'), "{summary}");
        assert_eq!(summary.matches(". ").count(), 0, "{summary}");
    }
}

#[test]
fn every_signal_is_known_and_read_by_one_collector() {
    let mut seen = BTreeSet::new();
    for signal in ALL.iter().flat_map(|collector| collector.signals) {
        assert!(is_known(signal), "{signal} is not in model::signals");
        assert!(seen.insert(*signal), "{signal} is listed twice");
    }
    for def in signals::ALL {
        assert!(seen.contains(def.name), "nobody reads {}", def.name);
    }
}

#[test]
fn each_collector_reads_exactly_what_it_lists() {
    let scope = live();
    let host = HostView::new(&scope);
    for collector in ALL {
        let mut snapshot = Snapshot::default();
        (collector.read)(&host, &mut snapshot);
        let signals = snapshot.values.keys().chain(snapshot.missing.keys());
        let signals: BTreeSet<_> = signals.map(|signal| declared_form(signal)).collect();
        let listed: BTreeSet<_> = collector.signals.iter().map(|s| (*s).to_owned()).collect();
        assert_eq!(signals, listed, "{}", collector.id);
    }
}

#[test]
fn without_any_file_each_signal_is_missing_with_a_reason() {
    let root = tempfile::tempdir().unwrap();
    let observer = Observer::new(fake(root.path()));
    let snapshot = observer.snapshot(MonoInstant::from_nanos(5));
    assert_eq!(snapshot.at_ns, 5);
    assert_eq!(snapshot.values.len(), 0);
    for signal in ALL.iter().flat_map(|collector| collector.signals) {
        let reason = snapshot.missing.get(*signal);
        assert!(reason.is_some_and(|reason| !reason.is_empty()), "{signal}");
    }
    assert_eq!(observer.facts().kernel_release, None);
}

#[test]
fn without_an_interface_its_signals_say_so() {
    let snapshot = Observer::new(Scope::live(None)).snapshot(MonoClock.now());
    for signal in [signals::NIC_RX_PACKETS, signals::QDISC_DROPPED] {
        assert!(snapshot.missing[signal].contains("not known"), "{signal}");
    }
}

#[test]
fn this_host_has_the_signals_that_every_linux_has() {
    let snapshot = Observer::new(live()).snapshot(MonoClock.now());
    for signal in [
        signals::CPU_IDLE_NS,
        signals::NIC_RX_PACKETS,
        signals::QDISC_DROPPED,
        signals::SOFTNET_PROCESSED,
        signals::TCP_RETRANS_SEGMENTS,
        signals::UDP_RCVBUF_ERRORS,
    ] {
        let missing = snapshot.missing.get(signal);
        assert!(
            snapshot.values.contains_key(signal),
            "{signal}: {missing:?}"
        );
    }
    let reason = &snapshot.missing[signals::LINK_SPEED_BPS];
    assert!(reason.contains("loopback"), "{reason}");
}

#[test]
fn counters_of_the_live_host_do_not_go_backwards() {
    let observer = Observer::new(live());
    let mut before = observer.snapshot(MonoClock.now());
    for _ in 0..20 {
        let after = observer.snapshot(MonoClock.now());
        for (signal, value) in before
            .values
            .iter()
            .filter(|(signal, _)| is_counter(signal))
        {
            let later = after.values.get(signal);
            assert!(later >= Some(value), "{signal}: {value} then {later:?}");
        }
        before = after;
    }
}

#[test]
fn facts_tell_kernel_cores_and_memory() {
    let facts = Observer::new(live()).facts().entries();
    for key in [
        "architecture",
        "cores_online",
        "hostname",
        "interface",
        "kernel_release",
        "memory_bytes",
        "mtu_bytes",
        "net.ipv4.tcp_rmem",
    ] {
        assert!(facts.contains_key(key), "{key}: {facts:?}");
    }
}

/// Printed, not judged: run with `--nocapture`.
#[test]
fn the_cost_of_each_collector_is_measured() {
    const ROUNDS: u32 = 50;
    let scope = live();
    for collector in ALL {
        let start = MonoClock.now();
        for _ in 0..ROUNDS {
            let mut snapshot = Snapshot::default();
            (collector.read)(&HostView::new(&scope), &mut snapshot);
        }
        let cost = MonoClock.now().saturating_since(start) / ROUNDS;
        println!("{:>10}: {cost:?}", collector.id);
    }
    let observer = Observer::new(scope);
    let start = MonoClock.now();
    for _ in 0..ROUNDS {
        observer.snapshot(MonoClock.now());
    }
    let cost = MonoClock.now().saturating_since(start) / ROUNDS;
    println!("  snapshot: {cost:?}");
}
