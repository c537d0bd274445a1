//! What registers cost.

use super::super::draft::{Draft, Pipeline};
use super::super::terms::{array, call, constant, scalar};
use super::super::{Family, Published, Scale};
use super::FEW;
use serde_json::{Value, json};

const REGISTER: &str = "state";

fn registers(draft: &mut Draft, level: u32, access: impl Fn(Value, Value) -> Value) {
    draft.scalar("read", 32);
    draft
        .arrays
        .registers
        .push(json!({"name": REGISTER, "id": 0, "size": 64, "bitwidth": 32}));
    let calls = (0..level).map(|at| access(array("register_array", REGISTER), constant(at.into())));
    draft.statement(Pipeline::Ingress, "registers", calls);
}

pub(super) const READ: Family = Family {
    id: "read-state",
    unit: "register of 32 bits read",
    levels: FEW,
    scale: Scale::Linear,
    published: Some(Published {
        cycles: 3,
        at: "1 read",
    }),
    build: |draft, level| {
        registers(draft, level, |array, cell| {
            call("register_read", &[scalar("read"), array, cell])
        });
    },
};

pub(super) const WRITE: Family = Family {
    id: "write-state",
    unit: "register of 32 bits written",
    levels: FEW,
    scale: Scale::Linear,
    published: Some(Published {
        cycles: 17,
        at: "1 write",
    }),
    build: |draft, level| {
        registers(draft, level, |array, cell| {
            call("register_write", &[array, cell, constant(7)])
        });
    },
};
