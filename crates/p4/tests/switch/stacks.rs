//! Stacks of headers, and messages, as the compiler writes them.

use crate::{act, call, document, field, send};
use linerate_p4::{Limits, Program, Switch};
use serde_json::{Value, json};
use std::sync::Arc;

/// [`document`] with a stack of two headers behind `h`, of which the parser takes one; `nothing` makes this.
fn with_stack(taken: &[Value], nothing: &[Value]) -> Value {
    let mut document = document();
    for (id, name) in [(2, "hs[0]"), (3, "hs[1]")] {
        let header = json!({"name": name, "id": id, "header_type": "h_t", "metadata": false});
        let headers = document["headers"].as_array_mut().expect("a list");
        headers.push(header);
    }
    document["header_stacks"] =
        json!([{"name": "hs", "id": 0, "header_type": "h_t", "size": 2, "header_ids": [2, 3]}]);
    document["deparsers"][0]["order"] = json!(["h", "hs[0]", "hs[1]"]);
    let extract = json!({"op": "extract", "parameters": [{"type": "stack", "value": "hs"}]});
    let operations = document["parsers"][0]["parse_states"][0]["parser_ops"].as_array_mut();
    let operations = operations.expect("a list");
    operations.push(extract);
    operations.extend_from_slice(taken);
    document["actions"][0]["primitives"] = json!(nothing);
    document
}

fn made(document: &Value) -> Switch {
    let program = Program::from_json(document.to_string().as_bytes()).expect("a valid program");
    let mut switch = Switch::new(Arc::new(program), Limits::default(), 1);
    for a in 0..2 {
        act(&mut switch, a, "nothing", &[]);
    }
    switch
}

/// As p4c writes `hs[h.a]`.
fn element() -> Value {
    json!({"op": "dereference_header_stack", "left": {"type": "header_stack", "value": "hs"}, "right": field("h", "a")})
}

#[test]
fn an_element_that_an_expression_finds_is_asked_whether_it_is_valid() {
    let valid = json!({"type": "field", "value": [element(), "$valid$"]});
    let number =
        json!({"op": "b2d", "left": null, "right": {"type": "expression", "value": valid}});
    let assign = call(
        "assign",
        &[
            field("h", "b"),
            json!({"type": "expression", "value": number}),
        ],
    );
    // Without arguments p4c writes an object in place of the list.
    let nothing = json!({"type": "parameters_vector", "value": {}});
    let log = call(
        "log_msg",
        &[json!({"type": "string", "value": "seen"}), nothing],
    );
    let mut switch = made(&with_stack(&[], &[log, assign]));
    let mut sent = |a| send(&mut switch, &[a, 9, 5, 6], 0)[0].1.clone();
    assert_eq!([sent(0), sent(1)], [[0, 1, 5, 6], [1, 0, 5, 6]]);
}

#[test]
fn the_last_element_of_a_stack_is_a_header() {
    let last = json!({"type": "stack_field", "value": ["hs", "last"]});
    let assign = call(
        "assign_header",
        &[json!({"type": "header", "value": "hs[1]"}), last],
    );
    let taken = json!({"op": "primitive", "parameters": [assign]});
    let mut switch = made(&with_stack(&[taken], &[]));
    let sent = send(&mut switch, &[0, 9, 5, 6], 0)[0].1.clone();
    assert_eq!(sent, [0, 9, 5, 6, 5, 6]);
}

#[test]
fn what_no_executor_of_ours_has_is_refused_by_its_name() {
    let refused = |document: &Value| {
        let loaded = Program::from_json(document.to_string().as_bytes());
        loaded.expect_err("it is not there").to_string()
    };
    let mut key = with_stack(&[], &[]);
    let of = json!({"op": "access_field", "left": {"type": "expression", "value": element()}, "right": 0});
    key["pipelines"][0]["tables"][0]["key"][0]["target"] =
        json!({"type": "expression", "value": of});
    assert!(refused(&key).contains("a key that an expression finds"));
    let mut union = document();
    union["header_union_types"] = json!([{"name": "u_t", "id": 0, "headers": []}]);
    union["headers"][0]["header_type"] = json!("u_t");
    let said = refused(&union);
    assert!(said.contains("header union type \"u_t\""), "{said}");
}
