//! What other programs took of hosts, and what becomes of verdicts beside them.

use super::super::evidence::Cpu;
use super::super::proof;
use super::*;
use linerate_model::quantity::Quantity;
use linerate_model::run::{Change, Prediction};
use linerate_model::spec::TestSpec;
use serde_json::{Value, json};

/// A run of `kind` with `config` and `trials`.
fn run(kind: &str, config: &Value, trials: &[Value]) -> Run {
    serde_json::from_value(json!({
        "schema": linerate_model::run::SCHEMA, "id": "run", "kind": kind, "status": "complete",
        "tool": {"name": "linerate"}, "config": config, "trials": trials
    }))
    .unwrap()
}

/// A forward trial of a second with `cpu`, and `counters` of its sender.
fn trial(transport: &str, cpu: &Value, counters: &Value) -> Value {
    let work = match transport {
        "udp" => "datagrams",
        _ => "byte-stream",
    };
    json!({
        "index": 0, "transport": transport, "direction": "forward", "valid": true, "work": work,
        "origin": "measured", "received_bps": 900_000_000, "duration_s": 1.0, "cpu": cpu,
        "counters": {"sender": counters, "receiver": {}}
    })
}

/// What becomes of a supported verdict on `cause` in a run of `trial`: its limit, and how sure it is.
fn said_of(cause: &'static Cause, trial: Value) -> (String, Confidence) {
    let verdict = judged(cause, trial, None);
    (verdict.limit.id().to_owned(), verdict.confidence)
}

/// What becomes of a supported verdict on `cause`, with the experiment that would show it, in a run of `trial`.
fn judged(cause: &'static Cause, trial: Value, experiment: Option<Experiment>) -> Verdict {
    let kind = trial["transport"].as_str().unwrap().to_owned();
    let mut verdict = Verdict {
        limit: cause.limit(),
        side: cause.side,
        confidence: Confidence::Supported,
        experiment: experiment.map(Box::new),
        ..undecided(String::new(), Vec::new())
    };
    apply(
        &run(&kind, &json!({}), &[trial]),
        Direction::Forward,
        &mut verdict,
    );
    verdict
}

fn said(limit: &str, confidence: Confidence) -> (String, Confidence) {
    (limit.to_owned(), confidence)
}

/// Share that others took of two cores, of which so much was busy, by a test both ways whose four threads took 0.4 each.
fn taken(busy: f64) -> f64 {
    let side = json!({
        "host_ratio": busy, "softirq_ratio": 0.0, "cores": [busy, busy], "thread_cores": 0.4, "thread_ratio": 0.4
    });
    let one = |direction: &str| {
        let cpu = json!({"sender": side, "receiver": side});
        let mut trial = trial("tcp", &cpu, &json!({}));
        trial["direction"] = json!(direction);
        trial
    };
    let test = TestSpec {
        direction: Direction::Duplex,
        ..TestSpec::tcp_bulk()
    };
    let config = json!({"asked": {"kind": "test", "test": test}});
    let run = run("tcp", &config, &[one("forward"), one("reverse")]);
    others(&run, &run.trials[0], Side::Sender).unwrap()
}

#[test]
fn the_other_way_of_a_test_is_no_other_program() {
    assert!(taken(0.8).abs() < 1e-9);
    assert!((taken(1.0) - 0.2).abs() < 1e-9);
}

/// What is said of a sender's CPU that ran a tenth of the time and waited for a core for `waited` of it, beside what filled
/// its two cores, where the far end tells nothing of itself.
fn beside_a_silent_far_end(waited: f64) -> (String, Confidence) {
    let side = json!({
        "host_ratio": 1.0, "softirq_ratio": 0.0, "cores": [1.0, 1.0], "thread_cores": 0.1, "thread_ratio": 0.1,
        "run_delay_ratio": waited
    });
    let trial = trial("tcp", &json!({"sender": side}), &json!({}));
    said_of(&sender_cpu::CAUSE, trial)
}

#[test]
fn what_the_far_end_cannot_have_used_of_a_host_other_programs_did() {
    // 1.9 of two cores are not this thread's; the far end's one thread takes one at most.
    let beyond = beside_a_silent_far_end(0.8);
    assert_eq!(beyond, said("other-programs", Confidence::Weak));
    let within = beside_a_silent_far_end(0.95);
    assert_eq!(within, said("unknown", Confidence::Weak));
    let never = beside_a_silent_far_end(0.0);
    assert_eq!(never, said("sender-cpu", Confidence::Supported));
}

/// What is said of a receiver that tells nothing, where so much of the sender's host is used by others.
fn before_a_silent_receiver(cause: &'static Cause, used: f64) -> (String, Confidence) {
    let sender = json!({
        "host_ratio": used, "niced_ratio": 0.05, "softirq_ratio": 0.0, "cores": [used, used], "thread_cores": 0.1,
        "thread_ratio": 0.1, "run_delay_ratio": 0.0
    });
    said_of(cause, trial("udp", &json!({"sender": sender}), &json!({})))
}

#[test]
fn a_far_end_that_tells_nothing_may_run_beside_the_programs_of_this_host() {
    for cause in [&receiver_cpu::CAUSE, &receiver_socket::CAUSE] {
        let beside = before_a_silent_receiver(cause, 0.9);
        assert_eq!(beside, said("unknown", Confidence::Weak));
        let alone = before_a_silent_receiver(cause, 0.5);
        assert_eq!(alone, said(cause.id, Confidence::Supported));
    }
}

/// What becomes of a verdict on `cause` where other programs took what the sender waited for, beside these counters.
fn beside_a_niced_build(cause: &'static Cause, counters: &Value) -> (String, Confidence) {
    said_of(cause, niced_build(counters))
}

fn niced_build(counters: &Value) -> Value {
    let side = json!({
        "host_ratio": 0.36, "niced_ratio": 0.62, "softirq_ratio": 0.01, "cores": [0.4, 0.3], "thread_cores": 0.06,
        "thread_ratio": 0.06, "run_delay_ratio": 0.12
    });
    let cpu = json!({"sender": side, "receiver": side});
    trial("tcp", &cpu, counters)
}

#[test]
fn another_load_is_no_experiment_on_other_programs() {
    let no_quota = json!({"cgroup.throttled_ns": 0});
    let twice = || {
        proof(
            Change::Load { factor: 2.0 },
            [Prediction::at_least(Quantity::ReceivedRate, 1.5)],
        )
    };
    for cause in [&sender_app::CAUSE, &sender_cpu::CAUSE] {
        let verdict = judged(cause, niced_build(&no_quota), Some(twice()));
        assert_eq!(verdict.limit, CAUSE.limit());
        let offered = verdict.experiment.unwrap();
        assert!(offered.test.is_none(), "{offered:?}");
        assert!(offered.change.contains("other programs"), "{offered:?}");
        // One that could not be run is not offered anew.
        let tried = Experiment {
            not_run: Some("it is done by hand".to_owned()),
            ..*offered
        };
        let verdict = judged(cause, niced_build(&no_quota), Some(tried.clone()));
        assert_eq!(*verdict.experiment.unwrap(), tried);
    }
    // Where nobody else used the host it shows the cause that was blamed.
    let mut alone = niced_build(&no_quota);
    for side in ["sender", "receiver"] {
        alone["cpu"][side]["niced_ratio"] = json!(0.0);
        alone["cpu"][side]["host_ratio"] = json!(0.06);
        alone["cpu"][side]["cores"] = json!([0.06, 0.06]);
    }
    let verdict = judged(&sender_app::CAUSE, alone, Some(twice()));
    assert_eq!(verdict.limit, sender_app::CAUSE.limit());
    assert_eq!(*verdict.experiment.unwrap(), twice());
}

#[test]
fn a_quota_that_cannot_be_read_may_be_why_a_thread_waited() {
    let no_quota = json!({"cgroup.throttled_ns": 0});
    let known = beside_a_niced_build(&sender_cpu::CAUSE, &no_quota);
    assert_eq!(known, said("other-programs", Confidence::Supported));
    let unknown = beside_a_niced_build(&sender_cpu::CAUSE, &json!({}));
    assert_eq!(unknown, said("other-programs", Confidence::Weak));
}

#[test]
fn an_application_that_others_keep_from_running_is_not_slow() {
    let no_quota = json!({"cgroup.throttled_ns": 0});
    for cause in [&sender_app::CAUSE, &receiver_app::CAUSE] {
        let app = beside_a_niced_build(cause, &no_quota);
        assert_eq!(app, said("other-programs", Confidence::Weak));
    }
}

/// What is said of a receiver's full socket whose reader waited for a core for `waited` of the time beside others.
fn before_a_late_reader(waited: f64) -> (String, Confidence) {
    let side = |waited: f64| {
        json!({
            "host_ratio": 0.4, "niced_ratio": 0.55, "softirq_ratio": 0.05, "cores": [0.4, 0.4], "thread_cores": 0.1,
            "thread_ratio": 0.1, "run_delay_ratio": waited
        })
    };
    let cpu = json!({"sender": side(0.0), "receiver": side(waited)});
    said_of(&receiver_socket::CAUSE, trial("udp", &cpu, &json!({})))
}

#[test]
fn a_full_socket_before_a_reader_that_others_delay_is_shown_by_nothing() {
    let late = before_a_late_reader(0.3);
    assert_eq!(late, said("other-programs", Confidence::Weak));
    let seldom = before_a_late_reader(0.05);
    assert_eq!(seldom, said("unknown", Confidence::Weak));
    let never = before_a_late_reader(0.0);
    assert_eq!(never, said("receiver-socket", Confidence::Supported));
}

#[test]
fn what_programs_of_low_priority_used_stands_beside_what_the_host_used() {
    let run = run("tcp", &json!({}), &[niced_build(&json!({}))]);
    let evidence = Evidence::new(&run, Direction::Forward, &[]);
    let figures = Cpu::of_side(&evidence, Side::Sender).unwrap().figures();
    let host = "The sender's host used 36 % of its CPU, and programs of low priority another 62 %.";
    assert!(figures.contains(&host.to_owned()), "{figures:?}");
}
