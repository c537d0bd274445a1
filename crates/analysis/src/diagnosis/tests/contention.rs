//! Hosts that other programs fill.

use super::searches::search;
use super::{at_half, bytes, datagrams, lost, run};
use crate::diagnose;
use crate::diagnosis::contention::contention;
use linerate_model::Ratio;
use linerate_model::run::{Change, Confidence, Host, HostRole, Run, Trial};
use serde_json::{Value, json};

/// CPU of a host with two cores, and of the traffic threads on it, in cores.
fn cpu(busy: f64, threads: f64) -> Value {
    json!({"host_ratio": busy, "softirq_ratio": 0.05, "cores": [busy, busy], "thread_cores": threads})
}

fn set(trial: &mut Trial, cpu: &Value) {
    trial.cpu = serde_json::from_value(cpu.clone()).unwrap();
}

/// Both ends in containers of one host, of which `run` and its probe had this left.
fn on_one_host(cpu: &Value) -> Run {
    let mut run = run();
    run.probes = vec![
        datagrams(94.0, &lost(3000, "network", 40_000_000)),
        at_half(datagrams(47.0, &lost(0, "network", 15_000))),
        bytes(Change::Streams { factor: 4 }, 94.0),
        bytes(Change::ReceiveBuffer { factor: 4.0 }, 94.0),
    ];
    for trial in run
        .trials
        .iter_mut()
        .chain(run.probes.iter_mut().map(|made| &mut made.trial))
    {
        set(trial, cpu);
    }
    run.hosts = [HostRole::Client, HostRole::Server]
        .map(|role| {
            let mut host = Host::new(role);
            host.facts.insert("boot_id", "one");
            host
        })
        .into();
    run
}

/// Datagrams of which the sender, whose thread has no time left, sends too few.
fn starved(taken: f64) -> (String, Confidence, String) {
    let mut sender = cpu(taken + 0.25, 0.3);
    let thread = json!({"thread_ratio": 0.3, "run_delay_ratio": 0.65, "paused_ratio": 0.0, "blocked_ratio": 0.05});
    sender
        .as_object_mut()
        .unwrap()
        .extend(thread.as_object().unwrap().clone());
    let mut run = on_one_host(&json!({ "sender": sender }));
    run.config = search().config;
    let short = json!({"offered_bps": 96_000_000, "counters": {"sender": {}, "receiver": {}}, "packets": {"sent": 9000, "received": 9000, "lost": 0, "loss_ratio": 0.0}});
    let mut made = datagrams(96.0, &short);
    set(&mut made.trial, &json!({ "sender": sender }));
    run.trials = vec![made.trial.clone()];
    run.probes = vec![made];
    let (verdict, _) = diagnose(&run);
    let limit = verdict.limit.id().to_owned();
    (limit, verdict.confidence, verdict.evidence.join(" "))
}

#[test]
fn beside_programs_that_take_the_cores_no_cpu_is_named_for_sure() {
    let (limit, confidence, says) = starved(0.1);
    assert_eq!(limit, "sender-cpu");
    assert_eq!(confidence, Confidence::Supported, "{says}");
    assert!(!says.contains("Other programs"), "{says}");
    // They, or a receiver that tells nothing and may take a core of two, took what the sender waited for.
    let (limit, confidence, says) = starved(0.7);
    assert_eq!((limit.as_str(), confidence), ("unknown", Confidence::Weak));
    assert!(says.contains("Other programs left hardly any"), "{says}");
}

#[test]
fn what_the_path_does_is_identified_beside_other_programs_too() {
    let (verdict, _) = diagnose(&on_one_host(&json!({"sender": cpu(1.0, 0.1)})));
    let says = (verdict.limit.id(), verdict.confidence);
    assert_eq!(says, ("link", Confidence::Supported));
}

#[test]
fn a_test_that_fills_its_own_host_is_not_beside_others() {
    let taken = |run: &Run| contention(run, &run.trials[0]);
    let both = json!({"sender": cpu(1.0, 0.9), "receiver": cpu(1.0, 0.9)});
    assert_eq!(taken(&on_one_host(&both)), None);
    let crowded = json!({"sender": cpu(1.0, 0.1), "receiver": cpu(1.0, 0.1)});
    let mut run = on_one_host(&crowded);
    assert_eq!(taken(&run), Some(Ratio::clamped(0.85)));
    // Each end has a host of its own, and one of them is short.
    run.hosts[1].facts.insert("boot_id", "another");
    assert_eq!(taken(&run), None);
    // Another program that was there for the run alone.
    let mut passing = on_one_host(&crowded);
    for probe in &mut passing.probes[1..] {
        set(&mut probe.trial, &json!({"sender": cpu(0.4, 0.1)}));
    }
    assert_eq!(taken(&passing), None);
}

/// A third was lost without a queue on a host whose cores were so busy; so much tells for a policer.
fn dropped_at(busy: f64) -> (String, Confidence) {
    let cpu = json!({"host_ratio": busy, "cores": [busy, busy], "thread_ratio": 0.5, "run_delay_ratio": 0.0});
    let mut run = search();
    let mut made = datagrams(94.0, &lost(3300, "network", 15_000));
    set(&mut made.trial, &json!({"sender": cpu, "receiver": cpu}));
    run.trials = vec![made.trial.clone()];
    run.probes = vec![made];
    let (verdict, _) = diagnose(&run);
    (verdict.limit.id().to_owned(), verdict.confidence)
}

#[test]
fn loss_on_a_host_without_idle_time_is_no_paths_unless_that_is_shown() {
    assert_eq!(dropped_at(0.5), ("policer".to_owned(), Confidence::Weak));
    assert_eq!(dropped_at(1.0).0, "unknown");
}
