//! A run whose every string tries to become markup, script or a terminal command.

use crate::runs;
use linerate_model::run::{Run, RunKind};
use serde_json::Value;

/// Closes every context that a report writes strings into.
pub(crate) const HOSTILE: &str = "x\"'>]]></title></style><!--</script><script>\
    document.documentElement.dataset.owned=1;alert(1)</script>\
    <img src=x onerror=alert(1)>\u{2028}\u{2029}\u{1b}[2J\u{202e}=1+1";

/// Strings that the document's format fixes: changing them would make it unreadable.
const FIXED: &[&str] = &[
    "schema",
    "kind",
    "status",
    "started",
    "outcome",
    "limit",
    "side",
    "confidence",
    "transport",
    "direction",
    "layer",
    "place",
    "bottleneck_from",
    "bounded_by",
    "of",
    "histogram",
    "quantity",
    "answer",
    "part",
    "wait",
    "pace",
    "ip",
    "role",
    "work",
    "origin",
];

/// The demo with every free string, and every free key, replaced.
pub(crate) fn demo() -> Run {
    let mut run = runs::demo();
    run.parts_mut().unwrap().extend([
        runs::board_receives(),
        runs::sweep(),
        runs::unknown(RunKind::Udp),
    ]);
    let mut value = serde_json::to_value(run).unwrap();
    poison(&mut value);
    serde_json::from_value(value).unwrap()
}

fn poison(value: &mut Value) {
    match value {
        Value::String(text) => *text = HOSTILE.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(poison),
        Value::Object(entries) => {
            for (key, entry) in entries.iter_mut() {
                if !FIXED.contains(&key.as_str()) || !entry.is_string() {
                    poison(entry);
                }
                if matches!(key.as_str(), "facts" | "values")
                    && let Value::Object(inner) = entry
                {
                    inner.insert(HOSTILE.to_owned(), Value::from(HOSTILE));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
