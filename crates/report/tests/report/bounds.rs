//! What a search says of a path in every document: bounds that the path made, no mean over several loads, and an outage
//! before all else.

use crate::runs::{board_sends, demo, report, search, tcp};
use linerate_model::run::{
    BoundedBy, Confidence, Finding, RuleOutcome, Run, RunWork, TrialInterval,
};
use linerate_model::spec::Direction;
use linerate_model::{BitRate, Quantity};
use linerate_report::{Style, details_text, renderers, summary_text};
use std::time::Duration;

/// Columns that hold every line.
const WIDE: usize = 500;

fn summary(run: &Run) -> String {
    summary_text(run, None, WIDE, Style::Plain)
}

/// A search whose goals all have these bounds, in bit/s.
fn bounded(low: u64, high: u64, by: BoundedBy) -> Run {
    let mut run = search(Direction::Forward);
    if let RunWork::Saturate { goals, .. } = &mut run.work {
        for goal in goals {
            goal.lower_bound = Some(BitRate::from_bps(low));
            goal.upper_bound = Some(BitRate::from_bps(high));
            goal.bounded_by = Some(by);
        }
    }
    run
}

/// All that is written of a run for people, but the document itself.
fn written(run: &Run) -> Vec<(&'static str, String)> {
    let runs = std::slice::from_ref(run);
    let rendered = renderers::ALL.iter().map(|renderer| {
        let text = renderer.render(&report(runs)).unwrap();
        // The document itself is at the end of a page.
        let text = text.split("<script type=\"application/json\"").next();
        (renderer.id, text.unwrap_or_default().to_owned())
    });
    let texts = [
        ("summary", summary(run)),
        ("details", details_text(run, WIDE, Style::Plain)),
    ];
    rendered
        .filter(|(id, _)| *id != "json")
        .chain(texts)
        .collect()
}

#[test]
fn a_sender_s_own_limit_is_no_upper_bound_of_the_path() {
    for by in [BoundedBy::Sender, BoundedBy::Limit] {
        let run = bounded(3_908_000, 3_908_400, by);
        for (id, text) in written(&run) {
            assert!(!text.contains("3.908–"), "{id}, {by:?}");
            assert!(!text.contains("–3.908"), "{id}, {by:?}");
        }
        let summary = summary(&run);
        assert!(summary.contains("at least 3.908 Mbit/s"), "{summary}");
        let wide = bounded(59_950_000, 113_700_000, by);
        for (id, text) in written(&wide) {
            assert!(!text.contains("59.95–"), "{id}, {by:?}");
        }
    }
}

#[test]
fn a_demonstration_names_a_search_without_an_upper_bound() {
    let mut run = demo();
    run.parts_mut().unwrap()[3] = bounded(3_908_000, 3_908_400, BoundedBy::Sender);
    let said = summary(&run);
    let figures = "UDP carries 93.2 Mbit/s there and at least 3.908 Mbit/s back";
    assert!(said.contains(figures), "{said}");
}

#[test]
fn no_interval_has_two_equal_ends() {
    let run = bounded(3_908_000, 3_908_400, BoundedBy::Loss);
    for (id, text) in written(&run) {
        assert!(!text.contains("3.908–3.908"), "{id}");
    }
}

/// Two tests of one log at 40 and 140 Mbit/s: there is no load between them.
#[test]
fn tests_of_several_loads_have_no_mean() {
    let mut run = board_sends();
    run.trials.truncate(2);
    let rates = [(40_000_000, 40_000_000), (140_000_000, 91_300_000)];
    for (trial, (intended, received)) in run.trials.iter_mut().zip(rates) {
        trial.intended_load = Some(BitRate::from_bps(intended));
        trial.received_rate = Some(BitRate::from_bps(received));
        trial.set_rounding(Quantity::ReceivedRate, None);
    }
    let said = summary(&run);
    assert!(!said.contains("65.65"), "{said}");
    for figure in [
        "40 Mbit/s received at 40 Mbit/s intended",
        "91.3 Mbit/s received at 140 Mbit/s intended",
    ] {
        assert!(said.contains(figure), "{said}");
    }
    for trial in &mut run.trials {
        trial.intended_load = None;
    }
    for (id, text) in written(&run) {
        assert!(!text.contains("65.65"), "{id}: {text}");
    }
}

#[test]
fn an_outage_is_in_the_first_line_whatever_limits() {
    let mut run = tcp(Direction::Forward);
    let mut outage = run.verdict.clone().unwrap();
    outage.limit = linerate_model::run::Limit::new("outage", "an outage of the path");
    outage.claim = "Nothing arrived from 2.92 s to 6.08 s: 3.16 s of 8 s.".to_owned();
    outage.confidence = Confidence::Weak;
    run.findings.push(Finding {
        rule: "outage".to_owned(),
        outcome: RuleOutcome::Found {
            verdict: outage.into(),
        },
    });
    let said = summary(&run);
    let first = said.lines().next().unwrap();
    assert!(
        first.contains("; nothing arrived from 2.92 s to 6.08 s: 3.16 s of 8 s;"),
        "{first}"
    );
}

/// Silence that no cause explains as an outage of the path is said as well.
#[test]
fn seconds_of_silence_are_in_the_first_line_whoever_was_why() {
    let mut run = tcp(Direction::Forward);
    let second = |at: u64, bps| TrialInterval {
        start: Duration::from_secs(at),
        end: Duration::from_secs(at + 1),
        received_rate: Some(BitRate::from_bps(bps)),
        ..TrialInterval::default()
    };
    let rates = [90_000_000, 0, 90_000_000, 0, 0, 0, 90_000_000];
    run.trials[0].intervals = (0..).zip(rates).map(|(at, bps)| second(at, bps)).collect();
    let said = summary(&run);
    let first = said.lines().next().unwrap();
    assert!(
        first.contains("; nothing arrived from 3 s to 6 s;"),
        "{first}"
    );
}
