mod alarms;
mod power;

use super::*;
use linerate_model::comparison::{Basis, CompareAnswer, Comparison, MetricComparison, ScatterFrom};
use linerate_model::run::{
    ClosedLoopResult, DatagramsResult, Delay, DelayOf, Host, HostRole, Imported, Packets, RunKind,
    RunWork, Source, StudyPlace, Tool, Trial, TrialInterval, TrialOrigin,
};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, ByteCount, Histogram, Interval, Quantity};
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

fn run(kind: RunKind) -> Run {
    let id = format!("{}-1", kind.as_str());
    Run::new(id, kind, Tool::unversioned("linerate"))
}

fn rate_trial(payload: u64, bps: u64) -> Trial {
    let work = DatagramsResult::default();
    let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
    trial.payload_bytes = Some(ByteCount::new(payload));
    trial.received_rate = Some(BitRate::from_bps(bps));
    trial
}

fn rates(payload: u64, all: &[u64]) -> Run {
    let mut run = run(RunKind::Udp);
    run.trials = all.iter().map(|bps| rate_trial(payload, *bps)).collect();
    run
}

fn delay_trial(size: u64, mode: &str, median_ns: u64, count: u64) -> Trial {
    let mut histogram = Histogram::new();
    for step in 0..count {
        histogram.record(median_ns - count / 2 + step);
    }
    let work = ClosedLoopResult {
        delay: Delay::from_histogram(DelayOf::RoundTrip, histogram),
        ..ClosedLoopResult::default()
    };
    let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
    trial.payload_bytes = Some(ByteCount::new(size));
    trial.label = Some(format!("{size} B, {mode}"));
    trial
}

fn against(a: &Run, b: &Run, options: &Options) -> Comparison {
    compare(
        NamedRun { name: "a", run: a },
        NamedRun { name: "b", run: b },
        options,
    )
}

fn usual(a: &Run, b: &Run) -> Comparison {
    against(a, b, &Options::default())
}

fn only(comparison: &Comparison) -> &MetricComparison {
    assert_eq!(comparison.pairs.len(), 1, "{comparison:#?}");
    assert_eq!(comparison.pairs[0].metrics.len(), 1);
    &comparison.pairs[0].metrics[0]
}

fn near(value: f64, want: f64) -> bool {
    (value / want - 1.0).abs() < 1e-3
}

#[test]
fn repeated_trials_that_are_clearly_worse_are_a_regression_and_the_other_way_round_a_gain() {
    let fast = rates(1448, &[100_000_000, 101_000_000, 99_000_000]);
    let slow = rates(1448, &[80_000_000, 81_000_000, 79_000_000]);
    let worse = usual(&fast, &slow);
    let metric = only(&worse);
    assert_eq!(metric.verdict, CompareVerdict::Slower);
    assert_eq!(metric.basis, Basis::BetweenTrials);
    assert!(worse.regression);
    assert!(near(metric.ratio.unwrap().point, 0.8));
    let better = usual(&slow, &fast);
    assert_eq!(only(&better).verdict, CompareVerdict::Faster);
    assert!(!better.regression);
}

#[test]
fn a_difference_below_the_threshold_is_none_that_matters() {
    let a = rates(1448, &[100_000_000, 100_100_000, 99_900_000, 100_000_000]);
    let b = rates(1448, &[99_000_000, 99_100_000, 98_900_000, 99_000_000]);
    let comparison = usual(&a, &b);
    let metric = only(&comparison);
    assert_eq!(metric.verdict, CompareVerdict::NoDifferenceShown);
    assert!(metric.within_threshold);
    assert!(
        metric
            .why
            .as_ref()
            .unwrap()
            .contains("smaller than the threshold")
    );
    let strict = Options {
        threshold: Ratio::clamped(0.001),
        ..Options::default()
    };
    assert_eq!(
        only(&against(&a, &b, &strict)).verdict,
        CompareVerdict::Slower
    );
}

#[test]
fn one_trial_on_a_side_is_no_verdict_however_large_the_difference() {
    let one = rates(1448, &[100_000_000]);
    let many = rates(1448, &[10_000_000, 11_000_000]);
    for (a, b, why) in [
        (&one, &one, "on both sides"),
        (&one, &many, "in A"),
        (&many, &one, "in B"),
    ] {
        let comparison = usual(a, b);
        let metric = only(&comparison);
        assert_eq!(metric.verdict, CompareVerdict::NoDifferenceShown);
        assert!(
            metric.why.as_ref().unwrap().contains("n = 1"),
            "{:?}",
            metric.why
        );
        assert!(metric.why.as_ref().unwrap().contains(why));
        assert_eq!(metric.p, None);
        assert!(
            comparison
                .notes
                .iter()
                .any(|note| note.contains("repetitions"))
        );
    }
}

#[test]
fn quantiles_of_single_trials_have_intervals_that_say_what_they_cover() {
    let mut a = run(RunKind::Latency);
    a.trials = vec![delay_trial(32, "spin, idle", 20_000, 4000)];
    let mut b = a.clone();
    b.trials = vec![delay_trial(32, "spin, idle", 40_000, 4000)];
    let comparison = usual(&a, &b);
    let median = &comparison.pairs[0].metrics[0];
    assert_eq!(median.metric.key(), "half_round_trip_p50_ns");
    assert!(near(median.a.point, 10_000.0), "half of what was timed");
    assert_eq!(median.basis, Basis::WithinTrial);
    let ratio = median.ratio.unwrap();
    assert!(near(ratio.point, 2.0));
    assert!(ratio.interval.unwrap().contains(2.0));
    assert_eq!(median.verdict, CompareVerdict::NoDifferenceShown);
}

#[test]
fn loss_is_compared_by_difference_with_a_threshold_of_its_own() {
    let with_loss = |losses: [f64; 3]| {
        let mut run = rates(64, &[10_000_000, 10_000_000, 10_000_000]);
        for (trial, loss) in run.trials.iter_mut().zip(losses) {
            trial.counts_mut().unwrap().packets = Some(Packets {
                loss_ratio: Ratio::new(loss),
                ..Packets::default()
            });
        }
        run
    };
    let (a, b) = (with_loss([0.0; 3]), with_loss([0.01, 0.011, 0.009]));
    let comparison = usual(&a, &b);
    let loss = comparison.pairs[0]
        .metrics
        .iter()
        .find(|m| m.metric == Quantity::LossRatio)
        .unwrap();
    assert_eq!(loss.verdict, CompareVerdict::Slower);
    assert_eq!(loss.ratio, None);
    assert!(near(loss.difference.unwrap().point, 0.01));
    let patient = Options {
        loss_threshold: Ratio::clamped(0.05),
        ..Options::default()
    };
    let comparison = against(&a, &b, &patient);
    assert!(!comparison.regression);
}

#[test]
fn many_tests_are_corrected_together() {
    let mut a = run(RunKind::Udp);
    let mut b = run(RunKind::Udp);
    for payload in 1..=30 {
        let noise = [0, 1_000_000, 2_000_000].map(|step| step + payload * 1000);
        for add in noise {
            a.trials.push(rate_trial(payload, 100_000_000 + add));
            b.trials.push(rate_trial(payload, 94_500_000 + add));
        }
    }
    let comparison = usual(&a, &b);
    assert_eq!(comparison.tested, 30);
    let alone = comparison
        .pairs
        .iter()
        .filter(|pair| pair.metrics[0].p.unwrap() < 0.05);
    let together = comparison
        .pairs
        .iter()
        .filter(|pair| pair.metrics[0].p_adjusted.unwrap() < 0.05);
    assert_eq!(alone.count(), 30);
    assert_eq!(together.count(), 0);
    let why = comparison.pairs[0].metrics[0].why.as_ref().unwrap();
    assert!(why.contains("corrected"), "{why}");
}

#[test]
fn a_published_table_goes_with_every_mode_of_a_run_that_has_its_size() {
    let mut table = run(RunKind::Latency);
    table.id = "imported-1".to_owned();
    table.source = Some(Source {
        format: "sfnt-pingpong".to_owned(),
        files: vec!["udp.txt".to_owned()],
    });
    for size in [32, 64] {
        let mut trial = delay_trial(size, "", 12_000, 10);
        trial.label = Some(format!("{size} B"));
        let delay = trial.delay_mut().unwrap();
        (delay.of, delay.histogram) = (DelayOf::HalfRoundTrip, None);
        table.trials.push(trial);
    }
    let mut live = run(RunKind::Latency);
    for mode in ["spin, idle", "block, idle"] {
        live.trials.push(delay_trial(32, mode, 20_000, 1000));
    }
    let comparison = usual(&table, &live);
    assert_eq!(comparison.pairs.len(), 2);
    assert_eq!(comparison.pairs[0].cell.mode.as_deref(), Some("spin, idle"));
    assert!(comparison.pairs[0].assumed[0].contains("A does not tell"));
    let median = &comparison.pairs[0].metrics[0];
    assert!(near(median.ratio.unwrap().point, 10_000.0 / 12_000.0));
    assert_eq!(comparison.unpaired.len(), 1);
    assert!(
        comparison.unpaired[0].why.contains("payload 32 B"),
        "{:?}",
        comparison.unpaired
    );
    assert_eq!(comparison.machines.same, SameMachines::Unknown);
}

#[test]
fn a_wait_mode_is_compared_with_itself_only() {
    let mut a = run(RunKind::Latency);
    a.trials = vec![delay_trial(32, "spin, idle", 20_000, 100)];
    let mut b = run(RunKind::Latency);
    b.trials = vec![delay_trial(32, "block, idle", 20_000, 100)];
    let comparison = usual(&a, &b);
    assert!(comparison.pairs.is_empty());
    assert!(
        comparison.unpaired[0].why.contains("mode block, idle"),
        "{:?}",
        comparison.unpaired
    );
}

#[test]
fn a_study_s_repetitions_are_what_is_independent() {
    let study = |rate: u64| {
        let mut study = run(RunKind::Study);
        for repetition in 0..4 {
            let mut part = rates(64, &[rate + u64::from(repetition) * 10_000; 5]);
            part.config.place = Some(StudyPlace {
                cell: "payload = 64".to_owned(),
                repetition: repetition + 1,
            });
            study.parts_mut().unwrap().push(part);
        }
        study
    };
    let comparison = usual(&study(10_000_000), &study(20_000_000));
    let metric = only(&comparison);
    assert_eq!((metric.a.n, metric.b.n), (4, 4), "not 20");
    assert_eq!(metric.verdict, CompareVerdict::Faster);
    // A single run of the same settings has no cell, and goes with the one there is.
    let single = rates(64, &[10_000_000, 10_100_000]);
    let comparison = usual(&single, &study(20_000_000));
    assert_eq!(only(&comparison).verdict, CompareVerdict::Faster);
}

#[test]
fn rounding_of_a_log_is_part_of_the_uncertainty() {
    let rounded = |rate: f64| {
        let mut run = rates(64, &[0, 0, 0]);
        run.source = Some(Source {
            format: "iperf3-text".to_owned(),
            files: Vec::new(),
        });
        for trial in &mut run.trials {
            trial.received_rate = Some(BitRate::from_f64(rate * 1e6));
            let interval = Interval {
                low: (rate - 0.5) * 1e6,
                high: (rate + 0.5) * 1e6,
            };
            let rounding = [("received_bps".to_owned(), interval)].into();
            trial.origin = TrialOrigin::Imported(Imported { rounding });
        }
        run
    };
    let comparison = usual(&rounded(10.0), &rounded(11.0));
    let metric = only(&comparison);
    assert!(metric.ratio.unwrap().interval.unwrap().low < 1.05);
    let exact = usual(&rates(64, &[10_000_000; 3]), &rates(64, &[11_000_000; 3]));
    assert_eq!(only(&exact).verdict, CompareVerdict::Faster);
}

#[test]
fn machines_are_told_apart_by_host_processor_and_interface_not_by_kernel() {
    let on = |facts: serde_json::Value| {
        let mut run = rates(64, &[1_000_000]);
        for role in [HostRole::Client, HostRole::Server] {
            run.hosts.push(Host {
                facts: serde_json::from_value(facts.clone()).unwrap(),
                ..Host::new(role)
            });
        }
        run
    };
    let this = on(json!({"hostname": "x", "cpu_model": "one", "kernel_release": "6.1"}));
    let newer = on(json!({"hostname": "x", "cpu_model": "one", "kernel_release": "6.2"}));
    let other = on(json!({"cpu": "two", "uname": "Linux y 3.10.0 #1 SMP"}));
    let nothing = on(json!({}));
    let same = |b: &Run| usual(&this, b).machines;
    assert_eq!(same(&this).same, SameMachines::Same);
    assert!(same(&this).differences.is_empty());
    assert_eq!(same(&newer).same, SameMachines::Same);
    assert_eq!(same(&newer).differences[0].what, "kernel");
    assert_eq!(same(&other).same, SameMachines::Different);
    let kernel = same(&other)
        .differences
        .into_iter()
        .find(|d| d.what == "kernel");
    assert_eq!(kernel.unwrap().b.as_deref(), Some("3.10.0"));
    assert_eq!(same(&nothing).same, SameMachines::Unknown);
    let notes = usual(&this, &other).notes;
    assert!(
        notes[0].contains("not comparable in absolute terms"),
        "{notes:?}"
    );
}

#[test]
fn only_the_metrics_asked_for_are_tested() {
    let mut a = run(RunKind::Latency);
    a.trials = vec![
        delay_trial(32, "spin", 20_000, 100),
        delay_trial(32, "spin", 20_100, 100),
    ];
    let options = Options {
        only: vec!["half_round_trip_p99".to_owned()],
        ..Options::default()
    };
    let comparison = against(&a, &a, &options);
    let ids: Vec<_> = comparison.pairs[0]
        .metrics
        .iter()
        .map(|m| m.metric.key())
        .collect();
    assert_eq!(ids, ["half_round_trip_p99_ns", "half_round_trip_p999_ns"]);
}

#[test]
fn a_search_is_compared_goal_by_goal_within_its_bounds() {
    let search = |low: u64, high: u64| {
        let mut run = run(RunKind::Saturate);
        run.trials = vec![rate_trial(1448, low), rate_trial(1448, high)];
        let goals = vec![
            serde_json::from_value(json!({
                "direction": "forward", "loss_goal_ratio": 0.0, "lower_bound_bps": low,
                "upper_bound_bps": high, "conditional_throughput_bps": low, "reached": true,
                "bounded_by": "loss", "width_ratio": 0.005, "trials": 9, "time_s": 9.0,
            }))
            .unwrap(),
        ];
        run.work = RunWork::Saturate {
            goals,
            curve: None,
            delay_trials: Vec::new(),
        };
        run
    };
    let comparison = usual(
        &search(100_000_000, 101_000_000),
        &search(50_000_000, 51_000_000),
    );
    let metric = only(&comparison);
    assert_eq!(metric.metric, Quantity::ConditionalThroughput);
    assert_eq!(metric.basis, Basis::SearchBounds);
    let interval = metric.ratio.unwrap().interval.unwrap();
    assert!(near(interval.low, 50.0 / 101.0) && near(interval.high, 0.51));
}

#[test]
fn values_of_zero_are_compared_by_difference() {
    let comparison = usual(
        &rates(64, &[0, 0, 0]),
        &rates(64, &[9_000_000, 9_000_001, 9_000_002]),
    );
    let metric = only(&comparison);
    assert_eq!(metric.ratio, None);
    assert_eq!(metric.verdict, CompareVerdict::Faster);
}

/// A run of some cells, each with some trials, some of them not valid.
fn any_run() -> impl Strategy<Value = Run> {
    let trial = (
        0_u64..4,
        0_usize..3,
        1_u64..2_000_000_000,
        prop::bool::weighted(0.9),
    );
    (prop::collection::vec(trial, 0..24), any::<bool>()).prop_map(|(trials, imported)| {
        let mut run = run(RunKind::Latency);
        run.source = imported.then(|| Source {
            format: "sockperf".to_owned(),
            files: Vec::new(),
        });
        for (size, mode, nanos, valid) in trials {
            // Without histograms, of which thousands would take the tests minutes.
            let delay = json!({"of": "round-trip", "p50_ns": nanos, "p99_ns": 2 * nanos});
            let work = ClosedLoopResult {
                delay: Some(serde_json::from_value(delay).unwrap()),
                ..ClosedLoopResult::default()
            };
            let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
            trial.payload_bytes = Some(ByteCount::new(size));
            let mode = ["spin, idle", "block, idle", ""][mode];
            trial.label = Some(format!("{size} B, {mode}"));
            trial.valid = valid;
            run.trials.push(trial);
        }
        run
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_cell_is_paired_or_has_a_reason(a in any_run(), b in any_run()) {
        let (cells_a, cells_b) = (cells::of(&a), cells::of(&b));
        let pairing = pairing::pair(&cells_a, &cells_b);
        for (cells, paired, left) in [
            (&cells_a, pairing.pairs.iter().map(|p| p.a).collect::<Vec<_>>(), &pairing.left_a),
            (&cells_b, pairing.pairs.iter().map(|p| p.b).collect::<Vec<_>>(), &pairing.left_b),
        ] {
            for at in 0..cells.len() {
                let is_left = left.iter().any(|left| left.cell == at);
                prop_assert!(paired.contains(&at) != is_left);
            }
            prop_assert!(left.iter().all(|left| !left.why.is_empty()));
        }
    }

    #[test]
    fn a_run_is_no_different_from_itself(a in any_run()) {
        let comparison = usual(&a, &a);
        let valid = cells::of(&a).iter().filter(|cell| !cell.is_empty()).count();
        prop_assert_eq!(comparison.pairs.len(), valid);
        prop_assert_eq!(comparison.faster + comparison.slower, 0);
        for metric in comparison.pairs.iter().flat_map(|pair| &pair.metrics) {
            prop_assert!((metric.ratio.unwrap().point - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn b_against_a_says_the_opposite(a in any_run(), b in any_run()) {
        let (there, back) = (usual(&a, &b), usual(&b, &a));
        prop_assert_eq!((there.faster, there.slower), (back.slower, back.faster));
        prop_assert_eq!(there.pairs.len(), back.pairs.len());
        prop_assert_eq!(there.unpaired.len(), back.unpaired.len());
        let product = |one: &Comparison| -> f64 {
            let ratios = one.pairs.iter().flat_map(|pair| &pair.metrics);
            ratios.filter_map(|metric| metric.ratio).map(|ratio| ratio.point.ln()).sum()
        };
        prop_assert!((product(&there) + product(&back)).abs() < 1e-6);
    }

    #[test]
    fn the_order_of_trials_does_not_matter(a in any_run(), b in any_run()) {
        let mut turned = a.clone();
        turned.trials.reverse();
        let (one, other) = (usual(&a, &b), usual(&turned, &b));
        prop_assert_eq!((one.faster, one.slower, one.not_shown), (other.faster, other.slower, other.not_shown));
    }
}

#[test]
fn what_stacks_differ_by_is_said_part_by_part() {
    use linerate_model::stack::{StackCounts, StackReport};
    let on = |window: u64, options: &[(&str, &str)]| {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut run = rates(1448, &[100_000_000, 101_000_000]);
        run.stack = Some(StackReport {
            stack: "lwip".to_owned(),
            options: options.iter().map(owned).collect(),
            usual: [("opt", "O2")].iter().map(owned).collect(),
            counts: StackCounts {
                version: Some("2.1.3".to_owned()),
                settings: [("TCP_WND".to_owned(), window)].into(),
                ..StackCounts::default()
            },
        });
        run
    };
    let differences = |a: &Run, b: &Run| {
        let found = usual(a, b).machines.differences;
        let told = found.into_iter().map(|one| (one.what, one.a, one.b));
        told.collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    let base = on(5840, &[]);
    // A default and the same value given are no difference.
    assert_eq!(differences(&base, &on(5840, &[("opt", "O2")])), []);
    assert_eq!(
        differences(&base, &on(23360, &[("opt", "Os")])),
        [
            ("lwip TCP_WND".to_owned(), text("5840"), text("23360")),
            ("lwip opt".to_owned(), text("O2"), text("Os")),
        ]
    );
    let none = rates(1448, &[100_000_000, 101_000_000]);
    assert!(differences(&base, &none).contains(&("stack".to_owned(), text("lwip"), None)));
    assert_eq!(recorded_fact(&base, "lwip version"), text("2.1.3"));
}

#[test]
fn a_log_of_both_ways_at_once_is_told_from_one_of_one_way() {
    let mut one = run(RunKind::Tcp);
    one.source = Some(Source {
        format: "iperf3-text".to_owned(),
        files: Vec::new(),
    });
    one.trials = vec![rate_trial(1448, 928_000_000)];
    let mut both = one.clone();
    let mut back = rate_trial(1448, 632_000_000);
    back.direction = Direction::Reverse;
    both.trials.push(back);
    let said = |a: &Run, b: &Run| usual(a, b).notes.join("; ");
    assert!(said(&both, &one).contains("A went both ways at once and B one way"));
    assert!(said(&one, &both).contains("B went both ways at once and A one way"));
    assert!(!said(&both, &both).contains("both ways"));
    // Lines of a table need not be of one test.
    both.source.as_mut().unwrap().format = "table".to_owned();
    assert!(!said(&both, &one).contains("both ways"));
}
