//! Runs of single messages: a curve of requests with its knee, one-way delay, and parts of round trips.

use crate::runs::{bare, histogram, report};
use linerate_model::one_way::{
    ClockMethod, ClockRelation, Decomposition, OneWay, Stage, StagePart,
};
use linerate_model::responsiveness::Responsiveness;
use linerate_model::run::{
    ClosedLoopResult, CurveFacts, Delay, DelayOf, Knee, OpenLoopResult, Requests, Run, RunKind,
    RunWork, Trial, TrialWork,
};
use linerate_model::spec::{Arrival, Direction, Transport};
use linerate_model::{ByteCount, PacketCount, PacketRate};
use linerate_report::chart::Chart;
use linerate_report::charts::{self, Drawn};
use linerate_report::{Style, details_text, renderers, summary_text};
use std::time::Duration;

fn delay(of: DelayOf, median_ns: f64, seed: u64) -> Option<Delay> {
    Delay::from_histogram(of, histogram(median_ns, 0.1, seed))
}

fn trial(index: u32, label: &str, work: impl Into<TrialWork>) -> Trial {
    let mut trial = Trial::new(index, Transport::Udp, Direction::Forward, work);
    trial.label = Some(label.to_owned());
    trial.payload_bytes = Some(ByteCount::new(64));
    trial
}

fn round_trip(index: u32, median_ns: f64) -> Option<Delay> {
    delay(DelayOf::RoundTrip, median_ns, u64::from(index))
}

/// Two ends with clocks of their own: how far their one-way delays are known, and where the time goes.
pub(crate) fn apart() -> Run {
    let mut run = bare(RunKind::Latency);
    let one_way = Some(Box::new(OneWay {
        forward: delay(DelayOf::OneWay, 12e3, 7),
        backward: delay(DelayOf::OneWay, 8e3, 8),
        clock: Some(ClockRelation {
            method: ClockMethod::ConvexBounds,
            offset_ns: -1_234_567,
            at_ns: 500_000_000,
            skew_ppm: 11.25,
            skew_uncertainty_ppm: 0.5,
            uncertainty_ns: 9_400,
            asymmetry_ns: Some(9_100),
            messages: 4_000,
        }),
        missing: None,
    }));
    let parts = Stage::ALL
        .iter()
        .zip([200.0, 3e3, 400.0, 6e3, 4e3, 300.0, 2e3, 100.0, 4e3]);
    let decomposition = Some(Box::new(Decomposition {
        parts: parts
            .zip(20..)
            .map(|((&stage, mean), seed)| StagePart {
                stage,
                delay: delay(DelayOf::RoundTrip, mean, seed).unwrap(),
            })
            .collect(),
        messages: 2_000,
        covered_ratio: Some(0.998),
        incomplete: [("asking end: driver".to_owned(), 3)].into(),
        conversion_ns: 60,
        cost_ns: Some(1_500),
        missing: None,
    }));
    let known = ClosedLoopResult {
        delay: round_trip(0, 20e3),
        one_way,
        decomposition,
        ..ClosedLoopResult::default()
    };
    let unknown = ClosedLoopResult {
        delay: round_trip(1, 60e3),
        one_way: Some(Box::new(OneWay {
            missing: Some("the peer's clock is not in the messages".to_owned()),
            ..OneWay::default()
        })),
        ..ClosedLoopResult::default()
    };
    run.trials = vec![
        trial(0, "64 B, spin, idle", known),
        trial(1, "64 B, block, idle", unknown),
    ];
    run
}

/// Requests from idle to saturation.
pub(crate) fn rising() -> Run {
    let mut run = bare(RunKind::Latency);
    let loads = [
        (100.0, 30e3),
        (1e3, 31e3),
        (1e4, 40e3),
        (3e4, 300e3),
        (5e4, 9e6),
    ];
    let rate = PacketRate::from_pps;
    for (index, (load, median)) in (0..).zip(loads) {
        let unanswered = if load < 4e4 { 0 } else { 900 };
        let requests = Some(Requests {
            arrival: Arrival::Constant,
            intended_rate: Some(rate(load)),
            intended: PacketCount::new(5_000),
            unsent: PacketCount::new(0),
            sent: PacketCount::new(5_000),
            answered: PacketCount::new(5_000 - unanswered),
            unanswered: PacketCount::new(unanswered),
            late_answers: PacketCount::new(0),
            duplicated: PacketCount::new(0),
            reordered: PacketCount::new(0),
            answer_timeout: Duration::from_secs(1),
        });
        let work = OpenLoopResult {
            requests,
            delay: round_trip(index, median),
            ..OpenLoopResult::default()
        };
        let label = format!("64 B, block, {load}/s, idle");
        run.trials.push(trial(index, &label, work));
    }
    run.work = RunWork::Latency {
        curve: Some(CurveFacts {
            knee: Some(Knee {
                below: Some(rate(1e4)),
                above: Some(rate(3e4)),
                idle_p99_ns: 36e3,
                idle_p99_high_ns: 38e3,
                limit_p99_ns: 76e3,
                answered_in_full: Some(rate(3e4)),
                saturated: Some(rate(5e4)),
                sender_limited: false,
            }),
            ..CurveFacts::default()
        }),
        responsiveness: Vec::new(),
    };
    run
}

fn drawn(run: &Run, id: &str) -> Chart {
    let kind = charts::ALL.iter().find(|kind| kind.id == id).unwrap();
    match (kind.draw)(run) {
        Drawn::Charts(mut charts) => charts.remove(0),
        Drawn::Missing(why) => panic!("{id}: {why}"),
        Drawn::NotApplicable => panic!("{id} does not apply"),
    }
}

fn page(run: Run) -> String {
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    html.render(&report(&[run])).unwrap()
}

#[test]
fn a_summary_of_responsiveness_begins_with_round_trips_per_minute() {
    let mut run = bare(RunKind::Latency);
    run.trials = vec![Trial {
        valid: true,
        ..trial(
            0,
            "new connections, under 2 TCP streams, client → server",
            ClosedLoopResult {
                delay: round_trip(0, 80e3),
                ..ClosedLoopResult::default()
            },
        )
    }];
    let way = |direction, rpm| Responsiveness {
        direction,
        responsiveness_rpm: Some(rpm),
        handshake_ns: Some(30e3),
        request_ns: Some(20e3),
        in_band_ns: Some(90e3),
        connections: 10,
        failed_connections: 0,
        marks: 10,
        streams: 2,
        goodput: None,
        saturated: true,
    };
    run.work = RunWork::Latency {
        curve: None,
        responsiveness: vec![
            way(Direction::Forward, 840.2),
            way(Direction::Reverse, 1200.0),
        ],
    };
    let summary = summary_text(&run, None, 200, Style::Plain);
    let first = summary.lines().next().unwrap();
    let said = ": 840 round trips per minute under load client → server and 1200 round trips per minute under load server → client.";
    assert!(first.ends_with(said), "{summary}");
}

#[test]
fn one_way_delay_is_said_with_what_it_is_off_by() {
    insta::assert_snapshot!(details_text(&apart(), 96, Style::Plain));
    let page = page(apart());
    for said in ["One-way delay", "9.4 µs", "clock is not in the messages"] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn the_parts_of_a_round_trip_are_stacked_in_the_order_in_which_they_are_passed() {
    let chart = drawn(&apart(), "delay-parts");
    let names: Vec<_> = chart
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    insta::assert_snapshot!(format!(
        "{}\n{}\n{}",
        chart.title,
        chart.caption,
        names.join("\n")
    ));
    let places: std::collections::BTreeSet<_> = chart
        .series
        .iter()
        .map(|series| format!("{:?}", series.role))
        .collect();
    assert_eq!(
        places.len(),
        Stage::ALL.len(),
        "each part has a colour of its own"
    );
}

#[test]
fn the_knee_of_a_curve_is_marked_between_the_loads_that_it_lies_between() {
    let chart = drawn(&rising(), "request-load");
    let [band] = &chart.bands[..] else {
        panic!("{:?}", chart.bands);
    };
    assert_eq!((band.from, band.to), (Some(1e4), Some(3e4)));
    insta::assert_snapshot!(chart.caption);
    insta::assert_snapshot!(details_text(&rising(), 96, Style::Plain));
}

#[test]
fn what_should_be_known_of_valid_trials_is_said_once_each() {
    let mut run = bare(RunKind::Latency);
    for index in 0..3 {
        let mut trial = trial(index, "64 B", ClosedLoopResult::default());
        trial.reasons = vec!["sender: the exchange stood still".to_owned()];
        run.trials.push(trial);
    }
    let text = details_text(&run, 96, Style::Plain);
    let said: Vec<_> = text
        .lines()
        .filter(|line| line.contains("stood still"))
        .collect();
    assert_eq!(said.len(), 1, "{text}");
    assert!(!said[0].contains("trial 0"), "{text}");
}

/// Three conditions, of which the last does not count, and a fourth of which nothing was measured.
fn partly_invalid() -> Run {
    let mut run = apart();
    let measured = ClosedLoopResult {
        delay: round_trip(2, 40e3),
        ..ClosedLoopResult::default()
    };
    run.trials.push(trial(2, "64 B, busy-poll, idle", measured));
    let nothing = ClosedLoopResult::default();
    run.trials.push(trial(3, "64 B, epoll, idle", nothing));
    for (trial, why) in run.trials[2..].iter_mut().zip(["the core was shared", ""]) {
        trial.valid = false;
        trial.reasons = [why.to_owned()]
            .into_iter()
            .filter(|why| !why.is_empty())
            .collect();
    }
    run
}

#[test]
fn conditions_that_do_not_count_have_their_rows_and_their_reasons() {
    let run = partly_invalid();
    for text in [
        summary_text(&run, None, 120, Style::Plain),
        details_text(&run, 120, Style::Plain),
    ] {
        let row = |name: &str| {
            text.lines()
                .find(|line| line.contains(name))
                .unwrap()
                .to_owned()
        };
        assert!(
            row("64 B, busy-poll, idle, invalid ").contains("20"),
            "{text}"
        );
        assert!(row("64 B, epoll, idle, invalid ").contains('–'), "{text}");
        assert!(text.contains("trial 2 (64 B, busy-poll, idle) invalid: the core was shared"));
        assert!(text.contains("trial 3 (64 B, epoll, idle) invalid: no reason is given"));
    }
    let chart = drawn(&run, "mode-rank");
    let invalid = chart
        .series
        .iter()
        .find(|one| one.name.contains("does not count"));
    let points = serde_json::json!(invalid.unwrap().points);
    assert_eq!(points.as_array().unwrap().len(), 1);
    // Below the ranking: the first row is the lowest.
    assert_eq!(points[0][1], serde_json::json!(0.0));
    let last = |row: &[linerate_report::Cell]| row.last().unwrap().text.clone();
    let counts: Vec<_> = chart.table.rows.iter().map(|row| last(row)).collect();
    assert_eq!(
        counts,
        [
            "yes",
            "yes",
            "no: the core was shared",
            "no: no reason is given"
        ]
    );
    let page = page(run);
    assert!(page.contains("2 of 4 trials do not count"));
    assert!(page.contains("64 B, busy-poll, idle · invalid"));
}

#[test]
fn where_no_condition_counts_their_figures_are_shown_all_the_same() {
    let mut run = apart();
    for trial in &mut run.trials {
        trial.valid = false;
        trial.reasons = vec!["the core was shared".to_owned()];
    }
    let text = details_text(&run, 120, Style::Plain);
    assert!(text.contains("64 B, spin, idle, invalid "), "{text}");
}
