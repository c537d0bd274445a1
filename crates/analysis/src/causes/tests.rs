//! Conformance: every rule in [`ALL`] has case files of all three outcomes, and they hold.

use super::*;
use crate::assemble::{self, tests::any_report};
use crate::judge::diagnose;
use linerate_model::BitRate;
use linerate_model::run::{Confidence, Run, RunKind, RunWork};
use linerate_model::sample::SequenceCount;
use linerate_model::spec::{Direction, Pace, TestSpec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A run, in short, and what must be said of it.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    about: String,
    run: Map<String, Value>,
    expect: Expect,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    outcome: String,
    confidence: Option<Confidence>,
    side: Option<Side>,
    share_at_least: Option<f64>,
    /// Part of the claim.
    claim: Option<String>,
    /// Part of one sentence of evidence.
    evidence: Option<String>,
    /// Part of the experiment's change.
    proposes: Option<String>,
    /// Part of what clears it.
    because: Option<String>,
    /// Part of what is missing.
    missing: Option<String>,
    /// What the whole run's verdict must be, and on which side it must name it.
    verdict: Option<String>,
    verdict_side: Option<Side>,
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "src", "causes"]
        .iter()
        .collect()
}

fn cases(rule: &str) -> Vec<(String, CaseFile)> {
    let folder = folder().join(rule.replace('-', "_")).join("cases");
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("rule {rule} needs case files in {folder:?}: {error}"));
    let mut cases: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let case = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), case)
        })
        .collect();
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

/// Fills in what every run document has, so that a case shows only what matters.
fn run(short: &Map<String, Value>) -> Run {
    let mut whole = json!({
        "schema": linerate_model::run::SCHEMA, "id": "case", "status": "complete",
        "tool": {"name": "linerate"}, "config": {}, "trials": [], "goals": [],
    });
    let transport = if short["kind"] == "tcp" { "tcp" } else { "udp" };
    for (key, value) in short {
        whole[key] = value.clone();
    }
    let trials = whole["trials"].as_array_mut().into_iter().flatten();
    for (index, trial) in trials.enumerate() {
        let raw = trial.get_mut("raw").and_then(Value::as_array_mut);
        raw.into_iter()
            .flatten()
            .for_each(|end| fill_end(transport, end));
        let given = [
            ("index", json!(index)),
            ("transport", json!(transport)),
            ("direction", json!("forward")),
            ("valid", json!(true)),
            ("duration_s", Value::Null),
        ];
        fill(trial, given);
        let work = match (trial["transport"].as_str(), &short["kind"]) {
            _ if trial.get("requests").is_some() => "open-loop",
            (_, kind) if kind == "latency" => "closed-loop",
            (Some("tcp"), _) => "byte-stream",
            _ => "datagrams",
        };
        let origin = match trial.get("rounding") {
            Some(_) => "imported",
            None => "measured",
        };
        fill(trial, [("work", json!(work)), ("origin", json!(origin))]);
    }
    for goal in whole["goals"].as_array_mut().into_iter().flatten() {
        let given = [
            ("direction", json!("forward")),
            ("reached", json!(true)),
            ("width_ratio", Value::Null),
            ("trials", json!(10)),
            ("time_s", json!(10.0)),
        ];
        fill(goal, given);
    }
    serde_json::from_value(whole).unwrap()
}

/// Makes each stream in the raw report of an end a byte stream or one of numbered datagrams.
fn fill_end(transport: &str, end: &mut Value) {
    let kind = match (transport, end["side"].as_str().unwrap()) {
        ("tcp", "sender") => "byte-stream-sender",
        ("tcp", _) => "byte-stream-receiver",
        (_, "sender") => "datagram-sender",
        _ => "datagram-receiver",
    };
    let sequence = SequenceCount::default();
    for stream in end["streams"].as_array_mut().unwrap() {
        let given = [
            ("kind", json!(kind)),
            ("sequence", serde_json::to_value(sequence).unwrap()),
            ("reads", json!(0)),
            ("emptying_reads", json!(0)),
            ("refused", json!(0)),
            ("unsent", json!(0)),
            ("burst_max", json!(0)),
        ];
        fill(stream, given);
    }
}

fn fill<const N: usize>(object: &mut Value, defaults: [(&str, Value); N]) {
    let object = object.as_object_mut().unwrap();
    for (key, value) in defaults {
        object.entry(key).or_insert(value);
    }
}

/// Everything that does not hold, one line each.
fn complaints(
    rule: &str,
    expect: &Expect,
    verdict: &Verdict,
    outcome: &RuleOutcome,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{what}: {outcome:?}"));
        }
    };
    let part = |want: &Option<String>, text: &str| {
        want.as_ref()
            .is_none_or(|want| text.contains(want.as_str()))
    };
    match outcome {
        RuleOutcome::Found { verdict } => {
            check(expect.outcome == "found", "outcome");
            check(
                expect.confidence.is_none_or(|c| c == verdict.confidence),
                "confidence",
            );
            check(
                expect.side.is_none_or(|side| Some(side) == verdict.side),
                "side",
            );
            let share = verdict.share_ratio.map(Ratio::get);
            check(
                expect
                    .share_at_least
                    .is_none_or(|least| share >= Some(least)),
                "share",
            );
            check(part(&expect.claim, &verdict.claim), "claim");
            check(
                part(&expect.evidence, &verdict.evidence.join("\n")),
                "evidence",
            );
            let experiment = verdict.experiment.as_ref();
            let change = experiment.map_or("", |experiment| experiment.change.as_str());
            check(part(&expect.proposes, change), "experiment");
        }
        RuleOutcome::Clear { because } => {
            check(expect.outcome == "clear", "outcome");
            check(part(&expect.because, because), "because");
        }
        RuleOutcome::NotEvaluated { missing } => {
            check(expect.outcome == "not-evaluated", "outcome");
            check(part(&expect.missing, missing), "missing");
        }
    }
    if expect
        .verdict
        .as_ref()
        .is_some_and(|limit| limit != verdict.limit.id())
    {
        wrong.push(format!("the run's verdict: {verdict:?}"));
    }
    if expect.verdict_side.is_some() && expect.verdict_side != verdict.side {
        wrong.push(format!("the verdict's side: {verdict:?}"));
    }
    wrong
        .into_iter()
        .map(|text| format!("{rule}: {text}"))
        .collect()
}

#[test]
fn every_cause_has_cases_of_all_three_outcomes_and_they_hold() {
    let mut wrong = Vec::new();
    for rule in ALL {
        let mut outcomes = BTreeSet::new();
        for (name, case) in cases(rule.id) {
            let (verdict, findings) = diagnose(&run(&case.run));
            let id = format!("{}/{name} ({})", rule.id, case.about);
            let finding = findings.iter().find(|finding| finding.rule == rule.id);
            let weighed = || RuleOutcome::Found {
                verdict: Box::new(verdict.clone()),
            };
            let outcome = finding.map_or_else(weighed, |finding| finding.outcome.clone());
            wrong.extend(complaints(&id, &case.expect, &verdict, &outcome));
            outcomes.insert(case.expect.outcome.clone());
        }
        let each: &[&str] = match rule.examine {
            Some(_) => &["found", "clear", "not-evaluated"],
            // Only signs and probes show it.
            None => &["found"],
        };
        for outcome in each.iter().copied() {
            if !outcomes.contains(outcome) {
                wrong.push(format!("{} has no case that is {outcome}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_case_folder_belongs_to_a_rule() {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.join("cases").is_dir() {
            let name = path
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .replace('_', "-");
            assert!(ALL.iter().any(|rule| rule.id == name), "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, ALL.len());
}

#[test]
fn the_registry_is_in_order() {
    let ids: BTreeSet<_> = ALL.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), ALL.len(), "ids must be unique");
    for rule in ALL {
        let id = rule.id;
        assert!(
            id.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
            "{id}"
        );
        assert!(!rule.name.is_empty() && !rule.name.ends_with('.'), "{id}");
        let summary = rule.summary;
        assert!(
            summary.ends_with('.') && summary.matches(". ").count() == 0,
            "{id}: {summary}"
        );
        assert_eq!(rule.needs.is_empty(), rule.examine.is_none(), "{id}");
    }
    assert_eq!(ALL.last().map(|rule| rule.id), Some("unknown"));
}

#[test]
fn the_page_of_rules_has_a_row_for_each() {
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    assert_eq!(rows.count(), ALL.len());
    for rule in ALL {
        assert!(page.contains(&format!(
            "| `{}` | {} | {} |",
            rule.id, rule.name, rule.summary
        )));
    }
}

/// What the hand-written tables say, they say of rules that exist.
#[test]
fn the_guide_and_the_methodology_name_rules_that_exist() {
    for text in [
        include_str!("../../../../docs/guide/report.md"),
        include_str!("../../../../docs/methodology.md"),
    ] {
        let table = text.split("| rule | ").nth(1).unwrap();
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        let first = rows.filter_map(|row| row.split('|').nth(1));
        let ids: Vec<&str> = first
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .collect();
        assert!(ids.len() > 10, "{ids:?}");
        for id in ids {
            assert!(ALL.iter().any(|rule| rule.id == id), "{id}");
        }
    }
}

#[test]
fn every_claim_is_a_sentence_and_every_finding_proposes_an_experiment() {
    for rule in ALL {
        for (name, case) in cases(rule.id) {
            let (_, findings) = diagnose(&run(&case.run));
            for finding in findings {
                let RuleOutcome::Found { verdict } = finding.outcome else {
                    continue;
                };
                let id = format!("{}/{name}: {}", rule.id, finding.rule);
                assert!(verdict.claim.ends_with('.'), "{id}: {}", verdict.claim);
                assert!(!verdict.claim.contains(".."), "{id}: {}", verdict.claim);
                assert!(verdict.experiment.is_some(), "{id}");
                for sentence in &verdict.evidence {
                    assert!(sentence.ends_with('.'), "{id}: {sentence}");
                }
            }
        }
    }
}

#[test]
fn the_direction_that_is_limited_speaks_for_a_run_both_ways() {
    let mut both = run(&cases("intended-load")
        .into_iter()
        .find(|(name, _)| name == "udp-carried")
        .unwrap()
        .1
        .run);
    let other = run(&cases("receiver-socket")
        .into_iter()
        .find(|(name, _)| name == "slow-reader")
        .unwrap()
        .1
        .run);
    both.trials
        .extend(other.trials.into_iter().map(|mut trial| {
            trial.direction = Direction::Reverse;
            trial
        }));
    let (verdict, _) = diagnose(&both);
    assert_eq!(verdict.limit.id(), "receiver-socket");
    assert!(verdict.claim.starts_with("Reverse: "), "{}", verdict.claim);
    assert_eq!(verdict.directions, [Direction::Reverse]);
}

#[test]
fn a_run_of_parts_takes_the_verdict_of_the_limited_part() {
    let part = |rule: &str, name: &str| {
        let case = cases(rule)
            .into_iter()
            .find(|case| case.0 == name)
            .unwrap()
            .1;
        run(&case.run)
    };
    let mut demo = part("unknown", "no-trial");
    let parts = vec![
        part("round-trip", "latency"),
        part("link", "shaped-search"),
        part("unknown", "only-rates"),
    ];
    demo.work = RunWork::Demo { parts };
    let (verdict, _) = diagnose(&demo);
    assert_eq!(verdict.limit.id(), "link");
    assert!(verdict.claim.starts_with("saturate: "), "{}", verdict.claim);
}

fn any_run() -> impl Strategy<Value = Run> {
    let rate = || proptest::option::of(prop_oneof![0..2_000_000_000_u64, any::<u64>()]);
    let side = |side| proptest::option::of(any_report(side));
    let trial = (
        rate(),
        any::<bool>(),
        side(Side::Sender),
        side(Side::Receiver),
        rate(),
    )
        .prop_map(|(load, tcp, sender, receiver, other)| {
            let pace = load.map_or(Pace::Unpaced, |bps| Pace::At(BitRate::from_bps(bps)));
            let spec = if tcp {
                TestSpec::tcp_bulk().with_pace(pace)
            } else {
                TestSpec::udp_datagrams(pace)
            };
            let mut trial = assemble::trial(0, &spec, Direction::Forward, sender, receiver);
            trial.received_rate = other.map(BitRate::from_bps).or(trial.received_rate);
            trial
        });
    let kind = proptest::sample::select(vec![
        RunKind::Latency,
        RunKind::Saturate,
        RunKind::Tcp,
        RunKind::Udp,
    ]);
    let bound = proptest::sample::select(vec!["limit", "loss", "delay", "sender"]);
    let goals = proptest::option::of((rate(), rate(), bound));
    (kind, proptest::collection::vec(trial, 0..4), goals).prop_map(|(kind, trials, goal)| {
        let mut short = Map::new();
        short.insert("kind".to_owned(), json!(kind.as_str()));
        if let Some((low, high, by)) = goal {
            short.insert(
                "goals".to_owned(),
                json!([{"loss_goal_ratio": 0.0, "lower_bound_bps": low, "upper_bound_bps": high,
                        "conditional_throughput_bps": low, "bounded_by": by}]),
            );
        }
        Run {
            trials,
            ..run(&short)
        }
    })
}

proptest! {
    #[test]
    fn no_run_makes_a_rule_panic_or_a_verdict_certain(run in any_run()) {
        let (verdict, findings) = diagnose(&run);
        prop_assert_ne!(verdict.confidence, Confidence::Confirmed);
        prop_assert_eq!(findings.len(), ALL.iter().filter(|cause| cause.examine.is_some()).count());
        for finding in findings {
            if let RuleOutcome::Found { verdict } = finding.outcome {
                prop_assert_ne!(verdict.confidence, Confidence::Confirmed);
                prop_assert!(!verdict.claim.is_empty());
            }
        }
    }
}

/// A device between two hosts, as both ends would report it: `carried` packets of `sent` get to
/// the receiver's interface, and `taken` of those to its application.
fn reports(sent: u64, carried: u64, taken: u64) -> [linerate_model::sample::EndpointReport; 2] {
    use crate::assemble::tests::{received, report, set};
    use linerate_model::signals;
    let (mut sender, mut receiver) = (
        report(Side::Sender, sent, 1448),
        report(Side::Receiver, taken, 1448),
    );
    set(&mut sender, signals::NIC_TX_PACKETS, sent + 12);
    set(&mut sender, signals::NIC_TX_BYTES, (sent + 12) * 1490);
    set(&mut receiver, signals::NIC_RX_PACKETS, carried + 12);
    set(&mut receiver, signals::NIC_RX_BYTES, (carried + 12) * 1490);
    set(&mut receiver, signals::NIC_RX_DROPPED, 0);
    set(&mut receiver, signals::SOFTNET_DROPPED, 0);
    set(&mut receiver, signals::UDP_RCVBUF_ERRORS, carried - taken);
    let dropped = linerate_model::PacketCount::new(carried - taken);
    received(&mut receiver).socket.socket_overflows = Some(dropped);
    let mut pdv = linerate_model::Histogram::new();
    for _ in 0..100 {
        pdv.record(if carried < sent { 9_000_000 } else { 20_000 });
    }
    received(&mut receiver).times.pdv = Some(pdv);
    [sender, receiver]
}

fn measured(device: impl Fn(u64) -> [linerate_model::sample::EndpointReport; 2]) -> Verdict {
    let loads = [1000, 4000, 8000, 9000, 20_000];
    let trials = loads.map(|packets| {
        let load = BitRate::from_bps(packets * 1448 * 8);
        let mut spec = TestSpec::udp_datagrams(Pace::At(load));
        spec.stop = linerate_model::spec::Stop::After(std::time::Duration::from_secs(1));
        let [sender, receiver] = device(packets);
        assemble::trial(0, &spec, Direction::Forward, Some(sender), Some(receiver))
    });
    let mut whole = run(&Map::from_iter([("kind".to_owned(), json!("udp"))]));
    whole.trials = trials.to_vec();
    diagnose(&whole).0
}

#[test]
fn from_raw_reports_a_link_is_told_from_a_slow_reader() {
    const CAPACITY: u64 = 8256;
    let link = measured(|sent| reports(sent, sent.min(CAPACITY), sent.min(CAPACITY)));
    assert_eq!(link.limit.id(), "link");
    assert_eq!(link.confidence, Confidence::Supported);
    assert!(
        link.claim.contains("all 12 488 lost packets"),
        "{}",
        link.claim
    );

    let reader = measured(|sent| reports(sent, sent, sent.min(CAPACITY)));
    assert_eq!(reader.limit.id(), "receiver-socket");
    assert_eq!(reader.share_ratio, Some(Ratio::clamped(1.0)));

    let neither = measured(|sent| reports(sent, sent, sent));
    assert_eq!(neither.limit.id(), "intended-load");
}
