//! Version 1 of the run document, `linerate/run/1`, as the version of today.
//!
//! Keys that mean the same keep their names, so a document is changed in place, as JSON, before it is decoded.
//! Does not write version 1. Frozen: `schema/run-1.json` and the runs in `tests/v1/`.

mod config;
mod stream;

use linerate_model::run;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The schema id of version 1.
pub(crate) const SCHEMA: &str = "linerate/run/1";

/// Turns a run of version 1, and the runs that it is made of, into one of today's version.
pub(crate) fn upgrade_run(run: &mut Value) {
    let Some(run) = run.as_object_mut() else {
        return;
    };
    run.insert("schema".to_owned(), json!(run::SCHEMA));
    if let Some(Value::Object(asked)) = run.remove("config") {
        let jitter = asked.get("values").and_then(|values| values.get(JITTER));
        let jitter = jitter.and_then(Value::as_array).cloned();
        for (trial, seconds) in elements(run, "trials").zip(jitter.unwrap_or_default()) {
            set_jitter(trial, &seconds);
        }
        let config = serde_json::to_value(config::upgraded(run.get("kind"), &asked));
        run.insert("config".to_owned(), config.unwrap_or_else(|_| json!({})));
    }
    let is_latency = run.get("kind").is_some_and(|kind| kind == "latency");
    let is_import = run.contains_key("source");
    elements(run, "trials").for_each(|trial| {
        upgrade_trial(trial, is_latency);
        if is_import && let Some(trial) = trial.as_object_mut() {
            trial.insert("origin".to_owned(), json!("imported"));
        }
    });
    let experiments = elements(run, "experiments").filter_map(Value::as_object_mut);
    for trial in experiments.flat_map(|experiment| elements(experiment, "trials")) {
        if let Some(trial) = trial.get_mut("trial") {
            upgrade_trial(trial, is_latency);
        }
    }
    elements(run, "parts").for_each(upgrade_run);
}

/// Where version 1 kept the jitter of imported trials, in their order.
const JITTER: &str = "rtp-jitter-s";

fn set_jitter(trial: &mut Value, seconds: &Value) {
    let jitter = seconds
        .as_f64()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let nanos = jitter.and_then(|jitter| u64::try_from(jitter.as_nanos()).ok());
    if let (Some(trial), Some(nanos)) = (trial.as_object_mut(), nanos) {
        trial.insert("rtp_jitter_ns".to_owned(), json!(nanos));
    }
}

/// Turns a trial that linerate measured, alone or for a latency run, into one of today's version.
pub(crate) fn upgrade_trial(trial: &mut Value, is_latency: bool) {
    let Some(trial) = trial.as_object_mut() else {
        return;
    };
    stream::upgrade_raw(trial);
    let work = work(trial, is_latency);
    trial.insert("work".to_owned(), json!(work));
    trial.insert("origin".to_owned(), json!("measured"));
}

/// The kind of work of a trial, which version 1 tells by the keys that are there.
fn work(trial: &Map<String, Value>, is_latency: bool) -> &'static str {
    let has = |key: &str| trial.contains_key(key);
    let is_udp = trial.get("transport").is_some_and(|name| name == "udp");
    let timed = trial
        .get("delay")
        .and_then(|delay| delay.get("of"))
        .and_then(Value::as_str);
    if has("requests") || timed == Some("response-time") {
        "open-loop"
    } else if has("handshake") {
        "connections"
    } else if is_latency && (is_udp || timed.is_some()) {
        "closed-loop"
    } else if is_udp {
        "datagrams"
    } else {
        "byte-stream"
    }
}

/// The elements of the array at `key`; none if there is no array.
fn elements<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Value> {
    let array = object.get_mut(key).and_then(Value::as_array_mut);
    array.into_iter().flatten()
}
