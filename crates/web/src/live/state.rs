//! What is known of a test under way: made of the events that `linerate --stream` prints, line by line.
//!
//! Pure. What a line does not tell stays unknown; a line that is none of them is left out.

use linerate_model::run::Run;
use linerate_report::{Style, summary_text};
use serde::Serialize;
use serde_json::{Value, json};

/// Most intervals, trials and notes that are kept of a test: more than anybody looks at.
const MAX_KEPT: usize = 4000;

/// Columns of the words at the end.
const COLUMNS: usize = 90;

/// How far a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// None was started yet.
    #[default]
    Idle,
    /// The peer has not answered yet.
    Connecting,
    /// Trials are made.
    Measuring,
    /// Its own trials are made; more show what limits.
    Probing,
    /// It is over.
    Ended,
}

/// A test, from its start to its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct TestState {
    pub(crate) phase: Phase,
    /// The command line, for people.
    pub(crate) command: String,
    pub(crate) target: String,
    /// Intended load as it was asked for; absent where none was.
    pub(crate) intended: Option<String>,
    /// What linerate itself does at most on this host; absent before `linerate calibrate`.
    pub(crate) ceiling: Option<String>,
    pub(crate) title: String,
    /// What is known of both hosts.
    pub(crate) hosts: Value,
    /// Share of the test that is done, 0 to 1.
    pub(crate) share_ratio: f64,
    pub(crate) elapsed_s: f64,
    pub(crate) text: String,
    pub(crate) intervals: Vec<Value>,
    pub(crate) trials: Vec<Value>,
    pub(crate) notes: Vec<String>,
    pub(crate) is_stopping: bool,
    pub(crate) outcome: Option<Outcome>,
}

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Outcome {
    /// The run, if one was kept.
    pub(crate) run: Option<String>,
    /// The verdict in one sentence; absent where the run has none.
    pub(crate) verdict: Option<String>,
    /// What a terminal shows, or why there is no result.
    pub(crate) words: String,
}

/// An event for browsers: its name, and its data.
pub(crate) type NamedEvent = (&'static str, Value);

impl TestState {
    /// Takes a line of the stream in.
    pub(crate) fn line(&mut self, line: &str) -> Option<NamedEvent> {
        let mut event: Value = serde_json::from_str(line).ok()?;
        if event["schema"].is_string() {
            let run: Run = serde_json::from_str(line).ok()?;
            self.outcome = Some(Outcome {
                run: Some(run.id.clone()),
                verdict: run.verdict.as_ref().map(|verdict| verdict.claim.clone()),
                words: summary_text(&run, None, COLUMNS, Style::Plain),
            });
            return None;
        }
        let text = |event: &Value| event["text"].as_str().unwrap_or_default().to_owned();
        let name = match event["event"].as_str()? {
            "began" => {
                // What follows a run names no hosts.
                if self.phase == Phase::Measuring && !event["hosts"].is_array() {
                    self.phase = Phase::Probing;
                } else {
                    self.phase = Phase::Measuring;
                    event["title"].as_str()?.clone_into(&mut self.title);
                    self.hosts = event["hosts"].take();
                }
                event = json!({"phase": self.phase, "title": self.title, "hosts": self.hosts});
                "began"
            }
            "progress" => {
                self.share_ratio = event["share_ratio"].as_f64()?;
                self.elapsed_s = event["elapsed_s"].as_f64()?;
                self.text = text(&event);
                "progress"
            }
            "interval" => {
                push(&mut self.intervals, event.clone());
                "interval"
            }
            "trial" => {
                event = shortened(&event["trial"]);
                event["is_probe"] = json!(self.phase == Phase::Probing);
                push(&mut self.trials, event.clone());
                "trial"
            }
            "note" => {
                push(&mut self.notes, text(&event));
                "note"
            }
            _ => return None,
        };
        Some((name, event))
    }

    /// The program has ended: `said` is what it wrote as errors.
    pub(crate) fn ended(&mut self, said: &str) -> NamedEvent {
        self.phase = Phase::Ended;
        let outcome = self.outcome.get_or_insert_with(|| Outcome {
            run: None,
            verdict: None,
            words: String::new(),
        });
        if outcome.words.is_empty() {
            said.trim().clone_into(&mut outcome.words);
        }
        ("ended", json!(outcome))
    }
}

fn push<T>(kept: &mut Vec<T>, one: T) {
    if kept.len() < MAX_KEPT {
        kept.push(one);
    }
}

/// Of a trial what is shown meanwhile: its raw reports are large.
fn shortened(trial: &Value) -> Value {
    const SHOWN: [&str; 11] = [
        "index",
        "valid",
        "direction",
        "intended_bps",
        "offered_bps",
        "received_bps",
        "duration_s",
        "packets",
        "ledger",
        "reasons",
        "mode",
    ];
    let mut short = serde_json::Map::new();
    for key in SHOWN {
        if let Some(value) = trial.get(key) {
            short.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(delay) = trial["delay"].as_object() {
        let quantiles = delay.iter().filter(|(_, value)| value.is_number());
        let quantiles = quantiles.map(|(key, value)| (key.clone(), value.clone()));
        short.insert("delay".to_owned(), Value::Object(quantiles.collect()));
    }
    Value::Object(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_stream_become_the_state_and_others_are_left_out() {
        let mut state = TestState::default();
        let lines = [
            r#"{"event":"began","kind":"udp","title":"UDP to board","hosts":[{"role":"client"}]}"#,
            r#"{"event":"progress","share_ratio":0.5,"text":"94 Mbit/s","elapsed_s":5.0}"#,
            r#"{"event":"interval","end_s":1.0,"received_bps":94000000}"#,
            r#"{"event":"note","text":"the clock was set"}"#,
            r#"{"event":"trial","trial":{"index":0,"valid":true,"endpoints":[1,2,3],"ledger":[],"delay":{"p50_ns":7,"histogram":"x"}}}"#,
            r#"{"event":"something-new"}"#,
            "not JSON",
        ];
        let events: Vec<_> = lines.iter().filter_map(|line| state.line(line)).collect();
        let names: Vec<_> = events.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["began", "progress", "interval", "note", "trial"]);
        assert_eq!(
            events[4].1,
            json!({"index": 0, "valid": true, "ledger": [], "delay": {"p50_ns": 7}, "is_probe": false})
        );
        assert_eq!(state.phase, Phase::Measuring);
        assert_eq!(
            (state.title.as_str(), state.text.as_str()),
            ("UDP to board", "94 Mbit/s")
        );
        assert_eq!(
            (state.intervals.len(), state.trials.len(), state.notes.len()),
            (1, 1, 1)
        );
    }

    #[test]
    fn probes_after_a_test_do_not_take_its_place() {
        let mut state = TestState::default();
        state.line(r#"{"event":"began","title":"UDP to board","hosts":[]}"#);
        let (_, began) = state
            .line(r#"{"event":"began","title":"what limits"}"#)
            .unwrap();
        assert_eq!(
            began,
            json!({"phase": "probing", "title": "UDP to board", "hosts": []})
        );
        let (_, trial) = state
            .line(r#"{"event":"trial","trial":{"index":0}}"#)
            .unwrap();
        assert_eq!(trial["is_probe"], json!(true));
    }

    #[test]
    fn a_test_without_a_result_ends_with_the_reason() {
        let mut state = TestState::default();
        let (name, outcome) = state.ended("linerate: cannot reach board\n");
        assert_eq!((name, state.phase), ("ended", Phase::Ended));
        assert_eq!(outcome["words"], "linerate: cannot reach board");
        assert!(outcome["run"].is_null() && outcome["verdict"].is_null());
    }
}
