//! A comparison as its readers get it.

use crate::poison::HOSTILE;
use crate::runs::made;
use linerate_model::comparison::{
    Basis, BetterWhen, CompareAnswer, CompareVerdict, Compared, ComparedCell, ComparedSide,
    Comparison, Control, Difference, Machines, MetricComparison, Pair, SCHEMA, SameMachines,
    Unpaired,
};
use linerate_model::run::{HostRole, RunKind, Tool};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{ByteCount, Estimate, Interval, Quantity, Ratio};
use linerate_report::Style;
use linerate_report::document::{DocumentFormat, as_text, render};

fn estimate(point: f64, spread: f64, n: u64) -> Estimate {
    Estimate {
        point,
        interval: (spread > 0.0).then_some(Interval {
            low: point * (1.0 - spread),
            high: point * (1.0 + spread),
        }),
        confidence_ratio: 0.95,
        n,
    }
}

fn metric(id: &str, words: &str, (a, b): (f64, f64), n: u64) -> MetricComparison {
    let shown = n > 1;
    MetricComparison {
        metric: Quantity::from_key(id).unwrap(),
        words: words.to_owned(),
        better: BetterWhen::Lower,
        a: estimate(a, 0.01, n),
        b: estimate(b, 0.01, n),
        ratio: Some(estimate(b / a, 0.02, 2 * n)),
        difference: None,
        basis: if shown {
            Basis::BetweenTrials
        } else {
            Basis::WithinTrial
        },
        p: shown.then_some(0.0001),
        p_adjusted: shown.then_some(0.002),
        verdict: match (shown, b < a) {
            (false, _) => CompareVerdict::NoDifferenceShown,
            (true, true) => CompareVerdict::Faster,
            (true, false) => CompareVerdict::Slower,
        },
        within_threshold: false,
        decides: true,
        answer: match (shown, b < a) {
            (false, _) => CompareAnswer::CannotTell,
            (true, true) => CompareAnswer::NoRegression,
            (true, false) => CompareAnswer::Regression,
        },
        power: None,
        why: (!shown).then(|| "n = 1 on both sides".to_owned()),
    }
}

fn cell(size: u64, mode: &str) -> ComparedCell {
    ComparedCell {
        name: format!("UDP, {size} B, {mode}"),
        kind: RunKind::Latency,
        part: None,
        transport: Some(Transport::Udp),
        direction: Some(Direction::Forward),
        payload_bytes: Some(ByteCount::new(size)),
        streams: Some(1),
        mode: Some(mode.to_owned()),
        intended_load: None,
        goal: None,
    }
}

fn side(name: &str) -> Compared {
    Compared {
        name: name.to_owned(),
        id: name.to_owned(),
        kind: RunKind::Latency,
        title: Some(format!("UDP latency to {name}")),
        started: None,
        tool: Tool {
            name: "linerate".to_owned(),
            version: Some("0.1.0".to_owned()),
        },
    }
}

fn unpaired(text: &str) -> Unpaired {
    Unpaired {
        side: ComparedSide::B,
        cell: cell(7, text),
        why: "the nearest of A has payload 32 B".to_owned(),
    }
}

fn wait_differs() -> Difference {
    Difference {
        role: None,
        what: "wait".to_owned(),
        a: Some("spin".to_owned()),
        b: None,
    }
}

/// Sizes in two modes; with `text` wherever a run could have put it.
pub(crate) fn comparison(text: &str) -> Comparison {
    let mut pairs = Vec::new();
    for (mode, factor) in [("spin, idle", 0.8), (text, 1.3)] {
        for size in [32, 256, 1024, 16_384] {
            let base = 6_000.0 + 0.2 * f64::from(u32::try_from(size).unwrap());
            let n = if size == 1024 { 1 } else { 10 };
            let p50 = metric(
                "half_round_trip_p50_ns",
                "half round trip, p50",
                (base, base * factor),
                n,
            );
            let loss = MetricComparison {
                ratio: None,
                difference: Some(estimate(0.012, 0.1, 20)),
                ..metric("loss_ratio", "loss", (0.001, 0.013), 10)
            };
            pairs.push(Pair {
                cell: cell(size, mode),
                assumed: vec![format!("mode {mode} (A does not tell)")],
                metrics: vec![p50, loss],
            });
        }
    }
    Comparison {
        schema: SCHEMA.to_owned(),
        a: side("base"),
        b: side(text),
        threshold_ratio: Ratio::clamped(0.02),
        loss_threshold_ratio: Ratio::clamped(0.001),
        confidence_ratio: 0.95,
        tested: 14,
        faster: 3,
        slower: 11,
        not_shown: 2,
        regression: true,
        answer: CompareAnswer::Regression,
        sensitivity_ratio: Ratio::clamped(0.05),
        loss_sensitivity_ratio: Ratio::clamped(0.0025),
        control: Some(Control {
            repetitions: 10,
            seed: 1,
            false_alarms: vec![text.to_owned()],
        }),
        machines: Machines {
            same: SameMachines::Different,
            differences: vec![Difference {
                role: Some(HostRole::Client),
                what: "cpu".to_owned(),
                a: Some("a processor of eight cores".to_owned()),
                b: Some(text.to_owned()),
            }],
        },
        settings: vec![wait_differs()],
        pairs,
        unpaired: vec![unpaired(text)],
        notes: vec![format!("measured on different machines: {text}")],
    }
}

/// The comparison as a file.
pub(crate) fn as_file(comparison: &Comparison, format: DocumentFormat) -> String {
    render(comparison, format, &made()).unwrap()
}

#[test]
fn a_comparison_in_text_and_csv() {
    let comparison = comparison("block, idle");
    let text = as_text(&comparison, 110, Style::Plain);
    assert!(
        text.lines().all(|line| line.chars().count() <= 110),
        "{text}"
    );
    insta::assert_snapshot!("comparison-text", text);
    let csv = as_file(&comparison, DocumentFormat::Csv);
    assert_eq!(csv.lines().count(), 1 + 16);
    let columns = csv.lines().next().unwrap().matches(',').count();
    assert!(
        csv.lines()
            .nth(1)
            .unwrap()
            .starts_with("\"UDP, 32 B, spin, idle\",latency,udp,forward,32,1,")
    );
    assert!(columns > 20);
}

#[test]
fn a_pull_request_sees_the_conclusion_first_and_what_is_worse_before_the_rest() {
    let markdown = as_file(&comparison("block, idle"), DocumentFormat::Markdown);
    insta::assert_snapshot!("comparison-markdown", markdown);
    let rows: Vec<_> = markdown
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    assert!(markdown.starts_with("### ❌ Regression: "));
    assert!(
        rows[1].ends_with("| worse |") || rows[1].ends_with("| slower |"),
        "{rows:#?}"
    );
    assert!(markdown.contains("<details>"), "the rest folds away");
}

#[test]
fn a_ci_system_sees_a_case_for_each_metric() {
    let comparison = comparison("<block>\u{1b}");
    let xml = as_file(&comparison, DocumentFormat::Junit);
    let metrics = || comparison.pairs.iter().flat_map(|pair| &pair.metrics);
    let count = |answer| metrics().filter(|metric| metric.answer == answer).count();
    let [worse, open] = [CompareAnswer::Regression, CompareAnswer::CannotTell].map(count);
    assert!(worse > 0 && open > 0, "both are shown");
    let counts = format!("tests=\"16\" failures=\"{worse}\" errors=\"{open}\" skipped=\"0\"");
    assert!(xml.contains(&counts), "{counts} is not in {xml}");
    assert_eq!(xml.matches("<failure message=").count(), worse);
    assert!(
        xml.contains("<failure message=\"slower: B against A 1.300 ("),
        "{xml}"
    );
    let why = "<error message=\"cannot tell whether B is worse: n = 1 on both sides\">";
    assert_eq!(xml.matches(why).count(), open);
    assert!(!xml.contains("<block>") && !xml.contains('\u{1b}'), "{xml}");
}

#[test]
fn strings_of_a_comparison_stay_text() {
    let hostile = comparison(HOSTILE);
    let page = as_file(&hostile, DocumentFormat::Html);
    let page = page.split("id=\"chart-data\"").next().unwrap();
    assert!(!page.contains("<script>document"));
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;script&gt;document"));
    assert!(page.contains("default-src 'none'"));
    let text = as_text(&hostile, 110, Style::Plain);
    assert!(!text.contains(['\u{1b}', '\u{202e}']));
    let markdown = as_file(&hostile, DocumentFormat::Markdown);
    assert!(
        !markdown.contains(['\u{1b}', '\u{202e}']) && !markdown.contains("<script"),
        "{markdown}"
    );
    assert!(!markdown.contains("<img"), "{markdown}");
    assert!(!as_file(&hostile, DocumentFormat::Csv).contains(['\u{1b}', '\u{202e}']));
}
