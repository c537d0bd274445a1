//! What actions cost by their primitives.

use super::super::draft::{Draft, Pipeline};
use super::super::terms::{assign, constant, field, increment};
use super::super::{Family, Scale};
use serde_json::Value;

const LEVELS: &[u32] = &[0, 1, 2, 4, 8, 16, 32, 64];
/// Fields that the primitives take in turns.
const FIELDS: u32 = 16;

/// An action of as many primitives, each of which gets a field of 16 bits and its number.
fn primitives(draft: &mut Draft, level: u32, primitive: impl Fn(Value, u32) -> Value) {
    let names: Vec<_> = (0..FIELDS).map(|at| format!("f{at}")).collect();
    let fields: Vec<_> = names.iter().map(|name| (name.as_str(), 16)).collect();
    draft.parsed("h", &fields, &[0x44; 32]);
    let primitives = (0..level).map(|at| primitive(field("h", &format!("f{}", at % FIELDS)), at));
    draft.statement(Pipeline::Ingress, "primitives", primitives);
}

pub(super) const SET: Family = Family {
    id: "set-field",
    unit: "field set to a constant",
    levels: LEVELS,
    scale: Scale::Linear,
    published: None,
    build: |draft, level| primitives(draft, level, |field, at| assign(field, constant(at.into()))),
};

pub(super) const ADD: Family = Family {
    id: "add-to-field",
    unit: "field that 1 is added to",
    levels: LEVELS,
    scale: Scale::Linear,
    published: None,
    build: |draft, level| primitives(draft, level, |field, _| increment(&field, 0xffff)),
};
