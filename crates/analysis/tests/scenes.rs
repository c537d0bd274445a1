//! Verdicts on composed scenes whose limit was measured: none may change unseen.
//!
//! `make verdicts-guard` plays scenes and keeps three files of each set beside this test: the runs, reduced to what a
//! verdict can be drawn from (`SET.runs.jsonl.gz`), what was measured to limit them (`SET.labels.jsonl`), and what is said
//! of them (`SET.verdicts.txt`, a line each). Of the set `fitted` the table of likelihoods is made; nothing is ever fitted
//! to `judged`. Where a change of the diagnosis is meant to change verdicts, `LINERATE_SCENES=write cargo test -p
//! linerate-analysis --test scenes` writes the lines anew: the difference shows what got better and what got worse.
#![expect(clippy::unwrap_used, reason = "a test")]

#[path = "scenes/replay.rs"]
mod replay;

use flate2::read::GzDecoder;
use linerate_model::run::{Confidence, Run};
use replay::{is_right, named, replayed};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

/// A scene of `SET.runs.jsonl.gz`.
#[derive(Deserialize)]
struct Scene {
    scene: String,
    run: Run,
}

/// A scene of `SET.labels.jsonl`.
#[derive(Deserialize)]
struct Label {
    scene: String,
    /// The limit whose relief gains by far the most; several, joined by " or ", where each is right.
    limit: String,
    /// Whether other programs took CPU time from one of the tests that measured it.
    disturbed: bool,
}

fn path(set: &str, kind: &str) -> PathBuf {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "scenes"]
        .iter()
        .collect();
    folder.join(format!("{set}.{kind}"))
}

fn runs(set: &str) -> Vec<Scene> {
    let file = fs::File::open(path(set, "runs.jsonl.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let scene = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{set}: {error}"));
    text.lines().map(scene).collect()
}

fn labels(set: &str) -> BTreeMap<String, Label> {
    let text = fs::read_to_string(path(set, "labels.jsonl")).unwrap();
    let labels = text.lines().map(|line| {
        let label: Label = serde_json::from_str(line).unwrap();
        (label.scene.clone(), label)
    });
    labels.collect()
}

/// Whether a verdict of this confidence is to be relied on.
const fn word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Weak => "weak",
        Confidence::Supported => "supported",
        Confidence::Confirmed => "confirmed",
    }
}

/// A line for each scene: what was said, how surely, and whether that is what was measured.
fn verdicts(set: &str) -> String {
    let labels = labels(set);
    let mut text = String::new();
    let (mut right, mut wrong) = ([0, 0], [0, 0]);
    let scenes = runs(set);
    for Scene { scene, run } in &scenes {
        let label = &labels[scene];
        let (verdict, _) = replayed(run);
        let (said, sure) = (named(&verdict), verdict.confidence != Confidence::Weak);
        let mark = if is_right(&label.limit, said) {
            right[usize::from(sure)] += 1;
            "right"
        } else if verdict.limit.is_unknown() {
            "not identified"
        } else {
            wrong[usize::from(sure)] += 1;
            "WRONG"
        };
        let beside = if label.disturbed { ", disturbed" } else { "" };
        let confidence = word(verdict.confidence);
        writeln!(
            text,
            "{scene}: {} | {said} ({confidence}) | {mark}{beside}",
            label.limit
        )
        .unwrap();
    }
    writeln!(
        text,
        "{} scenes: {} right and supported, {} right and weak, {} wrong and weak, {} wrong and supported",
        scenes.len(),
        right[1],
        right[0],
        wrong[0],
        wrong[1]
    )
    .unwrap();
    text
}

fn stay(set: &str) {
    let (path, said) = (path(set, "verdicts.txt"), verdicts(set));
    if std::env::var_os("LINERATE_SCENES").is_some_and(|word| word == "write") {
        fs::write(path, said).unwrap();
        return;
    }
    let before = fs::read_to_string(path).unwrap();
    let changes = before.lines().zip(said.lines()).filter(|(a, b)| a != b);
    let changes: Vec<String> = changes.map(|(a, b)| format!("- {a}\n+ {b}")).collect();
    assert!(before == said, "{set}:\n{}", changes.join("\n"));
}

#[test]
fn no_verdict_on_a_judged_scene_changes_unseen() {
    stay("judged");
}

#[test]
fn no_verdict_on_a_fitted_scene_changes_unseen() {
    stay("fitted");
}
