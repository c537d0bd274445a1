//! Changes of shared series: the same as apache-otava's, but for what it does otherwise, each of which is made the same
//! in turn (`steps.py`).
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

mod series;

use linerate_analysis::changes::{Rules, change_points};
use linerate_testkit::python::environment;
use serde::Deserialize;
use serde_json::json;
use series::{Series, measured, synthetic};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// The steps of `steps.py`, in their order.
const STEPS: [&str; 4] = ["as it is", "segments", "variance", "neighbours"];

#[derive(Debug, Deserialize, Clone, Copy)]
struct Change {
    at: usize,
    p: f64,
}

/// What otava finds in a series, at each step.
type Answer = BTreeMap<String, Vec<Change>>;

fn asked(series: &[Series], rules: &Rules) -> Vec<Answer> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python = environment(target, "apache-otava==0.8.0").join("python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otava/steps.py");
    let mut otava = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let values: Vec<_> = series.iter().map(|one| &one.values).collect();
    let asked = json!({
        "series": values, "max_p": rules.max_p, "window": rules.window, "min_stretch": rules.min_stretch,
    });
    // It reads all before it writes anything.
    serde_json::to_writer(otava.stdin.take().unwrap(), &asked).unwrap();
    let output = otava.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "steps.py ended with {}",
        output.status
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn places(changes: &[Change]) -> Vec<usize> {
    changes.iter().map(|change| change.at).collect()
}

fn own(series: &Series, rules: &Rules) -> Vec<Change> {
    let changes = change_points(&series.values, rules).into_iter();
    changes
        .map(|change| Change {
            at: change.at,
            p: change.p,
        })
        .collect()
}

/// Compares all of `series`; how many are the same from which step on.
fn compared(series: &[Series], rules: &Rules) -> BTreeMap<&'static str, usize> {
    let answers = asked(series, rules);
    assert_eq!(answers.len(), series.len());
    let mut same_since = BTreeMap::new();
    for (one, otavas) in series.iter().zip(&answers) {
        let own = own(one, rules);
        let is_same = |step: &&str| places(&otavas[*step]) == places(&own);
        let since = STEPS.into_iter().find(is_same).unwrap_or("never");
        *same_since.entry(since).or_default() += 1;
        if since != STEPS[0] {
            let otavas = places(&otavas[STEPS[0]]);
            println!(
                "{}, p ≤ {}: {:?}, otava {otavas:?}, the same since: {since}",
                one.name,
                rules.max_p,
                places(&own)
            );
        }
        let last = &otavas[STEPS[3]];
        assert_eq!(places(&own), places(last), "{}: {:?}", one.name, one.values);
        for (ours, otavas) in own.iter().zip(last) {
            let is_close = (ours.p - otavas.p).abs() <= 1e-12 + 1e-6 * otavas.p;
            assert!(is_close, "{}: {ours:?}, {otavas:?}", one.name);
        }
    }
    same_since
}

#[test]
#[ignore = "needs Python and PyPI"]
fn changes_are_those_of_otava() {
    for (kind, series) in [("synthetic", synthetic()), ("measured", measured())] {
        for max_p in [Rules::default().max_p, 1e-3] {
            let rules = Rules {
                max_p,
                ..Rules::default()
            };
            let same_since = compared(&series, &rules);
            println!(
                "{} {kind} series, p ≤ {max_p}: the same since {same_since:?}",
                series.len()
            );
        }
    }
}
