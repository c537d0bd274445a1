//! Version 1 of the run document, `linerate/run/1`, as the version of today.
//!
//! Keys that mean the same keep their names, so a document is changed in place, as JSON, before it is decoded.
//! Does not write version 1. Frozen: `schema/run-1.json` and the runs in `tests/v1/`.

mod config;

use linerate_model::run;
use serde_json::{Map, Value, json};

/// The schema id of version 1.
pub(crate) const SCHEMA: &str = "linerate/run/1";

/// Turns a run of version 1, and the runs that it is made of, into one of today's version.
pub(crate) fn upgrade_run(run: &mut Value) {
    let Some(run) = run.as_object_mut() else {
        return;
    };
    run.insert("schema".to_owned(), json!(run::SCHEMA));
    if let Some(Value::Object(asked)) = run.remove("config") {
        let config = serde_json::to_value(config::upgraded(run.get("kind"), &asked));
        run.insert("config".to_owned(), config.unwrap_or_else(|_| json!({})));
    }
    elements(run, "parts").for_each(upgrade_run);
}

/// The elements of the array at `key`; none if there is no array.
fn elements<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Value> {
    let array = object.get_mut(key).and_then(Value::as_array_mut);
    array.into_iter().flatten()
}
