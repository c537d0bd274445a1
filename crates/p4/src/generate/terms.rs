//! Terms of BMv2 JSON: fields, constants, expressions, calls.

use serde_json::{Value, json};

pub(super) fn field(header: &str, name: &str) -> Value {
    json!({"type": "field", "value": [header, name]})
}

/// A field of `standard_metadata`.
pub(super) fn standard(name: &str) -> Value {
    field("standard_metadata", name)
}

/// A field of the program's own metadata.
pub(super) fn scalar(name: &str) -> Value {
    field("scalars", name)
}

pub(super) fn constant(value: u64) -> Value {
    json!({"type": "hexstr", "value": format!("{value:#06x}")})
}

pub(super) fn header(name: &str) -> Value {
    json!({"type": "header", "value": name})
}

pub(super) fn array(kind: &str, name: &str) -> Value {
    json!({"type": kind, "value": name})
}

pub(super) fn call(op: &str, parameters: &[Value]) -> Value {
    json!({"op": op, "parameters": parameters})
}

pub(super) fn assign(to: Value, value: Value) -> Value {
    call("assign", &[to, value])
}

fn operation(op: &str, left: &Value, right: &Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

/// An operation as the condition of a node.
pub(super) fn condition(op: &str, left: &Value, right: &Value) -> Value {
    operation(op, left, right)
}

/// `to + 1`, in as many bits as the mask has ones, as the compiler writes it.
pub(super) fn increment(to: &Value, mask: u64) -> Value {
    let sum = operation("+", to, &constant(1));
    let sum = operation("&", &sum, &constant(mask));
    assign(to.clone(), json!({"type": "expression", "value": sum}))
}

/// Whether a header is valid.
pub(super) fn is_valid(header: &str) -> Value {
    operation("d2b", &Value::Null, &field(header, "$valid$"))
}
