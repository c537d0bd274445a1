//! What a plan may hold, for editors: made of the options themselves.

use crate::options::{self, KIND, Source, TestKind};
use serde_json::{Map, Value, json};

/// What a key takes, for each kind of test that has it.
fn about(key: &str) -> String {
    let one = |option: &options::TestOption| {
        let (does, usual) = (option.does(), option.default_in(Source::Plan));
        format!(
            "{does} (default: {usual}). Kinds: {}.",
            option.kinds_in_words()
        )
    };
    let all: Vec<_> = options::with_key(key).map(one).collect();
    all.join(" ")
}

/// The JSON Schema of a plan, by which editors complete and check TOML.
pub fn json_schema() -> Value {
    let value = json!({"type": ["string", "number", "boolean"]});
    let settings = |shape: &dyn Fn(Value) -> Value| -> Value {
        let keys = options::keys().into_iter().map(|key| {
            let mut one = value.clone();
            if key == KIND {
                one = json!({"enum": TestKind::ALL.map(TestKind::as_str)});
            }
            let mut shaped = shape(one);
            shaped["description"] = json!(about(key));
            (key.to_owned(), shaped)
        });
        Value::Object(keys.collect::<Map<_, _>>())
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "linerate plan",
        "type": "object",
        "required": ["study"],
        "additionalProperties": false,
        "properties": {
            "study": study(),
            "defaults": {
                "type": "object",
                "description": "One value each.",
                "additionalProperties": false,
                "properties": settings(&|one| one),
            },
            "factors": {
                "type": "object",
                "description": "A list of levels each; every combination is a cell.",
                "additionalProperties": false,
                "properties": settings(&|one| json!({"type": "array", "minItems": 1, "items": one})),
            },
            "series": series(),
            "stacks": stacks(),
            "published": published(),
            "quick": quick(),
        },
    })
}

/// The schema of `[quick]`.
fn quick() -> Value {
    json!({
        "type": "object",
        "description": "The short form, of `linerate run --quick`: what it has in place of what the whole plan has.",
        "additionalProperties": false,
        "properties": {
            "repetitions": {"type": "integer", "minimum": 1, "description": "How often each cell is measured."},
            "defaults": {"type": "object", "description": "Settings as in [defaults]; a factor of this name is no factor then."},
            "factors": {"type": "object", "description": "Levels as in [factors], in place of those of the whole plan."},
            "series": {
                "type": "object",
                "description": "By their names the series that are measured, with what they have in place of theirs.",
                "additionalProperties": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {"defaults": {"type": "object"}, "factors": {"type": "object"}},
                },
            },
        },
    })
}

/// The schema of `[series]`.
fn series() -> Value {
    json!({
        "type": "object",
        "description": "Cells that vary factors of their own, by the name of the series; instead of [factors].",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "title": {"type": "string", "description": "What it is about."},
                "defaults": {"type": "object", "description": "Settings as in [defaults], which they overrule."},
                "factors": {"type": "object", "description": "Levels as in [factors]."},
            },
        },
    })
}

/// The schema of `[study]`.
fn study() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "title": {"type": "string", "description": "What it is about."},
            "host": {"type": "string", "description": "A host as on the command line, such as 10.0.0.2:5301; none where every cell has a stack."},
            "repetitions": {"type": "integer", "minimum": 1, "description": "How often each cell is measured."},
            "seed": {"type": "integer", "minimum": 0, "description": "Of the order."},
            "control": {
                "type": ["boolean", "string"],
                "description": "The cell that is measured twice as the A/A control; true: the first.",
            },
            "budget": {"type": "string", "description": "Time of all runs, such as 30m, in place of repetitions."},
            "precision": {"type": "string", "description": "With a budget: when a cell is known well enough, such as 1%."},
            "prove": {"type": "boolean", "description": "Whether each run's verdict is put to the proof."},
            "restart": {"type": "boolean", "description": "Whether the peer's program is started anew for each repetition."},
        },
    })
}

/// The schema of `[stacks]`.
fn stacks() -> Value {
    json!({
        "type": "object",
        "description": "Programs that are stacks, by the name that stack takes: the options of stack://command.",
        "additionalProperties": {
            "type": "object",
            "required": ["run"],
            "additionalProperties": {"type": "string"},
        },
    })
}

/// The schema of `[published]`.
fn published() -> Value {
    json!({
        "type": "object",
        "description": "Which cells of a published table these cells measure.",
        "additionalProperties": false,
        "properties": {
            "factors": {"type": "object", "description": "A factor of the table: the setting, { setting, levels }, { trials } by direction, or { quantities }."},
            "only": {"type": "object", "description": "Levels that the plan measures, of factors that are not settings."},
            "quantity": {
                "enum": ["received", "loss-percent", "lost-datagrams", "sent-datagrams", "round-trip-mean", "round-trip-median",
                    "half-round-trip-mean", "half-round-trip-median"],
                "description": "What of a run is compared.",
            },
            "time": {"type": "string", "description": "How long a published test took, which counts are given for, such as 10s."},
        },
    })
}
