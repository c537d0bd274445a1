//! Version 1 of the run document, `linerate/run/1`, as the version of today.
//!
//! Keys that mean the same keep their names, so a document is changed in place, as JSON, before it is decoded.
//! Does not write version 1. Frozen: `schema/run-1.json` and the runs in `tests/v1/`.

mod config;

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

/// The elements of the array at `key`; none if there is no array.
fn elements<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Value> {
    let array = object.get_mut(key).and_then(Value::as_array_mut);
    array.into_iter().flatten()
}
